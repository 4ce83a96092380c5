"""t-closeness: the sensitive values of a class are distributed as in the table."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from core_mondrian.errors import SpecError
from core_mondrian.hierarchies.tree import Hierarchy
from core_mondrian.models import measures
from core_mondrian.models.base import (
    Limits,
    MissingValues,
    PrivacyModel,
)
from core_mondrian.models.checks import (
    Interval,
    as_text,
    choice,
    number,
    sensitive_column,
)
from core_mondrian.tables.readings import ascending

Distance = Literal["equal", "ordered", "hierarchical"]


@dataclass(frozen=True, slots=True, eq=False)
class TCloseness(PrivacyModel):
    """The distribution of every class is within ``t`` of that of the whole table.

    How far is the earth mover's distance: how much of the distribution has to be moved,
    times how far, where the farthest two values are 1 apart (Li, Li and
    Venkatasubramanian, t-Closeness, 2007). With q the shares in the class, p in the
    table, the ``distance`` is

    - equal: any two values are 1 apart; ½ Σ |q(s) - p(s)|.
    - ordered: neighbours among the m values of the table are 1 / (m - 1) apart;
      Σ |(q(1) - p(1)) + … + (q(i) - p(i))| / (m - 1) over all i.
    - hierarchical: two values are height(N) / H apart, where N is the lowest node of
      ``hierarchy`` over both, its height the longest way down to a leaf, and H that of
      the root; Σ height(N) / H · min(surplus, lack) over all inner nodes N, where the
      surplus of N adds up q - p of those children that have more of the class than of
      the table, and the lack p - q of the others.

    Values rank as they are, texts by the numbers, dates or times that they stand for;
    other texts have no order. A missing value ranks after all others, and hangs under
    the root of the hierarchy.
    """

    t: float
    sensitive: str
    distance: Distance = "equal"
    hierarchy: Hierarchy | None = field(default=None, repr=False)
    missing: MissingValues = "value"

    def __post_init__(self) -> None:
        hint = "no distance is above 1, and with t = 0 all classes are like the table"
        number("t-closeness", "t", self.t, Interval(high=1.0, has_low=True), hint)
        sensitive_column("t-closeness", self.sensitive, self.missing)
        choice("distance", self.distance, ("equal", "ordered", "hierarchical"))
        if self.distance != "hierarchical" and self.hierarchy is not None:
            raise SpecError(
                f"distance {self.distance!r} has no use for a hierarchy",
                hint="with a hierarchy, the distance is 'hierarchical'",
            )
        if self.distance == "hierarchical" and not isinstance(
            self.hierarchy, Hierarchy
        ):
            given = type(self.hierarchy).__name__
            raise SpecError(
                f"hierarchical distance needs a hierarchy, got {given}",
                hint=f"give the hierarchy of {self.sensitive!r}",
            )

    def __eq__(self, other: object) -> bool:
        # Hierarchies hold arrays, which do not compare as the fields of a value do.
        return isinstance(other, TCloseness) and self._key == other._key

    def __hash__(self) -> int:
        return self._key.__hash__()

    @property
    def _key(self) -> tuple[object, ...]:
        tree = self.hierarchy
        shape = () if tree is None else (tree.labels, *tree.n_children.tolist())
        return (self.t, self.sensitive, self.distance, self.missing, shape)

    measure = measures.MOVERS_DISTANCE

    @property
    def name(self) -> str:
        return f"{self.t}-closeness of {self.sensitive} ({self.distance})"

    def limits(self) -> Limits:
        return Limits(at_most=self.t)

    def bind(self, labels: Sequence[object]) -> Sequence[float]:
        """Return which distance it is; then the order of values, or all nodes.

        Of each node with at least two children that cover values of the column: for
        each of these children the values it covers, and an end; then -height / H.

        Raises:
            SpecError: the hierarchy lacks a value of the column, or an ordered column
                holds text that has no order.
        """
        if self.distance == "ordered":
            last = [] if self.skips_missing else [len(labels)]
            return (measures.DISTANCES["ordered"], *self._ascending(labels), *last)
        if self.hierarchy is None:
            return (measures.DISTANCES["equal"],)
        values = self._values_by_leaf(labels, self.hierarchy)
        children = _children_with_values(self.hierarchy, values)
        if not self.skips_missing:
            children[0].append([len(labels)])
        heights = _heights(self.hierarchy)
        flat = [measures.DISTANCES["hierarchical"]]
        for node, below in enumerate(children):
            if len(below) > 1:
                flat += [x for child in below for x in (*child, measures.LAST_OF_CHILD)]
                flat.append(-heights[node] / heights[0])
        return flat

    def _ascending(self, labels: Sequence[object]) -> Sequence[int]:
        """Return the order of the values; those of other types than text have one."""
        texts = [label for label in labels if isinstance(label, str)]
        order = ascending(texts) if texts else range(len(labels))
        if order is None or len(order) < len(labels):
            raise SpecError(
                f"column {self.sensitive!r} holds text without an order, and the "
                "distance is 'ordered'",
                hint="name what stands for a missing value (--null n/a), write numbers "
                "plainly (1000, not 1,000), or take distance 'equal' or 'hierarchical'",
            )
        return order

    def _values_by_leaf(
        self, labels: Sequence[object], hierarchy: Hierarchy
    ) -> Mapping[int, list[int]]:
        """Return which values stand at each leaf that has any."""
        leaf_of = {as_text(label): leaf for leaf, label in enumerate(hierarchy.leaves)}
        if len(leaf_of) < hierarchy.n_leaves:
            raise SpecError(
                f"the hierarchy of {self.sensitive!r} has leaves that are one value",
                hint="50000 and 5e4 are the same number: keep one line of them",
            )
        leaves = [leaf_of.get(as_text(label)) for label in labels]
        if n_unknown := leaves.count(None):
            raise SpecError(
                f"the hierarchy of {self.sensitive!r} does not cover {n_unknown} of"
                f" {len(labels)} values in the data",
                hint="add a line for each of them",
            )
        values: dict[int, list[int]] = {}
        for value, leaf in enumerate(leaves):
            if leaf is not None:
                values.setdefault(leaf, []).append(value)
        return values


def _children_with_values(
    hierarchy: Hierarchy, values: Mapping[int, Iterable[int]]
) -> list[list[list[int]]]:
    """Return, for each node, the values below each of its children that has any."""
    below = [
        [value for leaf in range(low, high + 1) for value in values.get(leaf, ())]
        for low, high in zip(
            hierarchy.low.tolist(), hierarchy.high.tolist(), strict=True
        )
    ]
    return [
        [below[child] for child in _children(hierarchy, node) if below[child]]
        for node in range(len(below))
    ]


def _heights(hierarchy: Hierarchy) -> list[int]:
    """Return the longest way from each node down to a leaf."""
    heights = [0] * len(hierarchy.labels)
    for node in range(len(heights) - 1, -1, -1):  # children come after their parents
        below = [heights[child] + 1 for child in _children(hierarchy, node)]
        heights[node] = max(below, default=0)
    return heights


def _children(hierarchy: Hierarchy, node: int) -> range:
    first = int(hierarchy.first_child[node])
    return range(first, first + int(hierarchy.n_children[node]))
