"""Rows to their classes, classes to what they show: joins, as Spark does them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, Final

from core_mondrian.recoding.plan import DIVIDED, SUPPRESSED, Place
from core_mondrian.sources.spark.arrow import sized
from core_mondrian.sources.spark.rows import Rows, numbered
from core_mondrian.sources.spark.tuples import LEAF, TUPLE, PlannedTuples
from core_mondrian.sources.spark.workers import allocating, pseudonymizing
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.keys import Key

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructField

_ROWS_AT_ONCE: Final = 100_000
"""Rows of divided tuples that an executor is handed at a time, about."""


@dataclass(frozen=True)
class PlacedRows:
    """Every row with its class: columns ``c0 …``, ``tuple``, ``leaf``."""

    frame: "DataFrame"
    source: Rows
    tuples: PlannedTuples


def place_rows(
    rows: Rows, tuples: PlannedTuples, only: "DataFrame | None" = None
) -> PlacedRows:
    """Give every row the leaf of its tuple, or its share of a divided tuple's.

    A row whose tuple was not counted gets none and is lost: what the table did not
    hold when it was counted must not be released. ``only``: those of some leaves.
    """
    from pyspark.sql import functions as F  # noqa: N812

    kept = [*numbered("c", rows.names), TUPLE, LEAF]
    is_divided = F.col(LEAF) == DIVIDED
    whole, divided = (tuples.places.filter(x) for x in (~is_divided, is_divided))
    n_tuples, shares = tuples.n_tuples, tuples.shares
    if only is not None:
        n_tuples, whole = 0, whole.join(sized(only), LEAF)
    found = _join(rows, whole, n_tuples).select(kept)
    if shares is not None:
        if only is not None:
            seen = shares.join(sized(only), LEAF).select(TUPLE).distinct()
            divided = divided.join(sized(seen), TUPLE, "left_semi")
        placed = _join(rows, divided, n_tuples).select(kept)
        placed = _allocate(placed, shares, rows, tuples)
        if only is not None:
            placed = placed.join(sized(only), LEAF).select(kept)
        found = found.unionByName(placed)
    return PlacedRows(found, rows, tuples)


def _join(rows: Rows, places: "DataFrame", n_tuples: int) -> "DataFrame":
    """Look the tuple of every row up; a missing value is a value."""
    renamed = places.withColumnsRenamed({key: f"of_{key}" for key in rows.keys})
    alike = [rows.frame[key].eqNullSafe(renamed[f"of_{key}"]) for key in rows.keys]
    return rows.frame.join(sized(renamed, n_tuples), reduce(and_, alike))


def _allocate(
    divided: "DataFrame", shares: "DataFrame", rows: Rows, tuples: PlannedTuples
) -> "DataFrame":
    """Allocate rows of divided tuples on the executors, some tuples at a time."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql import types as T  # noqa: N812

    n_buckets = -(-tuples.n_split // _ROWS_AT_ONCE)
    bucket = F.pmod(F.col(TUPLE), F.lit(n_buckets)).alias("bucket")
    others = tuples.spec.carried(rows.names)
    allocate = allocating(rows.names, others, tuples.plan.allocation_key)
    unplaced = divided.drop(LEAF)
    fields = [*unplaced.schema.fields, T.StructField(LEAF, T.IntegerType())]
    return (
        unplaced.groupBy(bucket)
        .cogroup(shares.groupBy(bucket))
        .applyInArrow(allocate, T.StructType(fields))
    )


def lay_out(placed: PlacedRows, places: Sequence[Place]) -> "DataFrame":
    """Return the released rows: columns ``r0 …``, one for each of ``places``.

    If the unit is not released there is one more, for whoever counts persons.
    """
    from pyspark.sql import functions as F  # noqa: N812

    tuples, source, spec = placed.tuples, placed.source, placed.tuples.spec
    # Suppressed rows find nothing, or what is shown of them.
    labels = sized(tuples.labels, tuples.plan.n_leaves)
    joined = placed.frame.join(labels, LEAF)
    schema = placed.frame.schema
    shown = tuples.plan.shown_schema.names
    columns: list[Column] = []
    for place in places:
        if place.how == "shown":
            columns.append(F.col(f"s{shown.index(place.name)}"))
            continue
        column = _without_notes(schema[source.place(str(place.source))])
        # Fewer than k rows are suppressed: what they show would be somebody's.
        if not spec.leaves_out:
            column = F.when(F.col(LEAF) >= 0, column)
        columns.append(column)
    if spec.unit is not None and spec.is_unit_removed:
        columns.append(F.col(source.place(spec.unit)))
    named = [column.alias(f"r{i}") for i, column in enumerate(columns)]
    key = tuples.plan.key
    return _mixed(_pseudonymize(joined.select(named), places, spec, key), key)


def _mixed(frame: "DataFrame", key: Key) -> "DataFrame":
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
    seed = int.from_bytes(key.derive("row order")[:8], "little", signed=True)
    placed = frame.withColumn("place", F.xxhash64(F.lit(seed), *flat))
    # Rows that show the same, but for what cannot be hashed, are mixed by chance.
    mixed = placed.repartition("place").sortWithinPartitions("place", F.rand(seed))
    return mixed.drop("place")


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


def _pseudonymize(
    frame: "DataFrame", places: Sequence[Place], spec: Spec, key: Key
) -> "DataFrame":
    """Replace columns by pseudonyms on the executors, which are sent their keys."""
    from pyspark.sql import types as T  # noqa: N812

    hidden = [
        (i, place.name, spec.domain_key(place.name, key))
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
