"""A real browser shows the report: no error, no request, wide, narrow and on paper."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from studio_pages import CHROMIUM

from core_mondrian import BestPolicy, KAnonymity, Spec, anonymize
from core_mondrian.datasets import census

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"),
    *("--no-first-run", "--disable-background-networking", "--disable-sync"),
    *("--disable-component-update", "--enable-logging=stderr", "--hide-scrollbars"),
)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # A longer search would take so small a table as one block: a tree of one level.
    policy = BestPolicy(effort="fast")
    spec = Spec(("age", "sex", "education", "race"), (KAnonymity(5),), policy=policy)
    file = tmp_path_factory.mktemp("report") / "report.html"
    anonymize(census(1_000), spec, by=["race"]).report(file)
    return file


def browse(page: Path, folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """Open the page in a browser of its own."""
    done = subprocess.run(  # noqa: S603
        [
            *(str(CHROMIUM), *FLAGS, f"--user-data-dir={folder / 'profile'}"),
            *(f"--log-net-log={folder / 'net.json'}", *flags, page.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def requests(folder: Path) -> set[str]:
    """What the page asked of the network, by the browser's log.

    Its maker's own hosts are left out, which it calls whatever the page is; the page
    does not name them.
    """
    log = (folder / "net.json").read_text(encoding="utf-8")
    urls = set(re.findall(r'"url":"(https?:[^"]*)"', log))
    own = re.compile(r"https?://\w+\.google(apis)?\.com/")
    return {url for url in urls if not own.match(url)}


def png_size(file: Path) -> tuple[int, int]:
    head = file.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    return int.from_bytes(head[16:20]), int.from_bytes(head[20:24])


def test_it_loads_without_an_error_or_a_request(page: Path, tmp_path: Path) -> None:
    done = browse(page, tmp_path, "--dump-dom")

    assert "at least 4 others." in done.stdout
    assert done.stdout.count("<svg") == page.read_text("utf-8").count("<svg")
    assert "CONSOLE" not in done.stderr
    assert "google" not in done.stdout
    assert requests(tmp_path) == set()


@pytest.mark.parametrize("keeps_policy", [True, False])
def test_its_policy_forbids_requests(
    page: Path, tmp_path: Path, keeps_policy: Any
) -> None:
    pixel = "http://127.0.0.1:9/pixel.png"
    text = page.read_text("utf-8").replace("<main>", f'<main><img src="{pixel}">')
    if not keeps_policy:
        text = text.replace("Content-Security-Policy", "no-policy")
    file = tmp_path / "changed.html"
    file.write_text(text, encoding="utf-8")

    done = browse(file, tmp_path, "--dump-dom")

    assert ("Content Security Policy" in done.stderr) == keeps_policy
    assert requests(tmp_path) == (set() if keeps_policy else {pixel})


@pytest.mark.parametrize("width", [1280, 500])
def test_screenshots(page: Path, tmp_path: Path, width: int) -> None:
    file = tmp_path / "shot.png"

    browse(page, tmp_path, f"--screenshot={file}", f"--window-size={width},2000")

    assert png_size(file) == (width, 2000)
    assert file.stat().st_size > 20_000  # a blank page is a few hundred bytes


def test_it_prints(page: Path, tmp_path: Path) -> None:
    file = tmp_path / "report.pdf"

    browse(page, tmp_path, f"--print-to-pdf={file}", "--no-pdf-header-footer")

    content = file.read_bytes()
    assert content.startswith(b"%PDF")
    pages = [int(n) for n in re.findall(rb"/Type\s*/Pages[^>]*?/Count (\d+)", content)]
    assert not pages or 3 <= max(pages) <= 20


MEASURE = """() => {
  const seen = element => element.checkVisibility();
  const all = selector => [...document.querySelectorAll(selector)].filter(seen);
  return {
    room: innerWidth,
    wide: document.documentElement.scrollWidth,
    outside: all('main *, header *').filter(element => !element.closest('.wide, .painting, pre')
      && element.getBoundingClientRect().right > innerWidth + 1).length,
    paper: getComputedStyle(document.body).backgroundColor,
    letters: Math.min(...all('figure svg').map(svg =>
      13 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)),
    closed: all('details:not([open])').filter(element => !element.closest('.tree')).length,
    inside: all('.tree details details').length,
    figures: all('figure').length,
  }
}"""  # noqa: E501  # JavaScript


@pytest.fixture(scope="module")
def measured(page: Path) -> dict[tuple[str, str, int], dict[str, Any]]:
    """What the page looks like on screens and on paper, in light and in dark."""
    sync_api = pytest.importorskip("playwright.sync_api")
    found = {}
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=list(FLAGS[1:])
        )
        tab = browser.new_page()
        tab.goto(page.as_uri())
        # Paper of 210 mm has 178 mm between its margins.
        for media, width in (("screen", 1280), ("screen", 400), ("print", 673)):
            for scheme in ("light", "dark"):
                tab.set_viewport_size({"width": width, "height": 900})
                tab.emulate_media(media=media, color_scheme=scheme)
                found[media, scheme, width] = tab.evaluate(MEASURE)
        browser.close()
    return found


def test_nothing_runs_off_the_side_and_letters_are_legible(measured: Any) -> None:
    for seen in measured.values():
        # Four columns, the crowds, the sizes, the funnel and the painting.
        assert seen["figures"] == 8
        assert seen["wide"] <= seen["room"]
        assert seen["outside"] == 0
        assert seen["letters"] >= 10  # pixels


def test_paper_is_white_and_has_nothing_to_click(measured: Any) -> None:
    light, dark = (measured["screen", scheme, 1280] for scheme in ("light", "dark"))
    assert light["paper"] == "rgb(255, 255, 255)" != dark["paper"]
    assert light["closed"] > 0
    assert light["inside"] == 2  # of the tree, the branches below the first
    for scheme in ("light", "dark"):
        paper = measured["print", scheme, 673]
        assert paper["paper"] == "rgb(255, 255, 255)"
        assert paper["closed"] == 0
        assert paper["inside"] > 2
