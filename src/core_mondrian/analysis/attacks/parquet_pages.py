"""Pages of a Parquet file as they are stored: what a reader's library does not show."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

_DICTIONARY: Final = 2
_SECOND_VERSION: Final = 3
_NUMBERS: Final = {"INT32": "<i4", "INT64": "<i8", "FLOAT": "<f4", "DOUBLE": "<f8"}
_PLAIN: Final = "UNCOMPRESSED"
_CODECS: Final = {"LZ4": "lz4_raw"}


@dataclass(frozen=True)
class Page:
    """One page, decompressed."""

    column: str
    """Its path in the schema."""
    physical_type: str
    is_dictionary: bool
    n_values: int
    content: bytes

    def values(self) -> pa.Array | None:
        """Return the values of a dictionary, in their order; None: not of this kind."""
        if kind := _NUMBERS.get(self.physical_type):
            return pa.array(np.frombuffer(self.content, kind, self.n_values))
        if self.physical_type != "BYTE_ARRAY":
            return None
        levels, at = [], 0
        for _ in range(self.n_values):
            end = at + 4 + int.from_bytes(self.content[at : at + 4], "little")
            levels.append(self.content[at + 4 : end])
            at = end
        return pa.array(levels, pa.binary())


def read_pages(path: Path) -> Iterator[Page]:
    """Yield all pages of a file, column by column, as far as they can be read."""
    with pq.ParquetFile(path) as file:
        metadata = file.metadata
    raw = path.read_bytes()
    for group in range(metadata.num_row_groups):
        for number in range(metadata.num_columns):
            yield from _column_pages(raw, metadata.row_group(group).column(number))


def _column_pages(raw: bytes, chunk: Any) -> Iterator[Page]:  # noqa: ANN401  # of Arrow
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset:
        start = min(start, chunk.dictionary_page_offset)
    end = start + chunk.total_compressed_size
    while start < end:
        reader = _Compact(raw, start)
        header = reader.struct()
        start = reader.at + header[3]
        stored = raw[reader.at : start]
        details = header.get(7) or header.get(5) or header.get(8) or {}
        yield Page(
            column=chunk.path_in_schema,
            physical_type=chunk.physical_type,
            is_dictionary=header[1] == _DICTIONARY,
            n_values=details.get(1, 0),
            content=_decompress(stored, header, chunk.compression),
        )


def _decompress(stored: bytes, header: dict[int, Any], codec: str) -> bytes:
    levels = 0
    if header[1] == _SECOND_VERSION:
        details = header[8]
        levels = details.get(5, 0) + details.get(6, 0)
        if details.get(7) is False:
            return stored
    if codec == _PLAIN:
        return stored
    n_bytes = header[2] - levels
    known = pa.Codec(_CODECS.get(codec, codec.lower()))
    unpacked = known.decompress(stored[levels:], n_bytes, asbytes=True)
    return stored[:levels] + bytes(unpacked)


class _Compact:
    """Reads Thrift's compact protocol, as far as a page header needs it."""

    def __init__(self, raw: bytes, at: int) -> None:
        self._raw = raw
        self.at = at

    def struct(self) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            step = head >> 4
            number = number + step if step else self._number()
            fields[number] = self._value(head & 15)
        return fields

    def _value(self, kind: int) -> Any:  # noqa: ANN401  # of any type
        if kind in (1, 2):
            return kind == 1
        if kind == 12:
            return self.struct()
        if kind == 8:
            n = self._varint()
            self.at += n
            return self._raw[self.at - n : self.at]
        if kind in (3, 4, 5, 6):
            return self._byte() if kind == 3 else self._number()
        raise ValueError("not in a page header")

    def _byte(self) -> int:
        self.at += 1
        return self._raw[self.at - 1]

    def _varint(self) -> int:
        number = shift = 0
        while True:
            byte = self._byte()
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    def _number(self) -> int:
        coded = self._varint()
        return (coded >> 1) ^ -(coded & 1)
