"""Below the release: what became of each column, its rows, and how runs compare."""

from collections.abc import Callable

from nicegui import ui

from core_mondrian.release.release_tree import size_bins
from core_mondrian.report.plain import between
from core_mondrian.studio.actions import Run
from core_mondrian.studio.comparing import Comparing
from core_mondrian.studio.file_names import command
from core_mondrian.studio.page_context import (
    PageContext,
    heading,
    percent,
    show_code,
    show_table,
    step,
)
from core_mondrian.studio.row_pages import RowPages
from core_mondrian.studio.run_details import RunDetails
from core_mondrian.studio.tables import Td


class Results:
    """The run that is looked at, closely; and all runs, side by side."""

    def __init__(self, context: PageContext) -> None:
        self.context = context

    def build(self) -> None:
        """Make the room; it is seen when there is a run."""
        with ui.column().classes("w-full gap-4") as self._all:
            words = "What readers of the release see, column by column and row by row."
            with step(5, "What became of the data", words):
                self._details = ui.column().classes("w-full gap-3")
            self._compared = ui.column().classes("w-full")
        self.context.on_run.append(self._show)

    def _show(self) -> None:
        run, runs = self.context.run, self.context.session.runs
        self._all.visible = run is not None
        self._details.clear()
        self._compared.clear()
        if run is None:
            return
        with self._details:
            self._show_details(run)
        if len(runs) > 1:
            with (
                self._compared,
                step(6, "Runs side by side", "The newest comes first."),
            ):
                rows = [_in_a_line(one) for one in reversed(runs)]
                show_table("runs", list(rows[0]), [[*row.values()] for row in rows])
                heading("Compare two runs")
                Comparing(self.context).build()

    def _show_details(self, run: Run) -> None:
        shows: dict[str, Callable[[Run], None]] = {
            "Column by column": show_columns,
            "Before and after": lambda run: RowPages(run.rows).build(),
            "Sizes of groups": show_sizes,
            "Loss by group": show_groups,
            "How it was made": lambda run: RunDetails(self.context, run).build(),
            "Spec": show_spec,
        }
        if run.groups is None:
            del shows["Loss by group"]
        with ui.tabs().props("no-caps align=left").classes("w-full") as tabs:
            for name in shows:
                ui.tab(name)
        room = ui.column().classes("w-full")

        def show(name: str) -> None:
            """Build what is looked at, and nothing else: tables take their time."""
            room.clear()
            with room:
                shows[name](run)

        tabs.on_value_change(lambda event: show(event.value))
        tabs.set_value("Column by column")


def show_columns(run: Run) -> None:
    """Show in plain words what became of each column, with an example."""
    number = run.words.example
    heads = ["column", "detail lost", "what readers see"]
    heads += [f"row {number:,} before", "released"] if number is not None else []
    rows: list[list[str | Td]] = []
    for one in run.words.columns:
        example: list[Td] = []
        if number is not None:
            is_changed = one.loss is not None and one.before != one.after
            changed = "studio-changed" if is_changed else ""
            example = [Td(one.before), Td(one.after, changed)]
        loss = Td("") if one.loss is None else Td(percent(one.loss), share=one.loss)
        rows.append([one.name, loss, Td(one.says, "studio-says"), *example])
    show_table("What became of each column", heads, rows)
    ui.label(
        "0 %: as it was; 100 %: nothing can be seen. The example is a row of yours, "
        "and is shown to you only."
    ).classes("studio-faint")


def show_groups(run: Run) -> None:
    """Show what each group of the named column lost."""
    if run.groups is None:
        return
    heads = (run.groups, "rows", "left out", "lost", "times all")
    rows = [
        (
            one.group,
            f"{one.n_rows:,}",
            percent(one.share_suppressed),
            Td(percent(one.loss), share=one.loss),
            "" if one.ratio is None else f"{one.ratio:.2f}",
        )
        for one in run.lost
    ]
    show_table("what each group lost", heads, rows)


def show_sizes(run: Run) -> None:
    """Show how many rows are in groups of which size."""
    sizes = size_bins(run.release.class_sizes)
    whole = max(sum(one.n_rows for one in sizes), 1)
    rows = [
        (
            between(one.low, one.high),
            f"{one.n_classes:,}",
            Td(percent(one.n_rows / whole), share=one.n_rows / whole),
        )
        for one in sizes
    ]
    heads = ("rows in the group", "groups", "share of the released rows")
    show_table("Sizes of groups of this run", heads, rows)


def show_spec(run: Run) -> None:
    """Show how the command line makes the same release."""
    show_code(run.toml, "toml")
    name = run.downloads["spec.toml"]
    ui.label(f"Save it as {name}; this makes the same release, with the same digest:")
    has_key = bool(run.release.spec.pseudonyms)
    suppressed = run.draft.suppressed
    same = command(run.title, run.groups, has_key=has_key, suppressed=suppressed)
    show_code(same, "bash")
    ui.label(f"digest {run.release.digest}").style("overflow-wrap: anywhere")


def _in_a_line(run: Run) -> dict[str, str]:
    """Return a run in a line: what was asked, what was reached."""
    release, spec = run.release, run.release.spec
    loss = release.measures().loss
    effort = getattr(spec.policy, "effort", None)
    return {
        "run": str(run.number),
        "k": str(spec.min_rows),
        "columns": str(len(spec.quasi_identifiers)),
        "models": ", ".join(model.title for model in spec.models),
        "policy": spec.policy.name + (f", {effort}" if effort else ""),
        "lost": "" if loss is None else f"{loss:.2%}",
        "groups": f"{release.verification.n_classes:,}",
        "smallest": release.verification.smallest,
        "left out": f"{release.n_suppressed:,}",
        "digest": release.digest[:12],
    }
