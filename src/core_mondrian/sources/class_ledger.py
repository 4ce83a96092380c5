"""The classes of a release in parts, in DuckDB: what they show, and how many rows.

Classes of several parts that show the same are one. A class is kept by the ranks of
what it shows among all that its column shows; -1 is a blank.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.recoding.labels import digest_columns
from core_mondrian.sources.spill import insert, read_batches

Codes = NDArray[np.int32]


class ClassTotals(NamedTuple):
    """What is known of all classes."""

    n_classes: int
    smallest: int | None
    squares: int


@dataclass(frozen=True)
class ClassLedger:
    """The classes, by what they show in so many columns."""

    connection: Any
    n_columns: int

    @property
    def _keys(self) -> str:
        return ", ".join(f"r{i}" for i in range(self.n_columns))

    def open(self) -> None:
        """Begin with no class."""
        ranks = [f"r{i} INTEGER" for i in range(self.n_columns)]
        columns = ", ".join([*ranks, "leaf INTEGER", "n BIGINT"])
        self.connection.execute(f"CREATE OR REPLACE TABLE classes ({columns})")

    def add(self, ranks: Sequence[Codes], rows: NDArray[np.int64], first: int) -> None:
        """Take leaves, numbered from ``first`` on: what they show, and their rows."""
        columns: dict[str, Any] = {f"r{i}": rank for i, rank in enumerate(ranks)}
        columns["leaf"] = np.arange(first, first + rows.size, dtype=np.int32)
        columns["n"] = rows
        insert(self.connection, "classes", pa.table(columns))

    def digest(
        self, shown: Mapping[str, Iterable[Sequence[str]]], *, with_blank: bool
    ) -> str:
        """Return the digest of the classes; see `recode.release_digest`."""
        seen = "" if with_blank else f"WHERE greatest({self._keys}, -1) >= 0 "
        self.connection.execute(
            f"CREATE OR REPLACE TABLE shown_classes AS SELECT {self._keys}, "
            f"CAST(sum(n) AS BIGINT) AS n FROM classes {seen}GROUP BY {self._keys} "
            f"ORDER BY {self._keys}"
        )

        def column(name: str) -> Iterator[NDArray[Any]]:
            sql = f"SELECT {name} FROM shown_classes"
            for batch in read_batches(self.connection, sql):
                yield batch[name].to_numpy()

        names = (*(f"r{i}" for i in range(self.n_columns)), "n")
        found = digest_columns(shown, (column(name) for name in names))
        self.connection.execute("DROP TABLE shown_classes")
        return found

    @cached_property
    def totals(self) -> ClassTotals:
        """Count the classes that a reader can tell apart."""
        n, least, squares = self.connection.sql(
            "SELECT count(*), min(n), CAST(sum(n * n) AS VARCHAR) FROM (SELECT sum(n) "
            f"AS n FROM classes GROUP BY {self._keys}) AS t"
        ).fetchall()[0]
        return ClassTotals(n, None if least is None else int(least), int(squares or 0))

    def numbers(self, *, with_blank: bool) -> Iterator[NDArray[np.int64]]:
        """Yield the number of each leaf's class, from 1 on by what it shows.

        A class that is blank all over has none (-1), unless ``with_blank``.
        """
        keys = self._keys
        same = " AND ".join(f"a.r{i} = b.r{i}" for i in range(self.n_columns))
        ranks = ", ".join(f"a.r{i}" for i in range(self.n_columns))
        has_none = "false" if with_blank else f"greatest({ranks}) < 0"
        self.connection.execute(
            f"CREATE OR REPLACE TABLE distinct_classes AS SELECT DISTINCT {keys} "
            f"FROM classes ORDER BY {keys}"
        )
        # Rows of a table that was sorted are numbered in that order.
        for batch in read_batches(
            self.connection,
            f"SELECT CASE WHEN {has_none} THEN -1 ELSE b.rowid + 1 END AS number "
            f"FROM classes AS a JOIN distinct_classes AS b ON {same} ORDER BY a.leaf",
        ):
            yield batch["number"].to_numpy().astype(np.int64)
        self.connection.execute("DROP TABLE distinct_classes")
