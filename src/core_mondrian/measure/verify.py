"""Recount a released table, by means that share nothing with the engine."""

from collections.abc import Sequence
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

    def to_json(self) -> dict[str, Any]:
        """Return plain values; an empty table reaches nothing (None)."""
        return {
            "n_rows": self.n_rows,
            "n_classes": self.n_classes,
            "n_suppressed_blank": self.n_suppressed_blank,
            "smallest_class": self.smallest_class,
            "models": [
                {
                    "name": model.name,
                    "reached": model.reached if np.isfinite(model.reached) else None,
                }
                for model in self.models
            ],
        }


def verify(
    data: IntoDataFrame, spec: Spec, *, budget: int | None = None
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
    try:
        return _recount(data, spec, budget)
    except PrivacyViolation:
        if spec.suppressed == "blank":
            # A class of rows without any value looks as if it were suppressed.
            with suppress(PrivacyViolation):
                return _recount(data, replace(spec, suppressed="drop"), budget)
        raise


def _recount(data: IntoDataFrame, spec: Spec, budget: int | None) -> Verification:
    frame, shown = _frame(data, spec)
    if spec.unit is not None and spec.unit not in frame.columns:
        raise SpecError(
            f"without {spec.unit!r} the persons of a class cannot be counted",
            hint="a release leaves it out: join it back on to recount, or verify "
            "without a unit, which counts rows",
        )
    if left := sorted(set(spec.identifiers).intersection(frame.columns)):
        raise PrivacyViolation(f"identifiers are still in the table: {left}")
    _check_pseudonyms(frame, spec)
    n_rows = len(frame)
    columns = [code_series(frame[name]) for names in shown.values() for name in names]
    allowed = spec.budget(n_rows) if budget is None else budget
    everything: Flags | slice = slice(None)
    kept = _released(columns, allowed) if spec.suppressed == "blank" else everything
    keys = combine(columns).select(kept)
    rows = class_sizes(keys)
    persons = None
    if spec.unit is not None:
        persons = _count_persons(code_series(frame[spec.unit]).select(kept), keys)
    unread = ClassCounts(rows, np.zeros((rows.size, 0), dtype=np.int64), (), persons)
    seen: dict[str | None, dict[str, Any]] = {
        name: _by_value(code_series(frame[name], ordered=True).select(kept), keys)
        for name in spec.sensitive
    }
    if spec.population is not None:
        chosen = np.arange(n_rows)[kept][first_rows(keys)]
        cells = {
            name: read_cells(frame, names, chosen) for name, names in shown.items()
        }
        seen[None] = {"by_value": count_presence(cells, rows, spec)}
    results = tuple(
        _check(model, replace(unread, **_looked_at(model, seen)))
        for model in spec.models
    )
    return Verification(
        n_rows=n_rows,
        n_classes=int(rows.size),
        n_suppressed_blank=n_rows - int(keys.codes.size),
        smallest_class=int(rows.min()) if rows.size else 0,
        models=results,
    )


def _check_pseudonyms(frame: nw.DataFrame[Any], spec: Spec) -> None:
    """Refuse a column for pseudonyms that shows something else."""
    for name in spec.pseudonyms:
        if name in frame.columns and not _are_pseudonyms(frame[name]):
            raise PrivacyViolation(
                f"column {name!r} holds other things than pseudonyms",
                hint=f"they are {LENGTH} digits of 0-9 and a-f",
            )


def _are_pseudonyms(series: nw.Series[Any]) -> bool:
    try:
        column = pa.chunked_array([series.to_arrow()]).combine_chunks().drop_null()
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        texts = column.cast(pa.string())
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return False  # neither text nor numbers
    return bool(pc.all(pc.match_substring_regex(texts, PATTERN), min_count=0).as_py())


def _looked_at(
    model: PrivacyModel, seen: dict[str | None, dict[str, Any]]
) -> dict[str, Any]:
    """Return the counts a model looks at: sensitive values, presence, or none."""
    if model.column is not None or getattr(model, "population", None) is not None:
        return seen[model.column]
    return {}


def _frame(
    data: IntoDataFrame, spec: Spec
) -> tuple[nw.DataFrame[Any], dict[str, tuple[str, ...]]]:
    """Return the table, and the columns in which each quasi-identifier is shown."""
    try:
        frame = nw.from_native(data, eager_only=True)
        names = frame.columns
    except TypeError:
        raise SpecError(f"not a table in memory: {type(data).__name__}") from None
    except DuplicateError:
        raise DataError("the table has several columns of one name") from None
    shown = {
        name: (name,) if name in names else spec.bounds_of(name) or (name,)
        for name in spec.quasi_identifiers
    }
    wanted = [*(one for each in shown.values() for one in each), *spec.sensitive]
    if absent := sorted(set(wanted).difference(names)):
        raise SpecError(
            f"not in the table: {absent}", hint=f"it has {list_names(names)}"
        )
    if twice := sorted(name for name in set(wanted) if names.count(name) > 1):
        raise DataError(
            f"the table has several columns of one name: {list_names(twice)}"
        )
    return frame, shown


def _released(columns: Sequence[Coded], allowed: int) -> Flags | slice:
    """Return the rows that are not blank all over, if few enough are."""
    blank = np.logical_and.reduce([column.missing for column in columns])
    return ~blank if np.count_nonzero(blank) <= allowed else slice(None)


def _check(model: PrivacyModel, classes: ClassCounts) -> ModelResult:
    rows = classes.rows
    passes = model.passes(classes)
    reached = float(model.reached(classes))
    if passes.all():
        if not model.holds(classes):
            raise PrivacyViolation(
                f"{model.title} fails: the table reaches {reached:.6g}",
                hint="do not give this table away",
            )
        return ModelResult(model.title, reached)
    failing = rows[~passes]
    raise PrivacyViolation(
        f"{model.title} fails for {failing.size} of {rows.size} classes with "
        f"{int(failing.sum())} of {int(rows.sum())} rows; "
        f"the smallest of them has {int(failing.min())}",
        hint="do not give this table away",
    )


def _by_value(values: Coded, keys: Coded) -> dict[str, Any]:
    """Count each class (axis 0) by sensitive value (axis 1), missing as the last.

    Returns what ``ClassCounts`` calls these counts and their labels.
    """
    classes = compress(keys)
    pairs = classes.codes * values.n_codes + values.codes
    cells = classes.n_codes * values.n_codes
    counts = np.bincount(pairs, minlength=cells).astype(np.int64)
    by_value: Codes = counts.reshape(classes.n_codes, values.n_codes)
    seen: Flags = np.asarray(by_value.any(axis=0))
    seen[-1] = True
    labels = [values.labels[i] for i in np.flatnonzero(seen[:-1]).tolist()]
    return {"by_value": by_value[:, seen], "labels": labels}


def _count_persons(units: Coded, keys: Coded) -> Codes:
    """Count the different persons of each class; rows of nobody are one person's."""
    pairs = compress(combine([compress(keys), units])).codes
    first = np.zeros(int(pairs.max(initial=-1)) + 1, dtype=np.int64)
    first[pairs] = compress(keys).codes
    return np.bincount(first, minlength=compress(keys).n_codes).astype(np.int64)
