"""Opening a spec that was saved before: everything on the page shows it."""

from typing import Final

from nicegui import events, ui

from core_mondrian.errors import DataError, SpecError
from core_mondrian.studio.draft import Draft
from core_mondrian.studio.jobs import Job
from core_mondrian.studio.models import HIERARCHY_FILES
from core_mondrian.studio.page_context import PageContext, show_problem
from core_mondrian.studio.reading import Named, open_spec
from core_mondrian.studio.uploads import name_upload, offer_upload
from core_mondrian.tables.files.kinds import FORMATS

_MOST_BYTES: Final = 4 << 20
"""Of a spec file; one with groups of values names them all."""
_CODE: Final = SpecError(
    "the spec has a model of its own, and the page runs no code that is uploaded",
    hint="begin with it: core-mondrian studio TABLE --spec FILE",
)
_TOO_LARGE: Final = DataError(
    f"this file has more than {_MOST_BYTES >> 20} MB", hint="choose a spec: spec.toml"
)


class OpenSpec:
    """Takes a spec file, and the files that it names."""

    def __init__(self, context: PageContext) -> None:
        self.context = context

    def build(self) -> None:
        """Make the room; it is seen when there is a table."""
        title = "Go on with choices that you saved (spec.toml)"
        with ui.expansion(title, icon="restore").classes("w-full") as self._room:
            ui.label(
                "A spec is a file with all choices of this page. Opening one replaces "
                "those that are made below; the table stays."
            ).classes("studio-faint")
            self._upload = ui.upload(
                label="Open a spec (spec.toml)",
                auto_upload=True,
                max_file_size=_MOST_BYTES,
                on_upload=self._uploaded,
                on_rejected=self._refuse_size,
            )
            self._upload.props("flat bordered dense hide-upload-btn")
            self._upload.classes("studio-upload")
            name_upload(self._upload, "open a spec")
            self._missing = ui.column().classes("w-full gap-2")
        self._message = ui.label().props("aria-live=polite").mark("opened spec")
        self._problem = ui.column().classes("w-full")
        self._forget()
        self.context.on_table.append(self._forget)

    def _forget(self) -> None:
        self._room.visible = self.context.session.opened is not None
        self._set_message("")
        self._missing.clear()
        self._problem.clear()

    def _refuse_size(self) -> None:
        show_problem(self._problem, _TOO_LARGE)

    async def _uploaded(self, event: events.UploadEventArguments) -> None:
        title = event.file.name.replace("\\", "/").rpartition("/")[2]
        self._upload.reset()
        path = self.context.session.folder / "spec.toml"
        await event.file.save(path)
        self._forget()
        self.context.start(lambda _: open_spec(path, title), self._read)

    def _read(self, job: Job[Named]) -> None:
        if job.problem is not None:
            show_problem(self._problem, job.problem)
        elif job.result is not None and job.result.has_code:
            show_problem(self._problem, _CODE)
        elif job.result is not None:
            self._try(job.result)

    def _try(self, spec: Named) -> None:
        """Open a spec whose files are here, or ask for those that are not."""
        folder = self.context.session.files
        self._missing.clear()
        if missing := spec.missing_in(folder):
            self._ask_for(spec, missing)
        else:
            self.take(spec)

    def _ask_for(self, spec: Named, missing: list[str]) -> None:
        def taken(name: str) -> None:
            self._try(spec)
            if name not in spec.files:
                show_problem(self._problem, _not_named(name, missing))

        suffixes = (*HIERARCHY_FILES, *FORMATS)
        with self._missing:
            ui.label("The spec names files that are not here yet:")
            for name in missing:
                offer_upload(
                    self.context, f"Choose {name}", suffixes, taken, self._problem
                )

    def take(self, spec: Named, *, is_copied: bool = False) -> None:
        """Show a spec on the page; with ``is_copied`` its files are fetched first."""
        opened, folder = self.context.session.opened, self.context.session.files
        if opened is None:
            return
        names = opened.table.column_names

        def work(_progress: object) -> Draft:
            if is_copied:
                spec.copy_files(folder)
            return spec.to_draft(names, folder)

        def ended(job: Job[Draft]) -> None:
            if self.context.session.opened is opened:  # and not another table by now
                self._show(job, spec.file.path.name)

        self.context.start(work, ended)

    def _show(self, job: Job[Draft], title: str) -> None:
        if job.problem is not None:
            show_problem(self._problem, job.problem)
        elif job.result is not None:
            self.context.session.draft = job.result
            self.context.table_changed()
            self._set_message(f"{title} is opened: all choices below are its.")
            self._room.value = False

    def _set_message(self, words: str) -> None:
        self._message.set_text(words)
        self._message.visible = bool(words)


def _not_named(name: str, missing: list[str]) -> DataError:
    return DataError(
        f"the spec does not name {name}", hint=f"it names {', '.join(missing)}"
    )
