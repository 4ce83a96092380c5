"""Tuples counted on the cluster; with few of them, planned here."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import pyarrow as pa

from core_mondrian.recoding.plan import SUPPRESSED
from core_mondrian.runtime.stages import Stages
from core_mondrian.sources.parted_plan import PartedClasses
from core_mondrian.sources.remote_plan import RemotePlan, make_plan
from core_mondrian.sources.spark.arrow import in_utc, send
from core_mondrian.sources.spark.failures import working
from core_mondrian.sources.spark.relations import Relations, setting
from core_mondrian.sources.spark.rows import Rows, numbered
from core_mondrian.sources.tuple_counts import TupleCounts
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.keys import Key

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS: Final = "rows"
TUPLE: Final = "tuple"
LEAF: Final = "leaf"
PLACES: Final = "places"
LABELS: Final = "labels"
SHARES: Final = "shares"
"""Relations that a release is made of, as often as it is asked for."""
_FEWER: Final = "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning"
ClusterPlan: TypeAlias = RemotePlan | PartedClasses


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
    """Where every counted tuple goes, and what is shown there; all on the cluster."""

    plan: ClusterPlan
    places: "DataFrame"
    """The keys, ``tuple`` and ``leaf``."""
    n_tuples: int
    labels: "DataFrame"
    """``leaf``, and what it shows: ``s0 …``. The last is of suppressed rows, if these
    stay."""
    shares: "DataFrame | None"
    """Where rows of divided tuples go, as `Shares` has it; None: there are none."""
    n_split: int
    """Rows of divided tuples."""
    relations: Relations | None = None
    """What was made on the way."""

    @property
    def spec(self) -> Spec:
        return self.plan.spec

    def close(self) -> None:
        """Let go of all on the cluster that the release is not made of."""
        if self.relations is not None:
            self.relations.keep_only(PLACES, LABELS, SHARES)


def count_tuples(rows: Rows) -> CountedTuples:
    """Count the distinct tuples on the cluster, and keep them there."""
    counted = rows.frame.groupBy(*rows.keys).count().withColumnRenamed("count", ROWS)
    with working("count tuples"):
        # Few tuples are put together, or each count would take 200 tasks.
        with setting(rows.frame.sparkSession, _FEWER, "true"):
            kept = counted.persist()
        return CountedTuples(kept, rows, kept.count())


def plan_here(
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
    source, session = counted.source, counted.frame.sparkSession
    with working("fetch tuples"):
        table = counted.frame.toArrow()
    keys = table.select(source.keys)
    values = source.read(in_utc(keys).rename_columns(list(source.counted)))
    counts = TupleCounts(values, table[ROWS].to_numpy().astype(np.int64))
    planned = make_plan(counts, spec, key, by=by, threads=threads, stages=stages)
    plan = planned.plan
    places = {
        **dict(zip(source.keys, keys.columns, strict=True)),
        TUPLE: pa.array(plan.tuple_of, pa.int32()),
        LEAF: pa.array(plan.leaf, pa.int32()),
    }
    leaves = np.arange(plan.shown.num_rows, dtype=np.int32)
    if not spec.leaves_out:
        leaves[-1] = SUPPRESSED
    labels = plan.shown.rename_columns(numbered("s", plan.shown.column_names))
    shares = plan.shares
    divided = {
        TUPLE: shares.tuple_of,
        LEAF: shares.leaf,
        ROWS: shares.rows,
        "piece": shares.piece,
        "content": shares.content.view(np.int64),
    }
    return PlannedTuples(
        planned,
        send(session, pa.table(places)),
        counted.n_tuples,
        send(session, labels.append_column(LEAF, pa.array(leaves))),
        send(session, pa.table(divided)) if shares.n_rows else None,
        shares.n_rows,
    )
