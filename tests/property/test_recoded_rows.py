"""New rows through a fitted recoding, next to a slow one that walks row by row."""

import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from best_oracle import cells, keys
from conftest import as_arrow, frame_kinds
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle import Sample, samples

from core_mondrian import (
    BestPolicy,
    InfeasibleError,
    KAnonymity,
    OriginalPolicy,
    PaperPolicy,
    Recoding,
    Spec,
    anonymize,
    fit,
)
from core_mondrian.hierarchies.tree import Hierarchy
from core_mondrian.models import DistinctLDiversity

Row = dict[str, Any]


@st.composite
def batches(draw: Any) -> tuple[Sample, pa.Table]:
    """A table to fit, and new rows of other values under the same columns."""
    known = draw(samples(max_rows=50, max_columns=3))
    new = draw(samples(max_rows=40, max_columns=3))
    columns = {}
    for name in known.names:
        pool = [*known.columns[name]]
        kinds = [other for other in new.names if other[0] == name[0]]
        is_tree = name in known.hierarchies
        if kinds and not is_tree:
            pool += new.columns[kinds[0]]
        elif is_tree:
            pool += known.hierarchies[name].leaves
        picks = st.lists(
            st.sampled_from(pool), min_size=new.n_rows, max_size=new.n_rows
        )
        kind = pa.float64() if name[0] == "n" else pa.string()
        columns[name] = pa.array(draw(picks), kind)
    columns["s"] = pa.array(new.sensitive, pa.string())
    columns["id"] = pa.array(range(new.n_rows))
    return known, pa.table(columns)


@st.composite
def specs(draw: Any, sample: Sample) -> Spec:
    models: tuple[Any, ...] = (KAnonymity(draw(st.integers(2, 6))),)
    if draw(st.booleans()):
        models += (DistinctLDiversity(2, "s"),)
    policies = [BestPolicy(), BestPolicy(effort="max"), PaperPolicy(), OriginalPolicy()]
    return Spec(
        sample.names,
        models,
        hierarchies=sample.hierarchies,
        policy=draw(st.sampled_from(policies)),
        inline_below=draw(st.sampled_from([0, 100])),
    )


def fitted(sample: Sample, spec: Spec, too_small: Any = "ancestor") -> Recoding:
    try:
        return fit(sample.arrow(sensitive=True), spec, too_small=too_small)
    except InfeasibleError:
        assume(False)  # noqa: FBT003
        raise


# The slow one


@dataclass
class Label:
    """A node of a hierarchy, by hand."""

    text: str
    leaves: frozenset[str]
    is_root: bool


def labels_of(tree: Hierarchy) -> list[Label]:
    return [
        Label(text, frozenset(tree.leaves[low : high + 1]), i == 0)
        for i, (text, low, high) in enumerate(
            zip(tree.labels, tree.low, tree.high, strict=True)
        )
    ]


def over(values: set[str], labels: list[Label]) -> Label:
    """The label over some values that says most; the root is over all there are."""
    holding = [x for x in labels if x.is_root or values <= x.leaves]
    # Of those with the same leaves the lowest; labels come level by level.
    return min(reversed(holding), key=lambda x: (x.is_root, len(x.leaves)))


@dataclass
class Slow:
    """Walks the tree of a recoding with plain values."""

    recoding: Recoding
    children: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        for node, parent in enumerate(self.recoding.tree.parent.tolist()):
            self.children[parent].append(node)

    def box(self, node: int, i: int) -> list[Any]:
        """The values of a node that matter: its ends, and None if some are missing."""
        tree, values = self.recoding.tree, self.recoding.columns[i].values.to_pylist()
        if self.recoding.columns[i].hierarchy is None:
            ends = {int(tree.low[node, i]), int(tree.high[node, i])}
        else:
            ends = set(range(tree.low[node, i], tree.high[node, i] + 1))
        found = [values[end] for end in ends if end >= 0]
        return found + [None] * bool(tree.has_missing[node, i])

    def stop(self, row: Row) -> int:
        node = 0
        while True:
            child = self.child_of(node, row)
            if child is None:
                return node
            node = child

    def child_of(self, node: int, row: Row) -> int | None:
        tree = self.recoding.tree
        i = int(tree.column[node])
        if i < 0:
            return None
        column, children = self.recoding.columns[i], self.children[node]
        value = row[column.name]
        if value is None:
            return next((x for x in children if tree.has_missing[x, i]), None)
        values = column.values.to_pylist()
        if column.hierarchy is None:
            is_left = value <= values[tree.cut[node]]
            return next((x for x in children if (tree.first[x] < 0) == is_left), None)
        for child in children:
            first, last = int(tree.first[child]), int(tree.last[child])
            if last >= 0 and value in values[first : last + 1]:
                return child
        return self.covering(node, i, value, column.hierarchy)

    def covering(self, node: int, i: int, value: str, tree: Hierarchy) -> int | None:
        labels, fitting = labels_of(tree), []
        for child in self.children[node]:
            held = {x for x in self.box(child, i) if x is not None}
            if held:
                label = over(held, labels)
                if label.is_root or value in label.leaves:
                    is_pool = int(self.recoding.tree.last[child]) == -1
                    size = (label.is_root, len(label.leaves))
                    fitting.append((size, not is_pool, child))
        return min(fitting)[2] if fitting else None

    def passes(self, rows: list[Row]) -> bool:
        models = self.recoding.spec.models
        is_diverse = len(models) < 2 or len({row["s"] for row in rows}) >= 2
        return len(rows) >= self.recoding.spec.min_rows and is_diverse

    def cohorts(self, rows: list[Row]) -> list[tuple[int, list[Row]]]:
        at = defaultdict(list)
        for row in rows:
            at[self.stop(row)].append(row)
        found = []
        for node in reversed(range(self.recoding.tree.n_nodes)):  # children first
            if not at[node]:
                continue
            if self.passes(at[node]):
                found.append((node, at[node]))
            elif node and self.recoding.too_small == "ancestor":
                at[int(self.recoding.tree.parent[node])] += at[node]
        return found

    def cell(self, node: int, i: int, rows: list[Row]) -> Any:
        column = self.recoding.columns[i]
        held = [*self.box(node, i), *(row[column.name] for row in rows)]
        if None in held:
            return None
        if column.hierarchy is not None:
            return over(set(held), labels_of(column.hierarchy)).text
        return min(held), max(held)


def ends_of(text: str | None) -> Any:
    """The ends of a range of numbers, read back."""
    if text is None:
        return None
    ends = [float(end) for end in text.strip("[]").split(", ")]
    return ends[0], ends[-1]


@given(st.data())
def test_new_rows_are_shown_as_the_slow_one_shows_them(data: st.DataObject) -> None:
    sample, new = data.draw(batches())
    too_small = data.draw(st.sampled_from(["ancestor", "wait"]))
    recoding = fitted(sample, data.draw(specs(sample)), too_small)
    slow = Slow(recoding)

    found = recoding.apply(new)

    expected = {}
    for node, rows in slow.cohorts(new.to_pylist()):
        shown = [slow.cell(node, i, rows) for i in range(len(sample.names))]
        expected |= {row["id"]: shown for row in rows}
    ids = found.data["id"].to_pylist()
    assert set(ids) == set(expected)
    assert found.n_rows == len(new)
    assert found.n_shown == len(ids) == int(found.shown.sum())
    for name, i in zip(sample.names, range(len(sample.names)), strict=True):
        shown = found.data[name].to_pylist()
        if name[0] == "n":
            shown = [ends_of(text) for text in shown]
        assert shown == [expected[x][i] for x in ids]


@given(st.data())
def test_the_fitted_rows_are_shown_as_anonymize_shows_them(data: st.DataObject) -> None:
    sample = data.draw(samples())
    recoding = fitted(sample, data.draw(specs(sample)))

    found = recoding.apply(sample.arrow(sensitive=True))

    release = anonymize(sample.arrow(sensitive=True), recoding.spec)
    assert found.digest == release.digest
    assert found.data.equals(release.data)


@given(st.data())
def test_every_class_has_k_rows_whatever_the_frame(data: st.DataObject) -> None:
    sample, new = data.draw(batches())
    spec = data.draw(specs(sample))
    recoding = fitted(sample, spec)

    found = recoding.apply(data.draw(frame_kinds())(new))

    sizes = Counter(keys(found.data, spec.quasi_identifiers))
    assert all(n >= spec.min_rows for n in sizes.values())
    assert sum(sizes.values()) == found.n_shown


@given(st.data())
def test_the_order_of_rows_changes_no_cell(data: st.DataObject) -> None:
    sample, new = data.draw(batches())
    recoding = fitted(sample, data.draw(specs(sample)))
    order = list(range(len(new)))
    random.Random(data.draw(st.integers(0, 9))).shuffle(order)  # noqa: S311

    found, other = recoding.apply(new), recoding.apply(as_arrow(new.take(order)))

    assert found.digest == other.digest
    rows = [{row["id"]: row for row in one.data.to_pylist()} for one in (found, other)]
    assert rows[0] == rows[1]


@given(st.data())
def test_a_saved_recoding_is_the_same(data: st.DataObject) -> None:
    sample, new = data.draw(batches())
    recoding = fitted(sample, data.draw(specs(sample)))

    again = Recoding.from_parts(recoding.to_parts(), None)

    assert again.apply(new).data.equals(recoding.apply(new).data)
    assert cells(again.apply(new).data, "id") == cells(recoding.apply(new).data, "id")
