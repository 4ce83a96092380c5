"""Wheel and sdist hold what they should, and the wheel works where nothing else is.

The wheel is built from the sdist, and installed into a new environment that sees the
packages that core-mondrian names as its own dependencies and nothing else: no extra, no
test tool, no compiler of ours, no checkout. They are links to those of the environment
that runs the tests, so nothing is downloaded.

Compiling takes most of the time, so the wheel is of the build in which every index is
checked: it finds no wrong one, and makes the same releases. That is the short form of
`make checked`, which runs all tests of the engine that way, as `make sanitized` does
with AddressSanitizer and UBSan. With --all, the wheel is the one that users get, too.
"""

import csv
import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from email import message_from_bytes
from importlib.metadata import Distribution
from pathlib import Path

import pytest

import core_mondrian
from supply.closure import needed
from supply.lock import ROOT

pytest.importorskip("Cython", reason="what the build needs is not installed")
NAME = f"core_mondrian-{core_mondrian.__version__}"
DATA = {".csv", ".data", ".parquet", ".arrow", ".feather", ".db", ".duckdb", ".xlsx"}
LIBRARY = sysconfig.get_config_var("EXT_SUFFIX")
HEADERS = ("layout", "records", "objective")
"""What others include: it has nothing of its own to compile."""
_BESIDE = ("", ".manifest.json", ".owner.json")


def build(source: Path, target: Path, kind: str, how: str = "") -> None:
    """Build without isolation: the backend is in the development environment."""
    script = (
        f"from setuptools import build_meta; build_meta.build_{kind}({str(target)!r})"
    )
    subprocess.run(  # noqa: S603
        [sys.executable, "-c", script],
        cwd=source,
        env={
            **os.environ,
            "SOURCE_DATE_EPOCH": "1700000000",
            "CORE_MONDRIAN_BUILD": how,
        },
        check=True,
        capture_output=True,
    )


@pytest.fixture(
    scope="module", params=["checked", pytest.param("", marks=pytest.mark.slow)]
)
def built(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Return a folder with the sdist, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("built")
    build(ROOT, folder, "sdist")
    with tarfile.open(folder / f"{NAME}.tar.gz") as sdist:
        sdist.extractall(folder / "source", filter="data")
    build(folder / "source" / NAME, folder, "wheel", request.param)
    return folder


def wheel_of(built: Path) -> Path:
    (wheel,) = built.glob(f"{NAME}-*.whl")
    return wheel


def files_of_source() -> set[str]:
    """Return the files that the package must hold, from the checkout itself."""
    source = ROOT / "src"
    return {
        str(file.relative_to(source))
        for file in source.rglob("*")
        if file.is_file()
        and not {"__pycache__", "core_mondrian.egg-info"} & {*file.parts}
        and file.suffix not in {".so", ".pyd"}
    }


def compiled_of_source() -> set[str]:
    """Return the libraries that are made of modules with a .pxd beside them."""
    headers = [
        file for file in (ROOT / "src").rglob("*.pxd") if file.stem not in HEADERS
    ]
    names = [file.relative_to(ROOT / "src").with_suffix("") for file in headers]
    helpers = "core_mondrian/_cython_helpers"
    return {f"{name}{LIBRARY}" for name in (helpers, *names)}


def test_the_wheel_holds_every_file_of_the_package_and_no_other(built: Path) -> None:
    with zipfile.ZipFile(wheel_of(built)) as wheel:
        names = set(wheel.namelist())
    about = {name for name in names if name.startswith(f"{NAME}.dist-info/")}

    assert names - about == files_of_source() | compiled_of_source()
    assert {
        "core_mondrian/py.typed",
        "core_mondrian/report/templates/report.css",
        "core_mondrian/report/templates/report.html.j2",
    } <= names
    assert {name.partition("/")[2] for name in about} == {
        *(
            "METADATA",
            "WHEEL",
            "RECORD",
            "entry_points.txt",
            "licenses/LICENSE",
            "top_level.txt",
        ),
    }


def test_the_sdist_holds_what_the_tests_need_and_no_data(built: Path) -> None:
    with tarfile.open(built / f"{NAME}.tar.gz") as sdist:
        sizes = {file.name.partition("/")[2]: file.size for file in sdist.getmembers()}
    folders = {name.partition("/")[0] for name in sizes if "/" in name}

    assert {"LICENSE", "README.md", "Makefile", "pyproject.toml"} <= set(sizes)
    assert {"src", "tests", "supply", "requirements"} <= folders
    tables = [name for name in sizes if Path(name).suffix in DATA]
    made_up = "tests/fixtures/vulnerable/"
    assert [name for name in tables if not name.startswith(made_up)] == []
    assert max(sizes.values()) < 1_000_000


def test_links_of_the_description_work_on_a_package_index(built: Path) -> None:
    with zipfile.ZipFile(wheel_of(built)) as wheel:
        (name,) = [one for one in wheel.namelist() if one.endswith("/METADATA")]
        about = message_from_bytes(wheel.read(name))
    page = str(about.get_payload())
    targets = re.findall(r"\]\(([^)\s]+)", page)

    assert about["Description-Content-Type"].startswith("text/markdown")
    assert len(targets) > 20
    assert [one for one in targets if not one.startswith("https://")] == []
    assert any(one.endswith("/raw/main/docs/demo.svg") for one in targets)


def link(package: Distribution, folder: Path) -> None:
    """Make a package that is installed here importable from another folder."""
    for top in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
        (folder / top).symlink_to(Path(str(package.locate_file(top))))


def without_checkout() -> dict[str, str]:
    """Return our environment, but for what could lead to a checkout."""
    hidden = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}
    return {name: text for name, text in os.environ.items() if name not in hidden}


@pytest.fixture(scope="module")
def clean(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the scripts of an environment: the wheel and its dependencies only."""
    folder = tmp_path_factory.mktemp("clean")
    make = [sys.executable, "-m", "venv", "--without-pip", folder]
    subprocess.run(make, check=True)  # noqa: S603
    places = sysconfig.get_paths("venv", {"base": folder, "platbase": folder})
    for package in needed([]).values():
        link(package, Path(places["purelib"]))
    pip = [sys.executable, "-m", "pip", "--python", Path(places["scripts"]) / "python"]
    subprocess.run(  # noqa: S603
        [*pip, "install", "--quiet", "--no-index", "--no-compile", wheel_of(built)],
        env=without_checkout(),
        check=True,
    )
    return Path(places["scripts"])


def run(clean: Path, folder: Path, command: str, *arguments: str, code: int = 0) -> str:
    """Return what a command of the environment prints, away from the checkout."""
    done = subprocess.run(  # noqa: S603
        [clean / command, *arguments],
        cwd=folder,
        env={**without_checkout(), "COLUMNS": "80"},
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == code, done.stdout
    return done.stdout


def test_nothing_comes_from_the_checkout(clean: Path, tmp_path: Path) -> None:
    script = (
        "import importlib.util as u, sys, json, core_mondrian;"
        "print(json.dumps([core_mondrian.__file__, sys.path,"
        " [u.find_spec(x) is None for x in"
        " ('pandas', 'polars', 'pytest', 'Cython', 'numba')]]))"
    )

    file, path, are_absent = json.loads(run(clean, tmp_path, "python", "-c", script))

    assert Path(file).is_relative_to(clean.parent)
    assert [place for place in path if Path(place).is_relative_to(ROOT)] == []
    assert all(are_absent)


def test_the_command_says_its_version_and_helps(clean: Path, tmp_path: Path) -> None:
    version = run(clean, tmp_path, "core-mondrian", "--version")

    assert version.strip() == core_mondrian.__version__
    assert "demo" in run(clean, tmp_path, "core-mondrian", "demo", "--help")


def test_a_table_is_anonymized_and_verified(clean: Path, tmp_path: Path) -> None:
    rows = [(age, "fm"[age % 2], age % 3) for age in range(20, 60)]
    with (tmp_path / "people.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("age", "sex", "disease"), *rows])
    asked = ["--k", "4", "--qid", "age", "--qid", "sex"]
    files = ["people.csv", "release.csv"]

    run(clean, tmp_path, "core-mondrian", "anonymize", *files, *asked)
    verified = run(clean, tmp_path, "core-mondrian", "verify", "release.csv", *asked)

    with (tmp_path / "release.csv").open(newline="") as file:
        shown = [(row["age"], row["sex"]) for row in csv.DictReader(file)]
    assert len(shown) == len(rows)
    assert min(shown.count(one) for one in shown) >= 4
    assert "verified    4-anonymity" in verified


def test_a_report_is_refused_before_any_work(clean: Path, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,sex\n20,f\n30,m\n")
    asked = ["people.csv", "release.csv", "--qid", "age", "--k", "2"]
    asked += ["--report", "report.html"]

    told = run(clean, tmp_path, "core-mondrian", "anonymize", *asked, code=2)

    assert "core-mondrian[report]" in told
    assert [file.name for file in tmp_path.iterdir()] == ["people.csv"]


def test_it_runs_at_once_where_nothing_can_be_written(
    clean: Path, tmp_path: Path
) -> None:
    """As in a container: installed by root, run by a user without a home, twice."""
    rows = [(age, "fm"[age % 2]) for age in range(20, 60)]
    with (tmp_path / "people.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("age", "sex"), *rows])
    installed = {path for path in clean.parent.rglob("*") if not path.is_symlink()}
    hidden = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "HOME", "XDG_CACHE_HOME"}
    kept = {name: text for name, text in os.environ.items() if name not in hidden}
    command = [clean / "core-mondrian", "anonymize", "people.csv"]
    asked = ["--k", "4", "--qid", "age", "--qid", "sex"]
    for path in installed:
        path.chmod(path.stat().st_mode & ~0o222)

    running = [
        subprocess.Popen(  # noqa: S603
            [*command, f"release{i}.csv", *asked],
            cwd=tmp_path,
            env={**kept, "PYTHONDONTWRITEBYTECODE": ""},
            stderr=subprocess.PIPE,
            text=True,
        )
        for i in range(2)
    ]
    words = [process.communicate()[1] for process in running]
    for path in installed:
        path.chmod(path.stat().st_mode | 0o200)

    assert [process.returncode for process in running] == [0, 0], words
    digests = {line for text in words for line in text.splitlines() if "digest" in line}
    assert len(digests) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "people.csv",
        *(f"release{i}.csv{end}" for i in range(2) for end in _BESIDE),
    ]


# Every index is checked

RELEASES = """
from core_mondrian import *
from core_mondrian.models import DistinctLDiversity, EntropyLDiversity, TCloseness
from core_mondrian.datasets import census

table = census(1200, seed=5)
names = ("age", "sex", "occupation", "marital_status", "hours_per_week")
models = [
    [KAnonymity(4)],
    [KAnonymity(3), TCloseness(0.4, "income")],
    [DistinctLDiversity(2, "income"), EntropyLDiversity(1.5, "income")],
]
policies = [PaperPolicy(), OriginalPolicy(), BestPolicy(), BestPolicy(effort="strong")]
for policy in policies:
    for asked in models:
        for how in ({}, {"unit": "person_id"}, {"suppress": Suppression(share=0.02)}):
            if how.get("suppress") and isinstance(policy, OriginalPolicy):
                continue
            spec = Spec(names, models=tuple(asked), policy=policy, **how)
            release = anonymize(table, spec, threads=2)
            print(release.tree.digest, release.digest)
"""
WRONG_INDEX = """
import numpy as np
from core_mondrian.engine.boxes import find_boxes
from core_mondrian.engine.inputs import build_tuples

tuples = build_tuples(np.zeros((3, 1), np.int32), np.ones(3, np.int64), np.arange(3))
boxes = np.zeros((1, 1), np.int32)
find_boxes(tuples, np.array([0]), np.array([9]), boxes, boxes)
"""


def test_no_index_is_wrong_and_releases_are_the_same(
    clean: Path, tmp_path: Path
) -> None:
    expected = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "ignore", "-c", RELEASES],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        check=True,
        capture_output=True,
        text=True,
    ).stdout

    found = run(clean, tmp_path, "python", "-W", "ignore", "-c", RELEASES)

    assert len(expected.splitlines()) == 33
    assert found == expected


@pytest.mark.parametrize("built", ["checked"], indirect=True)
def test_a_wrong_index_would_be_told(clean: Path, tmp_path: Path) -> None:
    assert "IndexError" in run(clean, tmp_path, "python", "-c", WRONG_INDEX)
