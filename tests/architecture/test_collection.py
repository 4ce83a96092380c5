"""Every test is collected, and every module says what it is for."""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import core_mondrian

TESTS = Path(__file__).parents[1]
HELPERS = {
    *("best_oracle.py", "conftest.py", "databases.py", "models_oracle.py"),
    *("hospital.py", "leftovers.py", "oracle.py", "studio_pages.py"),
    "make_vulnerable.py",
}
PACKAGE = Path(core_mondrian.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))


def rooms_of(file: Path) -> tuple[str, ...]:
    """Return the folders of a file inside the package, wherever that is."""
    return file.relative_to(PACKAGE).parts


@cache
def parse(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


@cache
def calls_in(file: Path) -> list[tuple[str, ast.Call]]:
    """Return what a file calls, and how that is written."""
    return [
        (ast.unparse(node.func), node)
        for node in ast.walk(parse(file))
        if isinstance(node, ast.Call)
    ]


def test_every_test_file_is_collected() -> None:
    found = (file for file in TESTS.rglob("*.py") if file.parent.name != "support")
    files = [file for file in found if file.name not in HELPERS]

    assert [file.name for file in files if not file.name.startswith("test_")] == []


def test_no_two_test_files_have_one_name() -> None:
    names = Counter(file.name for file in TESTS.rglob("*.py"))

    assert [name for name, n in names.items() if n > 1] == []


def test_unit_tests_stand_in_the_rooms_of_what_they_test() -> None:
    unit = TESTS / "unit"
    ours = {file.stem for file in PACKAGE.iterdir() if file.name[0] not in "._"}
    beside = {"benchmarks", "experiments", "supply"}

    assert sorted(file.name for file in unit.glob("*.py")) == []
    assert {
        file.relative_to(unit).parts[0] for file in unit.rglob("test_*.py")
    } <= ours | beside


def test_the_page_about_tests_names_every_folder() -> None:
    page = (TESTS / "README.md").read_text(encoding="utf-8")
    folders = {file.relative_to(TESTS).parts[0] for file in TESTS.glob("*/*.py")}

    assert [folder for folder in sorted(folders) if f"`{folder}/" not in page] == []


def test_every_module_has_a_docstring() -> None:
    bare = [file.name for file in SOURCES if not ast.get_docstring(parse(file))]

    assert bare == []


def test_libraries_do_not_print() -> None:
    programs = {"cli", "deploy"}
    silent = [file for file in SOURCES if programs.isdisjoint(rooms_of(file))]

    printing = [
        file.name
        for file in silent
        for called, _ in calls_in(file)
        if called == "print"
    ]

    assert printing == []


def test_nothing_reads_the_clock_or_hashes_but_where_it_may() -> None:
    # Determinism: seconds are reported by stages.py alone, and by progress.py to who
    # waits; hash() is used nowhere.
    suspects = [
        (file.name, called)
        for file in SOURCES
        if "cli" not in rooms_of(file) and file.name != "progress.py"
        for called, _ in calls_in(file)
        if called
        in {"hash", "time.time", "time.perf_counter", "datetime.now", "random.random"}
    ]

    assert suspects == []


def test_errors_about_files_say_what_to_do() -> None:
    readers = {"files", "hierarchies", "sources"}
    raised = [
        (file.name, node)
        for file in SOURCES
        if readers & {*rooms_of(file)}
        for called, node in calls_in(file)
        if called in {"DataError", "OutputError"}
    ]

    assert len(raised) > 20
    assert [
        (name, node.lineno)
        for name, node in raised
        if "hint" not in {word.arg for word in node.keywords}
    ] == []
