"""Count a released table again on the cluster, and look at what passes through."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.errors import PrivacyViolation, SpecError, drops_context, list_names
from core_mondrian.measures.disclosure_warnings import DisclosureWarning, Repeats
from core_mondrian.recoding.plan import SUPPRESSED
from core_mondrian.sources.spark.arrow import in_utc, send
from core_mondrian.sources.spark.failures import working
from core_mondrian.sources.spark.plans import LEAF, ROWS, TUPLE, PlannedTuples
from core_mondrian.sources.spark.recode import PlacedRows
from core_mondrian.sources.spark.rows import key_of, numbered
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.pseudonyms import LENGTH, PATTERN
from core_mondrian.verification.verify import (
    SHOWS_PSEUDONYM,
    Verification,
    beside,
    verify_counts,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def count_released(
    frame: "DataFrame", names: Sequence[str], spec: Spec
) -> tuple[pa.Table, NDArray[np.int64]]:
    """Count the rows of a release by what models look at.

    ``names`` are those of the frame's columns in the release, whatever they are called
    in the frame; the unit may come with them.

    Raises:
        PrivacyViolation: a column for pseudonyms shows something else.
        SpecError: the spec names columns the release does not have.
    """
    from pyspark.sql import functions as F  # noqa: N812

    wanted = _looked_at(names, spec)
    plain, keys = _keyed(frame, names, wanted)
    hidden = [f"r{names.index(name)}" for name in spec.pseudonyms if name in names]
    if hidden and spec.suppressed == "blank":
        is_shown = F.coalesce(*(F.col(name).cast("string") for name in hidden))
        mark = F.when(is_shown.isNotNull(), F.lit(True))  # noqa: FBT003
        keys.append(mark.alias(f"k{len(wanted)}"))
        wanted.append(SHOWS_PSEUDONYM)
    is_wrong = [~F.col(name).cast("string").rlike(PATTERN) for name in hidden]
    wrong = [F.count_if(one).alias(f"w{i}") for i, one in enumerate(is_wrong)]
    counted = plain.groupBy(*keys).agg(F.count(F.lit(1)).alias(ROWS), *wrong)
    with working("counting the release"):
        table = counted.toArrow()
    if any(np.any(table[f"w{i}"].to_numpy() > 0) for i in range(len(hidden))):
        raise PrivacyViolation(
            f"columns for pseudonyms hold other things: {list(spec.pseudonyms)}",
            hint=f"they are {LENGTH} digits of 0-9 and a-f",
        )
    values = table.select(numbered("k", wanted)).rename_columns(wanted)
    return in_utc(values), table[ROWS].to_numpy().astype(np.int64)


def same_counts(
    one: "DataFrame", other: "DataFrame", names: Sequence[str], spec: Spec
) -> bool:
    """Tell whether two releases have as many rows of everything models look at."""
    wanted = _looked_at(names, replace(spec, unit=None))
    frames = [_keyed(frame, names, wanted) for frame in (one, other)]
    counts = [plain.groupBy(*keys).count() for plain, keys in frames]
    with working("comparing what was written"):
        more, less = (counts[i].exceptAll(counts[1 - i]) for i in range(2))
        return bool(more.isEmpty() and less.isEmpty())


def _keyed(
    frame: "DataFrame", names: Sequence[str], wanted: Sequence[str]
) -> "tuple[DataFrame, list[Column]]":
    """Return the frame under plain names, and the keys of some of its columns."""
    plain = frame.toDF(*numbered("r", names))
    fields = [plain.schema.fields[names.index(name)] for name in wanted]
    return plain, [
        key_of(plain[field.name], field.dataType, name).alias(f"k{i}")
        for i, (name, field) in enumerate(zip(wanted, fields, strict=True))
    ]


def _looked_at(names: Sequence[str], spec: Spec) -> list[str]:
    """Return the columns of a release that models look at."""
    found: list[str] = []
    for name in spec.quasi_identifiers:
        found += [name] if name in names else spec.bounds_of(name) or [name]
    unit = [] if spec.unit is None else [spec.unit]
    found += beside(spec, names)
    wanted = list(dict.fromkeys([*found, *spec.sensitive, *unit]))
    if absent := sorted(set(wanted).difference(names)):
        raise SpecError(
            f"not in the table: {absent}", hint=f"it has {list_names(names)}"
        )
    return wanted


@drops_context
def verify_spark(
    frame: "DataFrame",
    spec: Spec,
    *,
    budget: int | None = None,
    threads: int | None = None,
) -> Verification:
    """Check that every class of a Spark table passes every model; see `verify`.

    The rows are counted on the cluster; only what differs comes here.

    Raises:
        PrivacyViolation: a class fails, or an identifier was not removed or replaced.
        SpecError: the spec names columns the table does not have.
    """
    names = tuple(frame.columns)
    values, rows = count_released(frame, names, spec)
    return verify_counts(
        values, rows, spec, budget=budget, names=names, threads=threads
    )


def find_concerns(
    placed: PlacedRows, tuples: PlannedTuples
) -> tuple[DisclosureWarning, ...]:
    """Say what columns that pass through may give away; some rows come here for it."""
    source, planned = placed.source, tuples.planned
    picked = planned.looked_at(source.names)
    every = np.append(np.arange(picked.size - 1), SUPPRESSED).astype(np.int32)
    leaves = send(placed.frame.sparkSession, pa.table({LEAF: every[picked]}))
    with working("looking at columns that pass through"):
        rows = in_utc(placed.frame.join(leaves, LEAF).toArrow())
    own = rows.select(numbered("c", source.names)).rename_columns(list(source.names))
    return planned.find_concerns(
        *(own, rows[TUPLE].to_numpy(), rows[LEAF].to_numpy()),
        lambda name: _count_repeats(placed, name, planned.spec),
    )


def _count_repeats(placed: PlacedRows, name: str, spec: Spec) -> Repeats:
    """Count how far the values of a column repeat in all released rows.

    Of a column that is removed, all rows are counted.
    """
    from pyspark.sql import functions as F  # noqa: N812

    def key(column: str) -> "Column":
        place = placed.source.place(column)
        kind = placed.source.frame.schema[place].dataType
        return key_of(F.col(place), kind, column)

    is_removed = name in spec.removed
    rows, unit = placed.frame, None if is_removed else spec.unit
    is_blanked = name in (*spec.sensitive, *spec.pseudonyms)
    if not is_removed and (spec.leaves_out or is_blanked):
        rows = rows.filter(F.col(LEAF) >= 0)
    person = F.lit(0) if unit is None else key(unit)
    pairs = rows.select(key(name).alias("v"), person.alias("u"))
    filled = pairs.filter(F.col("v").isNotNull())
    with working("counting values"):
        return _repeats_of_rows(filled) if unit is None else _repeats_of_persons(filled)


def _repeats_of_rows(filled: "DataFrame") -> Repeats:
    from pyspark.sql import functions as F  # noqa: N812

    n = F.col("count")
    alone = F.sum(F.when(n == 1, 1).otherwise(0))
    (row,) = filled.groupBy("v").count().agg(F.sum(n), F.count(n), alone).collect()
    return Repeats(*(int(x or 0) for x in row))


def _repeats_of_persons(filled: "DataFrame") -> Repeats:
    from pyspark.sql import functions as F  # noqa: N812

    different = filled.distinct()
    each = different.groupBy("v").agg(
        F.count(F.lit(1)).alias("n"), F.first("u").alias("u")
    )
    alone = each.filter(F.col("n") == 1)
    return Repeats(
        different.select("u").distinct().count(),
        each.count(),
        alone.select("u").distinct().count(),
    )
