"""Two runs side by side, on the same axes."""

from collections.abc import Sequence
from typing import Final

from nicegui import ui

from core_mondrian.report.pictures import PAIR
from core_mondrian.studio.actions import Run
from core_mondrian.studio.jobs import Job, Progress
from core_mondrian.studio.page_context import Desk, heading, show_chart, show_problem
from core_mondrian.studio.run_diff import Pair, Versus, compare_runs
from core_mondrian.studio.tables import show_table

STYLE: Final = f"""
.studio-two {{ display: grid; grid-template-columns: repeat(auto-fit,
  minmax(min(100%, 26rem), 1fr)); gap: 8px 32px; width: 100%; align-items: start; }}
.studio-key-0 {{ color: {PAIR[0]}; }}
.studio-key-1 {{ color: {PAIR[1]}; }}
.body--dark .studio-key-0 {{ color: #3d9bd6; }}
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
            self._room = ui.element("div").classes("studio-two").mark("compared")
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
            with _part("What was asked differently"):
                _show_settings(found, heads)
            with _part("What was reached"):
                show_table("What was reached", ["", *heads], found.figures)
            for title, about, drawn, pairs in (
                ("Loss by column", "column", "lost", found.losses),
                ("Sizes of groups", "rows in the group", "sizes", found.sizes),
            ):
                with _part(title):
                    _show_legend(heads)
                    show_chart(found.pictures[drawn])
                    show_table(title, [about, *heads], pairs)


def _show_settings(found: Versus, heads: Sequence[str]) -> None:
    if not found.settings:
        ui.label("Nothing: both runs were asked for the same.")
        return
    rows: list[Pair] = list(found.settings)
    show_table("What was asked differently", ["setting", *heads], rows)
    if found.n_more:
        ui.label(f"and {found.n_more:,} more").classes("studio-faint")


def _part(title: str) -> ui.column:
    room = ui.column().classes("w-full gap-1")
    with room:
        heading(title)
    return room


def _show_legend(names: Sequence[str]) -> None:
    with ui.row().classes("gap-4"):
        for i, name in enumerate(names):
            with ui.row().classes("items-center gap-1"):
                ui.label("■").classes(f"studio-key-{i}").props("aria-hidden=true")
                ui.label(name)
