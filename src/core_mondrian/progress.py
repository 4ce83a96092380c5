"""A bar per stage for whoever watches: in a terminal, in a notebook, or nowhere."""

import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeAlias, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
Progress: TypeAlias = Callable[[str, float], None]
"""``progress(stage, done)``: how much of a stage is done, from 0 to 1."""


class Told(float):
    """How much is done, with something to say about it: to people, and to machines."""

    text: str
    figures: Mapping[str, int]

    def __new__(
        cls, done: float, text: str, figures: Mapping[str, int] | None = None
    ) -> "Told":
        told = super().__new__(cls, done)
        told.text = text
        told.figures = figures or {}
        return told


def text_of(done: float) -> str:
    """Return what is said about a share that is done."""
    return done.text if isinstance(done, Told) else ""


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
def show_progress() -> Iterator[Progress | None]:
    """Show a bar per stage, if a person is watching; they go when all is done."""
    if _in_notebook():
        with _notebook_bars() as show:
            yield show
    elif sys.stderr.isatty():
        with _terminal_bars() as show:
            yield show
    else:
        yield None


def _in_notebook() -> bool:
    """Tell whether outputs are shown by a front end that knows HTML.

    Whoever runs in a notebook has loaded IPython already.
    """
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


@contextmanager
def _terminal_bars() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, TaskID, TaskProgressColumn, TextColumn
    from rich.progress import Progress as Bars

    columns = (
        *(TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()),
        TextColumn("{task.fields[text]}"),
    )
    tasks: dict[str, TaskID] = {}
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:

        def show(stage: str, done: float) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=1.0, text="")
            bars.update(tasks[stage], completed=done, text=text_of(done))

        yield show


@contextmanager
def _notebook_bars() -> Iterator[Progress]:
    """Show bars as HTML: rich's own need ipywidgets, and are gone in a saved file."""
    from IPython.display import display  # type: ignore[import-not-found]

    handle = display(_bundle({}), raw=True, display_id=True)
    percents: dict[str, tuple[int, str]] = {}

    def show(stage: str, done: float) -> None:
        percent = int(100 * done)
        shown, _ = percents.get(stage, (-1, ""))
        if shown != percent:  # each change is a message to the browser
            percents[stage] = percent, text_of(done)
            handle.update(_bundle(percents), raw=True)

    try:
        yield show
    finally:
        handle.update(_bundle({}), raw=True)


def _bundle(percents: dict[str, tuple[int, str]]) -> dict[str, Any]:
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
