"""The fourth step in a real browser: runs compared, rows looked up, cuts seen."""

from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pytest
from studio_pages import (
    CANARY,
    NAMELESS,
    RELEASE,
    Server,
    choose,
    make_release,
    needs_browser,
    needs_server,
    open_page,
    save,
    set_role,
    upload,
)

from benchmarks.studio import BAR, Typist
from core_mondrian.datasets import census
from core_mondrian.tables.files.read import read_table
from core_mondrian.tables.files.write import write_table

pytestmark = [needs_server, needs_browser]

ATTACK = "<img src=x onerror=alert(1)>"


def search_briefly(page: Any) -> None:
    """A longer search would suppress no row here, and its tree has no branches."""
    page.get_by_text("More choices").click()
    choose(page, "How long to search (policy best)", "fast: the first good answer")


def begin(page: Any, server: Server, people: Path) -> None:
    """Open a table in which some rows will be left out."""
    page.goto(server.address)
    upload(page, people)
    page.get_by_text("people.csv: 400 rows").wait_for()
    set_role(page, "remarks", "keep as it is")
    search_briefly(page)
    page.get_by_label("Rows that may be left out, such as 1% or 20").fill("5%")
    page.get_by_text('suppress = "5%"').first.wait_for(state="attached")


def region(page: Any, name: str) -> Any:
    return page.get_by_role("region", name=name, exact=True)


def cells(table: Any) -> list[list[str]]:
    """Return the texts of a table's body, row by row."""
    found: list[list[str]] = table.locator("tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.children].map(one => one.textContent.trim()))"
    )
    return found


def heads(table: Any) -> list[str]:
    found: list[str] = table.locator("thead th").all_text_contents()
    return found


def test_two_runs_are_compared_on_the_same_axes(
    server: Server, context: Any, people: Path
) -> None:
    page = context.new_page()
    begin(page, server, people)
    make_release(page, 1)
    assert page.get_by_text("Compare two runs").count() == 0
    set_role(page, "race", "keep as it is")
    page.get_by_label("k: rows that look alike, at least").fill("10")
    page.get_by_text("k = 10\n").first.wait_for(state="attached")
    make_release(page, 2)

    asked = region(page, "What was asked differently")
    asked.wait_for()
    assert heads(asked) == ["setting", "run 1", "run 2"]
    assert cells(asked) == [["quasi_identifiers: race", "yes", "no"], ["k", "5", "10"]]
    reached = {row[0]: row[1:] for row in cells(region(page, "What was reached"))}
    overview = region(page, "runs").locator("tbody tr").all_inner_texts()
    assert [line.split()[:2] for line in overview] == [["2", "10"], ["1", "5"]]
    assert reached["smallest group"] == ["5 rows", "10 rows"]
    lost = {row[0]: row[1:] for row in cells(region(page, "Loss by column"))}
    assert lost["race"][1] == "not generalized: keep as it is"
    assert lost["age"][0] != lost["age"][1]
    bars = region(page, "Loss by column").locator("tbody td .studio-share i")
    assert bars.count() == 2 * len(lost) - 1

    make_release(page, 3)
    page.get_by_text("Nothing: both runs were asked for the same.").wait_for()
    choose(page, "Compare", "Run 1")
    region(page, "What was asked differently").wait_for()
    assert heads(region(page, "What was reached")) == ["run 1", "run 3"]


def check_rows(table: Any, after: dict[str, dict[str, str]]) -> list[int]:
    """Compare a page of rows with the file; return the numbers of its rows."""
    names = heads(table)
    lines = [dict(zip(names, line, strict=True)) for line in cells(table)]
    for line in lines:
        row = after.get(line["remarks"])
        assert ("left out" in line["row"]) == (row is None)
        shown = "left out" if row is None else row["age"]
        assert line["age (released)"] == shown
    numbers = [int(line["row"].split()[0]) for line in lines]
    wanted = [f"{CANARY} {number - 1}" for number in numbers]
    assert [line["remarks"] for line in lines] == wanted
    return numbers


def test_any_row_is_found_beside_what_became_of_it(
    server: Server, context: Any, people: Path, tmp_path: Path
) -> None:
    page = context.new_page()
    begin(page, server, people)
    make_release(page, 1)
    released = read_table(save(page, RELEASE, tmp_path), infer=False)
    after = {row["remarks"]: row for row in released.to_pylist()}
    assert 0 < 400 - len(after) <= 20
    page.get_by_role("tab", name="Before and after").click()
    table = region(page, "Rows before and after")
    page.get_by_text("rows 1 to 20 of 400; page 1 of 20").wait_for()

    assert check_rows(table, after) == list(range(1, 21))
    assert table.locator("td.studio-changed").count() > 0
    page.get_by_role("button", name="next page").click()
    page.get_by_text("rows 21 to 40 of 400; page 2 of 20").wait_for()
    assert check_rows(table, after) == list(range(21, 41))
    page.get_by_label("Go to row").fill("333")
    page.get_by_text("page 17 of 20").wait_for()
    assert check_rows(table, after) == list(range(321, 341))
    assert table.locator("tr.studio-sought").inner_text().startswith("333")
    page.get_by_role("button", name="last page").click()
    page.get_by_text("rows 381 to 400 of 400; page 20 of 20").wait_for()
    page.get_by_role("switch", name="only rows that were left out").click()
    page.get_by_text(f"{400 - len(after)} left out; page 1 of 1").wait_for()
    gone = [i + 1 for i in range(400) if f"{CANARY} {i}" not in after]
    assert check_rows(table, after) == gone


def test_rows_that_stay_without_values_are_told(
    server: Server, context: Any, people: Path
) -> None:
    page = context.new_page()
    begin(page, server, people)
    choose(page, "Rows that cannot be grouped are", "kept, without what others")
    make_release(page, 1)
    page.get_by_role("tab", name="Before and after").click()
    page.get_by_text("Rows that could not be grouped are kept").wait_for()

    page.get_by_role("switch", name="only rows that were left out").click()
    page.get_by_text("left out; page 1 of 1").wait_for()

    table = region(page, "Rows before and after")
    places = [i for i, name in enumerate(heads(table)) if "(released)" in name]
    for line in cells(table):
        assert "left out" in line[0]
        assert [line[i] for i in places] == [""] * len(places)


def test_it_is_shown_how_the_release_was_made(
    server: Server, context: Any, people: Path
) -> None:
    page = context.new_page()
    begin(page, server, people)
    make_release(page, 1)
    page.get_by_role("tab", name="How it was made").click()

    picture = page.locator("img.studio-painting")
    picture.wait_for()
    assert picture.evaluate("one => one.decode().then(() => one.naturalWidth)") == 720
    funnel = region(page, "The funnel of cuts")
    accepted = heads(funnel).index("accepted")
    rows = [line for line in cells(funnel) if not line[0].startswith("all ")]
    rows.sort(key=lambda line: -int(line[accepted].replace(",", "")))
    words = picture.get_attribute("alt")
    assert {line[0] for line in rows[:2]} <= set(words.replace(" and ", " ").split())
    choose(page, "From left to right", "workclass")
    choose(page, "From bottom to top", "sex")
    page.get_by_alt_text("over workclass and sex").wait_for()
    choose(page, "From left to right", "sex")
    page.get_by_role("alert").get_by_text("a painting is of two").wait_for()
    choose(page, "From left to right", "age")
    page.get_by_alt_text("over age and sex").wait_for()

    tree = page.locator(".studio-tree")
    tree.wait_for()
    inner = tree.locator("details details").first
    assert not inner.evaluate("one => one.open")
    # Focused and pressed in one go: a page that is drawn anew takes the focus away.
    inner.locator("summary").first.press("Enter")
    page.wait_for_function(
        "document.querySelector('.studio-tree details details').open"
    )


def test_the_report_is_read_in_a_tab_of_its_own(
    server: Server, context: Any, people: Path
) -> None:
    page = context.new_page()
    begin(page, server, people)
    make_release(page, 1)
    link = page.get_by_role("link", name="Read the report")
    with context.expect_page() as opened:
        link.press("Enter")
    report = opened.value

    report.get_by_role("heading", name="Release report").wait_for()
    with report.expect_download() as found:  # the manifest, although it is sandboxed
        report.get_by_role("link", name="Download the manifest").click()
    assert found.value.suggested_filename == "manifest.json"
    assert CANARY not in report.content()
    path = link.get_attribute("href")
    assert path is not None
    status, text, headers = server.ask(path, cookie=server.cookie)
    assert status == 200
    assert text.startswith("<!doctype html>")
    assert headers["content-type"].startswith("text/html")
    assert "attachment" not in headers.get("content-disposition", "")
    assert server.ask(path)[0] == 403
    assert server.ask(f"{path}9", cookie=server.cookie)[0] == 404
    answer = context.request.get(report.url)
    policies = [one["value"] for one in answer.headers_array if "policy" in one["name"]]
    assert any("default-src 'none'" in policy for policy in policies)
    assert any("default-src 'self'" in policy for policy in policies)


def test_reports_are_built_while_the_page_goes_on(
    server: Server, context: Any, tmp_path: Path
) -> None:
    source = tmp_path / "many.csv"
    write_table(census(20_000), source)
    page = open_page(context, server, source)
    page.get_by_text("The spec: your choices").click()
    make_release(page, 1)
    with context.expect_page():  # by key: what stands above may still move
        page.get_by_role("link", name="Read the report").press("Enter")
    page.bring_to_front()

    taken = Typist(page).type_until("Run 1: verified", 8)

    assert median(taken) < BAR


def test_persons_are_spoken_of_where_they_are_known(
    server: Server, context: Any, people: Path
) -> None:
    page = context.new_page()
    begin(page, server, people)
    set_role(page, "person_id", "whose row it is")
    page.get_by_text('unit = "person_id"').first.wait_for(state="attached")
    make_release(page, 1)

    page.get_by_text(
        "Every person shares their released values with at least 4 others."
    ).wait_for()


def test_what_a_table_holds_is_shown_and_never_run(
    server: Server, context: Any, tmp_path: Path
) -> None:
    table = census(200).select(["age", "sex", "income"])
    values = pa.array([f"{ATTACK}{i % 3}" for i in range(200)])
    source = tmp_path / "bad.csv"
    write_table(table.append_column("<b>x</b>", values), source)
    page = context.new_page()
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    page.goto(server.address)
    upload(page, source)
    page.get_by_text("bad.csv: 200 rows").wait_for()
    set_role(page, "<b>x</b>", "others may know it")
    set_role(page, "sex", "keep as it is")
    search_briefly(page)
    make_release(page, 1)
    page.get_by_label("k: rows that look alike, at least").fill("7")
    page.get_by_text("k = 7\n").first.wait_for(state="attached")
    set_role(page, "<b>x</b>", "keep as it is")
    set_role(page, "sex", "others may know it")
    make_release(page, 2)
    region(page, "Loss by column").get_by_text("<b>x</b>").wait_for()

    choose(page, "Look closely at", "Run 1")
    page.get_by_text("Run 1: verified").wait_for()
    page.get_by_role("tab", name="Before and after").click()
    region(page, "Rows before and after").get_by_text(ATTACK).first.wait_for()
    page.get_by_role("tab", name="How it was made").click()
    page.locator(".studio-tree").wait_for()
    page.locator("img.studio-painting").wait_for()
    for summary in page.locator(".studio-tree summary").all():
        summary.evaluate("one => one.parentElement.open = true")
    page.locator(".studio-tree").get_by_text(ATTACK).first.wait_for()

    assert page.locator(".studio-step img:not(.studio-painting)").count() == 0
    assert page.locator(".studio-step b").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_of_it_fits_a_telephone(
    server: Server, context: Any, people: Path, scheme: Any
) -> None:
    page = context.new_page()
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 400, "height": 800})
    begin(page, server, people)
    make_release(page, 1)
    make_release(page, 2)
    region(page, "What was reached").wait_for()
    for tab, seen in (
        ("Before and after", "age (released)"),
        ("How it was made", "The first cuts, named"),
    ):
        page.get_by_role("tab", name=tab).click()
        page.get_by_text(seen).wait_for()

        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        assert page.evaluate(NAMELESS) == []
