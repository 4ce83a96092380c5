"""Errors hold no cell: not in their messages, nor in the errors they stand for."""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from conftest import CANARY

import core_mondrian
from core_mondrian import (
    DataError,
    KAnonymity,
    MondrianError,
    Spec,
    anonymize,
    anonymize_files,
    verify,
)
from core_mondrian.cli.main import run
from core_mondrian.errors import drops_context
from core_mondrian.tables.files.read import read_table

MIXED = pd.DataFrame({"a": pd.Series([1, CANARY, 3, (4,)], dtype=object)})
SPEC = Spec(("a",), (KAnonymity(2),))


def errors_in(error: BaseException | None, seen: set[int]) -> Iterator[BaseException]:
    """Yield an error with all that can be reached from it."""
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    yield error
    yield from errors_in(error.__cause__, seen)
    yield from errors_in(error.__context__, seen)
    for held in (*error.args, *_locals(error.__traceback__)):
        if isinstance(held, BaseException):
            yield from errors_in(held, seen)


def _locals(trace: TracebackType | None) -> Iterator[Any]:
    while trace is not None:
        if "core_mondrian" in trace.tb_frame.f_code.co_filename:
            yield from list(trace.tb_frame.f_locals.values())
        trace = trace.tb_next


def assert_no_cell(error: BaseException) -> None:
    for one in errors_in(error, set()):
        assert CANARY not in f"{one!r} {one} {vars(one)}", type(one).__name__


def _damaged_text(folder: Path) -> Path:
    file = folder / "a.csv"
    file.write_bytes(f"a,b\n1,{CANARY}\n2,".encode() + b"\xff\n")
    return file


def _too_many_cells(folder: Path) -> Path:
    file = folder / "a.csv"
    file.write_text(f"a,b\n1,2\n1,2,{CANARY}\n")
    return file


CALLS: dict[str, Callable[[Path], Any]] = {
    "objects of several types": lambda _: anonymize(MIXED, SPEC),
    "verify": lambda _: verify(MIXED, SPEC),
    "weights": lambda _: anonymize(
        pd.DataFrame({"a": [1, 1], "w": ["1", CANARY]}),
        Spec(("a",), (KAnonymity(2),), weight="w"),
    ),
    "saving what passes through": lambda x: anonymize(
        pd.DataFrame({"a": [1, 1], "b": pd.Series([1, CANARY], dtype=object)}), SPEC
    ).save(x / "b.parquet"),
    "bytes that are no text": lambda x: read_table(_damaged_text(x)),
    "a row that is too long": lambda x: read_table(_too_many_cells(x)),
    "a row that is too long, streamed": lambda x: anonymize_files(
        _too_many_cells(x), x / "b.csv", SPEC
    ),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_no_error_that_leaves_holds_a_cell(
    call: Callable[[Path], Any], tmp_path: Path
) -> None:
    with pytest.raises(MondrianError) as caught:
        call(tmp_path)

    assert_no_cell(caught.value)


def test_a_command_ends_with_a_code_and_holds_no_error(tmp_path: Path) -> None:
    file = _too_many_cells(tmp_path)

    with pytest.raises(SystemExit) as caught:
        run(["inspect", str(file)])

    assert caught.value.code == DataError.exit_code
    assert_no_cell(caught.value)


def test_what_the_caller_was_handling_stays_with_the_error() -> None:
    def handle() -> None:
        try:
            {}["the caller's"]
        except KeyError:
            anonymize(MIXED, SPEC)

    with pytest.raises(DataError) as caught:
        handle()

    assert isinstance(caught.value.__context__, KeyError)


def test_a_cause_that_is_named_stays() -> None:
    @drops_context
    def fail() -> None:
        try:
            {}["said on purpose"]
        except KeyError as error:
            raise DataError("failed") from error

    with pytest.raises(DataError) as caught:
        fail()

    assert isinstance(caught.value.__cause__, KeyError)


def test_every_public_function_drops_what_its_errors_stand_for() -> None:
    public = [getattr(core_mondrian, name) for name in core_mondrian.__all__]
    functions = [one for one in public if inspect.isfunction(one)]

    code = drops_context(lambda: None).__code__
    assert [one.__name__ for one in functions if one.__code__ is not code] == []
    assert len(functions) == 13


def test_an_error_that_only_hides_a_cell_would_be_found() -> None:
    def fail() -> None:
        try:
            pa.array([1, CANARY])
        except pa.ArrowInvalid:
            raise DataError("several types") from None

    with pytest.raises(DataError) as caught:
        fail()

    with pytest.raises(AssertionError):
        assert_no_cell(caught.value)
