"""Ranges of classes: as text, or with both bounds in the column's own type."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import reduce
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core_mondrian.encoding.columns import comparable
from core_mondrian.recoding.labels import BOUNDS, Labels, number_distinct
from core_mondrian.runtime.array_types import ArrowArray
from core_mondrian.spec.declaration import Spec

_EMPTY_ENDINGS: Final = (r"\.0+$", r" 00:00:00$")


def label_ranges(
    name: str,
    values: pa.Array,
    box: tuple[NDArray[np.int32], NDArray[np.int32]],
    released: Callable[[], NDArray[np.bool_]],
    spec: Spec,
) -> Labels:
    """Return the range of each class between its smallest and its largest value.

    A class that mixes missing and present values shows neither. ``released`` returns
    which codes released rows have, by which the grid of nice bounds is chosen.
    """
    low, high = (codes.astype(np.int64) for codes in box)
    missing = len(values)
    pair = np.where(high == missing, -1, low * (missing + 1) + high)
    distinct, index = number_distinct(pair)
    is_blank = bool(distinct.size) and distinct[0] < 0
    distinct = distinct[1:] if is_blank else distinct
    index = index - is_blank
    places = distinct // (missing + 1), distinct % (missing + 1)
    is_nice = spec.is_nice(name)
    below, above = _find_grid(values, released()) if is_nice else (values, values)
    low_ends = below.take(pa.array(places[0]))
    high_ends = above.take(pa.array(places[1]))
    if is_nice:
        (low_ends, high_ends), index = _merge(low_ends, high_ends, index)
    ends = low_ends, high_ends
    if spec.format_of(name) == "interval":
        low_text, high_text = moment_texts(low_ends, high_ends)
        ranges = pc.binary_join_element_wise("[", low_text, ", ", high_text, "]", "")
        shown = pc.if_else(pc.equal(low_text, high_text), low_text, ranges)
    else:
        shown = pa.StructArray.from_arrays(ends, names=list(BOUNDS))
    return Labels(index.astype(np.int32), shown, ends=ends if is_nice else None)


def _find_grid(values: pa.Array, used: NDArray[np.bool_]) -> tuple[pa.Array, pa.Array]:
    """Return both ends of the cell of each value, by the values that are released."""
    from core_mondrian.recoding.rounding import find_grid

    # Values of suppressed rows alone have no place on the grid, and none asks for it.
    number = pa.array(np.cumsum(used[:-1]) - 1, mask=~used[:-1])
    below, above = (
        end.take(number) for end in find_grid(values.filter(pa.array(used[:-1])))
    )
    return below, above


def _merge(
    low: pa.Array, high: pa.Array, index: NDArray[np.int64]
) -> tuple[tuple[pa.Array, pa.Array], NDArray[np.int64]]:
    """Return ranges that look alike once, and where each class finds its own."""
    codes = [
        comparable(end).dictionary_encode().indices.to_numpy().astype(np.int64)
        for end in (low, high)
    ]
    pair = codes[0] * (len(low) + 1) + codes[1]
    _, first, place = np.unique(pair, return_index=True, return_inverse=True)
    moved = np.append(place.ravel(), -1)[index]
    return (low.take(pa.array(first)), high.take(pa.array(first))), moved


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
    kinds = [end.type for end in ends]
    if all(pa.types.is_decimal(kind) for kind in kinds):
        return _decimal_texts(ends)
    texts = [end.cast(pa.string()) for end in ends]
    if not all(pa.types.is_timestamp(x) or pa.types.is_time(x) for x in kinds):
        return texts
    if any(getattr(kind, "tz", None) is not None for kind in kinds):
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
    shortened = zip(*(_without_zeros(one) for one in ranges), strict=True)
    texts = [pa.array(text, pa.string()) for text in shortened]
    return texts or [pa.array([], pa.string()) for _ in ends]


def _without_zeros(ends: Sequence[Decimal | None]) -> list[str | None]:
    """Return decimals of one scale without the zeros at the end that all have.

    >>> _without_zeros([Decimal("1.500"), Decimal("20.000")])
    ['1.5', '20.0']
    """
    texts = [None if end is None else f"{end:f}" for end in ends]
    fractions = [text for text in texts if text is not None and "." in text]
    n = min((len(text) - len(text.rstrip("0")) for text in fractions), default=0)
    return [text and text[: len(text) - n].removesuffix(".") for text in texts]
