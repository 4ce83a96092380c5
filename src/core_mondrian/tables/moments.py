"""Dates, times and decimals as a release writes them: no midnight, no empty digits."""

from collections.abc import Sequence
from decimal import Decimal
from functools import reduce
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from core_mondrian.runtime.array_types import ArrowArray, ArrowType

_EMPTY_ENDINGS: Final = (r"\.0+$", r" 00:00:00$")


def moment_texts(*ends: ArrowArray) -> list[ArrowArray]:
    """Return the ends of ranges as texts, side by side.

    An ending goes where all ends of a range have it, so that what is written is decided
    by the range alone, and whoever reads it gets the same moments back. Times with a
    zone keep everything: their midnight depends on the zone. Decimals lose zeros at
    their end likewise: a column has as many digits as any of its rows needs, and that
    row may be suppressed.

    >>> days = pa.array([0, 86_400]).cast(pa.timestamp("s")).cast(pa.timestamp("us"))
    >>> moment_texts(days)[0].to_pylist()
    ['1970-01-01', '1970-01-02']
    """
    if all(pa.types.is_decimal(end.type) for end in ends):
        return _decimal_texts(ends)
    texts = [end.cast(pa.string()) for end in ends]
    if not all(_is_local(end.type) for end in ends):
        return texts
    for ending in _EMPTY_ENDINGS:
        has_ending = reduce(
            pc.and_, [pc.match_substring_regex(text, ending) for text in texts]
        )
        texts = [
            pc.if_else(has_ending, pc.replace_substring_regex(text, ending, ""), text)
            for text in texts
        ]
    return texts


def _decimal_texts(ends: Sequence[ArrowArray]) -> list[ArrowArray]:
    ranges = zip(*(end.to_pylist() for end in ends), strict=True)
    found = zip(*(_without_zeros(one) for one in ranges), strict=True)
    texts = [pa.array(text, pa.string()) for text in found]
    return texts or [pa.array([], pa.string()) for _ in ends]


def _without_zeros(ends: Sequence[Decimal | None]) -> list[str | None]:
    """Return decimals of one scale without the zeros at the end that all have.

    >>> _without_zeros([Decimal("1.500"), Decimal("20.000")])
    ['1.5', '20.0']
    """
    texts = [None if end is None else f"{end:f}" for end in ends]
    told = [text for text in texts if text is not None and "." in text]
    n = min((len(text) - len(text.rstrip("0")) for text in told), default=0)
    return [text and text[: len(text) - n].removesuffix(".") for text in texts]


def _is_local(kind: ArrowType) -> bool:
    is_stamp = pa.types.is_timestamp(kind) and kind.tz is None
    return is_stamp or pa.types.is_time(kind)
