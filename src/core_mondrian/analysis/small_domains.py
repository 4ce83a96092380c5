"""Every table of a small domain, and what the algorithm releases of it."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement, product
from math import comb, factorial, prod
from typing import Any, Final, TypeAlias

import pyarrow as pa

from core_mondrian.api import anonymize, take_in
from core_mondrian.errors import InfeasibleError, SpecError
from core_mondrian.plan import draw_up
from core_mondrian.spec import Spec
from core_mondrian.stages import Stages

Quasi: TypeAlias = tuple[int | None, ...]
"""The quasi-identifiers of a person; None: missing."""
Person: TypeAlias = tuple[Quasi, int]
"""Quasi-identifiers and sensitive value."""
Shown: TypeAlias = tuple[tuple[int, int] | None, ...]
"""The range that a class shows of each quasi-identifier; None: a blank."""

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
    def n_labelled(self) -> int:
        """Tables of people who are told apart: what the reader's prior is over."""
        return (self.n_quasi * self.values) ** self.rows

    @property
    def quasi(self) -> list[Quasi]:
        """All quasi-identifiers that a person may have."""
        gap = [None] if self.missing else []
        return list(product(*([*range(1, size + 1), *gap] for size in self.sizes)))

    def tables(self) -> Iterator[Counter[Person]]:
        """Yield each table once, whatever the order of its rows."""
        people = [(quasi, value) for quasi in self.quasi for value in range(self.values)]
        for table in combinations_with_replacement(people, self.rows):
            yield Counter(table)


@dataclass(frozen=True)
class Outcome:
    """A table and its release: how many rows of each kind of person show what."""

    weight: int
    """Labelled tables that differ from this one only in who is who."""
    flow: Counter[tuple[Person, Shown]]

    @cached_property
    def release(self) -> frozenset[tuple[tuple[Shown, int], int]]:
        """The multiset of released rows: all that a reader is given."""
        rows: Counter[tuple[Shown, int]] = Counter()
        for ((_, value), shown), n in self.flow.items():
            rows[shown, value] += n
        return frozenset(rows.items())

    @cached_property
    def quasi(self) -> frozenset[tuple[Quasi, int]]:
        """The multiset of everybody's quasi-identifiers."""
        people: Counter[Quasi] = Counter()
        for ((quasi, _), _), n in self.flow.items():
            people[quasi] += n
        return frozenset(people.items())


def release_all(
    domain: Domain, spec: Spec, report: Callable[[float], None] = lambda _: None
) -> list[Outcome]:
    """Return what becomes of every table that can be released at all.

    Raises:
        SpecError: the spec is not about this domain, or suppresses rows.
    """
    _check(domain, spec)
    outcomes = []
    for i, table in enumerate(domain.tables()):
        report(i / domain.n_tables)
        try:
            flow = release_one(table, spec)
        except InfeasibleError:  # nothing is published
            continue
        same = prod(factorial(n) for n in table.values())
        outcomes.append(Outcome(factorial(domain.rows) // same, flow))
    report(1.0)
    return outcomes


def _check(domain: Domain, spec: Spec) -> None:
    if spec.quasi_identifiers != domain.quasi_identifiers or set(spec.columns) > {
        *domain.quasi_identifiers,
        SENSITIVE,
    }:
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


def release_one(table: Counter[Person], spec: Spec) -> Counter[tuple[Person, Shown]]:
    """Return how many rows of each kind of person show what.

    That is what `anonymize` releases; classes that look alike are left to it.
    """
    people = list(table.elements())
    frame = _frame(people, spec)
    _, encoded = take_in(frame, spec, Stages(None), threads=1)
    plan = draw_up(encoded, spec, threads=1)
    if plan.recoded.classes.n_classes != plan.grown.tree.n_classes:
        return release_by_api(table, spec)
    shown = [_shown(row, spec) for row in plan.shown.to_pylist()]
    person = dict(zip(encoded.row_tuple.tolist(), people, strict=True))
    flow: Counter[tuple[Person, Shown]] = Counter()
    pieces = zip(
        *(plan.tuple_of_piece.tolist(), plan.leaf_of_piece.tolist()),
        plan.pieces.counts.tolist(),
        strict=True,
    )
    for owner, leaf, n in pieces:
        flow[person[owner], shown[leaf]] += n
    return flow


def release_by_api(
    table: Counter[Person], spec: Spec
) -> Counter[tuple[Person, Shown]]:
    """Return the same as `release_one`, from the rows that `anonymize` returns."""
    people = list(table.elements())
    released = anonymize(_frame(people, spec), spec, threads=1).data.to_pylist()
    return Counter(
        (person, _shown(row, spec))
        for person, row in zip(people, released, strict=True)
    )


def _frame(people: list[Person], spec: Spec) -> pa.Table:
    columns = {
        name: pa.array([quasi[i] for quasi, _ in people], pa.int64())
        for i, name in enumerate(spec.quasi_identifiers)
    }
    if spec.sensitive:
        columns[SENSITIVE] = pa.array([value for _, value in people], pa.int64())
    return pa.table(columns)


def _shown(row: dict[str, Any], spec: Spec) -> Shown:
    ranges = [spec.bounds_of(name) for name in spec.quasi_identifiers]
    return tuple(
        None if row[low] is None else (row[low], row[high]) for low, high in ranges
    )


def fits(quasi: Quasi, shown: Shown) -> bool:
    """Tell whether a released row may be that of somebody with these values."""
    return all(
        ends is None or (value is not None and ends[0] <= value <= ends[1])
        for value, ends in zip(quasi, shown, strict=True)
    )
