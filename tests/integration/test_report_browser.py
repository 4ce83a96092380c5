"""A real browser shows the report: no error, no request, wide, narrow and on paper."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from core_mondrian import KAnonymity, Spec, anonymize
from core_mondrian.datasets import census

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome", "chrome")
     if (found := shutil.which(name))),
    None,
)  # fmt: skip
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"),
    *("--no-first-run", "--disable-background-networking", "--disable-sync"),
    *("--disable-component-update", "--enable-logging=stderr", "--hide-scrollbars"),
)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    spec = Spec(("age", "sex", "education", "race"), (KAnonymity(5),))
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

    Its maker's own host is left out, which it calls whatever the page is; the page
    does not name it.
    """
    log = (folder / "net.json").read_text(encoding="utf-8")
    urls = set(re.findall(r'"url":"(https?:[^"]*)"', log))
    return {url for url in urls if not re.match(r"https?://\w+\.google\.com/", url)}


def png_size(file: Path) -> tuple[int, int]:
    head = file.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    return int.from_bytes(head[16:20]), int.from_bytes(head[20:24])


def test_it_loads_without_an_error_or_a_request(page: Path, tmp_path: Path) -> None:
    done = browse(page, tmp_path, "--dump-dom")

    assert "5-anonymity</span> verified" in done.stdout
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
