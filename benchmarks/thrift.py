"""Thrift's compact protocol, as far as a Parquet footer needs it: to make it lie."""

from dataclasses import dataclass, field
from typing import Any, Final

_TRUE: Final = 1
_FALSE: Final = 2
_LIST: Final = 9
_STRUCT: Final = 12
_DOUBLE: Final = 7
_BINARY: Final = 8


@dataclass
class Value:
    """A value and its type: an int, bytes, a list of values, or fields by number."""

    kind: int
    content: Any


@dataclass
class Struct:
    """Fields by number, in the order they stand."""

    fields: dict[int, Value] = field(default_factory=dict)

    def __getitem__(self, number: int) -> Any:
        return self.fields[number].content

    def __setitem__(self, number: int, content: Any) -> None:
        self.fields[number].content = content


class Reader:
    """Reads one struct after the other."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._at = 0

    def struct(self) -> Struct:
        found, number = Struct(), 0
        while head := self._byte():
            kind = head & 15
            number = number + (head >> 4) if head >> 4 else _unzigzag(self._varint())
            found.fields[number] = Value(kind, self._value(kind))
        return found

    def _value(self, kind: int) -> Any:  # noqa: PLR0911  # one for each type
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return _unzigzag(self._varint())
        if kind == _DOUBLE:
            return self._take(8)
        if kind == _BINARY:
            return self._take(self._varint())
        if kind == _STRUCT:
            return self.struct()
        head = self._byte()
        n = head >> 4 if head >> 4 < 15 else self._varint()
        item = head & 15
        if item in (_TRUE, _FALSE):
            return [Value(item, self._byte() == _TRUE) for _ in range(n)]
        return [Value(item, self._value(item)) for _ in range(n)]

    def _byte(self) -> int:
        return self._take(1)[0]

    def _take(self, n: int) -> bytes:
        taken = self._raw[self._at : self._at + n]
        self._at += n
        return taken

    def _varint(self) -> int:
        found = shift = 0
        while True:
            byte = self._byte()
            found |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return found


def _unzigzag(number: int) -> int:
    return (number >> 1) ^ -(number & 1)


def write_struct(struct: Struct) -> bytes:
    """Return a struct as bytes."""
    pieces, before = [], 0
    for number, value in struct.fields.items():
        kind = value.kind
        if kind in (_TRUE, _FALSE):
            kind = _TRUE if value.content else _FALSE
        step = number - before
        short = 0 < step < 16
        pieces.append(bytes([(step << 4 if short else 0) | kind]))
        pieces.append(b"" if short else _varint(number << 1))
        pieces.append(b"" if kind in (_TRUE, _FALSE) else _write(value))
        before = number
    return b"".join(pieces) + b"\0"


def _write(value: Value) -> bytes:  # noqa: PLR0911  # one for each type
    kind, content = value.kind, value.content
    if kind in (_TRUE, _FALSE):
        return bytes([_TRUE if content else _FALSE])
    if kind == 3:
        return bytes([content])
    if kind in (4, 5, 6):
        zigzag = (content << 1) ^ (content >> 63)
        return _varint(zigzag & (1 << 64) - 1)
    if kind == _DOUBLE:
        return bytes(content)
    if kind == _BINARY:
        return _varint(len(content)) + bytes(content)
    if kind == _STRUCT:
        return write_struct(content)
    item: int = content[0].kind if content else _STRUCT
    n = len(content)
    head = bytes([(min(n, 15) << 4) | item]) + (_varint(n) if n > 14 else b"")
    return head + b"".join(_write(one) for one in content)


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])
