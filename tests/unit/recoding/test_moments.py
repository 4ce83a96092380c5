"""Dates and times as a release writes them."""

from datetime import datetime, time

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_mondrian import KAnonymity, Spec, anonymize, attack
from core_mondrian.recoding.intervals import moment_texts
from core_mondrian.verification.matches import read_ends

LOCAL = [pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")]


@pytest.mark.parametrize(
    ("low", "high", "written"),
    [
        ("2024-11-23", "2024-12-01", ["2024-11-23", "2024-12-01"]),
        (
            "2024-11-23",
            "2024-12-01 07:30",
            ["2024-11-23 00:00:00", "2024-12-01 07:30:00"],
        ),
        (
            "2024-11-23 07:30",
            "2024-11-23 07:30:00.5",
            ["2024-11-23 07:30:00.000", "2024-11-23 07:30:00.500"],
        ),
    ],
)
def test_a_range_leaves_out_what_says_nothing_of_both_ends(
    low: str, high: str, written: list[str]
) -> None:
    ends = (pa.array([end]).cast(pa.timestamp("ms")) for end in (low, high))

    found = [end[0].as_py() for end in moment_texts(*ends)]

    assert found == written


@pytest.mark.parametrize("kind", LOCAL)
@given(
    moments=st.lists(
        st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)).flatmap(
            lambda at: st.sampled_from(
                [at.replace(microsecond=0), datetime(at.year, at.month, at.day)]
            )
        ),
        min_size=2,
    )
)
def test_what_is_written_is_read_as_the_same_moments(
    kind: pa.DataType, moments: list[datetime]
) -> None:
    ends = pa.array(moments).cast(kind)
    low, high = ends[:-1], ends[1:]

    written = zip(
        *(texts.to_pylist() for texts in moment_texts(low, high)), strict=True
    )

    for i, pair in enumerate(written):
        read = read_ends(f"[{pair[0]}, {pair[1]}]", kind)
        assert read.equals(pa.concat_arrays([low[i : i + 1], high[i : i + 1]]))


def test_a_zone_and_other_types_keep_their_texts() -> None:
    zoned = pa.array([0, 1], pa.timestamp("s", "Europe/Paris"))
    dates = pa.array([0, 1], pa.date32())

    assert moment_texts(zoned, dates) == [zoned.cast("string"), dates.cast("string")]


def test_times_lose_a_fraction_of_zeros_only() -> None:
    times = pa.array([time(0), time(7, 30)])

    assert moment_texts(times)[0].to_pylist() == ["00:00:00", "07:30:00"]


def test_days_are_released_alike_whatever_type_holds_them() -> None:
    days = pa.array(list(range(200)), pa.int32()).cast(pa.date32())
    spec = Spec(("day",), models=(KAnonymity(5),))

    as_dates = anonymize(pa.table({"day": days}), spec)
    for kind in LOCAL:
        table = pa.table({"day": days.cast(kind)})
        release = anonymize(table, spec)

        assert release.data.equals(as_dates.data)
        linkage = attack(release.data, table, spec).findings[0]
        assert dict(linkage.numbers)["fitting"] == 200
        assert dict(linkage.numbers)["above"] == 0
