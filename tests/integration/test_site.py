"""The docs site: built strictly, asking no other host, complete."""

import html
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from studio_pages import CHROMIUM, FLAGS, needs_browser
from typer.main import get_command

import core_mondrian
from core_mondrian.cli.main import app

pytest.importorskip("mkdocs")
pytestmark = pytest.mark.long
ROOT = Path(__file__).parents[2]
NO_NETWORK = """
import socket

def refuse(self, address):
    raise SystemExit(f"the build asks {address}")

socket.socket.connect = socket.socket.connect_ex = refuse
"""
LOADED = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*?\b(?:src|data)="
    r"[\"']?([^\"'\s>]+)|<link\b[^>]*?\bhref=[\"']?([^\"'\s>]+)",
)
OTHER_HOST = re.compile(r"(?:[a-z]+:)?//")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    (folder / "sitecustomize.py").write_text(NO_NETWORK, encoding="utf-8")
    target = folder / "pages"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", target],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(folder), "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return target


def page_text(page: Path) -> str:
    """Return what a page shows, without its tags."""
    return html.unescape(re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8")))


def test_every_page_of_the_docs_is_in_the_site(site: Path) -> None:
    docs = ROOT / "docs"
    pages = [page.relative_to(docs) for page in docs.rglob("*.md")]

    names = {"README.md": "index.html"}
    absent = [
        page
        for page in pages
        if not (site / page.parent / names.get(page.name, f"{page.stem}.html")).exists()
    ]

    assert pages
    assert absent == []


def test_no_page_loads_anything_from_another_host(site: Path) -> None:
    loaded = {
        (page.name, address)
        for page in site.rglob("*.html")
        for addresses in LOADED.findall(page.read_text(encoding="utf-8"))
        for address in addresses
        if OTHER_HOST.match(address)
    }
    styles = [file.read_text(encoding="utf-8") for file in site.rglob("*.css")]

    assert loaded == set()
    assert styles
    assert [
        text for text in styles if re.search(r"url\([\"']?(?:https?:)?//", text)
    ] == []


def test_every_command_with_every_option_is_in_the_reference(site: Path) -> None:
    page = page_text(site / "reference" / "command-line.html")

    absent = [
        f"{path} {option}"
        for path, command in commands(get_command(app))
        for parameter in command.params
        for option in parameter.opts
        if option.startswith("--") and option != "--help" and option not in page
    ]

    assert absent == []


def commands(group: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    context = group.make_context("core-mondrian", [], resilient_parsing=True)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if hasattr(command, "list_commands"):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    page = (site / "reference" / "api.html").read_text(encoding="utf-8")

    absent = [
        name
        for name in core_mondrian.__all__
        if not re.search(rf'id="[\w.]+\.{name}"', page)
    ]

    assert absent == []


def test_a_source_file_that_a_page_links_to_is_in_the_site(site: Path) -> None:
    page = site / "source" / "src" / "core_mondrian" / "engine" / "budget.py.html"
    paper = (site / "paper.html").read_text(encoding="utf-8")

    assert 'href="source/src/core_mondrian/engine/budget.py.html"' in paper
    assert "def " in page_text(page)


@needs_browser
def test_a_reader_finds_a_page_and_no_other_host_is_asked(site: Path) -> None:
    from playwright.sync_api import sync_playwright

    handler = partial(QuietHandler, directory=str(site))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    asked: list[str] = []
    errors: list[str] = []
    home = f"http://127.0.0.1:{server.server_port}/"
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=CHROMIUM, args=FLAGS.split()
            )
            page = browser.new_page()
            page.on("request", lambda request: asked.append(request.url))
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.goto(f"{home}index.html")
            page.fill("input.md-search__input", "l-diversity")
            page.wait_for_selector(".md-search-result__link", timeout=20_000)
            browser.close()
    finally:
        server.shutdown()
        server.server_close()

    assert asked
    assert [url for url in asked if not url.startswith((home, "blob:", "data:"))] == []
    assert errors == []


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_arguments: object) -> None:
        """Print nothing."""
