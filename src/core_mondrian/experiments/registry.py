"""All figures, in the order of the page."""

from typing import Final

from core_mondrian.errors import SpecError
from core_mondrian.experiments import people, runtime, scaled, utility
from core_mondrian.experiments.figure import Figure

FIGURES: Final[tuple[Figure, ...]] = (
    scaled.FIGURE,
    *utility.FIGURES,
    *runtime.FIGURES,
    utility.FUNNEL,
    runtime.SCALING,
    people.EQUITY,
    people.STATISTICS,
)


def choose_figures(asked: str | None) -> tuple[Figure, ...]:
    """Return the figures of a list such as ``1,5,9``, in the order of the page.

    Raises:
        SpecError: it names one that there is not.
    """
    if asked is None:
        return FIGURES
    keys = [key.strip() for key in asked.split(",")]
    known = [figure.key for figure in FIGURES]
    if unknown := [key for key in keys if key not in known]:
        raise SpecError(
            f"no figure is called {', '.join(map(repr, unknown))}",
            hint=f"there are {', '.join(known)}",
        )
    return tuple(figure for figure in FIGURES if figure.key in keys)
