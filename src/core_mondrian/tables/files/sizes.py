"""How large a file is in memory, and how much of that there is."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from core_mondrian.tables.files.kinds import compression_of, kind_of

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_IF_UNKNOWN: Final = 4 << 30
"""Bytes that a machine is taken to have if the system does not say."""
_COMPRESSED: Final = 16
"""Times that a compressed text is larger in memory, at most as a rule."""


def machine_memory() -> int:
    """Return the bytes of memory that this machine has, or this container may use."""
    if not hasattr(os, "sysconf"):  # Windows
        return _IF_UNKNOWN
    n_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for file in (
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ):
        path = Path(file)
        text = path.read_text().strip() if path.exists() else "max"
        if text.isdigit():
            n_bytes = min(n_bytes, int(text))
    return n_bytes


def size_of(path: Path) -> int:
    """Return about how many bytes a file takes in memory, by what it says of itself.

    A Parquet file of a few kilobytes may hold billions of rows that are all alike.
    """
    size = path.stat().st_size
    if compression_of(path) is not None:
        return size * _COMPRESSED
    if kind_of(path) != "parquet" or not size:
        return size
    import pyarrow.parquet as pq

    from core_mondrian.tables.files.read import reading

    with reading(path, "parquet"), pq.ParquetFile(path) as file:
        metadata, schema = file.metadata, file.schema_arrow
    return max(size, int(metadata.num_rows * parquet_row(metadata, schema)))


def parquet_row(metadata: "pq.FileMetaData", schema: "pa.Schema") -> float:
    """Return about how many bytes a row of a Parquet file takes in memory."""
    size = 0.0
    for field in schema:
        fixed = _width(field.type)
        size += 8.0 if fixed is None else fixed
    groups = [metadata.row_group(i) for i in range(min(metadata.num_row_groups, 1))]
    for group in groups:
        stored = sum(
            group.column(i).total_uncompressed_size for i in range(group.num_columns)
        )
        size = max(size, stored / max(group.num_rows, 1))
    return max(size, 1.0)


def _width(kind: "pa.DataType") -> float | None:
    try:
        return float(kind.bit_width) / 8
    except ValueError:
        return None
