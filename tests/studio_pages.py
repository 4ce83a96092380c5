"""The studio's pages in tests: a server, a browser, and what a user does on them.

The pages are driven in the machine's chromium; without it, or without NiceGUI or
Playwright, tests say so and are skipped.
"""

import http.client
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from core_mondrian.datasets import census
from core_mondrian.tables.files.write import write_table

CANARY = "CANARY-51f0"
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
)
COMMAND = [sys.executable, "-m", "core_mondrian.cli.main"]
CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome", "chrome")
     if (found := shutil.which(name))),
    None,
)  # fmt: skip
RELEASE = "Download the release"

needs_server = pytest.mark.skipif(
    importlib.util.find_spec("nicegui") is None,
    reason="NiceGUI is not installed: pip install 'core-mondrian[studio]'",
)
needs_browser = pytest.mark.skipif(
    CHROMIUM is None or importlib.util.find_spec("playwright") is None,
    reason="no chromium on this machine, or no Playwright",
)


@dataclass
class Server:
    first: str
    """The first address that was printed."""
    log: Path
    folder: Path
    """Where it keeps its temporary files."""

    @property
    def port(self) -> int:
        return int(self.first.split(":")[2].partition("/")[0])

    @property
    def address(self) -> str:
        """The newest that was printed: each opens once."""
        return addresses_in(self.log)[-1]

    @cached_property
    def entry(self) -> tuple[str, str]:
        """The path that an address leads to, and the cookie it is exchanged for."""
        path = self.address.removeprefix(f"http://127.0.0.1:{self.port}")
        status, _, headers = self.ask(path)
        assert status == 303
        return headers["location"], headers["set-cookie"].partition(";")[0]

    @property
    def base_path(self) -> str:
        return self.entry[0].rstrip("/")

    @property
    def cookie(self) -> str:
        return self.entry[1]

    def ask(
        self, path: str, *, method: str = "GET", **headers: str
    ) -> tuple[int, str, dict[str, str]]:
        """Send a request and return status, text and headers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.putrequest(method, path, skip_host="host" in headers)
            for name, value in headers.items():
                connection.putheader(name.replace("_", "-"), value)
            connection.endheaders()
            answer = connection.getresponse()
            text = answer.read().decode("utf-8", "replace")
            return answer.status, text, {k.lower(): v for k, v in answer.getheaders()}
        finally:
            connection.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    log = folder / "log.txt"
    spool = folder / "spool"
    spool.mkdir()
    with log.open("wb") as file:
        process = subprocess.Popen(  # noqa: S603
            [*COMMAND, "studio", "--no-browser", "--max-upload", "20"],
            stdout=file,
            stderr=file,
            cwd=folder,
            env=environment(TMPDIR=str(spool)),
        )
    try:
        yield Server(printed_address(process, log), log, spool)
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    assert list(spool.iterdir()) == [], "uploads are removed at the end"
    assert {path.name for path in folder.iterdir()} == {"log.txt", "spool"}
    assert CANARY not in log.read_text()


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, **more}


def addresses_in(log: Path) -> list[str]:
    return re.findall(r"http://127\.0\.0\.1:\d+/\?code=\S+", log.read_text())


def printed_address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    for _ in range(3000):  # the machine may do much else
        if found := addresses_in(log):
            return found[0]
        assert process.poll() is None, log.read_text()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.1)
    raise AssertionError("the studio did not start")


@dataclass
class Seen:
    """What a browser was asked to load, and what it complained about."""

    urls: list[str]
    complaints: list[str]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
        yield found
        found.close()


@pytest.fixture
def context(browser: Any, server: Server) -> Iterator[Any]:
    """A fresh browser profile; afterwards nothing may have left the machine."""
    found = browser.new_context(viewport={"width": 1280, "height": 900})
    found.set_default_timeout(120_000)
    seen = Seen([], [])
    complain = seen.complaints.append
    found.on("request", lambda request: seen.urls.append(request.url))
    found.on(
        "console",
        lambda line: (
            seen.complaints.append(line.text) if line.type == "error" else None
        ),
    )
    found.on("weberror", lambda error: complain(str(error.error)))
    yield found
    found.close()
    own = (f"http://127.0.0.1:{server.port}/", "data:", "blob:")
    assert [url for url in seen.urls if not url.startswith(own)] == []
    assert [url for url in seen.urls if CANARY in url] == []
    assert seen.complaints == []


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small table; a cell of each column that passes through is a canary."""
    table = census(400).drop_columns(["zip_code", "capital_gain"])
    notes = pa.array([f"{CANARY} {i}" for i in range(table.num_rows)])
    path = tmp_path_factory.mktemp("people") / "people.csv"
    write_table(table.append_column("remarks", notes), path)
    return path


def upload(page: Any, path: Path) -> None:
    page.locator("input[type=file]").first.set_input_files(str(path))


def open_page(context: Any, server: Server, table: Path) -> Any:
    """Return a new page with a table whose risk is counted."""
    page = context.new_page()
    page.goto(server.address)
    upload(page, table)
    page.get_by_text("are unique in the table").wait_for()
    return page


def set_role(page: Any, column: str, role: str) -> None:
    choose(page, f"role of {column}", role, exact=True)


def make_release(page: Any, number: int) -> None:
    """Press the button until the run is seen: the page may be just made anew."""
    from playwright.sync_api import TimeoutError as Late

    button = page.get_by_role("button", name="Make the release")
    end = page.get_by_text(f"Run {number}: verified")
    button.wait_for()
    for _ in range(3):
        if button.is_visible():  # not while a run goes on
            # By key: what stands above may still move, and a click would miss it.
            button.press("Enter")
        try:
            end.wait_for(timeout=45_000)
        except Late:
            continue
        return
    raise AssertionError(f"run {number} did not end")


def save(page: Any, title: str, folder: Path) -> Path:
    with page.expect_download() as found:
        page.get_by_role("link", name=title, exact=True).press("Enter")
    path = folder / found.value.suggested_filename
    found.value.save_as(path)
    return path


def make_key(page: Any, folder: Path) -> Path:
    with page.expect_download() as found:
        page.get_by_role("button", name="Make a key and save it").click()
    path = folder / found.value.suggested_filename
    found.value.save_as(path)
    return path


def take_and_repeat(
    page: Any, people: Path, folder: Path, *options: str
) -> tuple[dict[str, Path], Path]:
    """Take a run's files away, and return them and what the command line makes."""
    titles = {RELEASE: "csv", "Spec": "toml", "Manifest": "json"}
    files = {kind: save(page, title, folder) for title, kind in titles.items()}
    again = folder / "again.csv"
    asked = ("anonymize", str(people), str(again), "--spec", str(files["toml"]))
    if "--key-file" not in options:  # with the key that the studio drew
        options = (*options, "--key-file", str(save(page, "Owner's record", folder)))
    command = [*COMMAND, *asked, *options]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603
    manifests = [folder / "again.csv.manifest.json", files["json"]]
    told = [json.loads(file.read_text(encoding="utf-8")) for file in manifests]
    for one in told:
        one.pop("allocation")  # random, and given again
    assert told[0] == told[1]
    return files, again


def choose(page: Any, label: str, text: str, *, exact: bool = False) -> None:
    """Choose one of a list; it closes if the page is just being changed below it."""
    option = page.get_by_role("option", name=text, exact=exact)
    for _ in range(10):
        page.get_by_label(label, exact=True).click()
        if seen_soon(option):
            break
        page.keyboard.press("Escape")
    option.click()
    option.wait_for(state="hidden")


def fill_until(field: Any, text: str, done: Any) -> None:
    """Type into a field until ``done`` is seen: the field may be just made anew."""
    for _ in range(10):
        field.fill(text)
        if seen_soon(done):
            return
    raise AssertionError("what was typed did not arrive")


def drag(page: Any, what: Any, where: Any, done: Any) -> None:
    """Drag an element until ``done`` is seen: the page may not be ready at once."""
    for _ in range(20):
        what.hover()
        page.mouse.down()
        end = where.bounding_box()
        page.mouse.move(end["x"] + 40, end["y"] + 30, steps=10)
        page.mouse.move(end["x"] + 44, end["y"] + 25, steps=3)
        page.mouse.up()
        if not what.page.get_by_role("menu").count() and seen_soon(done):
            return
        page.keyboard.press("Escape")
    raise AssertionError("nothing was dragged")


def seen_soon(element: Any) -> bool:
    from playwright.sync_api import TimeoutError as Late

    try:
        element.wait_for(timeout=1500)
    except Late:
        return False
    return True


NAMELESS = """() => [...document.querySelectorAll('input, button, [role=combobox]')]
  .filter(one => one.type !== 'file' && one.offsetParent !== null)
  .filter(one => !(one.getAttribute('aria-label') || one.innerText.trim()
    || one.closest('label')?.innerText.trim() || one.closest('[aria-label]')))
  .map(one => one.outerHTML.slice(0, 200))"""
