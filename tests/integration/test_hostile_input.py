"""Inputs that were made to break something are refused in words, or harmless."""

import ast
import csv
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import CANARY, Command, files_in

from benchmarks.hostile_cases import CASES, HOSTILE_NAMES
from core_mondrian import DataError, KAnonymity, Spec, anonymize
from core_mondrian.tables.files.csv_text import csv_blocks
from core_mondrian.tables.files.read import read_table
from core_mondrian.tables.files.write import write_table

ROOT = Path(__file__).parents[2]
NAMES = "names: formulas, HTML, escapes, markup"
RELEASE = ["out.csv", "out.csv.manifest.json", "out.csv.owner.json"]


@pytest.mark.parametrize("name", [name for name in CASES if name != NAMES])
def test_hostile_input_ends_as_documented(
    name: str, cli: Command, tmp_path: Path
) -> None:
    case = CASES[name]
    words = case.make(tmp_path, case.small)
    given = files_in(tmp_path)

    done = cli(*words)

    assert done.code in case.codes, done.err
    written = [file for file in files_in(tmp_path) if file not in given]
    if done.code:
        assert done.err.startswith("error: ")
        assert case.message in done.err
        assert written == []
        assert len(done.err) < 1000
    else:
        assert written == RELEASE


@pytest.fixture
def named(cli: Command, tmp_path: Path) -> Path:
    """A release and a report of a table whose names are attacks."""
    words = CASES[NAMES].make(tmp_path, 1)
    done = cli(*words)
    assert done.code == 0, done.err
    assert done.out == ""
    assert_harmless(done.err)
    return tmp_path


def assert_harmless(text: str) -> None:
    """Nothing in it acts on a terminal."""
    assert all(line.isprintable() for line in text.split("\n"))


class Tags(HTMLParser):
    """Collects what a browser would take for elements."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.handlers: list[str] = []
        self.sources: list[str] = []

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        self.names.add(tag)
        self.handlers += [name for name, _ in attributes if name.startswith("on")]
        self.sources += [x for name, x in attributes if name in ("src", "href")]


def test_names_run_neither_in_the_report_nor_in_the_terminal(
    named: Path, cli: Command
) -> None:
    page = (named / "out.html").read_text(encoding="utf-8")
    tags = Tags()
    tags.feed(page)
    assert not {"script", "iframe", "object", "b"} & tags.names
    assert tags.handlers == []
    assert all(link.startswith(("data:", "#")) for link in tags.sources)
    assert "default-src 'none'" in page

    for words in (
        ("inspect", "in.csv"),
        ("explain", "out.csv", "--manifest", "out.csv.manifest.json"),
        ("verify", "out.csv", "--manifest", "out.csv.manifest.json"),
        ("verify", "in.csv", "--qid", HOSTILE_NAMES[2] + "no", "--k", "2"),
        ("anonymize", "in.csv", "o.csv", "--qid", "[red]no[/red]\x1b[2J", "--k", "2"),
        ("anonymize", "\x1b[2J.csv", "o.csv", "--qid", "a", "--k", "2"),
        ("init", "in.csv"),
    ):
        done = cli(*words)
        assert done.code in (0, 2, 3), done.err
        assert "\x1b" not in done.out + done.err
        assert "\u202e" not in done.out + done.err
        assert_harmless(done.err)


def test_report_of_hostile_names_runs_nothing_in_a_browser(named: Path) -> None:
    found = [shutil.which(name) for name in ("chromium", "chromium-browser", "chrome")]
    chromium = next((path for path in found if path), None)
    if chromium is None:
        pytest.skip("there is no chromium here")
    done = subprocess.run(  # noqa: S603
        [
            *(chromium, "--headless", "--no-sandbox", "--disable-gpu"),
            *(f"--user-data-dir={named / 'profile'}", "--dump-dom"),
            (named / "out.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    title = re.search(r"<title>(.*?)</title>", done.stdout, re.DOTALL)
    assert title is not None
    assert title[1] != "run"


# Spreadsheets

DANGEROUS = re.compile("^[=+@\t\r\n\uff1d\uff0b\uff0d\uff20-]")
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
CELLS = [
    *("=1+1", "+41 22", "-x", "@SUM(A1)", "\tx", "\rx", "\nx", "\uff1dA1", "'=1"),
    *("''-2+3", "'plain", "plain", "-5", "+3.5e-7", "-5-3", "", "=a,b", '="q"', "1"),
]


def test_guarded_files_hold_no_formula_and_are_read_back_as_they_were(
    tmp_path: Path,
) -> None:
    texts = pa.array(CELLS)
    table = pa.table(
        {"=name": texts, "coded": texts.dictionary_encode(), "-n": [-1] * len(CELLS)}
    )
    path = tmp_path / "a.csv"

    write_table(table, path, guard=True)

    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["'=name", "coded", "'-n"]
    assert [row[2] for row in rows] == ["-1"] * len(CELLS)
    for place in (0, 1):
        cells = [row[place] for row in rows]
        assert not [x for x in cells if DANGEROUS.match(x) and not NUMBER.fullmatch(x)]
    for typed in (None, ()):
        back = read_table(path, typed=typed, null_values=(), infer=False, guarded=True)
        assert back.column_names == table.column_names
        assert [x or "" for x in back["=name"].to_pylist()] == CELLS
        assert [x or "" for x in back["coded"].to_pylist()] == CELLS
    plain = b"".join(csv_blocks(table))
    assert plain.startswith(b"=name,coded,-n\n=1+1,=1+1,-1\n")


@pytest.mark.parametrize("more", [(), ("--stream",)])
def test_guarded_release_verifies_and_its_manifest_says_so(
    more: tuple[str, ...], cli: Command, tmp_path: Path
) -> None:
    towns = ["=HYPERLINK(1)", "@town", "-plain"]
    rows = [f"{20 + i % 5},{towns[i % 3]},+{i}a" for i in range(90)]
    (tmp_path / "in.csv").write_text("=age,town,note\n" + "\n".join(rows) + "\n")
    asked = ("--qid", "=age", "--qid", "town", "--k", "3", "--json", "--no-measures")
    plain = cli("anonymize", "in.csv", "plain.csv", *asked, *more)

    done = cli("anonymize", "in.csv", "out.csv", *asked, *more, "--guard-formulas")

    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["spec"]["guard_formulas"] is True
    assert told["digests"] == json.loads(plain.out)["digests"]
    assert json.loads(plain.out)["spec"]["guard_formulas"] is False
    with (tmp_path / "out.csv").open(newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [x for x in cells if DANGEROUS.match(x) and not NUMBER.fullmatch(x)]
    manifest = ("--manifest", "out.csv.manifest.json")
    checked = cli("verify", "out.csv", *manifest, "--with", "in.csv", "--redo")
    assert checked.code == 0, checked.err
    by_names = ("--qid", "=age", "--qid", "town", "--k", "3", "--guard-formulas")
    assert cli("verify", "out.csv", *by_names).code == 0
    assert cli("explain", "out.csv", *manifest).code == 0
    # As the file stands, classes are the same: no two cells are guarded alike.
    as_it_stands = ("--qid", "'=age", "--qid", "town", "--k", "3")
    assert cli("verify", "out.csv", *as_it_stands).code == 0


def test_guard_is_refused_where_others_write(cli: Command, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("a\n1\n")
    asked = ("--qid", "a", "--k", "2", "--guard-formulas")

    done = cli("anonymize", "in.csv", "out", *asked, "--engine", "spark")

    assert done.code == 2
    assert "written here" in done.err


# Code of strangers


def test_no_module_loads_pickles() -> None:
    forbidden = {"pickle", "dill", "joblib", "marshal", "shelve", "cloudpickle"}
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [item.name.partition(".")[0] for item in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [(node.module or "").partition(".")[0]]
            elif isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                assert isinstance(node.value, ast.Constant), path
                assert node.value.value is False, path
            elif isinstance(node, ast.Attribute):
                assert node.attr not in ("read_pickle", "to_pickle"), path
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec", "__import__"), path
            assert not forbidden & set(names), path


def test_pickles_are_no_tables(cli: Command, tmp_path: Path) -> None:
    import pickle

    for name in ("in.pkl", "in.csv", "in.parquet", "in.arrow"):
        (tmp_path / name).write_bytes(pickle.dumps({"age": [1, 2]}))
        done = cli("anonymize", name, "out.csv", "--qid", "age", "--k", "2")
        assert done.code in (2, 3), done.err
        (tmp_path / name).unlink()


def test_model_files_run_only_if_the_user_names_them(
    cli: Command, tmp_path: Path
) -> None:
    """A manifest, a table or a folder of strangers runs nothing."""
    ran = tmp_path / "ran"
    code = f"open({str(ran)!r}, 'w').close()\n"
    for name in ("evil.py", "sitecustomize.py", "core_mondrian.py", "KAnonymity.py"):
        (tmp_path / name).write_text(code)
    (tmp_path / "evil.pyc").write_bytes(b"\0" * 64)
    (tmp_path / "in.csv").write_text("age\n" + "1\n2\n" * 10)
    asked = ("--qid", "age", "--k", "2")
    assert cli("anonymize", "in.csv", "out.csv", *asked).code == 0
    manifest = tmp_path / "out.csv.manifest.json"
    told = json.loads(manifest.read_text())
    told["spec"]["models"].append({"name": "evil.py:Evil", "model": "evil.py:Evil"})
    told["models"].append({"name": "evil.py:Evil", "reached": 1.0})
    told["spec"]["hierarchies"] = {"age": {"kind": "evil.py:Evil"}}
    manifest.write_text(json.dumps(told))

    for words in (
        ("verify", "out.csv", "--manifest", manifest.name),
        ("explain", "out.csv", "--manifest", manifest.name),
        ("verify", "out.csv", "--manifest", manifest.name, "--with", "in.csv"),
        ("inspect", "in.csv"),
        ("anonymize", "in.csv", "o.csv", *asked, "--model", "evil.pyc:Evil"),
    ):
        cli(*words)
        assert not ran.exists(), words
    cli("anonymize", "in.csv", "o.csv", *asked, "--model", "evil.py:Evil")
    assert ran.exists()


def test_cells_of_a_damaged_file_are_not_told(cli: Command, tmp_path: Path) -> None:
    asked = ("--qid", "age", "--k", "2")
    names = [f"{CANARY} {i}" for i in range(99)]
    table = pa.table({"age": list(range(99)), "sex": names})
    path = tmp_path / "in.parquet"
    pq.write_table(table, path, compression="none")
    whole = path.read_bytes()
    for at in range(4, len(whole) - 8, len(whole) // 20):
        path.write_bytes(whole[:at] + b"\xff\xfe\x7f" + whole[at + 3 :])
        done = cli("anonymize", path, "out.csv", "--overwrite", *asked)
        assert done.code in (0, 3), done.err


def test_in_memory_tables_with_hostile_names_are_harmless_too() -> None:
    names = [name for name in HOSTILE_NAMES if name.strip()]
    columns = {name: [i % 4 for i in range(40)] for name in names}
    release = anonymize(pa.table(columns), Spec(tuple(names[:2]), (KAnonymity(2),)))

    assert release.data.column_names == names
    assert "<script>" not in release.report_html()
    assert "<script>" not in (release._repr_html_() or "")


def test_names_twice_and_too_many_are_told_without_a_cell(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("1,1,2\n3,4,5\n")
    with pytest.raises(DataError, match="first line a header"):
        read_table(path)
