"""The tables, by name. Made once, into out/bench/ under the repository's root.

    python -m benchmarks.cases [NAME ...]    make the files of these cases

Nothing heavy is imported before a file has to be made: a child process inherits the
peak memory of the process that starts it.
"""

import argparse
import hashlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.lines import say
from core_mondrian.datasets import ADULT_SETS, CENSUS_QUASI_IDENTIFIERS

if TYPE_CHECKING:
    import pyarrow as pa

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / "out" / "bench"
ADULT_VARIABLE = "CORE_MONDRIAN_ADULT"

ADULT_4, ADULT_6, ADULT_8, ADULT_NUMERIC = ADULT_SETS.values()
ADULT_10 = (*ADULT_8, "race", "education")

CENSUS_6 = CENSUS_QUASI_IDENTIFIERS
CENSUS_8 = (*CENSUS_6, "hours_per_week", "capital_gain")
DISTINCT_6 = ("age", "marital_status", "occupation", "sex", "first", "second")


@dataclass(frozen=True, slots=True)
class Case:
    """One table and what is asked of it."""

    name: str
    source: str
    """A key of ``SOURCES``."""
    quasi_identifiers: tuple[str, ...]
    repeats: int
    """Warm runs, of which the median counts."""
    k: int = 5


@dataclass(frozen=True, slots=True)
class Source:
    """One file, and what makes it, piece by piece."""

    rows: int
    batches: Callable[[int], Iterator["pa.RecordBatch"]]


def _adult(_rows: int) -> Iterator["pa.RecordBatch"]:
    from core_mondrian.datasets import adult

    yield from adult(adult_folder()).to_batches()


def _census(rows: int) -> Iterator["pa.RecordBatch"]:
    from core_mondrian.datasets import census_batches

    return census_batches(rows)


def _distinct(rows: int) -> Iterator["pa.RecordBatch"]:
    """Add two columns of floats of which no two rows share one."""
    import pyarrow as pa

    start = 0
    for batch in _census(rows):
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        stop = start + batch.num_rows
        columns["first"] = pa.array(_distinct_floats(start, stop, 0x2545F4914F6CDD))
        columns["second"] = pa.array(_distinct_floats(start, stop, 0x1D8E4E27C47D12F))
        start = stop
        yield pa.RecordBatch.from_pydict(columns)


def _distinct_floats(start: int, stop: int, factor: int) -> Any:
    """Hash row numbers to [0, 1): each step is a bijection on 53 bits."""
    import numpy as np

    mask = np.uint64((1 << 53) - 1)
    words = np.arange(start + 1, stop + 1, dtype=np.uint64)
    for _ in range(2):
        words = (words * np.uint64(factor | 1)) & mask
        words ^= words >> np.uint64(27)
    return words.astype(np.float64) / float(1 << 53)


SOURCES = {
    "adult": Source(48_842, _adult),
    "census_100k": Source(100_000, _census),
    "census_1m": Source(1_000_000, _census),
    "census_10m": Source(10_000_000, _census),
    "distinct_1m": Source(1_000_000, _distinct),
}

CASES = {
    case.name: case
    for case in (
        Case("adult", "adult", ADULT_6, repeats=5),
        Case("adult_4", "adult", ADULT_4, repeats=5),
        Case("adult_8", "adult", ADULT_8, repeats=5),
        Case("adult_numeric", "adult", ADULT_NUMERIC, repeats=5),
        Case("census_100k_6", "census_100k", CENSUS_6, repeats=5),
        Case("census_1m_6", "census_1m", CENSUS_6, repeats=3),
        Case("census_1m_8", "census_1m", CENSUS_8, repeats=3),
        Case("distinct", "distinct_1m", DISTINCT_6, repeats=3),
        Case("census_10m_6", "census_10m", CENSUS_6, repeats=3),
        Case("census_10m_8", "census_10m", CENSUS_8, repeats=3),
    )
}
QUICK = ("adult", "adult_numeric", "census_100k_6")


def adult_folder() -> Path | None:
    """Return the folder of UCI Adult's files, or None and a word on stderr.

    It is the one that is named, or else ``out/adult``.
    """
    folder = Path(os.environ.get(ADULT_VARIABLE) or ROOT / "out" / "adult")
    if (folder / "adult.data").is_file():
        return folder
    say(f"Adult is skipped: {folder} has no adult.data")
    say(f"put UCI's adult.data and adult.test there, or set {ADULT_VARIABLE}=FOLDER")
    return None


def file_of(source: str) -> Path | None:
    """Return a source's file, made by another process if need be; None: no Adult."""
    if source == "adult" and adult_folder() is None:
        return None
    path = _place(source)
    if not path.exists():
        say(f"making {source}")
        command = [sys.executable, "-m", "benchmarks.cases", "--source", source]
        subprocess.run(command, cwd=ROOT, check=True)
    return path


def _place(source: str) -> Path:
    """Name the file after what makes it, so that no outdated one is taken."""
    maker = importlib.util.find_spec("core_mondrian.datasets")
    if maker is None or maker.origin is None:
        raise SystemExit("core_mondrian is not installed here: make test")
    digest = hashlib.sha256(Path(maker.origin).read_bytes())
    digest.update(Path(__file__).read_bytes())
    return CACHE / f"{source}-{digest.hexdigest()[:8]}.parquet"


def _make(source: str) -> None:
    import pyarrow.parquet as pq

    CACHE.mkdir(parents=True, exist_ok=True)
    path = _place(source)
    draft = path.with_suffix(f".{os.getpid()}.tmp")
    batches = SOURCES[source].batches(SOURCES[source].rows)
    first = next(batches)
    try:
        with pq.ParquetWriter(draft, first.schema) as writer:
            writer.write_batch(first)
            for batch in batches:
                writer.write_batch(batch)
        for outdated in CACHE.glob(f"{source}-*.parquet"):
            outdated.unlink()
        draft.rename(path)
    finally:
        draft.unlink(missing_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the benchmarks' tables.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="cases; default: all")
    parser.add_argument("--source", choices=SOURCES, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    unknown = sorted(set(asked.names) - set(CASES))
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(CASES)}")
    if asked.source:
        _make(asked.source)
        return
    for name in asked.names or CASES:
        file_of(CASES[name].source)


if __name__ == "__main__":
    main()
