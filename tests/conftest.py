"""Fixtures and settings for all tests."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from support.keys import KEY
from support.plain_engine import IS_PLAIN

from core_mondrian.cli.main import run

# The fixtures of the pages of the studio.
pytest_plugins = ["studio_pages"]

# The machine may be busy, so no deadline; the engine is slow as plain Python, so fewer
# examples there. Nothing is drawn by chance, but examples hold constants of all modules
# of ours that are loaded by then, and so depend on which tests ran before in the same
# process. What repeats a failure by itself is the `@reproduce_failure` printed with it.
_UNSHRUNK = [Phase.explicit, Phase.generate]
settings.register_profile(
    "compiled",
    deadline=None,
    derandomize=True,
    print_blob=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
_COMPILED = settings.get_profile("compiled")
settings.register_profile("compiled, all", _COMPILED, max_examples=180)
settings.register_profile("plain", _COMPILED, max_examples=6, phases=_UNSHRUNK)
settings.register_profile("plain, all", settings.get_profile("plain"), max_examples=20)
# For development, chosen by --hypothesis-profile: failures unshrunk; many examples.
settings.register_profile("quick", _COMPILED, phases=_UNSHRUNK)
settings.register_profile(
    "deep", _COMPILED, phases=_UNSHRUNK, derandomize=False, max_examples=2000
)
PROFILE = "plain" if IS_PLAIN else "compiled"
settings.load_profile(PROFILE)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="those that take long, too")


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Skip what takes long, and say so; `make test-all` runs it."""
    if config.getoption("--all"):
        return
    skip = pytest.mark.skip(reason="takes long; make test-all runs it")
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(skip)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep the tests of a file in one process: what they share is made once.

    In the order of the folders, so that the quick files of tests/unit end a run.
    """
    from xdist.scheduler import LoadFileScheduling

    config.option.loadscopereorder = False
    return LoadFileScheduling(config, log)


def pytest_configure(config: pytest.Config) -> None:
    """Try more examples with --all."""
    if config.getoption("--all") and not config.getoption("--hypothesis-profile", None):
        settings.load_profile(f"{PROFILE}, all")


Frame = Callable[[pa.Table], Any]


def as_pandas(table: pa.Table) -> pd.DataFrame:
    return table.to_pandas()


def as_polars(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def as_arrow(table: pa.Table) -> pa.Table:
    return table


FRAMES: dict[str, Frame] = {"pyarrow": as_arrow}
# Kernels see the same arrays whatever the frame was: uncompiled, one kind will do.
if not IS_PLAIN:
    FRAMES |= {"pandas": as_pandas, "polars": as_polars}


def frame_kinds() -> st.SearchStrategy[Frame]:
    """Draw one of what `frame_kind` goes through."""
    return st.sampled_from([*FRAMES.values()])


@pytest.fixture(scope="session", params=[*FRAMES.values()], ids=[*FRAMES])
def frame_kind(request: pytest.FixtureRequest) -> Frame:
    """Turn an Arrow table into each kind of frame."""
    kind: Frame = request.param
    return kind


# The command line

CANARY = "CANARY-7391"
"""What cells hold that no message may show."""


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


Command = Callable[..., Done]


def in_process(
    capfd: Any, main: Callable[[list[str]], object] = run, *, shows_cells: bool = False
) -> Command:
    """Run commands in this process; none may show a traceback or a canary."""

    def command(*arguments: object) -> Done:
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        code = caught.value.code
        assert isinstance(code, int | None)
        assert "Traceback" not in captured.err
        assert CANARY not in captured.err
        assert shows_cells or CANARY not in captured.out
        return Done(code or 0, captured.out, captured.err)

    return command


@pytest.fixture
def cli(capfd: Any, monkeypatch: Any, tmp_path: Path) -> Command:
    """Run a command in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return in_process(capfd)


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def random_keys() -> None:
    """Asked for by tests about keys that are drawn anew for every run."""


@pytest.fixture(autouse=True)
def _one_key(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the same key in every run, so that two releases can be compared row by row.

    Commands in processes of their own draw their own.
    """
    if "random_keys" not in request.fixturenames:
        monkeypatch.setattr("core_mondrian.tables.keys._draw", lambda: KEY)


@pytest.fixture(autouse=True)
def _quick_if_plain(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let `auto` be `fast` where the engine is plain Python and a search takes minutes.

    Golden digests and tests of `auto` itself see what users get.
    """
    name = request.node.nodeid
    if IS_PLAIN and "golden" not in name and "auto" not in name:
        none = {"thorough": 0, "strong": 0, "light": 0}
        monkeypatch.setattr("core_mondrian.engine.search.best._LARGEST", none)
        monkeypatch.setattr("core_mondrian.engine.search.best._LARGEST_WIDE", none)
