"""The page: its frame and its first step, the table."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from nicegui import events, ui

from core_mondrian.errors import MondrianError
from core_mondrian.studio.actions import OpenedTable, check_suffix, make_up, open_table
from core_mondrian.studio.choices import Choices
from core_mondrian.studio.columns import Columns
from core_mondrian.studio.jobs import Job, Progress
from core_mondrian.studio.open_spec import OpenSpec
from core_mondrian.studio.page_context import PageContext, named, show_problem, step
from core_mondrian.studio.preview import write_preview
from core_mondrian.studio.reading import Named
from core_mondrian.studio.release_panel import ReleasePanel
from core_mondrian.studio.results import Results
from core_mondrian.studio.session import Session, Studio
from core_mondrian.studio.uploads import name_upload, too_large

Work = Callable[[Progress], OpenedTable]

_DARK: Final = "studio_dark"
"""The cookie that remembers what was chosen; all ports of this machine share it."""
_TOGGLE: Final = f"""Quasar.Dark.toggle();
document.cookie = '{_DARK}=' + Quasar.Dark.isActive
  + '; path=/; max-age=31536000; samesite=strict';"""
_STEPS: Final = {1: "Table", 2: "Columns", 3: "Protection", 4: "Release"}
_WORDS: Final = {
    1: "Choose a file. You see its columns, types and values at once.",
    2: "Say what others may know of a person. A first guess is made for you.",
    3: "Choose k, and protect what is sensitive. A curve shows what each k costs.",
    4: "One button makes the release, recounts it and offers its files.",
}
"""What happens in each step, for whoever opens the page for the first time."""


class Page:
    """One tab: the steps from a table to a release."""

    def __init__(self, studio: Studio, session: Session) -> None:
        self.context = PageContext(studio, session)
        self._spec: Named | None = None
        """What to go on with as soon as the table is read."""

    def build(self) -> None:
        """Fill the page from what the session has."""
        ui.colors(primary="#1d4e89")
        ui.add_css(Path(__file__).with_name("style.css"))
        _recall_dark()
        _show_header()
        columns = Columns(self.context)
        with ui.column().classes("w-full studio-main gap-4 q-pa-md"):
            self._first_step()
            self._intro = ui.element("ol").classes("studio-intro")
            with self._intro:
                _show_steps()
            with ui.column().classes("w-full gap-4") as self._others:
                with ui.element("div").classes("studio-grid"):
                    with ui.column().classes("w-full gap-4"):
                        columns.build()
                        Choices(self.context).build()
                    with ui.column().classes("w-full gap-4 studio-side"):
                        columns.build_risk()
                        ReleasePanel(self.context).build()
                Results(self.context).build()
        self._show_table()
        ui.timer(0.1, self.context.poll)
        self._follow_connection()

    def _follow_connection(self) -> None:
        session, client = self.context.session, ui.context.client

        def shown(*, is_shown: bool) -> None:
            session.is_shown = is_shown

        client.on_connect(lambda: shown(is_shown=True))
        client.on_disconnect(lambda: shown(is_shown=False))

    def _first_step(self) -> None:
        words = (
            "CSV with the columns' names in its first line, Parquet or Arrow; one row "
            "per person is best. It is read on this machine and sent nowhere."
        )
        with step(1, "The table", words):
            most = self.context.studio.most_bytes
            with ui.row().classes("items-center gap-3 w-full"):
                upload = ui.upload(
                    label="Choose or drop a file",
                    auto_upload=True,
                    max_file_size=most,
                    on_upload=self._uploaded,
                    on_rejected=self._refuse_size,
                )
                upload.props("flat bordered hide-upload-btn").classes(
                    "studio-upload col-grow"
                )
                name_upload(upload, "choose or drop a file")
                ui.label("or").classes("studio-or")
                ui.button("Try it with a made-up census", on_click=self._make_up).props(
                    "outline no-caps"
                )
            self._problem = ui.column().classes("w-full")
            with ui.row().classes("items-center gap-2") as self._busy:
                ui.spinner()
                ui.label("Reading and counting …")
            self._busy.visible = False
            self._table = ui.label().classes("text-bold").mark("table")
            self._preview = ui.html("", sanitize=False).classes("w-full")
            self._preview.mark("preview")
            self._opening = OpenSpec(self.context)
            self._opening.build()
        self._upload = upload
        first = self.context.studio.first
        if first is not None and self.context.session.opened is None:
            self._open(lambda progress: open_table(first, first.name, progress))
            self._spec = self.context.studio.first_spec

    def _refuse_size(self) -> None:
        show_problem(self._problem, too_large(self.context.studio.most_bytes))

    async def _uploaded(self, event: events.UploadEventArguments) -> None:
        title = event.file.name.replace("\\", "/").rpartition("/")[2]
        self._upload.reset()
        try:
            suffix = check_suffix(title)
        except MondrianError as error:
            show_problem(self._problem, error)
            return
        session = self.context.session
        session.n_files += 1
        # The name is the user's: it is shown, and never a place on the disk.
        path = session.folder / f"table-{session.n_files}{suffix}"
        await event.file.save(path)
        self._open(lambda progress: open_table(path, title, progress))

    def _make_up(self) -> None:
        folder = self.context.session.folder

        def work(progress: Progress) -> OpenedTable:
            return make_up(folder, progress)

        self._open(work)

    def _open(self, work: Work) -> None:
        self._problem.clear()
        self._busy.visible = True
        self.context.start(work, self._opened)

    def _opened(self, job: Job[OpenedTable]) -> None:
        self._busy.visible = False
        if job.problem is not None:
            show_problem(self._problem, job.problem)
        elif job.result is not None:
            self.context.session.take(job.result)
            self._show_table()
            if self._spec is not None:
                self._opening.take(self._spec, is_copied=True)
                self._spec = None

    def _show_table(self) -> None:
        opened = self.context.session.opened
        self._others.visible = opened is not None
        self._intro.visible = opened is None
        if opened is None:
            return
        table, shown = opened.table, len(opened.previews)
        text = f"{opened.title}: {table.num_rows:,} rows, {table.num_columns} columns"
        if shown < table.num_columns:
            text += f"; the first {shown} are shown"
        self._table.set_text(text)
        self._preview.set_content(write_preview(table, opened.previews))
        self.context.table_changed()


def _show_steps() -> None:
    for number, title in _STEPS.items():
        with ui.element("li"):
            ui.label(f"{number}. {title}").classes("studio-name")
            ui.label(_WORDS[number]).classes("studio-faint")


def _recall_dark() -> None:
    """Begin dark or light as this browser was left; else as its system is."""
    request = ui.context.client.request
    chosen = {"true": True, "false": False}.get(request.cookies.get(_DARK, ""))
    if chosen is not None:
        ui.dark_mode(chosen)


def _show_header() -> None:
    with ui.header().classes("items-center justify-between no-wrap studio-header"):
        ui.label("core-mondrian studio").classes("text-lg studio-brand").props(
            "role=heading aria-level=1"
        )
        with ui.element("nav").classes("row studio-nav") as nav:
            named(nav, "steps")
            for number, title in _STEPS.items():
                ui.link(title, f"#step-{number}")
        with ui.row().classes("items-center gap-2 no-wrap"):
            ui.label("Everything stays on this machine.").classes("gt-sm")
            button = ui.button(icon="contrast")
            button.on("click", js_handler=f"() => {{ {_TOGGLE} }}")
            button.props("flat round color=white")
            named(button, "dark or light")
