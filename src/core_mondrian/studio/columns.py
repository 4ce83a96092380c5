"""The second step: what each column is, and who can be singled out by them."""

from typing import Any, Final

from nicegui import ui

from core_mondrian.guess import Guess
from core_mondrian.inspect import InspectedColumn
from core_mondrian.studio.desk import Desk, named, percent, show_problem, step
from core_mondrian.studio.draft import ROLES, Chosen
from core_mondrian.studio.jobs import Job
from core_mondrian.studio.keys import Keys
from core_mondrian.studio.work import Risk

_PAUSE: Final = 0.3
"""Seconds without a change before the rows are counted again."""
_AT_ONCE: Final = 40
"""Columns on one page of the list."""


class Columns:
    """Roles, and the risk that follows from them."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._risk_job: Job[Risk] | None = None
        self._asked: tuple[tuple[str, ...], int] = ((), 0)
        self._page = 1

    def build(self) -> None:
        """Make the room; it is filled when there is a table."""
        words = (
            "Mark what others may know of a person, such as age, sex or where they "
            "live: these columns are made coarser. What points at one person, such as "
            "names and numbers, is removed. These are guesses; you know better."
        )
        with step(2, "What is each column?", words):
            self._rows = ui.column().classes("w-full gap-0")
            self._pages = ui.row()
            Keys(self.desk).build()
            with ui.column().classes("studio-note w-full gap-1") as note:
                note.props("aria-live=polite")
                self._risk = ui.label().classes("text-bold").mark("risk")
                self._more = ui.label()
            self._problem = ui.column().classes("w-full")
        # One timer that is wound up again by every change: counting waits for a pause.
        self._timer = ui.timer(_PAUSE, self._count, active=False)
        self.desk.on_table.append(self._fill)
        self.desk.on_change.append(self._wind)

    def _fill(self) -> None:
        opened = self.desk.session.opened
        if opened is None:
            return
        self._page = 1
        self._pages.clear()
        n_pages = -(-len(opened.guesses) // _AT_ONCE)
        if n_pages > 1:
            with self._pages:
                ui.pagination(1, n_pages, direction_links=True, on_change=self._turn)
        self._show_page()

    def _turn(self, event: Any) -> None:  # noqa: ANN401  # NiceGUI's events
        self._page = int(event.value)
        self._show_page()

    def _show_page(self) -> None:
        opened = self.desk.session.opened
        if opened is None:
            return
        self._rows.clear()
        first = (self._page - 1) * _AT_ONCE
        both = list(zip(opened.found.columns, opened.guesses, strict=True))
        with self._rows:
            for column, guess in both[first : first + _AT_ONCE]:
                self._row(column, guess)

    def _row(self, column: InspectedColumn, guess: Guess) -> None:
        with ui.row().classes("studio-column w-full items-center justify-between"):
            with ui.column().classes("gap-0 col-12 col-sm-7"):
                ui.label(column.name).classes("studio-name")
                ui.label(_facts(column, guess)).classes("studio-faint text-sm")
            choice = ui.select(
                ROLES,
                value=self.desk.draft.roles[column.name],
                on_change=lambda event: self._assign(column.name, event.value),
            )
            choice.props("dense outlined options-dense").classes("col-12 col-sm-4")
            named(choice, f"role of {column.name}")

    def _assign(self, name: str, role: Chosen) -> None:
        draft = self.desk.draft
        if draft.roles[name] == role:
            return
        before = dict(draft.roles)
        draft.assign(name, role)
        if any(
            before[other] != draft.roles[other] for other in before if other != name
        ):
            self._show_page()  # the one that had this role lost it
        self.desk.changed()

    def _wind(self) -> None:
        known = tuple(self.desk.draft.columns_of("quasi-identifier"))
        if (known, self.desk.draft.k) == self._asked:
            return
        self._timer.deactivate()
        self._timer.activate()

    def _count(self) -> None:
        if self._risk_job is not None and self._risk_job.is_running:
            return  # counted again at the next tick
        self._timer.deactivate()
        opened, draft = self.desk.session.opened, self.desk.draft
        if opened is None:
            return
        known, k = tuple(draft.columns_of("quasi-identifier")), draft.k
        self._asked = (known, k)
        self._risk_job = self.desk.start(
            lambda _: opened.count_risk(known, k), self._counted
        )

    def _counted(self, job: Job[Risk]) -> None:
        self._problem.clear()
        if job.problem is not None:
            show_problem(self._problem, job.problem)
        risk = job.result
        if risk is None:
            return
        known, k = self._asked
        if not known:
            self._risk.set_text("No column is marked as one that others may know.")
            self._more.set_text("Then nothing is made coarser: mark at least one.")
            return
        columns = "this column" if len(known) == 1 else f"these {len(known)} columns"
        unique = percent(risk.n_unique / risk.n_rows)
        self._risk.set_text(
            f"{risk.n_unique:,} of {risk.n_rows:,} rows ({unique}) are unique in the "
            "table as it is."
        )
        self._more.set_text(
            f"Whoever knows {columns} of a person finds such a row at once. "
            f"{percent(risk.n_below_k / risk.n_rows)} of the rows look like fewer than "
            f"{k} rows; a guess which row is somebody's is right in "
            f"{percent(risk.average)} of cases."
        )


def _facts(column: InspectedColumn, guess: Guess) -> str:
    """Return what is known of a column, without a value of it."""
    told = guess.why
    if column.n_missing and "missing" not in told:
        told += f", {column.n_missing} missing"
    return f"{column.type} · {told}"
