"""Verify a release whose different rows were counted in a table of a database."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.files.cells import spelled
from core_mondrian.measure.counting import code_column
from core_mondrian.measure.verify import SHOWS_PSEUDONYM, Verification, WholeTable
from core_mondrian.sources.row_plan import RowPlan
from core_mondrian.spec import Spec
from core_mondrian.tables.cell_keys import cell_keys, combine_keys

Integers = NDArray[np.int64]
Counted = tuple[pa.Table, Integers]
"""Different rows, and how often each occurs."""
_AT_ONCE: Final = 1 << 19
"""Different rows that are verified at a time."""


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
    def read(self, names: Sequence[str], n: str, more: str) -> Iterator[Counted]:
        """Yield some columns, of the types they have, and how often each row occurs.

        ``n`` and ``more`` are SQL: SELECT columns, n FROM table more. One table at
        least is yielded, if without rows.
        """

    @abstractmethod
    def number(self, expression: str) -> int:
        """Return one number that is computed from the whole table."""

    def verify(self, plan: RowPlan, names: Sequence[str]) -> Verification:
        """Check every model; ``names`` are all columns of the release.

        Raises:
            PrivacyViolation: a class fails, or something is there that should not be.
        """
        if self.number("count(*)") <= _AT_ONCE:
            values, rows = self._whole_table(self.columns, "n", "")
            return plan.verify(values, rows, names)
        return plan.verify_buckets(self._buckets(), self._sums(), names)

    def _whole_table(self, names: Sequence[str], n: str, more: str) -> Counted:
        return _join(list(self.read(names, n, more)))

    def _grouped(self, name: str) -> Counted:
        """Count the values of a column in all rows but those that show nothing."""
        seen = ""
        if self.spec.suppressed == "blank":
            others = (x for x in self.columns if x != self.spec.unit)
            seen = " OR ".join(f"{self.cell(x)} IS NOT NULL" for x in others)
            seen = f"WHERE {seen} "
        n = "CAST(sum(n) AS BIGINT)"
        return self._whole_table([name], n, f"{seen}GROUP BY {self.cell(name)}")

    def _sums(self) -> WholeTable:
        values = {name: self._grouped(name) for name in self.spec.sensitive}
        n_persons = None
        if self.spec.unit is not None:
            units, _ = self._grouped(self.spec.unit)
            coded = code_column(spelled(units.column(0), self.spec.null_values))
            n_persons = np.unique(coded.codes).size
        return WholeTable(self.number("sum(n)"), values, n_persons)

    def _buckets(self) -> Iterator[Counted]:
        """Yield the rows class by class, as many classes as fit at a time."""
        others = {*self.spec.sensitive, self.spec.unit, SHOWS_PSEUDONYM}
        shown = [name for name in self.columns if name not in others]
        order = "ORDER BY " + ", ".join(self.cell(name) for name in shown)
        held: list[Counted] = []
        for some in self.read(self.columns, "n", order):
            held.append(some)
            if sum(rows.size for _, rows in held) < _AT_ONCE:
                continue
            table, rows = _join(held)
            end = _end_of_classes(table.select(shown))
            if end:
                yield table.slice(0, end), rows[:end]
            held = [(table.slice(end), rows[end:])]
        if held:
            yield _join(held)


def _join(some: Sequence[Counted]) -> Counted:
    tables, rows = zip(*some, strict=True)
    whole = pa.concat_tables(tables, promote_options="permissive")
    return whole, np.concatenate(rows)


def _end_of_classes(shown: pa.Table) -> int:
    """Return where the last class begins, of which more rows may follow."""
    keys = combine_keys(map(cell_keys, shown.columns), len(shown))
    different = np.flatnonzero(keys != keys[-1])
    return int(different[-1]) + 1 if different.size else 0
