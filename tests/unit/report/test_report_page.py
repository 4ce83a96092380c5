"""The page of a report: valid, safe, silent about the original, the same every time."""

import base64
import json
import os
import re
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from core_mondrian import (
    KAnonymity,
    Release,
    Spec,
    SpecError,
    Suppression,
    __version__,
    anonymize,
)
from core_mondrian.datasets import census
from core_mondrian.hierarchies.codes import Prefix
from core_mondrian.hierarchies.load import parse_short
from core_mondrian.hierarchies.tree import from_paths
from core_mondrian.models.distinct import DistinctLDiversity
from core_mondrian.models.population import KMap
from core_mondrian.release.report_file import Subject
from core_mondrian.report.facts import Bin, ColumnFacts
from core_mondrian.report.pictures import draw_bins
from core_mondrian.report.plain import DASH, manifest_text, writable
from core_mondrian.report.sample import released_table, sample_rows
from core_mondrian.spec.declaration import spec_from_mapping
from core_mondrian.spec.policies import BestPolicy, PaperPolicy, Policy

VOID = {"meta", "img", "br", "link", "input", "hr", "col"}
CANARY = "CANARY-7391"
FEW = "FEWROWS-5512"


class Page(HTMLParser):
    """Reads a page and checks that what is opened is closed, in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.headings: list[int] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), (tag, attrs)
        self.tags.append((tag, dict(attrs)))
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def read(page: str) -> Page:
    """Check what every report has to be, and return what is in it."""
    found = Page(page)
    ids = [a["id"] for _, a in found.tags if "id" in a]
    assert len(set(ids)) == len(ids)
    assert found.headings.count(1) == 1
    assert found.headings[0] == 1
    steps = zip(found.headings, found.headings[1:], strict=False)
    assert all(after - before <= 1 for before, after in steps)
    assert not {"script", "link", "iframe", "object"} & {tag for tag, _ in found.tags}
    assert len(found.all("caption")) == len(found.all("table"))
    assert all(head.get("scope") in ("col", "row") for head in found.all("th"))
    for picture in found.all("svg"):
        assert picture["role"] == "img"
        assert picture["aria-label"]
    roles = [attributes.get("role") or "" for _, attributes in found.tags]
    assert not any(role.startswith("graphics") for role in roles)  # parts have no name
    assert all(image["alt"] for image in found.all("img"))
    links = [a["href"] or "" for a in found.all("a")]
    inside = {f"#{name}" for name in ids}
    assert all(link in inside or link.startswith("data:") for link in links)
    for _, attributes in found.tags:
        assert not any(name.startswith("on") for name in attributes)
        assert all(
            (attributes.get(name) or "data:").startswith("data:") for name in ("src",)
        )
    assert not re.search(r"url\(|@import", page)
    page.encode("utf-8")
    assert len(page.encode()) < 2_000_000
    return found


def pictures_of(page: str) -> str:
    """Return the pictures that the page holds as text."""
    found = re.findall(r"data:image/svg\+xml;base64,([\w+/=]+)", page)
    return "".join(base64.b64decode(data).decode() for data in found)


def report_of(data: Any, columns: tuple[str, ...], **asked: Any) -> str:
    given = {"models": (KAnonymity(3),), **asked}
    return anonymize(data, Spec(columns, **given)).report_html()


def people(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "job": rng.choice(["baker", "nurse", "pilot"], n),
            "town": rng.choice([f"town{i}" for i in range(9)], n),
            "pay": rng.integers(1, 9, n),
        }
    )


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param({}, id="plain"),
        pytest.param({"policy": PaperPolicy()}, id="paper"),
        pytest.param({"suppress": Suppression(rows=20)}, id="suppress"),
        pytest.param(
            {"suppress": Suppression(rows=20), "suppressed": "blank"}, id="blank"
        ),
        pytest.param({"numbers": "mean", "categories": "set"}, id="mean-set"),
        pytest.param({"numbers": "bounds", "nice": True}, id="nice-bounds"),
        pytest.param({"policy": BestPolicy(equity="job")}, id="equity"),
        pytest.param({"unit": "pay"}, id="persons"),
    ],
)
def test_every_report_is_a_valid_page(asked: dict[str, Any]) -> None:
    page = read(report_of(people(), ("age", "job", "town"), **asked))

    assert "Verified: 3-anonymity" in page.text
    assert ("Every person" if "unit" in asked else "Every row") in page.text


def test_the_verdict_counts_the_others() -> None:
    release = anonymize(people(), Spec(("age", "job"), (KAnonymity(4),)))
    smallest = release.verification.smallest_class

    text = read(release.report_html()).text

    says = f"Every row shares its released values with at least {smallest - 1} others."
    assert says in text
    assert "Verified: 4-anonymity" in text


def test_the_top_names_the_table_the_day_and_the_version() -> None:
    release = anonymize(people(), Spec(("age", "job"), (KAnonymity(4),)))
    of = Subject("people.csv", "2026-11-18")

    for audience in ("owner", "readers"):
        text = read(release.report_html(of=of, audience=audience)).text

        assert f"people.csv · 2026-11-18 · core-mondrian {__version__}" in text


def test_a_warning_is_linked_from_the_top() -> None:
    table = people().assign(zip_code=[str(i) for i in range(len(people()))])
    release = anonymize(table, Spec(("age", "job"), (KAnonymity(4),)))
    assert release.warnings

    page = release.report_html()

    assert '<a href="#warnings">' in page.split("<main>")[0]
    assert 'id="warnings"' in page


@pytest.mark.parametrize("audience", ["owner", "readers"])
def test_ten_rows_are_shown_as_the_release_has_them(audience: Any) -> None:
    release = anonymize(people(), Spec(("age", "job"), (KAnonymity(4),)))
    columns = release.data[["age", "job"]].astype("object")
    shown = Counter(columns.where(columns.notna(), DASH).itertuples(index=False))

    rows = sample_rows(released_table(release))

    assert 1 < len(rows) <= 10
    for row in rows:
        assert row.rows == shown[row.cells]
    assert "What the release shows" in release.report_html(audience=audience)


def test_the_page_for_readers_is_silent_about_which_blank_rows_are_suppressed() -> None:
    ages = [None] * 7 + [20] * 8 + [30] * 8 + [900, 901, 950]
    jobs = [None] * 7 + ["cook"] * 8 + ["clerk"] * 8 + ["cook", "clerk", "clerk"]
    table = pa.table({"age": pa.array(ages, pa.int64()), "job": jobs})
    spec = Spec(
        ("age", "job"),
        (KAnonymity(5),),
        policy=BestPolicy(price=0.5),
        suppress=5,
        suppressed="blank",
    )
    release = anonymize(table, spec)
    assert release.n_suppressed

    # A class of blank rows looks like rows that are suppressed: neither is counted.
    assert all(set(row.cells) != {DASH} for row in sample_rows(released_table(release)))


def test_a_map_does_not_claim_more_than_was_asked() -> None:
    everybody = people(300)
    columns = ("age", "job")
    spec = Spec(columns, models=(KMap(5, everybody[list(columns)]),))
    release = anonymize(everybody.iloc[:40], spec)

    text = read(release.report_html()).text

    if release.verification.smallest_class == 1:
        assert "Some rows share their released values with no other row" in text
    assert "5-map" in text
    assert "smaller than 1" not in text
    assert "below 1" not in text


def test_of_the_population_only_the_files_name_is_told(tmp_path: Path) -> None:
    folder = tmp_path / CANARY
    folder.mkdir()
    everybody = people(300)
    everybody[["age", "job"]].to_csv(folder / "register.csv", index=False)
    spec = Spec(("age", "job"), models=(KMap(5, folder / "register.csv"),))
    release = anonymize(everybody.iloc[:40], spec)

    page, manifest = release.report_html(), manifest_text(release.manifest())

    told = json.loads(manifest)["spec"]["models"][0]
    assert told["population"] == "register.csv"
    for text in (page, pictures_of(page), manifest, *map(str, release.warnings)):
        assert CANARY not in text


EDGES = {
    "one row a class": pd.DataFrame({"a": [1] * 3, "b": ["x"] * 3}),
    "constant": pd.DataFrame({"a": [7] * 9, "b": ["x", "y", "z"] * 3}),
    "all missing": pd.DataFrame({"a": [None] * 9, "b": ["x", "y", "z"] * 3}),
    "a missing number": pd.DataFrame({"a": [np.nan] * 9, "b": list("xyz") * 3}),
    "no numbers": pd.DataFrame({"a": list("pqr") * 4, "b": list("xyzw") * 3}),
    "floats": pd.DataFrame({"a": np.linspace(-1e-3, 1e140, 12), "b": list("xy") * 6}),
    "tiny": pd.DataFrame({"a": np.linspace(0, 1e-310, 12), "b": list("xy") * 6}),
    "booleans": pd.DataFrame({"a": [True, False] * 6, "b": list("xyz") * 4}),
    "dates": pd.DataFrame(
        {"a": pd.date_range("2020-01-01", periods=12), "b": list("xy") * 6}
    ),
    "large": pd.DataFrame({"a": [2**62 + i for i in range(12)], "b": list("xy") * 6}),
}


@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("policy", [BestPolicy(), PaperPolicy()], ids=lambda p: p.name)
def test_edges(name: str, policy: Any) -> None:
    read(report_of(EDGES[name], ("a", "b"), policy=policy))


def test_days_are_named_without_their_time() -> None:
    days = pd.date_range("2020-01-01", periods=60, freq="7D")
    frame = pd.DataFrame({"day": days, "moment": days + pd.to_timedelta("90min")})

    text = read(report_of(frame, ("day", "moment"))).text

    assert re.search(r"< 2020-\d\d-\d\d 2020|< 2020-\d\d-\d\d ", text)
    assert re.search(r"2020-\d\d-\d\d 01:30:00", text)


def test_one_column_and_one_class() -> None:
    page = read(report_of(pd.DataFrame({"a": [1, 2, 3]}), ("a",)))

    assert "1 class" in page.text
    assert page.all("img") == []


def test_fifty_columns_stay_small() -> None:
    rng = np.random.default_rng(1)
    columns = {f"c{i}": rng.integers(0, 50, 400) for i in range(25)}
    columns |= {f"d{i}": rng.choice(list("abcdefgh"), 400) for i in range(25)}

    page = report_of(pd.DataFrame(columns), tuple(columns))

    assert len(page.encode()) < 1_000_000
    read(page)


# Nothing of the original


def guarded(rows: int = 400) -> pd.DataFrame:
    """A table with marks in every place that a release does not show."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 70, rows),
            "job": rng.choice(["baker", "nurse", "pilot"], rows),
            "name": [f"{CANARY}-{i}" for i in range(rows)],
            "note": rng.choice([f"{CANARY}-a", f"{CANARY}-b"], rows),
            "illness": rng.choice([f"{CANARY}-flu", f"{CANARY}-cold", "none"], rows),
        }
    )
    frame.loc[frame.index[:2], "job"] = FEW
    frame.loc[frame.index[5], "age"] = 987_654
    return frame


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param({}, id="label"),
        pytest.param({"policy": PaperPolicy()}, id="paper"),
        pytest.param({"suppress": Suppression(rows=10)}, id="suppress"),
        pytest.param(
            {"suppress": Suppression(rows=10), "suppressed": "separate"}, id="separate"
        ),
        pytest.param(
            {"hierarchies": {"job": parse_short("prefix:1")}}, id="built-tree"
        ),
    ],
)
def test_no_cell_that_the_release_does_not_show(asked: dict[str, Any]) -> None:
    if "hierarchies" in asked:
        tables = {"quasi_identifiers": ["age", "job"], "identifiers": ["name"], "k": 5}
        spec = spec_from_mapping({**tables, **asked})
    else:
        models = (KAnonymity(5), DistinctLDiversity(2, "illness"))
        spec = Spec(("age", "job"), models, identifiers=("name",), **asked)
    release = anonymize(guarded(), spec)
    page = release.report_html(timings=True)
    everything = page + pictures_of(page)

    assert CANARY not in everything
    assert FEW not in set(release.data["job"].dropna())
    assert FEW not in everything
    if not release.data["age"].astype(str).str.contains("987654").any():
        assert "987654" not in everything.replace(",", "")
    assert "baker" in page


def test_values_of_a_few_rows_are_not_named_even_under_a_tree_of_the_user() -> None:
    tree = from_paths([(job, "work", "*") for job in ("baker", "nurse", "pilot", FEW)])
    page = report_of(
        guarded(), ("age", "job"), models=(KAnonymity(5),), hierarchies={"job": tree}
    )

    assert FEW not in page + pictures_of(page)


@pytest.mark.parametrize("policy", [BestPolicy(), PaperPolicy()], ids=lambda p: p.name)
def test_every_label_of_a_chart_is_released_or_round(policy: Any) -> None:
    from core_mondrian.report.facts import collect_facts

    frame = guarded(600)
    spec = Spec(("age", "job"), (KAnonymity(5),), policy=policy)
    release = anonymize(frame, spec)
    counted = Counter(release.data["job"].dropna())
    age, job = collect_facts(release).columns

    for item in job.bins:
        assert item.text in ("blank", "other values") or counted[item.text] >= 5
    edges = [
        int(x) for item in age.bins for x in re.findall(r"(?:< |≥ )(\d+)", item.text)
    ]
    assert all(edge % 5 == 0 for edge in edges)


# Names that would like to be more than names

HOSTILE = (
    '"><script>alert(1)</script>',
    "</style></svg><img src=x onerror=alert(1)>",
    "{{ 7 * 7 }}{% raw %}",
    "a'b\"c&amp;<b>",
    "\u202eesrever\u202c",
    "עברית",
    "x" * 3000,
    "line\nbreak\tand\x1b[31m escape\x00",
)


def test_hostile_names_are_names() -> None:
    rng = np.random.default_rng(2)
    columns = {name: rng.integers(0, 30, 120) for name in HOSTILE[:4]}
    columns |= {name: rng.choice(["a", "b"], 120) for name in HOSTILE[4:]}
    sensitive = "</title>\u202e\x07<script>" + "y" * 500
    table = pa.table({**columns, sensitive: rng.choice(["p", "q", "r"], 120)})
    models = (KAnonymity(3), DistinctLDiversity(2, sensitive))

    release = anonymize(table, Spec(HOSTILE, models), by=[HOSTILE[5]])
    page = release.report_html()
    found = read(page)

    assert {tag for tag, _ in found.tags}.isdisjoint({"script", "raw"})
    assert "<script" not in page.lower()
    assert not {"\x1b", "\x00", "\x07"} & set(page)
    assert "\u202e" not in page
    assert HOSTILE[0] in found.text
    assert HOSTILE[2] in found.text
    pictures_of(page).encode()


def test_hostile_values_are_values() -> None:
    value = "<script>alert('x')</script>&\u202e\"]"
    frame = people(60).assign(job=[value, "nurse", "</svg><u>x</u>"] * 20)

    page = report_of(frame, ("job", "pay"))
    found = read(page)

    assert "<script" not in page
    assert not found.all("u")
    assert "alert" in found.text


def test_text_is_cleaned_of_what_a_page_cannot_hold() -> None:
    assert (
        writable("a\x00b\ud800c\u202ed\ufffee\x9f")
        == "a\ufffdb\ufffdc\ufffdd\ufffde\ufffd"
    )
    assert writable("Zoë \u2013 עברית 漢字 🙂\n") == "Zoë \u2013 עברית 漢字 🙂\n"


# The same bytes


def test_the_same_bytes_again_by_threads_and_by_order_of_rows() -> None:
    frame = people(500)
    spec = Spec(("age", "job", "town"), (KAnonymity(3),))
    shuffled = frame.sample(frac=1, random_state=4)
    pages = {
        anonymize(table, spec, threads=threads, by=["job"]).report_html()
        for table in (frame, shuffled)
        for threads in (1, 2)
    }

    assert len(pages) == 1


def test_the_same_bytes_whatever_the_hash_seed() -> None:
    code = (
        "import sys\n"
        "from core_mondrian import KAnonymity, Spec, anonymize\n"
        "from core_mondrian.datasets import census\n"
        "from core_mondrian.spec.policies import PaperPolicy\n"
        "columns = ('age', 'sex', 'education')\n"
        "spec = Spec(columns, (KAnonymity(5),), policy=PaperPolicy())\n"
        "page = anonymize(census(400), spec).report_html()\n"
        "sys.stdout.buffer.write(page.encode())\n"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONHASHSEED": "7391"},
        capture_output=True,
        check=True,
    )

    assert done.stdout.decode() == small_release(PaperPolicy()).report_html()


def test_what_stages_took_only_if_asked_for() -> None:
    release = small_release()

    assert "CPU seconds" not in release.report_html()
    page = read(release.report_html(timings=True))
    assert "CPU seconds" in page.text
    for stage, took in release.spent.items():
        assert took.megabytes is not None
        assert f"{stage} {took.seconds:.2f} {took.megabytes:.0f}" in page.text
    peaks = [took.megabytes or 0.0 for took in release.spent.values()]
    assert peaks == sorted(peaks)


# What is in it


def small_release(policy: Policy | None = None) -> Release[Any]:
    columns = ("age", "sex", "education")
    spec = Spec(columns, (KAnonymity(5),), policy=policy or BestPolicy())
    return anonymize(census(400), spec)


def test_the_manifest_is_inside_as_the_file_has_it() -> None:
    release = small_release()
    page = release.report_html()

    data = re.findall(r"data:application/json;base64,([\w+/=]+)", page)[0]
    text = base64.b64decode(data).decode()
    assert text == manifest_text(release.manifest())
    assert json.loads(text)["digests"]["release"] == release.digest
    assert release.digest in Page(page).text


def test_groups_warnings_and_equity_are_told() -> None:
    spec = Spec(("age", "sex"), (KAnonymity(5),), policy=BestPolicy(equity="race"))
    release = anonymize(census(600), spec, by=["workclass"])
    text = read(release.report_html()).text

    assert "Who loses most, by race" in text
    assert "Who loses most, by workclass" in text
    assert "Equity by race" in text
    assert any(not concern.accepted for concern in release.warnings)
    assert all(" ".join(c.text.split()) in text for c in release.warnings)


def test_painting_of_chosen_columns() -> None:
    release = small_release()

    page = Page(release.report_html(painting=("age", "sex")))
    image = page.all("img")[0]
    assert (image["alt"] or "").endswith("boxes over age and sex")
    for wrong in (("age", "income"), ("age", "age"), ("age",)):
        with pytest.raises(SpecError, match="two quasi-identifiers"):
            release.report_html(painting=wrong)  # type: ignore[arg-type]


def test_other_pairs_are_painted_next_to_the_chosen_one() -> None:
    columns = ("age", "sex", "race", "occupation", "education", "native_country")
    release = anonymize(census(400), Spec(columns, models=(KAnonymity(5),)))

    page = Page(release.report_html())

    alts = [image["alt"] or "" for image in page.all("img")]
    pairs = [tuple(alt.partition(" over ")[2].split(" and ")) for alt in alts]
    assert len({frozenset(pair) for pair in pairs}) == len(pairs) == 10
    assert all(set(pair) <= set(columns) for pair in pairs)
    assert all(pair[0] == "age" for pair in pairs if "age" in pair)
    assert "9 other pairs" in page.text


def test_suppressed_rows_numbers_and_crowds_are_told() -> None:
    frame = people().assign(pay=lambda table: table["age"] * 3)
    spec = Spec(
        ("age", "pay", "town"),
        models=(KAnonymity(3),),
        suppress=Suppression(rows=20),
        policy=BestPolicy(price=0.01),
    )
    release = anonymize(frame, spec)
    assert release.n_suppressed > 0

    text = read(release.report_html()).text

    assert "Whom it hits" in text or "No value of a quasi-identifier" in text
    assert "Pearson's r" in text
    assert "age + pay 1.000" in text
    assert "alone 2" in text or "alone 1" in text
    assert "named by --by" in text


def test_every_column_is_told_with_what_became_of_it() -> None:
    table = census(400)
    spec = Spec(
        *(("age", "sex"), (KAnonymity(5), DistinctLDiversity(2, "income"))),
        identifiers=("person_id",),
        pseudonyms=("zip_code",),
        class_id="group",
    )
    release = anonymize(table, spec, key=b"0123456789abcdef")
    text = read(release.report_html()).text

    others = [n for n in table.column_names if n not in spec.columns]
    assert set(others) < set(release.data.column_names)
    assert f"Released as they are {' , '.join(others)}" in text
    assert "what others may know of a person age , sex " in text
    assert "protected by the classes, as they are income " in text
    assert "Replaced by keyed pseudonyms zip_code " in text
    assert "Left out person_id " in text
    assert "a number for each class group " in text


def test_a_column_of_which_nothing_is_left_is_told_with_what_helps() -> None:
    table = census(400).append_column("code", pa.array([f"c{i}" for i in range(400)]))
    spec = Spec(("age", "code"), (KAnonymity(5),))
    text = read(anonymize(table, spec).report_html()).text
    assert "Hardly anything is left of code : a hierarchy" in text

    trees = {"code": Prefix(1)}
    spec = Spec(("age", "code"), (KAnonymity(5),), hierarchies=trees)
    text = read(anonymize(table, spec).report_html()).text
    assert "Hardly anything" not in text


def test_a_file_is_not_overwritten_unless_asked(tmp_path: Path) -> None:
    release = small_release()
    file = tmp_path / "report.html"
    release.report(file)
    assert file.read_text(encoding="utf-8") == release.report_html()

    with pytest.raises(SpecError, match="exists"):
        release.report(file)
    release.report(str(file), timings=True, overwrite=True)
    assert "CPU seconds" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "n_letters"),
    [
        ("", 0),
        ("a" * 28, 28),
        ("a" * 29, 27),
        ("W" * 28, 20),  # 21 letters with the dots, each 1.3 wide
        ("人" * 28, 13),
        ("A" + "b" * 400, 26),
    ],
)
def test_labels_are_cut_by_their_width(name: str, n_letters: int) -> None:
    column = ColumnFacts(
        *("c", "category", "label", 0.0, 0.0, 1.0, ()),
        (Bin(name, 1.0, 1.0, 0.0, 9, 0),),
    )

    picture = draw_bins(column)

    label = name if n_letters == len(name) else f"{name[:n_letters]}…"
    assert not label or f">{label}</text>" in picture
    box = re.search(r'viewBox="0 0 (\d+)', picture)
    assert box is not None
    assert int(box[1]) <= 500  # 220 for the bars, the rest for labels
