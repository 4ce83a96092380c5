"""The studio with a large table: how long the page takes to answer while it works.

    python -m benchmarks.studio [--rows N] [--check]    one JSON line; exit 1 if slow
    python -m benchmarks.studio --picture FILE.png      the page of docs/studio.md

A census is written to a file and opened in the machine's chromium. While the table is
read, its risk counted and a release made, k is typed again and again, and the time is
taken until the spec on the page shows it: there and back through the server. Then the
table is turned page by page beside its release. Wall time in milliseconds, on a machine
that does nothing else.
"""

import argparse
import math
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.lines import emit, facts, say
from core_mondrian.datasets import census
from core_mondrian.tables.files.write import write_table

BAR = 300.0
"""Milliseconds: what the issue allows an interaction."""
_FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update"),
    "--disable-sync",
)
_TYPE_K = """async (k) => {
  const input = document.querySelector('input[aria-label^="k: rows"]');
  const put = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
  const since = performance.now();
  put.call(input, String(k));
  input.dispatchEvent(new Event('input', {bubbles: true}));
  while (!document.body.innerText.includes('k = ' + k + '\\n')) {
    if (performance.now() - since > 30000) throw new Error('no answer');
    await new Promise(resolve => setTimeout(resolve, 5));
  }
  return performance.now() - since;
}"""
_TURN = """async () => {
  const shown = () => document.body.innerText.match(/rows [0-9,]+ to [0-9,]+ of/)?.[0];
  const before = shown(), since = performance.now();
  document.querySelector('[aria-label="next page"]').click();
  while (shown() === before) {
    if (performance.now() - since > 30000) throw new Error('no answer');
    await new Promise(resolve => setTimeout(resolve, 5));
  }
  return performance.now() - since;
}"""
_COMMAND = (sys.executable, "-m", "core_mondrian.cli.main", "studio")
_MOST = 2000
"""Interactions after which something is never seen."""
_PAUSE = 150
"""Milliseconds between two interactions."""


class Typist:
    """Types ever new values of k, and notes how long each takes to be seen."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.k = 10

    def type_until(self, seen: str, least: int = 5) -> list[float]:
        """Return the time of each interaction up to the moment a text is seen."""
        taken: list[float] = []
        while len(taken) < least or not self.page.get_by_text(seen).count():
            if len(taken) > _MOST:
                raise SystemExit(f"never seen: {seen}")
            self.k = 10 + (self.k - 9) % 80
            taken.append(float(self.page.evaluate(_TYPE_K, self.k)))
            self.page.wait_for_timeout(_PAUSE)
        return taken


@contextmanager
def opened(address: str, height: int = 900) -> Iterator[Any]:
    """Open the studio's page in chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=list(_FLAGS)
        )
        page = browser.new_page(viewport={"width": 1180, "height": height})
        page.set_default_timeout(300_000)
        page.goto(address)
        yield page
        browser.close()


def take_picture(address: str, file: Path) -> None:
    """Save what the page looks like with a run beside the curve."""
    with opened(address, 1000) as page:
        page.set_viewport_size({"width": 1400, "height": 1000})
        page.get_by_text("are unique in the table").wait_for()
        page.get_by_role("button", name="What would each k cost?").click()
        page.get_by_role("button", name="k = 10", exact=True).click()
        page.get_by_role("button", name="Make the release").click()
        page.get_by_text("Run 1: verified").wait_for()
        page.get_by_text("How much protection?").evaluate(
            "one => scrollTo(0, one.getBoundingClientRect().top + scrollY - 90)"
        )
        page.mouse.move(0, 0)
        page.wait_for_timeout(1000)
        file.write_bytes(page.screenshot())


def measure(address: str) -> dict[str, list[float]]:
    """Return the times of interactions, by what goes on in the background."""
    with opened(address) as page:
        page.get_by_text("are unique in the table").wait_for()
        page.get_by_text("The spec: your choices").click()
        typist = Typist(page)
        found = {"counting": typist.type_until("unique in the table", 15)}
        page.get_by_role("button", name="Make the release").click()
        found["releasing"] = typist.type_until("Run 1: verified")
        found["released"] = typist.type_until("Run 1: verified", 15)
        page.get_by_role("tab", name="Before and after").click()
        page.get_by_text("rows 1 to 20 of").wait_for()
        found["turning pages"] = [float(page.evaluate(_TURN)) for _ in range(15)]
        page.get_by_role("button", name="What would each k cost?").click()
        found["drawing the curve"] = typist.type_until("is right, at worst", 5)
    return found


def spread(times: list[float]) -> dict[str, int]:
    """Return how many there are, and percentiles in whole milliseconds."""
    ranked = sorted(times)
    at = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
    places = {name: math.ceil(share * len(ranked)) - 1 for name, share in at.items()}
    return {"n": len(times)} | {name: round(ranked[i]) for name, i in places.items()}


@contextmanager
def served(rows: int) -> Iterator[str]:
    """Start the studio with a census, yield its address, and end it."""
    with tempfile.TemporaryDirectory() as folder:
        table, log = Path(folder) / "census.parquet", Path(folder) / "log"
        write_table(census(rows), table)
        with log.open("wb") as file:
            process = subprocess.Popen(
                [*_COMMAND, str(table), "--no-browser"],
                stderr=file,
            )
        try:
            while not (address := re.search(r"http://\S+", log.read_text())):
                if process.poll() is not None:
                    raise SystemExit(log.read_text())
            yield address[0]
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--picture", type=Path)
    asked = parser.parse_args()
    with served(asked.rows) as address:
        if asked.picture is not None:
            take_picture(address, asked.picture)
            return
        found = measure(address)
    told = {name: spread(times) for name, times in found.items()}
    emit({"benchmark": "studio", **facts(), "rows": asked.rows, **told})
    late = [time for times in found.values() for time in times if time >= BAR]
    if late:
        say(f"{len(late)} interactions took {BAR:g} ms or longer")
    if asked.check and late:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
