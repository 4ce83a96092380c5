"""PageContext: what the parts of a page share: session, changes, and running work."""

import base64
import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from nicegui import ui

from core_mondrian.errors import MondrianError
from core_mondrian.studio.actions import Run
from core_mondrian.studio.draft import Draft
from core_mondrian.studio.jobs import Job, Progress
from core_mondrian.studio.session import Session, Studio
from core_mondrian.studio.tables import Td, Tr, write_table

ResultT = TypeVar("ResultT")
Listener = Callable[[Job[Any]], None]


@dataclass
class _Watched:
    job: Job[Any]
    ended: Listener
    progressed: Listener


class PageContext:
    """One page's session, and who wants to know when something changes."""

    def __init__(self, studio: Studio, session: Session) -> None:
        self.studio = studio
        self.session = session
        self.on_change: list[Callable[[], None]] = []
        self.on_table: list[Callable[[], None]] = []
        self.on_run: list[Callable[[], None]] = []
        self.run: Run | None = None
        """The run that is looked at."""
        self._watched: list[_Watched] = []

    @property
    def draft(self) -> Draft:
        return self.session.draft

    def copy_draft(self) -> Draft:
        """Return what is chosen now, for work that goes on while it changes."""
        return copy.deepcopy(self.session.draft)

    def changed(self) -> None:
        """Tell everybody that the draft says something else."""
        for notify in self.on_change:
            notify()

    def table_changed(self) -> None:
        """Tell everybody that there is another table."""
        for notify in self.on_table:
            notify()
        self.show_run(self.session.runs[-1] if self.session.runs else None)
        self.changed()

    def show_run(self, run: Run | None) -> None:
        """Tell everybody which run is looked at."""
        self.run = run
        for notify in self.on_run:
            notify()

    def start(
        self,
        work: Callable[[Progress], ResultT],
        ended: Callable[[Job[ResultT]], None],
        progressed: Callable[[Job[ResultT]], None] = lambda _: None,
    ) -> Job[ResultT]:
        """Start work in the background; the page is told how it goes."""
        job = Job(work)
        self.session.jobs = [old for old in self.session.jobs if old.is_running]
        self.session.jobs.append(job)
        self.watch(job, ended, progressed)
        return job

    def watch(
        self,
        job: Job[ResultT],
        ended: Callable[[Job[ResultT]], None],
        progressed: Callable[[Job[ResultT]], None],
    ) -> None:
        """Be told about work that may have begun on an earlier page."""
        self._watched.append(_Watched(job, ended, progressed))

    def poll(self) -> None:
        """Look how far the work is; called several times a second."""
        for one in list(self._watched):
            if one.job.is_running:
                one.progressed(one.job)
            else:
                self._watched.remove(one)
                one.ended(one.job)


def show_problem(place: ui.element, error: MondrianError) -> None:
    """Say in ``place`` what went wrong and what to do."""
    place.clear()
    with place, ui.row().classes("studio-problem items-start no-wrap w-full") as row:
        row.props["role"] = "alert"
        ui.icon("error_outline").props("aria-hidden=true")
        with ui.column().classes("gap-1"):
            ui.label(error.message)
            if error.hint:
                ui.label(error.hint).classes("studio-faint")


def show_svg(picture: bytes, words: str) -> ui.element:
    """Show a picture as it was drawn; ``words`` say what it shows."""
    image = ui.element("img")
    data = base64.b64encode(picture).decode()
    image.props["src"] = f"data:image/svg+xml;base64,{data}"
    image.props["alt"] = words
    return image


def show_table(
    label: str, heads: Sequence[str | Td], rows: Iterable[Tr | Sequence[str | Td]]
) -> ui.html:
    """Show a table; ``label`` names it for those who do not see where it stands."""
    return ui.html(write_table(label, heads, rows), sanitize=False).classes("w-full")


def show_code(text: str, language: str) -> ui.code:
    """Show a file's or a terminal's text, with a button that copies it."""
    code = ui.code(text, language=language).classes("w-full")
    named(code.copy_button, "copy")
    return code


def step(number: int, title: str, words: str) -> ui.column:
    """Return the room of a step, below its title and one sentence on it."""
    with ui.card().classes("w-full studio-step").props("flat bordered"):
        with ui.row().classes("items-center no-wrap gap-3"):
            with ui.label(str(number)).classes("studio-number") as sign:
                ui.link_target(f"step-{number}")
            sign.props("aria-hidden=true")
            ui.label(title).classes("studio-title").props("role=heading aria-level=2")
        ui.label(words).classes("studio-faint")
        return ui.column().classes("w-full gap-3")


def heading(title: str, level: int = 3) -> None:
    """Show the title of a part of a step."""
    ui.label(title).classes("text-bold").props(f"role=heading aria-level={level}")


def named(element: ui.element, label: str) -> None:
    """Give an element a name for those who do not see where it stands."""
    element.props["aria-label"] = label


def percent(share: float) -> str:
    """Return a share as people write it."""
    return f"{share:.1%}"
