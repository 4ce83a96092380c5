"""Files that the spec names: hierarchies, and tables of a population."""

import json
import re
from collections.abc import Callable
from typing import Final

from nicegui import events, ui

from core_mondrian.errors import DataError, MondrianError
from core_mondrian.studio.page_context import PageContext, named, show_problem

_NAME_PARTS: Final = """(() => {{
  const set = (element, name, value) => {{
    if (element && element.getAttribute(name) !== value) element.setAttribute(name, value);
  }};
  const name = (upload) => {{
    for (const button of upload.querySelectorAll('a.q-btn')) {{
      const input = button.querySelector('input');
      set(input, 'aria-label', {label});
      set(input, 'tabindex', '0');
      for (const part of ['role', 'tabindex'])
        if (button.hasAttribute(part)) button.removeAttribute(part);
    }}
  }};
  const begin = (tries) => {{
    const upload = getHtmlElement({id});
    if (!upload) return tries && setTimeout(() => begin(tries - 1), 50);
    name(upload);
    // The library draws its button anew whenever something changes.
    const changes = {{subtree: true, childList: true, attributes: true}};
    new MutationObserver(() => name(upload)).observe(upload, changes);
  }};
  begin(100);
}})()"""  # noqa: E501  # JavaScript
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
            "this file's name has unusual characters",
            hint="name it with letters, digits, dots and dashes",
        )
    if not name.lower().endswith(suffixes):
        raise DataError(
            f"{name}: unknown kind of file",
            hint=f"the suffix is one of {', '.join(suffixes)}",
        )
    return name


def name_upload(upload: ui.upload, label: str) -> None:
    """Name an upload, and the field in it, which the library leaves without a name.

    The library nests the field in a button; only one of them may take the keyboard.
    """
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
    context: PageContext,
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
        context.session.files.mkdir(exist_ok=True)
        await event.file.save(context.session.files / name)
        problem.clear()
        taken(name)

    most = context.studio.most_bytes
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
