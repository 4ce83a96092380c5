"""Tables of plain text on the page: real ones, with whatever they quote escaped."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from core_mondrian.report.plain import writable

_LONGEST: Final = 200
"""Letters of a cell that are shown."""


@dataclass(frozen=True, slots=True)
class Td:
    """A cell that looks different from others."""

    text: str
    classes: str = ""
    """Of the style; never what a user wrote."""
    tag: str = ""
    """A word beside the text."""
    share: float | None = None
    """What a bar below the text shows; None: there is none."""
    is_second: bool = False
    """Whether the bar is that of the second of two runs."""


@dataclass(frozen=True, slots=True)
class Tr:
    """A row; the first cell says what it is about."""

    cells: Sequence[str | Td]
    classes: str = ""


def write_table(
    label: str, heads: Sequence[str | Td], rows: Iterable[Tr | Sequence[str | Td]]
) -> str:
    """Return a table as HTML; all text is escaped here."""
    top = "".join(_write_head(head) for head in heads)
    body = "".join(map(_write_row, rows))
    return (
        f'<div class="studio-wide" tabindex="0" role="region" '
        f'aria-label="{quote(label)}"><table class="studio-table">'
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def quote(text: str) -> str:
    """Return text as a page can hold it: escaped, in order, and not too long."""
    text = writable(text)
    return escape(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")


def _write_row(row: Tr | Sequence[str | Td]) -> str:
    row = row if isinstance(row, Tr) else Tr(row)
    first, *rest = row.cells
    cells = [_write_cell(first, "th", "row"), *(_write_cell(c, "td") for c in rest)]
    return f"<tr{_classes(row.classes)}>{''.join(cells)}</tr>"


def _write_head(head: str | Td) -> str:
    return _write_cell(head, "th", "col") if head else "<td></td>"


def _write_cell(cell: str | Td, kind: str, scope: str = "") -> str:
    cell = cell if isinstance(cell, Td) else Td(cell)
    about = f' scope="{scope}"' if scope else ""
    tag = f' <span class="studio-tag">{quote(cell.tag)}</span>' if cell.tag else ""
    inside = f"{quote(cell.text)}{tag}{_write_bar(cell)}"
    return f"<{kind}{about}{_classes(cell.classes)}>{inside}</{kind}>"


def _write_bar(cell: Td) -> str:
    if cell.share is None:
        return ""
    second = " studio-second" if cell.is_second else ""
    width = f"width:{100 * min(max(cell.share, 0.0), 1.0):.1f}%"
    return f'<span class="studio-share{second}"><i style="{width}"></i></span>'


def _classes(names: str) -> str:
    return f' class="{names}"' if names else ""
