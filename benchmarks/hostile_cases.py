"""Inputs made to break something, each with the command that reads it."""

import gzip
import io
import itertools
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa

from benchmarks import hostile_parquet as lies

Make = Callable[[Path, int], list[str]]
"""Writes files of about a size into a folder; returns the words of the command."""
_ASKED = ["--qid", "age", "--qid", "sex", "--k", "2", "--no-measures"]
_CHUNK = 1 << 24


@dataclass(frozen=True)
class Case:
    """One hostile input."""

    make: Make
    full: int
    """Its size in earnest: bytes, columns, rows or levels."""
    small: int
    """Its size in the tests."""
    codes: tuple[int, ...]
    """How the command may end."""
    message: str = ""
    """What it says, in part, if it fails."""


def _table(path: Path, *more: str) -> list[str]:
    return ["anonymize", path.name, "out.csv", *_ASKED, *more]


def _write(path: Path, pieces: Iterable[bytes]) -> None:
    is_zipped = path.suffix == ".gz"
    with gzip.open(path, "wb", 1) if is_zipped else path.open("wb") as file:
        for piece in pieces:
            file.write(piece)


def _repeated(piece: bytes, size: int) -> Iterable[bytes]:
    block = piece * max(1, min(size, _CHUNK) // len(piece))
    for _ in range(max(1, size // len(block))):
        yield block


def _csv(
    folder: Path, size: int, *, start: bytes, piece: bytes, name: str, more: list[str]
) -> list[str]:
    path = folder / name
    _write(path, itertools.chain([start], _repeated(piece, size)))
    return _table(path, *more)


def _long(
    start: bytes, piece: bytes = b"x", name: str = "in.csv", *more: str
) -> Callable[[Path, int], list[str]]:
    return partial(_csv, start=start, piece=piece, name=name, more=list(more))


def _zstd_line(folder: Path, size: int) -> list[str]:
    path = folder / "in.csv.zst"
    with pa.CompressedOutputStream(str(path), "zstd") as stream:
        stream.write(b"age,sex\n")
        for piece in _repeated(b"x", size):
            stream.write(piece)
    return _table(path)


def _columns(folder: Path, size: int, *, more: list[str]) -> list[str]:
    path = folder / "in.csv"
    names = ",".join(["age", "sex", *(f"{i:x}" for i in range(size - 2))])
    row = f"{'1,' * (size - 1)}1\n"
    path.write_text(f"{names}\n{row * 4}")
    return _table(path, *more)


def _parquet_columns(folder: Path, size: int) -> list[str]:
    lies.write_columns(folder / "in.parquet", size)
    return _table(folder / "in.parquet")


def _rle(folder: Path, size: int, *, more: list[str]) -> list[str]:
    lies.write_rle_bomb(folder / "in.parquet", size)
    return _table(folder / "in.parquet", *more)


def _file(write: Callable[[Path], None], name: str, *more: str) -> Make:
    def make(folder: Path, _size: int) -> list[str]:
        write(folder / name)
        return _table(folder / name, *more)

    return make


def _spec(text: Callable[[int], str]) -> Make:
    def make(folder: Path, size: int) -> list[str]:
        _people(folder)
        head = 'quasi_identifiers = ["age", "sex"]\nk = 2\n'
        (folder / "spec.toml").write_text(head + text(size))
        return ["anonymize", "in.csv", "out.csv", "--spec", "spec.toml"]

    return make


def _people(folder: Path) -> None:
    rows = (f"{20 + i % 30},{'fm'[i % 2]}\n" for i in range(200))
    (folder / "in.csv").write_text("age,sex\n" + "".join(rows))


def _hierarchy(name: str, text: Callable[[int], str]) -> Make:
    def make(folder: Path, size: int) -> list[str]:
        _people(folder)
        (folder / name).write_text(text(size))
        asked = [*_ASKED, "--hierarchy", f"sex={name}"]
        return ["anonymize", "in.csv", "out.csv", *asked]

    return make


def _deep_csv(levels: int) -> str:
    over = ";".join(f"g{i}" for i in range(levels))
    return f"f;{over};*\nm;{over};*\n"


def _deep_json(levels: int) -> str:
    return '{"*":' + '{"g":' * levels + '["f","m"]' + "}" * (levels + 1)


def _deep_toml(levels: int) -> str:
    return f'["*".{".".join(["g"] * levels)}]\nh = ["f", "m"]\n'


def _laughs(levels: int) -> str:
    """Return nodes of which each is ten times a child of the one before."""
    nodes = {
        str(i): [f"n{i}", str(i - 1), None, [str(i + 1)] * 10] for i in range(levels)
    }
    nodes["0"][1] = None
    nodes[str(levels)] = ["f", str(levels - 1), None, []]
    return json.dumps({"root_nid": "0", "nodes": nodes})


def _names(folder: Path, _size: int) -> list[str]:
    text = io.StringIO()
    names = HOSTILE_NAMES
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    text.write(",".join(quoted) + "\n")
    for i in range(60):
        cells = [f'"{HOSTILE_CELLS[(i + j) % 3]}"' for j in range(len(names))]
        text.write(",".join(cells) + "\n")
    (folder / "in.csv").write_text(text.getvalue(), newline="")
    asked = [word for name in names[:3] for word in ("--qid", name)]
    return [
        *("anonymize", "in.csv", "out.csv", *asked, "--k", "2"),
        *("--report", "out.html", "--guard-formulas"),
    ]


HOSTILE_NAMES = (
    "=HYPERLINK('http://x.invalid','a')",
    "<script>document.title='run'</script>",
    "\x1b]0;title\x07\x1b[2J\x1b[31m",
    "[red]markup[/red] [link=http://x.invalid]x[/link]",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    '"><img src=x onerror="document.title=\'run\'">',
    "{{ 7 * 7 }}",
    "\u202ereversed",
    " ",
    "n" * 5_000,
)
HOSTILE_CELLS = ("=1+1", "<b>bold</b><script>document.title='run'</script>", "+41 22")


CASES: dict[str, Case] = {
    "CSV: a line of 1 GB": Case(_long(b"age,sex\n"), 1 << 30, 20 << 20, (3,), "MiB"),
    "CSV: a line of 1 GB, streamed": Case(
        _long(b"age,sex\n", b"x", "in.csv", "--stream"), 1 << 30, 9 << 20, (3,), "MiB"
    ),
    "CSV: a header of 1 GB": Case(_long(b""), 1 << 30, 9 << 20, (3,), "header"),
    "CSV: a quote that never ends, 1 GB": Case(
        _long(b'age,sex\n1,"', b"x\n"), 1 << 30, 9 << 20, (3,), "quote"
    ),
    "CSV: 1 GB of empty lines": Case(
        _long(b"age,sex\n", b"\n"), 1 << 30, 9 << 20, (4,), "0 rows"
    ),
    "CSV: 1,000,000 columns": Case(
        partial(_columns, more=[]), 1_000_000, 11_000, (3,), "columns"
    ),
    "CSV: 1,000,000 columns, streamed": Case(
        partial(_columns, more=["--stream"]), 1_000_000, 11_000, (3,), "columns"
    ),
    "CSV: 10,000 columns": Case(partial(_columns, more=[]), 10_000, 300, (0,)),
    "gzip: 4 GB that are one line": Case(
        _long(b"age,sex\n", b"x", "in.csv.gz"), 1 << 32, 20 << 20, (3,), "MiB"
    ),
    "zstd: 4 GB that are one line": Case(_zstd_line, 1 << 32, 20 << 20, (3,), "MiB"),
    "gzip: 2 GB of rows, --memory 1GB": Case(
        _long(
            *(b"age,sex,note\n", b"33,f," + b"a" * 4000 + b"\n", "in.csv.gz"),
            *("--memory", "1GB"),
        ),
        *(1 << 31, 9 << 20, (0, 7)),
    ),
    "Parquet: 100,000 columns": Case(
        _parquet_columns, 100_000, 11_000, (3,), "columns"
    ),
    "Parquet: 268 million equal rows in 2 MB": Case(
        partial(_rle, more=["--memory", "1GB"]), 1 << 28, 1 << 18, (0, 7)
    ),
    **{
        f"Parquet: {name}": Case(
            _file(partial(lies.write_lying, name=name), "in.parquet"), 1, 1, (0, 3)
        )
        for name in lies.LIES
    },
    "Parquet: a footer of 4 GB": Case(
        _file(lies.write_huge_footer, "in.parquet"), 1, 1, (3,), "damaged"
    ),
    "Parquet: a piece cut out": Case(
        _file(lies.write_cut, "in.parquet"), 1, 1, (3,), "damaged"
    ),
    "Arrow: 2^40 rows claimed": Case(_file(lies.ipc_rows, "in.arrow"), 1, 1, (3,)),
    "Arrow: offsets out of the text": Case(
        _file(lies.ipc_offsets, "in.arrow"), 1, 1, (3,)
    ),
    "Arrow: codes out of the dictionary": Case(
        _file(lies.ipc_codes, "in.arrow"), 1, 1, (3,)
    ),
    "Arrow: a footer of 2 GB": Case(_file(lies.ipc_footer, "in.arrow"), 1, 1, (3,)),
    "Arrow: a message of 2 GB": Case(_file(lies.ipc_message, "in.arrow"), 1, 1, (3,)),
    "spec: arrays 10,000 deep": Case(
        _spec(lambda n: f"exclude = {'[' * n}{']' * n}\n"), 10_000, 10_000, (2,), "deep"
    ),
    "spec: tables 10,000 deep": Case(
        _spec(lambda n: f"[best.{'.'.join(['a'] * n)}]\nb = 1\n"),
        *(10_000, 10_000, (2,), "too many parts"),
    ),
    "spec: a key of 10,000 parts": Case(
        _spec(lambda n: f"{'.'.join(['a'] * n)} = 1\n"),
        10_000,
        10_000,
        (2,),
        "too many",
    ),
    "spec: a number of 10,000 digits": Case(
        _spec(lambda n: f"seed = {'9' * n}\n"), 10_000, 10_000, (2,), "digits"
    ),
    "spec: k of 300 digits": Case(
        _spec(lambda n: f"[[models]]\nname = 'k-anonymity'\nk = {'9' * n}\n"),
        *(300, 300, (2, 4)),
    ),
    "hierarchy: CSV 10,000 deep": Case(
        _hierarchy("tree.csv", _deep_csv), 10_000, 10_000, (0,)
    ),
    "hierarchy: JSON 10,000 deep": Case(
        _hierarchy("tree.json", _deep_json), 10_000, 10_000, (3,), "deep"
    ),
    "hierarchy: JSON 900 deep": Case(
        _hierarchy("tree.json", _deep_json), 900, 900, (0, 3)
    ),
    "hierarchy: TOML 10,000 deep": Case(
        _hierarchy("tree.toml", _deep_toml), 10_000, 10_000, (3,), "deep"
    ),
    "hierarchy: each node ten times the child of one": Case(
        _hierarchy("tree.json", _laughs), 100, 100, (3,), "two parents"
    ),
    "hierarchy: a label twice": Case(
        _hierarchy("tree.json", lambda _: '{"*": {"a": ["f"], "a": ["m"]}}'),
        *(1, 1, (3,), "twice"),
    ),
    "hierarchy: NaN and Infinity": Case(
        _hierarchy("tree.json", lambda _: '{"*": {"a": [NaN, Infinity, "f", "m"]}}'),
        *(1, 1, (0, 3)),
    ),
    "hierarchy: a number of 10,000 digits": Case(
        _hierarchy("tree.json", lambda n: f'{{"*": [{"9" * n}]}}'),
        *(10_000, 10_000, (3,), "digits"),
    ),
    "hierarchy: ranges of 10^-9": Case(
        _spec(lambda _: "[hierarchies]\nage = {kind = 'ranges', widths = [1e-9]}\n"),
        *(1, 1, (0, 2, 3)),
    ),
    "hierarchy: 10,000 levels of prefixes": Case(
        _spec(
            lambda n: f"[hierarchies]\nsex = {{kind = 'prefix', steps = {[1] * n}}}\n"
        ),
        *(10_000, 10_000, (0, 2, 3)),
    ),
    "names: formulas, HTML, escapes, markup": Case(_names, 1, 1, (0,)),
}
