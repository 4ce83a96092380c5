"""Counts of records, and of the persons they are of, next to sets and counters."""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.compiled import compiled, inside

from core_mondrian import KAnonymity, Spec
from core_mondrian.encoding.encoder import collapse, encode
from core_mondrian.engine.constraints import first_constraints
from core_mondrian.engine.inputs import build_models, build_tuples
from core_mondrian.models import DistinctLDiversity
from core_mondrian.tables.frames import open_frame

model_rules = compiled("engine.model_rules")
pytestmark = pytest.mark.twin("engine.model_rules")

CLEAR_WHOLE, ADD, CHANGE, CLEAR_SIDE, MOVE, MOVE_ALL = range(6)
N_COLUMNS = 1
Row = tuple[str | None, str | None, int | None]


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
        models = build_models(self.table, spec, first_constraints(self.table, spec))
        self.rules = model_rules.Rules(models, N_COLUMNS)
        self.whole, self.side, self.rest = (
            model_rules.SetCounts(models.n_counts, models.n_persons) for _ in range(3)
        )

    def run(self, steps: list[tuple[int, int, int]]) -> None:
        """Carry out steps of (what, record, rows); count what is not on the side."""
        whole, side, rules = self.whole, self.side, self.rules
        for what, at, rows in steps:
            record = self.records[at]
            if what == CLEAR_WHOLE:
                model_rules.clear(whole)
            elif what == ADD:
                model_rules.add_record(whole, rules, record)
            elif what == CHANGE:
                model_rules.change_counts(whole, rules, record, rows)
            elif what == CLEAR_SIDE:
                model_rules.clear(side)
            elif what == MOVE:
                model_rules.change_side(side, whole, rules, record, rows)
            else:
                model_rules.add_to_side(side, whole, rules, record)
        model_rules.count_rest(rules, whole, side, self.rest)

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
        three = ((self.whole, whole), (self.side, side), (self.rest, left))
        for counts, rows in three:
            held, n_values = inside(counts), inside(self.rules).n_values
            assert held.by_value[:n_values].tolist() == self.counters(rows)
            if self.unit:
                assert held.n_persons == len(self.persons(rows))
        if not self.unit:
            return
        every, here = self.persons(whole), self.persons(side)
        assert inside(self.side).n_whole == sum(here[p] == every[p] for p in here)
        for counts, rows in three[:2]:
            for person in range(self.table.n_units or 0):
                found = model_rules.rows_of_person(counts, person)
                assert found == self.persons(rows)[person]


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
    counts = Counter(dict(enumerate(counted.table.counts.tolist())))
    everything = [(ADD, i, 0) for i in counts]
    for last in (2**31 - 3, 2**32 - 3, 2**62):
        for counted_set in (counted.whole, counted.side):
            inside(counted_set).clock = last
        for _ in range(5):
            steps = [(CLEAR_WHOLE, 0, 0), (CLEAR_SIDE, 0, 0), *everything]
            counted.run([*steps, (MOVE_ALL, 0, 0)])
            counted.check(counts, Counter({0: counts[0]}))


def test_the_clock_moves_by_one_and_starts_anew_at_its_end() -> None:
    counted = Counted([("a", "x", 1), ("b", "x", 2)], unit=True)
    whole = inside(counted.whole)
    for before, after in ((0, 1), (5, 6), (2**31 - 2, 2**31 - 1), (2**31 - 1, 1)):
        whole.by_value[:] = 7
        whole.n_persons = whole.n_whole = 7
        whole.clock = before
        whole.person_rows[:] = [0, before << 32 | 4, 0]

        counted.run([(CLEAR_WHOLE, 0, 0)])

        assert not whole.by_value.any()
        assert (whole.n_persons, whole.n_whole, whole.clock) == (0, 0, after)
        persons = [0, before << 32 | 4 if after > before else 0, 0]
        assert whole.person_rows.tolist() == persons
