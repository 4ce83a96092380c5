"""Counts of records, and of the persons they are of, next to sets and counters."""

from collections import Counter
from typing import Any

import numba
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_mondrian import KAnonymity, Spec
from core_mondrian.encode.encoder import collapse, encode
from core_mondrian.frames import open_frame
from core_mondrian.kernels.layout import Codes, Counts, Models
from core_mondrian.kernels.rules import (
    N_PERSON_COUNTS,
    add_record,
    add_to_side,
    change_counts,
    change_side,
    clear,
    count_rest,
    rows_of_person,
)
from core_mondrian.models import DistinctLDiversity
from core_mondrian.partition.arrays import build_models, build_tuples, counts_size
from core_mondrian.partition.standard import first_standard

CLEAR_WHOLE, ADD, CHANGE, CLEAR_SIDE, MOVE, MOVE_ALL = range(6)
N_COLUMNS = 1
Row = tuple[str | None, str | None, int | None]


@numba.njit
def carry_out(
    models: Models,
    records: Codes,
    whole: Counts,
    side: Counts,
    rest: Counts,
    steps: Any,
) -> None:
    """Carry out steps of (what, record, rows), then count what is not on the side."""
    for i in range(steps.shape[0]):
        what, at, rows = steps[i]
        if what == CLEAR_WHOLE:
            clear(whole, models)
        elif what == ADD:
            add_record(whole, models, records[at], N_COLUMNS)
        elif what == CHANGE:
            change_counts(whole, models, records[at], N_COLUMNS, rows)
        elif what == CLEAR_SIDE:
            clear(side, models)
        elif what == MOVE:
            change_side(side, whole, models, records[at], N_COLUMNS, rows)
        else:
            add_to_side(side, whole, models, records[at], N_COLUMNS)
    count_rest(models, whole, side, rest)


@numba.njit
def rows_of(models: Models, counts: Counts, person: int) -> int:
    return rows_of_person(models, counts, person)


class Counted:
    """A table's records and models, and three sets of its rows."""

    def __init__(self, rows: list[Row], *, unit: bool) -> None:
        columns = list(zip(*rows, strict=True))
        names = ("s", "t", "p")
        data = {n: pa.array(c) for n, c in zip(names, columns, strict=True)}
        spec = Spec(
            ("q",),
            (KAnonymity(2), DistinctLDiversity(2, "s"), DistinctLDiversity(2, "t")),
            unit="p" if unit else None,
        )
        table = pa.table({"q": [1] * len(rows), **data})
        self.table = collapse(encode(open_frame(table), spec)).table
        order = np.arange(self.table.n_tuples)
        tuples = build_tuples(self.table.codes, self.table.counts, order)
        self.records, self.unit = tuples.records, unit
        self.models = build_models(self.table, spec, first_standard(self.table, spec))
        size = counts_size(self.table)
        self.whole, self.side, self.rest = (np.zeros(size, np.int64) for _ in range(3))

    def run(self, steps: list[tuple[int, int, int]]) -> None:
        done = np.array(steps, dtype=np.int64).reshape(-1, 3)
        three = self.whole, self.side, self.rest
        carry_out(self.models, self.records, *three, done)

    def counters(self, rows: Counter[int]) -> list[int]:
        """Count records by hand: rows by value of both columns, one after the other."""
        found = []
        for column, sensitive in enumerate(self.table.sensitive):
            for value in range(sensitive.n_values):
                codes = self.table.codes[:, N_COLUMNS + column].tolist()
                found.append(sum(n for i, n in rows.items() if codes[i] == value))
        return found

    def persons(self, rows: Counter[int]) -> Counter[int]:
        """Count the rows of each person by hand."""
        found: Counter[int] = Counter()
        for i, n in rows.items():
            found[int(self.table.codes[i, -1])] += n
        return +found

    def check(self, whole: Counter[int], side: Counter[int]) -> None:
        left = Counter({i: n - side[i] for i, n in whole.items()})
        n = self.models.n_counts
        three = ((self.whole, whole), (self.side, side), (self.rest, left))
        for counts, rows in three:
            assert counts[:n].tolist() == self.counters(rows)
            if self.unit:
                assert counts[n] == len(self.persons(rows))
        if not self.unit:
            return
        every, here = self.persons(whole), self.persons(side)
        assert self.side[n + 1] == sum(here[p] == every[p] for p in here)
        for counts, rows in three[:2]:
            for person in range(self.table.n_units or 0):
                assert (
                    rows_of(self.models, counts, person) == self.persons(rows)[person]
                )


@st.composite
def rows_of_persons(draw: Any) -> list[Row]:
    row = st.tuples(
        st.sampled_from(["a", "b", None]),
        st.sampled_from(["x", "y"]),
        st.sampled_from([1, 1, 1, 2, 3, None]),
    )
    return draw(st.lists(row, min_size=1, max_size=12))


@pytest.mark.parametrize("unit", [True, False], ids=["persons", "rows"])
@given(data=st.data())
def test_counts_are_those_of_sets_and_counters(
    data: st.DataObject, *, unit: bool
) -> None:
    counted = Counted(data.draw(rows_of_persons()), unit=unit)
    counts = counted.table.counts.tolist()
    for _ in range(data.draw(st.integers(1, 4))):  # the same arrays, used again
        steps = [(CLEAR_WHOLE, 0, 0), (CLEAR_SIDE, 0, 0)]
        whole: Counter[int] = Counter()
        side: Counter[int] = Counter()
        for i in data.draw(st.sets(st.integers(0, len(counts) - 1))):
            whole[i] += counts[i]
            steps.append((ADD, i, 0))
        for _ in range(data.draw(st.integers(0, 3)) if whole else 0):
            i = data.draw(st.sampled_from(sorted(whole)))
            more = data.draw(st.integers(-whole[i], 3))
            whole[i] += more
            steps.append((CHANGE, i, more))
        for _ in range(data.draw(st.integers(0, 12)) if whole else 0):
            i = data.draw(st.sampled_from(sorted(whole)))
            if side[i] == 0 and whole[i] == counts[i] and data.draw(st.booleans()):
                steps.append((MOVE_ALL, i, 0))
                side[i] = counts[i]
                continue
            rows = data.draw(st.integers(-side[i], whole[i] - side[i]))
            side[i] += rows
            steps.append((MOVE, i, rows))

        counted.run(steps)

        counted.check(whole, side)


def test_persons_are_counted_however_often_counts_are_cleared() -> None:
    # The clock stands above the rows, in 32 bits.
    counted = Counted([("a", "x", 1), ("b", "x", 1), ("b", "x", 2)], unit=True)
    clock = counted.models.n_counts + 2
    counts = Counter(dict(enumerate(counted.table.counts.tolist())))
    everything = [(ADD, i, 0) for i in counts]
    for last in (2**31 - 3, 2**32 - 3, 2**62):
        counted.whole[clock] = counted.side[clock] = last
        for _ in range(5):
            steps = [(CLEAR_WHOLE, 0, 0), (CLEAR_SIDE, 0, 0), *everything]
            counted.run([*steps, (MOVE_ALL, 0, 0)])
            counted.check(counts, Counter({0: counts[0]}))
    assert counted.whole.size == clock + 1 + 3 == counted.models.n_counts + 3 + 3
    assert N_PERSON_COUNTS == 3


def test_the_clock_moves_by_one_and_starts_anew_at_its_end() -> None:
    counted = Counted([("a", "x", 1), ("b", "x", 2)], unit=True)
    n = counted.models.n_counts
    for before, after in ((0, 1), (5, 6), (2**31 - 2, 2**31 - 1), (2**31 - 1, 1)):
        counted.whole[:] = 7
        counted.whole[n + 2 :] = [before, 0, before << 32 | 4, 0]

        counted.run([(CLEAR_WHOLE, 0, 0)])

        assert counted.whole[: n + 2].tolist() == [0] * (n + 2)
        persons = [0, before << 32 | 4 if after > before else 0, 0]
        assert counted.whole[n + 2 :].tolist() == [after, *persons]
