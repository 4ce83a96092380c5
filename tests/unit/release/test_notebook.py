"""How results show themselves in a notebook: whole, harmless, and without a cell."""

import io
import re
import sys
import types
from html.parser import HTMLParser
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from conftest import CANARY

from core_mondrian import (
    KAnonymity,
    Spec,
    Suppression,
    anonymize,
    p_sensitize,
)
from core_mondrian.analysis.advise import sweep
from core_mondrian.datasets import census
from core_mondrian.models import DistinctLDiversity
from core_mondrian.runtime.progress import show_progress

SPEC = Spec(("age", "sex", "education"), (KAnonymity(4),))
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>&\"'"
VOID = ("br", "progress")


class Page(HTMLParser):
    """Collects tags, and whether each is closed in its turn."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert tag in VOID or self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def page_of(result: Any) -> Page:
    page = Page(result._repr_html_())
    for tag, attributes in page.tags:
        assert tag in {"div", "b", "br", "table", "caption", "tr", "th", "td", "span"}
        assert set(attributes) <= {"style"}
        assert "url(" not in (attributes.get("style") or "")
    return page


@pytest.fixture(scope="module")
def release() -> Any:
    return anonymize(census(600), SPEC)


def test_a_release_shows_rows_classes_models_losses_and_its_digest(
    release: Any,
) -> None:
    page = page_of(release)

    sizes = release.data.to_pandas().groupby(list(SPEC.quasi_identifiers), dropna=False)
    assert "600 in, 600 released, 0 suppressed (budget 0)" in page.text
    assert f"{len(sizes)}, the smallest has {sizes.size().min()} rows" in page.text
    assert "4-anonymity (reached 4)" in page.text
    before = census(600).to_pandas().groupby(list(SPEC.quasi_identifiers)).size()
    assert f"{(before == 1).sum()} of 600 rows were the only ones" in page.text
    assert release.digest in page.text
    for column in release.measures().columns:
        assert f"{column.name} {column.kind} {100 * column.ncp:.1f} %" in page.text
    shown = re.search(r"class sizes rows classes (.*)", page.text)
    assert shown is not None
    for line in re.findall(r"(\d+)-(\d+) (\d+)", shown[1]):
        low, high, n = map(int, line)
        assert n == sizes.size().between(low, high).sum()
    assert "'zip_code'" in page.text  # its warning


def test_bars_of_losses_are_of_all_and_those_of_sizes_of_the_highest(
    release: Any,
) -> None:
    page = page_of(release)

    styles = [attributes.get("style") or "" for _, attributes in page.tags]
    widths = [
        float(found[1]) for s in styles if (found := re.search(r";width:([\d.]+)em", s))
    ]
    ncp = [column.ncp for column in release.measures().columns if column.ncp > 0]
    assert widths[: len(ncp)] == pytest.approx([8 * x for x in ncp], abs=0.01)
    sizes = [int(n) for n in re.findall(r"\d+-\d+ (\d+)", page.text)]
    filled = [8 * n / max(sizes) for n in sizes if n]
    assert widths[len(ncp) :] == pytest.approx(filled, abs=0.01)


def test_everything_is_the_same_bytes_every_time() -> None:
    release, again = (anonymize(census(600), SPEC) for _ in range(2))

    assert release._repr_html_() == release._repr_html_() == again._repr_html_()


def test_the_text_stays_short(release: Any) -> None:
    found = sweep(census(300), SPEC, {"k": [2, 4]})

    assert len(repr(release)) < 100
    assert repr(found) == "Sweep(2 points of k, 300 rows)"


def test_no_cell_and_no_markup_of_the_table_is_shown() -> None:
    n = 60
    table = pa.table(
        {
            HOSTILE: [f"{CANARY} {i % 4}" for i in range(n)],
            "age": [73_910 + i for i in range(n)],
            "ill": [f"{CANARY} {i % 3}" for i in range(n)],
        }
    )
    models = (KAnonymity(5), DistinctLDiversity(2, "ill"))
    spec = Spec((HOSTILE, "age"), models, suppress=Suppression(rows=3))
    release = anonymize(table, spec)
    results = (
        release,
        sweep(table, spec, {"k": [2, 70_000], "l": [2, 9]}),
        p_sensitize(release.data, spec.quasi_identifiers, "ill", 2, 5),
    )

    for result in results:
        page = page_of(result)
        assert CANARY not in page.text
        assert "7391" not in page.text.replace(getattr(result, "digest", "-"), "")
    assert HOSTILE in page_of(release).text


def test_a_sweep_shows_every_point_and_why_one_is_not_feasible() -> None:
    found = sweep(census(300), SPEC, {"k": [2, 4, 8, 4_000]})

    page = page_of(found)

    for point in found.points[:3]:
        assert point.figures is not None
        loss = 100 * (point.figures.loss or 0.0)
        k = point.parameters["k"]
        assert f"{k:g} {loss:.1f} % {point.figures.n_classes:,} " in page.text
    assert "the table has 300 rows" in page.text
    assert page.text.count("knee") == len(found.knees)


def test_a_changed_table_says_that_its_values_are_false() -> None:
    table = pd.DataFrame({"age": [1] * 4 + [2] * 4, "ill": ["a"] * 5 + ["b", "c", "c"]})

    done = p_sensitize(table, ["age"], "ill", 2, 4)

    assert done.n_changed > 0
    assert "do not use them as measurements" in page_of(done).text


# Progress


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Front:
    """What a notebook shows, output by output."""

    def __init__(self) -> None:
        self.shown: list[dict[str, str]] = []

    def display(self, bundle: dict[str, str], **options: Any) -> "Front":
        assert options == {"raw": True, "display_id": True}
        self.update(bundle, raw=True)
        return self

    def update(self, bundle: dict[str, str], *, raw: bool) -> None:
        assert raw
        assert set(bundle) == {"text/html", "text/plain"}
        Page(bundle["text/html"])
        self.shown.append(dict(bundle))


@pytest.fixture
def front(monkeypatch: pytest.MonkeyPatch) -> Front:
    """Pretend to be the kernel of a notebook; the real one is not a dependency."""
    shown = Front()
    ipython: Any = types.ModuleType("IPython")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    display: Any = types.ModuleType("IPython.display")
    display.display = shown.display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return shown


def test_a_notebook_sees_every_stage_and_in_the_end_nothing(front: Front) -> None:
    seen = anonymize(census(600), SPEC, progress=True)

    stages = ("encode", "collapse", "partition", "recode", "verify", "warn")
    last = ", ".join(f"{stage} 100 %" for stage in stages)
    assert front.shown[-2]["text/plain"] == last
    assert front.shown[-2]["text/html"].count("<progress value=100 ") == len(stages)
    assert front.shown[-1] == {"text/html": "", "text/plain": ""}
    assert len(front.shown) == len({one["text/plain"] for one in front.shown}) + 1
    assert seen.digest == anonymize(census(600), SPEC).digest


def test_bars_of_a_notebook_go_when_work_fails(front: Front) -> None:
    def fail() -> None:
        with show_progress() as progress:
            assert progress is not None
            progress("encode", 0.5)
            raise ValueError("half way")

    with pytest.raises(ValueError, match=r"^half way$"):
        fail()

    assert front.shown[-2]["text/plain"] == "encode 50 %"
    assert front.shown[-1]["text/html"] == ""


def test_a_terminal_sees_bars_of_a_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")

    sweep(census(300), SPEC, {"k": [2, 4]}, progress=True)

    assert "points" in screen.getvalue()


@pytest.mark.parametrize("progress", [True, False, None])
def test_nobody_watching_sees_nothing(
    capfd: pytest.CaptureFixture[str], progress: Any
) -> None:
    anonymize(census(300), SPEC, progress=progress)

    assert capfd.readouterr() == ("", "")


def test_a_function_is_told_every_stage() -> None:
    told: list[tuple[str, float]] = []

    anonymize(census(300), SPEC, progress=lambda *one: told.append(one))

    assert ("partition", 1.0) in told
    assert anonymize.__doc__ is not None
