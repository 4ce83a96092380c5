"""The studio for everybody: axe, the keyboard alone, a telephone, dark and light."""

from pathlib import Path
from typing import Any

import pytest
from studio_pages import (
    CANARY,
    RELEASE,
    Server,
    make_release,
    needs_browser,
    needs_server,
    open_page,
    seen_soon,
    upload,
)

pytestmark = [needs_server, needs_browser]

# What a browser forgives in HTML: two of one name, names of nothing, links to nowhere.
WRONG_HTML = """() => {
  const all = [...document.querySelectorAll('[id]')].map(one => one.id);
  const twice = all.filter((id, i) => all.indexOf(id) !== i);
  const named = [...document.querySelectorAll('[aria-labelledby],[aria-describedby]')];
  const nothing = named.flatMap(one =>
    [one.getAttribute('aria-labelledby'), one.getAttribute('aria-describedby')]
      .filter(Boolean).flatMap(ids => ids.split(' ')))
    .filter(id => !document.getElementById(id));
  const lost = [...document.querySelectorAll('a[href^="#"]')]
    .map(one => one.getAttribute('href').slice(1))
    .filter(name => !document.getElementsByName(name).length);
  const nested = [...document.querySelectorAll('a a, a button, button button')]
    .map(one => one.outerHTML.slice(0, 120));
  return [...twice, ...nothing, ...lost, ...nested];
}"""


def complaints(page: Any) -> list[str]:
    """Return what axe finds on the page as it is now."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = axe.Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {node['html'][:160]}" for one in found for node in one["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 420])
def test_axe_and_html_have_nothing_to_say(
    server: Server, context: Any, people: Path, width: int, scheme: Any
) -> None:
    page = context.new_page()
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(server.address)
    page.get_by_text("Choose or drop a file").wait_for()
    assert complaints(page) == []
    upload(page, people)
    page.get_by_text("are unique in the table").wait_for()
    make_release(page, 1)
    page.get_by_role("button", name="What would each k cost?").click()
    page.get_by_role("button", name="k = 10", exact=True).click()
    make_release(page, 2)
    page.get_by_text("With k = 10, 400 of your 400 rows are released").wait_for()

    assert complaints(page) == []
    assert page.evaluate(WRONG_HTML) == []
    for tab, seen in (
        ("Before and after", "age (released)"),
        ("Sizes of groups", "share of the released rows"),
        ("How it was made", "The first cuts, named"),
        ("Spec", "this makes the same release"),
    ):
        open_tab(page, tab, page.get_by_text(seen))
        assert complaints(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def open_tab(page: Any, name: str, done: Any) -> None:
    """Open a tab until ``done`` is seen: the page may be just made anew."""
    for _ in range(10):
        page.get_by_role("tab", name=name).click()
        if seen_soon(done):
            return
    raise AssertionError(f"never opened: {name}")


def test_the_data_are_shown_at_once(server: Server, context: Any, people: Path) -> None:
    page = open_page(context, server, people)
    table = page.get_by_role("region", name="First rows")
    heads = table.locator("thead th").all_inner_texts()

    assert len(heads) == 12
    age = next(head for head in heads if head.startswith("age"))
    assert age.split("\n")[1:3] == ["whole number", "nothing missing"]
    assert table.locator("thead th").nth(1).locator(".studio-bars i").count() == 14
    (sex,) = (head for head in heads if head.startswith("sex"))
    assert "Male" in sex
    assert table.locator("tbody tr").count() == 8
    assert table.get_by_text(f"{CANARY} 7").count() == 1


def test_the_verdict_and_one_download_stand_beside_the_controls(
    server: Server, context: Any, people: Path
) -> None:
    page = open_page(context, server, people)
    page.set_viewport_size({"width": 1400, "height": 900})
    make_release(page, 1)
    roles = page.get_by_label("role of age", exact=True).bounding_box()
    verdict = page.get_by_text("Run 1: verified").bounding_box()
    button = page.get_by_role("link", name=RELEASE).bounding_box()

    assert roles["x"] + roles["width"] < verdict["x"]
    assert button["y"] + button["height"] < 900, "without scrolling"
    page.get_by_text("Every row shares its released values with").wait_for()
    changed = page.get_by_text("Your choices have changed since")
    assert changed.is_hidden()
    page.get_by_label("k: rows that look alike, at least").fill("8")
    changed.wait_for()
    page.get_by_label("k: rows that look alike, at least").fill("5")
    changed.wait_for(state="hidden")


def test_the_keyboard_alone_gets_to_a_release(
    server: Server, context: Any, people: Path
) -> None:
    page = context.new_page()
    page.goto(server.address)
    page.get_by_text("Choose or drop a file").wait_for()
    chooser = opened_by_keys(page, "choose or drop a file")
    chooser.set_files(str(people))
    page.get_by_text("are unique in the table").wait_for()

    page.keyboard.press("Control+Enter")

    page.get_by_text("Run 1: verified").wait_for()
    reach(page, RELEASE)
    with page.expect_download() as found:
        page.keyboard.press("Enter")
    assert found.value.suggested_filename == "people.release.csv"


def opened_by_keys(page: Any, name: str) -> Any:
    """Return the file chooser: a button that is drawn anew loses the focus."""
    from playwright.sync_api import TimeoutError as Late

    for _ in range(10):
        reach(page, name)
        try:
            with page.expect_file_chooser(timeout=3000) as chooser:
                page.keyboard.press("Enter")
        except Late:
            continue
        return chooser.value
    raise AssertionError("nothing was opened")


def reach(page: Any, name: str) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(120):
        page.keyboard.press("Tab")
        label = page.evaluate(
            "(document.activeElement.closest('[aria-label]') || "
            "document.activeElement)?.getAttribute('aria-label') || "
            "document.activeElement.innerText"
        )
        if (label or "").strip() == name:
            return
    raise AssertionError(f"never reached: {name}")


def test_dark_or_light_is_remembered(
    server: Server, context: Any, people: Path
) -> None:
    page = open_page(context, server, people)
    is_dark = "document.body.classList.contains('body--dark')"
    assert not page.evaluate(is_dark)
    page.get_by_label("dark or light").click()
    page.wait_for_function(is_dark)

    page.reload()
    page.get_by_text("are unique in the table").wait_for()
    page.wait_for_function(is_dark)
    other = context.new_page()
    other.goto(server.address)
    other.wait_for_function(is_dark)
    other.get_by_label("dark or light").click()
    other.wait_for_function(f"!{is_dark}")
    page.reload()
    page.wait_for_function(f"!{is_dark}")
    (cookie,) = (one for one in context.cookies() if one["name"] == "studio_dark")
    assert (cookie["value"], cookie["path"]) == ("false", "/")
