"""The second step: what each column is, and who can be singled out by them."""

from typing import Any, Final

from nicegui import ui

from core_mondrian.studio.column_row import ColumnRow
from core_mondrian.studio.draft import Chosen
from core_mondrian.studio.jobs import Job
from core_mondrian.studio.keys import Keys
from core_mondrian.studio.page_context import PageContext, show_problem, step
from core_mondrian.studio.risks import RiskCounts, count_risks, risk_text

_PAUSE: Final = 0.3
"""Seconds without a change before the rows are counted again."""
_AT_ONCE: Final = 40
"""Columns on one page of the list."""


class Columns:
    """Roles, and the risk that follows from them."""

    def __init__(self, context: PageContext) -> None:
        self.context = context
        self._job: Job[RiskCounts] | None = None
        self._found: RiskCounts | None = None
        """What is counted, or being counted."""
        self._page = 1
        self._shown: list[ColumnRow] = []

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
            Keys(self.context).build()
            self._problem = ui.column().classes("w-full")
        # One timer that is wound up again by every change: counting waits for a pause.
        self._timer = ui.timer(_PAUSE, self._count, active=False)
        self.context.on_table.append(self._fill)
        self.context.on_change.append(self._follow)

    def build_risk(self) -> None:
        """Make the room of what the columns give away as they are, kept in view."""
        with ui.column().classes("studio-note w-full gap-1") as note:
            note.props("aria-live=polite")
            self._risk = ui.label().classes("text-bold").mark("risk")
            self._more = ui.label().classes("text-sm")

    def _fill(self) -> None:
        opened = self.context.session.opened
        if opened is None:
            return
        self._page = 1
        self._found = None
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
        opened = self.context.session.opened
        if opened is None:
            return
        self._rows.clear()
        first = (self._page - 1) * _AT_ONCE
        both = list(zip(opened.found.columns, opened.guesses, strict=True))
        self._shown = [
            ColumnRow(self.context, column, guess, self._assign)
            for column, guess in both[first : first + _AT_ONCE]
        ]
        with self._rows:
            for row in self._shown:
                row.build()
                row.show_figures(self._found)

    def _assign(self, name: str, role: Chosen) -> None:
        draft = self.context.draft
        if draft.roles[name] == role:
            return
        before = dict(draft.roles)
        draft.assign(name, role)
        if any(
            before[other] != draft.roles[other] for other in before if other != name
        ):
            self._show_page()  # the one that had this role lost it
        self.context.changed()

    def _known_columns(self) -> tuple[tuple[str, ...], str | None]:
        """Return the columns that others may know, and the one that says whose."""
        draft = self.context.draft
        unit = next(iter(draft.columns_of("unit")), None)
        return tuple(draft.columns_of("quasi-identifier")), unit

    def _follow(self) -> None:
        """Show what was changed, and count again if it was the roles."""
        for row in self._shown:
            row.follow()
        risks = self._found
        if risks is not None and (risks.names, risks.unit) == self._known_columns():
            self._show_note()  # k may be another
            return
        self._timer.deactivate()
        self._timer.activate()

    def _count(self) -> None:
        if self._job is not None and self._job.is_running:
            self._job.cancel()
            return  # begun at the next tick
        self._timer.deactivate()
        opened = self.context.session.opened
        if opened is None:
            return
        risks = self._found = RiskCounts(*self._known_columns())
        self._job = self.context.start(
            lambda progress: count_risks(opened, risks, progress),
            self._counted,
            lambda _: self._show_figures(),
        )

    def _counted(self, job: Job[RiskCounts]) -> None:
        if job is not self._job:
            return
        self._problem.clear()
        if job.problem is not None:
            show_problem(self._problem, job.problem)
        self._show_figures()

    def _show_figures(self) -> None:
        self._show_note()
        for row in self._shown:
            row.show_figures(self._found)

    def _show_note(self) -> None:
        risks = self._found
        if risks is not None and not risks.names:
            self._risk.set_text("No column is marked as one that others may know.")
            self._more.set_text("Then nothing is made coarser: mark at least one.")
        elif risks is not None and risks.total is not None:
            risk, more = risk_text(risks, self.context.draft.k)
            self._risk.set_text(risk)
            self._more.set_text(more)
