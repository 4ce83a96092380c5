"""All figures, in the order of the page."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from core_mondrian.errors import InternalError, SpecError
from core_mondrian.report.charts import Chart
from experiments import people, runtime, scaled, spending, utility
from experiments.figure import Figure, Found, Report
from experiments.lab import Lab

FIGURES: Final[tuple[Figure, ...]] = (
    scaled.FIGURE,
    *utility.FIGURES,
    spending.SUPPRESSION,
    *runtime.FIGURES,
    spending.FUNNEL,
    runtime.SCALING,
    people.EQUITY,
    people.STATISTICS,
)
_ON_LARGER_TABLES: Final = ("data", "6", "7", "10")
"""The figures that depend on how larger tables are made up."""


def on_ctgan(figure: Figure, epochs: int) -> Figure:
    """Return the same figure on larger tables made by CTGAN."""
    name, colon, rest = figure.title.partition(":")

    def run(lab: Lab, report: Report) -> Found:
        if lab.ctgan is None:
            raise InternalError("this lab has no tables made by CTGAN")
        return figure.run(lab.ctgan, report)

    def draw(found: Found) -> Chart:
        chart = figure.draw(found)
        chart.title.text = f"{chart.title.text}, CTGAN data"
        return chart

    return replace(
        figure,
        key=f"{figure.key}-ctgan",
        title=f"{name} on CTGAN data{colon}{rest}" if colon else f"{name} of CTGAN",
        about=f"The same, but larger tables are made by CTGAN, trained for {epochs} "
        "epochs (the paper: 1000).",
        run=run,
        draw=draw,
        repeats=figure.key,
    )


def _with_ctgan(epochs: int | None) -> Iterator[Figure]:
    """Yield all figures, each followed by the same on CTGAN's tables if asked for."""
    for figure in FIGURES:
        yield figure
        if epochs is not None and figure.key in _ON_LARGER_TABLES:
            yield on_ctgan(figure, epochs)


def choose_figures(
    asked: str | None, *, ctgan_epochs: int | None = None
) -> tuple[Figure, ...]:
    """Return the figures of a list such as ``1,5,9``, in the order of the page.

    With ``ctgan_epochs`` those on larger tables are there for CTGAN's as well.

    Raises:
        SpecError: it names one that there is not.
    """
    figures = tuple(_with_ctgan(ctgan_epochs))
    if asked is None:
        return figures
    keys = [key.strip() for key in asked.split(",")]
    known = [figure.key for figure in figures]
    if unknown := [key for key in keys if key not in known]:
        raise SpecError(
            f"no figure is called {', '.join(map(repr, unknown))}",
            hint=f"there are {', '.join(known)}",
        )
    return tuple(figure for figure in figures if figure.key in keys)
