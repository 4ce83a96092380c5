"""The release beside the controls: make it, see what it reached, take it away."""

import math
from typing import Final

from nicegui import ui

from core_mondrian.report.wording import lost_categories, part_of
from core_mondrian.studio.actions import Run, make_release, reached_text
from core_mondrian.studio.jobs import Job, Progress
from core_mondrian.studio.page_context import PageContext, percent, show_problem, step

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
    "manifest.json": "Manifest",
    "report.html": "Report",
    "spec.toml": "Spec",
    "owner.json": "Owner's record",
}
_GUARD: Final = (
    "A spreadsheet takes text that begins with = + - or @ for a formula and runs it. "
    "Switched on, the CSV file has an apostrophe before such text, and before such "
    "column names. Numbers stay as they are, and so does the Parquet file."
)
# Pressed by the keyboard from anywhere on the page, without a word to the server.
_SHORTCUT: Final = """document.addEventListener('keydown', (event) => {{
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
    getHtmlElement({id})?.click();
}});"""


class ReleasePanel:
    """Makes releases, and shows the one that is looked at."""

    def __init__(self, context: PageContext) -> None:
        self.context = context
        self._old: ui.label | None = None

    def build(self) -> None:
        """Make the room, and go on with what is at work or done already."""
        words = "Made on this machine, and checked by a second, independent count."
        with step(4, "The release", words):
            with ui.row().classes("items-center gap-2 w-full"):
                self._start = ui.button("Make the release", on_click=self._make)
                self._start.props("no-caps icon=play_arrow").classes("col-grow")
                self._start.props["aria-keyshortcuts"] = "Control+Enter"
                with self._start:
                    keys = ui.label("Ctrl + Enter").classes("studio-keys")
                    keys.props["aria-hidden"] = "true"
                self._stop = ui.button("Cancel", on_click=self._cancel)
                self._stop.props("outline no-caps")
            self._stage = ui.label().props("aria-live=polite").mark("stage")
            self._bar = ui.linear_progress(0, show_value=False)
            self._bar.props("instant-feedback")
            self._bar.props["aria-label"] = "progress of the release"
            self._problem = ui.column().classes("w-full")
            self._room = ui.column().classes("w-full gap-3")
        ui.run_javascript(_SHORTCUT.format(id=self._start.id))
        self.context.on_run.append(self._show)
        self.context.on_change.append(self._mark_old)
        job = self.context.session.release_job
        is_running = job is not None and job.is_running
        self._show_running(is_running=is_running)
        if job is not None and is_running:
            self.context.watch(job, self._ended, self._progressed)

    def _show_running(self, *, is_running: bool) -> None:
        self._start.set_enabled(not is_running)
        self._stop.visible = is_running
        self._bar.visible = is_running
        self._stage.visible = is_running

    def _set_stage(self, words: str) -> None:
        self._stage.set_text(words)
        self._stage.visible = bool(words)

    def _make(self) -> None:
        session = self.context.session
        opened, draft = session.opened, self.context.copy_draft()
        if opened is None:
            return
        session.n_started += 1
        number, key = session.n_started, session.key

        def work(progress: Progress) -> Run:
            return make_release(opened, draft, number, progress, key)

        self._problem.clear()
        self._bar.value = 0
        self._show_running(is_running=True)
        self._set_stage("starting …")
        session.release_job = self.context.start(work, self._ended, self._progressed)

    def _cancel(self) -> None:
        job = self.context.session.release_job
        if job is not None:
            job.cancel()
            self._set_stage("stopping …")

    def _progressed(self, job: Job[Run]) -> None:
        if job.is_cancelled or job.stage not in _STAGES:
            return
        place = list(_STAGES).index(job.stage)
        self._bar.value = (place + job.done) / len(_STAGES)
        self._set_stage(f"{_STAGES[job.stage]} … {job.done:.0%}")

    def _ended(self, job: Job[Run]) -> None:
        self._show_running(is_running=False)
        self._set_stage("")
        session = self.context.session
        if job.problem is not None:
            show_problem(self._problem, job.problem)
        elif job.result is None:
            self._set_stage("cancelled; nothing was kept")
        elif job is session.release_job and job.result not in session.runs:
            session.runs.append(job.result)
            self.context.show_run(job.result)

    def _show(self) -> None:
        """Show the run that is looked at: the verdict, the figures, the files."""
        self._room.clear()
        self._old = None
        run, runs = self.context.run, self.context.session.runs
        if run is None:
            return
        with self._room:
            self._old = ui.label("Your choices have changed since: make it again.")
            self._old.classes("studio-note studio-warned w-full").mark("old")
            _show_verdict(run)
            _show_warnings(run)
            self._show_downloads(run)
            if len(runs) > 1:
                ui.select(
                    {one.number: f"Run {one.number}" for one in runs},
                    label="Look closely at",
                    value=run.number,
                    on_change=lambda event: self._choose(event.value),
                ).classes("w-full")
        self._mark_old()

    def _choose(self, number: int) -> None:
        for run in self.context.session.runs:
            if run.number == number:
                self.context.show_run(run)

    def _mark_old(self) -> None:
        """Say that a run is not of the present choices, and what to press then."""
        run = self.context.run
        is_current = run is not None and self.context.draft.to_toml() == run.toml
        if self._old is not None:
            self._old.visible = not is_current
        self._start.props(**{"add" if is_current else "remove": "outline"})

    def _show_downloads(self, run: Run) -> None:
        first, *others = run.downloads
        with ui.column().classes("w-full gap-1"):
            with self._link(run, first, "").classes("studio-download"):
                ui.label("Download the release")
            ui.label(run.downloads[first]).classes("studio-faint studio-file")
            if "release.csv" in run.downloads:
                self._show_guard(run)
        with ui.column().classes("w-full gap-1"):
            ui.label("What belongs to it").props("role=heading aria-level=3").classes(
                "text-bold"
            )
            for name in others:
                with ui.row().classes("items-baseline gap-x-2 gap-y-0"):
                    self._link(run, name, _TITLES[name])
                    ui.label(run.downloads[name]).classes("studio-faint studio-file")
            ui.link(
                "Read the report",
                f"/read/{self.context.session.name}/{run.number}",
                new_tab=True,
            )

    def _link(self, run: Run, name: str, text: str) -> ui.link:
        link = ui.link(text, f"/files/{self.context.session.name}/{run.number}/{name}")
        link.props["download"] = run.downloads[name]
        return link

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
        runs = self.context.session.runs
        self.context.draft.guards_formulas = is_on
        for place, run in enumerate(runs):
            if run.number == number:
                runs[place] = run.guarded(is_on=is_on)
                self.context.show_run(runs[place])
        self.context.changed()


def _show_verdict(run: Run) -> None:
    """Say what was promised and found again in the finished release."""
    with ui.column().classes("studio-note studio-good w-full gap-1"):
        ui.label(f"Run {run.number}: verified.").classes("text-bold").mark("verified")
        ui.label(reached_text(run)).mark("reached")
    release, smallest = run.release, run.risk.smallest
    n = release.n_rows
    loss = release.measures().loss
    with ui.element("div").classes("studio-tiles"):
        _tile("detail lost", "-" if loss is None else percent(loss))
        _tile("best guess is right", "never" if not smallest else f"1 in {smallest:,}")
        _tile("groups that look alike", f"{run.risk.n_groups:,}")
        _tile("rows released", part_of(n - release.n_suppressed, n))
    with ui.column().classes("gap-0 text-sm"):
        for model in release.verification.models:
            if math.isfinite(model.reached):
                ui.label(f"{model.name}: reached {model.reached:.4g}")


def _tile(words: str, figure: str) -> None:
    with ui.column().classes("studio-tile gap-0"):
        ui.label(figure).classes("studio-figure")
        ui.label(words).classes("studio-faint text-sm")


def _show_warnings(run: Run) -> None:
    release = run.release
    texts = [one.text for one in release.warnings if not one.accepted]
    if lost := lost_categories(release.measures().columns, release.spec):
        texts.append(
            f"Hardly anything is left of {', '.join(lost)}: groups of its values "
            "(step 3) would keep some of it."
        )
    for text in texts:
        with ui.row().classes("studio-note studio-warned items-start no-wrap gap-2"):
            ui.icon("warning_amber", color="warning").props("aria-hidden=true")
            ui.label(text).classes("text-sm")
