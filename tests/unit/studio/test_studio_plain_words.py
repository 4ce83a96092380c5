"""What becomes of each column, in words: against the released cells themselves."""

import re
from typing import Any

import pytest

from core_mondrian.datasets import census
from core_mondrian.studio.actions import OpenedTable, Run, make_release, open_table
from core_mondrian.studio.draft import draft_of
from core_mondrian.studio.file_names import command, file_names
from core_mondrian.studio.plain_words import ColumnWords
from core_mondrian.tables.files.write import write_table


def quiet(_stage: str, _done: float) -> None:
    """Nobody watches."""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> OpenedTable:
    path = tmp_path_factory.mktemp("people") / "people.csv"
    write_table(census(600).drop_columns(["capital_gain"]), path)
    return open_table(path, "people.csv", quiet)


def run_with(opened: OpenedTable, **choices: Any) -> Run:
    draft = draft_of(opened.guesses)
    for name, value in choices.items():
        setattr(draft, name, value)
    return make_release(opened, draft, 1, quiet)


def words_of(run: Run) -> dict[str, ColumnWords]:
    return {one.name: one for one in run.words.columns}


def share(n: int, of: int) -> str:
    return f"{100 * n / of:.1f}\u202f%"


def test_words_of_categories_are_counts_of_released_cells(opened: OpenedTable) -> None:
    run = run_with(opened)
    before, after = run.rows.before, run.release.data

    told = words_of(run)
    assert set(told) == set(opened.table.column_names)
    checked = 0
    for name in ("marital_status", "education", "occupation", "race"):
        old, new = before.column(name).to_pylist(), after.column(name).to_pylist()
        kept = sum(a == b for a, b in zip(old, new, strict=True) if b is not None)
        stars, blank = new.count("*"), new.count(None)
        if kept == len(new):
            assert told[name].says == "Every row keeps its exact value."
        if 0 < kept < len(new):
            words = f"{share(kept, len(new))} of the rows keep their value"
            assert words in told[name].says
            checked += 1
        if stars:
            assert f"{share(stars, len(new))} show *" in told[name].says
        assert ("blank" in told[name].says) == bool(blank)
    assert checked


def test_half_of_the_ranges_are_no_wider_than_the_one_that_is_named(
    opened: OpenedTable,
) -> None:
    run = run_with(opened, k=9)
    words = words_of(run)["age"].says
    named = re.search(r"half of the \w+ show \[(\d+), (\d+)\]", words.lower())
    assert named
    width = int(named[2]) - int(named[1])
    cells = run.release.data.column("age").to_pylist()
    ranges = [cell.strip("[]").split(", ") for cell in cells if cell.startswith("[")]
    widths = sorted(int(high) - int(low) for low, high in ranges)

    assert widths[(len(widths) - 1) // 2] == width


def test_the_example_is_the_first_row_that_is_released(opened: OpenedTable) -> None:
    run = run_with(opened, k=20, suppress="5%")
    gone = set(run.rows.out.tolist())
    number = next(i for i in range(600) if i not in gone) + 1
    assert run.words.example == number
    released = run.release.data.slice(0, 1).to_pylist()[0]
    source = run.rows.before.slice(number - 1, 1).to_pylist()[0]

    for name, one in words_of(run).items():
        assert one.before == str(source[name] if source[name] is not None else "")
        assert one.after == str(released.get(name) or "")
    assert words_of(run)["person_id"].says == "Removed."
    assert words_of(run)["income"].says.startswith("Kept as it was: sensitive")


def test_a_release_that_was_shuffled_has_no_example(opened: OpenedTable) -> None:
    run = run_with(opened, rest={"shuffle": 3})

    assert run.words.example is None
    assert {(one.before, one.after) for one in run.words.columns} == {("", "")}


@pytest.mark.parametrize("numbers", ["interval", "median", "bounds"])
@pytest.mark.parametrize("categories", ["label", "set"])
def test_every_format_has_words(
    opened: OpenedTable, numbers: str, categories: str
) -> None:
    run = run_with(opened, numbers=numbers, categories=categories)

    for one in words_of(run).values():
        assert one.says.endswith(".")
        assert "None" not in one.says


def test_files_are_called_as_the_command_line_calls_them() -> None:
    names = list(file_names("my people.csv.gz").values())

    assert names == [
        "my people.release.csv",
        "my people.release.parquet",
        "my people.release.csv.manifest.json",
        "my people.report.html",
        "my people.spec.toml",
        "my people.release.csv.owner.json",
    ]
    assert next(iter(file_names("a.parquet").values())) == "a.release.parquet"
    assert "release.csv" not in file_names("a.csv", is_flat=False)
    assert command("my people.csv.gz", "s", has_key=True, suppressed="separate") == (
        "core-mondrian anonymize 'my people.csv.gz' 'my people.release.csv' --spec "
        "'my people.spec.toml' --key-file key.txt --by s --suppressed-file "
        "'my people.left-out.csv'"
    )
