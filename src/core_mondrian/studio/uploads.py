"""Files that the spec names: hierarchies, and tables of a population."""

import json
import re
from collections.abc import Callable
from typing import Final

from nicegui import events, ui

from core_mondrian.errors import DataError, MondrianError
from core_mondrian.studio.page_context import Desk, named, show_problem

_NAME_PARTS: Final = """(() => {{
  const name = (tries) => {{
    const button = getHtmlElement({id})?.querySelector('.q-btn[role=button]');
    if (!button) return tries && setTimeout(() => name(tries - 1), 50);
    button.setAttribute('aria-label', {label});
    button.querySelector('input')?.setAttribute('aria-label', {label});
  }};
  name(100);
}})()"""
_NAME: Final = re.compile(r"\w[\w .+-]{0,99}")
"""What a file may be called: the spec names it so, and it stands so in our folder."""


def check_name(title: str, suffixes: tuple[str, ...]) -> str:
    """Return a file's name without folders.

    Raises:
        DataError: it is of another kind, or is called as no file here may be.
    """
    name = title.replace("\\", "/").rpartition("/")[2]
    if not _NAME.fullmatch(name):
        raise DataError(
            "this file's name has unusual signs",
            hint="call it by letters, digits, dots and dashes; the spec will name it",
        )
    if not name.lower().endswith(suffixes):
        raise DataError(
            f"{name}: unknown kind of file",
            hint=f"the suffix is one of {', '.join(suffixes)}",
        )
    return name


def name_upload(upload: ui.upload, label: str) -> None:
    """Name an upload, and its button, which the library leaves without a name."""
    named(upload, label)
    ui.run_javascript(_NAME_PARTS.format(id=upload.id, label=json.dumps(label)))


def too_large(most: int) -> DataError:
    """Return what is told of a file with more bytes."""
    return DataError(
        f"this file is larger than the studio takes ({most >> 20} MB)",
        hint="raise it with --max-upload, or use core-mondrian anonymize, "
        "which has no such limit",
    )


def offer_upload(
    desk: Desk,
    label: str,
    suffixes: tuple[str, ...],
    taken: Callable[[str], None],
    problem: ui.column,
) -> ui.upload:
    """Let the user choose a file that the spec will name; ``taken`` gets the name."""

    async def uploaded(event: events.UploadEventArguments) -> None:
        upload.reset()
        try:
            name = check_name(event.file.name, suffixes)
        except MondrianError as error:
            show_problem(problem, error)
            return
        desk.session.files.mkdir(exist_ok=True)
        await event.file.save(desk.session.files / name)
        problem.clear()
        taken(name)

    most = desk.studio.most_bytes
    upload = ui.upload(
        label=label,
        auto_upload=True,
        max_file_size=most,
        on_upload=uploaded,
        on_rejected=lambda: show_problem(problem, too_large(most)),
    )
    upload.props("flat bordered dense hide-upload-btn").classes("studio-upload")
    name_upload(upload, label)
    return upload
