"""Flat, Prefix and Redact: codes such as ZIP, ICD or NAICS, whole or shortened."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar, Final, Literal

from core_mondrian.errors import SpecError
from core_mondrian.hierarchies.base import (
    Builder,
    as_tuple,
    check_numbers,
    from_levels,
    texts_of,
)
from core_mondrian.hierarchies.tree import Hierarchy, flat

_ODD: Final = 0.1
"""Share of the values up to which words without digits are no codes."""


@dataclass(frozen=True)
class Flat(Builder):
    """Values as names: each stands for itself, and ``*`` for those that differ.

    Text is that anyway. A number is so no quantity any more, but a code: 7 and 9 have
    no range between them.

    >>> Flat().build([7, 9, 10]).labels
    ('*', '7', '9', '10')
    """

    kind: ClassVar[str] = "flat"

    def build(self, values: Iterable[object]) -> Hierarchy:
        return flat(texts_of(values))


@dataclass(frozen=True)
class Prefix(Builder):
    """Codes by what they begin with: 13053, 1305*, 130** and so on.

    >>> Prefix(steps=(2,)).build(["13053", "13068"]).labels
    ('*', '130**', '13053', '13068')
    """

    kind: ClassVar[str] = "prefix"
    steps: int | tuple[int, ...] = 1
    """Characters cut at each level; one number: as often as there are characters."""
    lengths: tuple[int, ...] = ()
    """Characters kept at each level, falling, instead of steps."""
    pad: Literal["right", "left"] = "right"
    """Where codes shorter than the longest are filled up: at the right with ``sign``,
    at the left with zeros."""
    sign: str = "*"

    def __post_init__(self) -> None:
        if not isinstance(self.steps, int):
            object.__setattr__(self, "steps", as_tuple(self.steps))
        object.__setattr__(self, "lengths", as_tuple(self.lengths))
        _check_steps(self.kind, self.steps, self.sign)
        if self.lengths:
            check_numbers(self.kind, "lengths", self.lengths)
            if list(self.lengths) != sorted(set(self.lengths), reverse=True):
                raise SpecError(
                    "prefix: lengths fall from level to level",
                    hint="such as lengths = [4, 2]",
                )
            if self.steps != 1:
                raise SpecError(
                    "prefix: either steps or lengths", hint="leave one of them out"
                )
        if self.pad not in ("right", "left"):
            raise SpecError("prefix: pad is one of right, left")

    def build(self, values: Iterable[object]) -> Hierarchy:
        texts = texts_of(values)
        codes = _codes_among(texts)
        longest = max(map(len, codes), default=0)
        fill = longest if self.pad == "left" else 0
        kept = self.lengths or [longest - n for n in _cuts(self.steps, longest)]
        return from_levels(
            texts,
            [
                [
                    x.rjust(fill, "0")[:n].ljust(longest, self.sign)
                    if x in codes
                    else x
                    for x in texts
                ]
                for n in kept
                if 0 < n < longest
            ],
        )


@dataclass(frozen=True)
class Redact(Builder):
    """Texts with more and more characters replaced by a sign, as long as they were.

    >>> Redact(steps=(2,)).build(["0151", "0152"]).labels
    ('*', '01**', '0151', '0152')
    """

    kind: ClassVar[str] = "redact"
    steps: int | tuple[int, ...] = 1
    """Characters replaced at each level; one number: until all of them are."""
    side: Literal["right", "left"] = "right"
    """Where replacing begins."""
    sign: str = "*"

    def __post_init__(self) -> None:
        _check_steps(self.kind, self.steps, self.sign)
        if self.side not in ("right", "left"):
            raise SpecError("redact: side is one of right, left")

    def build(self, values: Iterable[object]) -> Hierarchy:
        texts = texts_of(values)
        longest = max(map(len, texts), default=0)
        cuts = _cuts(self.steps, longest)
        return from_levels(texts, [[self._hide(x, n) for x in texts] for n in cuts])

    def _hide(self, text: str, n: int) -> str:
        kept = max(0, len(text) - n)
        if self.side == "right":
            return text[:kept].ljust(len(text), self.sign)
        return text[len(text) - kept :].rjust(len(text), self.sign)


def _codes_among(texts: list[str]) -> set[str]:
    """Return the texts that are codes: without UNKNOWN and the like among numbers.

    A word among codes with digits stands for itself, and its length means nothing.
    """
    numbered = {text for text in texts if any(sign.isdigit() for sign in text)}
    is_odd = len(texts) - len(numbered) <= _ODD * len(texts)
    return numbered if is_odd else set(texts)


def _check_steps(kind: str, steps: int | tuple[int, ...], sign: str) -> None:
    check_numbers(kind, "steps", steps if isinstance(steps, tuple) else (steps,))
    if not isinstance(sign, str) or len(sign) != 1:
        raise SpecError(f"{kind}: sign is one character")


def _cuts(steps: int | tuple[int, ...], longest: int) -> list[int]:
    """Return how many characters are gone at each level."""
    if isinstance(steps, int):
        return [*range(steps, longest, steps), longest]
    return [n for n in accumulate(steps) if n <= longest]
