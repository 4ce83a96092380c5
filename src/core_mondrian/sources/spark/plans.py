"""Count tuples on the cluster, and say which leaf each of them goes to."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from core_mondrian.runtime.stages import Stages
from core_mondrian.sources.remote_plan import RemotePlan, make_plan
from core_mondrian.sources.spark.arrow import in_utc, send
from core_mondrian.sources.spark.failures import working
from core_mondrian.sources.spark.rows import Rows
from core_mondrian.sources.tuple_counts import TupleCounts
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.keys import Key

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS: Final = "rows"
TUPLE: Final = "tuple"
LEAF: Final = "leaf"


@dataclass(frozen=True)
class CountedTuples:
    """The distinct tuples of a table, on the cluster, and how many rows have each.

    The frame has the keys ``k0 …`` and ``rows``, and is persisted.
    """

    frame: "DataFrame"
    source: Rows
    n_tuples: int


@dataclass(frozen=True)
class PlannedTuples:
    """Where every counted tuple goes.

    The frame has the keys, ``tuple`` and ``leaf``.
    """

    planned: RemotePlan
    frame: "DataFrame"
    n_tuples: int


def count_tuples(rows: Rows) -> CountedTuples:
    """Count the distinct tuples on the cluster, and keep them there."""
    counted = rows.frame.groupBy(*rows.keys).count().withColumnRenamed("count", ROWS)
    with working("counting tuples"):
        kept = counted.persist()
        return CountedTuples(kept, rows, kept.count())


def plan_tuples(
    counted: CountedTuples,
    spec: Spec,
    key: Key,
    *,
    by: Sequence[str] = (),
    threads: int | None = None,
    stages: Stages | None = None,
) -> PlannedTuples:
    """Fetch the tuples, let the engine plan, and send their leaves back.

    Raises:
        SpecError: the spec asks for what needs all rows in memory.
        DataError: a column cannot be encoded.
        InfeasibleError: no release satisfies the models within the budget.
    """
    source = counted.source
    with working("fetching tuples"):
        table = counted.frame.toArrow()
    keys = table.select(source.keys)
    values = source.read(in_utc(keys).rename_columns(list(source.counted)))
    counts = TupleCounts(values, table[ROWS].to_numpy().astype(np.int64))
    planned = make_plan(counts, spec, key, by=by, threads=threads, stages=stages)
    plan = planned.plan
    sent = {
        **dict(zip(source.keys, keys.columns, strict=True)),
        TUPLE: pa.array(plan.tuple_of, pa.int32()),
        LEAF: pa.array(plan.leaf, pa.int32()),
    }
    frame = send(counted.frame.sparkSession, pa.table(sent))
    return PlannedTuples(planned, frame, counted.n_tuples)
