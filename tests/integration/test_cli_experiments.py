"""python -m experiments: all figures on a made-up table, and no cell of it."""

import csv
import io
import json
import re
import time
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from conftest import CANARY, Command, files_in, in_process

from experiments import tables
from experiments.__main__ import app
from experiments.evaluation import Setting, data_files, run_figures
from experiments.lab import QUICK, Clocks, Lab
from experiments.registry import FIGURES

ROWS = 1500
NAMES = [figure.name for figure in FIGURES]
NAMED = ("race", "sex", "income")
TIMED = [figure.name for figure in FIGURES if figure.key in ("6", "7", "8", "10")]


def with_canaries(rows: int, seed: int) -> pa.Table:
    """A made-up census in which every text begins with a canary.

    But for those that groups are named by: the page says who loses how much.
    """
    made = CENSUS(rows, seed)
    for at, field in enumerate(made.schema):
        if pa.types.is_string(field.type) and field.name not in NAMED:
            marked = pc.binary_join_element_wise(CANARY, made[at], "-")
            made = made.set_column(at, field.name, marked)
    return made


CENSUS = tables.make_census


@dataclass(frozen=True)
class Run:
    folder: Path
    out: str
    err: str

    def text(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    def json(self, name: str) -> Any:
        return json.loads(self.text(name))


@pytest.fixture
def experiments(capfd: Any, monkeypatch: Any, tmp_path: Path) -> Command:
    monkeypatch.chdir(tmp_path)
    return in_process(capfd, app)


@pytest.fixture(scope="session")
def done(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One run of the command, in this process."""
    folder = tmp_path_factory.mktemp("experiments") / "new" / "out"
    out, err = io.StringIO(), io.StringIO()
    words = f"--quick --table census --rows {ROWS} --threads 2".split()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "make_census", with_canaries)
        with (
            redirect_stdout(out),
            redirect_stderr(err),
            pytest.raises(SystemExit) as end,
        ):
            app([*words, "--out", str(folder)])
    assert end.value.code in (None, 0), err.getvalue()
    return Run(folder, out.getvalue(), err.getvalue())


def test_every_figure_has_its_files_and_they_can_be_read(done: Run) -> None:
    csvs = [f"{name}-numbers.csv" for name in NAMES] + [f"{n}-times.csv" for n in TIMED]

    assert files_in(done.folder) == sorted(
        ["experiments.md", "numbers.json", "times.json", "pictures", *csvs]
    )
    pictures = done.folder / "pictures" / "experiments"
    assert files_in(pictures) == sorted(
        f"{name}{kind}" for name in NAMES for kind in (".svg", ".png")
    )
    for name in NAMES:
        assert (pictures / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        root = ElementTree.fromstring((pictures / f"{name}.svg").read_bytes())  # noqa: S314
        assert root.tag.endswith("svg")
    for file in csvs:
        rows = list(csv.DictReader(io.StringIO(done.text(file))))
        key = next(f.key for f in FIGURES if file.startswith(f"{f.name}-"))
        kind = "times" if file.endswith("-times.csv") else "numbers"
        assert len(rows) == len(done.json(f"{kind}.json")["figures"][key]) > 0


@pytest.mark.slow
def test_another_run_gives_the_same_numbers(done: Run) -> None:
    base = with_canaries(ROWS, 0)
    lab = Lab(
        base,
        QUICK,
        tables.sampler(base, "tree", seed=0, epochs=1),
        Clocks(time.perf_counter, time.process_time),
        threads=1,  # which changes no number
        cores=3,
    )
    setting = Setting(
        table="census",
        rows=ROWS,
        synthesizer="tree",
        epochs=None,
        seed=0,
        is_quick=True,
        cores=3,
        threads=1,
        command="",
    )

    again = data_files(run_figures(lab, FIGURES, setting, lambda _stage, _done: None))

    assert again["numbers.json"] == (done.folder / "numbers.json").read_bytes()
    for name in NAMES:
        file = f"{name}-numbers.csv"
        assert again[file] == (done.folder / file).read_bytes()


def test_no_cell_is_in_any_file_or_message(done: Run) -> None:
    files = [path for path in done.folder.rglob("*") if path.is_file()]

    assert CANARY in str(with_canaries(10, 0).to_pylist())
    assert [path.name for path in files if CANARY.encode() in path.read_bytes()] == []
    assert CANARY not in done.out + done.err


def test_numbers_hold_no_times_and_times_are_positive(done: Run) -> None:
    assert "seconds" not in done.text("numbers.json")
    for rows in done.json("times.json")["figures"].values():
        for row in rows:
            seconds = [value for name, value in row.items() if "seconds" in name]
            assert len(seconds) == 5
            assert min(seconds) >= 0
            assert row["wall_seconds"] >= row["wall_seconds_cutting"]


def test_every_release_is_k_anonymous_and_within_its_budget(done: Run) -> None:
    figures = done.json("numbers.json")["figures"]
    others = ("data", "9", "equity", "statistics")
    rows = [row for key in figures if key not in others for row in figures[key]]

    assert len(rows) > 100
    for row in rows:
        assert row["smallest_class"] >= row["k"]
        assert row["suppressed"] <= row["budget"]
        assert row["dm"] == row["dm_released"] + row["suppressed"] * row["rows"]


def test_axes_are_those_of_the_paper(done: Run) -> None:
    figures = done.json("numbers.json")["figures"]

    assert {row["n_columns"] for row in figures["1"]} == {1, 2, 3, 4}
    assert len({row["columns"] for row in figures["1"]}) == 15
    assert {row["policy"] for row in figures["2"]} == {
        *("paper", "best", "original, fair", "original, as published")
    }
    assert [row["n_columns"] for row in figures["4"]] == [4, 6, 8] * 4
    assert figures["8"] == figures["5"][: len(figures["8"])]
    assert {row["policy"] for row in figures["5"]} == {
        *("paper", "paper, as written", "best")
    }
    assert {row["factor"] for row in figures["10"]} == {1, 2}
    assert {row["rows"] for row in figures["10"]} == {ROWS, 2 * ROWS}
    assert {row["kind"] for row in figures["9"]} == {"category", "number"}


def test_suppression_rises_with_the_threshold_only_as_written(done: Run) -> None:
    rows = [r for r in done.json("numbers.json")["figures"]["5"] if not r["model"]]
    paper, written = (
        [row["suppressed"] for row in rows if row["policy"] == policy]
        for policy in ("paper", "paper, as written")
    )

    assert paper == sorted(paper, reverse=True)
    assert paper[-1] == 0
    assert written == sorted(written)
    assert written[-1] > written[0]


def test_the_reasons_of_figure_5_are_true_of_the_run(done: Run) -> None:
    rows = done.json("numbers.json")["figures"]["5"]
    paper = [row for row in rows if row["policy"] == "paper"]
    written = [row for row in rows if row["policy"] == "paper, as written"]

    assert {row["suppressed_in_place"] for row in paper} == {0}
    assert {row["abandoned"] for row in rows if not row["model"]} == {0}
    assert any(row["abandoned"] for row in rows if row["model"])
    assert max(row["suppressed_in_place"] for row in written) > 0
    assert all(row["queued"] == 0 for row in rows if row["inline_below"] > ROWS)


def test_each_stage_of_a_funnel_keeps_what_the_one_before_kept(done: Run) -> None:
    rows = done.json("numbers.json")["figures"]["9"]
    stages = ("examined", "considered", "proposed", "final", "accepted")
    counts = {
        (r["policy"], r["budget"], r["kind"], r["stage"]): r["count"] for r in rows
    }

    for *funnel, _ in counts:
        shown = [counts[*funnel, stage] for stage in stages]
        assert shown == sorted(shown, reverse=True)
    for kind in ("category", "number"):
        as_written = ("paper, as written", "all rows", kind)
        assert counts[*as_written, "final"] == counts[*as_written, "accepted"]


def test_the_page_names_every_figure_statement_and_picture(done: Run) -> None:
    page = done.text("experiments.md")
    claims = [claim for figure in FIGURES for claim in figure.claims]

    for figure in FIGURES:
        assert f"## {figure.title}\n" in page
        assert f"python -m experiments --figures {figure.key}`" in page
    for link in re.findall(r"\]\(([^)#]+)\)", page):
        assert (done.folder / link).is_file()
    assert all(f"| {claim.says} | " in page for claim in claims)
    verdicts = re.findall(r"\*\*(holds|does not hold|not tested)\*\*", page)
    assert len(verdicts) == len(claims)
    failing = [one for one in verdicts if one != "holds"]
    assert len(re.findall(r"^\* Figure \d+: ", page, re.MULTILINE)) == len(failing)
    assert len(
        re.findall(r"\*\*(?:does not hold|not tested)\*\*, because \w", page)
    ) == (len(failing))


def test_the_page_says_what_it_was_measured_on(done: Run) -> None:
    page = " ".join(done.text("experiments.md").split())

    for words in ("made-up census", f"{ROWS:,} rows", "quick run", "CPU time"):
        assert words in page
    command = f"python -m experiments --quick --table census --rows {ROWS} --threads 2"
    assert f"```sh {command} ```" in page
    assert str(done.folder) not in page


def test_verdicts_go_to_stdout_and_words_to_stderr(done: Run) -> None:
    lines = done.out.splitlines()

    assert len(lines) == sum(len(figure.claims) for figure in FIGURES)
    assert all(
        re.match(r"(holds|does not hold|not tested) +Figure \d", x) for x in lines
    )
    assert "a made-up census" in done.err
    for figure in FIGURES:
        assert f"running     {figure.title}" in done.err
    assert re.search(r"wrote \d+ files to .* in \d+\.\d s", done.err)


def test_some_figures_can_be_chosen(experiments: Command, tmp_path: Path) -> None:
    made = experiments(
        *("--figures", "9", "--quick", "--table", "census"),
        *("--rows", 500, "--out", "nine"),
    )

    assert made.code == 0, made.err
    assert files_in(tmp_path / "nine") == [
        *("experiments.md", "figure-09-numbers.csv", "numbers.json", "pictures"),
        "times.json",
    ]


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        pytest.param(("--figures", "1,12"), 2, "'12'", id="unknown figure"),
        pytest.param(("--quick", "--docs", "docs"), 2, "full run", id="docs"),
        pytest.param(("--adult", "nowhere"), 3, "--table census", id="no Adult"),
        pytest.param(("--table", "iris"), 2, "iris", id="unknown table"),
    ],
)
def test_what_cannot_be_done_is_told_before_the_work(
    experiments: Command, tmp_path: Path, words: tuple[str, ...], code: int, told: str
) -> None:
    made = experiments(*words)

    assert made.code == code
    assert told in made.err
    assert files_in(tmp_path) == []


def test_a_version_without_ctgan_says_what_to_do(
    experiments: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "experiments.ctgan", None)

    made = experiments("--table", "census", "--synthesizer", "ctgan")

    assert made.code == 2
    assert "take --synthesizer tree" in made.err
    assert files_in(tmp_path) == []


def test_both_synthesizers_have_sections_of_their_own(
    experiments: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = []

    def stand_in(table: pa.Table, n_rows: int, seed: int, epochs: int) -> pa.Table:
        asked.append(epochs)
        return tables.sampler(table, "tree", seed=seed + 1, epochs=1)(n_rows)

    monkeypatch.setattr("experiments.ctgan.sample", stand_in)

    made = experiments(
        *("--figures", "10,10-ctgan", "--quick", "--table", "census"),
        *("--rows", 500, "--synthesizer", "both", "--epochs", 3, "--out", "ten"),
    )

    assert made.code == 0, made.err
    assert asked == [3]
    page = " ".join((tmp_path / "ten" / "experiments.md").read_text().split())
    assert "Of 4 statements" in page
    assert "4 are judged again on CTGAN's tables" in page
    assert "CTGAN, trained for 3 epochs (the paper: 1000)" in page
    assert "--figures 10-ctgan --synthesizer both --epochs 3`" in page
    numbers = json.loads((tmp_path / "ten" / "numbers.json").read_text())["figures"]
    assert numbers["10"][0] == numbers["10-ctgan"][0]  # x1 is the table itself
    assert numbers["10"][1]["digest"] != numbers["10-ctgan"][1]["digest"]


def test_a_folder_that_cannot_be_made_is_an_error(
    experiments: Command, tmp_path: Path
) -> None:
    (tmp_path / "taken").write_text("a file")

    made = experiments(
        *("--figures", "9", "--quick", "--table", "census"),
        *("--rows", 300, "--out", "taken/out"),
    )

    assert made.code == 6
    assert "cannot be made" in made.err
    assert "running" not in made.err


def test_losses_by_group_add_up_and_equity_is_told(done: Run) -> None:
    rows = done.json("numbers.json")["figures"]["equity"]

    for policy in {row["policy"] for row in rows}:
        for column in ("race", "sex"):
            mine = [r for r in rows if (r["policy"], r["column"]) == (policy, column)]
            assert sum(row["group_rows"] for row in mine) == ROWS
            mean = sum(row["group_rows"] * row["group_loss"] for row in mine) / ROWS
            assert mean == pytest.approx(mine[0]["loss"])


def test_statistics_of_both_tables_are_told(done: Run) -> None:
    rows = done.json("numbers.json")["figures"]["statistics"]

    kinds = {row["question"].split()[0] for row in rows}
    assert kinds == {"means", "linear", "logistic", "classifier"}
    assert {row["policy"] for row in rows} == {"paper", "best"}
    shares = [row for row in rows if row["question"].startswith("means")]
    assert all(0 <= row["before"] <= 1 for row in shares)
