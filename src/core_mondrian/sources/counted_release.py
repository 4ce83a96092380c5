"""A release as its source counted it again, judged model by model."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.errors import InternalError
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.cell_keys import cell_keys, combine_keys
from core_mondrian.tables.files.cells import unified_texts
from core_mondrian.verification.counting import code_column
from core_mondrian.verification.verify import (
    SHOWS_PSEUDONYM,
    Verification,
    WholeTable,
    beside,
    verify_buckets,
    verify_counts,
)

Counted = tuple[pa.Table, NDArray[np.int64]]
"""Different rows, and how often each occurs."""
_AT_ONCE: Final = 1 << 19
"""Different rows that are verified at a time, if there is room for them."""
_ROW: Final = 512
"""Bytes that each of them takes."""


class Requirements(NamedTuple):
    """What a release has to satisfy, whoever made and counted it."""

    spec: Spec
    """With hierarchies as they are."""
    budget: int | None = None
    """None: what the spec allows."""
    n_rows: int | None = None
    """Rows that it has to have; None: it may be anybody's."""
    n_models: int | None = None
    """Models that were asked for; the others made it stricter."""

    def verify(
        self, values: pa.Table, rows: NDArray[np.int64], names: Sequence[str]
    ) -> Verification:
        """Check a release as a source counted it again.

        ``values`` has the released rows that differ in what models look at, ``rows``
        how often each occurs, ``names`` the columns of the release.

        Raises:
            PrivacyViolation: a class fails, or an identifier was not removed.
            InternalError: rows were lost, or are not those that were planned.
        """
        self._check_rows(int(rows.sum()))
        found = verify_counts(values, rows, self.spec, budget=self.budget, names=names)
        return self._as_asked(found)

    def verify_buckets(
        self, buckets: Iterable[Counted], whole: WholeTable, names: Sequence[str]
    ) -> Verification:
        """Check the same where different rows are too many to be here at once."""
        self._check_rows(whole.n_rows)
        budget = self.budget
        budget = self.spec.budget(whole.n_rows) if budget is None else budget
        found = verify_buckets(buckets, whole, self.spec, budget=budget, names=names)
        return self._as_asked(found)

    def _check_rows(self, n_rows: int) -> None:
        if self.n_rows is not None and n_rows != self.n_rows:
            raise InternalError(
                "rows released and suppressed do not add up to rows read"
            )

    def _as_asked(self, found: Verification) -> Verification:
        return replace(found, models=found.models[: self.n_models])


def columns_of_models(spec: Spec, names: Sequence[str]) -> list[str]:
    """Return what models look at in a release that has such columns, unit included."""
    shown = [
        one
        for name in spec.quasi_identifiers
        for one in ((name,) if name in names else spec.bounds_of(name) or (name,))
    ]
    unit = [] if spec.unit is None else [spec.unit]
    return list(dict.fromkeys((*shown, *beside(spec, names), *spec.sensitive, *unit)))


class CountedRelease(ABC):
    """The different rows of a release: a table with a column ``n``, rows of each."""

    spec: Spec
    table: str
    columns: Sequence[str]
    """What models look at, as the release has it, and `SHOWS_PSEUDONYM`."""

    @abstractmethod
    def cell(self, name: str) -> str:
        """Return how the table calls one of the columns."""

    @abstractmethod
    def read(self, names: Sequence[str], n: str, more: str) -> Iterator[pa.Table]:
        """Yield some columns, of the types they have, and last the rows of each.

        ``n`` and ``more`` are SQL: SELECT columns, n FROM table more. One table at
        least is yielded, if without rows.
        """

    @abstractmethod
    def number(self, expression: str) -> int:
        """Return one number that is computed from the whole table."""

    def verify(
        self, asked: Requirements, names: Sequence[str], room: int | None = None
    ) -> Verification:
        """Check every model in so many bytes; ``names`` are columns of the release.

        Raises:
            PrivacyViolation: a class fails, or something is there that should not be.
        """
        most = _AT_ONCE if room is None else min(_AT_ONCE, room // _ROW + 1)
        if self.number("count(*)") <= most:
            values, rows = self._all(self.columns, "n", "")
            return asked.verify(values, rows, names)
        return asked.verify_buckets(self.buckets(most), self._sums(), names)

    def _all(self, names: Sequence[str], n: str, more: str) -> Counted:
        return divide(pa.concat_tables(self.read(names, n, more)))

    def _grouped(self, name: str) -> Counted:
        """Count the values of a column in all rows but those that show nothing."""
        n = "CAST(sum(n) AS BIGINT)"
        return self._all([name], n, f"{self.seen}GROUP BY {self.cell(name)}")

    @property
    def seen(self) -> str:
        """The condition that a row shows anything, where there are others."""
        if self.spec.suppressed != "blank":
            return ""
        others = (x for x in self.columns if x != self.spec.unit)
        shown = " OR ".join(f"{self.cell(x)} IS NOT NULL" for x in others)
        return f"WHERE {shown} "

    def _sums(self) -> WholeTable:
        values = {name: self._grouped(name) for name in self.spec.sensitive}
        unit = self.spec.unit
        n_persons = None if unit is None else self.count_persons(unit)
        return WholeTable(self.number("sum(n)"), values, n_persons)

    def count_persons(self, unit: str) -> int:
        """Count the persons in all rows but those that show nothing."""
        units, _ = self._grouped(unit)
        coded = code_column(unified_texts(units.column(0), self.spec.null_values))
        return np.unique(coded.codes).size

    @property
    def shown(self) -> list[str]:
        """The columns that tell classes apart."""
        others = {*self.spec.sensitive, self.spec.unit, SHOWS_PSEUDONYM}
        return [name for name in self.columns if name not in others]

    def buckets(self, most: int) -> Iterator[Counted]:
        """Yield the rows class by class, as many classes as fit at a time."""
        places = [list(self.columns).index(name) for name in self.shown]
        order = ", ".join(map(self.cell, self.shown))

        def class_keys(table: pa.Table) -> NDArray[np.uint64]:
            return combine_keys(
                (cell_keys(table.column(i)) for i in places), len(table)
            )

        rows = self.read(self.columns, "n", f"ORDER BY {order}")
        return map(divide, whole_groups(rows, class_keys, len, most))


def divide(table: pa.Table) -> Counted:
    """Return rows, and how often each occurs, which is the last column."""
    last = table.num_columns - 1
    rows = table.column(last).to_numpy().astype(np.int64)
    return table.select(range(last)), rows


def whole_groups(
    tables: Iterable[pa.Table],
    keys_of: Callable[[pa.Table], NDArray[Any]],
    size_of: Callable[[pa.Table], int],
    most: int,
) -> Iterator[pa.Table]:
    """Join tables until they have ``most``, and cut them where the last group begins.

    Rows of one group come one after another. A group may be larger than ``most``.
    """
    held: list[pa.Table] = []
    size = 0
    for table in tables:
        held.append(table)
        size += size_of(table)
        if size < most:
            continue
        joined = pa.concat_tables(held)
        end = _end_of_groups(keys_of(joined))
        if end:
            yield joined.slice(0, end)
        held = [joined.slice(end)]
        size = size_of(held[0])
    if held:
        yield pa.concat_tables(held)


def _end_of_groups(keys: NDArray[Any]) -> int:
    """Return where the last group begins, of which more rows may follow."""
    others = np.flatnonzero(keys != keys[-1]) if keys.size else keys
    return int(others[-1]) + 1 if others.size else 0


def repeats_query(cells: str, unit: object) -> str:
    """Return a query of how often values ``v`` repeat; see `Repeats`.

    With a ``unit``, among the persons ``u``.
    """
    if unit is None:
        return (
            "SELECT sum(n) AS a, count(*) AS b, "
            "sum(CASE WHEN n = 1 THEN 1 ELSE 0 END) AS c "
            f"FROM (SELECT count(*) AS n FROM {cells} GROUP BY v) AS t"
        )
    return (
        f"WITH d AS MATERIALIZED (SELECT DISTINCT v, u FROM {cells}), "
        "w AS (SELECT v, count(*) AS n, min(u) AS u FROM d GROUP BY v) "
        "SELECT (SELECT count(*) FROM (SELECT DISTINCT u FROM d) AS x) AS a, "
        "(SELECT count(*) FROM w) AS b, "
        "(SELECT count(*) FROM (SELECT DISTINCT u FROM w WHERE n = 1) AS y) AS c"
    )
