"""The page: its frame and its first step, the table."""

from collections.abc import Callable

from nicegui import events, ui

from core_mondrian.errors import MondrianError
from core_mondrian.studio.actions import Opened, check_suffix, make_up, open_table
from core_mondrian.studio.choices import Choices
from core_mondrian.studio.columns import Columns
from core_mondrian.studio.jobs import Job, Progress
from core_mondrian.studio.open_spec import Opening
from core_mondrian.studio.page_context import Desk, show_problem, step
from core_mondrian.studio.reading import Named
from core_mondrian.studio.results import Results
from core_mondrian.studio.session import Session, Studio
from core_mondrian.studio.uploads import name_upload, too_large

Work = Callable[[Progress], Opened]

_STYLE = """
.studio-main { max-width: 1120px; margin: 0 auto; }
.studio-step { padding: 20px 24px; gap: 10px; }
.studio-number { width: 30px; height: 30px; border-radius: 50%; color: white;
  background: var(--q-primary); display: flex; align-items: center;
  justify-content: center; font-weight: 600; flex: none; }
.studio-title { font-size: 1.25rem; font-weight: 600; line-height: 1.3; }
.studio-faint { opacity: .72; }
.studio-figure { font-size: 1.6rem; font-weight: 600; line-height: 1.2; }
.studio-problem { background: rgba(193, 0, 21, .1); border-left: 4px solid #c10015;
  border-radius: 4px; padding: 10px 14px; gap: 10px; white-space: pre-wrap; }
.studio-note { background: rgba(29, 78, 137, .08); border-left: 4px solid
  var(--q-primary); border-radius: 4px; padding: 10px 14px; }
.body--dark .studio-note { background: rgba(120, 170, 230, .14); }
.studio-main a { color: #1d4e89; }
.body--dark .studio-main a { color: #8fbcf0; }
.body--dark .q-btn--outline, .body--dark .q-btn--flat, .body--dark .q-field,
.body--dark .q-menu, .body--dark .q-toggle { --q-primary: #8fbcf0; }
.body--dark .q-field--error { --q-negative: #ff8a80; }
.body--dark .studio-main .q-linear-progress { --q-primary: #5f9be0; }
.studio-column { border-bottom: 1px solid rgba(128, 128, 128, .25);
  padding: 6px 0; }
.studio-name { font-weight: 600; overflow-wrap: anywhere; }
.studio-chart { background: white; border-radius: 6px; max-width: 100%; height: auto; }
.studio-curve { position: relative; max-width: 100%; line-height: 0; }
.studio-point { position: absolute; padding: 0; border: 0; background: transparent;
  cursor: pointer; outline: none; }
.studio-point[disabled] { cursor: not-allowed; }
.studio-point::before { content: ""; position: absolute; top: 0; bottom: 0;
  left: calc(var(--x) - 1px); border-left: 2px dashed transparent; }
.studio-point::after { content: ""; position: absolute; width: 18px; height: 18px;
  left: calc(var(--x) - 9px); top: calc(var(--y) - 9px); border-radius: 50%;
  border: 3px solid transparent; }
.studio-point:not([disabled]):hover::before { border-color: #9a9a9a; }
.studio-point:focus-visible { box-shadow: inset 0 0 0 2px #1d4e89; }
.studio-point.studio-chosen::before { border-left: 2px solid rgba(213, 94, 0, .6); }
.studio-point.studio-chosen::after { border-color: #d55e00; }
.studio-figures td, .studio-figures th { text-align: right; }
.studio-figures td:first-child, .studio-figures th:first-child,
.studio-figures .studio-why { text-align: left; }
.studio-figures .studio-why div { white-space: normal; max-width: min(22rem, 50vw); }
.studio-figures tr.studio-chosen { background: rgba(213, 94, 0, .12); }
.studio-figures .q-btn.studio-chosen { font-weight: 700; }
.studio-picture svg { display: block; width: 100%; height: auto; }
.body--dark .studio-picture [fill="#222222"] { fill: #e8eaed; }
.body--dark .studio-picture [stroke="#e6e6e6"] { stroke: #4a4f56; }
.body--dark .studio-picture [fill="#0072b2"] { fill: #3d9bd6; }
.studio-step .q-table th { font-weight: 600; }
.studio-upload .q-uploader__list { display: none; }
.studio-upload .q-uploader__subtitle { display: none; }
/* All of the bar opens the files, not only the sign at its end. */
.studio-upload .q-uploader__header-content .q-btn { position: static; }
.studio-upload .q-uploader__header { position: relative; }
.studio-upload .q-uploader__input { cursor: pointer; }
.studio-drop { min-height: 40px; }
.studio-value { cursor: grab; }
.studio-step pre { white-space: pre-wrap; overflow-wrap: anywhere; }
@media (max-width: 600px) { .studio-step { padding: 14px 12px; } }
"""


def _toggle_dark() -> None:
    """Change what is seen, also where the browser's own choice was taken."""
    ui.run_javascript("Quasar.Dark.toggle()")


class Page:
    """One tab: the steps from a table to a release."""

    def __init__(self, studio: Studio, session: Session) -> None:
        self.desk = Desk(studio, session)
        self._spec: Named | None = None
        """What to go on with as soon as the table is read."""

    def build(self) -> None:
        """Fill the page from what the session has."""
        ui.colors(primary="#1d4e89")
        ui.add_css(_STYLE)
        self._frame()
        with ui.column().classes("w-full studio-main gap-4 q-pa-md"):
            self._first_step()
            with ui.column().classes("w-full gap-4") as self._others:
                Columns(self.desk).build()
                Choices(self.desk).build()
                Results(self.desk).build()
        self._show_table()
        ui.timer(0.1, self.desk.poll)
        self._follow_connection()

    def _frame(self) -> None:
        with ui.header().classes("items-center justify-between q-px-md q-py-sm"):
            ui.label("core-mondrian studio").classes("text-lg").props(
                "role=heading aria-level=1"
            )
            with ui.row().classes("items-center gap-2"):
                ui.label("Everything stays on this machine.").classes("gt-xs")
                button = ui.button(icon="contrast", on_click=_toggle_dark)
                button.props("flat round color=white")
                button.props["aria-label"] = "dark or light"

    def _follow_connection(self) -> None:
        session, client = self.desk.session, ui.context.client

        def shown(*, is_shown: bool) -> None:
            session.is_shown = is_shown

        client.on_connect(lambda: shown(is_shown=True))
        client.on_disconnect(lambda: shown(is_shown=False))

    def _first_step(self) -> None:
        words = (
            "Choose a table with one row per person: CSV, with the columns' names in "
            "its first line, Parquet or Arrow. It is read on this machine and sent "
            "nowhere. Then you say what each column is and how much protection it "
            "needs, and get a table in which every row looks like several others."
        )
        with step(1, "The table", words):
            most = self.desk.studio.most_bytes
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
                ui.label("or")
                ui.button("Try it with a made-up census", on_click=self._make_up).props(
                    "outline no-caps"
                )
            self._problem = ui.column().classes("w-full")
            with ui.row().classes("items-center gap-2") as self._busy:
                ui.spinner()
                ui.label("Reading and counting …")
            self._busy.visible = False
            self._table = ui.label().classes("text-bold").mark("table")
            self._opening = Opening(self.desk)
            self._opening.build()
        self._upload = upload
        first = self.desk.studio.first
        if first is not None and self.desk.session.opened is None:
            self._open(lambda progress: open_table(first, first.name, progress))
            self._spec = self.desk.studio.first_spec

    def _refuse_size(self) -> None:
        show_problem(self._problem, too_large(self.desk.studio.most_bytes))

    async def _uploaded(self, event: events.UploadEventArguments) -> None:
        title = event.file.name.replace("\\", "/").rpartition("/")[2]
        self._upload.reset()
        try:
            suffix = check_suffix(title)
        except MondrianError as error:
            show_problem(self._problem, error)
            return
        session = self.desk.session
        session.n_files += 1
        # The name is the user's: it is shown, and never a place on the disk.
        path = session.folder / f"table-{session.n_files}{suffix}"
        await event.file.save(path)
        self._open(lambda progress: open_table(path, title, progress))

    def _make_up(self) -> None:
        folder = self.desk.session.folder

        def work(progress: Progress) -> Opened:
            return make_up(folder, progress)

        self._open(work)

    def _open(self, work: Work) -> None:
        self._problem.clear()
        self._busy.visible = True
        self.desk.start(work, self._opened)

    def _opened(self, job: Job[Opened]) -> None:
        self._busy.visible = False
        if job.problem is not None:
            show_problem(self._problem, job.problem)
        elif job.result is not None:
            self.desk.session.take(job.result)
            self._show_table()
            if self._spec is not None:
                self._opening.take(self._spec, is_copied=True)
                self._spec = None

    def _show_table(self) -> None:
        opened = self.desk.session.opened
        self._others.visible = opened is not None
        if opened is None:
            return
        table = opened.table
        text = f"{opened.title}: {table.num_rows:,} rows, {table.num_columns} columns"
        self._table.set_text(text)
        self.desk.table_changed()
