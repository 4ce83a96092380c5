"""Pages of rows against lists that are aligned one row at a time."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from core_mondrian.api import anonymize
from core_mondrian.datasets import census
from core_mondrian.models import DistinctLDiversity, KAnonymity
from core_mondrian.release.result import Release
from core_mondrian.spec.declaration import Spec
from core_mondrian.spec.policies import BestPolicy
from core_mondrian.spec.suppression import Suppression
from core_mondrian.studio.actions import make_release, open_table
from core_mondrian.studio.draft import draft_of
from core_mondrian.studio.rows import PAGE, Line, Rows
from core_mondrian.tables.files.write import write_table

KEY = "nth"
QIDS = ("age", "sex", "occupation")


@pytest.fixture(scope="module")
def people() -> pa.Table:
    """A table whose rows are told apart by a column that passes through."""
    table = census(300).select([*QIDS, "income"])
    return table.append_column(KEY, pa.array([f"<{i}>" for i in range(300)]))


def release_of(people: pa.Table, **more: Any) -> Release[pa.Table]:
    spec = Spec(
        QIDS,
        models=(KAnonymity(4), DistinctLDiversity(2, "income")),
        policy=BestPolicy(price=0.3),
        suppress=Suppression(rows=25),
        **more,
    )
    found = anonymize(people, spec)
    assert PAGE < found.n_suppressed <= 25
    return found


def rows_of(people: pa.Table, release: Release[pa.Table]) -> Rows:
    assert release._suppressed_rows is not None
    return Rows(people, release.data, release._suppressed_rows, release.spec)


def all_lines(rows: Rows, *, only_out: bool = False) -> list[Line]:
    n = rows.n_pages(only_out=only_out)
    pages = [rows.page(i, only_out=only_out) for i in range(n)]
    assert all(len(page) == PAGE for page in pages[:-1])
    return [line for page in pages for line in page]


def texts(rows: Rows, line: Line) -> dict[str, str]:
    found = zip(rows.heads, line.cells, strict=True)
    return {head.title: cell.text for head, cell in found}


@pytest.mark.parametrize("how", ["drop", "separate"])
def test_rows_that_are_dropped_stand_beside_their_original(
    people: pa.Table, how: Any
) -> None:
    release = release_of(people, suppressed=how)
    released = {row[KEY]: row for row in release.data.to_pylist()}
    rows = rows_of(people, release)

    lines = all_lines(rows)

    assert len(lines) == 300
    for i, (line, before) in enumerate(zip(lines, people.to_pylist(), strict=True)):
        after = released.get(before[KEY])
        shown = texts(rows, line)
        assert line.number == i + 1
        assert line.is_out == (after is None)
        assert shown[KEY] == before[KEY]
        for name in QIDS:
            assert shown[f"{name} (before)"] == str(before[name] or "")
            wanted = "left out" if after is None else str(after[name] or "")
            assert shown[f"{name} (released)"] == wanted
    if how == "separate":
        apart = release.suppressed
        assert apart is not None
        assert [
            texts(rows, line)[KEY] for line in all_lines(rows, only_out=True)
        ] == apart.column(KEY).to_pylist()


def test_rows_that_are_blanked_stay_in_their_place(people: pa.Table) -> None:
    release = release_of(people, suppressed="blank")
    released = release.data.to_pylist()
    rows = rows_of(people, release)

    lines = all_lines(rows)

    assert len(released) == len(lines) == 300
    for line, before, after in zip(lines, people.to_pylist(), released, strict=True):
        is_blank = all(after[name] is None for name in (*QIDS, "income"))
        shown = texts(rows, line)
        assert after[KEY] == (None if is_blank else before[KEY])
        assert shown[KEY] == (after[KEY] or "")
        assert line.is_out == is_blank
        assert shown["income"] == (after["income"] or "")
        for name in QIDS:
            assert shown[f"{name} (before)"] == str(before[name] or "")
            assert shown[f"{name} (released)"] == (after[name] or "")


def test_only_cells_that_changed_are_marked(people: pa.Table) -> None:
    release = release_of(people)
    rows = rows_of(people, release)

    for line in all_lines(rows):
        shown = texts(rows, line)
        for head, cell in zip(rows.heads, line.cells, strict=True):
            was = shown.get(f"{head.before} (before)", shown[KEY])
            is_released = head.title.endswith("(released)") and not line.is_out
            assert cell.is_changed == (is_released and cell.text != was), head
            assert cell.is_out == (line.is_out and head.after is not None)


@pytest.mark.parametrize("how", ["drop", "blank"])
def test_rows_that_were_left_out_have_pages_of_their_own(
    people: pa.Table, how: Any
) -> None:
    rows = rows_of(people, release_of(people, suppressed=how))

    wanted = [line for line in all_lines(rows) if line.is_out]

    assert all_lines(rows, only_out=True) == wanted


def test_every_row_is_found_by_its_number(people: pa.Table) -> None:
    rows = rows_of(people, release_of(people))
    out = [line.number for line in all_lines(rows, only_out=True)]

    for number in range(1, 301):
        page = rows.page(rows.page_of(number, only_out=False), only_out=False)
        assert number in [line.number for line in page]
        page = rows.page(rows.page_of(number, only_out=True), only_out=True)
        later = [one for one in out if one >= number]
        assert not later or later[0] in [line.number for line in page]
    assert rows.page_of(10**9, only_out=False) == 14
    assert rows.page_of(-5, only_out=False) == 0


def test_a_shuffled_release_is_not_aligned(people: pa.Table) -> None:
    release = release_of(people, shuffle=7)
    rows = rows_of(people, release)

    lines = all_lines(rows)

    assert not rows.is_aligned
    assert not any(line.is_out for line in lines)
    assert not any(cell.is_changed or cell.is_out for li in lines for cell in li.cells)
    shown = [texts(rows, line) for line in lines]
    assert [one[f"{KEY} (before)"] for one in shown] == people.column(KEY).to_pylist()
    there = release.data.column(KEY).to_pylist()
    assert [one[f"{KEY} (released)"] for one in shown][: len(there)] == there


@pytest.mark.parametrize("numbers", ["bounds", "struct", "mean"])
def test_other_formats_are_shown_as_text(people: pa.Table, numbers: Any) -> None:
    release = release_of(people, numbers=numbers, class_id="class")
    released = {row[KEY]: row for row in release.data.to_pylist()}
    rows = rows_of(people, release)

    for line in all_lines(rows):
        shown = texts(rows, line)
        if line.is_out:
            assert shown["class (new)"] == "left out"
            continue
        after = released[shown[KEY]]
        assert shown["class (new)"] == str(after["class"])
        if numbers == "bounds":
            assert shown["age_min (released)"] == str(after["age_min"])
            assert shown["age_max (released)"] == str(after["age_max"])
        elif numbers == "struct":
            low, high = after["age"]["min"], after["age"]["max"]
            wanted = str(low) if low == high else f"[{low}, {high}]"
            assert shown["age (released)"] == wanted
        else:
            assert float(shown["age (released)"]) == pytest.approx(after["age"])


def test_odd_cells_and_names_are_shown_and_chunks_do_not_matter() -> None:
    before = pa.table(
        {
            "__proto__": [1, None, 3],
            "<b>": pa.chunked_array([["x"], ["y", None]]),
            "list": [[1], None, [2, 3]],
        }
    )
    rows = Rows(before, before, np.zeros(0, np.int64), Spec(("q",), (KAnonymity(2),)))

    lines = rows.page(0, only_out=False)

    assert [[cell.text for cell in line.cells] for line in lines] == [
        ["1", "x", "[1]"],
        ["", "y", ""],
        ["3", "", "[2, 3]"],
    ]
    assert rows.page(0, only_out=True) == []


def test_a_run_of_a_csv_file_has_its_rows_aligned(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    write_table(census(400).drop_columns(["zip_code", "person_id"]), path)
    opened = open_table(path, "people.csv", lambda *_: None)
    draft = draft_of(opened.guesses)
    draft.suppress = "5%"

    run = make_release(opened, draft, 1, lambda *_: None)

    assert run.release.n_suppressed == run.rows.out.size > 0
    gone = [line.number - 1 for line in all_lines(run.rows) if line.is_out]
    assert gone == run.rows.out.tolist()
