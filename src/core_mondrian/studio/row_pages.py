"""Pages of rows: the table and its release side by side, and how to get around."""

from collections.abc import Callable

from nicegui import ui

from core_mondrian.studio.page_context import named
from core_mondrian.studio.rows import OUT, Line, Rows
from core_mondrian.studio.tables import Td, Tr, write_table


class RowPages:
    """One page of rows at a time; only the local user sees it."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._page = 0
        self._only_out = False
        self._sought: int | None = None

    def build(self) -> None:
        """Show the first page, and what leads to others."""
        rows = self._rows
        ui.label(_caption(rows)).classes("studio-faint")
        with ui.row().classes("items-center gap-2"):
            for icon, words, where in (
                ("first_page", "first page", lambda: 0),
                ("chevron_left", "page before", lambda: self._page - 1),
                ("chevron_right", "next page", lambda: self._page + 1),
                ("last_page", "last page", lambda: self._last),
            ):
                self._button(icon, words, where)
            self._place = ui.label().props("aria-live=polite")
            goal = ui.number("Go to row", min=1, max=rows.before.num_rows, precision=0)
            goal.classes("w-32").props("dense debounce=300")
            goal.on_value_change(lambda event: self._seek(event.value))
            if rows.out.size and rows.is_aligned:
                ui.switch(
                    f"only rows that were left out ({rows.out.size:,})",
                    on_change=lambda event: self._choose(only_out=event.value),
                )
        self._table = ui.html("", sanitize=False).classes("w-full").mark("rows")
        self._show()

    @property
    def _last(self) -> int:
        return self._rows.n_pages(only_out=self._only_out) - 1

    def _button(self, icon: str, words: str, where: Callable[[], int]) -> None:
        button = ui.button(icon=icon, on_click=lambda: self._turn(where()))
        button.props("flat dense round")
        named(button, words)

    def _turn(self, page: int) -> None:
        self._page = min(max(page, 0), self._last)
        self._show()

    def _seek(self, number: float | None) -> None:
        if number is None:
            return
        self._sought = int(number)
        self._turn(self._rows.page_of(self._sought, only_out=self._only_out))

    def _choose(self, *, only_out: bool) -> None:
        self._only_out = only_out
        self._turn(0)

    def _show(self) -> None:
        rows = self._rows
        lines = rows.page(self._page, only_out=self._only_out)
        heads = [Td(h.title, "" if h.after else "studio-faint") for h in rows.heads]
        self._table.set_content(
            write_table("Rows before and after", ["row", *heads], map(self._row, lines))
        )
        n = rows.n_lines(only_out=self._only_out)
        which = f"{n:,} left out"
        if not self._only_out:
            which = f"rows {lines[0].number:,} to {lines[-1].number:,} of {n:,}"
        self._place.set_text(f"{which}; page {self._page + 1:,} of {self._last + 1:,}")

    def _row(self, line: Line) -> Tr:
        cells = [
            Td(
                cell.text,
                " ".join(
                    name
                    for name, is_so in (
                        ("studio-faint", head.after is None),
                        ("studio-changed", cell.is_changed),
                        ("studio-out", cell.is_out),
                    )
                    if is_so
                ),
            )
            for head, cell in zip(self._rows.heads, line.cells, strict=True)
        ]
        first = Td(f"{line.number:,}", tag=OUT if line.is_out else "")
        is_sought = line.number == self._sought
        return Tr([first, *cells], "studio-sought" if is_sought else "")


def _caption(rows: Rows) -> str:
    """Return what the page shows, and what it cannot."""
    words = "Rows as they came in and as they are released. "
    if rows.is_aligned:
        words += "Coloured cells show something else than before. "
        if rows.out.size and not rows.spec.leaves_out:
            words += "Rows that could not be grouped are kept without these values. "
    else:
        words += (
            "The release was shuffled, so lines do not belong together: which row was "
            "which is not kept. "
        )
    return f"{words}Only you see this: the original stays here."
