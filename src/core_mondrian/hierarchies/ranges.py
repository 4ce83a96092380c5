"""Ranges: numbers in intervals of fixed widths or between given bounds."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

from core_mondrian.errors import SpecError
from core_mondrian.hierarchies.base import Builder, as_tuple, from_levels, texts_of
from core_mondrian.hierarchies.tree import Hierarchy

# An exponent of more digits is a number nobody has, and takes ages to write out.
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")

Number = int | Fraction
Span = tuple[Number | None, Number | None]
"""From where to where, the end not included; None: without end."""


@dataclass(frozen=True)
class Ranges(Builder):
    """Numbers in intervals that hold their lower end, not their upper: [20, 25).

    >>> Ranges(widths=(5, 10)).build([21, 22, 26]).labels
    ('*', '[20, 30)', '[20, 25)', '[25, 30)', '21', '22', '26')
    >>> Ranges(widths=(10,), above=30).build([21, 31, 99]).labels
    ('*', '[20, 30)', '≥ 30', '21', '31', '99')
    """

    kind: ClassVar[str] = "ranges"
    widths: tuple[float, ...] = ()
    """Width of the intervals of each level, each a multiple of the one before; they
    begin at multiples of it."""
    bounds: tuple[tuple[float, ...], ...] = ()
    """Where the intervals of each level begin and end, instead of widths; the bounds
    of a level are some of those of the level before."""
    below: float | None = None
    """With widths: everything below is one node, ``< below``."""
    above: float | None = None
    """With widths: everything from here on is one node, ``≥ above``."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "widths", as_tuple(self.widths))
        if bool(self.widths) == bool(self.bounds):
            raise SpecError(
                "ranges: either widths or bounds", hint="such as widths = [5, 10, 20]"
            )
        for n in (*self.widths, *(x for level in self.bounds for x in level)):
            _exact(n)
        self._check_widths()
        self._check_bounds()

    def _check_widths(self) -> None:
        widths = [_exact(width) for width in self.widths]
        for i, width in enumerate(widths):
            if width <= 0 or width % widths[max(0, i - 1)]:
                raise SpecError(
                    "ranges: every width is above 0 and a multiple of the one before",
                    hint="such as widths = [5, 10, 20]",
                )
        if len(set(widths)) < len(widths):
            raise SpecError(
                "ranges: two levels have the same width",
                hint="such as widths = [5, 10, 20]",
            )
        if None not in (self.below, self.above) and self._ends[0] >= self._ends[1]:  # type: ignore[operator]
            raise SpecError("ranges: below is not less than above")

    def _check_bounds(self) -> None:
        finer: set[Number] | None = None
        for level in self.bounds:
            exact = [_exact(x) for x in level]
            if not exact or exact != sorted(set(exact)):
                raise SpecError(
                    "ranges: bounds rise",
                    hint="such as bounds = [[18, 30, 45, 65], [30, 65]]",
                )
            if finer is not None and not finer.issuperset(exact):
                raise SpecError(
                    "ranges: a bound is not one of the level before",
                    hint="leave bounds out from level to level, and add none",
                )
            finer = set(exact)
        if self.bounds and (self.below, self.above) != (None, None):
            raise SpecError(
                "ranges: below and above go with widths",
                hint="with bounds, the first and the last one are these",
            )

    @property
    def _ends(self) -> Span:
        low, high = (None if x is None else _exact(x) for x in (self.below, self.above))
        return low, high

    def build(self, values: Iterable[object]) -> Hierarchy:
        read = [(text, _number(text)) for text in texts_of(values)]
        numbers = sorted((n, text) for text, n in read if n is not None)
        widths, bounds = map(_exact, self.widths), self.bounds
        spans = [[self._wide(n, width) for n, _ in numbers] for width in widths]
        for level in bounds:
            edges = [_exact(x) for x in level]
            spans.append([_between(n, edges) for n, _ in numbers])
        texts = [text for _, text in numbers]
        return from_levels(texts, [[_label(x) for x in level] for level in spans])

    def _wide(self, n: Number, width: Number) -> Span:
        low, high = self._ends
        if low is not None and n < low:
            return None, low
        if high is not None and n >= high:
            return high, None
        start = n // width * width
        stop = start + width
        return (
            start if low is None else max(start, low),
            stop if high is None else min(stop, high),
        )


def _between(n: Number, edges: Sequence[Number]) -> Span:
    place = bisect_right(edges, n)
    return (
        edges[place - 1] if place else None,
        edges[place] if place < len(edges) else None,
    )


def _exact(number: object) -> Number:
    """Return a parameter as it is written, not as a float rounds it."""
    exact = None
    if isinstance(number, int | float) and not isinstance(number, bool):
        exact = _number(str(number))
    if exact is None:
        raise SpecError("ranges: widths, bounds, below and above are finite numbers")
    return exact


def _number(text: str) -> Number | None:
    """Return the number a text is; None: it is none."""
    if not _NUMBER.fullmatch(text) or len(text) > 400:
        return None
    number = Fraction(text) if set(text) & set(".eE") else int(text)
    return int(number) if number.denominator == 1 else number


def _label(span: Span) -> str:
    low, high = span
    if low is None:
        return f"< {_text(high)}"
    return f"≥ {_text(low)}" if high is None else f"[{_text(low)}, {_text(high)})"


def _text(number: Number | None) -> str:
    if number is None or isinstance(number, int):
        return str(number)
    return f"{(Decimal(number.numerator) / Decimal(number.denominator)):f}"
