"""The examples in README and docs run, and print what the pages say they print.

A fenced block may say after its language: ``runnable`` (run it), ``file=NAME`` (write
it to a file for the blocks below) or ``output`` (what the runnable block above prints).
All blocks of a page share one folder. With CORE_MONDRIAN_UPDATE_DOCS=1 the outputs in
the pages are replaced by what was printed.
"""

import dataclasses
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import core_mondrian
from core_mondrian import errors
from core_mondrian.spec.keys import KEYS
from core_mondrian.spec.policies import BestPolicy, OriginalPolicy, PaperPolicy
from core_mondrian.spec.thresholds import Thresholds

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
LONG = {
    *("attacks", "best", "choosing-k", "equity", "evidence", "explain", "good-enough"),
    *("own-model", "p-sensitize", "report", "roles", "streams"),
}
"""Pages that take 15 seconds and more."""
UPDATES = os.environ.get("CORE_MONDRIAN_UPDATE_DOCS") == "1"


@dataclass(frozen=True)
class Block:
    language: str
    marks: tuple[str, ...]
    text: str
    start: int
    stop: int
    """Where the text stands in the page."""

    @property
    def file(self) -> str | None:
        names = [mark[5:] for mark in self.marks if mark.startswith("file=")]
        return names[0] if names else None


def blocks(page: str) -> Iterator[Block]:
    for found in BLOCK.finditer(page):
        marks = tuple(found[2].split())
        yield Block(found[1], marks, found[3], *found.span(3))


DRAWN_ALIKE = """
import os, secrets

secrets.token_bytes = lambda n=32: bytes(range(n))
secrets.token_hex = lambda n=16: os.urandom(n).hex()  # names of drafts stay different
"""


def run_block(block: Block, folder: Path) -> str:
    """Return what the block prints, on either stream.

    Keys are drawn alike in every run: what a page shows may depend on them.
    """
    drawn = folder.parent / f"{folder.name}-keys"
    drawn.mkdir(exist_ok=True)
    (drawn / "sitecustomize.py").write_text(DRAWN_ALIKE, encoding="utf-8")
    modules = os.environ.get("PYTHONPATH")
    commands = {"python": [sys.executable, "example.py"], "sh": ["bash", "-eu"]}
    (folder / "example.py").write_text(block.text, encoding="utf-8")
    scripts = str(Path(sys.executable).parent)
    done = subprocess.run(  # noqa: S603
        commands[block.language],
        input=block.text if block.language == "sh" else None,
        cwd=folder,
        env=os.environ
        | {
            "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(
                [str(drawn), *([modules] if modules else [])]
            ),
            "COLUMNS": "80",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return tidy(done.stdout)


def tidy(printed: str) -> str:
    """Leave out what differs from run to run, and spaces at the ends of lines."""
    lines = [line.rstrip() for line in printed.strip("\n").splitlines()]
    lines = [line for line in lines if not line.startswith("compiling the engine")]
    return re.sub(
        r"in (\d+\.\d|…) s(?=:|$)", "in … s", "\n".join(lines), flags=re.MULTILINE
    )


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.slow) if page.stem in LONG else page
        for page in PAGES
    ],
    ids=lambda page: page.name,
)
def test_examples_run_and_print_what_the_page_says(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    printed = ""
    replaced: list[tuple[Block, str]] = []

    for block in blocks(text):
        if block.file is not None:
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
        elif "runnable" in block.marks:
            printed = run_block(block, tmp_path)
        elif "output" in block.marks and UPDATES:
            replaced.append((block, printed))
        elif "output" in block.marks:
            assert tidy(block.text) == printed

    for block, output in reversed(replaced):
        text = f"{text[: block.start]}{output}\n{text[block.stop :]}"
    if replaced:
        page.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file(page: Path) -> None:
    targets = LINK.findall(page.read_text(encoding="utf-8"))

    assert [t for t in targets if not (page.parent / t).exists()] == []


def test_readme_and_architecture_have_examples_that_run() -> None:
    for name in ("README.md", "docs/tutorial.md", "docs/architecture.md"):
        page = (ROOT / name).read_text(encoding="utf-8")
        assert any("runnable" in block.marks for block in blocks(page)), name


def test_every_key_of_a_spec_is_documented() -> None:
    page = (ROOT / "docs" / "spec.md").read_text(encoding="utf-8")
    keys = set(KEYS)
    for table in (BestPolicy, PaperPolicy, OriginalPolicy, Thresholds):
        keys |= {item.name for item in dataclasses.fields(table)}

    assert sorted(key for key in keys if f"`{key}`" not in page) == []


def test_the_citation_names_this_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")

    assert f"\nversion: {core_mondrian.__version__}\n" in citation


def test_every_exit_code_is_documented() -> None:
    page = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    kinds = errors.MondrianError.__subclasses__()

    absent = [
        kind.__name__
        for kind in kinds
        if not re.search(rf"\| {kind.exit_code} \| `{kind.__name__}`", page)
    ]

    assert kinds
    assert absent == []
