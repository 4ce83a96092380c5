"""Random small tables through `core_mondrian.anonymize`, judged by definitions."""

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field, replace
from itertools import islice
from multiprocessing import get_context
from random import Random
from typing import Any

from benchmarks.fuzz.cells import as_library, read_frame
from benchmarks.fuzz.drawing import KEY, Case, draw
from benchmarks.fuzz.judging import find_faults, is_feasible
from benchmarks.lines import say
from core_mondrian import (
    DataError,
    InfeasibleError,
    MondrianError,
    Release,
    SpecError,
    anonymize,
    verify,
)
from core_mondrian.errors import place_of
from core_mondrian.hierarchies.learned import Learned

_DOCUMENTED = (SpecError, DataError, InfeasibleError)
_CHUNK = 500
AGAIN_EVERY = 64
"""One table in so many is released a second time, in another way."""
MEASURED_EVERY = 64
_MOST_TOLD = 50


@dataclass
class Tally:
    """What came of some tables."""

    tables: int = 0
    released: int = 0
    rows: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    by_model: Counter[str] = field(default_factory=Counter)
    by_policy: Counter[str] = field(default_factory=Counter)
    by_library: Counter[str] = field(default_factory=Counter)
    again: int = 0
    measured: int = 0
    finds: list[tuple[int, str]] = field(default_factory=list)
    cpu: float = 0.0

    def add(self, other: "Tally") -> None:
        for name in ("tables", "released", "rows", "again", "measured", "cpu"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("refused", "by_model", "by_policy", "by_library"):
            getattr(self, name).update(getattr(other, name))
        self.finds += other.finds

    def n_finds(self, *kinds: str) -> int:
        return sum(text.startswith(kinds) for _, text in self.finds)

    def to_json(self) -> dict[str, Any]:
        return {
            "tables": self.tables,
            "released": self.released,
            "rows": self.rows,
            "refused": dict(sorted(self.refused.items())),
            "violations": self.n_finds("violation"),
            "lost rows": self.n_finds("lost rows"),
            "crashes": self.n_finds("crash"),
            "other finds": len(self.finds)
            - self.n_finds("violation", "lost rows", "crash"),
            "released again": self.again,
            "measured": self.measured,
            "by model": dict(sorted(self.by_model.items())),
            "by policy": dict(sorted(self.by_policy.items())),
            "by library": dict(sorted(self.by_library.items())),
            "cpu seconds": round(self.cpu, 1),
            "milliseconds a table": round(1000 * self.cpu / max(self.tables, 1), 2),
        }


def run_tables(seed: int, numbers: range, n_processes: int) -> Tally:
    """Try the tables of these numbers, and tell how far it is."""
    total = Tally()
    started = time.monotonic()
    told = 0
    for part in _parts(seed, numbers, n_processes):
        for number, text in part.finds:
            if told < _MOST_TOLD:
                say(f"table {number}: {text}")
            told += 1
        total.add(part)
        rate = total.tables / (time.monotonic() - started)
        if total.tables % (10 * _CHUNK) == 0 or total.tables == len(numbers):
            say(
                f"{total.tables:,} of {len(numbers):,} tables, {rate:.0f} a second, "
                f"{len(total.finds)} finds"
            )
    return total


def _parts(seed: int, numbers: range, n_processes: int) -> Iterator[Tally]:
    chunks = (numbers[i : i + _CHUNK] for i in range(0, len(numbers), _CHUNK))
    if n_processes == 1:
        for chunk in chunks:
            yield try_all(seed, chunk)
        return
    with ProcessPoolExecutor(n_processes, mp_context=get_context("spawn")) as pool:
        running: set[Future[Tally]] = {
            pool.submit(try_all, seed, chunk) for chunk in islice(chunks, n_processes)
        }
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for chunk in islice(chunks, len(done)):
                running.add(pool.submit(try_all, seed, chunk))
            for future in done:
                yield future.result()


def try_all(seed: int, numbers: range) -> Tally:
    """Try some tables in this process."""
    tally = Tally()
    started = time.process_time()
    for number in numbers:
        _try_one(seed, number, tally)
    tally.cpu = time.process_time() - started
    return tally


def _try_one(seed: int, number: int, tally: Tally) -> None:
    tally.tables += 1
    case = None
    try:
        case = draw(seed, number)
        tally.by_policy[case.spec.policy.name] += 1
        tally.by_library[case.library] += 1
        tally.by_model.update(type(model).__name__ for model in case.spec.models)
        found = list(_judged(case, tally))
    except Exception as error:  # noqa: BLE001  # which is what is looked for
        where = "in anonymize" if case is not None else "while drawing"
        text = f"crash {where}: {type(error).__name__} at {place_of(error)}"
        found = [text]
    tally.finds += [(number, text) for text in found]


def _judged(case: Case, tally: Tally) -> Iterator[str]:
    try:
        release = _release(case)
    except _DOCUMENTED as error:
        tally.refused[type(error).__name__] += 1
        if isinstance(error, InfeasibleError) and is_feasible(case):
            yield "refused: the table as one class would pass"
        if case.number % AGAIN_EVERY == 0:
            tally.again += 1
            yield from _refused_again(case, error)
        return
    tally.released += 1
    tally.rows += case.n_rows
    yield from find_faults(case, release)
    if case.number % AGAIN_EVERY == 0:
        tally.again += 1
        yield from _differences(case, release)
    if case.number % MEASURED_EVERY == 1:
        tally.measured += 1
        yield from _bad_evidence(case, release)


def _release(
    case: Case, order: list[int] | None = None, key: bytes | None = None, **other: Any
) -> Release[Any]:
    asked = replace(case, **other)
    frame = as_library(asked.arrow(order), asked.library)
    return anonymize(frame, asked.spec, key=key or asked.key, threads=asked.threads)


def _other_ways(case: Case) -> tuple[list[int], dict[str, Any]]:
    order = list(range(case.n_rows))
    Random(case.number).shuffle(order)  # noqa: S311
    library = {"arrow": "polars", "polars": "pandas", "pandas": "arrow"}[case.library]
    if case.population is not None:  # which is an Arrow table, and types have to agree
        library = case.library
    return order, {"library": library, "threads": 1 if case.threads != 1 else 2}


def _refused_again(case: Case, error: MondrianError) -> Iterator[str]:
    order, other = _other_ways(case)
    try:
        _release(case, order, **other)
    except type(error):
        return
    yield f"order: {type(error).__name__} only in one order and library"


def _differences(case: Case, release: Release[Any]) -> Iterator[str]:
    """Release the rows in another order, as another kind of frame.

    Both times under the same key: without one, each run draws its own, and with it
    samples, and which of several equal rows are in which class.
    """
    order, other = _other_ways(case)
    one = _release(case, key=KEY)
    two = _release(case, order, KEY, **other)
    if one.digest != two.digest:
        yield "order: the digest depends on order, library or threads"
    if _sorted_rows(one.data) != _sorted_rows(two.data):
        yield "order: rows depend on order, library or threads"
    if not _has_samples(case) and release.digest != one.digest:
        yield "key: the digest depends on the run or its key"


def _has_samples(case: Case) -> bool:
    """Tell whether cells are drawn under the key, and the digest depends on it."""
    return "sample" in map(case.spec.format_of, case.spec.quasi_identifiers)


def _sorted_rows(frame: Any) -> list[str]:
    cells = read_frame(frame)
    return sorted(repr(row) for row in zip(*cells.values(), strict=True))


def _is_from_table(hierarchy: object) -> bool:
    """Tell whether a release does not have what its hierarchy was made of."""
    return callable(hierarchy) or isinstance(hierarchy, Learned)


def _bad_evidence(case: Case, release: Release[Any]) -> Iterator[str]:
    """Ask for everything that can be asked of a release."""
    release.measures()
    release.score()
    release.savings()
    release.tree_table()
    rows = release.figures()["rows"]
    if rows["in"] != case.n_rows or rows["released"] + rows["suppressed"] != rows["in"]:
        yield "lost rows: the manifest's do not add up"
    given = case.spec.hierarchies.values()
    if case.spec.unit is None and not any(map(_is_from_table, given)):
        found = verify(release.data, case.spec, budget=release.budget)
        if found.n_rows != release.verification.n_rows:
            yield "verify: another number of rows"
