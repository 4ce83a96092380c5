"""Dates: days, months, quarters, years and decades."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from core_mondrian.errors import SpecError
from core_mondrian.hierarchies.base import Builder, from_levels, texts_of
from core_mondrian.hierarchies.tree import Hierarchy

_DATE = re.compile(r"(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?:[ T].*)?")
_LABELS = {
    "day": "{0}-{1}-{2}",
    "month": "{0}-{1}",
    "quarter": "{0}-Q{3}",
    "year": "{0}",
    "decade": "{4}0s",
}


@dataclass(frozen=True)
class Dates(Builder):
    """Dates and timestamps: 2024-03-09, 2024-03, 2024-Q1, 2024, 2020s.

    >>> Dates(("month", "year")).build(["2023-03-09", "2024-05-01"]).labels[:3]
    ('*', '2023', '2024')
    """

    kind: ClassVar[str] = "dates"
    levels: tuple[str, ...] = tuple(_LABELS)
    """Some of day, month, quarter, year, decade, in this order."""

    def __post_init__(self) -> None:
        ordered = [name for name in _LABELS if name in self.levels]
        if not self.levels or list(self.levels) != ordered:
            raise SpecError(
                "dates: the levels are not some of them, finest first",
                hint=f"they are {', '.join(_LABELS)}",
            )

    def build(self, values: Iterable[object]) -> Hierarchy:
        matches = [(text, _DATE.fullmatch(text)) for text in texts_of(values)]
        dates = [(text, match.groups()) for text, match in matches if match]
        parts = [(*ymd, (int(ymd[1]) + 2) // 3, ymd[0][:3]) for _, ymd in dates]
        return from_levels(
            [text for text, _ in dates],
            [[_LABELS[name].format(*part) for part in parts] for name in self.levels],
        )
