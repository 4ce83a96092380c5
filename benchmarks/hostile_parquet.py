"""Parquet and Arrow files whose metadata lies, each about one thing."""

import base64
import struct
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.thrift import Reader, Struct, Value, write_struct
from core_mondrian.datasets import census

_MAGIC = b"PAR1"
Lie = Callable[[Struct], None]


def people(n_rows: int = 500) -> pa.Table:
    """Return an honest table."""
    return census(n_rows).select(["age", "sex", "zip_code", "income"])


def edit_footer(path: Path, lie: Lie) -> None:
    """Rewrite a Parquet file with another footer over the same pages."""
    raw = path.read_bytes()
    size = int.from_bytes(raw[-8:-4], "little")
    footer = Reader(raw[-8 - size : -8]).struct()
    lie(footer)
    text = write_struct(footer)
    path.write_bytes(raw[: -8 - size] + text + struct.pack("<I", len(text)) + _MAGIC)


def _group(footer: Struct) -> Struct:
    group: Struct = footer[4][0].content
    return group


def _column(footer: Struct, number: int = 0) -> Struct:
    chunk: Struct = _group(footer)[1][number].content
    meta: Struct = chunk[3]
    return meta


def _claim_rows(n: int) -> Lie:
    def lie(footer: Struct) -> None:
        footer[3] = n
        _group(footer)[3] = n
        for chunk in _group(footer)[1]:
            chunk.content[3][5] = n

    return lie


def _only_file_rows(footer: Struct) -> None:
    footer[3] = 7


def _group_rows(footer: Struct) -> None:
    _group(footer)[3] = 1


def _negative_rows(footer: Struct) -> None:
    _claim_rows(-5)(footer)


def _offset_beyond(footer: Struct) -> None:
    _column(footer)[9] = 1 << 50


def _offset_negative(footer: Struct) -> None:
    _column(footer)[9] = -(1 << 40)


def _offset_of_another(footer: Struct) -> None:
    first, second = _column(footer), _column(footer, 2)
    first[9] = second[9]
    if 11 in first.fields and 11 in second.fields:
        first[11] = second[11]


def _huge_size(footer: Struct) -> None:
    column = _column(footer)
    column[6] = column[7] = 1 << 55


def _negative_size(footer: Struct) -> None:
    _column(footer)[7] = -1


def _statistics(footer: Struct) -> None:
    told = _column(footer)[12]
    for number in (5, 6):
        if number in told.fields:
            told[number] = b"\xff" * 64
    if 3 in told.fields:
        told[3] = 1 << 60


def _other_type(footer: Struct) -> None:
    _column(footer)[1] = 6
    footer[2][1].content[1] = 6


def _other_codec(footer: Struct) -> None:
    _column(footer)[4] = 6


def _many_children(footer: Struct) -> None:
    footer[2][0].content[5] = (1 << 31) - 1


def _deep(depth: int) -> Lie:
    def lie(footer: Struct) -> None:
        group = {3: Value(5, 0), 4: Value(8, b"g"), 5: Value(5, 1)}
        root, *leaves = footer[2]
        nest = [Value(12, Struct(dict(group))) for _ in range(depth)]
        root.content[5] = len(leaves)
        footer[2] = [root, *nest, *leaves]

    return lie


def _notes(key: bytes, text: bytes) -> Lie:
    def lie(footer: Struct) -> None:
        note = Struct({1: Value(8, key), 2: Value(8, text)})
        footer.fields.pop(5, None)
        kept = dict(footer.fields)
        footer.fields.clear()
        for number in sorted({*kept, 5}):
            value = Value(9, [Value(12, note)]) if number == 5 else kept[number]
            footer.fields[number] = value

    return lie


def _arrow_schema() -> bytes:
    lying = pa.schema(
        [
            ("age", pa.dictionary(pa.int8(), pa.string())),
            ("sex", pa.int64()),
            ("zip_code", pa.timestamp("ns", tz="Nowhere/Else")),
            ("income", pa.list_(pa.float64())),
        ]
    )
    return base64.b64encode(lying.serialize().to_pybytes())


LIES: dict[str, Lie] = {
    "2^60 rows claimed": _claim_rows(1 << 60),
    "fewer rows claimed by the file": _only_file_rows,
    "fewer rows claimed by a row group": _group_rows,
    "rows below 0": _negative_rows,
    "pages beyond the end": _offset_beyond,
    "pages before the start": _offset_negative,
    "pages of another column": _offset_of_another,
    "sizes of 32 PB": _huge_size,
    "a size below 0": _negative_size,
    "wrong statistics": _statistics,
    "another type": _other_type,
    "another compression": _other_codec,
    "2^31 children in the schema": _many_children,
    "a schema 10,000 deep": _deep(10_000),
    "pandas notes that are no JSON": _notes(b"pandas", b"{" * 50_000),
    "pandas notes of wrong kinds": _notes(
        b"pandas",
        b'{"columns": [1, {"field_name": []}], "index_columns": [{"start": "a"}, 3]}',
    ),
    "an ARROW:schema that lies": _notes(b"ARROW:schema", _arrow_schema()),
    "an ARROW:schema that is noise": _notes(b"ARROW:schema", b"A" * 999),
}


def write_lying(path: Path, name: str) -> None:
    """Write a Parquet file that lies about one thing."""
    pq.write_table(people(), path)
    edit_footer(path, LIES[name])


def write_huge_footer(path: Path) -> None:
    """Write a Parquet file whose footer would be 4 GB."""
    pq.write_table(people(), path)
    raw = path.read_bytes()
    path.write_bytes(raw[:-8] + struct.pack("<I", (1 << 32) - 1) + _MAGIC)


def write_cut(path: Path) -> None:
    """Write the first half of a Parquet file and its end."""
    pq.write_table(people(), path)
    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) // 4] + raw[len(raw) // 2 :])


def write_rle_bomb(path: Path, n_rows: int) -> None:
    """Write a small Parquet file of very many rows that are all alike."""
    step = min(n_rows, 1 << 22)
    piece = pa.table({"age": pa.repeat(7, step), "sex": pa.repeat("f", step)})
    with pq.ParquetWriter(path, piece.schema, compression="zstd") as writer:
        for _ in range(n_rows // step):
            writer.write_table(piece, row_group_size=step)


def write_columns(path: Path, n_columns: int) -> None:
    """Write a Parquet file of one row and very many columns."""
    names = ["age", "sex", *(f"c{i}" for i in range(n_columns - 2))]
    arrays = [pa.array([1]), pa.array(["f"]), *[pa.array([1])] * (n_columns - 2)]
    pq.write_table(pa.table(arrays, names=names), path, write_statistics=False)


def _replaced(path: Path, old: bytes, new: bytes) -> None:
    raw = path.read_bytes()
    if old not in raw:
        raise SystemExit(f"{path.name} has not the bytes to lie about")
    path.write_bytes(raw.replace(old, new))


def _write_ipc(path: Path, table: pa.Table) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as out:
        out.write_table(table)


def ipc_rows(path: Path) -> None:
    """Claim 2^40 rows in an Arrow file."""
    _write_ipc(path, people(497))
    _replaced(path, struct.pack("<q", 497), struct.pack("<q", 1 << 40))


def ipc_offsets(path: Path) -> None:
    """Let offsets of text point out of its buffer."""
    table = pa.table({"age": [1, 2, 3] * 40, "sex": ["fff", "mm", "o"] * 40})
    _write_ipc(path, table)
    first = struct.pack("<iiii", 0, 3, 5, 6)
    _replaced(path, first, struct.pack("<iiii", 0, 1 << 30, -7, 1 << 29))


def ipc_codes(path: Path) -> None:
    """Let dictionary codes point out of the dictionary."""
    codes = pa.array([0, 1, 1, 0] * 30, pa.int32())
    coded = pa.DictionaryArray.from_arrays(codes, ["f", "m"])
    _write_ipc(path, pa.table({"age": [1, 2, 3, 4] * 30, "sex": coded}))
    _replaced(
        path, struct.pack("<4i", 0, 1, 1, 0), struct.pack("<4i", 0, 1 << 28, 9, -5)
    )


def ipc_footer(path: Path) -> None:
    """Claim a footer of 2 GB."""
    _write_ipc(path, people())
    raw = path.read_bytes()
    path.write_bytes(raw[:-10] + struct.pack("<i", (1 << 31) - 1) + raw[-6:])


def ipc_message(path: Path) -> None:
    """Claim a message of 2 GB in an Arrow stream."""
    table = people()
    with (
        pa.OSFile(str(path), "wb") as file,
        pa.ipc.new_stream(file, table.schema) as out,
    ):
        out.write_table(table)
    raw = path.read_bytes()
    path.write_bytes(raw[:4] + struct.pack("<i", (1 << 31) - 8) + raw[8:])
