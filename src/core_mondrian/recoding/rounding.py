"""Nice bounds: the ends of ranges on a grid that a whole column shares.

    values of the column        17 18 |  21  24 25  |     39  |         |     58  |
    multiples of the step     10      20            30        40        50        60
    cells of the grid         [10, 20)[20, 30)      [30, 60)

The step is 1, 2 or 5 times a power of ten, or a step of the clock or the calendar, and
at least twice as wide as the values are exact. Steps with fewer than two different
values are joined with the next. So no end of a range says which of the values in its
cell is in the class, and none is as exact as a value.
"""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core_mondrian.runtime.array_types import Floats

Integers: TypeAlias = NDArray[Any]
Pair: TypeAlias = tuple[pa.Array, pa.Array]

_MOST_STEPS: Final = 50
"""Steps that most values of a column are spread over, at most."""
_FEWEST_VALUES: Final = 2
"""Different values that a cell of the grid holds; and that a step has room for."""
_WHOLE_STEPS: Final = [digit * 10**n for n in range(40) for digit in (1, 2, 5)]
_SECOND: Final = 1_000_000_000
_CLOCK_STEPS: Final = (
    [digit * 10**n for n in range(9) for digit in (1, 2, 5)]
    + [n * _SECOND for n in (1, 2, 5, 10, 30)]
    + [n * 60 * _SECOND for n in (1, 2, 5, 10, 30)]
    + [n * 3600 * _SECOND for n in (1, 2, 6, 12, 24)]
)
"""Steps of a clock in nanoseconds, up to a day."""
_DAY: Final = 24 * 3600 * _SECOND
_WEEK_STARTS: Final = 4
"""Days from 1 January 1970, a Thursday, to the first Monday."""
_MONTH_STEPS: Final = [1, 2, 3, 6, *(12 * n for n in _WHOLE_STEPS[:15])]
_DAYS_A_MONTH: Final = 30
_NANOSECONDS: Final = {"s": _SECOND, "ms": 1_000_000, "us": 1_000, "ns": 1}
_EXACT_TENS: Final = 22
"""Powers of ten up to here are exact as floats."""
_TINY: Final = 1e-290
"""Narrowest step of floats."""
_LIMITS: Final = np.iinfo(np.int64)


def find_grid(values: pa.Array) -> Pair:
    """Return both ends of the cell of the grid that each value is in.

    ``values`` are the different values of a column, rising. Ends are of their type; one
    that the type cannot hold becomes the type's last one. A column of one value has no
    grid: the value is its own.
    """
    if len(values) < _FEWEST_VALUES:
        return values, values
    return next(grid(values) for test, grid in _GRIDS if test(values.type))


def _bool_grid(values: pa.Array) -> Pair:
    return pa.repeat(values[0], len(values)), pa.repeat(values[-1], len(values))


def _decimal_grid(values: pa.Array) -> Pair:
    kind = values.type
    most = 10**kind.precision - 1
    numbers = [_unscaled(value, kind.scale) for value in values.to_pylist()]
    grid = _whole_grid(np.array(numbers, object), _WHOLE_STEPS, (-most, most))
    return _pair(([_scaled(x, kind.scale) for x in ends] for ends in grid), kind)


def _integer_grid(values: pa.Array) -> Pair:
    kind = values.type
    limits = np.iinfo(kind.to_pandas_dtype())
    numbers = np.asarray(values)
    wide = numbers.astype(np.uint64 if pa.types.is_uint64(kind) else np.int64)
    grid = _whole_grid(wide, _WHOLE_STEPS, (int(limits.min), int(limits.max)))
    return _pair(grid, kind)


def _pair(ends: Any, kind: pa.DataType) -> Pair:  # noqa: ANN401  # two lists
    below, above = (pa.array(end, kind) for end in ends)
    return below, above


class _Cells(NamedTuple):
    """Which cell each value is in, and which steps of the grid a cell spans."""

    of_value: Integers
    first: Integers
    """Number of the first step of each cell …"""
    last: Integers
    """… and of its last one."""


def _join(steps: Integers) -> _Cells:
    """Join neighbouring steps, from the first on, until each has values enough."""
    numbers, place, counts = np.unique(steps, return_inverse=True, return_counts=True)
    cell_of_step = np.zeros(numbers.size, dtype=np.int64)
    cell = held = 0
    for i, count in enumerate(counts.tolist()):
        cell_of_step[i] = cell
        held += count
        if held >= _FEWEST_VALUES:
            cell, held = cell + 1, 0
    if held:  # too few are left: they join the last cell
        cell_of_step[cell_of_step == cell] = cell - 1
    n_cells = int(cell_of_step[-1]) + 1
    starts = np.searchsorted(cell_of_step, np.arange(n_cells))
    stops = np.searchsorted(cell_of_step, np.arange(n_cells), side="right") - 1
    return _Cells(cell_of_step[place.ravel()], numbers[starts], numbers[stops])


def _is_coarse(steps: Integers) -> bool:
    """Return whether steps hold enough values: on average, or half of those used."""
    counts = np.unique(steps, return_counts=True)[1]
    n_full = int(np.count_nonzero(counts >= _FEWEST_VALUES))
    # The last step may lack some.
    return (counts.size - 1) * _FEWEST_VALUES <= steps.size or 2 * n_full >= counts.size


def _midpoint(values: Sequence[Any] | Integers) -> tuple[Any, Any]:
    """Return the values that all but one in 20 are between."""
    n = len(values) - 1
    return values[n // 20], values[n - n // 20]


def _whole_grid(
    values: Integers, steps: Sequence[int], limits: tuple[int, int]
) -> tuple[list[int], list[int]]:
    """Return the ends of cells of whole numbers, which are multiples of a step."""
    low, high = _midpoint(values)
    least = (int(high) - int(low)) / _MOST_STEPS
    wide = [step for step in steps if least <= _FEWEST_VALUES * step]
    wide = [step for step in wide if step <= _widest(values)]
    exact = [step for step in wide if not (values % _as(values, step)).any()]
    least = max([least, *(_FEWEST_VALUES * step for step in exact)])
    step = wide[-1]
    for step in wide:
        if step >= least and _is_coarse(values // _as(values, step)):
            break
    cells = _join(values // _as(values, step))
    below = [max(int(x) * step, limits[0]) for x in cells.first]
    above = [min((int(x) + 1) * step, limits[1]) for x in cells.last]
    own = cells.of_value.tolist()
    return [below[i] for i in own], [above[i] for i in own]


def _as(values: Integers, step: int) -> Any:  # noqa: ANN401  # a number of their type
    return step if values.dtype == object else values.dtype.type(step)


def _widest(values: Integers) -> int:
    """Return the largest step that numbers of this type can be divided by."""
    return 10**39 if values.dtype == object else int(np.iinfo(values.dtype).max)


def _float_grid(values: pa.Array) -> Pair:
    """Return the ends of cells of floats; 3 steps of 0.1 are 0.3, not its neighbour."""
    kind = values.type
    narrow = kind.to_pandas_dtype()
    numbers = np.asarray(values.cast(pa.float64()))
    low, high = _midpoint(numbers)
    least = max((high / _MOST_STEPS) - (low / _MOST_STEPS), _TINY)
    exponent = float(np.floor(np.log10(least))) - 1
    scales = [(d, exponent + e) for e in range(40) for d in (1.0, 2.0, 5.0)]
    for digit, tens in scales:
        width = digit * float(f"1e{tens:.0f}")
        if _are_whole(_count(numbers, digit, tens)):
            least = max(least, _FEWEST_VALUES * width)
    digit, tens = scales[-1]
    for digit, tens in scales:
        is_wide = digit * float(f"1e{tens:.0f}") >= least
        if is_wide and _is_coarse(np.floor(_count(numbers, digit, tens))):
            break
    cells = _join(np.floor(_count(numbers, digit, tens)))
    below = _multiple(cells.first, digit, tens)[cells.of_value]
    above = _multiple(cells.last + 1.0, digit, tens)[cells.of_value]
    with np.errstate(over="ignore"):
        below, above = below.astype(narrow), above.astype(narrow)
    own = np.asarray(values)
    first, last = (_extremes(own, cells, end) for end in ("first", "last"))
    limits = np.finfo(narrow)
    # Divisions and narrow types round: what came out inside is moved out again.
    below = np.where(below <= first, below, np.nextafter(first, -limits.max))
    above = np.where(above >= last, above, np.nextafter(last, limits.max))
    below, above = (np.clip(end, limits.min, limits.max) for end in (below, above))
    return pa.array(below.astype(narrow), kind), pa.array(above.astype(narrow), kind)


def _are_whole(numbers: Floats) -> bool:
    """Return whether all are whole numbers, except for what divisions round."""
    whole = np.round(numbers)
    is_close = np.isclose(numbers, whole, rtol=1e-12, atol=1e-9)
    return bool((is_close & ((whole != 0) | (numbers == 0))).all())


def _extremes(values: Integers, cells: _Cells, end: str) -> Integers:
    """Return the smallest or largest value of each value's cell; values rise."""
    order = slice(None, None, -1 if end == "first" else 1)
    of_cell = np.zeros(cells.first.size, dtype=values.dtype)
    of_cell[cells.of_value[order]] = values[order]
    extremes: Integers = of_cell[cells.of_value]
    return extremes


def _tens(exponent: float) -> tuple[float, bool]:
    """Return a power of ten that is exact, and whether to divide by it."""
    is_small = -_EXACT_TENS <= exponent < 0
    return float(f"1e{abs(exponent) if is_small else exponent:.0f}"), is_small


def _count(values: Floats, digit: float, exponent: float) -> Floats:
    """Return how many steps the values are from 0."""
    tens, is_small = _tens(exponent)
    count: Floats = (values * tens if is_small else values / tens) / digit
    return count


def _multiple(count: Floats, digit: float, exponent: float) -> Floats:
    """Return so many steps."""
    tens, is_small = _tens(exponent)
    whole = count * digit
    with np.errstate(over="ignore"):
        numbers = whole / tens if is_small else whole * tens
    if abs(exponent) > _EXACT_TENS:
        numbers = np.array([float(f"{x:.0f}e{exponent:.0f}") for x in whole.tolist()])
    return np.asarray(numbers + 0.0)  # no -0


def _unscaled(value: Decimal, scale: int) -> int:
    sign, digits, exponent = value.as_tuple()
    number: int = int("".join(map(str, digits))) * 10 ** (int(exponent) + scale)
    return -number if sign else number


def _scaled(number: int, scale: int) -> Decimal:
    digits = tuple(int(digit) for digit in str(abs(number)))
    return Decimal((int(number < 0), digits, -scale))


def _clock_grid(values: pa.Array) -> Pair:
    """Return the ends of cells of times of day and durations."""
    kind = values.type
    wide = pa.int32() if kind.bit_width == 32 else pa.int64()
    numbers = np.asarray(values.view(wide)).astype(np.int64)
    unit = _NANOSECONDS[kind.unit]
    steps = _clock_steps(unit)
    if pa.types.is_duration(kind):
        steps += [n * (_DAY // unit) for n in _WHOLE_STEPS[1:]]
        limits = (_LIMITS.min + 1, _LIMITS.max)  # the very first one is no duration
    else:
        limits = (0, _DAY // unit - 1)
    grid = _whole_grid(numbers, steps, (int(limits[0]), int(limits[1])))
    below, above = (pa.array(end, pa.int64()).cast(wide).view(kind) for end in grid)
    return below, above


def _clock_steps(unit: int) -> list[int]:
    """Return the steps of a clock that counts in ``unit`` nanoseconds."""
    return [step // unit for step in _CLOCK_STEPS if step % unit == 0]


class _Period(NamedTuple):
    """A step of the calendar, in a unit of time."""

    width: int
    """About, in the unit."""
    number: Callable[[Integers], Integers]
    """Number of the step that each moment is in."""
    start: Callable[[int], int]
    """Moment a step starts at."""

    def starts_at(self, moments: Integers) -> bool:
        """Return whether all of the moments are starts of a step."""
        steps, place = np.unique(self.number(moments), return_inverse=True)
        starts = np.array([self.start(int(step)) for step in steps], dtype=object)
        return bool((starts[place.ravel()] == moments).all())


def _moment_grid(values: pa.Array) -> Pair:
    """Return the ends of cells of dates and timestamps, on the clocks of their zone."""
    kind = values.type
    moments = _local(values)
    unit = np.datetime_data(moments.dtype)[0]
    numbers = moments.astype(np.int64)
    low, high = _midpoint(numbers)
    least = (int(high) - int(low)) / _MOST_STEPS
    periods = [one for one in _periods(unit) if least <= _FEWEST_VALUES * one.width]
    exact = [one for one in periods if one.starts_at(numbers)]
    least = max([least, *(_FEWEST_VALUES * one.width for one in exact)])
    period = periods[-1]
    for period in periods:
        if period.width >= least and _is_coarse(period.number(numbers)):
            break
    cells = _join(period.number(numbers))
    # Dates show the last day of a cell, not the first one after it.
    last = 1 if pa.types.is_date(kind) else 0
    most = 2**31 - 1 if pa.types.is_date(kind) else int(_LIMITS.max)
    below = [max(period.start(int(x)), -most) for x in cells.first]
    above = [min(period.start(int(x) + 1) - last, most) for x in cells.last]
    ends = (np.array(end, dtype=np.int64)[cells.of_value] for end in (below, above))
    first, after = (end.astype(moments.dtype) for end in ends)
    return (
        _not_beyond(_zoned(first, kind, "earliest"), values, pc.less_equal),
        _not_beyond(_zoned(after, kind, "latest"), values, pc.greater_equal),
    )


def _periods(unit: str) -> list[_Period]:
    """Return the steps of the calendar, rising: of the clock, a week, months, years."""
    day = 1 if unit == "D" else _DAY // _NANOSECONDS[unit]
    clock = [1] if unit == "D" else _clock_steps(_NANOSECONDS[unit])
    periods = [_ticks(step, 0) for step in clock]
    periods.append(_ticks(7 * day, _WEEK_STARTS * day))
    return periods + [_months(n, day, unit) for n in _MONTH_STEPS]


def _ticks(width: int, origin: int) -> _Period:
    return _Period(
        width,
        lambda moments: (moments - origin) // width,
        lambda number: number * width + origin,
    )


def _months(n: int, day: int, unit: str) -> _Period:
    """Return periods of some months, counted from the year 0."""
    origin = 1970 * 12

    def number(moments: Integers) -> Integers:
        months = moments.astype(f"M8[{unit}]").astype("M8[M]").astype(np.int64)
        number_of: Integers = (months + origin) // n
        return number_of

    def start(place: int) -> int:
        month = np.datetime64(place * n - origin, "M")
        return int(month.astype("M8[D]").astype(np.int64)) * day

    return _Period(n * _DAYS_A_MONTH * day, number, start)


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


def _not_beyond(ends: pa.Array, values: pa.Array, holds: Any) -> pa.Array:  # noqa: ANN401
    """Return the value itself where a clock that was set back went the wrong way."""
    return pc.if_else(holds(ends, values), ends, values)


_GRIDS: Final[tuple[tuple[Callable[[Any], bool], Callable[[pa.Array], Pair]], ...]] = (
    (pa.types.is_boolean, _bool_grid),
    (pa.types.is_floating, _float_grid),
    (pa.types.is_decimal, _decimal_grid),
    (pa.types.is_date, _moment_grid),
    (pa.types.is_timestamp, _moment_grid),
    (pa.types.is_temporal, _clock_grid),
    (pa.types.is_integer, _integer_grid),
)
