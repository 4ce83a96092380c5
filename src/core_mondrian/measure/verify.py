"""Recount a released table, by means that share nothing with the engine."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

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
    list_names,
)
from core_mondrian.measure.counting import (
    Coded,
    Codes,
    Flags,
    class_sizes,
    code_series,
    combine,
    compress,
    first_rows,
)
from core_mondrian.measure.matches import count_presence, read_cells
from core_mondrian.models.base import ClassCounts, PrivacyModel
from core_mondrian.pseudonyms import LENGTH, PATTERN
from core_mondrian.spec import Spec
from core_mondrian.threads import map_columns

_KEEP = "do not give this table away"
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

    @property
    def smallest(self) -> str:
        """The size of the smallest class, in words: of persons, if they are known."""
        if self.fewest_persons is not None:
            n, who = self.fewest_persons, "persons"
        else:
            n, who = self.smallest_class, "rows"
        return f"{n:,} {who[:-1] if n == 1 else who}"

    def to_json(self) -> dict[str, Any]:
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


def verify(
    data: IntoDataFrame,
    spec: Spec,
    *,
    budget: int | None = None,
    threads: int | None = None,
) -> Verification:
    """Check that every class of ``data`` passes every model of ``spec``.

    Rows with the same quasi-identifiers are a class; a missing value is a value. A
    number released as bounds is looked for under its two names as well. Where
    the spec names a unit, the table has to have it, and persons are counted. If the
    spec blanks suppressed rows, all-blank rows are no class as long as there are
    at most ``budget`` of them (None: what the spec allows for a table of this size);
    or they are one, if the table passes only then.

    Raises:
        PrivacyViolation: a class fails, or an identifier was not removed or replaced.
        SpecError: the spec names columns the table does not have.
        DataError: the table has several columns of one name.
    """
    return _verify(data, spec, budget, threads)


def verify_counts(
    values: pa.Table,
    rows: Codes,
    spec: Spec,
    *,
    budget: int | None = None,
    names: Sequence[str] = (),
    threads: int | None = None,
) -> Verification:
    """Check a release of which the distinct rows were counted; see `verify`.

    ``values`` has what the models look at: the quasi-identifiers as they are shown,
    the sensitive columns, the unit. ``rows`` says how often each of its rows occurs,
    ``names`` which columns the release has. Whoever counts it has to look at the
    pseudonyms (`are_pseudonyms`).
    """
    if left := sorted((set(spec.identifiers) - {spec.unit}) & set(names)):
        raise PrivacyViolation(
            f"identifiers are still in the table: {left}", hint=_KEEP
        )
    return _verify(values, spec, budget, threads, rows)


def _verify(
    data: IntoDataFrame,
    spec: Spec,
    budget: int | None,
    threads: int | None,
    counts: Codes | None = None,
) -> Verification:
    try:
        return _recount(data, spec, budget, threads, counts)
    except PrivacyViolation:
        if spec.suppressed == "blank":
            # A class of rows without any value looks as if it were suppressed.
            with suppress(PrivacyViolation):
                blank = replace(spec, suppressed="drop")
                return _recount(data, blank, budget, threads, counts)
        raise


def _recount(
    data: IntoDataFrame,
    spec: Spec,
    budget: int | None,
    threads: int | None,
    counts: Codes | None,
) -> Verification:
    frame, shown = open_release(data, spec)
    if spec.unit is not None and spec.unit not in frame.columns:
        raise SpecError(
            f"without {spec.unit!r} the persons of a class cannot be counted",
            hint="a release leaves it out: join it back on to recount, or verify "
            "without a unit, which counts rows",
        )
    # Persons are counted by the unit, even if it is an identifier.
    if left := sorted((set(spec.identifiers) - {spec.unit}) & set(frame.columns)):
        raise PrivacyViolation(
            f"identifiers are still in the table: {left}", hint=_KEEP
        )
    if counts is None:  # else the unit may be there as it was
        _check_pseudonyms(frame, spec)
    n_entries = len(frame)
    n_rows = n_entries if counts is None else int(counts.sum())
    series = [frame[name] for names in shown.values() for name in names]
    columns = map_columns(code_series, series, n_entries, threads)
    allowed = spec.budget(n_rows) if budget is None else budget
    everything: Flags | slice = slice(None)
    kept = everything
    if spec.suppressed == "blank":
        kept = _released(columns, allowed, counts)
    keys = combine(columns).select(kept)
    each = None if counts is None else counts[kept]
    rows = class_sizes(keys, each)
    units = None if spec.unit is None else code_series(frame[spec.unit]).select(kept)
    persons = None if units is None else _count_persons(units, keys)
    unread = ClassCounts(rows, np.zeros((rows.size, 0), dtype=np.int64), (), persons)
    seen = {
        name: _spread(code_series(frame[name], ordered=True).select(kept), keys, each)
        for name in spec.sensitive
    }
    presence = None
    if spec.population is not None:
        chosen = np.arange(n_entries)[kept][first_rows(keys)]
        cells = {
            name: read_cells(frame, names, chosen) for name, names in shown.items()
        }
        presence = replace(unread, by_value=count_presence(cells, rows, spec))
    results = tuple(
        _check(model, _looked_at(model, unread, seen, presence))
        for model in spec.models
    )
    return Verification(
        n_rows=n_rows,
        n_classes=int(rows.size),
        n_suppressed_blank=n_rows - int(rows.sum()),
        smallest_class=int(rows.min()) if rows.size else 0,
        models=results,
        n_persons=None if units is None else int(np.unique(units.codes).size),
        fewest_persons=None if persons is None else int(persons.min(initial=n_rows)),
    )


def _check_pseudonyms(frame: nw.DataFrame[Any], spec: Spec) -> None:
    """Refuse a column for pseudonyms that shows something else."""
    for name in spec.pseudonyms:
        if name in frame.columns and not are_pseudonyms(frame[name]):
            raise PrivacyViolation(
                f"column {name!r} holds other things than pseudonyms",
                hint=f"they are {LENGTH} digits of 0-9 and a-f",
            )


def are_pseudonyms(series: nw.Series[Any]) -> bool:
    """Tell whether every cell looks like a pseudonym, or is missing."""
    try:
        column = pa.chunked_array([series.to_arrow()]).combine_chunks().drop_null()
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        texts = column.cast(pa.string())
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return False  # neither text nor numbers
    return bool(pc.all(pc.match_substring_regex(texts, PATTERN), min_count=0).as_py())


def _looked_at(
    model: PrivacyModel,
    unread: ClassCounts,
    seen: Mapping[str, "_Spread"],
    presence: ClassCounts | None,
) -> Iterator[ClassCounts]:
    """Return what a model looks at, some classes at a time."""
    if model.column is not None:
        yield from seen[model.column].parts(unread)
    elif presence is not None and getattr(model, "population", None) is not None:
        yield presence
    else:
        yield unread


def open_release(
    data: IntoDataFrame, spec: Spec
) -> tuple[nw.DataFrame[Any], dict[str, tuple[str, ...]]]:
    """Return the table, and the columns in which each quasi-identifier is shown."""
    try:
        frame = nw.from_native(data, eager_only=True)
        names = frame.columns
    except TypeError:
        raise SpecError(
            f"not a table in memory: {type(data).__name__}",
            hint="pandas, polars and pyarrow tables work; .collect() a lazy frame",
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
            f"not in the table: {absent}", hint=f"it has {list_names(names)}"
        )
    return frame, shown


def _released(
    columns: Sequence[Coded], allowed: int, counts: Codes | None
) -> Flags | slice:
    """Return the rows that are not blank all over, if few enough are."""
    blank = np.logical_and.reduce([column.missing for column in columns])
    found = np.count_nonzero(blank) if counts is None else counts[blank].sum()
    return ~blank if found <= allowed else slice(None)


def _check(model: PrivacyModel, parts: Iterable[ClassCounts]) -> ModelResult:
    """Raise PrivacyViolation unless all classes pass; return what they reach."""
    n_classes = n_rows = 0
    failing: list[Codes] = []
    sizes: list[Codes] = []
    unit = ""
    reached: list[float] = []
    holds = True
    for classes in parts:
        n_classes += classes.rows.size
        n_rows += int(classes.rows.sum())
        fails = ~model.passes(classes)
        failing.append(classes.rows[fails])
        sizes.append(classes.sizes[fails])
        unit = "" if classes.persons is None else " persons"
        reached.append(float(model.reached(classes)))
        holds = holds and model.holds(classes)
    few = np.concatenate(failing)
    if few.size:
        raise PrivacyViolation(
            f"{model.title} fails for {few.size} of {n_classes} classes with "
            f"{int(few.sum())} of {n_rows} rows; "
            f"the smallest of them has {int(np.concatenate(sizes).min())}{unit}",
            hint=_KEEP,
        )
    worst = min if model.limits().at_least > -math.inf else max
    if not holds:
        raise PrivacyViolation(
            f"{model.title} fails: the table reaches {worst(reached):.6g}",
            hint=_KEEP,
        )
    return ModelResult(model.title, worst(reached))


@dataclass(frozen=True, slots=True)
class _Spread:
    """How many rows of each class have each value, where there are any."""

    owner: Codes
    """Classes, rising; and of each the values it has, with their rows."""
    value: Codes
    counts: Codes
    table: Codes
    """Rows of the whole table by value; the last one is missing."""
    labels: Sequence[object]

    def parts(self, unread: ClassCounts) -> Iterator[ClassCounts]:
        """Fill in the counts by value of as many classes at a time as fit."""
        n_classes, n_values = unread.rows.size, self.table.size
        step = max(1, _MOST_CELLS // n_values)
        for start in range(0, max(n_classes, 1), step):
            stop = min(start + step, n_classes)
            first, last = np.searchsorted(self.owner, [start, stop])
            chosen = slice(int(first), int(last))
            by_value = np.zeros((stop - start, n_values), dtype=np.int64)
            place = self.owner[chosen] - start, self.value[chosen]
            by_value[place] = self.counts[chosen]
            persons = unread.persons
            yield ClassCounts(
                unread.rows[start:stop],
                by_value,
                self.labels,
                None if persons is None else persons[start:stop],
                self.table,
            )


def _spread(values: Coded, keys: Coded, counts: Codes | None) -> _Spread:
    """Count each class by sensitive value; values that no row has are left out."""
    present = np.bincount(values.codes, minlength=values.n_codes) > 0
    number = np.cumsum(present) - 1
    pairs = combine([compress(keys), Coded(values.codes, values.n_codes)])
    one = first_rows(pairs)
    labels = [values.labels[i] for i in np.flatnonzero(present[:-1]).tolist()]
    return _Spread(
        compress(keys).codes[one],
        number[values.codes[one]],
        class_sizes(pairs, counts),
        np.bincount(number[values.codes], counts, len(labels) + 1).astype(np.int64),
        labels,
    )


def _count_persons(units: Coded, keys: Coded) -> Codes:
    """Count the different persons of each class; rows of nobody are one person's."""
    classes = compress(keys)
    pairs = combine([classes, units])
    return np.bincount(classes.codes[first_rows(pairs)]).astype(np.int64)
