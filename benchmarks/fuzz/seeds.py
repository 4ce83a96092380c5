"""What readers are given first, and how texts that have a form are varied."""

import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from benchmarks.fuzz.commands import make_files, run_here
from benchmarks.fuzz.mutations import draw_spec

SUFFIXES = (
    *(".csv", ".parquet", ".arrow", ".toml", ".tree.csv", ".tree.json", ".tree.toml"),
    *(".manifest.json", ".labels", ".streamed.csv", ".streamed.csv.gz", ".counts"),
    *(".streamed.parquet", ".pem"),
)
_CSV = (
    'a,b\n1,"x, ""y"""\n2,\n',
    "\ufeffa;b\r\n1;2\r\n",
    'a,b\n007,=1+1\n\'=2,"two\nlines"\n',
    "a\n2020-01-01\n\n1e3\n",
)
_TREES = (
    ("tree.csv", 'a,"b, c",*\n"d",e,*\n'),
    ("tree.csv", "1;1-5;*\n2;1-5;*\n7;6-9;*\n"),
    ("tree.json", '{"*": {"beast": ["cat", "dog"], "bird": {"small": ["hen"]}}}'),
    (
        "tree.json",
        '{"root_nid": "0", "nodes": {"0": ["*", null, null, ["1"]], '
        '"1": ["cat", "0", null, []]}}',
    ),
    ("tree.toml", '["*"]\nbeast = ["cat", "dog"]\n'),
    ("tree.toml", '["*".beast]\nsmall = ["cat"]\n["*".bird]\nlarge = ["owl", 1, 2.5]'),
)
_SPECS = (
    ["--numbers", "bounds", "--categories", "set"],
    ["--numbers", "struct", "--hierarchy", "pet=tree.csv"],
    ["--numbers", "mean", "--suppress", "10%", "--suppressed", "blank"],
    ["--policy", "paper"],
    ["--model", "t-closeness:0.5:illness", "--nice"],
)
_LABELS = (
    *("[1, 2]", "[-5, -2.5]", "[1e3, 1e300]", "(1, 2]", "1", "-0.0", "1e-9", "nan"),
    *("[2020-01-01, 2021-02-03]", "2020-01-01", "[2020-01-01 00:00:00, 2020-01-02]"),
    *("{a, b}", '{"a, b", c}', "{}", "{1, 2.5}", "*", "beast", "a, b", "true", "inf"),
    *("[1.10, 2.20]", "9" * 25, "[0, 18446744073709551615]", "missing", "'=1", ""),
)
_ENDS = ("0", "-1", "1.5", "2020-01-01", "a", "1e400", "9" * 20, "nan", "", "*", '"')


def write_seeds(corpus: Path) -> None:
    """Write of every reader files that it takes, or nearly."""
    corpus.mkdir()
    for number, (suffix, content) in enumerate(_seeds()):
        place = SUFFIXES.index(suffix)
        (corpus / f"seed{number}").write_bytes(bytes([place]) + content)


def _seeds() -> Iterator[tuple[str, bytes]]:
    with tempfile.TemporaryDirectory() as name:
        base = Path(name) / "base"
        make_files(base)
        yield from _files(base)
        yield from _releases(base)
    random = Random(1)  # noqa: S311
    for _ in range(20):
        yield ".toml", draw_spec(random).encode()
        yield ".labels", draw_labels(random).encode()
    for text in _CSV:
        yield ".csv", text.encode()
        yield ".streamed.csv", text.encode()
    for file, text in _TREES:
        yield f".{file}", text.encode()


def _files(base: Path) -> Iterator[tuple[str, bytes]]:
    for suffix in (".csv", ".parquet", ".arrow"):
        yield suffix, (base / f"table{suffix}").read_bytes()
    typed = _typed()
    pa.parquet.write_table(typed, base / "typed.parquet", compression="none")
    pa.feather.write_feather(typed, str(base / "typed.arrow"), "uncompressed")
    yield ".parquet", (base / "typed.parquet").read_bytes()
    yield ".arrow", (base / "typed.arrow").read_bytes()
    for file in ("table.parquet", "typed.parquet"):
        yield ".streamed.parquet", (base / file).read_bytes()
    yield ".streamed.csv", (base / "table.csv").read_bytes()
    with pa.CompressedOutputStream(str(base / "some.gz"), "gzip") as stream:
        stream.write((base / "table.csv").read_bytes())
    yield ".streamed.csv.gz", (base / "some.gz").read_bytes()
    yield ".toml", (base / "spec.toml").read_bytes()
    yield ".tree.csv", (base / "tree.csv").read_bytes()
    yield ".tree.json", (base / "tree.json").read_bytes()
    for key in ("key.pem", "key.pem.pub"):
        if (base / key).exists():
            yield ".pem", (base / key).read_bytes()


def _releases(base: Path) -> Iterator[tuple[str, bytes]]:
    """Yield manifests of several kinds of releases, and counts."""
    yield ".manifest.json", (base / "release.csv.manifest.json").read_bytes()
    asked = ["--qid", "age", "--qid", "pet", "--k", "2", "--identifier", "name"]
    for number, more in enumerate(_SPECS):
        target = f"out{number}.parquet"
        run_here(["anonymize", "table.csv", target, *asked, *more], base)
        manifest = base / f"{target}.manifest.json"
        if manifest.exists():
            yield ".manifest.json", manifest.read_bytes()
    run_here(["anonymize", "table.csv", "x.csv", *asked, "--save-counts", "all"], base)
    yield ".counts", (base / "all").read_bytes()


def _typed() -> pa.Table:
    """Return a column of every type that readers meet."""
    codes = pa.array(["a", "b", None]).dictionary_encode()
    now = datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)
    return pa.table(
        {
            "whole": pa.array([1, -2, None], pa.int8()),
            "large": pa.array([2**64 - 1, 0, None], pa.uint64()),
            "float": [0.5, float("nan"), None],
            "decimal": pa.array([Decimal("1.10"), None, Decimal("-2.20")]),
            "day": [date(2020, 1, 1), None, date(1600, 2, 29)],
            "moment": pa.array([now, None, now], pa.timestamp("ns", "UTC")),
            "flag": [True, None, False],
            "codes": codes,
            "bytes": [b"\x00", None, b"\xff"],
            "list": [[1], None, []],
            "struct": [{"low": 1, "high": 2}, None, {"low": None, "high": 3}],
            "nothing": pa.nulls(3),
        }
    )


def draw_labels(random: Random) -> str:
    """Return cells of a released column, one a line."""
    cells = [random.choice(_LABELS) for _ in range(random.randint(1, 6))]
    for _ in range(random.randint(0, 3)):
        ends = [random.choice(_ENDS) for _ in range(random.randint(1, 3))]
        left, right = random.choice(("[]", "{}", "()", "[)", "  "))
        cells.append(left + random.choice((", ", ",", "; ")).join(ends) + right)
    random.shuffle(cells)
    return "\n".join(cells)


def draw_tree(random: Random) -> str:
    """Return a hierarchy as TOML."""
    lines, n_groups = [], random.randint(1, 4)
    for group in range(n_groups):
        path = ".".join(random.choice(('"*"', "a", "b", '"1"')) for _ in range(2))
        lines.append(random.choice(('["*"]', f"[{path}]", f'["*".g{group}]')))
        values = ", ".join(
            random.choice(('"cat"', '"dog"', "1", "2.5", "true", "[]", '"*"', "{a=1}"))
            for _ in range(random.randint(0, 4))
        )
        lines.append(f"g{group} = [{values}]")
    return "\n".join(lines)


_DRAWS: dict[str, Callable[[Random], str]] = {
    ".toml": draw_spec,
    ".labels": draw_labels,
    ".tree.toml": draw_tree,
}


def vary(data: bytes, random: Random) -> bytes | None:
    """Return another input of the same form; None: its bytes are to be mutated.

    Lines of texts that have a form are exchanged for lines of new ones.
    """
    suffix = SUFFIXES[data[0] % len(SUFFIXES)] if data else ""
    if suffix not in _DRAWS or random.random() < 0.5:
        return None
    lines = data[1:].split(b"\n")
    new = _DRAWS[suffix](random).encode().split(b"\n")
    start = random.randint(0, len(lines))
    stop = random.randint(start, len(lines))
    first = random.randint(0, len(new) - 1)
    last = random.randint(first, len(new))
    return data[:1] + b"\n".join([*lines[:start], *new[first:last], *lines[stop:]])
