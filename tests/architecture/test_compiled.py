"""Compiled modules are compiled, and say the same as what Python sees of them."""

import ast
import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.plain_engine import IS_PLAIN

import core_mondrian

PACKAGE = Path(core_mondrian.__file__).parent
HEADERS = {"layout", "records", "objective"}
"""C declarations and inlined functions: nothing to compile."""
layout: Any = importlib.import_module("core_mondrian.engine.layout")
MODULES = sorted(
    file.with_suffix(".py")
    for file in PACKAGE.rglob("*.pxd")
    if file.stem not in HEADERS
)
TYPES = {"double": np.float64, "long long": np.int64, "int": np.int32}
MOST_PARAMETERS = 6


def name_of(file: Path) -> str:
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts)


def marked_twins(file: Path) -> set[str]:
    """The modules that tests of a file compare with slow twins, and call."""
    text = file.read_text(encoding="utf-8")
    marked = set(re.findall(r'\bpytest\.mark\.twin\("([\w.]+)"\)', text))
    return {name for name in marked if name in text.replace(f'twin("{name}")', "")}


def test_every_compiled_module_is_compared_with_a_slow_twin() -> None:
    """A test marked ``twin`` calls it directly: tests/README.md says how."""
    files = Path(__file__).parents[1].rglob("test_*.py")
    marked = set().union(*(marked_twins(file) for file in files))
    declared = {name_of(file).partition(".")[2] for file in PACKAGE.rglob("*.pxd")}

    assert len(declared) > 35
    assert sorted(declared - marked) == []
    assert sorted(marked - declared) == []


@pytest.mark.skipif(IS_PLAIN, reason="asked to run as plain Python")
@pytest.mark.parametrize("file", MODULES, ids=name_of)
def test_a_module_with_declarations_is_compiled(file: Path) -> None:
    module = importlib.import_module(name_of(file))

    assert module.__file__ is not None
    assert Path(module.__file__).suffix in {".so", ".pyd"}


def declared() -> str:
    return (PACKAGE / "engine" / "layout.pxd").read_text(encoding="utf-8")


@pytest.mark.twin("engine.layout")
def test_constants_are_the_same_in_c_and_in_python() -> None:
    found = {}
    for body in re.findall(r"cdef enum:\n((?:    .*\n)+)", declared()):
        value = -1
        for item in filter(None, re.split(r"[,\s]*\n\s*|,\s*", body.strip())):
            name, _, given = (part.strip() for part in item.partition("="))
            value = int(given) if given else value + 1
            found[name] = value

    assert len(found) > 25
    assert found == {name: getattr(layout, name) for name in found}


@pytest.mark.twin("engine.layout")
def test_records_are_the_same_in_c_and_in_python() -> None:
    kinds = {name: x for name, x in vars(layout).items() if isinstance(x, np.dtype)}
    structs = {}
    for name, body in re.findall(
        r"ctypedef struct (\w+):\n((?:    .+\n)+)", declared()
    ):
        fields = [line.strip().rpartition(" ") for line in body.strip().splitlines()]
        constant = re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper()
        structs[constant] = np.dtype(
            [(n, TYPES[kind]) for kind, _, n in fields], align=True
        )

    assert len(structs) > 15
    assert structs == kinds


def functions() -> list[tuple[str, ast.FunctionDef]]:
    return [
        (f"{name_of(file)}.{node.name}", node)
        for file in MODULES
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    ]


def test_functions_have_a_handful_of_parameters() -> None:
    many = {
        name
        for name, node in functions()
        if len([x for x in node.args.args if x.arg != "self"]) > MOST_PARAMETERS
    }

    assert many == set()


@pytest.mark.parametrize(
    ("room", "other"),
    [("paper", "engine.search"), ("search", "engine.paper"), ("", "recode")],
)
def test_c_imports_keep_the_rules_of_the_house(room: str, other: str) -> None:
    # import-linter does not see them.
    home = PACKAGE / "engine" / room
    files = [file for kind in ("py", "pxd") for file in home.rglob(f"*.{kind}")]
    names = rf"(cython\.cimports\.|from )core_mondrian\.{other}\b"

    assert files
    assert [x.name for x in files if re.search(names, x.read_text("utf-8"))] == []


def test_without_compiled_modules_the_error_says_what_to_do(tmp_path: Path) -> None:
    libraries = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "core_mondrian", ignore=libraries)

    done = subprocess.run(
        [sys.executable, "-c", "import core_mondrian; core_mondrian.KAnonymity"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        check=False,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 1
    assert "needs a C compiler" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "name", [name for name, x in vars(layout).items() if isinstance(x, np.dtype)]
)
def test_no_field_is_called_like_something_every_record_has(name: str) -> None:
    """Uncompiled code would read that instead: ``record.size`` is 1."""
    assert not set(getattr(layout, name).names or ()) & set(dir(np.void))
