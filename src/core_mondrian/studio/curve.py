"""The trade-off curve: what each value of a number would cost, to choose one."""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from nicegui import ui

from core_mondrian.analysis.advise import Figures, Point
from core_mondrian.studio.jobs import Job, Progress
from core_mondrian.studio.page_context import (
    PageContext,
    named,
    percent,
    show_problem,
)
from core_mondrian.studio.sweep import (
    Curve,
    K,
    everything_but,
    find_curve,
    find_varied,
    point_text,
    present_value,
)

_SLOW: Final = "starting; the first run on a machine takes a minute more"
Columns: TypeAlias = dict[str, Callable[[Point, Figures], str]]
"""Per title of the table, what stands below it."""
_KNEE: Final = (
    "{} is the knee: up to it the risk falls much for little loss, beyond it the "
    "loss grows much for little less risk. It is a suggestion, not a decision."
)
_NO_KNEE: Final = "The curve has no knee: no k stands out as a good bargain."


class Curves:
    """Draws a curve when it is asked for; a point of it that is pressed is taken."""

    def __init__(
        self, context: PageContext, taken: Callable[[str, float], None]
    ) -> None:
        self.context = context
        self._taken = taken
        self._name = K
        self._job: Job[Curve] | None = None
        self._drawn_for = ""
        self._marks: dict[float, list[ui.element]] = {}
        """Per value, what shows whether it is chosen."""
        self._curve: Curve | None = None

    def build(self) -> None:
        """Make the room; it is filled when a curve is asked for."""
        with ui.row().classes("items-end gap-3 w-full"):
            self._ask = ui.button(on_click=self._find).props(
                "outline no-caps icon=query_stats"
            )
            self._what = ui.select(
                {K: ""}, value=K, label="Vary", on_change=lambda e: self._vary(e.value)
            ).classes("w-64 max-w-full")
            self._what.props("dense options-dense")
        with ui.row().classes("items-center gap-3 w-full"):
            with ui.row().classes("items-center gap-3") as self._busy:
                self._bar = ui.linear_progress(0, show_value=False).classes("w-40")
                named(self._bar, "progress of the curve")
                stop = ui.button("Cancel", on_click=self._cancel)
                named(stop.props("outline no-caps"), "Cancel the curve")
            self._stage = ui.label().props("aria-live=polite").classes("studio-faint")
        self._room = ui.column().classes("w-full gap-2")
        self._busy.visible = False
        self.context.on_table.append(self._drop)
        self.context.on_change.append(self._follow)

    def _follow(self) -> None:
        """Offer what can be varied now; let go of a curve for other choices."""
        varied = find_varied(self.context.draft)
        if varied != self._what.options:
            name = self._name if self._name in varied else K
            self._what.set_options(varied, value=name)
        self._what.visible = len(varied) > 1
        self._ask.set_text(f"What would each {self._name} cost?")
        if self._job is not None:
            if self._drawn_for != everything_but(self.context.draft, self._name):
                self._drop()
            else:
                self._mark()

    def _vary(self, name: str) -> None:
        if name != self._name:
            self._drop()
            self._name = name
            self._follow()

    def _drop(self) -> None:
        if self._job is not None:
            self._job.cancel()
            self._job = None
        self._curve = None
        self._stage.set_text("")
        self._room.clear()

    def _cancel(self) -> None:
        if self._job is not None:
            self._job.cancel()
            self._stage.set_text("stopping …")

    def _find(self) -> None:
        opened, draft = self.context.session.opened, self.context.copy_draft()
        name = self._name
        if opened is None or self._busy.visible:
            return

        def work(progress: Progress) -> Curve:
            return find_curve(opened, draft, name, progress)

        self._drop()
        self._show_busy(is_busy=True)
        self._stage.set_text(_SLOW)
        self._drawn_for = everything_but(draft, name)
        self._job = self.context.start(work, self._ended, self._progressed)

    def _show_busy(self, *, is_busy: bool) -> None:
        self._bar.value = 0
        self._busy.visible = is_busy
        self._ask.set_enabled(not is_busy)

    def _progressed(self, job: Job[Curve]) -> None:
        if job.stage and not job.is_cancelled:
            self._bar.value = job.done
            if job.stage == "points" and job.done:
                self._stage.set_text(f"trying values … {job.done:.0%}")

    def _ended(self, job: Job[Curve]) -> None:
        self._show_busy(is_busy=False)
        if job is not self._job:  # for choices that have changed since
            return
        self._stage.set_text("cancelled" if job.is_cancelled else "")
        if job.problem is not None:
            show_problem(self._room, job.problem)
        if job.result is not None and not job.is_cancelled:
            self._show(job.result)
        else:
            self._job = None

    def _show(self, curve: Curve) -> None:
        self._marks = {}
        self._curve = curve
        with self._room:
            with ui.row().classes("w-full items-start gap-x-6 gap-y-2"):
                with ui.column().classes("gap-0 studio-drawn"):
                    _show_legend()
                    self._show_picture(curve)
                with ui.column().classes("studio-note gap-1 studio-said"):
                    self._says = ui.label().props("aria-live=polite").mark("says")
                    ui.label(_meaning(curve)).classes("studio-faint").mark("knee")
            with ui.element("div").classes("studio-wide") as wide:
                wide.props("tabindex=0 role=region")
                named(wide, "figures of the curve")
                self._show_table(curve)
        self._mark()

    def _show_picture(self, curve: Curve) -> None:
        """Draw both lines, and a button over each value."""
        points = curve.found.points
        shares = [_shares_of(point) for point in points]
        most = max(share for pair in shares for share in pair or (0.01,))
        with ui.element("div").classes("studio-chart"):
            lines = "".join(
                _write_line([pair and pair[i] for pair in shares], most, classes)
                for i, classes in enumerate(("", "studio-second"))
            )
            ui.html(
                '<svg viewBox="0 0 100 100" preserveAspectRatio="none" '
                f'aria-hidden="true">{lines}</svg>',
                sanitize=False,
            )
            for i, point in enumerate(points):
                self._show_point(curve.name, point, (i, len(points)), most)

    def _show_point(
        self, name: str, point: Point, place: tuple[int, int], most: float
    ) -> None:
        """Lay a button over a value, and all that stands above and below it."""
        value, shares = point.parameters[name], _shares_of(point)
        i, n = place
        button = ui.element("button").classes("studio-point")
        button.style(f"left: {100 * i / n:.3f}%; width: {100 / n:.3f}%")
        button.props("type=button")
        text = "cannot be reached" if shares is None else f"{percent(shares[0])} lost"
        named(button, f"on the curve, {name} {value:g}: {text}")
        marks = "" if shares else "&times;"
        if shares is None:
            button.props("disabled")
        else:
            button.on("click", lambda: self._taken(name, value))
            self._marks.setdefault(value, []).append(button)
            loss, risk = (_height(share, most) for share in shares)
            marks = (
                f'<u style="top:{loss:.1f}%">{percent(shares[0])}</u>'
                f'<i class="studio-second" style="top:{risk:.1f}%"></i>'
                f'<i style="top:{loss:.1f}%"></i>'
            )
        with button:
            box = '<span style="position:absolute;inset:0 0 24px 0">'
            ui.html(f"{box}{marks}</span><b>{value:g}</b>", sanitize=False, tag="span")

    def _show_table(self, curve: Curve) -> None:
        columns = _columns(curve)
        table = ui.element("q-markup-table").props("flat dense")
        with table.classes("studio-figures max-w-full"):
            with ui.element("thead"), ui.element("tr"):
                for title in (curve.name, *columns):
                    _cell("th", title).props("scope=col")
            with ui.element("tbody"):
                for point in curve.found.points:
                    with ui.element("tr") as row:
                        self._fill_row(row, curve.name, point, columns)

    def _fill_row(
        self, row: ui.element, name: str, point: Point, columns: Columns
    ) -> None:
        value = point.parameters[name]
        with ui.element("td"):
            button = ui.button(
                f"{name} = {value:g}", on_click=lambda: self._taken(name, value)
            )
            button.props("outline dense no-caps").classes("w-24")
        if point.figures is None or point.figures.loss is None:
            button.disable()
            cell = _cell("td", _why(point)).classes("studio-why")
            cell.props(f"colspan={len(columns)}")
            return
        self._marks.setdefault(value, []).extend((row, button))
        for read in columns.values():
            _cell("td", read(point, point.figures))

    def _mark(self) -> None:
        """Show which of the values is chosen."""
        now = present_value(self.context.draft, self._name)
        if self._curve is not None:
            self._says.set_text(point_text(self._curve, now))
            self._says.visible = bool(self._says.text)
        for value, elements in self._marks.items():
            is_chosen = value == now
            for element in elements:
                if element.tag != "tr":
                    element.props["aria-pressed"] = str(is_chosen).lower()
                element.classes(**{"add" if is_chosen else "remove": "studio-chosen"})
                element.update()


def _show_legend() -> None:
    with ui.row().classes("gap-x-4 gap-y-0 text-sm"):
        for sign, words, second in (
            ("●", "detail lost", ""),
            ("◆", "best guess is right, at worst", "studio-second"),
        ):
            with ui.row().classes("items-center gap-1 no-wrap"):
                key = ui.label(sign).classes(f"studio-key {second}")
                key.props("aria-hidden=true")
                ui.label(words)


def _shares_of(point: Point) -> tuple[float, float] | None:
    """Return what is lost and the highest risk; None: no release is like that."""
    figures = point.figures
    if figures is None or figures.loss is None or figures.highest_risk is None:
        return None
    return figures.loss, figures.highest_risk


def _height(share: float, most: float) -> float:
    """Return where a share stands in the chart, in percent from its upper edge."""
    return 96 - 82 * share / most


def _write_line(shares: Sequence[float | None], most: float, classes: str) -> str:
    """Return the line through the values that can be reached."""
    n = len(shares)
    places = " ".join(
        f"{100 * (i + 0.5) / n:.2f},{_height(share, most):.2f}"
        for i, share in enumerate(shares)
        if share is not None
    )
    return f'<polyline class="{classes}" points="{places}"/>'


def _cell(tag: str, text: str) -> ui.element:
    with ui.element(tag) as cell:
        ui.label(text)
    return cell


def _columns(curve: Curve) -> Columns:
    """Return what is shown of a point, without what would say nothing."""
    columns: Columns = {
        "lost": lambda _, one: _share(one.loss),
        "groups": lambda _, one: f"{one.n_classes:,}",
        "smallest group": lambda _, one: f"{one.smallest_class:,}",
        "highest risk": lambda _, one: _share(one.highest_risk),
        "average risk": lambda _, one: _share(one.average_risk),
    }
    if any(one.figures and one.figures.n_suppressed for one in curve.found.points):
        columns["left out"] = lambda _, one: f"{one.n_suppressed:,}"
    if knees := curve.found.knees:
        columns["note"] = lambda point, _: "knee" if point in knees else ""
    return columns


def _share(share: float | None) -> str:
    return "-" if share is None else percent(share)


def _why(point: Point) -> str:
    """Return why a value is no choice."""
    if point.problem is None:
        return "leaves every row out"
    return f"cannot be reached: {point.problem.message}"


def _meaning(curve: Curve) -> str:
    """Return how to read the picture, in a sentence or two."""
    if curve.name != K:
        return "Everything else, k too, stays as it is on this curve."
    knees = [f"k = {one.parameters[K]:g}" for one in curve.found.knees]
    return _KNEE.format(" and ".join(knees)) if knees else _NO_KNEE
