"""The classes of a release in parts, in DuckDB: what they show, and how many rows.

Classes of several parts that show the same are one. A class is kept by the ranks of
what it shows among all that its column shows; -1 is a blank.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.labels import Labels, digest_columns

Codes = NDArray[np.int32]
_BATCH = 1 << 18


class ShownLabels(NamedTuple):
    """What all parts show in one column, from the smallest on."""

    labels: Labels
    ranks: list[Codes]
    """By part: the place among all of what the part shows, and last that of a blank."""

    @staticmethod
    def of(parts: Sequence[pa.Array]) -> "ShownLabels":
        """Return what several parts show, each of which shows nothing twice."""
        whole = pa.concat_arrays(parts)
        ends = whole.flatten() if pa.types.is_struct(whole.type) else [whole]
        codes = [end.dictionary_encode().indices.to_numpy() for end in ends]
        key = codes[0].astype(np.int64)
        for more in codes[1:]:
            key = key * (len(whole) + 1) + more
        _, first, place = np.unique(key, return_index=True, return_inverse=True)
        shown = whole.take(pa.array(first))
        labels = Labels(place.ravel().astype(np.int32), shown).sorted()
        edges = np.cumsum([len(part) for part in parts])[:-1]
        ranks = [np.append(x, np.int32(-1)) for x in np.split(labels.index, edges)]
        return ShownLabels(labels, ranks)


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
        self.connection.register("arrow", pa.table(columns))
        self.connection.execute("INSERT INTO classes SELECT * FROM arrow")
        self.connection.unregister("arrow")

    def digest(self, shown: dict[str, Sequence[str]], *, with_blank: bool) -> str:
        """Return the digest of the classes; see `recode.release_digest`."""
        seen = "" if with_blank else f"WHERE greatest({self._keys}, -1) >= 0 "
        self.connection.execute(
            f"CREATE OR REPLACE TABLE shown_classes AS SELECT {self._keys}, "
            f"CAST(sum(n) AS BIGINT) AS n FROM classes {seen}GROUP BY {self._keys} "
            f"ORDER BY {self._keys}"
        )

        def column(name: str) -> Iterator[NDArray[Any]]:
            found = self.connection.sql(f"SELECT {name} FROM shown_classes")
            for batch in found.to_arrow_reader(_BATCH):
                yield batch.column(0).to_numpy()

        names = (*(f"r{i}" for i in range(self.n_columns)), "n")
        return digest_columns(shown, (column(name) for name in names))

    @cached_property
    def totals(self) -> ClassTotals:
        """Count the classes that a reader can tell apart."""
        n, least, squares = self.connection.sql(
            "SELECT count(*), min(n), CAST(sum(n * n) AS VARCHAR) FROM (SELECT sum(n) "
            f"AS n FROM classes GROUP BY {self._keys}) AS t"
        ).fetchall()[0]
        return ClassTotals(n, None if least is None else int(least), int(squares or 0))

    def numbers(self) -> NDArray[np.int64]:
        """Return the number of each leaf's class, from 1 on by what it shows."""
        keys = self._keys
        same = " AND ".join(f"a.r{i} = b.r{i}" for i in range(self.n_columns))
        distinct = f"SELECT DISTINCT {keys} FROM classes"
        found = self.connection.sql(
            f"SELECT b.number FROM classes AS a JOIN (SELECT {keys}, row_number() OVER "
            f"(ORDER BY {keys}) AS number FROM ({distinct}) AS d) AS b ON {same} "
            "ORDER BY a.leaf"
        ).to_arrow_table()
        return np.array(found["number"].to_numpy(), dtype=np.int64)
