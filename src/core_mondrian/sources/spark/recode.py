"""Rows to their classes, classes to what they show: joins, as Spark does them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from core_mondrian.recoding.plan import DIVIDED, SUPPRESSED, Place, Plan
from core_mondrian.sources.spark.arrow import send
from core_mondrian.sources.spark.plans import LEAF, ROWS, TUPLE, PlannedTuples
from core_mondrian.sources.spark.rows import Rows, numbered
from core_mondrian.sources.spark.workers import allocating, pseudonymizing

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructField

_BROADCAST: Final = 1_000_000
"""Tables of fewer rows are sent to every executor; larger ones are shuffled."""
_ROWS_AT_ONCE: Final = 100_000
"""Rows of divided tuples that an executor is handed at a time, about."""


@dataclass(frozen=True)
class PlacedRows:
    """Every row with its class: columns ``c0 …``, ``tuple``, ``leaf``."""

    frame: "DataFrame"
    source: Rows
    plan: Plan


def place_rows(rows: Rows, tuples: PlannedTuples) -> PlacedRows:
    """Give every row the leaf of its tuple, or its share of a divided tuple's.

    A row whose tuple was not counted gets none and is lost: what the table did not
    hold when it was counted must not be released.
    """
    from pyspark.sql import functions as F  # noqa: N812

    plan = tuples.planned.plan
    kept = [*numbered("c", rows.names), TUPLE, LEAF]
    is_divided = F.col(LEAF) == DIVIDED
    places = tuples.frame
    found = _join(rows, places.filter(~is_divided), tuples.n_tuples).select(kept)
    if plan.shares.n_rows:
        divided = _join(rows, places.filter(is_divided), tuples.n_tuples)
        found = found.unionByName(_allocate(divided.select(kept), rows, plan))
    return PlacedRows(found, rows, plan)


def _sized(frame: "DataFrame", n_rows: int) -> "DataFrame":
    """Say how a table is to be joined: sent to all executors, or shuffled."""
    return frame.hint("broadcast" if n_rows < _BROADCAST else "shuffle_hash")


def _join(rows: Rows, places: "DataFrame", n_tuples: int) -> "DataFrame":
    """Look the tuple of every row up; a missing value is a value."""
    renamed = places.withColumnsRenamed({key: f"of_{key}" for key in rows.keys})
    alike = [rows.frame[key].eqNullSafe(renamed[f"of_{key}"]) for key in rows.keys]
    return rows.frame.join(_sized(renamed, n_tuples), reduce(and_, alike))


def _allocate(divided: "DataFrame", rows: Rows, plan: Plan) -> "DataFrame":
    """Allocate rows of divided tuples on the executors, some tuples at a time."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql import types as T  # noqa: N812

    shares = plan.shares
    table = pa.table(
        {
            TUPLE: shares.tuple_of,
            LEAF: shares.leaf,
            ROWS: shares.rows,
            "piece": shares.piece,
            "content": shares.content.view(np.int64),
        }
    )
    there = send(divided.sparkSession, table)
    n_buckets = -(-shares.n_rows // _ROWS_AT_ONCE)
    bucket = F.pmod(F.col(TUPLE), F.lit(n_buckets))
    others = plan.spec.carried(rows.names)
    allocate = allocating(rows.names, others, plan.allocation_key)
    unplaced = divided.drop(LEAF)
    fields = [*unplaced.schema.fields, T.StructField(LEAF, T.IntegerType())]
    return (
        unplaced.groupBy(bucket.alias("bucket"))
        .cogroup(there.groupBy(bucket.alias("bucket")))
        .applyInArrow(allocate, T.StructType(fields))
    )


def lay_out(placed: PlacedRows, places: Sequence[Place]) -> "DataFrame":
    """Return the released rows: columns ``r0 …``, one for each of ``places``.

    If the unit is not released there is one more, for whoever counts persons.
    """
    from pyspark.sql import functions as F  # noqa: N812

    plan, source, spec = placed.plan, placed.source, placed.plan.spec
    joined = placed.frame.join(_labels(placed), LEAF)
    schema = placed.frame.schema
    columns: list[Column] = []
    for place in places:
        if place.how == "shown":
            columns.append(F.col(f"s{plan.shown.column_names.index(place.name)}"))
            continue
        column = _without_notes(schema[source.place(str(place.source))])
        # Fewer than k rows are suppressed: what they show would be somebody's.
        if not spec.leaves_out:
            column = F.when(F.col(LEAF) >= 0, column)
        columns.append(column)
    if spec.unit is not None and spec.is_unit_removed:
        columns.append(F.col(source.place(spec.unit)))
    named = [column.alias(f"r{i}") for i, column in enumerate(columns)]
    return _mixed(_pseudonymize(joined.select(named), places, plan), plan)


def _mixed(frame: "DataFrame", plan: Plan) -> "DataFrame":
    """Return the rows in an order made from what they show.

    Else they would stand as Spark happened to join them: by a public hash of their
    exact tuple, those of split tuples after all others.
    """
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql import types as T  # noqa: N812

    flat = [
        F.col(field.name)
        for field in frame.schema.fields
        if not isinstance(field.dataType, T.MapType | T.VariantType)
    ]
    seed = int.from_bytes(plan.key.derive("row order")[:8], "little", signed=True)
    place = F.xxhash64(F.lit(seed), *flat)
    # Rows that show the same, but for what cannot be hashed, are mixed by chance.
    return frame.repartition(place).sortWithinPartitions(place, F.rand(seed))


def _without_notes(field: "StructField") -> "Column":
    """Return a column without metadata, which may hold anything."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql import types as T  # noqa: N812

    column = F.col(field.name)
    if field.metadata:
        # Every leaf passes. Spark would forget an alias without metadata as soon as
        # somebody gives the column another name.
        column = F.when(F.col(LEAF) >= SUPPRESSED, column)
    written = field.jsonValue()
    cleaned = _cleaned(written)
    if cleaned["type"] != written["type"]:
        column = column.cast(T.StructField.fromJson(cleaned).dataType)
    return column


def _cleaned(kind: Any) -> Any:  # noqa: ANN401  # JSON
    """Return how a type is written without metadata."""
    if isinstance(kind, list):
        return [_cleaned(part) for part in kind]
    if not isinstance(kind, dict):
        return kind
    return {
        key: {} if key == "metadata" else _cleaned(part) for key, part in kind.items()
    }


def _labels(placed: PlacedRows) -> "DataFrame":
    """Return what each leaf shows; suppressed rows find nothing, or the blank one."""
    shown = placed.plan.shown
    leaves = np.arange(shown.num_rows, dtype=np.int32)
    if not placed.plan.spec.leaves_out:
        leaves[-1] = SUPPRESSED
    labels = shown.rename_columns(numbered("s", shown.column_names))
    labels = labels.append_column(LEAF, pa.array(leaves))
    return _sized(send(placed.frame.sparkSession, labels), shown.num_rows)


def _pseudonymize(
    frame: "DataFrame", places: Sequence[Place], plan: Plan
) -> "DataFrame":
    """Replace columns by pseudonyms on the executors, which are sent their keys."""
    from pyspark.sql import types as T  # noqa: N812

    hidden = [
        (i, place.name, plan.spec.domain_key(place.name, plan.key))
        for i, place in enumerate(places)
        if place.how == "pseudonym"
    ]
    if not hidden:
        return frame
    fields = list(frame.schema.fields)
    for i, _, _ in hidden:
        fields[i] = T.StructField(fields[i].name, T.StringType())
    return frame.mapInArrow(pseudonymizing(hidden), T.StructType(fields))


def suppressed_rows(placed: PlacedRows) -> "DataFrame":
    """Return the rows left out, as they came in: NOT anonymized."""
    from pyspark.sql import functions as F  # noqa: N812

    own = numbered("c", placed.source.names)
    left = placed.frame.filter(F.col(LEAF) == SUPPRESSED).select(own)
    return left.toDF(*placed.source.names)
