"""Nice bounds: on a grid of the whole column, of its type, and never inside a range."""

import datetime as dt
from collections import defaultdict
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_mondrian import KAnonymity, Spec, anonymize
from core_mondrian.analysis.attacks import attack
from core_mondrian.datasets import census
from core_mondrian.recoding.rounding import find_grid


def cells(values: list[Any], kind: pa.DataType | None = None) -> list[tuple[Any, Any]]:
    """Return the different cells of a column, as (low, high)."""
    ends = find_grid(pa.array(values, kind))
    pairs = zip(*(end.to_pylist() for end in ends), strict=True)
    return list(dict.fromkeys(pairs))


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        pytest.param(
            [17, 18, 21, 24, 25, 39, 58], pa.int64(),
            [(10, 20), (20, 30), (30, 60)], id="few values, joined",
        ),
        pytest.param(
            list(range(18, 26)), pa.int64(),
            [(18, 20), (20, 22), (22, 24), (24, 26)], id="two each",
        ),
        pytest.param([37], pa.int64(), [(37, 37)], id="one value has no grid"),
        pytest.param([0, 1], pa.int64(), [(0, 2)], id="two values are one cell"),
        pytest.param([10, 20, 30, 40], pa.int64(), [(0, 60)], id="tens"),
        pytest.param(
            [120, 121, 126, 127], pa.int8(), [(120, 122), (126, 127)], id="int8 ends"
        ),
        pytest.param(
            [-128, -127, -3, -2], pa.int8(), [(-128, -125), (-5, 0)], id="and begins"
        ),
        pytest.param(
            [-(2**63), 2**63 - 1], pa.int64(), [(-(2**63), 2**63 - 1)], id="whole type"
        ),
        pytest.param(
            [0, 2**64 - 1], pa.uint64(), [(0, 2**64 - 1)], id="whole unsigned type"
        ),
        pytest.param(
            [36.6, 36.7, 36.8, 36.9, 37.0, 41.2], pa.float64(),
            [(36.6, 36.8), (36.8, 37.0), (37.0, 41.4)], id="clean decimals",
        ),
        pytest.param([-0.3, 6.5], pa.float64(), [(-0.4, 6.6)], id="two floats"),
        pytest.param(
            [Decimal("1.13"), Decimal("1.14"), Decimal("9.77")], pa.decimal32(3, 2),
            [(Decimal("1.00"), Decimal("9.80"))], id="decimals",
        ),
        pytest.param([False, True], pa.bool_(), [(False, True)], id="booleans"),
        pytest.param(
            [dt.date(2020, m, d) for m in (1, 2, 3) for d in (3, 14, 25)], pa.date32(),
            [
                (dt.date(2020, 1, 1), dt.date(2020, 1, 31)),
                (dt.date(2020, 2, 1), dt.date(2020, 2, 29)),
                (dt.date(2020, 3, 1), dt.date(2020, 3, 31)),
            ],
            id="months",
        ),
        pytest.param(
            [dt.date(y, 1, 1) for y in range(1990, 2000)], pa.date64(),
            [
                (dt.date(y, 1, 1), dt.date(y + 1, 12, 31))
                for y in range(1990, 2000, 2)
            ],
            id="years, as whole years are exact",
        ),
        pytest.param(
            [dt.time(13, 7), dt.time(13, 8), dt.time(23, 59)], pa.time32("s"),
            [(dt.time(13), dt.time(23, 59, 59))], id="time of day",
        ),
        pytest.param(
            [dt.timedelta(days=n) for n in (3, 4, 39, 40)], pa.duration("ms"),
            [
                (dt.timedelta(days=0), dt.timedelta(days=5)),
                (dt.timedelta(days=35), dt.timedelta(days=45)),
            ],
            id="durations",
        ),
    ],
)  # fmt: skip
def test_cells_are_round(
    values: list[Any], kind: pa.DataType, expected: list[tuple[Any, Any]]
) -> None:
    assert cells(values, kind) == expected
    assert "-0.0" not in str(cells(values, kind))


def test_zones_have_grids_on_their_own_clocks() -> None:
    kind = pa.timestamp("us", "Europe/Paris")
    start = dt.datetime(2020, 1, 31, 23, 30, tzinfo=dt.UTC)  # 1 February in Paris
    moments = [start + dt.timedelta(days=5 * n) for n in range(60)]

    low, high = cells(moments, kind)[0]

    assert low.isoformat() == "2020-02-01T00:00:00+01:00"
    assert high.isoformat() in (
        "2020-03-01T00:00:00+01:00",
        "2020-02-15T00:00:00+01:00",
    )


NUMBERS = {
    "int8": st.integers(-(2**7), 2**7 - 1),
    "uint16": st.integers(0, 2**16 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1) | st.integers(0, 100),
    "uint64": st.integers(0, 2**64 - 1) | st.integers(0, 100),
    "float16": st.floats(-6e4, 6e4, width=16),
    "float32": st.floats(-(2.0**100), 2.0**100, width=32),
    "float64": st.floats(-1e150, 1e150) | st.integers(-99, 99).map(lambda n: n / 10),
}
MOMENTS = {
    **{f"timestamp {u}": pa.timestamp(u) for u in ("s", "ms", "us", "ns")},
    "Paris": pa.timestamp("ns", "Europe/Paris"),
    "Lima": pa.timestamp("s", "America/Lima"),
    "duration": pa.duration("us"),
}


def column_of(data: st.DataObject) -> pa.Array:
    """Return different values of some type, rising."""
    name = data.draw(st.sampled_from([*NUMBERS, *MOMENTS, "date32", "date64", "cents"]))
    if name in NUMBERS:
        values = data.draw(st.sets(NUMBERS[name], min_size=1, max_size=40))
        kind = getattr(pa, name)()
        if name == "float16":
            return pa.array(np.unique(np.array([*values], np.float16) + 0), kind)
        return pa.array(sorted({value + 0 for value in values}), kind)
    if name == "cents":
        values = data.draw(st.sets(st.integers(-9999, 9999), min_size=1, max_size=40))
        return pa.array([Decimal(x) / 100 for x in sorted(values)], pa.decimal128(4, 2))
    if name.startswith("date"):
        days = data.draw(st.sets(st.integers(-9999, 99999), min_size=1, max_size=40))
        return pa.array(sorted(days), pa.int32()).cast(pa.date32()).cast(name)
    kind = MOMENTS[name]
    scale = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[kind.unit]
    wide = st.integers(-(2**62), 2**62) | st.integers(0, 10**15)
    found = data.draw(st.sets(wide, min_size=1, max_size=40))
    return pa.array(sorted({x // scale for x in found}), pa.int64()).cast(kind)


@given(st.data())
def test_cells_contain_their_values_in_their_own_type(data: st.DataObject) -> None:
    column = column_of(data)

    below, above = find_grid(column)

    assert below.type == above.type == column.type
    # Arrow does not compare half floats.
    wide = [
        x.cast(pa.float32()) if pa.types.is_float16(x.type) else x
        for x in (below, column, above)
    ]
    assert pc.all(pc.less_equal(wide[0], wide[1])).as_py()
    assert pc.all(pc.less_equal(wide[1], wide[2])).as_py()


@given(st.data())
def test_every_cell_holds_two_values_and_is_as_wide_for_all_of_them(
    data: st.DataObject,
) -> None:
    """What is promised: an end leaves open which of several values is in the class."""
    column = column_of(data)

    below, above = (end.to_pylist() for end in find_grid(column))

    held: dict[tuple[Any, Any], int] = defaultdict(int)
    for ends in zip(map(str, below), map(str, above), strict=True):
        held[ends] += 1
    assert len(column) < 2 or min(held.values()) >= 2
    # An end names one cell.
    assert len({low for low, _ in held}) == len({high for _, high in held}) == len(held)


@pytest.mark.parametrize("n", [500, 5000])
def test_nice_bounds_leave_open_what_is_at_their_ends(n: int) -> None:
    """With every age known, no end of a range can be relied on, however narrow."""
    table = census(n, seed=4)
    names = ("age", "sex", "hours_per_week")
    spec = Spec(names, (KAnonymity(3),), nice=True, numbers="bounds")

    release = anonymize(table, spec)

    for name in ("age", "hours_per_week"):
        values = sorted(set(table[name].drop_null().to_pylist()))
        low, high = (
            release.data[f"{name}_{end}"].drop_null().to_pylist()
            for end in ("min", "max")
        )
        assert not any(a == b for a, b in zip(low, high, strict=True))
        edges = sorted({*low, *high})
        for a, b in {*zip(low, high, strict=True)}:
            after = min(x for x in edges if x > a)
            before = max(x for x in edges if x < b)
            assert sum(a <= value < after for value in values) >= 2
            assert sum(before <= value < b for value in values) >= 2
    found = attack(release.data, table, spec).named("reconstruction")[0]
    assert (found.succeeded, found.numbers["exposed"]) == (False, 0)


def test_the_grid_says_nothing_of_suppressed_rows() -> None:
    from core_mondrian import Suppression

    ages = [*range(20, 40)] * 3
    spec = Spec(("age",), (KAnonymity(3),), nice=True, suppress=Suppression(rows=1))
    shown = [
        anonymize(pa.table({"age": [*ages, hidden]}), spec).data["age"].to_pylist()
        for hidden in (77, 93)
    ]

    assert len(shown[0]) == 60
    assert shown[0] == shown[1]


def test_an_attack_judges_range_by_range() -> None:
    """Ends that are on no grid are exact, whatever the others are."""
    ages = [20, 21, 22, 23, 30, 31, 32, 33]
    original = pa.table({"age": ages})
    spec = Spec(("age",), (KAnonymity(4),), nice=True)
    narrow = ["[20, 21]"] * 2 + ["[22, 24]"] * 2  # the second one is on the grid
    old = pa.table({"age": narrow + ["[30, 33]"] * 4})

    found = attack(old, original, spec).named("reconstruction")[0]

    assert found.numbers["exposed"] == found.numbers["exact"] == 4
    assert found.succeeded
    sound = anonymize(original, spec).data
    assert not attack(sound, original, spec).named("reconstruction")[0].succeeded
