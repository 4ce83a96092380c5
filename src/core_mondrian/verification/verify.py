"""Recount a released table, by means that share nothing with the engine."""

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from narwhals.exceptions import DuplicateError
from narwhals.typing import IntoDataFrame

from core_mondrian.errors import (
    DataError,
    PrivacyViolation,
    SpecError,
    drops_context,
    list_names,
    quote_names,
)
from core_mondrian.models.base import ClassCounts, PrivacyModel
from core_mondrian.runtime.array_types import Flags, Integers
from core_mondrian.runtime.plain_values import JsonObject
from core_mondrian.runtime.threads import map_columns
from core_mondrian.spec.declaration import Spec, as_spec, look_alikes
from core_mondrian.tables.files.cells import unified_texts, without_nulls
from core_mondrian.tables.frames import OpenColumn, OpenFrame
from core_mondrian.tables.pseudonyms import LENGTH, PATTERN
from core_mondrian.verification.counting import (
    Coded,
    class_sizes,
    code_series,
    combine,
    compress,
    first_rows,
)
from core_mondrian.verification.counts import Classes
from core_mondrian.verification.definitions import Judgement, definition_of

_KEEP = "do not publish this table"
SHOWS_PSEUDONYM = "core_mondrian:shows_pseudonym"
"""A column of counted rows: anything there says that a row shows a pseudonym."""
# Counts of classes by value that are laid out at a time: 128 MiB.
_MOST_CELLS = 1 << 24


@dataclass(frozen=True, slots=True)
class ModelResult:
    """A privacy model that every class passes."""

    name: str
    reached: float
    """The strongest parameter the table satisfies; infinite for an empty table."""


@dataclass(frozen=True, slots=True)
class Verification:
    """What a recount of a released table found."""

    n_rows: int
    n_classes: int
    """Classes of released rows; suppressed rows are in none."""
    n_suppressed_blank: int
    """Rows that are blank in every quasi-identifier and count as suppressed."""
    smallest_class: int
    """Rows of the smallest class; 0 if there is none."""
    models: tuple[ModelResult, ...]
    n_persons: int | None = None
    """Persons in classes; None: the spec names no unit, and rows were counted."""
    fewest_persons: int | None = None
    """Persons of the class that has fewest."""
    class_sizes: Integers = field(
        default_factory=lambda: np.zeros(0, np.int64), repr=False, compare=False
    )
    """Persons of each class, or rows; in no order that means anything."""

    @property
    def smallest(self) -> str:
        """The size of the smallest class, in words: of persons, if they are known."""
        if self.fewest_persons is not None:
            n, who = self.fewest_persons, "persons"
        else:
            n, who = self.smallest_class, "rows"
        return f"{n:,} {who[:-1] if n == 1 else who}"

    def to_json(self) -> JsonObject:
        """Return plain values; an empty table reaches nothing (None)."""
        return {
            "n_rows": self.n_rows,
            "n_classes": self.n_classes,
            "n_suppressed_blank": self.n_suppressed_blank,
            "smallest_class": self.smallest_class,
            "n_persons": self.n_persons,
            "fewest_persons": self.fewest_persons,
            "models": [
                {
                    "name": model.name,
                    "reached": model.reached if np.isfinite(model.reached) else None,
                }
                for model in self.models
            ],
        }


@drops_context
def verify(
    data: IntoDataFrame,
    spec: Spec | str | Iterable[str] | None = None,
    *,
    budget: int | None = None,
    threads: int | None = None,
    **keys: Any,  # noqa: ANN401
) -> Verification:
    """Check that every class of ``data`` passes every model of ``spec``.

    ``verify(data, ["age", "sex"], k=5)`` is short for
    ``verify(data, Spec(["age", "sex"], k=5))``.

    Rows with the same quasi-identifiers are a class; a missing value is a value. A
    number released as bounds is looked for under its two names as well, and columns of
    these names divide classes even where the number is shown under its own. Cells of
    text are read as in the run: the spec's null values are missing, and texts of one
    number, date or truth are one value. Where the spec names a unit, the table has to
    have it, and persons are counted. If the spec blanks suppressed rows, rows that show
    neither quasi-identifiers nor sensitive values nor pseudonyms are no class as long
    as there are at most ``budget`` of them (None: what the spec allows for a table of
    this size); or they are one, if the table passes only then.

    Raises:
        PrivacyViolation: a class fails, or an identifier was not removed or replaced.
        SpecError: the spec names columns the table does not have.
        DataError: the table has several columns of one name.
    """
    return _verify(data, as_spec(spec, keys), budget, threads)


def verify_counts(
    values: pa.Table,
    rows: Integers,
    spec: Spec,
    *,
    budget: int | None = None,
    names: Sequence[str] = (),
) -> Verification:
    """Check a release of which the distinct rows were counted; see `verify`.

    ``values`` has what the models look at: the quasi-identifiers as they are shown,
    what is `beside` them, the sensitive columns, the unit. ``rows`` says how often each
    of its rows occurs, ``names`` which columns the release has. Whoever counts it has
    to look at the pseudonyms (`are_pseudonyms`), and say which rows show any in a
    column `SHOWS_PSEUDONYM` if the spec blanks suppressed rows.
    """
    _check_removed(spec, names)
    return _verify(values, spec, budget, None, rows)


def _check_removed(spec: Spec, names: Iterable[str]) -> None:
    # Persons are counted by the unit, even if it is an identifier.
    if left := sorted((set(spec.identifiers) - {spec.unit}) & set(names)):
        raise PrivacyViolation(
            f"identifiers are still in the table: {quote_names(left)}", hint=_KEEP
        )


class WholeTable(NamedTuple):
    """The figures of a release that is verified bucket by bucket."""

    n_rows: int
    values: Mapping[str, tuple[pa.Table, Integers]]
    """Per sensitive column: a table of its distinct cells, and the rows of each."""
    n_persons: int | None = None
    """Persons, where the spec names a unit."""


def verify_buckets(
    buckets: Iterable[tuple[pa.Table, Integers]],
    whole: WholeTable,
    spec: Spec,
    *,
    budget: int,
    names: Sequence[str] = (),
) -> Verification:
    """Check a release of which the distinct rows are too many to be here at once.

    A bucket has counted rows as `verify_counts` takes them: all those of its classes.
    """
    _check_removed(spec, names)
    known = {
        name: _value_table(name, table, rows, spec)
        for name, (table, rows) in whole.values.items()
    }
    by_bucket = [
        _verify(table, spec, budget, 1, rows, _Whole(whole.n_rows, known))
        for table, rows in buckets
    ]
    return _joined(by_bucket, whole, spec)


def verify_beside(
    data: IntoDataFrame,
    spec: Spec,
    known: Mapping[str, tuple[pa.Table, Integers]],
    *,
    budget: int | None = None,
    threads: int | None = None,
    counts: Integers | None = None,
) -> Verification:
    """Check a release whose classes are compared with another table; see `verify`.

    ``known`` has, by sensitive column that is compared, a table of the other table's
    distinct cells, and the rows of each. A release that shows a value which the other
    table lacks fails. Models that limit the table as a whole are asked about this one.
    ``counts``: of counted rows, how often each occurs; see `verify_counts`.
    """
    values = {
        name: _value_table(name, table, rows, spec)
        for name, (table, rows) in known.items()
    }
    n_rows = len(nw.from_native(data, eager_only=True))
    n_rows = n_rows if counts is None else int(counts.sum())
    verification = _verify(data, spec, budget, threads, counts, _Whole(n_rows, values))
    sizes = Classes(verification.class_sizes, verification.class_sizes)
    models = (
        result if model.enough_rows is None else _check(model, sizes, spec)
        for model, result in zip(spec.models, verification.models, strict=True)
    )
    return replace(verification, models=tuple(models))


class _Whole(NamedTuple):
    """The whole release, or another table, that some classes are compared with."""

    n_rows: int
    values: Mapping[str, "_ValueTable"]


class _ValueTable(NamedTuple):
    """The values of a sensitive column in the whole release."""

    labels: Sequence[object]
    rows: Integers
    """By value; the last is the missing one."""


def _value_table(name: str, table: pa.Table, rows: Integers, spec: Spec) -> _ValueTable:
    frame = nw.from_native(table, eager_only=True)
    coded = _Reader(frame, spec.null_values).counted(name, ordered=True)
    counts = np.bincount(coded.codes, rows, coded.n_codes).astype(np.int64)
    return _ValueTable(coded.labels, counts)


def _joined(
    by_bucket: Sequence[Verification], whole: WholeTable, spec: Spec
) -> Verification:
    """Return what was found in all buckets together."""
    held = [one for one in by_bucket if one.n_classes]
    sizes = np.concatenate([np.zeros(0, np.int64), *(one.class_sizes for one in held)])
    n_rows = sum(one.n_rows for one in by_bucket)
    if n_rows != whole.n_rows:
        raise PrivacyViolation("the buckets are not the whole release", hint=_KEEP)
    models = []
    for place, model in enumerate(spec.models):
        if model.enough_rows is not None:
            models.append(_check(model, Classes(sizes, sizes), spec))
            continue
        worst = min if model.limits().at_least > -math.inf else max
        every = [one.models[place] for one in held] or [by_bucket[0].models[place]]
        models.append(ModelResult(every[0].name, worst(x.reached for x in every)))
    return Verification(
        n_rows=n_rows,
        n_classes=sum(one.n_classes for one in by_bucket),
        n_suppressed_blank=sum(one.n_suppressed_blank for one in by_bucket),
        smallest_class=min((one.smallest_class for one in held), default=0),
        models=tuple(models),
        n_persons=whole.n_persons,
        fewest_persons=None
        if whole.n_persons is None
        else min((one.fewest_persons or 0 for one in held), default=n_rows),
        class_sizes=sizes,
    )


def _verify(
    data: IntoDataFrame,
    spec: Spec,
    budget: int | None,
    threads: int | None,
    counts: Integers | None = None,
    whole: "_Whole | None" = None,
) -> Verification:
    try:
        return _recount(data, spec, budget, threads, counts, whole)
    except PrivacyViolation:
        if spec.suppressed == "blank":
            # A class of rows without any value looks as if it were suppressed.
            with suppress(PrivacyViolation):
                blank = replace(spec, suppressed="drop")
                return _recount(data, blank, budget, threads, counts, whole)
        raise


def _recount(
    data: IntoDataFrame,
    spec: Spec,
    budget: int | None,
    threads: int | None,
    counts: Integers | None,
    whole: "_Whole | None",
) -> Verification:
    frame, shown = open_release(data, spec)
    _check_roles(frame, spec, is_counted=counts is not None)
    n_rows = len(frame) if counts is None else int(counts.sum())
    names = [*chain.from_iterable(shown.values()), *beside(spec, frame.columns)]
    reader = _Reader(frame, spec.null_values)
    columns = map_columns(reader.shown, names, len(frame), threads)
    values = {name: reader.counted(name, ordered=True) for name in spec.sensitive}
    kept: Flags | slice = slice(None)
    if spec.suppressed == "blank":
        looked = {*names, *spec.sensitive, spec.unit}
        blank = [reader.missing(x) for x in frame.columns if x not in looked]
        blank += [column.missing for column in (*columns, *values.values())]
        allowed = spec.budget(n_rows) if budget is None else budget
        kept = _released(blank, allowed, counts)
    keys = compress(combine(columns).select(kept))
    del columns  # as long as the table, all of them
    each = None if counts is None else counts[kept]
    rows = class_sizes(keys, each)
    sizes, n_persons = rows, None
    if spec.unit is not None:
        units = reader.counted(spec.unit).select(kept)
        sizes, n_persons = _count_persons(units, keys), np.unique(units.codes).size
    classes = Classes(rows, sizes)
    if spec.population is not None:
        chosen = np.arange(len(frame))[kept][first_rows(keys)]
        outside = _count_outside(frame, shown, chosen, rows, spec)
        classes = replace(classes, outside=outside)
    seen: dict[str | None, Classes] = {None: classes}
    for name, coded in values.items():
        counted = _count_values(coded.select(kept), keys, each, classes)
        seen[name] = counted if whole is None else _among(counted, whole, name)
    return Verification(
        n_rows=n_rows,
        n_classes=int(rows.size),
        n_suppressed_blank=n_rows - int(rows.sum()),
        smallest_class=int(rows.min()) if rows.size else 0,
        # Those that look at all classes wait until all of them are here.
        models=tuple(
            _check(model, seen[model.column], spec)
            if whole is None or model.enough_rows is None
            else ModelResult(model.title, math.nan)
            for model in spec.models
        ),
        n_persons=n_persons,
        fewest_persons=None if n_persons is None else int(sizes.min(initial=n_rows)),
        class_sizes=sizes,
    )


def _count_outside(
    frame: OpenFrame,
    shown: Mapping[str, tuple[str, ...]],
    chosen: Integers,
    rows: Integers,
    spec: Spec,
) -> Integers:
    """Count the persons of the population who fit each class and are not in it.

    ``chosen`` is a row of each class.
    """
    from core_mondrian.verification.matches import count_outside, read_cells

    cells = {name: read_cells(frame, names, chosen) for name, names in shown.items()}
    return count_outside(cells, rows, spec)


class _Reader(NamedTuple):
    """Reads the cells of a release as the run reads those of its source."""

    frame: OpenFrame
    null_values: Sequence[str]

    def shown(self, name: str) -> Coded:
        """Number the cells of a column that is shown in the place of another."""
        read = partial(without_nulls, null_values=self.null_values)
        return code_series(self.frame[name], narrow=True, read=read)

    def missing(self, name: str) -> Flags:
        """Return which cells of any column show nothing."""
        series = self.frame[name]
        if series.dtype != nw.String:
            return np.asarray(series.is_null().to_numpy(), dtype=np.bool_)
        column = series.to_arrow()
        chunked = column if isinstance(column, pa.ChunkedArray) else [column]
        read = without_nulls(pa.chunked_array(chunked), ("", *self.null_values))
        return np.asarray(read.is_null().to_numpy(), dtype=np.bool_)

    def counted(self, name: str, *, ordered: bool = False) -> Coded:
        """Number the values that the cells of a column stand for."""
        read = partial(unified_texts, null_values=self.null_values)
        return code_series(self.frame[name], ordered=ordered, read=read)


def _check_roles(frame: OpenFrame, spec: Spec, *, is_counted: bool) -> None:
    """Refuse a table whose columns are not what the spec says of them."""
    if spec.unit is not None and spec.unit not in frame.columns:
        raise SpecError(
            f"without {spec.unit!r} the persons of a class cannot be counted",
            hint="a release leaves it out: join it back on to recount, or verify "
            "without a unit, which counts rows",
        )
    _check_removed(spec, frame.columns)
    if is_counted:  # the unit may be there as it was
        return
    for name in spec.pseudonyms:
        if name in frame.columns and not are_pseudonyms(frame[name]):
            raise PrivacyViolation(
                f"column {name!r} holds other things than pseudonyms",
                hint=f"they are {LENGTH} digits of 0-9 and a-f",
            )


def verified_columns(data: IntoDataFrame, spec: Spec) -> list[str]:
    """Return the columns of a release that its verification looks at."""
    frame, shown = open_release(data, spec)
    names = [name for names in shown.values() for name in names]
    names += [*beside(spec, frame.columns), *spec.sensitive, *spec.pseudonyms]
    return [name for name in dict.fromkeys(names) if name in frame.columns]


def beside(spec: Spec, columns: Iterable[str]) -> list[str]:
    """Return the columns that divide classes further, besides quasi-identifiers.

    A reader sees them together: the number of a class, and bounds of a number that is
    shown under its own name as well.
    """
    names = set(columns)
    dividing = [] if spec.class_id is None else [spec.class_id]
    dividing += look_alikes(spec, names)
    return [name for name in dividing if name in names]


def are_pseudonyms(series: OpenColumn) -> bool:
    """Return whether every cell looks like a pseudonym, or is missing."""
    try:
        column = pa.chunked_array([series.to_arrow()]).combine_chunks().drop_null()
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        texts = column.cast(pa.string())
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return False  # neither text nor numbers
    return bool(pc.all(pc.match_substring_regex(texts, PATTERN), min_count=0).as_py())


def _hint_for(data: object) -> str:
    """Return what to give instead of something that is not a frame."""
    if isinstance(data, str | os.PathLike):
        return "read the file first, such as pandas.read_csv(path)"
    if type(data).__name__ == "Release":  # a type that this room does not know
        return "its table is release.data"
    return "pandas, polars and pyarrow tables work; .collect() a lazy frame"


def open_release(
    data: IntoDataFrame, spec: Spec
) -> tuple[OpenFrame, dict[str, tuple[str, ...]]]:
    """Return the table, and the columns in which each quasi-identifier is shown."""
    try:
        frame = nw.from_native(data, eager_only=True)
        names = frame.columns
    except TypeError:
        raise SpecError(
            f"not a table in memory: {type(data).__name__}",
            hint=_hint_for(data),
        ) from None
    except DuplicateError:
        raise DataError(
            "the table has several columns of one name", hint="rename all but one"
        ) from None
    shown = {
        name: (name,) if name in names else spec.bounds_of(name) or (name,)
        for name in spec.quasi_identifiers
    }
    wanted = [*(one for each in shown.values() for one in each), *spec.sensitive]
    if absent := sorted(set(wanted).difference(names)):
        raise SpecError(
            f"not in the table: {quote_names(absent)}",
            hint=f"it has {list_names(names)}",
        )
    return frame, shown


def _released(
    missing: Sequence[Flags], allowed: int, counts: Integers | None
) -> Flags | slice:
    """Return the rows that show anything, in any column, if few enough do not."""
    blank = np.logical_and.reduce(missing)
    n_blank = np.count_nonzero(blank) if counts is None else counts[blank].sum()
    return ~blank if n_blank <= allowed else slice(None)


def _check(model: PrivacyModel, classes: Classes, spec: Spec) -> ModelResult:
    """Raise PrivacyViolation unless all classes pass; return what they reach."""
    define = definition_of(model)
    if define is None:
        measured = _measure(model, classes, has_persons=spec.unit is not None)
    else:
        measured = define(model, classes)
    fails = ~measured.passes
    if fails.any():
        unit = "" if spec.unit is None else " persons"
        raise PrivacyViolation(
            f"{model.title} fails for {np.count_nonzero(fails):,} of {fails.size:,} "
            f"classes with {int(classes.rows[fails].sum()):,} of "
            f"{int(classes.rows.sum()):,} rows; "
            f"the smallest of them has {int(classes.sizes[fails].min()):,}{unit}",
            hint=_KEEP,
        )
    if not measured.holds:
        raise PrivacyViolation(
            f"{model.title} fails: the table reaches {measured.reached:.6g}",
            hint=_KEEP,
        )
    return ModelResult(model.title, measured.reached)


def _measure(model: PrivacyModel, classes: Classes, *, has_persons: bool) -> Judgement:
    """Judge classes by the measure of a user's own model, its only definition."""
    passes: list[Flags] = []
    reached: list[float] = []
    holds = True
    for part in _parts(classes, has_persons=has_persons):
        passes.append(model.passes(part))
        reached.append(float(model.reached(part)))
        holds = holds and model.holds(part)
    worst = min if model.limits().at_least > -math.inf else max
    passed = np.concatenate(passes)
    return Judgement(passed, worst(reached), holds or not passed.all())


def _parts(classes: Classes, *, has_persons: bool) -> Iterator[ClassCounts]:
    """Lay out the counts by value of as many classes at a time as fit."""
    n_classes, n_values = classes.rows.size, classes.table.size
    step = max(1, _MOST_CELLS // max(1, n_values))
    for start in range(0, max(n_classes, 1), step):
        stop = min(start + step, n_classes)
        first, last = np.searchsorted(classes.owner, [start, stop])
        chosen = slice(int(first), int(last))
        by_value = np.zeros((stop - start, n_values), dtype=np.int64)
        place = classes.owner[chosen] - start, classes.value[chosen]
        by_value[place] = classes.count[chosen]
        yield ClassCounts(
            classes.rows[start:stop],
            by_value,
            classes.labels,
            classes.sizes[start:stop] if has_persons else None,
            classes.table if n_values else None,
        )


def _count_values(
    values: Coded, keys: Coded, counts: Integers | None, classes: Classes
) -> Classes:
    """Count each class by sensitive value; values that no row has are left out."""
    present = np.bincount(values.codes, minlength=values.n_codes) > 0
    number = np.cumsum(present) - 1
    pairs = combine([keys, Coded(values.codes, values.n_codes)])
    one = first_rows(pairs)
    labels = [values.labels[i] for i in np.flatnonzero(present[:-1]).tolist()]
    place = np.append(number[:-1], len(labels))  # missing, whether a row is or not
    table = np.bincount(place[values.codes], counts, len(labels) + 1)
    return replace(
        classes,
        owner=keys.codes[one],
        value=place[values.codes[one]],
        count=class_sizes(pairs, counts),
        table=table.astype(np.int64),
        labels=labels,
    )


def _among(classes: Classes, whole: _Whole, name: str) -> Classes:
    """Return classes with their values numbered as in the table they are compared with.

    Columns that are not compared stay as they are.
    """
    values = whole.values.get(name)
    if values is None:
        return classes
    number = {label: i for i, label in enumerate(values.labels)}
    place = [number.get(label, -1) for label in classes.labels]
    at = np.array([*place, len(number)], dtype=np.int64)
    value = at[classes.value]
    if (value < 0).any() or (values.rows[value] == 0).any():
        raise PrivacyViolation(
            "a sensitive value is not in the table that classes are compared with",
            hint=_KEEP,
        )
    return replace(classes, value=value, table=values.rows, labels=values.labels)


def _count_persons(units: Coded, keys: Coded) -> Integers:
    """Count the different persons of each class; rows of nobody are one person's."""
    pairs = combine([keys, units])
    return np.bincount(keys.codes[first_rows(pairs)]).astype(np.int64)
