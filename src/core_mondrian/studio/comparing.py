"""Two runs side by side: what was asked differently, and what came of it."""

from collections.abc import Sequence

from nicegui import ui

from core_mondrian.studio.page_context import PageContext, heading, show_table
from core_mondrian.studio.run_diff import Pair, RunDiff, compare_runs
from core_mondrian.studio.tables import Td


class Comparing:
    """Lets two runs be chosen, and shows what differs."""

    def __init__(self, context: PageContext) -> None:
        self.context = context

    def build(self) -> None:
        """Make the room, with the newest run and the one before."""
        runs = self.context.session.runs
        numbers = {run.number: f"Run {run.number}" for run in runs}
        with ui.row().classes("items-center gap-4"):
            self._chosen = [
                ui.select(numbers, label=label, value=run.number).classes("w-36")
                for label, run in zip(("Compare", "with"), runs[-2:], strict=True)
            ]
        self._room = ui.element("div").classes("studio-two").mark("compared")
        for select in self._chosen:
            select.on_value_change(self._compare)
        self._compare()

    def _compare(self) -> None:
        by_number = {run.number: run for run in self.context.session.runs}
        first, second = (by_number[one.value] for one in self._chosen)
        diff = compare_runs(first, second)
        heads = [f"run {first.number}", f"run {second.number}"]
        self._room.clear()
        with self._room:
            with _part("What was asked differently"):
                _show_settings(diff, heads)
            with _part("What was reached"):
                _show_pairs("What was reached", "", heads, diff.figures)
            with _part("Loss by column"):
                _show_pairs("Loss by column", "column", heads, diff.losses)
            with _part("Sizes of groups"):
                about = "rows in the group"
                _show_pairs("Sizes of groups", about, heads, diff.sizes)


def _show_settings(diff: RunDiff, heads: Sequence[str]) -> None:
    if not diff.settings:
        ui.label("Nothing: both runs were asked for the same.")
        return
    _show_pairs("What was asked differently", "setting", heads, diff.settings)
    if diff.n_more:
        ui.label(f"and {diff.n_more:,} more").classes("studio-faint")


def _show_pairs(
    title: str, about: str, heads: Sequence[str], pairs: Sequence[Pair]
) -> None:
    rows = [
        (
            pair.name,
            Td(pair.first, share=pair.shares[0]),
            Td(pair.second, share=pair.shares[1], is_second=True),
        )
        for pair in pairs
    ]
    show_table(title, [about, *heads], rows)


def _part(title: str) -> ui.column:
    room = ui.column().classes("w-full gap-1")
    with room:
        heading(title)
    return room
