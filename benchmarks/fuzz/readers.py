"""Bytes into everything that reads a file or a released label, guided by coverage.

Needs atheris (`pip install -e '.[fuzz]'`). A find is told by the place in the source;
the same seed finds it again.
"""

import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.fuzz.commands import make_files
from benchmarks.lines import emit, say

_SUFFIXES = (
    *(".csv", ".parquet", ".arrow", ".toml", ".tree.csv", ".tree.json", ".tree.toml"),
    *(".manifest.json", ".labels"),
)
_MEGABYTES = 4096


def run_readers(seconds: int) -> int:
    """Fuzz for so long, in a process of its own; return 1 if something was found."""
    if importlib.util.find_spec("atheris") is None:
        say("readers: skipped, there is no atheris here: pip install -e '.[fuzz]'")
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus = folder / "corpus"
        make_corpus(corpus)
        options = [f"-max_total_time={seconds}", f"-rss_limit_mb={_MEGABYTES}"]
        options += ["-timeout=20", "-seed=1", "-max_len=65536"]
        options += [f"-artifact_prefix={folder}/find-"]
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.fuzz.readers", str(corpus), *options],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        told = [*done.stdout.splitlines(), *done.stderr.splitlines()]
        tries = [line for line in told if "DONE" in line]
        found = sorted(path.name.split("-")[1] for path in folder.glob("find-*"))
        if done.returncode:
            # The place of a fault, without the bytes that made it.
            say("\n".join(line for line in told if line.startswith('  File "')))
    emit(
        {
            "fuzz": "readers",
            "seconds": seconds,
            "tries": int(tries[-1].split()[0].lstrip("#")) if tries else None,
            "finds": found,
            "exit code": done.returncode,
        }
    )
    return 1 if found or done.returncode else 0


def make_corpus(corpus: Path) -> None:
    """Write what is mutated first: of every reader a file it takes."""
    corpus.mkdir()
    with tempfile.TemporaryDirectory() as name:
        base = Path(name) / "base"
        make_files(base)
        contents = [
            *("table.csv", "table.parquet", "table.arrow", "spec.toml", "tree.csv"),
            *("tree.json", None, "release.csv.manifest.json", None),
        ]
        given = {6: b'["*"]\nbeast = ["cat", "dog"]\n', 8: b"[1, 2]\n{a, b}\n*\n\n3.5"}
        for number, file in enumerate(contents):
            content = given[number] if file is None else (base / file).read_bytes()
            (corpus / f"seed{number}").write_bytes(bytes([number]) + content)


def read(number: int, content: bytes, folder: Path) -> bool:
    """Give bytes to one of the readers, as a file; tell whether it took them.

    A refusal in words is welcome; any other error is a find, and raised.
    """
    from core_mondrian.errors import InternalError, MondrianError

    suffix = _SUFFIXES[number % len(_SUFFIXES)]
    path = folder / f"file{suffix}"
    path.write_bytes(content)
    try:
        _READERS[suffix](path)
    except InternalError:
        raise
    except MondrianError:
        return False
    return True


def _read_table(path: Path) -> None:
    from core_mondrian.files.read import read_table

    read_table(path)


def _read_spec(path: Path) -> None:
    from core_mondrian.spec_file import load_spec

    load_spec(path)


def _read_tree(path: Path) -> None:
    from core_mondrian.hierarchies.read import read_hierarchy

    read_hierarchy(path)


def _read_manifest(path: Path) -> None:
    from core_mondrian.manifests import read_manifest

    read_manifest(path)


def _read_labels(path: Path) -> None:
    """Read lines as the cells of a released column."""
    import narwhals as nw
    import pyarrow as pa

    from core_mondrian.released import read_classes

    texts = path.read_bytes().decode("utf-8", "replace").split("\n")
    cells = [text or None for text in texts]
    frame = nw.from_native(pa.table({"q": pa.array(cells, pa.string())}))
    shown = read_classes(frame, {"q": ("q",)})
    shown.table()
    next(shown.digests(), None)


_READERS: dict[str, Callable[[Path], Any]] = {
    **dict.fromkeys((".csv", ".parquet", ".arrow"), _read_table),
    ".toml": _read_spec,
    **dict.fromkeys((".tree.csv", ".tree.json", ".tree.toml"), _read_tree),
    ".manifest.json": _read_manifest,
    ".labels": _read_labels,
}


def _fuzz() -> None:
    import atheris

    with atheris.instrument_imports(include=["core_mondrian"]):
        import core_mondrian.files.read
        import core_mondrian.hierarchies.read
        import core_mondrian.manifests
        import core_mondrian.released
        import core_mondrian.spec_file  # noqa: F401
    folder = Path(tempfile.mkdtemp())

    def test_one(data: bytes) -> None:
        if data:
            read(data[0], data[1:], folder)

    atheris.Setup(sys.argv, test_one)
    atheris.Fuzz()


if __name__ == "__main__":
    _fuzz()
