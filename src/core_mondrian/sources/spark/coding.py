"""Code and number the tuples on the cluster: what comes here are values of columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.encoding.encoder import (
    Encoded,
    ValueCodes,
    encode_values,
    tuple_columns,
)
from core_mondrian.engine.search.loss_weights import number_levels
from core_mondrian.sources.spark.arrow import in_utc, send, sized
from core_mondrian.sources.spark.failures import working
from core_mondrian.sources.spark.relations import Relations
from core_mondrian.sources.spark.tuples import ROWS, CountedTuples
from core_mondrian.sources.tuple_relation import TUPLES, TupleShape
from core_mondrian.spec.declaration import Spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NUMBERED: Final = "numbered"
_SORTED_AT_ONCE: Final = 250_000
"""Tuples that are sorted in one task, about."""
_MOST_RUNS: Final = 200
_CELLS_PER_RUN: Final = 16


@dataclass(frozen=True)
class NumberedTuples:
    """The tuples that were counted, coded and numbered.

    Two relations: `TUPLES`, see `tuple_relation`, and `NUMBERED`, which has the keys of
    each counted tuple with its codes and its number; several may be one tuple.
    """

    codes: ValueCodes
    shape: TupleShape
    n_tuples: int


def code_tuples(
    relations: Relations, counted: CountedTuples, spec: Spec
) -> NumberedTuples:
    """Give every counted tuple codes, and a number in the order of its codes.

    Raises:
        DataError: a column cannot be encoded.
    """
    source = counted.source
    keys, meanings, rows = {}, {}, {}
    for name, key in zip(source.counted, source.keys, strict=True):
        keys[name], rows[name] = _count_values(counted.frame, key)
        table = in_utc(pa.table({name: keys[name]}))
        meanings[name] = source.read(table)[name].combine_chunks()
    codes = encode_values(meanings, rows, spec)
    shape = TupleShape(codes.encoded.table)
    coded = counted.frame
    columns = (*shape.codes, *shape.others)
    for place, name in enumerate(tuple_columns(spec)):
        values = {"v": keys[name], columns[place]: codes.codes[place]}
        if place in shape.numbers:
            levels = number_levels(shape.table.columns[place])
            values[f"l{place}"] = levels[codes.codes[place]].astype(np.int32)
        coded = _join_values(coded, source.keys[source.counted.index(name)], values)
    encoded = codes.with_tuples(counted.n_tuples)
    ranking = _Ranking(relations, shape, encoded, counted.n_tuples, source.keys)
    return NumberedTuples(codes, shape, ranking.run(coded))


def _count_values(counted: "DataFrame", key: str) -> tuple[Any, NDArray[np.int64]]:
    """Return the distinct values of a key, and how many rows have each."""
    from pyspark.sql import functions as F  # noqa: N812

    with working("count values"):
        found = counted.groupBy(key).agg(F.sum(ROWS).alias(ROWS)).toArrow()
    return found[key], found[ROWS].to_numpy().astype(np.int64)


def _join_values(frame: "DataFrame", key: str, values: dict[str, Any]) -> "DataFrame":
    """Look the code of each tuple's value up; a missing value is a value."""
    there = send(frame.sparkSession, pa.table(values))
    found = frame.join(
        sized(there, len(values["v"])), frame[key].eqNullSafe(there["v"])
    )
    return found.drop("v")


@dataclass(frozen=True)
class _Ranking:
    """Numbers tuples in the order of their codes, run by run.

    run 0         run 1                 A run is sorted in one task. Where it begins
    (0, 0) → 0    (3, 1) → 2            does not matter, as long as runs follow each
    (0, 7) → 1    (4, 0) → 3            other: so it is found by a rough count.
    """

    relations: Relations
    shape: TupleShape
    encoded: Encoded
    n_counted: int
    keys: Sequence[str]

    def run(self, coded: "DataFrame") -> int:
        """Make both relations; return how many tuples there are."""
        session, order = self.relations.session, [*self.shape.codes, *self.shape.others]
        self.relations.put("coded", coded, is_kept=False)
        cells = ", ".join([*self.keys, *order, *self.shape.levels])
        peers = "RANGE BETWEEN CURRENT ROW AND CURRENT ROW"
        window = f"PARTITION BY run ORDER BY {', '.join(order)}"
        ranked = session.sql(
            f"SELECT {cells}, run, dense_rank() OVER w AS place, "
            f"row_number() OVER w = rank() OVER w AS is_first, "
            f"sum({ROWS}) OVER ({window} {peers}) AS n FROM (SELECT /*+ REPARTITION("
            f"{self._n_runs}, run) */ * FROM (SELECT *, {self._run} AS run "
            f"FROM {self.relations.view('coded')})) WINDOW w AS ({window})"
        )
        self.relations.put("ranked", ranked)
        first, n_tuples = self._first()
        self.relations.put("first", send(session, first), is_kept=False)
        numbered = session.sql(
            f"SELECT {cells}, is_first, CAST(n AS INT) AS n, "
            "CAST(first + place - 1 AS INT) AS id "
            f"FROM {self.relations.view('ranked')} AS r "
            f"JOIN {self.relations.view('first')} AS f ON f.run = r.run"
        )
        self.relations.put(NUMBERED, numbered, is_kept=False)
        tuples = session.sql(
            f"SELECT {', '.join(self.shape.names)} "
            f"FROM {self.relations.view(NUMBERED)} WHERE is_first"
        )
        self.relations.put(TUPLES, tuples, is_kept=False)
        return n_tuples

    @property
    def _n_runs(self) -> int:
        return min(-(-self.n_counted // _SORTED_AT_ONCE), _MOST_RUNS)

    @property
    def _run(self) -> str:
        """An expression of the run that a tuple is in."""
        word, edges = self._edges()
        cases = [f"WHEN {word} <= {edge} THEN {i}" for i, edge in enumerate(edges)]
        return f"CASE {' '.join(cases)} ELSE {len(edges)} END" if edges else "0"

    def _edges(self) -> tuple[str, list[int]]:
        """Return a number that rises with the codes, and where runs of it end.

        As if columns had nothing to do with each other: who knows better needs a count.
        """
        n_runs = self._n_runs
        word, share = "0", np.ones(1)
        for i in range(len(self.shape.codes)):
            rows = self.encoded.table.code_rows(i)
            word = f"({word}) * {rows.size} + CAST(c{i} AS BIGINT)"
            share = np.outer(share, rows / rows.sum()).ravel()
            if share.size > _CELLS_PER_RUN * n_runs:
                break
        ends = np.arange(1, n_runs) / n_runs
        return word, np.unique(np.searchsorted(np.cumsum(share), ends)).tolist()

    def _first(self) -> tuple[pa.Table, int]:
        """Return the number of the first tuple of each run, and how many there are."""
        ranked = self.relations["ranked"]
        with working("number tuples"):
            found = ranked.groupBy("run").agg({"place": "max"}).toArrow()
        found = found.sort_by("run")
        ends = np.cumsum(found["max(place)"].to_numpy().astype(np.int64))
        first = np.append(0, ends[:-1])
        return pa.table({"run": found["run"], "first": first}), int(ends[-1])
