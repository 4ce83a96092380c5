"""Run tests on mutants, in a pytest that has collected them once.

A mutant in the body of a function is put into the functions that are there already; one
outside of it needs a process that has not imported the package yet. Each mutant gets a
copy of this process, and of the tests those that reach its statement, quick ones first.
"""

import ast
import gc
import importlib
import importlib.machinery
import importlib.util
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, TextIO

import pytest

from benchmarks.mutants.apart import Ended, RunnerError, apart, start_clock
from benchmarks.mutants.operators import Mutant, find_mutants

_OPTIONS = [
    *("-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # loaded before
]
_AT_LEAST = 3.0
"""CPU seconds that a test may take; and so many times what it took before, traced."""
_TIMES = 2.0
_COLLECTING = 20.0
"""CPU seconds for those that collect the tests anew."""
SURVIVED = ""


@dataclass(frozen=True)
class Source:
    """A module to be mutated."""

    file: str
    """As it is shown."""
    path: Path
    module: str

    @cached_property
    def text(self) -> str:
        """The source as it was first read: it may be worked on during a run."""
        return self.path.read_text(encoding="utf-8")

    def parse(self) -> tuple[ast.Module, list[Mutant]]:
        """Return a fresh tree, and its mutants, which change this one."""
        tree = ast.parse(self.text)
        return tree, find_mutants(tree, self.file)

    def code_with(self, key: tuple[str, ...]) -> CodeType:
        """Compile the module with one fault."""
        tree, mutants = self.parse()
        next(mutant for mutant in mutants if mutant.key == key).put()
        return compile(ast.fix_missing_locations(tree), str(self.path), "exec")


@dataclass(frozen=True)
class Reached:
    """What a test reaches of the sources, and what it costs."""

    test: str
    path: str
    n_calls: int
    """Calls of functions: a cost that is the same in every run."""
    cpu_seconds: float
    lines: Mapping[str, set[int]]

    def touches(self, mutant: Mutant) -> bool:
        lines = self.lines.get(mutant.file, set())
        if not mutant.is_inside:
            return bool(lines)
        return any(i in lines for i in range(mutant.line, mutant.last_line + 1))


def tests_for(mutant: Mutant, reached: Sequence[Reached]) -> list[Reached]:
    """Return the tests that may notice a mutant, quick ones first."""
    found = [one for one in reached if one.touches(mutant)]
    return sorted(found, key=lambda one: (one.n_calls, one.test))


def run_mutants(
    sources: Sequence[Source], mutants: Sequence[Mutant], tests: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield each mutant with the test that noticed it; inside functions first.

    Raises:
        RunnerError: a test fails without any mutant.
    """
    if not mutants:
        return
    inside = [mutant for mutant in mutants if mutant.is_inside]

    def work(out: TextIO) -> None:
        os.dup2(2, 1)  # what pytest says is no result
        code = pytest.main([*_OPTIONS, *tests], plugins=[_Warm(sources, inside, out)])
        if code:
            raise RunnerError(f"pytest ended with {code}")

    reached: list[Reached] = []
    for line in apart(work):
        told = json.loads(line)
        if "lines" in told:
            told["lines"] = {file: set(x) for file, x in told["lines"].items()}
            reached.append(Reached(**told))
        else:
            yield told
    by_file = {source.file: source for source in sources}
    for mutant in mutants:
        if not mutant.is_inside:
            yield _run_cold(by_file[mutant.file], mutant, reached)


def _result(mutant: Mutant, killed_by: str, n_tests: int) -> dict[str, Any]:
    return {
        "file": mutant.file,
        "line": mutant.line,
        "function": mutant.function,
        "operator": mutant.operator,
        "text": mutant.text,
        "killed_by": killed_by,
        "n_tests": n_tests,
    }


def _ask(
    work: Callable[[TextIO], None], tests: Sequence[Reached], more: float = 0.0
) -> str:
    """Return which test fails, or what else ended the work."""
    limit = _AT_LEAST + _TIMES * sum(test.cpu_seconds for test in tests) + more
    try:
        return "".join(apart(work, limit))
    except Ended as end:
        is_late = str(end) in ("SIGPROF", "SIGALRM")
        return "time limit" if is_late else f"end of the process: {end}"


class _Warm:
    """A plugin: instead of the tests, run them for every mutant."""

    def __init__(
        self, sources: Sequence[Source], mutants: Sequence[Mutant], out: TextIO
    ) -> None:
        self._sources = {source.file: source for source in sources}
        self._mutants = mutants
        self._out = out
        self._reports: list[pytest.TestReport] = []

    def _tell(self, line: Mapping[str, Any]) -> None:
        print(json.dumps(line, ensure_ascii=False), file=self._out, flush=True)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports.append(report)

    def _run(
        self, item: pytest.Item, following: pytest.Item | None = None
    ) -> list[pytest.TestReport]:
        self._reports.clear()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return self._reports

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Failed("tests cannot be collected")
        for source in self._sources.values():
            importlib.import_module(source.module)
        functions = _functions([str(x.path) for x in self._sources.values()])
        gc.collect()
        gc.freeze()  # else every copy writes to every page
        reached = []
        for line in apart(lambda out: self._trace(session.items, out)):
            told = json.loads(line)
            self._tell(told)
            told["lines"] = {file: set(x) for file, x in told["lines"].items()}
            reached.append(Reached(**told))
        items = {item.nodeid: item for item in session.items}
        self._check_unchanged(items, reached)
        for mutant in self._mutants:
            chosen = tests_for(mutant, reached)
            source = self._sources[mutant.file]
            same = functions[str(source.path), mutant.function]
            code = source.code_with(mutant.key)

            def work(out: TextIO) -> None:
                _replace(same, code)  # noqa: B023
                self._try(items, chosen, out)  # noqa: B023

            killed = _ask(work, chosen) if chosen else SURVIVED
            self._tell(_result(mutant, killed, len(chosen)))
        return True

    def _check_unchanged(
        self, items: Mapping[str, pytest.Item], reached: Sequence[Reached]
    ) -> None:
        """Run all tests as they are run on mutants: here, too, they have to pass."""
        if failed := _ask(lambda out: self._try(items, reached, out), reached):
            raise RunnerError(f"without any mutant: {failed}")

    def _try(
        self, items: Mapping[str, pytest.Item], chosen: Sequence[Reached], out: TextIO
    ) -> None:
        """Write which test fails first."""
        followers = [*(items[one.test] for one in chosen[1:]), None]
        for one, following in zip(chosen, followers, strict=True):
            start_clock(_AT_LEAST + _TIMES * one.cpu_seconds)
            if any(x.failed for x in self._run(items[one.test], following)):
                out.write(one.test)
                return

    def _trace(self, items: Sequence[pytest.Item], out: TextIO) -> None:
        """Write what each test reaches; those that are skipped reach nothing."""
        names = {str(source.path): file for file, source in self._sources.items()}
        for item in items:
            tracer = _Tracer(names)
            since = time.process_time()
            with tracer:
                reports = self._run(item)
            if any(report.failed for report in reports):
                raise RunnerError(f"{item.nodeid} fails without any mutant")
            if any(report.skipped for report in reports):
                continue
            line = {
                "test": item.nodeid,
                "path": str(item.path),
                "n_calls": tracer.n_calls,
                "cpu_seconds": round(time.process_time() - since, 4),
                "lines": {file: sorted(x) for file, x in tracer.lines.items()},
            }
            print(json.dumps(line, ensure_ascii=False), file=out, flush=True)


def _functions(paths: Sequence[str]) -> dict[tuple[str, str], list[FunctionType]]:
    """Return all functions of some files by file and name, copies and all."""
    found: dict[tuple[str, str], list[FunctionType]] = {}
    for one in gc.get_objects():
        if type(one) is FunctionType and one.__code__.co_filename in paths:
            code = one.__code__
            found.setdefault((code.co_filename, code.co_qualname), []).append(one)
    return found


def _replace(functions: Sequence[FunctionType], module: CodeType) -> None:
    """Give every copy of a function the code it has in a changed module."""
    name = functions[0].__code__.co_qualname
    new = next(code for code in _codes(module) if code.co_qualname == name)
    for function in functions:
        function.__code__ = new


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the functions of a module and the methods of its classes."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


class _Tracer:
    """Collect the lines of some files that run, and count calls of any function."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self.n_calls = 0
        self.lines: dict[str, set[int]] = {}

    def __enter__(self) -> None:
        threading.settrace(self._enter)
        sys.settrace(self._enter)

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        threading.settrace(None)

    def _enter(self, frame: FrameType, _event: str, _: Any) -> Any:
        self.n_calls += 1
        file = self._names.get(frame.f_code.co_filename)
        if file is None:
            return None
        seen = self.lines.setdefault(file, set())

        def step(frame: FrameType, _event: str, _: Any) -> Any:
            seen.add(frame.f_lineno)
            return step

        return step


# Outside of functions


def _run_cold(
    source: Source, mutant: Mutant, reached: Sequence[Reached]
) -> dict[str, Any]:
    chosen = tests_for(mutant, reached)
    files = sorted({one.path for one in chosen})
    code = source.code_with(mutant.key)

    def work(out: TextIO) -> None:
        sys.meta_path.insert(0, _Finder(source, code))
        first = _First([one.test for one in chosen])
        pytest.main([*_OPTIONS, "-x", *files], plugins=[first])
        out.write(first.failed)

    killed = _ask(work, chosen, _COLLECTING) if chosen else SURVIVED
    return _result(mutant, killed, len(chosen))


class _Finder(importlib.machinery.SourceFileLoader):
    """Import one module with a fault."""

    def __init__(self, source: Source, code: CodeType) -> None:
        super().__init__(source.module, str(source.path))
        self._code = code

    def find_spec(
        self, name: str, _path: object = None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self.name:
            return None
        is_package = Path(self.path).name == "__init__.py"
        places = [str(Path(self.path).parent)] if is_package else None
        return importlib.util.spec_from_file_location(
            name, self.path, loader=self, submodule_search_locations=places
        )

    def get_code(self, _name: str) -> CodeType:
        return self._code


class _First:
    """A plugin: run some tests in order, and remember which failed first."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._place = {test: i for i, test in enumerate(tests)}
        self.failed = SURVIVED

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self._place]
        items.sort(key=lambda item: self._place[item.nodeid])

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed = self.failed or f"collecting {report.nodeid}"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid
