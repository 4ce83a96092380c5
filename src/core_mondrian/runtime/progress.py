"""Progress of a run, stage by stage: bars for people, lines of JSON for programs.

The only clock of the package: nothing that is released depends on it.
"""

import functools
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final, ParamSpec, TypeAlias, TypeVar

from core_mondrian.runtime.plain_values import JsonObject

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Progress: TypeAlias = Callable[[str, float], None]
"""``progress(stage, done)``: how much of a stage is done, from 0 to 1."""
_UNITS: Final = ("", "k", "M", "G", "T")
_PAUSE: Final = 1.0
"""Seconds between two lines for a program."""


class ProgressUpdate(float):
    """How much of a stage is done, with what has gone by: for people and machines."""

    text: str
    figures: Mapping[str, int]

    def __new__(
        cls, done: float, text: str, figures: Mapping[str, int]
    ) -> "ProgressUpdate":
        update = super().__new__(cls, done)
        update.text = text
        update.figures = figures
        return update


class Throughput:
    """Counts the rows of a stage that go by, and reports how many in a second."""

    def __init__(self, report: Callable[[float], None], n_bytes: int = 0) -> None:
        """Count rows of a source that has so many bytes; 0: it is not known."""
        self._report = report
        self._since = time.perf_counter()
        self.n_rows = 0
        self._n_bytes = n_bytes

    def step(self, n_rows: int, done: float) -> None:
        """Report that so many more rows are done."""
        self.n_rows += n_rows
        seconds = max(time.perf_counter() - self._since, 1e-6)
        rate = self.n_rows / seconds
        text = f"{_short(rate)} rows/s"
        figures = {"rows": self.n_rows, "rows_per_second": round(rate)}
        if self._n_bytes:
            size = self._n_bytes * done
            text += f", {_short(size / seconds)}B/s"
            figures |= {"bytes": round(size), "bytes_per_second": round(size / seconds)}
        self._report(ProgressUpdate(done, text, figures))


class Steps:
    """Reports a stage of several steps, each of which is a share of the work."""

    def __init__(
        self, progress: Progress | None, stage: str, shares: Sequence[float]
    ) -> None:
        """Begin a stage; ``shares`` are in any unit, such as seconds once measured."""
        self._report = None if progress is None else partial(progress, stage)
        self._whole = sum(shares)
        self._shares = iter(shares)
        self._done = 0.0
        if self._report is not None:
            self._report(0.0)

    def end(self, result: T) -> T:
        """Return what the next step returned: it is done."""
        self._done += next(self._shares)
        if self._report is not None:
            self._report(min(self._done / self._whole, 1.0))
        return result


def _short(number: float) -> str:
    for unit in _UNITS[:-1]:
        if number < 1000:
            return f"{number:.3g}{unit}"
        number /= 1000
    return f"{number:.3g}{_UNITS[-1]}"


class _Clock:
    """Knows since when each stage runs, and so how long it will take."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self._since: dict[str, float] = {}
        self._ends: dict[str, float] = {}

    def seconds_left(self, stage: str, done: float) -> int | None:
        """Return the seconds that are left of a stage; None: nobody knows yet."""
        now = time.perf_counter()
        since = self._since.setdefault(stage, now)
        if not 0 < done < 1:
            return None
        left = (now - since) * (1 - done) / done
        self._ends[stage] = now + left
        # Clocks may jump.
        return max(round(left), 0)

    def text(self, stage: str, done: float) -> str:
        """Return what is said about a stage beside its bar."""
        parts = [done.text] if isinstance(done, ProgressUpdate) else []
        left = _left_text(self.seconds_left(stage, done))
        return ", ".join([*parts, *([left] if left else [])])

    def countdown(self, stage: str) -> str:
        """Return the time that is left by now, also in the middle of a long step."""
        end = self._ends.get(stage)
        return "" if end is None else _left_text(round(end - time.perf_counter()))


def _left_text(left: int | None) -> str:
    return f"{left // 60}:{left % 60:02d} left" if left and left > 0 else ""


def watched(work: Callable[P, R]) -> Callable[P, R]:
    """Let ``progress=True`` of a function show bars, and False none."""

    @functools.wraps(work)
    def shown(*arguments: P.args, **options: P.kwargs) -> R:
        if options.get("progress") is not True:
            return work(*arguments, **options)
        with show_progress() as progress:
            options["progress"] = progress
            return work(*arguments, **options)

    return shown


@contextmanager
def show_progress(*, as_json: bool = False) -> Iterator[Progress | None]:
    """Show a bar per stage, if a person is watching; they go when all is done.

    ``as_json``: if nobody is, print a line a second for a program that reads along.
    """
    if _in_notebook():
        with _notebook_bars() as show:
            yield show
    elif sys.stderr.isatty():
        with _terminal_bars() as show:
            yield show
    else:
        yield _print_lines() if as_json else None


def _print_lines() -> Progress:
    """Return what prints progress as JSON; runs of a second print none."""
    clock = _Clock()
    last = clock.start

    def show(stage: str, done: float) -> None:
        nonlocal last
        left, now = clock.seconds_left(stage, done), time.perf_counter()
        if now - last < _PAUSE:
            return
        last = now
        line: JsonObject = {"stage": stage, "done": round(float(done), 4)}
        line |= done.figures if isinstance(done, ProgressUpdate) else {}
        line |= {} if left is None else {"seconds_left": left}
        sys.stderr.write(json.dumps({"progress": line}) + "\n")
        sys.stderr.flush()

    return show


def _in_notebook() -> bool:
    """Return whether outputs are shown by a front end that knows HTML.

    Whoever runs in a notebook has loaded IPython already.
    """
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


@contextmanager
def _terminal_bars() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        ProgressColumn,
        SpinnerColumn,
        Task,
        TaskID,
        TaskProgressColumn,
        TextColumn,
    )
    from rich.progress import Progress as Bars
    from rich.text import Text

    clock = _Clock()

    class TimeLeft(ProgressColumn):
        """Counts down between two reports, too."""

        def render(self, task: Task) -> Text:
            text: str = task.fields["text"]
            left = "" if task.finished else clock.countdown(task.description)
            return Text(", ".join(part for part in (text, left) if part))

    columns = (
        *(SpinnerColumn(finished_text=" "), TextColumn("{task.description}")),
        *(BarColumn(), TaskProgressColumn(), TimeLeft()),
    )
    tasks: dict[str, TaskID] = {}
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:

        def show(stage: str, done: float) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=1.0, text="")
            clock.seconds_left(stage, done)
            text = done.text if isinstance(done, ProgressUpdate) else ""
            bars.update(tasks[stage], completed=done, text=text)

        yield show


@contextmanager
def _notebook_bars() -> Iterator[Progress]:
    """Show bars as HTML: rich's own need ipywidgets, and are gone in a saved file."""
    from IPython.display import display  # type: ignore[import-not-found]

    handle = display(_bundle({}), raw=True, display_id=True)
    percents: dict[str, tuple[int, str]] = {}
    clock = _Clock()

    def show(stage: str, done: float) -> None:
        percent, text = int(100 * done), clock.text(stage, done)
        shown, _ = percents.get(stage, (-1, ""))
        if shown != percent:  # each change is a message to the browser
            percents[stage] = percent, text
            handle.update(_bundle(percents), raw=True)

    try:
        yield show
    finally:
        handle.update(_bundle({}), raw=True)


def _bundle(percents: dict[str, tuple[int, str]]) -> JsonObject:
    """Return the bars as HTML, and in a line for who cannot show it."""
    from html import escape

    rows = "".join(
        f"<div>{escape(stage)} <progress value={percent} max=100></progress> "
        f"{percent} % {escape(text)}".rstrip()
        + "</div>"
        for stage, (percent, text) in percents.items()
    )
    plain = ", ".join(
        f"{stage} {percent} % {text}".rstrip()
        for stage, (percent, text) in percents.items()
    )
    return {"text/html": rows, "text/plain": plain}
