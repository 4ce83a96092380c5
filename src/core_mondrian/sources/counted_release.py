"""Verify a release whose different rows were counted in a table of a database."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.sources.row_plan import RowPlan
from core_mondrian.sources.whole_groups import whole_groups
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.cell_keys import cell_keys, combine_keys
from core_mondrian.tables.files.cells import unified_texts
from core_mondrian.verification.counting import code_column
from core_mondrian.verification.verify import (
    SHOWS_PSEUDONYM,
    Verification,
    WholeTable,
    beside,
)

Counted = tuple[pa.Table, NDArray[np.int64]]
"""Different rows, and how often each occurs."""
_AT_ONCE: Final = 1 << 19
"""Different rows that are verified at a time, if there is room for them."""
_ROW: Final = 512
"""Bytes that each of them takes."""


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

    def verify(self, plan: RowPlan, names: Sequence[str], room: int) -> Verification:
        """Check every model in so many bytes; ``names`` are columns of the release.

        Raises:
            PrivacyViolation: a class fails, or something is there that should not be.
        """
        most = min(_AT_ONCE, room // _ROW + 1)
        if self.number("count(*)") <= most:
            values, rows = self._all(self.columns, "n", "")
            return plan.verify(values, rows, names)
        return plan.verify_buckets(self._buckets(most), self._sums(), names)

    def _all(self, names: Sequence[str], n: str, more: str) -> Counted:
        return _divide(pa.concat_tables(self.read(names, n, more)))

    def _grouped(self, name: str) -> Counted:
        """Count the values of a column in all rows but those that show nothing."""
        seen = ""
        if self.spec.suppressed == "blank":
            others = (x for x in self.columns if x != self.spec.unit)
            seen = " OR ".join(f"{self.cell(x)} IS NOT NULL" for x in others)
            seen = f"WHERE {seen} "
        n = "CAST(sum(n) AS BIGINT)"
        return self._all([name], n, f"{seen}GROUP BY {self.cell(name)}")

    def _sums(self) -> WholeTable:
        values = {name: self._grouped(name) for name in self.spec.sensitive}
        n_persons = None
        if self.spec.unit is not None:
            units, _ = self._grouped(self.spec.unit)
            coded = code_column(unified_texts(units.column(0), self.spec.null_values))
            n_persons = np.unique(coded.codes).size
        return WholeTable(self.number("sum(n)"), values, n_persons)

    def _buckets(self, most: int) -> Iterator[Counted]:
        """Yield the rows class by class, as many classes as fit at a time."""
        others = {*self.spec.sensitive, self.spec.unit, SHOWS_PSEUDONYM}
        shown = [i for i, name in enumerate(self.columns) if name not in others]
        order = ", ".join(self.cell(self.columns[i]) for i in shown)

        def class_keys(table: pa.Table) -> NDArray[np.uint64]:
            return combine_keys((cell_keys(table.column(i)) for i in shown), len(table))

        rows = self.read(self.columns, "n", f"ORDER BY {order}")
        return map(_divide, whole_groups(rows, class_keys, len, most))


def _divide(table: pa.Table) -> Counted:
    last = table.num_columns - 1
    rows = table.column(last).to_numpy().astype(np.int64)
    return table.select(range(last)), rows


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
