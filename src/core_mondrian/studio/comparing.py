"""Two runs side by side, on the same axes."""

from collections.abc import Sequence
from typing import Final

from nicegui import ui

from core_mondrian.report.pictures import PAIR
from core_mondrian.studio.desk import Desk, heading, show_problem
from core_mondrian.studio.jobs import Job, Progress
from core_mondrian.studio.tables import show_table
from core_mondrian.studio.versus import Pair, Versus, compare_runs
from core_mondrian.studio.work import Run

_LEGEND: Final = '<span style="color:{colour}" aria-hidden="true">■</span> run {number}'
STYLE: Final = """
.studio-pair svg { max-width: 640px !important; }
"""


class Comparing:
    """Lets two runs be chosen, and shows what differs."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._job: Job[Versus] | None = None

    def build(self) -> None:
        """Make the room, with the newest run and the one before."""
        runs = self.desk.session.runs
        numbers = {run.number: f"Run {run.number}" for run in runs}
        with ui.expansion("Compare two runs", icon="compare", value=True).classes(
            "w-full"
        ):
            with ui.row().classes("items-center gap-4"):
                self._chosen = [
                    ui.select(numbers, label=label, value=run.number).classes("w-36")
                    for label, run in zip(("Compare", "with"), runs[-2:], strict=True)
                ]
            self._room = ui.column().classes("w-full gap-3").mark("compared")
        for select in self._chosen:
            select.on_value_change(self._compare)
        self._compare()

    def _compare(self) -> None:
        by_number = {run.number: run for run in self.desk.session.runs}
        first, second = (by_number[one.value] for one in self._chosen)

        def work(progress: Progress) -> Versus:
            progress("draw", 0.0)
            return compare_runs(first, second)

        def ended(job: Job[Versus]) -> None:
            if job is self._job and not self._room.is_deleted:
                self._show(job, first, second)

        self._room.clear()
        with self._room, ui.row().classes("items-center gap-2"):
            ui.spinner()
            ui.label("Comparing …")
        self._job = self.desk.start(work, ended)

    def _show(self, job: Job[Versus], first: Run, second: Run) -> None:
        self._room.clear()
        if job.problem is not None:
            show_problem(self._room, job.problem)
        if job.result is None:
            return
        heads = [f"run {first.number}", f"run {second.number}"]
        found = job.result
        with self._room:
            _show_settings(found, heads)
            heading("What was reached")
            show_table("What was reached", ["", *heads], found.figures)
            legend = " &nbsp; ".join(
                _LEGEND.format(colour=colour, number=run.number)
                for colour, run in zip(PAIR, (first, second), strict=True)
            )
            _show_charts("Loss by column", legend, found.pictures["lost"])
            show_table("Loss by column", ["column", *heads], found.losses)
            _show_charts("Sizes of groups", legend, found.pictures["sizes"])
            show_table("Sizes of groups", ["rows in the group", *heads], found.sizes)


def _show_settings(found: Versus, heads: Sequence[str]) -> None:
    heading("What was asked differently")
    if not found.settings:
        ui.label("Nothing: both runs were asked for the same.")
        return
    rows: list[Pair] = list(found.settings)
    show_table("What was asked differently", ["setting", *heads], rows)
    if found.n_more:
        ui.label(f"and {found.n_more:,} more").classes("studio-faint")


def _show_charts(title: str, legend: str, picture: str) -> None:
    heading(title)
    ui.html(legend, sanitize=False)
    # The chart library wrote it; what it quotes of the table is escaped there.
    ui.html(picture, sanitize=False).classes("studio-picture studio-pair w-full")
