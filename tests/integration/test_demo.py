"""The demo runs, says what it must, and draws the same picture every time."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def demo(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603
        [sys.executable, "-m", "core_mondrian.cli.main", "demo", *options],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


@pytest.fixture(scope="module")
def shown() -> str:
    done = demo("--rows", "600", "--k", "4")

    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith("anonymizing 600 rows ...\n")
    return done.stdout


@pytest.mark.parametrize(
    "words",
    [
        "600 people",
        "made up",
        "before",
        "after",
        "stand alone",
        "fewer than 4",
        "largest risk",
        "classes",
        "suppressed",
        "what was lost",
        "how large the classes are",
        "cut funnel",
        "examined",
        "considered",
        "proposed",
        "final",
        "accepted",
        "numbers",
        "categories",
        "digest",
        "CPU seconds per stage",
        "core-mondrian inspect",
        "core-mondrian anonymize",
        "--report",
        "core-mondrian studio",
    ],
)
def test_demo_mentions(shown: str, words: str) -> None:
    assert words in shown


def test_output_in_a_pipe_is_plain_and_at_most_100_columns_wide(shown: str) -> None:
    assert "\x1b" not in shown
    assert max(len(line) for line in shown.splitlines()) == 100


def test_smallest_class_after_has_k_rows(shown: str) -> None:
    assert re.search(r"verified +4-anonymity; the smallest class has [4-7] rows", shown)


def test_picture_is_the_same_twice_and_loads_nothing(tmp_path: Path) -> None:
    pictures = [tmp_path / "one.svg", tmp_path / "two.svg"]
    options = ("--rows", "600", "--svg")

    first = demo(*options, str(pictures[0]), NO_COLOR="1", PYTHONHASHSEED="1")
    second = demo(*options, str(pictures[1]), COLUMNS="61", PYTHONHASHSEED="2")

    assert (first.returncode, second.returncode) == (0, 0)
    assert pictures[0].read_bytes() == pictures[1].read_bytes()
    text = pictures[0].read_text(encoding="utf-8")
    assert "CPU" not in text
    assert set(re.findall(r"https?://[^\"/]+", text)) == {"http://www.w3.org"}


def test_picture_in_the_docs_shows_what_the_demo_shows() -> None:
    done = demo()

    digest = re.search(r"digest +([0-9a-f]{64})", done.stdout)

    assert digest is not None, done.stderr
    picture = (ROOT / "docs" / "demo.svg").read_text(encoding="utf-8")
    assert digest[1] in picture, "draw it again: core-mondrian demo --svg docs/demo.svg"


def test_too_few_rows_are_refused_without_a_traceback() -> None:
    done = demo("--rows", "3")

    assert done.returncode == 4
    assert "the table has 3 rows, but one class needs 5" in done.stderr
    assert "Traceback" not in done.stderr
