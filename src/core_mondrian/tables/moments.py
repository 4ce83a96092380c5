"""Dates and times as a release writes them: no midnight, no fraction of zeros."""

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
    zone keep everything: their midnight depends on the zone.

    >>> days = pa.array([0, 86_400]).cast(pa.timestamp("s")).cast(pa.timestamp("us"))
    >>> moment_texts(days)[0].to_pylist()
    ['1970-01-01', '1970-01-02']
    """
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


def _is_local(kind: ArrowType) -> bool:
    is_stamp = pa.types.is_timestamp(kind) and kind.tz is None
    return is_stamp or pa.types.is_time(kind)
