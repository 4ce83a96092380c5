"""Several tables in one file that only its owner can read.

Two lines of text, the kind and version of the file and the SHA-256 of what follows,
and then an Arrow IPC stream with one row for each part: its name and its bytes. A part
is a table, or plain values as JSON. Nothing of it is parsed before the digest is
compared, and nothing is ever run.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa

from core_mondrian.errors import CHECK_PATH, DataError
from core_mondrian.tables.files.atomic_write import write_files

Part: TypeAlias = Any
"""An Arrow table, or plain values that JSON knows."""
Parts: TypeAlias = dict[str, Part]
_HEAD: Final = re.compile(rb"core-mondrian ([a-z ]{1,40}) (\d{1,9})\n([0-9a-f]{64})\n")
_DAMAGED: Final = "it was cut off or changed: take a copy from a backup"


def write_private(
    path: Path, kind: str, version: int, parts: Mapping[str, Part], *, overwrite: bool
) -> None:
    """Write all parts whole or not at all, to a file of mode 0600.

    Raises:
        SpecError: the file exists and is not to be overwritten.
        OutputError: the system refuses.
    """
    content = file_bytes(kind, version, parts)
    write_files({path: content}, overwrite=overwrite, private=[path])


def file_bytes(kind: str, version: int, parts: Mapping[str, Part]) -> bytes:
    """Return what the file of some parts holds."""
    texts = [_part_bytes(part) for part in parts.values()]
    table = pa.table({"name": [*parts], "content": pa.array(texts, pa.large_binary())})
    body = _stream(table)
    digest = hashlib.sha256(body).hexdigest()
    return f"core-mondrian {kind} {version}\n{digest}\n".encode() + body


def read_private(path: Path, kind: str, version: int) -> Parts:
    """Return the parts of a file of this kind and version.

    Raises:
        DataError: it cannot be read, is of another kind or version, or is damaged.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}", hint=CHECK_PATH) from None
    return parse_private(raw, str(path), kind, version)


def parse_private(raw: bytes, place: str, kind: str, version: int) -> Parts:
    """Return the parts of what such a file holds; ``place`` says where it was.

    Raises:
        DataError: it is of another kind or version, or is damaged.
    """
    head = _HEAD.match(raw)
    if head is None or head[1].decode() != kind:
        hint = f"name the file of a {kind}; if it was one, take a copy from a backup"
        raise DataError(f"{place}: not a {kind}, or damaged", hint=hint)
    if int(head[2]) != version:
        raise DataError(
            f"{place}: a {kind} of version {int(head[2])}, and this program reads "
            f"version {version}",
            hint="use the version of core-mondrian that wrote it, or make it anew",
        )
    body = raw[head.end() :]
    if hashlib.sha256(body).hexdigest().encode() != head[3]:
        raise DataError(f"{place}: damaged", hint=_DAMAGED)
    rows = _table(body).to_pylist()
    return {row["name"]: _read_part(row["content"]) for row in rows}


def _part_bytes(part: Part) -> bytes:
    is_table = isinstance(part, pa.Table)
    return _stream(part) if is_table else json.dumps(part, sort_keys=True).encode()


def _read_part(raw: bytes) -> Part:
    return json.loads(raw) if raw.startswith(b"{") else _table(raw)


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _table(raw: bytes) -> pa.Table:
    return pa.ipc.open_stream(pa.py_buffer(raw)).read_all()
