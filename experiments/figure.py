"""A figure as a value: what is measured, how it is drawn, what the paper says of it.

A new section of the page is one more `Figure` in `registry.FIGURES`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from core_mondrian.report.charts import Chart
    from experiments.lab import Lab

Row: TypeAlias = dict[str, Any]
"""Plain values by name; all rows of a list have the same names."""
Report: TypeAlias = Callable[[float], None]
"""``report(done)``: how much of a figure is measured, from 0 to 1."""
State: TypeAlias = Literal["holds", "does not hold", "not tested"]


@dataclass(frozen=True, slots=True)
class Found:
    """What was measured for one figure."""

    numbers: tuple[Row, ...]
    """The same on every run, on every machine."""
    times: tuple[Row, ...] = ()
    """Seconds of this run on this machine."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a statement holds for what was measured."""

    state: State
    measured: str
    because: str = ""
    """What the run shows to be the reason; never empty where it does not hold."""

    def __str__(self) -> str:
        return f"{self.state}, because {self.because}" if self.because else self.state


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of the paper, in our words, and how it is judged."""

    says: str
    judge: Callable[[Found], Verdict]
    is_timed: bool = False
    """Whether it is about seconds, so that the verdict may differ between runs."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One picture and the section of the page around it."""

    key: str
    """What `--figures` calls it."""
    title: str
    about: str
    """What is measured, on what."""
    run: "Callable[[Lab, Report], Found]"
    draw: "Callable[[Found], Chart]"
    claims: tuple[Claim, ...] = ()
    tabulate: "Callable[[Found], list[Row]] | None" = None
    """What the page shows as a table below the picture."""
    fits: bool = False
    """Whether it fits models, which needs the extra `statistics`."""
    repeats: str = ""
    """Of what figure this is the same on other data, by its key."""

    @property
    def name(self) -> str:
        """What its files are called."""
        number, dash, data = self.key.partition("-")
        return f"figure-{number:0>2}{dash}{data}" if number.isdigit() else self.key


def pick(rows: Sequence[Row], **equal: object) -> list[Row]:
    """Return the rows that have these values."""
    return [r for r in rows if all(r[name] == value for name, value in equal.items())]


def series(rows: Sequence[Row], y: str, **equal: object) -> list[Any]:
    """Return one name's values, in the order they were measured."""
    return [row[y] for row in pick(rows, **equal)]
