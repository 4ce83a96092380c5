"""Arrays and summaries as bytes, which tell nobody to run anything.

Executors get code from the driver, as Spark has it; the driver takes only data back.
"""

import io
import json
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, Final, NamedTuple, TypeAlias
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from core_mondrian.engine.parts import Offering, PartSummary
from core_mondrian.engine.search.suppression_budget import Offers
from core_mondrian.errors import InternalError
from core_mondrian.measures.disclosure_warnings import KindCounts
from core_mondrian.measures.utility import ColumnSums, MeasureSums
from core_mondrian.sources.part_tasks import Described, PartReach, Picked

Form: TypeAlias = Any
"""What JSON can say: plain values, or a list of a kind and what it is made of."""
_RECORDS: Final[Mapping[str, Callable[..., Any]]] = {
    record.__name__: record
    for record in (
        *(PartSummary, Offering, Offers, PartReach, Described, Picked),
        *(MeasureSums, ColumnSums, KindCounts),
    )
}
_SEQUENCES: Final[Mapping[str, Callable[[list[Any]], Any]]] = {
    "tuple": tuple,
    "list": list,
}
_FORM: Final = "form"
_DAMAGE: Final = (ValueError, LookupError, TypeError, OSError, EOFError, BadZipFile)


def pack_value(value: Any) -> bytes:  # noqa: ANN401
    """Return a value made of arrays, plain values and the records of tasks as bytes."""
    arrays: list[NDArray[Any]] = []
    form = json.dumps(_Packer(arrays).form(value)).encode()
    sink = io.BytesIO()
    named = {str(i): array for i, array in enumerate(arrays)}
    named[_FORM] = np.frombuffer(form, dtype=np.uint8)
    np.savez(sink, **named)  # type: ignore[arg-type]
    return sink.getvalue()


def unpack_value(packed: bytes) -> Any:  # noqa: ANN401
    """Return what was packed.

    Raises:
        InternalError: it was not packed by `pack_value`.
    """
    try:
        with np.load(io.BytesIO(packed), allow_pickle=False) as arrays:
            return _value(json.loads(arrays[_FORM].tobytes()), arrays)
    except _DAMAGE as error:
        raise InternalError("an executor sent what is no result of a task") from error


class _Packer(NamedTuple):
    """Says in JSON what a value is made of, and lays its arrays aside."""

    arrays: list[NDArray[Any]]

    def form(self, value: Any) -> Form:  # noqa: ANN401
        match value:
            case None | bool() | int() | float() | str():
                return value
            case np.generic():
                return value.item()
            case np.ndarray() if not value.dtype.hasobject:
                self.arrays.append(value)
                return ["array", len(self.arrays) - 1]
            case Fraction():
                return ["fraction", value.numerator, value.denominator]
        return [*self._kind(value), *map(self.form, _values(value))]

    def _kind(self, value: Any) -> list[Form]:  # noqa: ANN401
        name = type(value).__name__
        if type(value) is dict:
            return ["dict", [*value]]
        if type(value) in _SEQUENCES.values():
            return [name]
        if type(value) is not _RECORDS.get(name):
            raise TypeError(f"{name} is no result of a task")
        return ["record", name]


def _values(value: Any) -> Iterable[Any]:  # noqa: ANN401
    return value.values() if isinstance(value, dict) else value


def _value(form: Form, arrays: Mapping[str, NDArray[Any]]) -> Any:  # noqa: ANN401
    if not isinstance(form, list):
        return form
    kind, *parts = form
    match kind:
        case "array":
            return arrays[str(parts[0])]
        case "fraction":
            return Fraction(*parts)
    inner = parts if kind in _SEQUENCES else parts[1:]
    values = [_value(part, arrays) for part in inner]
    match kind:
        case "dict":
            return dict(zip(parts[0], values, strict=True))
        case "record":
            return _RECORDS[parts[0]](*values)
    return _SEQUENCES[kind](values)
