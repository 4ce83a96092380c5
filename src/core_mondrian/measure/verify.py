"""Recount a released table, by means that share nothing with the engine."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from narwhals.exceptions import DuplicateError
from narwhals.typing import IntoDataFrame
from numpy.typing import NDArray

from core_mondrian.errors import (
    DataError,
    PrivacyViolation,
    SpecError,
    list_names,
)
from core_mondrian.models.base import ClassCounts, PrivacyModel
from core_mondrian.spec import Spec

Codes: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
Array: TypeAlias = Any
"""An Arrow array, chunked or not; Arrow itself has no types to check."""

_LARGEST_KEY: Final = 2**62
_ARROW_REFUSES: Final = (
    pa.ArrowNotImplementedError,
    pa.ArrowInvalid,
    pa.ArrowTypeError,
)


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


@dataclass(frozen=True, slots=True)
class Coded:
    """Rows as codes below ``n_codes``; of a column, the last code means missing."""

    codes: Codes
    n_codes: int
    labels: Sequence[object] = ()
    """What the codes of a column stand for, where they rank."""

    @property
    def missing(self) -> Flags:
        """Rows without a value."""
        flags: Flags = self.codes == self.n_codes - 1
        return flags

    def select(self, kept: Flags | slice) -> "Coded":
        """Return these rows only."""
        return Coded(self.codes[kept], self.n_codes, self.labels)


def verify(
    data: IntoDataFrame, spec: Spec, *, budget: int | None = None
) -> Verification:
    """Check that every class of ``data`` passes every model of ``spec``.

    Rows with the same quasi-identifiers are a class; a missing value is a value. Where
    the spec names a unit, the table has to have it, and persons are counted. If the
    spec blanks suppressed rows, all-blank rows are no class as long as there are
    at most ``budget`` of them (None: what the spec allows for a table of this size);
    or they are one, if the table passes only then.

    Raises:
        PrivacyViolation: a class fails, or an identifier was not removed.
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
    unit = () if spec.unit is None else (spec.unit,)
    frame = _frame(data, (*spec.quasi_identifiers, *spec.sensitive, *unit))
    if left := sorted(set(spec.identifiers).intersection(frame.columns)):
        raise PrivacyViolation(f"identifiers are still in the table: {left}")
    n_rows = len(frame)
    columns = [_code_series(frame[name]) for name in spec.quasi_identifiers]
    allowed = spec.budget(n_rows) if budget is None else budget
    everything: Flags | slice = slice(None)
    kept = _released(columns, allowed) if spec.suppressed == "blank" else everything
    keys = combine(columns).select(kept)
    rows = class_sizes(keys)
    persons = None
    if spec.unit is not None:
        persons = _count_persons(_code_series(frame[spec.unit]).select(kept), keys)
    unread = ClassCounts(rows, np.zeros((rows.size, 0), dtype=np.int64), (), persons)
    seen = {
        name: _by_value(_code_series(frame[name], ordered=True).select(kept), keys)
        for name in spec.sensitive
    }
    results = tuple(
        _check(model, replace(unread, **seen[model.column]) if model.column else unread)
        for model in spec.models
    )
    return Verification(
        n_rows=n_rows,
        n_classes=int(rows.size),
        n_suppressed_blank=n_rows - int(keys.codes.size),
        smallest_class=int(rows.min()) if rows.size else 0,
        models=results,
    )


def _frame(data: IntoDataFrame, wanted: Sequence[str]) -> nw.DataFrame[Any]:
    try:
        frame = nw.from_native(data, eager_only=True)
        names = frame.columns
    except TypeError:
        raise SpecError(f"not a table in memory: {type(data).__name__}") from None
    except DuplicateError:
        raise DataError("the table has several columns of one name") from None
    if absent := sorted(set(wanted).difference(names)):
        raise SpecError(
            f"not in the table: {absent}", hint=f"it has {list_names(names)}"
        )
    if twice := sorted(name for name in set(wanted) if names.count(name) > 1):
        raise DataError(
            f"the table has several columns of one name: {list_names(twice)}"
        )
    return frame


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


def _count_persons(units: Coded, keys: Coded) -> Codes:
    """Count the different persons of each class; rows of nobody are one person's."""
    pairs = compress(combine([compress(keys), units])).codes
    first = np.zeros(int(pairs.max(initial=-1)) + 1, dtype=np.int64)
    first[pairs] = compress(keys).codes
    return np.bincount(first, minlength=compress(keys).n_codes).astype(np.int64)


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


def combine(columns: Sequence[Coded]) -> Coded:
    """Return one code per row that is equal where all columns are equal."""
    keys, n_codes = columns[0].codes.copy(), columns[0].n_codes
    for column in columns[1:]:
        if n_codes * column.n_codes > _LARGEST_KEY:
            packed = compress(Coded(keys, n_codes))
            keys, n_codes = packed.codes, packed.n_codes
        keys *= column.n_codes
        keys += column.codes
        n_codes *= column.n_codes
    return Coded(keys, n_codes)


def compress(keys: Coded) -> Coded:
    """Number the codes that occur from 0 on, in the order they rank."""
    if keys.n_codes <= 4 * keys.codes.size:
        used = np.bincount(keys.codes, minlength=keys.n_codes) > 0
        numbers = np.cumsum(used) - 1
        return Coded(numbers[keys.codes], int(np.count_nonzero(used)))
    encoded = pa.array(keys.codes).dictionary_encode()
    values = encoded.dictionary.to_numpy()
    numbers = np.empty(values.size, dtype=np.int64)
    numbers[np.argsort(values)] = np.arange(values.size)
    return Coded(numbers[encoded.indices.to_numpy()], int(values.size))


def class_sizes(keys: Coded) -> Codes:
    """Count the rows of each code that occurs, in the order the codes rank."""
    if keys.n_codes <= 4 * keys.codes.size:
        counts = np.bincount(keys.codes, minlength=keys.n_codes)
        return counts[counts > 0].astype(np.int64)
    found = pc.value_counts(pa.array(keys.codes))
    order = np.argsort(found.field(0).to_numpy())
    sizes: Codes = found.field(1).to_numpy()[order]
    return sizes


def _code_series(series: nw.Series[Any], *, ordered: bool = False) -> Coded:
    native = series.to_native()
    if isinstance(native, pa.ChunkedArray):
        return code_column(native, ordered=ordered)
    try:
        column = series.to_arrow()
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return _code_objects(series.to_list())  # mixed kinds in a pandas column
    return code_column(pa.chunked_array([column]), ordered=ordered)


def code_column(column: Array, *, ordered: bool = False) -> Coded:
    """Number the distinct values of a column; null and NaN are the last number.

    Dictionaries may differ between chunks and hold duplicates, nulls and values that
    no row has. With ``ordered``, greater values have greater numbers.
    """
    try:
        chunks, values = _dictionaries(column)
        distinct = _without_nan(values).dictionary_encode()
        order = pc.rank(distinct.dictionary, tiebreaker="dense") if ordered else None
    except _ARROW_REFUSES:
        return _code_objects(column.to_pylist())
    n_values = len(distinct.dictionary)
    labels: list[object] = []
    numbers = np.asarray(distinct.indices.fill_null(n_values)).astype(np.int64)
    if order is not None:
        ranks = np.append(order.to_numpy().astype(np.int64) - 1, n_values)
        numbers = ranks[numbers]
        labels = distinct.dictionary.take(np.argsort(ranks[:-1])).to_pylist()
    look_up = pa.array(numbers)
    codes = [look_up[start:].take(chunk.indices) for start, chunk in chunks]
    joined: Array = pa.chunked_array(codes, pa.int64())
    return Coded(joined.fill_null(n_values).to_numpy(), n_values + 1, labels)


def _dictionaries(
    column: Array,
) -> tuple[list[tuple[int, Array]], Array]:
    """Return dictionary chunks, each with where its values start among all values."""
    if isinstance(column.type, pa.BaseExtensionType):
        kind: Any = column.type.storage_type
        column = pa.chunked_array([chunk.storage for chunk in column.chunks], kind)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    kept: list[Array] = []
    starts: list[tuple[int, Array]] = []
    start = end = 0
    for chunk in column.chunks:
        if not kept or not chunk.dictionary.equals(kept[-1]):
            kept.append(chunk.dictionary)
            start, end = end, end + len(chunk.dictionary)
        starts.append((start, chunk))
    empty = pa.array([], column.type.value_type)
    return starts, pa.concat_arrays(kept) if kept else empty


def _without_nan(values: Array) -> Array:
    if not pa.types.is_floating(values.type):
        return values
    numbers = values.cast(pa.float64())
    # Adding zero makes -0.0 and 0.0 the same bits.
    return pc.if_else(pc.is_nan(numbers), None, pc.add(numbers, 0.0))


def _code_objects(values: Sequence[object]) -> Coded:
    """Number any Python values; slow, for what Arrow cannot compare."""
    numbers: dict[object, int] = {}
    codes = np.empty(len(values), dtype=np.int64)
    for i, value in enumerate(values):
        key = _hashable(value)
        codes[i] = -1 if key is None else numbers.setdefault(key, len(numbers))
    codes[codes < 0] = len(numbers)
    labels = _ascending(numbers)
    ranks = np.empty(len(numbers) + 1, dtype=np.int64)
    ranks[[numbers[label] for label in labels]] = np.arange(len(labels))
    ranks[-1] = len(labels)
    return Coded(ranks[codes], len(labels) + 1, labels)


def _ascending(values: Iterable[Any]) -> list[object]:
    """Return values as they rank; by kind and spelling if they have no order."""
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, str(value)))


def _hashable(value: object) -> object:
    """Return a key that is equal for equal values, and None for missing ones."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, dict):
        return tuple((key, _hashable(item)) for key, item in value.items())
    if isinstance(value, list | tuple | set | np.ndarray):
        return tuple(_hashable(item) for item in value)
    if isinstance(value, bool | np.bool_):
        return ("bool", bool(value))  # else the same key as 0 and 1
    if isinstance(value, float | np.floating) and np.isnan(value):
        return None
    return value
