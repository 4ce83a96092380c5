"""Columns in the studio: how they are read, what they give away, what they become."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from studio_pages import (
    CANARY,
    NAMELESS,
    Server,
    choose,
    fill_until,
    make_release,
    needs_browser,
    needs_server,
    open_page,
    set_role,
    take_and_repeat,
)

from core_mondrian.datasets import census
from core_mondrian.hierarchies.codes import Flat
from core_mondrian.spec.toml_file import load_spec
from core_mondrian.tables.files.read import read_table
from core_mondrian.tables.files.write import write_table

pytestmark = [needs_server, needs_browser]
KNOWN = ("age", "land", "sex", "job", "race")


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose jobs are numbers, with a person for every two or three rows."""
    table = census(400).select(["age", "sex", "race", "income"])
    jobs = pa.array([7 * (i * i % 19) for i in range(400)])
    whose = pa.array([f"{CANARY} {i * 7 % 160}" for i in range(400)])
    path = tmp_path_factory.mktemp("workers") / "workers.csv"
    table = table.append_column("job", jobs).append_column("whose", whose)
    table = table.append_column("land", pa.array(["AT"] * 400))  # adds nothing
    write_table(table, path)
    return path


@pytest.fixture
def page(server: Server, context: Any, workers: Path) -> Any:
    """The page with the table, and five columns that others may know."""
    found = open_page(context, server, workers)
    set_role(found, "whose", "remove it")
    set_role(found, "income", "keep as it is")
    for name in KNOWN:
        set_role(found, name, "others may know it")
    return found


def unfold(page: Any, title: str, inside: Any) -> None:
    page.get_by_text(title).click()
    inside.wait_for()


def test_codes_are_read_as_names_and_the_command_line_repeats_it(
    page: Any, workers: Path, tmp_path: Path
) -> None:
    choose(page, "how job is read", "read as names (codes)")
    groups = page.get_by_label("groups of job", exact=True)
    unfold(page, "Groups of values: how", groups)
    shown = page.get_by_text("codes: a value, or * if they differ")
    shown.wait_for()
    choose(page, "groups of job", "no groups: numbers")
    page.get_by_text("read as names (codes)").wait_for(state="hidden")
    choose(page, "groups of job", "codes: the first characters stay")
    page.get_by_text("read as names in groups").wait_for()
    choose(page, "how job is read", "read as names (codes)")
    shown.wait_for()
    assert page.get_by_label("groups of sex", exact=True).count() == 1
    page.get_by_label("groups of sex", exact=True).click()
    assert page.get_by_role("option", name="codes: a value").count() == 0
    page.keyboard.press("Escape")
    make_release(page, 1)

    files, again = take_and_repeat(page, workers, tmp_path)

    assert load_spec(files["toml"]).hierarchies == {"job": Flat()}
    assert again.read_bytes() == files["csv"].read_bytes()
    cells = set(read_table(files["csv"], infer=False).column("job").to_pylist())
    assert cells <= {"*", *(str(7 * n) for n in range(19))}
    assert any(
        cell.startswith("[") for cell in read_table(files["csv"])["age"].to_pylist()
    )


def test_every_column_says_what_it_adds(page: Any, workers: Path) -> None:
    table = read_table(workers)
    for known in (KNOWN, KNOWN[:-1]):
        all_ = count_unique(table, known)
        page.get_by_text(f"{all_} of 400 rows ({told(all_)}) are unique").wait_for()
        for name in known:
            without = count_unique(table, [other for other in known if other != name])
            row = page.locator(".studio-column").filter(
                has=page.get_by_label(f"role of {name}", exact=True)
            )
            row.get_by_text(say(without, all_)).wait_for()
            only = f"{name}: {told(all_ - without)} of the rows are unique only because"
            bar = row.get_by_role("progressbar", name=re.compile(re.escape(only)))
            bar.wait_for()
            value = float(bar.get_attribute("aria-valuenow"))
            assert abs(value - (all_ - without) / 400) < 1e-9
        set_role(page, KNOWN[-1], "keep as it is")
    assert page.get_by_label(f"more of {KNOWN[-1]}", exact=True).is_hidden()
    ages = Counter(table.column("age").to_pylist())
    alone = sum(n == 1 for n in ages.values())
    page.get_by_text(f"alone it singles out {alone} row").first.wait_for()


def test_persons_are_counted_where_a_column_says_whose_row_it_is(
    page: Any, workers: Path
) -> None:
    table = read_table(workers)
    columns = [table.column(name).to_pylist() for name in (*KNOWN, "whose")]
    pairs = {(row[:-1], row[-1]) for row in zip(*columns, strict=True)}
    groups = Counter(look for look, _ in pairs)

    set_role(page, "whose", "whose row it is")

    n = sum(size == 1 for size in groups.values())
    share = f"{n / len(pairs):.1%}"
    page.get_by_text(
        f"{n} of {len(pairs)} records of persons ({share}) are unique"
    ).wait_for()
    page.get_by_text("Rows of one person that look alike are one record").wait_for()
    page.get_by_label("k: rows that look alike, at least").fill("3")
    few = sum(size for size in groups.values() if size < 3)
    page.get_by_text(
        f"{few / len(pairs):.1%} look like fewer than 3 persons"
    ).wait_for()


def test_single_columns_have_formats_and_weights_of_their_own(
    page: Any, workers: Path, tmp_path: Path
) -> None:
    page.get_by_label("more of age", exact=True).click()
    choose(page, "how age is released", "the median of the group")
    weight = page.get_by_label("how much age matters", exact=True)
    problem = page.get_by_text("a number above 0")
    fill_until(weight, "0", problem)
    weight.fill("2.5")
    problem.wait_for(state="hidden")  # what stands below moves up
    page.get_by_label("more of sex", exact=True).click()
    choose(page, "how sex is released", "all values: {a, b}")
    page.get_by_text("The spec: your choices").click()
    page.get_by_text("age = 2.5").first.wait_for()
    assert page.evaluate(NAMELESS) == []
    make_release(page, 1)

    files, again = take_and_repeat(page, workers, tmp_path)

    spec = load_spec(files["toml"])
    assert [spec.format_of(name) for name in ("age", "job")] == ["median", "interval"]
    assert [spec.categories_of(name) for name in ("sex", "race")] == ["set", "label"]
    assert spec.weights == {"age": 2.5}
    assert again.read_bytes() == files["csv"].read_bytes()
    # A column that is read otherwise is released as such columns are.
    choose(page, "how age is read", "read as names (codes)")
    page.get_by_text("the median of the group").first.wait_for(state="hidden")
    page.get_by_text('age = { kind = "flat" }').first.wait_for()
    assert page.get_by_text('age = "median"').count() == 0


def count_unique(table: pa.Table, names: Any) -> int:
    columns = [table.column(name).to_pylist() for name in names]
    return sum(n == 1 for n in Counter(zip(*columns, strict=True)).values())


def told(n: int) -> str:
    return f"{n / 400:.1%}" if n else "0%"


def say(without: int, all_: int) -> str:
    if told(without) == told(all_):
        return f"with or without it {told(all_)} are unique"
    return f"without it {told(without)} are unique instead of {told(all_)}"
