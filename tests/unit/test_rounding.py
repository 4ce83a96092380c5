"""Bounds rounded outward: round, of the same type, and never inside."""

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_mondrian.rounding import round_outward


def rounded(low: Any, high: Any, kind: pa.DataType) -> tuple[Any, Any]:
    ends = round_outward(pa.array([low], kind), pa.array([high], kind))
    assert [end.type for end in ends] == [kind, kind]
    below, above = (end.to_pylist()[0] for end in ends)
    return below, above


@pytest.mark.parametrize(
    ("low", "high", "kind", "expected"),
    [
        pytest.param(17, 23, pa.int64(), (16, 24), id="step 2 for a width of 6"),
        pytest.param(21, 38, pa.int64(), (20, 40), id="step 5 for a width of 17"),
        pytest.param(17, 89, pa.int8(), (0, 100), id="step 20"),
        pytest.param(17, 18, pa.int64(), (17, 18), id="nothing rounder"),
        pytest.param(17, 17, pa.int64(), (17, 17), id="one value"),
        pytest.param(-23, -17, pa.int16(), (-24, -16), id="below zero"),
        pytest.param(3, 123, pa.int8(), (0, 127), id="the type ends at 127"),
        pytest.param(-127, -3, pa.int8(), (-128, 0), id="and at -128"),
        pytest.param(
            2**64 - 40, 2**64 - 2, pa.uint64(), (2**64 - 46, 2**64 - 1), id="uint64"
        ),
        pytest.param(
            -(2**63) + 1, 2**63 - 2, pa.int64(), (-(2**63), 2**63 - 1), id="whole type"
        ),
        pytest.param(0.13, 0.78, pa.float64(), (0.0, 0.8), id="floats"),
        pytest.param(0.31, 0.34, pa.float64(), (0.31, 0.34), id="clean decimals"),
        pytest.param(-0.3, 6.5, pa.float64(), (-2.0, 8.0), id="no minus zero"),
        pytest.param(1e-30, 4.4e-30, pa.float64(), (1e-30, 5e-30), id="tiny"),
        pytest.param(50000.0, 65000.0, pa.float16(), (50016.0, 65024.0), id="half"),
        pytest.param(
            Decimal("1.13"), Decimal("7.77"), pa.decimal128(5, 2),
            (Decimal("0.00"), Decimal("8.00")), id="decimals",
        ),
        pytest.param(
            Decimal("1.13"), Decimal("9.77"), pa.decimal32(3, 2),
            (Decimal("0.00"), Decimal("9.99")), id="decimals that end at 9.99",
        ),
        pytest.param(False, True, pa.bool_(), (False, True), id="booleans"),
        pytest.param(
            dt.date(2020, 2, 10), dt.date(2020, 3, 9), pa.date32(),
            (dt.date(2020, 2, 10), dt.date(2020, 3, 9)), id="a month or less",
        ),
        pytest.param(
            dt.date(2020, 2, 10), dt.date(2020, 8, 9), pa.date32(),
            (dt.date(2020, 2, 1), dt.date(2020, 8, 31)), id="whole months",
        ),
        pytest.param(
            dt.date(2019, 2, 10), dt.date(2021, 8, 9), pa.date64(),
            (dt.date(2019, 1, 1), dt.date(2021, 12, 31)), id="whole years",
        ),
        pytest.param(
            dt.date(1951, 2, 10), dt.date(1998, 8, 9), pa.date32(),
            (dt.date(1940, 1, 1), dt.date(1999, 12, 31)), id="steps of 20 years",
        ),
        pytest.param(
            dt.datetime(2020, 5, 4, 13, 7, 5), dt.datetime(2020, 5, 4, 15, 40),
            pa.timestamp("s"),
            (dt.datetime(2020, 5, 4, 13), dt.datetime(2020, 5, 4, 16)), id="hours",
        ),
        pytest.param(
            dt.datetime(2020, 5, 4, 13, 7, 5), dt.datetime(2020, 9, 4, 15, 40),
            pa.timestamp("ns"),
            (dt.datetime(2020, 5, 1), dt.datetime(2020, 10, 1)), id="months",
        ),
        pytest.param(
            dt.time(13, 7), dt.time(23, 40), pa.time32("s"),
            (dt.time(12), dt.time(23, 59, 59)), id="time of day",
        ),
        pytest.param(
            dt.timedelta(days=3, hours=5), dt.timedelta(days=40), pa.duration("ms"),
            (dt.timedelta(days=0), dt.timedelta(days=40)), id="durations",
        ),
    ],
)  # fmt: skip
def test_bounds_are_round(
    low: Any, high: Any, kind: pa.DataType, expected: tuple[Any, Any]
) -> None:
    if pa.types.is_float16(kind):
        low, high = np.float16(low), np.float16(high)

    below, above = rounded(low, high, kind)

    assert below <= low
    assert above >= high
    if not pa.types.is_float16(kind):
        assert (below, above) == expected
        assert str(below) != "-0.0"


def test_zones_are_rounded_on_their_own_clocks() -> None:
    kind = pa.timestamp("us", "Europe/Paris")
    low = dt.datetime(2020, 2, 10, tzinfo=dt.UTC)
    high = dt.datetime(2020, 7, 31, 23, tzinfo=dt.UTC)

    below, above = rounded(low, high, kind)

    assert below.isoformat() == "2020-02-01T00:00:00+01:00"
    assert above.isoformat() == "2020-09-01T00:00:00+02:00"  # 31 July is over in Paris


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_moments_at_the_edges_of_their_type_stay_inside_it(unit: Any) -> None:
    edge = 2**63 - 10**6
    kind = pa.timestamp(unit) if unit == "ns" else pa.duration(unit)
    low, high = (pa.array([x], pa.int64()).view(kind) for x in (-edge, edge))

    ends = round_outward(low, high)

    below, above = (end.view(pa.int64()).to_pylist()[0] for end in ends)
    assert below <= -edge
    assert above >= edge


WHOLE = {
    "int8": (-(2**7), 2**7 - 1),
    "uint16": (0, 2**16 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
}


@given(st.sampled_from(sorted(WHOLE)), st.data())
def test_whole_numbers_never_shrink_and_at_most_about_double(
    name: str, data: st.DataObject
) -> None:
    values = st.integers(*WHOLE[name]) | st.integers(0, 100)
    low, high = sorted([data.draw(values), data.draw(values)])

    below, above = rounded(low, high, getattr(pa, name)())

    assert below <= low <= high <= above
    assert above - below <= 2 * (high - low)


@given(
    st.sampled_from([pa.float16(), pa.float32(), pa.float64()]),
    st.floats(-6e4, 6e4),
    st.floats(-6e4, 6e4),
)
def test_floats_never_shrink(kind: pa.DataType, a: float, b: float) -> None:
    narrow = kind.to_pandas_dtype()
    low, high = sorted([narrow(a), narrow(b)])

    below, above = rounded(low, high, kind)

    assert below <= low <= high <= above


@given(st.floats(-1e150, 1e150), st.floats(-1e150, 1e150))
def test_large_floats_never_shrink(a: float, b: float) -> None:
    low, high = sorted([a, b])

    below, above = rounded(low, high, pa.float64())

    assert below <= low <= high <= above
    assert np.isfinite([below, above]).all()


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9))
def test_decimals_agree_with_whole_numbers(a: int, b: int) -> None:
    low, high = sorted([a, b])

    plain = rounded(low, high, pa.int64())
    found = rounded(Decimal(low) / 100, Decimal(high) / 100, pa.decimal128(20, 2))

    assert [int(end * 100) for end in found] == list(plain)


@given(
    st.sampled_from(["s", "ms", "us", "ns"]),
    st.sampled_from([None, "Europe/Paris", "America/Lima"]),
    st.integers(-(2**62), 2**62),
    st.integers(0, 2**62),
)
def test_moments_never_shrink(unit: Any, zone: Any, start: int, width: int) -> None:
    scale = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[unit]
    low, high = start // scale, (start + width) // scale
    kind = pa.timestamp(unit, zone)
    ends = round_outward(*(pa.array([x], pa.int64()).cast(kind) for x in (low, high)))

    below, above = (end.cast(pa.int64()).to_pylist()[0] for end in ends)

    assert below <= low <= high <= above


@given(
    st.sampled_from([pa.date32(), pa.date64()]),
    st.integers(-100_000, 100_000),
    st.integers(0, 60_000),
)
def test_dates_never_shrink(kind: pa.DataType, start: int, width: int) -> None:
    days = [pa.array([x], pa.int32()).cast(pa.date32()) for x in (start, start + width)]
    ends = round_outward(*(day.cast(kind) for day in days))

    below, above = (
        end.cast(pa.date32()).cast(pa.int32()).to_pylist()[0] for end in ends
    )

    assert below <= start <= start + width <= above
