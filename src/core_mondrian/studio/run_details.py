"""How a release was made: any two columns painted, the funnel, the first cuts."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from nicegui import ui

from core_mondrian.engine.funnel_counts import STAGES
from core_mondrian.release.report_file import check_painting
from core_mondrian.report.cuts import Branch, TreeFacts, describe_tree
from core_mondrian.report.partition_plot import paint
from core_mondrian.report.views import views_of
from core_mondrian.report.wording import KINDS, count
from core_mondrian.studio.actions import Run
from core_mondrian.studio.jobs import Job, Progress
from core_mondrian.studio.page_context import (
    PageContext,
    heading,
    show_problem,
    show_svg,
    show_table,
)
from core_mondrian.studio.tables import quote

_MOST_BOXES: Final = 300
_FUNNEL: Final = (
    "Candidate cuts of each column (policy best: one a partition) that were examined, "
    "divide the rows (considered), leave groups that may be released (proposed), were "
    "tried (final), made (accepted) and undone again (abandoned)."
)


@dataclass(frozen=True)
class _Painted:
    """A painting, and what is said of it."""

    x: str
    y: str
    picture: str = field(repr=False)
    n_classes: int


class RunDetails:
    """One run's painting, funnel and tree."""

    def __init__(self, context: PageContext, run: Run) -> None:
        self.context = context
        self.run = run
        self._painting_job: Job[_Painted] | None = None

    def build(self) -> None:
        """Show what is there at once, and the rest when it is drawn."""
        self._build_painting()
        heading("The funnel of cuts")
        ui.label(_FUNNEL).classes("studio-faint")
        show_table("The funnel of cuts", ["column", *STAGES], _funnel(self.run))
        heading("The first cuts")
        self._tree = ui.column().classes("w-full gap-1").mark("tree")
        self._find_tree()

    def _build_painting(self) -> None:
        heading("A Mondrian painting of it")
        names = list(self.run.release.spec.quasi_identifiers)
        if len(names) < 2 or not self.run.release.class_sizes.size:
            ui.label("It takes two columns and a group to paint.")
            return
        with ui.row().classes("items-center gap-4"):
            self._axes = [
                ui.select(names, label=label, value=name).classes("w-48")
                for label, name in zip(
                    ("From left to right", "From bottom to top"),
                    self.run.release.funnel.pairs()[0],
                    strict=True,
                )
            ]
        self._canvas = ui.column().classes("w-full gap-1").mark("painting")
        for axis in self._axes:
            axis.on_value_change(self._paint)
        self._paint()

    def _paint(self) -> None:
        release = self.run.release
        x, y = (axis.value for axis in self._axes)

        def work(progress: Progress) -> _Painted:
            progress("paint", 0.0)
            check_painting((x, y), release.spec.quasi_identifiers)
            picture = paint(release, x, y, width=720, title="", most=_MOST_BOXES)
            return _Painted(x, y, picture, int(release.class_sizes.size))

        def ended(job: Job[_Painted]) -> None:
            if job is self._painting_job and not self._canvas.is_deleted:
                self._show_painting(job)

        self._canvas.clear()
        with self._canvas:
            ui.spinner()
        self._painting_job = self.context.start(work, ended)

    def _show_painting(self, job: Job[_Painted]) -> None:
        self._canvas.clear()
        if job.problem is not None:
            show_problem(self._canvas, job.problem)
        if job.result is None:
            return
        painted = job.result
        n_boxes = min(painted.n_classes, _MOST_BOXES)
        words = f"{count(n_boxes, 'group')} as boxes over {painted.x} and {painted.y}"
        with self._canvas:
            # An image, and no part of the page: the picture has a style of its own.
            show_svg(painted.picture.encode(), words).classes("studio-painting")
            part = ""
            if n_boxes < painted.n_classes:
                part = (
                    f" Of {painted.n_classes:,} groups {n_boxes:,} are painted, evenly "
                    "from the largest to the smallest."
                )
            ui.label(
                "Each box is a group: from where to where it reaches in "
                f"{painted.x} and {painted.y}.{part}"
            ).classes("studio-faint")

    def _find_tree(self) -> None:
        release = self.run.release

        def work(progress: Progress) -> TreeFacts:
            progress("tree", 0.0)
            return describe_tree(release, list(views_of(release)))

        def ended(job: Job[TreeFacts]) -> None:
            if self._tree.is_deleted:
                return
            self._tree.clear()
            if job.problem is not None:
                show_problem(self._tree, job.problem)
            if job.result is not None:
                with self._tree:
                    _show_tree(job.result)

        with self._tree:
            ui.spinner()
        self.context.start(work, ended)


def _funnel(run: Run) -> Iterator[list[str]]:
    funnel = run.release.funnel.to_json()
    all_of = [(KINDS[kind], counts) for kind, counts in funnel["kinds"].items()]
    for name, counts in (*funnel["columns"].items(), *all_of):
        yield [name, *(f"{counts[stage]:,}" for stage in STAGES)]


def _show_tree(tree: TreeFacts) -> None:
    ui.label(
        f"{count(tree.n_nodes, 'node')}, {count(tree.n_classes, 'group')}, "
        f"{count(tree.depth, 'level')} deep. The first cuts, named by what the groups "
        "below them show:"
    )
    branches = "".join(write_branch(item, is_open=True) for item in tree.top)
    ui.html(f'<div class="studio-tree">{branches}</div>', sanitize=False)


def write_branch(item: Branch, *, is_open: bool = False) -> str:
    """Return a branch and those below it as HTML that folds; all text is escaped."""
    shows = f"<bdi>{quote(item.shows)}</bdi>" if item.shows else "all rows"
    size = f"{count(item.rows, 'row')}, {count(item.n_classes, 'group')}"
    if not item.branches:
        return f'<div class="leaf">{shows} <small>{size}</small></div>'
    cut = f", cut by <bdi>{quote(item.cut or '')}</bdi>"
    inside = "".join(write_branch(one) for one in item.branches)
    more = ""
    if item.n_more:
        more = f'<div class="leaf"><small>and {item.n_more:,} more</small></div>'
    return (
        f"<details{' open' if is_open else ''}><summary>{shows} "
        f"<small>{size}{cut}</small></summary>{inside}{more}</details>"
    )
