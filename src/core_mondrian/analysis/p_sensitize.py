"""p_sensitize(): change sensitive values until every class has p different ones."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Generic, Literal, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.analysis.perturb import (
    Cells,
    Changes,
    Codes,
    Plain,
    Survey,
    class_seeds,
    plan,
    survey,
)
from core_mondrian.encoding.columns import Ranked, rank_column
from core_mondrian.encoding.drawable import Drawable, Probabilities, read_drawable
from core_mondrian.errors import (
    InfeasibleError,
    InternalError,
    SpecError,
    drops_context,
)
from core_mondrian.measures.changed import Comparison, compare
from core_mondrian.release.notebook import sensitized_html
from core_mondrian.runtime.array_types import Words
from core_mondrian.runtime.plain_values import JsonObject
from core_mondrian.tables.arrow_types import holds_text
from core_mondrian.tables.cleaning import clean_frame
from core_mondrian.tables.frames import (
    OpenFrame,
    arrow_column,
    check_columns,
    open_frame,
    row_keys,
    take_cells,
)
from core_mondrian.tables.keys import Key, open_key

FrameT = TypeVar("FrameT")
MissingRule = Literal["value", "ignored"]
_LARGEST_KEY = 2**62
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_DAY = 86_400 * 10**9


@dataclass(frozen=True, slots=True)
class Request:
    """What `p_sensitize` is asked for; checks itself."""

    quasi_identifiers: tuple[str, ...]
    sensitive: str
    p: int
    k: int
    probabilities: Probabilities | None = field(default=None, repr=False)
    missing: MissingRule = "value"
    key: Key = field(default_factory=lambda: open_key(None), repr=False)

    def __post_init__(self) -> None:
        _check_names(self)
        for key in ("p", "k"):
            value = getattr(self, key)
            if isinstance(value, bool) or not isinstance(value, int):
                raise SpecError(
                    f"{key} must be a whole number, got {type(value).__name__}"
                )
        if self.p < 2:
            raise SpecError(f"p-sensitivity needs p >= 2, got p={self.p}")
        if self.k < self.p:
            raise SpecError(
                f"k is at least p, got k={self.k} and p={self.p}",
                hint="a class of k rows cannot have more than k different values",
            )
        if self.missing not in ("value", "ignored"):
            raise SpecError("missing is one of value, ignored")
        if self.probabilities is not None:
            _check_probabilities(self.probabilities)

    def to_json(self) -> JsonObject:
        """Return plain values; probabilities are named by values and left out."""
        return {
            "quasi_identifiers": list(self.quasi_identifiers),
            "sensitive": self.sensitive,
            "p": self.p,
            "k": self.k,
            "probabilities": "given" if self.probabilities else "frequencies",
            "missing": self.missing,
            "key": "given" if self.key.is_given else "random",
        }


@dataclass(frozen=True, slots=True)
class Sensitized(Generic[FrameT]):
    """A table some of whose sensitive values are false on purpose."""

    data: FrameT = field(repr=False)
    """The caller's kind of frame; only cells of the sensitive column differ."""
    asked: Request
    n_rows: int
    n_changed: int
    n_classes: int
    n_classes_changed: int
    p: int
    """Different values of the class with fewest, recounted."""
    k: int
    """Rows of the smallest class, recounted."""
    drift: float
    """Total variation distance of the column's values before and after: 0 to 1."""

    @property
    def summary(self) -> str:
        """One sentence that has to go wherever the table goes."""
        name = repr(self.asked.sensitive)
        if not self.n_changed:
            return f"no value of {name} was changed: every class has {self.p} or more"
        were = "was" if self.n_changed == 1 else "were"
        return (
            f"{self.n_changed:,} of {self.n_rows:,} values of {name} {were} changed so "
            f"that every class has {self.p} or more: do not use them as measurements "
            "of individuals"
        )

    def to_json(self) -> JsonObject:
        """Return the manifest: how many values are false, and no hint at which."""
        return {
            "format": 2,
            "values_changed": self.n_changed > 0,
            "summary": self.summary,
            "asked": self.asked.to_json(),
            "rows": {"in": self.n_rows, "changed": self.n_changed},
            "classes": {"in": self.n_classes},
            "reached": {"p": self.p, "k": self.k},
        }

    def record(self) -> JsonObject:
        """Return the owner's record: what would help a reader to undo the changes."""
        key = self.asked.key
        return {
            "format": 2,
            "kind": "p-sensitize",
            "key": None if key.is_given else key.secret.hex(),
            "classes": {"in": self.n_classes, "changed": self.n_classes_changed},
            "drift": self.drift,
        }

    def _repr_html_(self) -> str:
        """Show itself in a notebook."""
        return sensitized_html(self)


@drops_context
def p_sensitize(  # noqa: PLR0913  # each says something else about the request
    data: FrameT,
    quasi_identifiers: Iterable[str],
    sensitive: str,
    p: int,
    k: int,
    *,
    probabilities: Probabilities | None = None,
    missing: MissingRule = "value",
    key: bytes | None = None,
) -> Sensitized[FrameT]:
    """Return ``data`` with sensitive values changed, so that no class lacks variety.

    ``data`` is a release whose classes have at least ``k`` rows. In every class with
    fewer than ``p`` different values, as few rows as possible get a value the class
    does not have; no class loses a value. What is changed depends on the rows as a
    multiset, the arguments and the key, never on row order or the dataframe library.

    Args:
        data: The release: a pandas, polars or Arrow table. It is not altered.
        quasi_identifiers: Columns whose equal rows are a class; missing is a value.
        sensitive: The column whose values are changed.
        p: Different values each class needs.
        k: Rows each class has already.
        probabilities: How likely each value is drawn. None: as often as it occurs.
        missing: Whether a missing sensitive value counts as a different value, or is
            ignored and left alone. It is never drawn.
        key: A secret of 16 bytes or more that decides which rows and values are
            drawn; whoever has it can find out what was changed. None: random bytes.

    Raises:
        SpecError: the request contradicts itself or does not fit the data.
        DataError: a column has neither an order nor labels.
        InfeasibleError: a class has fewer than ``k`` rows or cannot have ``p`` values.
    """
    if isinstance(quasi_identifiers, str):
        raise SpecError(
            "quasi_identifiers is a list of columns, got one text",
            hint="such as ['age', 'sex']",
        )
    names = tuple(quasi_identifiers)
    asked = Request(names, sensitive, p, k, probabilities, missing, open_key(key))
    frame = open_frame(data)
    check_columns(frame, (*asked.quasi_identifiers, sensitive))
    keys = {name: _rank(frame, name) for name in asked.quasi_identifiers}
    classes = _number_classes(list(keys.values()), len(frame))
    _check_k(np.bincount(classes), asked)
    column = arrow_column(frame, sensitive)
    values = read_drawable(column, sensitive, asked.probabilities)
    cells = _countable(classes, values, asked)
    surveyed = survey(cells)
    _check_reach(surveyed, asked, values)
    first = np.unique(classes, return_index=True)[1]
    changes = plan(
        cells=cells,
        surveyed=surveyed,
        p=asked.p,
        seeds=lambda short: _seeds(asked, keys, first[short]),
        keys=lambda rows: row_keys(frame, _others(frame, asked), rows),
    )
    changed = _change(frame, asked, values, changes)
    compared = _recount(frame, changed, asked, changes)
    return Sensitized(
        data=clean_frame(changed),
        asked=asked,
        n_rows=len(frame),
        n_changed=compared.n_changed,
        n_classes=compared.n_classes,
        n_classes_changed=compared.n_classes_changed,
        p=compared.p,
        k=compared.k,
        drift=compared.drift,
    )


def _check_names(asked: Request) -> None:
    names = asked.quasi_identifiers
    if not names:
        raise SpecError("no quasi-identifier", hint="name at least one")
    for name in (*names, asked.sensitive):
        if not isinstance(name, str):
            raise SpecError(f"columns are named by texts, got {type(name).__name__}")
    if len(set(names)) < len(names):
        raise SpecError("a quasi-identifier is named twice", hint="name each once")
    if asked.sensitive in names:
        raise SpecError(
            f"column {asked.sensitive!r} is a quasi-identifier and sensitive",
            hint="to change it would change the classes; take it out of one list",
        )


def _check_probabilities(probabilities: Probabilities) -> None:
    if not isinstance(probabilities, Mapping):
        raise SpecError(
            "probabilities map values to numbers",
            hint="such as {value: 0.5, other: 0.5}",
        )
    for number in probabilities.values():
        is_number = isinstance(number, int | float | np.number)
        if not is_number or isinstance(number, bool):
            raise SpecError(f"a probability is a number, got {type(number).__name__}")
        if not 0.0 <= number < math.inf:
            raise SpecError("a probability is finite and not below 0")
    if not 0.0 < sum(map(float, probabilities.values())) < math.inf:
        raise SpecError(
            "probabilities have a finite sum above 0",
            hint="give at least one value a chance",
        )


def _rank(frame: OpenFrame, name: str) -> Ranked:
    return rank_column(arrow_column(frame, name), name)


def _number_classes(columns: list[Ranked], n_rows: int) -> Codes:
    """Return the class of each row; classes are numbered from 0 on."""
    keys, n_keys = np.zeros(n_rows, dtype=np.int64), 1
    for column in columns:
        n_values = len(column.values) + 1
        if n_keys * n_values > _LARGEST_KEY:
            distinct, keys = np.unique(keys, return_inverse=True)
            n_keys = distinct.size
        keys = keys * n_values + column.codes
        n_keys *= n_values
    classes: Codes = np.unique(keys, return_inverse=True)[1].astype(np.int64)
    return classes


def _check_k(sizes: Codes, asked: Request) -> None:
    if not sizes.size:
        raise InfeasibleError(f"0 rows, but one class needs {asked.k}")
    small = sizes[sizes < asked.k]
    if small.size:
        raise InfeasibleError(
            f"{small.size} of {sizes.size} classes have fewer than {asked.k} rows; "
            f"the smallest has {small.min()}",
            hint="this step cannot raise k: anonymize the table first, or leave out "
            "the rows that a release left blank",
        )


def _countable(classes: Codes, values: Drawable, asked: Request) -> Cells:
    rows = np.arange(classes.size)
    if asked.missing == "ignored":
        rows = np.flatnonzero(values.codes < values.weights.size)
    n_classes = int(classes.max()) + 1
    return Cells(rows, classes[rows], values.codes[rows], n_classes, values.weights)


def _check_reach(surveyed: Survey, asked: Request, values: Drawable) -> None:
    """Raise InfeasibleError if a class cannot have ``p`` different values."""
    p, name, reach = asked.p, repr(asked.sensitive), surveyed.reach
    most = int(reach.min())
    if most >= p:
        return
    hint = f"p = {most} would work" if most >= 2 else "no p would work"
    if asked.probabilities is not None:
        hint += "; or give more values a probability above 0"
    n_values = np.union1d(values.codes, np.flatnonzero(values.weights)).size
    if asked.missing == "ignored":
        n_values -= int((values.codes == values.weights.size).any())
    if n_values < p:
        raise InfeasibleError(
            f"p = {p}, but there are only {n_values:,} different values for {name}",
            hint=hint,
        )
    failing = reach < p
    few_rows = np.count_nonzero(surveyed.rows[failing] < p)
    raise InfeasibleError(
        f"{np.count_nonzero(failing):,} of {reach.size:,} classes cannot have {p} "
        f"different values of {name}: {few_rows:,} have too few rows with a value, the "
        f"others too few values left to draw; the worst lacks {p - most}",
        hint=hint,
    )


def _seeds(asked: Request, keys: Mapping[str, Ranked], rows: Codes) -> Words:
    """Return two secret numbers for the class of each row, by what it shows."""
    names = sorted(keys)
    columns = [_plain(keys[name], rows) for name in names]
    released = [
        list(zip(names, key, strict=True)) for key in zip(*columns, strict=True)
    ]
    return class_seeds(asked.key.derive("p-sensitize", asked.sensitive), released)


def _plain(ranked: Ranked, rows: Codes) -> list[Plain]:
    """Return cells so that a value looks the same whatever library holds it.

    A library may hold whole numbers as floats and times in another unit.
    """
    codes = ranked.codes[rows]
    values = ranked.values.take(pa.array(codes, mask=codes == len(ranked.values)))
    kind, scale = values.type, 1
    if pa.types.is_temporal(kind):
        scale = _DAY if pa.types.is_date32(kind) else _NANOSECONDS[_unit(kind)]
        values = values.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    cells: list[Any] = values.to_pylist()
    if pa.types.is_boolean(kind) or holds_text(kind):
        return cells
    return [None if cell is None else _number_text(cell * scale) for cell in cells]


def _unit(kind: pa.DataType) -> str:
    return "ms" if pa.types.is_date64(kind) else str(kind.unit)


def _number_text(number: float | Decimal) -> str:
    return str(int(number)) if number == int(number) else str(number)


def _others(frame: OpenFrame, asked: Request) -> list[str]:
    named = {*asked.quasi_identifiers, asked.sensitive}
    return sorted((name for name in frame.columns if name not in named), key=str)


def _change(
    frame: OpenFrame, asked: Request, values: Drawable, changes: Changes
) -> Any:  # noqa: ANN401
    places: NDArray[np.int64] = np.arange(len(frame))
    places[changes.rows] = values.places[changes.values]
    return take_cells(frame, asked.sensitive, values.new, places)


def _recount(
    frame: OpenFrame,
    changed: Any,  # noqa: ANN401
    asked: Request,
    changes: Changes,
) -> Comparison:
    comparison = compare(
        before=frame,
        after=open_frame(changed),
        quasi_identifiers=asked.quasi_identifiers,
        sensitive=asked.sensitive,
        ignores_missing=asked.missing == "ignored",
    )
    if comparison.k < asked.k or comparison.p < asked.p:
        raise InternalError(
            f"k = {comparison.k} and p = {comparison.p} were reached, not what was "
            "asked for"
        )
    if comparison.n_changed != changes.rows.size:
        raise InternalError("other values were changed than those that were chosen")
    return comparison
