"""Every table of a small domain, and what the algorithm releases of it."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations_with_replacement, product
from math import comb, factorial, prod
from typing import Final, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from core_mondrian.api import anonymize, load_and_encode
from core_mondrian.errors import InfeasibleError, SpecError
from core_mondrian.models.base import ClassCounts
from core_mondrian.models.k_anonymity import KAnonymity
from core_mondrian.recoding.plan import build_plan
from core_mondrian.runtime.plain_values import JsonObject
from core_mondrian.runtime.stages import Stages
from core_mondrian.spec.declaration import Spec
from core_mondrian.spec.policies import BestPolicy
from core_mondrian.tables.keys import open_key

Quasi: TypeAlias = tuple[int | None, ...]
"""The quasi-identifiers of a person; None: missing."""
Person: TypeAlias = tuple[Quasi, int]
"""Quasi-identifiers and sensitive value."""
Shown: TypeAlias = tuple[tuple[int, int] | None, ...]
"""The range that a class shows of each quasi-identifier; None: a blank."""
Flow: TypeAlias = Counter[tuple[Person, Shown]]
"""How many rows of each kind of person show what."""
Report: TypeAlias = Callable[[float], None]
Prior = Literal["people", "profiles"]
"""Which tables are equally likely: those of people whose cells are drawn one by one,
or all multisets of quasi-identifiers, with all sensitive values that they may have."""
Procedure = Literal["models", "verify after", "raise k"]
"""What cuts look at: all models; or sizes alone, the other models being verified
afterwards, for the spec's k or for one that is raised until they pass."""

SENSITIVE: Final = "value"
_MOST_TABLES: Final = 200_000


@dataclass(frozen=True, slots=True)
class Domain:
    """All tables of ``rows`` people with few quasi-identifiers and sensitive values."""

    rows: int = 6
    sizes: tuple[int, ...] = (4,)
    """Values of each quasi-identifier: the numbers from 1 on."""
    values: int = 2
    """Sensitive values: the numbers from 0 on."""
    missing: bool = False
    """Whether quasi-identifiers may also be missing."""
    prior: Prior = "people"

    def __post_init__(self) -> None:
        if self.rows < 1 or self.values < 1 or not self.sizes or min(self.sizes) < 1:
            raise SpecError(
                "a domain has rows, quasi-identifiers and values, at least one each",
                hint="such as --rows 6 --size 4 --values 2",
            )
        if self.n_tables > _MOST_TABLES:
            raise SpecError(
                f"the domain has {self.n_tables:,} tables, more than {_MOST_TABLES:,}",
                hint="take fewer rows, or fewer values of a column",
            )

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """The names of the columns, x1 and so on."""
        return tuple(f"x{i}" for i in range(1, len(self.sizes) + 1))

    @property
    def n_quasi(self) -> int:
        """How many different quasi-identifiers a person may have."""
        return prod(size + self.missing for size in self.sizes)

    @property
    def n_tables(self) -> int:
        """Tables that differ by more than the order of their rows."""
        return comb(self.n_quasi * self.values + self.rows - 1, self.rows)

    @property
    def quasi(self) -> list[Quasi]:
        """All quasi-identifiers that a person may have."""
        gap = [None] if self.missing else []
        return list(product(*([*range(1, size + 1), *gap] for size in self.sizes)))

    def tables(self) -> Iterator[Counter[Person]]:
        """Yield each table once, whatever the order of its rows."""
        people = [
            (quasi, value) for quasi in self.quasi for value in range(self.values)
        ]
        for table in combinations_with_replacement(people, self.rows):
            yield Counter(table)

    def weight(self, table: Counter[Person]) -> int:
        """Return how many labelled tables differ from this one in who is who only."""
        same = prod(factorial(n) for n in table.values())
        if self.prior == "people":
            return factorial(self.rows) // same
        profiles = Counter(quasi for quasi, _ in table.elements())
        return prod(factorial(n) for n in profiles.values()) // same


@dataclass(frozen=True)
class Outcome:
    """A table and its release."""

    weight: int
    """How many labelled tables it stands for."""
    flow: Flow

    @cached_property
    def release(self) -> frozenset[tuple[tuple[Shown, int], int]]:
        """The multiset of released rows: all that a reader is given."""
        rows: Counter[tuple[Shown, int]] = Counter()
        for ((_, value), shown), n in self.flow.items():
            rows[shown, value] += n
        return frozenset(rows.items())

    @cached_property
    def profiles(self) -> frozenset[tuple[Quasi, int]]:
        """The multiset of everybody's quasi-identifiers."""
        people: Counter[Quasi] = Counter()
        for ((quasi, _), _), n in self.flow.items():
            people[quasi] += n
        return frozenset(people.items())


def release_all(
    domain: Domain,
    spec: Spec,
    procedure: Procedure = "models",
    report: Report = lambda _: None,
) -> list[Outcome]:
    """Return what becomes of every table that can be released at all.

    Raises:
        SpecError: the spec does not fit the domain, the procedure or this measurement.
    """
    _check(domain, spec, procedure)
    release: Callable[[Counter[Person]], Flow | None]
    if procedure == "models":
        release = lambda table: release_one(table, spec)  # noqa: E731
    else:
        release = _BySize(domain, spec, raises_k=procedure == "raise k").release
    outcomes = []
    for i, table in enumerate(domain.tables()):
        report(i / domain.n_tables)
        flow = release(table)
        if flow is not None:
            outcomes.append(Outcome(domain.weight(table), flow))
    report(1.0)
    return outcomes


def _check(domain: Domain, spec: Spec, procedure: Procedure) -> None:
    known = {*domain.quasi_identifiers, SENSITIVE}
    if spec.quasi_identifiers != domain.quasi_identifiers or set(spec.columns) - known:
        raise SpecError(
            f"the columns of this domain are {[*domain.quasi_identifiers, SENSITIVE]}",
            hint="name these in the spec",
        )
    if spec.numbers != "bounds" or spec.numbers_by_column:
        raise SpecError("ranges are compared as bounds", hint="say numbers='bounds'")
    if spec.budget(domain.rows):
        raise SpecError(
            "suppressed rows are not measured", hint="leave suppress out of the spec"
        )
    overlaps = isinstance(spec.policy, BestPolicy) and not spec.policy.disjoint
    if overlaps and (procedure != "models" or spec.target is not None):
        raise SpecError(
            "cuts by size or for a target are measured for classes that do not overlap",
            hint="say disjoint, or take another policy",
        )


def release_one(table: Counter[Person], spec: Spec) -> Flow | None:
    """Return the rows that `anonymize` releases; None: it refuses.

    Classes that look alike are left to it, as it may have to make them again, and so
    are weights by a target.
    """
    if spec.target is not None:
        return release_by_api(table, spec)
    people = list(table.elements())
    _, encoded = load_and_encode(_frame(people, spec), spec, Stages(None), threads=1)
    try:
        plan = build_plan(encoded, spec, open_key(None), threads=1)
    except InfeasibleError:
        return None
    if plan.recoded.classes.n_classes != plan.grown.tree.n_classes:
        return release_by_api(table, spec)
    shown = [_shown(row, spec) for row in plan.shown.to_pylist()]
    person = dict(zip(encoded.row_tuple.tolist(), people, strict=True))
    flow: Flow = Counter()
    pieces = zip(
        plan.tuple_of_piece.tolist(),
        plan.leaf_of_piece.tolist(),
        plan.pieces.counts.tolist(),
        strict=True,
    )
    for owner, leaf, n in pieces:
        flow[person[owner], shown[leaf]] += n
    return flow


def release_by_api(table: Counter[Person], spec: Spec) -> Flow | None:
    """Return the same as `release_one`, from the frame that `anonymize` returns."""
    people = list(table.elements())
    try:
        released = anonymize(_frame(people, spec), spec, threads=1).data
    except InfeasibleError:
        return None
    rows = zip(people, released.to_pylist(), strict=True)
    return Counter((person, _shown(row, spec)) for person, row in rows)


class _BySize:
    """Cuts tables by sizes alone, and verifies the other models afterwards."""

    def __init__(self, domain: Domain, spec: Spec, *, raises_k: bool) -> None:
        self._spec = spec
        self._of_sizes = [model for model in spec.models if model.column is None]
        self._models = [model for model in spec.models if model.column is not None]
        last = domain.rows if raises_k else spec.min_rows
        self._sizes = range(spec.min_rows, last + 1)
        self._classes: dict[object, dict[Quasi, Shown]] = {}

    def release(self, table: Counter[Person]) -> Flow | None:
        """Return the rows of the first k that passes; None: there is none."""
        for k in self._sizes:
            classes = self._cut(table, k)
            flow = Counter(
                {(one, classes[one[0]]): n for one, n in table.items() if classes}
            )
            if flow and self._passes(flow):
                return flow
        return None

    def _cut(self, table: Counter[Person], k: int) -> dict[Quasi, Shown]:
        """Return the class of everybody; nothing, if there are too few people."""
        people = tuple(quasi for quasi, _ in table.elements())
        if (people, k) not in self._classes:
            spec = replace(self._spec, models=(*self._of_sizes, KAnonymity(k)))
            flow = release_one(Counter((quasi, 0) for quasi in people), spec)
            self._classes[people, k] = {one[0]: shown for one, shown in flow or ()}
        return self._classes[people, k]

    def _passes(self, flow: Flow) -> bool:
        values = sorted({value for (_, value), _ in flow})
        classes: dict[Shown, Counter[int]] = defaultdict(Counter)
        for ((_, value), shown), n in flow.items():
            classes[shown][value] += n
        counts = np.array([[*(c[v] for v in values), 0] for c in classes.values()])
        one = ClassCounts(counts.sum(axis=1), counts, values)
        return all(model.holds(one) for model in self._models)


def _frame(people: list[Person], spec: Spec) -> pa.Table:
    columns = {
        name: pa.array([quasi[i] for quasi, _ in people], pa.int64())
        for i, name in enumerate(spec.quasi_identifiers)
    }
    if SENSITIVE in spec.columns:
        columns[SENSITIVE] = pa.array([value for _, value in people], pa.int64())
    return pa.table(columns)


def _shown(row: JsonObject, spec: Spec) -> Shown:
    ranges = [spec.bounds_of(name) for name in spec.quasi_identifiers]
    return tuple(
        None if row[low] is None else (row[low], row[high]) for low, high in ranges
    )


def fits(quasi: Quasi, shown: Shown) -> bool:
    """Return whether a released row may be that of somebody with these values."""
    return all(
        ends is None or (value is not None and ends[0] <= value <= ends[1])
        for value, ends in zip(quasi, shown, strict=True)
    )
