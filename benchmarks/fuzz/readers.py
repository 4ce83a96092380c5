"""Bytes into everything that reads a file or a released label, guided by coverage.

Needs atheris (`pip install -e '.[fuzz]'`). A find is told by the place in the source;
the same seed finds it again.
"""

import importlib.util
import itertools
import math
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.fuzz.seeds import SUFFIXES, vary, write_seeds
from benchmarks.lines import emit, say

_MEGABYTES = 4096
_PAST_PYTHON = "RuntimeError: Unable to convert call argument"


def run_readers(seconds: int, corpus: Path | None = None) -> int:
    """Fuzz for so long, in processes of their own; return 1 if something was found.

    ``corpus`` keeps what reached something new, for the next run to go on from, and
    the bytes of a find. Where Arrow itself gives up, which would end any process
    and cannot be caught, that is counted, and the next run goes on.
    """
    if importlib.util.find_spec("atheris") is None:
        say("readers: skipped, there is no atheris here: pip install -e '.[fuzz]'")
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_seeds(folder / "seeds")
        kept = corpus or folder / "kept"
        inputs, finds = kept / "inputs", kept / "finds"
        for place in (inputs, finds):
            place.mkdir(parents=True, exist_ok=True)
        known, runs, n_aborted = set(finds.iterdir()), [], 0
        for one in _runs(seconds, [inputs, folder / "seeds"], finds):
            runs.append(one)
            if _is_arrows(one[0]):
                n_aborted += 1
                known |= set(finds.iterdir())
        found = sorted(path.name.split("-")[0] for path in {*finds.iterdir()} - known)
        n_inputs = len(list(inputs.iterdir()))
    told, code = runs[-1]
    failed = code != 0 and not _is_arrows(told)
    if failed:
        # The place of a fault, without the bytes that made it.
        say("\n".join(line for line in told if line.startswith('  File "')))
    emit(
        {
            "fuzz": "readers",
            "seconds": seconds,
            **summary([told for told, _ in runs]),
            "inputs": n_inputs,
            "aborts of arrow": n_aborted,
            "finds": found,
            "exit code": code,
        }
    )
    return 1 if found or failed else 0


def _runs(
    seconds: int, inputs: list[Path], finds: Path
) -> Iterator[tuple[list[str], int]]:
    """Fuzz until the time is over or something is found; yield what each run told."""
    last = time.monotonic() + seconds
    for seed in itertools.count(1):
        left = max(1, math.ceil(last - time.monotonic()))
        options = [f"-max_total_time={left}", f"-rss_limit_mb={_MEGABYTES}"]
        options += ["-timeout=20", f"-seed={seed}", "-max_len=65536"]
        options += [f"-artifact_prefix={finds}/"]
        done = subprocess.run(
            [
                *(sys.executable, "-m", "benchmarks.fuzz.readers"),
                *(*map(str, inputs), *options),
            ],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        told = [*done.stdout.splitlines(), *done.stderr.splitlines()]
        yield told, done.returncode
        if not _is_arrows(told) or time.monotonic() > last - 1:
            return


def _is_arrows(told: list[str]) -> bool:
    """Tell whether an exception inside Arrow's own code went past Python.

    The fuzzer catches it, and any other process is ended by it.
    """
    return any(line.startswith(_PAST_PYTHON) for line in told)


def summary(runs: list[list[str]]) -> dict[str, int | None]:
    """Return from what libFuzzer prints how far it came, and when last any further."""
    steps = []
    before = 0
    for told in runs:
        lines = [re.match(r"#(\d+)\s+(\w+)\s+cov: (\d+)", text) for text in told]
        found = [(before + int(x[1]), x[2], int(x[3])) for x in lines if x is not None]
        before = found[-1][0] if found else before
        steps += found
    if not steps:
        return {"tries": None, "coverage": None}
    most = max(covered for _, _, covered in steps)
    first = [covered for _, word, covered in steps if word == "INITED"]
    return {
        "tries": steps[-1][0],
        "coverage of the first inputs": first[0] if first else None,
        "coverage": most,
        "last grew at try": next(n for n, _, covered in steps if covered == most),
    }


def read(number: int, content: bytes, folder: Path) -> bool:
    """Give bytes to one of the readers, as a file; tell whether it took them.

    A refusal in words is welcome; any other error is a find, and raised.
    """
    from core_mondrian.errors import InternalError, MondrianError

    suffix = SUFFIXES[number % len(SUFFIXES)]
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
    from core_mondrian.tables.files.read import read_table

    read_table(path)


def _read_csv(path: Path) -> None:
    from core_mondrian.tables.files.read import read_table

    read_table(path)
    read_table(path, infer=False, guarded=True)


def _read_stream(path: Path) -> None:
    """Read a table batch by batch, as the second pass does."""
    from core_mondrian.sources.files.batches import Wanted, read_batches
    from core_mondrian.sources.files.source import open_source
    from core_mondrian.sources.memory import Sizes

    source = open_source(path)
    names = tuple(source.schema.names)
    wanted = Wanted(names, coded=names[:1])
    for batch in read_batches(source, wanted, Sizes(rows=16, text=1 << 10)):
        batch.load()


def _read_counts(path: Path) -> None:
    from core_mondrian.sources.files.counting import arrange, load_counts

    counts = load_counts(path)
    arrange(counts, counts.columns[::-1])


def _read_key(path: Path) -> None:
    from core_mondrian.errors import SpecError
    from core_mondrian.release.signatures import read_public_key, read_signer

    try:
        read_signer(path)
    except SpecError:
        read_public_key(path)


def _read_spec(path: Path) -> None:
    from core_mondrian.spec.toml_file import load_spec

    load_spec(path)


def _read_tree(path: Path) -> None:
    from core_mondrian.hierarchies.read import read_hierarchy

    read_hierarchy(path)


def _read_manifest(path: Path) -> None:
    from core_mondrian.release.manifests import read_manifest

    read_manifest(path)


def _read_labels(path: Path) -> None:
    """Read lines as the cells of a released column."""
    import narwhals as nw
    import pyarrow as pa

    from core_mondrian.release.released_classes import read_classes

    texts = path.read_bytes().decode("utf-8", "replace").split("\n")
    cells = [text or None for text in texts]
    frame = nw.from_native(pa.table({"q": pa.array(cells, pa.string())}))
    shown = read_classes(frame, {"q": ("q",)})
    shown.table()
    next(shown.digests(), None)


_READERS: dict[str, Callable[[Path], Any]] = {
    ".csv": _read_csv,
    **dict.fromkeys((".parquet", ".arrow"), _read_table),
    ".toml": _read_spec,
    **dict.fromkeys((".tree.csv", ".tree.json", ".tree.toml"), _read_tree),
    ".manifest.json": _read_manifest,
    ".labels": _read_labels,
    **dict.fromkeys(
        (".streamed.csv", ".streamed.csv.gz", ".streamed.parquet"), _read_stream
    ),
    ".counts": _read_counts,
    ".pem": _read_key,
}


def _fuzz() -> None:
    import atheris

    # What is compiled cannot be instrumented, and is loaded before.

    with atheris.instrument_imports(include=["core_mondrian"]):
        pass
    folder = Path(tempfile.mkdtemp())

    def test_one(data: bytes) -> None:
        if data:
            read(data[0], data[1:], folder)

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        varied = vary(data, Random(seed))  # noqa: S311
        if varied is None or len(varied) > most:
            mutated: bytes = atheris.Mutate(data, most)
            return mutated
        return varied

    atheris.Setup(sys.argv, test_one, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    _fuzz()
