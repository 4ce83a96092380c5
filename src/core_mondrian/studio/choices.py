"""The third step: how much protection, and what it would cost."""

import base64
from collections.abc import Callable
from typing import Any, Final

from nicegui import ui

from core_mondrian.advise import Point, Sweep
from core_mondrian.charts import draw_trade_off, render
from core_mondrian.errors import MondrianError
from core_mondrian.policies import EFFORTS, POLICIES
from core_mondrian.spec import CHOICES
from core_mondrian.studio.coarser import Coarser
from core_mondrian.studio.desk import Desk, named, percent, show_problem, step
from core_mondrian.studio.draft import AS_POLICY
from core_mondrian.studio.jobs import Job, Progress
from core_mondrian.studio.keys import KEY_FILE
from core_mondrian.studio.models import ModelRow
from core_mondrian.studio.protections import of_columns, of_tables
from core_mondrian.studio.work import find_curve

_NUMBERS: Final = {
    "interval": "ranges: [20, 25]",
    "bounds": "two columns: lowest, highest",
    "struct": "lowest and highest in one cell",
    "mean": "the mean of the group",
    "median": "the median of the group",
    "midpoint": "the middle of the range",
    "sample": "a value drawn from the group",
}
_CATEGORIES: Final = {
    "label": "one label, * if they differ",
    "set": "all values: {a, b}",
}
_MISSING: Final = {
    AS_POLICY: "as the policy has it",
    "pattern": "rows that lack the same look alike",
    "value": "a value like others",
}
_SUPPRESSED: Final = {
    # "apart" gives them back to the user as well, for which the page has no place.
    "drop": "left out of the release",
    "blank": "kept, without what others may know",
}
_POLICIES: Final = {
    "best": "best: lose least (default)",
    "paper": "paper: Core Mondrian as published",
    "original": "original: the classic Mondrian",
}
Curve = tuple[Sweep, bytes]


class Choices:
    """k, models, policy, formats; the trade-off curve; the spec."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._curve_job: Job[Curve] | None = None
        self._curve_of: list[str] = []
        """What the curve was drawn for: the spec but for k."""

    def build(self) -> None:
        """Make the room; it is filled when there is a table."""
        words = (
            "Every row of the release will look like at least k - 1 others. A larger k "
            "protects more and says less; 5 is common inside an organisation, 11 or "
            "more for what is published."
        )
        with step(3, "How much protection?", words):
            self._room = ui.column().classes("w-full gap-3")
            Coarser(self.desk).build()
            self._curve_room()
            with ui.expansion("The spec: your choices as a file", icon="code").classes(
                "w-full"
            ):
                self._spec = ui.code("", language="toml").classes("w-full").mark("spec")
                self._command = ui.code("", language="bash").classes("w-full")
            self._problem = ui.column().classes("w-full")
        self.desk.on_table.append(self._fill)
        self.desk.on_change.append(self._show_spec)
        self.desk.on_change.append(self._show_guards)
        self.desk.on_change.append(self._drop_curve)

    def _curve_room(self) -> None:
        with ui.row().classes("items-center gap-3"):
            self._ask = ui.button("What would each k cost?", on_click=self._find_curve)
            self._ask.props("outline no-caps icon=query_stats")
            self._bar = ui.linear_progress(0, show_value=False).classes("w-40")
            self._bar.props["aria-label"] = "progress of the curve"
            self._bar.visible = False
        self._curve = ui.column().classes("w-full gap-2")

    def _fill(self) -> None:
        self._room.clear()
        self._curve.clear()
        with self._room:
            self._k = ui.number(
                "k: rows that look alike, at least",
                value=self.desk.draft.k,
                min=1,
                step=1,
                precision=0,
                on_change=lambda event: self._set_k(event.value),
            ).classes("w-72")
            self._guards = ui.column().classes("w-full gap-2")
            with ui.expansion("More choices", icon="tune").classes("w-full"):
                self._more()
        self._guarded: list[str] = []

    def _set_k(self, value: float | None) -> None:
        if value is not None and value >= 1:
            self.desk.draft.k = int(value)
            self.desk.changed()

    def _set(self, name: str) -> Callable[[Any], None]:
        """Return what takes a new value of one of the draft's fields."""

        def take(event: Any) -> None:  # noqa: ANN401  # NiceGUI's events
            setattr(self.desk.draft, name, event.value)
            self.desk.changed()

        return take

    def _more(self) -> None:
        draft = self.desk.draft
        opened = self.desk.session.opened
        names = [] if opened is None else opened.table.column_names
        with ui.grid().classes("w-full grid-cols-1 sm:grid-cols-2 gap-x-6 gap-y-2"):
            self._select("policy", "How cuts are chosen", _known(_POLICIES, POLICIES))
            self._select("effort", "How long to search (policy best)", list(EFFORTS))
            numbers = _known(_NUMBERS, CHOICES["numbers"])
            self._select("numbers", "Numbers become", numbers)
            categories = _known(_CATEGORIES, CHOICES["categories"])
            self._select("categories", "Categories become", categories)
            self._select("missing", "Missing values are", _MISSING)
            self._select("suppressed", "Rows that cannot be grouped are", _SUPPRESSED)
            ui.input(
                "Texts that mean missing, such as ?, NA (of CSV files)",
                value=draft.null_values,
                on_change=self._set("null_values"),
            ).props("debounce=400")
            ui.input(
                "Rows that may be left out, such as 1% or 20",
                value=draft.suppress,
                on_change=self._set("suppress"),
            ).props("debounce=400")
            groups = ui.select(
                names,
                label="Show what each group of this column lost",
                value=draft.groups,
                clearable=True,
                on_change=self._set("groups"),
            )
            named(groups, "groups")
            ui.switch(
                "Round ranges to round numbers",
                value=draft.is_nice,
                on_change=self._set("is_nice"),
            )
            ui.switch(
                "These groups should lose about as much as each other",
                value=draft.is_equal,
                on_change=self._set("is_equal"),
            )
        further = ModelRow(self.desk, draft.further, of_tables())
        further.build("A further promise for the whole table")

    def _select(
        self, name: str, label: str, options: list[str] | dict[str, str]
    ) -> None:
        value = getattr(self.desk.draft, name)
        ui.select(options, label=label, value=value, on_change=self._set(name))

    def _show_guards(self) -> None:
        """Offer protection for each sensitive column; rebuilt only if these change."""
        wanted = self.desk.draft.columns_of("sensitive")
        if self.desk.session.opened is None or wanted == self._guarded:
            return
        self._guarded = wanted
        self._guards.clear()
        with self._guards:
            for name in wanted:
                row = ModelRow(
                    self.desk, self.desk.draft.guard(name), of_columns(), name
                )
                row.build(f"Nobody learns {name} from their group:")

    def _show_spec(self) -> None:
        opened = self.desk.session.opened
        if opened is None:
            return
        self._problem.clear()
        self._spec.set_content(self.desk.draft.to_toml())
        draft = self.desk.draft
        has_key = bool(draft.columns_of("pseudonym"))
        self._command.set_content(command(opened.title, draft.groups, has_key=has_key))
        try:
            self.desk.draft.to_spec()
        except MondrianError as error:
            show_problem(self._problem, error)

    def _spec_but_k(self) -> list[str]:
        lines = self.desk.draft.to_toml().splitlines()
        return [line for line in lines if not line.startswith("k = ")]

    def _drop_curve(self) -> None:
        """Let go of a curve that other choices were made for."""
        if self._curve_job is not None and self._curve_of != self._spec_but_k():
            self._curve_job.cancel()
            self._curve_job = None
            self._curve.clear()

    def _find_curve(self) -> None:
        opened, draft = self.desk.session.opened, self.desk.copy_draft()
        if opened is None or (self._curve_job and self._curve_job.is_running):
            return

        def work(progress: Progress) -> Curve:
            found = find_curve(opened, draft, progress)
            progress("draw", 0.0)
            return found, render(draw_trade_off(found), ".svg")

        def progressed(job: Job[Curve]) -> None:
            self._bar.value = job.done

        self._curve.clear()
        self._bar.visible = True
        self._ask.disable()
        self._curve_of = self._spec_but_k()
        self._curve_job = self.desk.start(work, self._show_curve, progressed)

    def _show_curve(self, job: Job[Curve]) -> None:
        self._bar.visible = False
        self._ask.enable()
        if job.problem is not None:
            show_problem(self._curve, job.problem)
        if job.result is None:
            return
        found, picture = job.result
        with self._curve, ui.row().classes("w-full items-start gap-6"):
            image = ui.element("img").classes("studio-chart")
            image.props["src"] = _data_address(picture)
            image.props["alt"] = "what each k would cost; the same figures stand beside"
            with ui.column().classes("gap-1"):
                ui.label("Take one of these:").classes("text-bold")
                for point in found.points:
                    self._offer(point, is_knee=point in found.knees)

    def _offer(self, point: Point, *, is_knee: bool) -> None:
        k = int(point.parameters["k"])
        figures = point.figures
        with ui.row().classes("items-center gap-3"):
            button = ui.button(f"k = {k}", on_click=lambda: self._k.set_value(k))
            button.props("outline dense no-caps").classes("w-20")
            if figures is None or figures.loss is None:
                ui.label("cannot be reached")
                return
            knee = " · protection gets dearer from here" if is_knee else ""
            ui.label(
                f"{percent(figures.loss)} lost, {figures.n_classes:,} groups{knee}"
            )


def command(title: str, groups: str | None, *, has_key: bool) -> str:
    """Return the command line that does the same."""
    import shlex

    by = "" if groups is None else f" --by {shlex.quote(groups)}"
    key = f" --key-file {KEY_FILE}" if has_key else ""
    source = shlex.quote(title)
    return f"core-mondrian anonymize {source} release.csv --spec spec.toml{key}{by}"


def _known(titles: dict[str, str], known: Any) -> dict[str, str]:  # noqa: ANN401
    """Return a title for every choice there is; a new one is its own title."""
    return {name: titles.get(name, name) for name in known}


def _data_address(picture: bytes) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(picture).decode()}"
