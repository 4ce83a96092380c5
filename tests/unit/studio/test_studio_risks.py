"""Live figures, against a count with dictionaries."""

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core_mondrian.analysis.inspection import InspectedColumn
from core_mondrian.datasets import census
from core_mondrian.studio.actions import OpenedTable, open_table
from core_mondrian.studio.jobs import Cancelled
from core_mondrian.studio.risks import (
    Risk,
    RiskCounts,
    alone_text,
    count_risks,
    risk_text,
    share_text,
    without_text,
)
from core_mondrian.tables.files.write import write_table

NAMES = ("age", "sex", "occupation", "race")


def quiet(_stage: str, _done: float) -> None:
    """Nobody watches."""


def open_rows(table: pa.Table, folder: Path) -> OpenedTable:
    path = folder / "people.parquet"
    write_table(table, path, overwrite=True)
    return open_table(path, path.name, quiet)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> OpenedTable:
    table = census(900)
    persons = pa.array([None if i % 90 == 0 else f"p{i * i % 300}" for i in range(900)])
    table = table.append_column("person", persons)
    return open_rows(table, tmp_path_factory.mktemp("people"))


def looks(table: pa.Table, names: Any) -> list[tuple[Any, ...]]:
    columns = [table.column(name).to_pylist() for name in names]
    return [tuple(row) for row in zip(*columns, strict=True)] or [()] * table.num_rows


def count_plainly(table: pa.Table, names: Any, unit: str | None) -> list[int]:
    """The size of every group, in rows or in persons."""
    found = looks(table, names) if names else [()] * table.num_rows
    if unit is None:
        return [*Counter(found).values()]
    persons = defaultdict(set)
    for look, person in zip(found, table.column(unit).to_pylist(), strict=True):
        persons[look].add(person)
    return [len(one) for one in persons.values()]


@pytest.mark.parametrize("unit", [None, "person"])
@pytest.mark.parametrize("n", [1, 2, 4])
def test_figures_are_those_of_a_dictionary(
    opened: OpenedTable, unit: str | None, n: int
) -> None:
    names = NAMES[:n]

    found = count_risks(opened, RiskCounts(names, unit), quiet)

    sizes = count_plainly(opened.table, names, unit)
    risk = found.total
    assert risk is not None
    assert risk.n_people == sum(sizes)
    assert risk.n_groups == len(sizes)
    assert risk.n_unique == sizes.count(1)
    assert risk.highest == 1 / min(sizes)
    assert risk.average == len(sizes) / sum(sizes)
    for k in (1, 2, 5, 100):
        assert risk.n_below(k) == sum(size for size in sizes if size < k)
    for name in names:
        others = [other for other in names if other != name]
        without = count_plainly(opened.table, others, unit).count(1)
        assert found.n_without[name] == without
        assert found.n_added(name) == sizes.count(1) - without >= 0


CELLS = st.sampled_from([None, "a", "b", "c"])
ROWS = st.lists(st.tuples(CELLS, CELLS, CELLS, CELLS), min_size=1, max_size=9)


@settings(max_examples=60, deadline=None)
@given(ROWS, st.sampled_from([None, "u"]))
def test_few_rows_and_persons_are_counted_too(
    tmp_path_factory: pytest.TempPathFactory, rows: Any, unit: str | None
) -> None:
    cells = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    table = pa.table(dict(zip("xyzu", cells, strict=True)))
    opened = open_rows(table, tmp_path_factory.getbasetemp())

    for names in (("x",), ("x", "y", "z")):
        found = count_risks(opened, RiskCounts(names, unit), quiet)

        assert found.total is not None
        assert found.total.n_unique == count_plainly(table, names, unit).count(1)
        for name in names:
            others = [other for other in names if other != name]
            plainly = count_plainly(table, others, unit).count(1)
            assert found.n_without[name] == plainly


def test_without_columns_there_is_nothing_to_count(opened: OpenedTable) -> None:
    found = count_risks(opened, RiskCounts((), None), quiet)

    assert found.total is None
    assert found.n_added("age") is None


def test_the_total_comes_first_and_the_rest_can_be_abandoned(
    opened: OpenedTable,
) -> None:
    found = RiskCounts(NAMES, None)

    def stop(stage: str, done: float) -> None:
        if stage == "count" and done:
            raise Cancelled

    with pytest.raises(Cancelled):
        count_risks(opened, found, stop)

    assert found.total is not None
    assert [*found.n_without] == ["age"]
    assert found.n_added("sex") is None


def test_shares_are_not_rounded_to_none_or_all() -> None:
    told = [share_text(n, 10_000) for n in (0, 1, 5, 5_000, 9_994, 9_999, 10_000)]

    assert told == [
        *("0%", "under 0.1%", "0.1%", "50.0%", "99.9%"),
        *("over 99.9%", "100.0%"),
    ]


def test_figures_are_told_in_words() -> None:
    total = Risk.of(np.array([1, 1, 1, 3, 4, 0]))
    column = InspectedColumn("age", "int64", 0, 9, 1, is_nearly_unique=False)

    first, more = risk_text(RiskCounts(("age",), None, total), 4)
    _, persons = risk_text(RiskCounts(("age", "sex"), "person", total), 4)

    assert first == "3 of 10 rows (30.0%) are unique in the table as it is."
    assert "right in 50.0% of cases on average, and at worst in 100.0%." in more
    assert "Of the rows, 60.0% look like fewer than 4 rows." in more
    assert "these 2 columns" in persons
    assert "Of the records of persons, 60.0%" in persons
    assert without_text(total, 1) == "without it 10.0% are unique instead of 30.0%"
    assert without_text(total, 3) == "with or without it 30.0% are unique"
    assert alone_text(column, 10) == "alone it singles out 1 row (10.0%)"
