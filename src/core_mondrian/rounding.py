"""Bounds of ranges rounded outward, to numbers that are easy to read."""

from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Integers = NDArray[Any]
Floats = NDArray[np.float64]

_WHOLE_STEPS: Final = np.array(
    [digit * 10**n for n in range(19) for digit in (1, 2, 5)], dtype=np.uint64
)
"""1, 2, 5, 10, 20, 50, … as far as 64 bits hold them."""
_SECOND: Final = 1_000_000_000
_CLOCK_STEPS: Final = np.array(
    [digit * 10**n for n in range(9) for digit in (1, 2, 5)]
    + [n * _SECOND for n in (1, 2, 5, 10, 30)]
    + [n * 60 * _SECOND for n in (1, 2, 5, 10, 30)]
    + [n * 3600 * _SECOND for n in (1, 2, 6, 12, 24)],
    dtype=np.uint64,
)
"""Steps of a clock in nanoseconds, up to a day."""
_DAY: Final = 24 * 3600 * _SECOND
_NANOSECONDS: Final = {"s": _SECOND, "ms": 1_000_000, "us": 1_000, "ns": 1}
_EXACT_TENS: Final = 22
"""Powers of ten up to here are exact as floats."""


def round_outward(low: pa.Array, high: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return bounds of the same type that contain the given ones.

    The step is the largest of 1, 2, 5 times a power of ten that is at most half as
    wide as the range; dates go by whole months and years, times by the clock. A range
    so becomes at most about twice as wide. One value stays that value, and a bound that
    the type cannot hold becomes the type's last one.
    """
    kind = low.type
    if pa.types.is_boolean(kind) or not len(low):
        return low, high
    if pa.types.is_decimal(kind):
        return _round_decimals(low, high)
    if pa.types.is_floating(kind):
        return _round_floats(low, high)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _round_moments(low, high)
    if pa.types.is_temporal(kind):
        return _round_clock(low, high)
    ends = (np.asarray(end) for end in (low, high))
    first, last = (
        end.astype(np.uint64 if pa.types.is_uint64(kind) else np.int64) for end in ends
    )
    limits = np.iinfo(kind.to_pandas_dtype())
    rounded = _round_whole(first, last, _WHOLE_STEPS, (limits.min, limits.max))
    return pa.array(rounded[0], kind), pa.array(rounded[1], kind)


def _round_whole(
    low: Integers, high: Integers, steps: Integers, limits: tuple[int, int]
) -> tuple[Integers, Integers]:
    """Round whole numbers; all arrays of ``low``'s type, ``limits`` within it."""
    # Unsigned, because the distance of two signed numbers may not be one.
    width = high.astype(np.uint64) - low.astype(np.uint64)
    place = np.searchsorted(steps, width // np.uint64(2), side="right") - 1
    step = steps[np.maximum(place, 0)].astype(low.dtype)
    step = np.where(place < 0, low.dtype.type(1), step)
    is_one = low == high
    least, most = (low.dtype.type(limit) for limit in limits)
    below = low - low % step
    # What wrapped around is on the wrong side.
    below = np.where(below > low, least, np.maximum(below, least))
    rest = high % step
    above = np.where(rest == 0, high, high + (step - rest))
    above = np.where(above < high, most, np.minimum(above, most))
    return np.where(is_one, low, below), np.where(is_one, high, above)


def _round_floats(low: pa.Array, high: pa.Array) -> tuple[pa.Array, pa.Array]:
    kind = low.type
    first, last = (np.asarray(end.cast(pa.float64())) for end in (low, high))
    half = (last - first) / 2
    is_one = half <= 0
    exponent = np.floor(np.log10(np.where(is_one, 1.0, half)))
    lead = half / _power(exponent)
    digit = np.select([lead >= 5, lead >= 2], [5.0, 2.0], 1.0)
    below = _multiple(np.floor(_count(first, digit, exponent)), digit, exponent)
    above = _multiple(np.ceil(_count(last, digit, exponent)), digit, exponent)
    narrow = kind.to_pandas_dtype()
    with np.errstate(over="ignore"):
        below, above = (end.astype(narrow) for end in (below, above))
    first, last = (end.astype(narrow) for end in (first, last))
    # Divisions round: what came out inside, or beyond the type, stays as it was.
    keeps_low = is_one | ~(below <= first) | ~np.isfinite(below)
    keeps_high = is_one | ~(above >= last) | ~np.isfinite(above)
    below, above = np.where(keeps_low, first, below), np.where(keeps_high, last, above)
    return pa.array(below, kind), pa.array(above, kind)


def _power(exponent: Floats) -> Floats:
    powers: Floats = np.power(10.0, exponent)
    return powers


def _count(values: Floats, digit: Floats, exponent: Floats) -> Floats:
    """Return how many steps the values are from 0."""
    is_small = (exponent < 0) & (exponent >= -_EXACT_TENS)
    tens = _power(np.where(is_small, -exponent, exponent))
    return np.where(is_small, values * tens, values / tens) / digit


def _multiple(count: Floats, digit: Floats, exponent: Floats) -> Floats:
    """Return so many steps; 3 steps of 0.1 are 0.3, not the float next to it."""
    is_small = (exponent < 0) & (exponent >= -_EXACT_TENS)
    tens = _power(np.where(is_small, -exponent, exponent))
    whole = count * digit
    found = np.where(is_small, whole / tens, whole * tens)
    for at in np.flatnonzero(np.abs(exponent) > _EXACT_TENS).tolist():
        found[at] = float(f"{whole[at]:.0f}e{exponent[at]:.0f}")
    return found + 0.0  # no -0


def _round_decimals(low: pa.Array, high: pa.Array) -> tuple[pa.Array, pa.Array]:
    kind = low.type
    scale, most = kind.scale, 10**kind.precision - 1
    pairs = [
        _round_pair(_unscaled(first, scale), _unscaled(last, scale), most)
        for first, last in zip(low.to_pylist(), high.to_pylist(), strict=True)
    ]
    below, above = (
        pa.array([_scaled(pair[end], scale) for pair in pairs], kind) for end in (0, 1)
    )
    return below, above


def _unscaled(value: Decimal, scale: int) -> int:
    sign, digits, exponent = value.as_tuple()
    number: int = int("".join(map(str, digits))) * 10 ** (int(exponent) + scale)
    return -number if sign else number


def _scaled(number: int, scale: int) -> Decimal:
    digits = tuple(int(digit) for digit in str(abs(number)))
    return Decimal((int(number < 0), digits, -scale))


def _round_pair(low: int, high: int, most: int) -> tuple[int, int]:
    half = (high - low) // 2
    if not half:
        return low, high
    tens: int = 10 ** (len(str(half)) - 1)
    step = max(digit * tens for digit in (1, 2, 5) if digit * tens <= half)
    return max(low // step * step, -most), min(-(-high // step) * step, most)


def _round_clock(low: pa.Array, high: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Round times of day and durations."""
    kind = low.type
    wide = pa.int32() if kind.bit_width == 32 else pa.int64()
    first, last = (np.asarray(end.view(wide)).astype(np.int64) for end in (low, high))
    unit = _NANOSECONDS[kind.unit]
    steps = _clock_steps(unit)
    if pa.types.is_duration(kind):
        days = _WHOLE_STEPS[2**62 // (_DAY // unit) >= _WHOLE_STEPS]
        steps = np.unique(np.append(steps, days * np.uint64(_DAY // unit)))
        limits = np.iinfo(np.int64)
        least, most = limits.min + 1, limits.max  # the very first one is no duration
    else:
        least, most = 0, _DAY // unit - 1
    rounded = _round_whole(first, last, steps, (least, most))
    below, above = (pa.array(end).cast(wide).view(kind) for end in rounded)
    return below, above


def _clock_steps(unit: int) -> Integers:
    """Return the steps of a clock that counts in ``unit`` nanoseconds."""
    steps: Integers = _CLOCK_STEPS[_CLOCK_STEPS % np.uint64(unit) == 0]
    return steps // np.uint64(unit)


def _round_moments(low: pa.Array, high: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Round dates and timestamps, which are rounded on the clocks of their zone."""
    kind = low.type
    first, last = _local(low), _local(high)
    unit = np.datetime_data(first.dtype)[0]
    days = np.maximum((last - first).astype("m8[D]").astype(np.int64), 0)
    is_date = pa.types.is_date(kind)
    ends = (first, last) if is_date else _round_times(first, last, unit)
    years = _WHOLE_STEPS[
        np.maximum(
            np.searchsorted(_WHOLE_STEPS, (days // 732).astype(np.uint64), "right"), 1
        )
        - 1
    ].astype(np.int64)
    by_month = _round_periods(first, last, np.where(days >= 732, 12 * years, 1))
    if is_date:  # the last day of a month, not the first one after it
        by_month = by_month[0], by_month[1] - np.timedelta64(1, "D")
    below, above = (
        np.where(days >= 62, month.astype(f"M8[{unit}]"), end)
        for month, end in zip(by_month, ends, strict=True)
    )
    below, above = np.minimum(below, first), np.maximum(above, last)
    return (
        _not_beyond(_zoned(below, kind, "earliest"), low, pc.less_equal),
        _not_beyond(_zoned(above, kind, "latest"), high, pc.greater_equal),
    )


def _round_times(
    first: NDArray[Any], last: NDArray[Any], unit: str
) -> tuple[NDArray[Any], NDArray[Any]]:
    limits = np.iinfo(np.int64)
    below, above = _round_whole(
        first.astype(np.int64),
        last.astype(np.int64),
        _clock_steps(_NANOSECONDS[unit]),
        (limits.min + 1, limits.max),
    )
    return below.astype(f"M8[{unit}]"), above.astype(f"M8[{unit}]")


def _round_periods(
    first: NDArray[Any], last: NDArray[Any], months: Integers
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the start of the period of ``first``, and of that after ``last``.

    Periods of ``months`` months are counted from the year 0.
    """
    origin = 1970 * 12
    start = first.astype("M8[M]").astype(np.int64) + origin
    stop = last.astype("M8[M]").astype(np.int64) + origin
    start = start // months * months - origin
    stop = (stop // months + 1) * months - origin
    unit = np.datetime_data(first.dtype)[0]
    finest = "D" if unit == "D" else unit
    return (
        start.astype("M8[M]").astype(f"M8[{finest}]"),
        stop.astype("M8[M]").astype(f"M8[{finest}]"),
    )


def _local(values: pa.Array) -> NDArray[Any]:
    """Return moments as the clocks of their zone show them; dates as days."""
    kind = values.type
    if pa.types.is_date(kind):
        days = values.cast(pa.date32(), safe=False).view(pa.int32())
        return np.asarray(days).astype("M8[D]")
    plain = values if kind.tz is None else pc.local_timestamp(values)
    return np.asarray(plain.view(pa.int64())).astype(f"M8[{kind.unit}]")


def _zoned(moments: NDArray[Any], kind: pa.DataType, which: str) -> pa.Array:
    """Return moments in their own type; of two with one clock time, ``which``."""
    if pa.types.is_date(kind):
        days = pa.array(moments.astype(np.int32), pa.int32())
        return days.view(pa.date32()).cast(kind)
    plain = pa.array(moments.astype(np.int64)).view(pa.timestamp(kind.unit))
    if kind.tz is None:
        return plain
    return pc.assume_timezone(plain, kind.tz, ambiguous=which, nonexistent=which)


def _not_beyond(rounded: pa.Array, values: pa.Array, holds: Any) -> pa.Array:  # noqa: ANN401
    """Return the value itself where rounding went the wrong way."""
    return pc.if_else(holds(rounded, values), rounded, values)
