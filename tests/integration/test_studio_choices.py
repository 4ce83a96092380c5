"""Choosing on the trade-off curve, going on with a saved spec, and a first look."""

import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from studio_pages import (
    CANARY,
    COMMAND,
    NAMELESS,
    Server,
    choose,
    environment,
    make_release,
    needs_browser,
    needs_server,
    open_page,
    printed_address,
    save,
    set_role,
    upload,
)

from core_mondrian.api import anonymize
from core_mondrian.datasets import census
from core_mondrian.spec.toml_file import load_spec
from core_mondrian.tables.files.read import read_table
from core_mondrian.tables.files.write import write_table

pytestmark = needs_server

SPEC = """quasi_identifiers = ["education", "age", "sex"]
identifiers = ["person_id", "remarks"]
k = 8
policy = "best"
suppress = 4
suppressed = "blank"
null_values = ["?"]
numbers = "median"
shuffle = 3

[best]
effort = "strong"
beta = 2.0

[thresholds]
nmi = 0.5

[hierarchies]
education = "trees/education.csv"

[[models]]
name = "t-closeness"
t = 0.35
sensitive = "income"
"""


@pytest.fixture
def page(server: Server, context: Any, people: Path) -> Any:
    """A page with a small table."""
    return open_page(context, server, people)


def tree_of(folder: Path) -> Path:
    """Write a hierarchy over all values of education."""
    values = sorted(set(census(400).column("education").to_pylist()))
    path = folder / "education.csv"
    lines = [f"{value};{'AB'[i % 2]};*" for i, value in enumerate(values)]
    path.write_text("\n".join(lines))
    return path


def spec_shown(page: Any) -> dict[str, Any]:
    """Return the spec that the page shows, whether it is unfolded or not."""
    text = page.get_by_text("quasi_identifiers = ").first.text_content()
    return tomllib.loads(text)


def k_of(page: Any) -> str:
    return page.get_by_label("k: rows that look alike, at least").input_value()


@needs_browser
def test_k_is_pressed_on_the_curve_itself_with_mouse_and_keyboard(page: Any) -> None:
    page.get_by_role("button", name="What would each k cost?").click()
    point = page.get_by_role("button", name="on the curve, k 20:")
    point.wait_for()
    pressed = page.get_by_role("button", name="on the curve", pressed=True)
    assert "k 5:" in pressed.get_attribute("aria-label")

    box = page.locator(".studio-chart").bounding_box()
    place = point.bounding_box()
    assert (
        box["x"] <= place["x"] < place["x"] + place["width"] <= box["x"] + box["width"]
    )
    page.mouse.click(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    page.get_by_role("button", name="on the curve, k 20:", pressed=True).wait_for()
    assert k_of(page) == "20"
    assert pressed.count() == 1

    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="on the curve, k 50:", pressed=True).wait_for()
    assert k_of(page) == "50"
    assert spec_shown(page)["k"] == 50
    page.get_by_label("k: rows that look alike, at least").fill("3")
    page.get_by_role("button", name="k = 3", exact=True, pressed=True).wait_for()
    page.get_by_text("is the knee").or_(page.get_by_text("no knee")).wait_for()


@needs_browser
def test_the_figures_of_the_curve_are_a_table_and_those_of_the_release(
    page: Any, people: Path, tmp_path: Path
) -> None:
    page.get_by_role("button", name="What would each k cost?").click()
    page.get_by_role("button", name="k = 10", exact=True).click()
    table = page.get_by_role("table").filter(has_text="highest risk")
    titles = table.get_by_role("columnheader").all_inner_texts()
    assert titles[:6] == [
        *("k", "lost", "groups", "smallest group", "highest risk", "average risk"),
    ]
    row = table.get_by_role("row").filter(has_text="k = 10").first
    cells = row.get_by_role("cell").all_inner_texts()
    make_release(page, 1)

    spec = load_spec(save(page, "Spec", tmp_path))
    release = anonymize(read_table(people, typed=spec.quasi_identifiers), spec)
    found = release.measures()
    assert cells[1:4] == [
        *(f"{found.loss:.1%}", str(found.n_classes), str(found.smallest_class)),
    ]
    assert table.is_visible()


@needs_browser
def test_a_parameter_of_a_model_is_chosen_on_the_curve(page: Any) -> None:
    set_role(page, "income", "sensitive")
    choose(page, "Vary", "l of income")
    page.get_by_role("button", name="What would each l cost?").click()

    page.get_by_role("button", name="l = 2", pressed=True).wait_for()
    page.get_by_text("cannot be reached: distinct 3-diversity").wait_for()
    assert page.get_by_role("button", name="l = 3", exact=True).is_disabled()
    assert page.get_by_role("button", name="on the curve, l 3:").is_disabled()
    choose(page, "Nobody learns income from their group:", "t-closeness")
    page.locator(".studio-chart").wait_for(state="hidden")
    choose(page, "Vary", "t of income")
    page.get_by_role("button", name="What would each t cost?").click()
    page.get_by_role("button", name="on the curve, t 0.3:").click()
    page.get_by_role("button", name="t = 0.3", exact=True, pressed=True).wait_for()

    assert page.get_by_label("t: how far, 0 to 1").input_value() == "0.3"
    assert page.evaluate(NAMELESS) == []
    page.set_viewport_size({"width": 400, "height": 800})
    page.wait_for_function("document.documentElement.scrollWidth <= 400")
    assert spec_shown(page)["models"][0]["t"] == 0.3
    set_role(page, "income", "keep as it is")
    page.get_by_role("button", name="What would each k cost?").wait_for()
    assert page.locator(".studio-chart").count() == 0
    page.get_by_label("Vary", exact=True).wait_for(state="hidden")


@needs_browser
def test_a_curve_can_be_cancelled(server: Server, context: Any, tmp_path: Path) -> None:
    large = tmp_path / "large.parquet"
    write_table(census(200_000), large)
    page = context.new_page()
    page.goto(server.address)
    upload(page, large)
    page.get_by_text("200,000 rows, 13 columns").wait_for()

    page.get_by_role("button", name="What would each k cost?").click()
    page.get_by_role("button", name="Cancel the curve").click()
    page.get_by_text("cancelled", exact=True).wait_for()

    assert page.locator(".studio-chart").count() == 0
    assert page.get_by_role("button", name="What would each k cost?").is_enabled()


def open_spec(page: Any, path: Path) -> None:
    if not page.get_by_text("A spec is a file").is_visible():
        page.get_by_text("Go on with choices").click()
    page.get_by_label("open a spec").locator("input").set_input_files(str(path))


@needs_browser
def test_a_saved_spec_is_opened_and_everything_shows_it(
    page: Any, tmp_path: Path
) -> None:
    (tmp_path / "trees").mkdir()
    tree = tree_of(tmp_path / "trees")
    file = tmp_path / "spec (1).toml"
    file.write_text(SPEC)
    open_spec(page, file)
    page.get_by_text("names files that are not here yet").wait_for()
    other = tmp_path / "other.csv"
    other.write_text("a;*")
    page.get_by_label("Choose education.csv").locator("input").set_input_files(
        str(other)
    )
    page.get_by_role("alert").get_by_text("does not name other.csv").wait_for()
    page.get_by_label("Choose education.csv").locator("input").set_input_files(
        str(tree)
    )
    page.get_by_text("spec (1).toml is opened").wait_for()

    assert page.get_by_role("alert").count() == 0
    assert k_of(page) == "8"
    roles = {
        name: page.get_by_label(f"role of {name}", exact=True).input_value()
        for name in ("education", "income", "remarks", "race")
    }
    assert list(roles.values()) == [
        *("others may know it", "sensitive", "remove it", "keep as it is"),
    ]
    assert page.get_by_label("t: how far, 0 to 1").input_value() == "0.35"
    page.get_by_text("these 3 columns").wait_for()
    page.get_by_text("changed: how long to search, what numbers become").wait_for()
    page.get_by_text("shuffle, best.beta, thresholds").wait_for()
    page.get_by_text("More choices").click()
    assert page.get_by_label("Rows that may be left out").input_value() == "4"
    assert page.get_by_label("Texts that mean missing").input_value() == "?"
    make_release(page, 1)
    saved = tmp_path / "trees" / "saved.toml"
    save(page, "Spec", tmp_path).rename(saved)
    assert load_spec(saved).to_json() == load_spec(file).to_json()

    page.get_by_role("button", name="Leave them out").click()
    page.get_by_text("Also in the spec").wait_for(state="hidden")
    assert "shuffle" not in spec_shown(page)


@needs_browser
def test_wrong_specs_are_told_and_the_choices_stay(page: Any, tmp_path: Path) -> None:
    page.get_by_label("k: rows that look alike, at least").fill("9")
    alert = page.get_by_role("alert")
    for text, told in (
        (f'k = "{CANARY}', "spec wrong.toml: "),
        (
            "quasi_identifiers = ['age']\nk = 5\nkk = 6",
            "spec wrong.toml, line 3: unknown",
        ),
        ("quasi_identifiers = ['age', 'town']\nk = 5", "does not have: 'town'"),
        ("quasi_identifiers = ['age']\n[[models]]\nname = 'x.py:Y'", "runs no code"),
    ):
        (tmp_path / "wrong.toml").write_text(text)
        open_spec(page, tmp_path / "wrong.toml")
        alert.get_by_text(told).wait_for()
        assert CANARY not in alert.inner_text()
    assert k_of(page) == "9"
    assert page.evaluate(NAMELESS) == []


@needs_browser
def test_who_sees_it_first_is_told_what_to_do(
    server: Server, context: Any, tmp_path: Path
) -> None:
    rows = "".join(f"{20 + i % 30},{'mf'[i % 2]},x{i}\n" for i in range(60))
    odd = tmp_path / "my people (2).csv"
    odd.write_text(f"Age (years),sex / gender,e-mail\n{rows}")
    page = context.new_page()
    page.goto(server.address)
    page.get_by_text("names in its first line").wait_for()
    assert page.get_by_text("Go on with choices").is_hidden()
    page.wait_for_load_state("networkidle")  # fonts that come late move the bar
    with page.expect_file_chooser() as chooser:  # not only by the sign at its end
        page.get_by_text("Choose or drop a file").click(force=True)
    chooser.value.set_files(str(odd))
    page.get_by_text("my people (2).csv: 60 rows, 3 columns").wait_for()

    field = page.get_by_label("k: rows that look alike, at least")
    for typed, told in (("1", "nothing is protected"), ("61", "the table has 60 rows")):
        field.fill(typed)
        page.locator(".q-field__messages").get_by_text(told).wait_for()
    field.fill("4")
    page.get_by_text("More choices").click()
    left_out = page.get_by_label("Rows that may be left out")
    left_out.fill("a few")
    page.get_by_text("a share of the rows, such as 1%").wait_for()
    left_out.fill("5%")
    page.get_by_text("a share of the rows, such as 1%").wait_for(state="hidden")
    page.get_by_text("changed: rows that may be left out").wait_for()
    choose(page, "How cuts are chosen", "original: the classic Mondrian")
    page.get_by_role("alert").get_by_text("suppresses nothing").wait_for()
    left_out.fill("")
    page.get_by_role("alert").wait_for(state="hidden")
    page.get_by_text("changed: how cuts are chosen").wait_for()
    make_release(page, 1)


@pytest.fixture
def begun(people: Path, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A studio that begins with a spec, and the folder of the spec."""
    folder = tmp_path / "mine"
    (folder / "trees").mkdir(parents=True)
    tree_of(folder / "trees")
    (folder / "spec.toml").write_text(SPEC)
    log = tmp_path / "log.txt"
    asked = ["studio", str(people), "--spec", str(folder / "spec.toml"), "--no-browser"]
    with log.open("wb") as file:
        process = subprocess.Popen(  # noqa: S603
            [*COMMAND, *asked], stderr=file, env=environment(TMPDIR=str(tmp_path))
        )
    try:
        yield printed_address(process, log), folder
    finally:
        process.terminate()
        process.wait(20)


@needs_browser
def test_the_command_line_begins_with_a_spec_and_reads_nothing_later(
    begun: tuple[str, Path], browser: Any
) -> None:
    address, folder = begun
    page = browser.new_page()
    page.set_default_timeout(30_000)
    page.goto(address)
    page.get_by_text("spec.toml is opened").wait_for()
    (folder / "trees" / "education.csv").unlink()

    assert k_of(page) == "8"
    make_release(page, 1)
    assert page.get_by_role("alert").count() == 0
    page.close()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("quasi_identifiers = ['age', 'town']\nk = 5", "does not have: 'town'"),
        ("quasi_identifiers = ['age']\nk = 1", "line 2: k-anonymity needs k >= 2"),
        (SPEC, "education.csv"),
    ],
)
def test_a_wrong_spec_ends_the_command_before_anything_is_served(
    people: Path, tmp_path: Path, text: str, told: str
) -> None:
    (tmp_path / "spec.toml").write_text(text)
    asked = ["studio", str(people), "--spec", str(tmp_path / "spec.toml")]

    done = subprocess.run(  # noqa: S603
        [*COMMAND, *asked, "--no-browser"], capture_output=True, text=True, check=False
    )

    assert done.returncode in (2, 3)
    assert told in done.stderr
    assert "http://" not in done.stderr


def test_a_spec_without_a_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(SPEC)

    done = subprocess.run(  # noqa: S603
        [*COMMAND, "studio", "--spec", str(tmp_path / "spec.toml"), "--no-browser"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert "--spec goes with a table" in done.stderr
