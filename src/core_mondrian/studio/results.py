"""The fourth step: make a release, understand it, compare it, take it away."""

import math
from collections.abc import Callable
from typing import Final

from nicegui import ui

from core_mondrian.report.wording import say_useless
from core_mondrian.studio import comparing, tables
from core_mondrian.studio import run_details as making
from core_mondrian.studio.actions import DOWNLOADS, Run, make_release, say_reached
from core_mondrian.studio.choices import command
from core_mondrian.studio.comparing import Comparing
from core_mondrian.studio.jobs import Job, Progress
from core_mondrian.studio.page_context import (
    Desk,
    heading,
    percent,
    show_chart,
    show_code,
    show_problem,
    step,
)
from core_mondrian.studio.row_pages import RowPages
from core_mondrian.studio.run_details import Making

_STAGES: Final = {
    "read": "reading",
    "encode": "looking at columns",
    "collapse": "counting",
    "partition": "cutting",
    "recode": "writing cells",
    "verify": "checking",
    "warn": "looking for leaks",
    "measure": "measuring",
}
_TITLES: Final = {
    "release.csv": "Release (CSV)",
    "release.parquet": "Release (Parquet)",
    "spec.toml": "Spec",
    "manifest.json": "Manifest",
    "report.html": "Report",
    "owner.json": "Owner's record",
}

_GUARD: Final = (
    "A spreadsheet takes text that begins with = + - or @ for a formula and runs it. "
    "Switched on, the CSV file has an apostrophe before such text, and before such "
    "column names. Numbers stay as they are, and so does the Parquet file."
)


class Results:
    """Runs of this table, side by side, and one of them closely."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def build(self) -> None:
        """Make the room, and go on with what is at work or done already."""
        words = (
            "The release is made on this machine and checked by a second count before "
            "you get it. Run again with other choices to compare."
        )
        ui.add_css(tables.STYLE + making.STYLE + comparing.STYLE)
        with step(4, "The release", words):
            with ui.row().classes("items-center gap-3 w-full"):
                self._start = ui.button("Make the release", on_click=self._run)
                self._start.props("no-caps icon=play_arrow")
                self._stop = ui.button("Cancel", on_click=self._cancel)
                self._stop.props("outline no-caps")
                self._stage = ui.label().props("aria-live=polite").mark("stage")
            self._bar = ui.linear_progress(0, show_value=False).props(
                "instant-feedback"
            )
            self._bar.props["aria-label"] = "progress of the release"
            self._problem = ui.column().classes("w-full")
            self._compared = ui.column().classes("w-full gap-2")
            self._details = ui.column().classes("w-full gap-3")
        self.desk.on_table.append(self._show_runs)
        job = self.desk.session.release_job
        is_running = job is not None and job.is_running
        self._show_running(is_running=is_running)
        if job is not None and is_running:
            self.desk.watch(job, self._ended, self._progressed)

    def _show_running(self, *, is_running: bool) -> None:
        self._start.set_enabled(not is_running)
        self._stop.visible = is_running
        self._bar.visible = is_running

    def _run(self) -> None:
        session = self.desk.session
        opened, draft = session.opened, self.desk.copy_draft()
        if opened is None:
            return
        session.n_started += 1
        number, key = session.n_started, session.key

        def work(progress: Progress) -> Run:
            return make_release(opened, draft, number, progress, key)

        self._problem.clear()
        self._stage.set_text("starting; the first run on a machine takes a minute more")
        self._show_running(is_running=True)
        session.release_job = self.desk.start(work, self._ended, self._progressed)

    def _cancel(self) -> None:
        job = self.desk.session.release_job
        if job is not None:
            job.cancel()
            self._stage.set_text("stopping …")

    def _progressed(self, job: Job[Run]) -> None:
        if job.is_cancelled or job.stage not in _STAGES:
            return
        place = list(_STAGES).index(job.stage)
        self._bar.value = (place + job.done) / len(_STAGES)
        self._stage.set_text(f"{_STAGES[job.stage]} … {job.done:.0%}")

    def _ended(self, job: Job[Run]) -> None:
        self._show_running(is_running=False)
        self._stage.set_text("")
        session = self.desk.session
        if job.problem is not None:
            show_problem(self._problem, job.problem)
        elif job.result is None:
            self._stage.set_text("cancelled; nothing was kept")
        elif job is session.release_job and job.result not in session.runs:
            session.runs.append(job.result)
            self._show_runs()

    def _show_runs(self) -> None:
        self._compared.clear()
        self._details.clear()
        runs = self.desk.session.runs
        if not runs:
            return
        with self._compared:
            heading("Runs side by side", 3)
            rows = [_compared(run) for run in reversed(runs)]
            tables.show_table("runs", list(rows[0]), [[*row.values()] for row in rows])
            if len(runs) > 1:
                Comparing(self.desk).build()
                ui.select(
                    {run.number: f"Run {run.number}" for run in runs},
                    label="Look closely at",
                    value=runs[-1].number,
                    on_change=lambda event: self._show_run(event.value),
                ).classes("w-48")
        self._show_run(runs[-1].number)

    def _show_run(self, number: int) -> None:
        self._details.clear()
        found = [run for run in self.desk.session.runs if run.number == number]
        with self._details:
            for run in found:
                self._show_details(run)

    def _show_details(self, run: Run) -> None:
        show_reached(run)
        self._show_downloads(run)
        shows: dict[str, Callable[[Run], None]] = {
            "Loss by column": show_losses,
            "Loss by group": show_groups,
            "Sizes of groups": show_sizes,
            "Before and after": lambda run: RowPages(run.rows).build(),
            "How it was made": lambda run: Making(self.desk, run).build(),
            "Spec": show_spec,
        }
        if run.groups is None:
            del shows["Loss by group"]
        with ui.tabs().props("no-caps align=left").classes("w-full") as tabs:
            for name in shows:
                ui.tab(name)
        room = ui.column().classes("w-full q-pa-sm")

        def show(name: str) -> None:
            """Build what is looked at, and nothing else: tables take their time."""
            room.clear()
            with room:
                shows[name](run)

        tabs.on_value_change(lambda event: show(event.value))
        tabs.set_value("Loss by column")

    def _show_downloads(self, run: Run) -> None:
        session = self.desk.session.name
        with ui.row().classes("items-center gap-2"):
            ui.label("Take it away:")
            for name in DOWNLOADS:
                if name in run.downloads:
                    link = ui.link(
                        _TITLES[name], f"/files/{session}/{run.number}/{name}"
                    )
                    link.props(f"download={name}").classes("q-mr-sm")
            ui.link("Read the report", f"/read/{session}/{run.number}", new_tab=True)
            if "release.csv" in run.downloads:
                self._show_guard(run)

    def _show_guard(self, run: Run) -> None:
        guard = ui.switch(
            "CSV for a spreadsheet: no formulas",
            value=run.draft.guards_formulas,
            on_change=lambda event: self._guard(run.number, is_on=event.value),
        )
        guard.props["aria-description"] = _GUARD
        with guard:
            ui.tooltip(_GUARD).props("max-width=26rem").classes("text-body2")

    def _guard(self, number: int, *, is_on: bool) -> None:
        """Have this run's files, and those of runs to come, guarded or not."""
        runs = self.desk.session.runs
        for place, run in enumerate(runs):
            if run.number == number:
                runs[place] = run.guarded(is_on=is_on)
        self.desk.draft.guards_formulas = is_on
        self.desk.changed()
        self._show_run(number)


def show_reached(run: Run) -> None:
    """Say what was promised and found again in the finished release."""
    release, found = run.release, run.release.verification
    loss = release.measures().loss
    with ui.column().classes("studio-note w-full gap-1"):
        ui.label(f"Run {run.number}: verified.").classes("text-bold").mark("verified")
        ui.label(say_reached(run)).mark("reached")
        for model in found.models:
            if math.isfinite(model.reached):
                ui.label(f"{model.name}: reached {model.reached:.4g}")
        if loss is not None:
            ui.label(
                f"{percent(loss)} of the detail in these columns is lost (0 %: as it "
                "was, 100 %: nothing can be seen)."
            )
        if lost := say_useless(release.measures().columns, release.spec):
            ui.label(
                f"Hardly anything is left of {', '.join(lost)}: groups of its values "
                "(step 3) would keep some of it."
            ).mark("useless")
    for concern in release.warnings:
        if not concern.accepted:
            with ui.row().classes("items-start no-wrap gap-2"):
                ui.icon("warning_amber", color="warning")
                ui.label(concern.text)


def show_losses(run: Run) -> None:
    """Show what each column lost, as bars and figures."""
    show_chart(run.pictures["lost"])
    ui.label("0 %: as it was; 100 %: nothing can be seen (NCP).").classes(
        "studio-faint"
    )


def show_groups(run: Run) -> None:
    """Show what each group of the named column lost."""
    if run.groups is None:
        return
    heads = (run.groups, "rows", "left out", "lost", "times all")
    rows = [
        (
            one.group,
            f"{one.n_rows:,}",
            percent(one.share_suppressed),
            percent(one.loss),
            "" if one.ratio is None else f"{one.ratio:.2f}",
        )
        for one in run.lost
    ]
    tables.show_table("what each group lost", heads, rows)


def show_sizes(run: Run) -> None:
    """Show how many rows are in groups of which size."""
    ui.label("Shares of the released rows by the size of their group:")
    show_chart(run.pictures["sizes"])


def show_spec(run: Run) -> None:
    """Show how the command line makes the same release."""
    show_code(run.toml, "toml")
    ui.label("Save it as spec.toml; this makes the same release, with the same digest:")
    has_key = bool(run.release.spec.pseudonyms)
    same = command(run.title, run.groups, has_key=has_key)
    show_code(same, "bash")
    ui.label(f"digest {run.release.digest}").style("overflow-wrap: anywhere")


def _compared(run: Run) -> dict[str, str]:
    """Return a run in a line: what was asked, what was reached."""
    release, spec = run.release, run.release.spec
    loss = release.measures().loss
    effort = getattr(spec.policy, "effort", None)
    return {
        "run": str(run.number),
        "k": str(spec.min_rows),
        "columns": str(len(spec.quasi_identifiers)),
        "models": ", ".join(model.title for model in spec.models),
        "policy": spec.policy.name + (f", {effort}" if effort else ""),
        "lost": "" if loss is None else f"{loss:.2%}",
        "groups": f"{release.verification.n_classes:,}",
        "smallest": release.verification.smallest,
        "left out": f"{release.n_suppressed:,}",
        "digest": release.digest[:12],
    }
