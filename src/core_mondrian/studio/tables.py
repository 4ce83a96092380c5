"""Tables of plain text on the page: real ones, with whatever they quote escaped."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from nicegui import ui

from core_mondrian.report.plain import writable

_LONGEST: Final = 200
"""Letters of a cell that are shown."""
STYLE: Final = """
.studio-wide { overflow-x: auto; max-width: 100%; }
.studio-table { border-collapse: collapse; font-size: 13px; line-height: 1.4; }
.studio-table caption { text-align: left; padding: 2px 0 6px; }
.studio-table th, .studio-table td { text-align: left; vertical-align: top;
  padding: 4px 12px 4px 8px; border-bottom: 1px solid rgba(128, 128, 128, .3);
  overflow-wrap: break-word; max-width: 22rem; }
.studio-table thead th, .studio-table tbody th { font-weight: 600; }
.studio-table tr.studio-sought th { outline: 2px solid currentColor;
  outline-offset: -2px; }
.studio-changed { background: rgba(230, 159, 0, .22); }
.studio-out { opacity: .72; font-style: italic; }
.studio-tag { display: inline-block; padding: 0 6px; border-radius: 8px;
  background: rgba(128, 128, 128, .25); font-weight: 400; white-space: nowrap; }
"""


@dataclass(frozen=True, slots=True)
class Td:
    """A cell that looks different from others."""

    text: str
    classes: str = ""
    """Of the style; never what a user wrote."""
    tag: str = ""
    """A word beside the text."""


@dataclass(frozen=True, slots=True)
class Tr:
    """A row; the first cell says what it is about."""

    cells: Sequence[str | Td]
    classes: str = ""


def show_table(
    label: str, heads: Sequence[str | Td], rows: Iterable[Tr | Sequence[str | Td]]
) -> ui.html:
    """Show a table; ``label`` names it for those who do not see where it stands."""
    return ui.html(write_table(label, heads, rows), sanitize=False).classes("w-full")


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
    return f"<{kind}{about}{_classes(cell.classes)}>{quote(cell.text)}{tag}</{kind}>"


def _classes(names: str) -> str:
    return f' class="{names}"' if names else ""
