"""Count a released table again on the cluster, and look at what passes through."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from core_mondrian.errors import (
    PrivacyViolation,
    SpecError,
    drops_context,
    list_names,
    quote_names,
)
from core_mondrian.measures.disclosure_warnings import (
    DisclosureWarning,
    Repeats,
    RowSample,
    seen_columns,
)
from core_mondrian.measures.row_sample import distinct_rows_of_frame
from core_mondrian.recoding.plan import SUPPRESSED
from core_mondrian.sources.counted_release import (
    Counted,
    CountedRelease,
    Requirements,
    columns_of_models,
    divide,
)
from core_mondrian.sources.spark.arrow import in_utc, send
from core_mondrian.sources.spark.failures import working
from core_mondrian.sources.spark.recode import PlacedRows, place_rows
from core_mondrian.sources.spark.relations import Relations
from core_mondrian.sources.spark.rows import key_of, numbered
from core_mondrian.sources.spark.tuples import LEAF, TUPLE
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.frames import open_frame
from core_mondrian.tables.pseudonyms import LENGTH, PATTERN
from core_mondrian.verification.verify import (
    SHOWS_PSEUDONYM,
    Verification,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_BUCKETS: Final = 1 << 12
_TOGETHER: Final = 1_000_000
"""Rows of which several columns are counted at once."""


@dataclass(frozen=True)
class Recount:
    """The rows of a release, counted on the cluster by what models look at."""

    frame: "DataFrame"
    """Keys ``k0 …``, ``n``, and ``wrong``: how many cells are no pseudonyms."""
    names: tuple[str, ...]
    """The columns of the release."""
    columns: Sequence[str]
    """What the keys are; in the release, or the unit, or whether pseudonyms show."""
    hidden: Sequence[str]
    """The columns of pseudonyms."""
    spec: Spec

    @classmethod
    def of(
        cls, frame: "DataFrame", names: Sequence[str], spec: Spec, *, has_unit: bool
    ) -> "Recount":
        """Count a release whose columns have these names, whatever the frame's are.

        The unit may come with it, last.

        Raises:
            SpecError: the spec names columns the release does not have.
        """
        from pyspark.sql import functions as F  # noqa: N812

        every = (*names, str(spec.unit)) if has_unit else (*names,)
        wanted = _looked_at(every, spec)
        plain, keys = _keyed(frame, every, wanted)
        hidden = [name for name in spec.pseudonyms if name in every]
        cells = [F.col(f"r{every.index(name)}").cast("string") for name in hidden]
        if hidden and spec.suppressed == "blank":
            mark = F.when(F.coalesce(*cells).isNotNull(), F.lit(True))  # noqa: FBT003
            keys.append(mark.alias(f"k{len(wanted)}"))
            wanted.append(SHOWS_PSEUDONYM)
        wrong = sum((F.count_if(~cell.rlike(PATTERN)) for cell in cells), F.lit(0))
        counts = F.count(F.lit(1)).alias("n"), wrong.alias("wrong")
        counted = plain.groupBy(*keys).agg(*counts)
        return cls(counted, (*names,), wanted, hidden, spec)

    def judge(self, asked: Requirements, *, is_small: bool = False) -> Verification:
        """Check every model; ``is_small``: all different rows fit here at once.

        Raises:
            PrivacyViolation: a class fails, or something is there that should not be.
        """
        if is_small:
            with working("count the release"):
                table = self.frame.toArrow()
            self._check_pseudonyms(np.any(table["wrong"].to_numpy()))
            values, rows = divide(table.drop_columns("wrong"))
            return asked.verify(_named(values, self.columns), rows, self.names)
        relations = Relations(self.frame.sparkSession)
        try:
            kept = _KeptCounts(self, relations)
            self._check_pseudonyms(self.hidden and kept.number("sum(wrong)"))
            return kept.verify(asked, self.names)
        finally:
            relations.keep_only()

    def _check_pseudonyms(self, is_wrong: object) -> None:
        if is_wrong:
            raise PrivacyViolation(
                f"columns for pseudonyms hold other things: {self.hidden}",
                hint=f"they are {LENGTH} digits of 0-9 and a-f",
            )


class _KeptCounts(CountedRelease):
    """The different rows of a release, kept on the cluster."""

    def __init__(self, recount: Recount, relations: Relations) -> None:
        from pyspark.sql import functions as F  # noqa: N812

        self.spec, self.columns = recount.spec, recount.columns
        # All rows of a class are in one bucket.
        bucket = F.pmod(F.xxhash64(*map(self.cell, self.shown)), F.lit(_BUCKETS))
        counted = recount.frame.withColumn("bucket", bucket.cast("int"))
        relations.put("counted", counted)
        self.table, self._session = relations.view("counted"), relations.session

    def cell(self, name: str) -> str:
        return f"k{self.columns.index(name)}"

    def _fetch(self, cells: Sequence[str], more: str = "") -> pa.Table:
        sql = f"SELECT {', '.join(cells)} FROM {self.table} {more}"
        with working("count the release"):
            return self._session.sql(sql).toArrow()

    def read(self, names: Sequence[str], n: str, more: str) -> Iterator[pa.Table]:
        found = self._fetch([*map(self.cell, names), f"{n} AS n"], more)
        yield _named(found, [*names, "n"])

    def number(self, expression: str) -> int:
        return int(self._fetch([expression])[0][0].as_py() or 0)

    def count_persons(self, unit: str) -> int:
        # Those of all classes may be too many to be sent here.
        persons = f"SELECT DISTINCT {self.cell(unit)} FROM {self.table} {self.seen}"
        with working("count the release"):
            return self._session.sql(persons).count()

    def buckets(self, most: int) -> Iterator[Counted]:
        found = self._fetch(["bucket", "count(*) AS n"], "GROUP BY bucket")
        different = np.zeros(_BUCKETS, dtype=np.int64)
        different[found["bucket"].to_numpy()] = found["n"].to_numpy()
        # As many buckets together as fit.
        bundle = (np.cumsum(different) - 1) // most
        edges = [0, *(np.flatnonzero(np.diff(bundle)) + 1).tolist(), _BUCKETS]
        for first, last in pairwise(edges):
            more = f"WHERE bucket >= {first} AND bucket < {last}"
            yield divide(pa.concat_tables(self.read(self.columns, "n", more)))


def _named(table: pa.Table, names: Sequence[str]) -> pa.Table:
    return in_utc(table.rename_columns([*names]))


def same_counts(
    one: "DataFrame", other: "DataFrame", names: Sequence[str], spec: Spec
) -> bool:
    """Return whether two releases have as many rows of everything models look at."""
    wanted = _looked_at(names, replace(spec, unit=None))
    frames = [_keyed(frame, names, wanted) for frame in (one, other)]
    counts = [plain.groupBy(*keys).count() for plain, keys in frames]
    with working("compare what was written"):
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
    wanted = columns_of_models(spec, names)
    if absent := sorted(set(wanted).difference(names)):
        raise SpecError(
            f"not in the table: {quote_names(absent)}",
            hint=f"it has {list_names(names)}",
        )
    return wanted


@drops_context
def verify_spark(
    frame: "DataFrame", spec: Spec, *, budget: int | None = None
) -> Verification:
    """Check that every class of a Spark table passes every model; see `verify`.

    The rows are counted on the cluster; what differs comes here, some at a time.

    Raises:
        PrivacyViolation: a class fails, or an identifier was not removed or replaced.
        SpecError: the spec names columns the table does not have.
    """
    recount = Recount.of(frame, frame.columns, spec, has_unit=False)
    return recount.judge(Requirements(spec, budget))


@dataclass(frozen=True)
class WrittenRows:
    """Released rows as they were written: columns by their names in the release."""

    frame: "DataFrame"
    names: Sequence[str]


def find_concerns(
    placed: PlacedRows, written: WrittenRows | None = None
) -> tuple[DisclosureWarning, ...]:
    """Say what columns that pass through may give away; some rows come here for it."""
    source, spec = placed.source, placed.tuples.spec
    look = placed.tuples.plan.look(source.names)
    every = np.append(np.arange(look.leaves.size - 1), SUPPRESSED).astype(np.int32)
    only = send(placed.frame.sparkSession, pa.table({LEAF: every[look.leaves]}))
    names = seen_columns(spec, source.names)
    own = [source.place(name) for name in names]
    some = place_rows(source, placed.tuples, only).frame
    with working("look at columns that pass through"):
        rows = in_utc(some.select(TUPLE, LEAF, *own).toArrow())
    piece = look.pieces(rows[TUPLE].to_numpy(), rows[LEAF].to_numpy())
    frame = open_frame(rows.select(own).rename_columns(list(names)))
    sight = distinct_rows_of_frame(frame, names, piece)
    # Which columns have to be counted is known only then: all in one job.
    asked: list[str] = []

    def ask(name: str) -> Repeats:
        asked.append(name)
        return Repeats(0, 0, 0)

    look.find_concerns(RowSample(tuple(source.names), sight, ask))
    counted = _count_repeats(placed, written, asked) if asked else {}
    return look.find_concerns(
        RowSample(tuple(source.names), sight, counted.__getitem__)
    )


def _count_repeats(
    placed: PlacedRows, written: WrittenRows | None, names: Sequence[str]
) -> dict[str, Repeats]:
    """Count how far the values of columns repeat in all released rows.

    Of a column that is removed, all rows are counted.
    """
    jobs: dict[_Asked, list[str]] = {}
    for name in names:
        jobs.setdefault(_Asked.of(name, placed, written), []).append(name)
    found: dict[str, Repeats] = {}
    # A job takes longer to start than to count few rows; many are counted one by one.
    is_small = placed.tuples.plan.n_rows < _TOGETHER
    for asked, columns in jobs.items():
        for own in [columns] if is_small else [[x] for x in columns]:
            found |= _Repeating(
                *_rows_of(asked.rows, placed, written), asked.unit
            ).count(own)
    return found


class _Asked(NamedTuple):
    """Which rows a column is counted in, and whose they are."""

    rows: Literal["all", "written", "released"]
    unit: str | None

    @classmethod
    def of(cls, name: str, placed: PlacedRows, written: WrittenRows | None) -> "_Asked":
        spec = placed.tuples.spec
        if name in spec.removed:
            return cls("all", None)
        unit = [] if spec.unit is None else [spec.unit]
        is_blanked = name in (*spec.sensitive, *spec.pseudonyms)
        is_less = placed.tuples.plan.n_suppressed and (spec.leaves_out or is_blanked)
        if not is_less:
            return cls("all", spec.unit)
        if written is not None and {name, *unit} <= {*written.names}:
            return cls("written", spec.unit)
        return cls("released", spec.unit)


def _rows_of(
    which: str, placed: PlacedRows, written: WrittenRows | None
) -> "tuple[DataFrame, dict[str, str]]":
    """Return rows, and what their columns are called."""
    if which == "written" and written is not None:
        names = dict(zip(written.names, numbered("r", written.names), strict=True))
        return written.frame.toDF(*names.values()), names
    source = placed.source
    names = dict(zip(source.names, numbered("c", source.names), strict=True))
    is_all = which == "all"
    return source.frame if is_all else placed.frame.filter(f"{LEAF} >= 0"), names


@dataclass(frozen=True)
class _Repeating:
    """Rows of which the values of some columns are counted, by hashes."""

    rows: "DataFrame"
    place: Mapping[str, str]
    """By name: what a column is called there."""
    unit: str | None

    def count(self, names: Sequence[str]) -> dict[str, Repeats]:
        """Count all columns in one job, each by itself."""
        from pyspark.sql import functions as F  # noqa: N812

        own, unit = numbered("v", names), [] if self.unit is None else ["u"]
        hashed = [
            F.when(self._key(x).isNotNull(), F.xxhash64(self._key(x))).alias(v)
            for v, x in zip(own, names, strict=True)
        ]
        if self.unit is not None:
            hashed.append(F.xxhash64(self._key(self.unit)).alias("u"))
        sets = [[v, *unit] for v in own]
        grouped = self.rows.select(*hashed).groupingSets(sets, *own, *unit)
        counted = grouped.agg(F.count(F.lit(1)).alias("n"), F.grouping_id().alias("g"))
        filled = counted.withColumn("v", F.coalesce(*own)).filter("v IS NOT NULL")
        summed = _repeats_of_rows if self.unit is None else _repeats_of_persons
        with working("count values"):
            found = {row[0]: Repeats(*row[1:]) for row in summed(filled).collect()}
        # The bits of those by which was not grouped are set, the first one highest.
        bits = [1 << (len(own) + len(unit) - 1 - i) for i in range(len(own))]
        each = {name: sum(bits) - bit for name, bit in zip(names, bits, strict=True)}
        return {name: found.get(g, Repeats(0, 0, 0)) for name, g in each.items()}

    def _key(self, name: str) -> "Column":
        from pyspark.sql import functions as F  # noqa: N812

        place = self.place[name]
        return key_of(F.col(place), self.rows.schema[place].dataType, name)


def _repeats_of_rows(counted: "DataFrame") -> "DataFrame":
    """Sum up how often the values of each column (g) occur."""
    from pyspark.sql import functions as F  # noqa: N812

    n = F.col("n")
    return counted.groupBy("g").agg(F.sum(n), F.count(n), F.count_if(n == 1))


def _repeats_of_persons(counted: "DataFrame") -> "DataFrame":
    """Sum up how many persons (u) have each value, and who is alone with one."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    n = F.count(F.lit(1)).over(Window.partitionBy("g", "v"))
    alone = F.when(F.col("n") == 1, F.col("u"))
    each = counted.withColumn("n", n).groupBy("g")
    return each.agg(*(F.count_distinct(x) for x in (F.col("u"), F.col("v"), alone)))
