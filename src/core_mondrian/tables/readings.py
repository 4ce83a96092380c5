"""What the text of a cell stands for: one spelling per value, and its order.

A CSV file has no types, and a text column of any table may hold numbers and dates. The
run and the verifier read such cells in the same way, cell by cell, so that no cell
changes what another one means: not even one that is suppressed.
"""

import re
from collections.abc import Callable, Sequence
from datetime import datetime, time
from decimal import Decimal
from typing import Any, Final

NUMBER: Final = r"^[ \t]*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,9})?[ \t]*$"
"""Numbers as Arrow reads them; `CODE` says which of them are none."""
CODE: Final = r"^[+-]?(0[0-9]+|0[xX].*|[0-9]{19,})$"
"""Digits that are a code, not a quantity: 01234, 0x1F, more than 64 bits hold."""
MOMENT: Final = r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?$"
TRUTH: Final = r"^(?:true|True|TRUE|false|False|FALSE)$"
INFINITE: Final = r"^[+-]?(?i:inf|infinity)$"
_WHOLE: Final = "[1-9][0-9]{0,17}"
PLAIN: Final = rf"^(0|-?{_WHOLE}|-?(0|{_WHOLE})\.[0-9]{{0,19}}[1-9])$"
"""Numbers in their one spelling already."""
_MOST_DIGITS: Final = 21
_ENDINGS: Final = ("00:00:00", "00:00")
_IS_NUMBER: Final = re.compile(NUMBER, re.ASCII)
_IS_CODE: Final = re.compile(CODE, re.ASCII)
_IS_MOMENT: Final = re.compile(MOMENT, re.ASCII)
_IS_TRUTH: Final = re.compile(TRUTH)
_IS_INFINITE: Final = re.compile(INFINITE)


def spell(text: str) -> str:
    """Return the one spelling of the value that a text stands for.

    >>> [spell(text) for text in ("5e4", "50000.0", "01234", "TRUE", "n/a")]
    ['50000', '50000', '01234', 'true', 'n/a']
    >>> spell("2020-01-31T00:00:00")
    '2020-01-31'
    """
    if _IS_NUMBER.match(text) and not _IS_CODE.match(text.strip(" \t")):
        return _spell_number(Decimal(text.strip(" \t")))
    if _IS_INFINITE.match(text):
        return "-inf" if text.startswith("-") else "inf"
    if _IS_TRUTH.match(text):
        return text.lower()
    if _IS_MOMENT.match(text):
        return _spell_moment(text)
    return text


def _spell_number(number: Decimal) -> str:
    """Return a number without what its amount does not need; 5E+40 if it is long."""
    if not number:
        return "0"
    sign, digits, exponent = number.as_tuple()
    kept = "".join(map(str, digits)).lstrip("0")
    significant = kept.rstrip("0")
    shift = int(exponent) + len(kept) - len(significant)
    minus = "-" if sign else ""
    if shift >= 0 and len(significant) + shift <= _MOST_DIGITS:
        return minus + significant + "0" * shift
    if shift < 0 and -shift <= _MOST_DIGITS:
        padded = significant.rjust(1 - shift, "0")
        return f"{minus}{padded[:shift]}.{padded[shift:]}"
    return f"{minus}{significant}E{shift:+d}"


def _spell_moment(text: str) -> str:
    day, clock = text[:10], text[11:]
    if "." in clock:
        clock = clock.rstrip("0").rstrip(".")
    if len(clock) == len("00:00"):
        clock += ":00"
    return day if clock in _ENDINGS else f"{day} {clock}"


def ascending(texts: Sequence[str]) -> list[int] | None:
    """Return the order of texts that are all numbers, all dates or all times.

    None: they have no order, or not one and the same.
    """
    for read in (_as_number, _as_moment, time.fromisoformat, _as_truth):
        try:
            return _sorted_by(texts, read)
        except (ValueError, TypeError, ArithmeticError):
            continue
    return None


def _sorted_by(texts: Sequence[str], read: Callable[[str], Any]) -> list[int]:
    keys = [read(text) for text in texts]
    return sorted(range(len(texts)), key=keys.__getitem__)


def _as_number(text: str) -> Decimal:
    spelled = spell(text)
    is_number = _IS_NUMBER.match(spelled) and not _IS_CODE.match(spelled)
    if is_number or _IS_INFINITE.match(spelled):
        return Decimal(spelled)
    raise ValueError


def _as_moment(text: str) -> datetime:
    if not text[:5].endswith("-"):  # such as 20200131, which is a number or a code
        raise ValueError
    return datetime.fromisoformat(text)


def _as_truth(text: str) -> bool:
    return ("false", "true").index(spell(text)) == 1
