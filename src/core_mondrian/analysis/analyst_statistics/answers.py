"""Answers: one statistic of both tables, as plain rows, figures and a sentence."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Final

import numpy as np

from core_mondrian.analysis.analyst_statistics.cells import Column, Tables
from core_mondrian.analysis.analyst_statistics.questions import Question
from core_mondrian.runtime.array_types import Flags, Floats, Integers
from core_mondrian.runtime.plain_values import JsonObject

NOISE: Final = 1.96
"""Standard errors within which 95 of 100 samples lie."""
OTHERS: Final = "others"


@dataclass(frozen=True, slots=True)
class Row:
    """One number of the original and of the release."""

    name: str
    before: float | None
    after: float | None
    error_before: float | None = None
    """Its standard error in the original."""
    error_after: float | None = None
    n_before: int | None = None
    """Rows of the original it is of."""
    n_after: float | None = None
    """Rows of the release it is of: expected ones, where cells allow several values."""
    overlap: float | None = None
    """Of 95 % intervals, how much of them both have: 0 to 1."""
    guess: float | None = None
    """What guessing reaches."""

    @property
    def difference(self) -> float | None:
        """How much more the release says."""
        if self.before is None or self.after is None:
            return None
        return self.after - self.before

    @property
    def errors_off(self) -> float | None:
        """The difference in standard errors of the original."""
        if self.difference is None:
            return None
        if not self.error_before:
            return 0.0 if abs(self.difference) < 1e-12 else None
        return self.difference / self.error_before

    @property
    def is_noise(self) -> bool:
        """Return whether another sample of people might differ as much."""
        off = self.errors_off
        return off is not None and abs(off) <= NOISE

    def to_json(self) -> JsonObject:
        """Return plain values, without those that are not defined here."""
        plain = {
            name: value for name, value in asdict(self).items() if value is not None
        }
        extra = {"difference": self.difference, "errors_off": self.errors_off}
        return plain | {
            name: value for name, value in extra.items() if value is not None
        }


@dataclass(frozen=True, slots=True)
class Answer:
    """A question answered by the original and by the release."""

    question: Question
    what: str
    """What the rows are."""
    rows: tuple[Row, ...]
    score: float | None
    """1: the release says the same; 0: it says nothing. None: there is no answer."""
    sentence: str
    figures: Mapping[str, float | int | None] = field(default_factory=dict)
    left_out: tuple[int, float] = (0, 0)
    """Rows of both tables with a blank in one of the columns."""
    is_share: bool = False
    """Whether the rows are shares, to be shown in percent."""

    @property
    def title(self) -> str:
        """The question, and what its rows are where that does not go without saying."""
        is_plain = self.question.kind == "means" and not self.is_share
        return str(self.question) if is_plain else f"{self.question}: {self.what}"

    def to_json(self) -> JsonObject:
        """Return plain values."""
        return {
            **self.question.to_json(),
            "what": self.what,
            "rows": [row.to_json() for row in self.rows],
            "figures": dict(self.figures),
            "left_out": {"original": self.left_out[0], "released": self.left_out[1]},
            "score": self.score,
            "sentence": self.sentence,
        }


def unanswered(question: Question, why: str) -> Answer:
    """Return an answer that says why there is none."""
    return Answer(question, "no answer", (), None, f"There is no answer: {why}.")


def choose_named(rows: Integers, people: Integers, shown: Floats, k: int) -> Flags:
    """Return which groups (axis 0) may be named; the others are put together.

    ``rows`` and ``people`` of the original are counted by group, or by group and
    outcome (axis 1); ``shown`` are the rows of the release that show all values of the
    group as they are. A group needs k people and k rows that show it, and k people or
    no row with each outcome. What is left together needs that too, else the smallest
    groups join it.
    """
    rows, people = rows.reshape(shown.size, -1), people.reshape(shown.size, -1)
    sizes = people.sum(axis=1)
    fine = ((rows == 0) | (people >= k)).all(axis=1)
    named: Flags = (sizes >= k) & (shown >= k - 1e-6) & fine
    while named.any():
        rest, known = rows[~named].sum(axis=0), people[~named].sum(axis=0)
        if ((rest == 0) | (known >= k)).all():
            break
        candidates = np.flatnonzero(named)
        named[candidates[sizes[candidates].argmin()]] = False
    return named


def name_levels(column: Column, tables: Tables) -> Flags:
    """Return which levels of a category may be named."""
    exact = column.after.content * column.after.exact[:, np.newaxis]
    counts = tables.count_people([column.before])
    return choose_named(*counts, column.after.count() @ exact, tables.spec.min_rows)


def most_off(rows: Sequence[Row], most: int) -> list[Row]:
    """Return the rows that differ most, in the order they are in."""
    order = sorted(range(len(rows)), key=lambda i: -abs(rows[i].difference or 0.0))
    return [rows[i] for i in sorted(order[:most])]


def number_text(value: float | None, *, is_share: bool = False) -> str:
    """Return a number for reading: shares in percent, others to four digits."""
    if value is None:
        return "-"
    if is_share:
        return f"{100 * value:.1f} %"
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def difference_text(value: float | None, *, is_share: bool = False) -> str:
    """Return a difference for reading, shares in percentage points."""
    if value is None:
        return "-"
    if is_share:
        points = round(100 * value, 1) or 0.0
        return f"{points:+.1f} points"
    return f"{value:+.3g}" if value else "0"


def size_text(value: float, *, is_share: bool = False) -> str:
    """Return the size of a difference for reading."""
    return difference_text(abs(value), is_share=is_share).lstrip("+")


def average(pairs: Iterable[tuple[float, float]]) -> float | None:
    """Return the mean of numbers, given with their weights."""
    known = list(pairs)
    total = sum(weight for _, weight in known)
    if not total:
        return None
    return sum(value * weight for value, weight in known) / total
