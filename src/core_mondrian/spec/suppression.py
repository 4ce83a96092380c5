"""The suppression budget as it is given: a share of the rows, or a number."""

import math
import re
from dataclasses import dataclass
from fractions import Fraction

from core_mondrian.errors import SpecError

_SHARE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*%\s*")


@dataclass(frozen=True, slots=True)
class Suppression:
    """How many rows may be left out: ``share`` of them, or ``rows`` at most."""

    share: Fraction = Fraction(0)
    rows: int | None = None
    multiplier: Fraction = Fraction(1)
    """Safety margin factor on the share (Core Mondrian §3.6), also above 1; a number of
    rows is taken as it is."""

    def __post_init__(self) -> None:
        # What looks like 0.02 is meant to be 1/50: its bits would cost a row.
        for name in ("share", "multiplier"):
            number = exact(getattr(self, name), f"{name} of suppress")
            object.__setattr__(self, name, number)
        if not 0 <= self.share <= 1:
            raise SpecError(
                "suppress is a share between 0% and 100%", hint="such as '1%'"
            )
        if self.rows is not None and not _is_count(self.rows):
            raise SpecError(
                f"suppress is a number of rows >= 0, got {self.rows}",
                hint="such as 100, or a share: '1%'",
            )
        if self.multiplier < 0:
            raise SpecError("suppress_multiplier is a number >= 0")
        if self.share * self.multiplier > 1:
            raise SpecError(
                "suppress_multiplier times the share is more than all rows",
                hint="lower one of them",
            )

    def whole_rows(self, n_rows: int) -> int:
        """Return the budget for ``n_rows`` rows, rounded down once."""
        if self.rows is not None:
            return min(self.rows, n_rows)
        return math.floor(n_rows * self.share * self.multiplier)

    def __str__(self) -> str:
        if self.rows is not None:
            return str(self.rows)
        return f"{float(self.share * 100):g}%"


def _is_count(rows: object) -> bool:
    return isinstance(rows, int) and not isinstance(rows, bool) and rows >= 0


def parse_suppression(asked: str | int, multiplier: str | float = 1) -> Suppression:
    """Read ``"1%"``, ``"25"`` or ``25``.

    Raises:
        SpecError: it is neither a percentage nor a whole number of rows.
    """
    factor = exact(multiplier, "suppress_multiplier")
    if isinstance(asked, int) and not isinstance(asked, bool):
        return Suppression(rows=asked)
    text = str(asked)
    if match := _SHARE.fullmatch(text):
        return Suppression(share=Fraction(match[1]) / 100, multiplier=factor)
    if text.strip().isdigit():
        return Suppression(rows=int(text))
    raise SpecError(
        "suppress is neither a percentage nor a number of rows",
        hint='write suppress = "1%" or suppress = 25',
    )


def exact(number: str | float, key: str) -> Fraction:
    """Return ``number`` as the fraction its shortest decimal spelling means."""
    try:
        return Fraction(str(number))
    except (ValueError, ZeroDivisionError):
        raise SpecError(f"{key} is a number, got {type(number).__name__}") from None
