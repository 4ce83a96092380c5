"""The mutants are the ones meant, and a mutant that no test notices is told."""

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.mutants.__main__ import find_all, sources
from benchmarks.mutants.operators import find_mutants
from benchmarks.mutants.report import (
    check_explained,
    check_results,
    read_explained,
    write_report,
)

TINY = """
LEAST = 2

def is_enough(n):
    return n >= LEAST

def steps(n):
    done = 0
    while n > 0:
        n -= 1
        done += 1
    return done

def unused(n):
    return n + 1
"""
TESTS = """
from tiny import is_enough, steps

def test_enough():
    assert is_enough(9) and not is_enough(0)

def test_steps():
    assert steps(3) == 3
"""
RUN = """
import json, sys
from pathlib import Path
from benchmarks.mutants import session
session._AT_LEAST = 1.0
folder = Path(sys.argv[1])
source = session.Source("tiny.py", folder / "tiny.py", "tiny")
found = session.run_mutants([source], source.parse()[1], [str(folder)])
for line in found:
    print(json.dumps(line))
"""


def texts(source: str) -> list[str]:
    return [f"{m.operator}: {m.text}" for m in find_mutants(ast.parse(source), "f")]


def run(folder: Path, tests: str) -> subprocess.CompletedProcess[str]:
    (folder / "tiny.py").write_text(TINY)
    (folder / "test_tiny.py").write_text(tests)
    return subprocess.run(  # noqa: S603
        [sys.executable, "-c", RUN, str(folder)],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.long
def test_survivors_are_those_that_no_test_notices(tmp_path: Path) -> None:
    done = run(tmp_path, TESTS)

    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    survived = [line["text"] for line in lines if not line["killed_by"]]
    assert survived == [
        "return n >= LEAST → return n > LEAST",
        "return n + 1 → return None",
        "return n + 1 → return n - 1",
        "return n + 1 → return n + 2",
        "return n + 1 → return n + 0",
        "LEAST = 2 → LEAST = 3",
        "LEAST = 2 → LEAST = 1",
    ]
    killed = {line["text"]: line["killed_by"] for line in lines if line["killed_by"]}
    assert killed["return n >= LEAST → return n < LEAST"].endswith("::test_enough")
    assert killed["while n > 0: → while n >= 0:"].endswith("::test_steps")
    assert killed["n -= 1 → n += 1"] == "time limit"
    assert [line["n_tests"] for line in lines if line["function"] == "unused"] == [
        0
    ] * 4


def test_tests_have_to_pass_without_any_mutant(tmp_path: Path) -> None:
    done = run(tmp_path, TESTS.replace("== 3", "== 4"))

    assert done.returncode != 0
    assert done.stdout == ""
    assert "test_steps fails without any mutant" in done.stderr


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param(
            "x = a < b",
            [
                "comparison: x = a < b → x = a <= b",
                "comparison: x = a < b → x = a >= b",
            ],
            id="comparison",
        ),
        pytest.param(
            "x = a and not b",
            [
                "and, or: x = a and (not b) → x = a or not b",
                "sign: x = a and (not b) → x = a and b",
            ],
            id="boolean",
        ),
        pytest.param(
            "x = f(a, b, c=True)",
            [
                "argument: x = f(a, b, c=True) → x = f(a, b)",
                "argument: x = f(a, b, c=True) → x = f(a, c=True)",
                "constant: x = f(a, b, c=True) → x = f(a, b, c=False)",
            ],
            id="arguments",
        ),
        pytest.param(
            "x = math.floor(a)",
            ["call: x = math.floor(a) → x = math.ceil(a)"],
            id="call",
        ),
        pytest.param("x = a[b:]", ["slice: x = a[b:] → x = a[:]"], id="slice"),
        pytest.param(
            "for x in y:\n    if z:\n        continue",
            [
                "condition: if z: → if not z:",
                "loop: continue → pass",
                "loop: continue → break",
            ],
            id="loop",
        ),
        pytest.param(
            "if a is None:\n    raise Error(f'{1} and ' + str(2))",
            [
                "comparison: if a is None: → if a is not None:",
                "statement: raise Error(…) → pass",
            ],
            id="errors are left out, not reworded",
        ),
        pytest.param(
            'def f(a: Literal["x"]) -> "y":\n    """Tell 1."""\n    return f"{1}"',
            ["return: return f'{1}' → return None"],
            id="texts and types stay",
        ),
        pytest.param(
            'x = a == "blank"',
            [
                "comparison: x = a == 'blank' → x = a != 'blank'",
                "text: x = a == 'blank' → x = a == 'blank!'",
            ],
            id="texts that are asked for",
        ),
        pytest.param(
            "f()\nf()",
            ["statement: f() → pass", "statement: f() → pass #2"],
            id="twice the same",
        ),
    ],
)
def test_operators(source: str, expected: list[str]) -> None:
    assert texts(source) == expected


def test_every_mutant_can_be_compiled_and_told_from_others() -> None:
    of = sources()
    mutants = find_all(of)

    assert len({mutant.key for mutant in mutants}) == len(mutants)
    for source in of:
        keys = [mutant.key for mutant in mutants if mutant.file == source.file]
        source.code_with(keys[0])
        source.code_with(keys[-1])


def test_what_is_explained_is_still_there() -> None:
    mutants = find_all(sources())

    check_explained(read_explained(), mutants)
    with pytest.raises(SystemExit, match="no such mutant:\nf  g  call  x"):
        check_explained({("f", "g", "call", "x"): "because"}, mutants)


def of(text: str) -> tuple[str, str, str, str]:
    return "f.py", "g", "call", text


def line(text: str, killed_by: str) -> dict[str, Any]:
    return {
        "file": "f.py",
        "line": 1,
        "function": "g",
        "operator": "call",
        "text": text,
        "killed_by": killed_by,
    }


def test_figures_and_survivors() -> None:
    lines = [{"benchmark": "mutants"}]
    lines += [line("a", "t"), line("b", "t"), line("c", ""), line("d", "")]

    figures, survivors = write_report(
        lines, {of("c"): "it is the same"}, {"other.py": 3, "f.py": 9}
    ).values()

    assert "| f.py | 9 | 4 | 2 | 1 | 1 | 50.0 |" in figures
    assert "| all | 9 | 4 | 2 | 1 | 1 | 50.0 |" in figures
    assert "other" not in figures
    assert "* `f.py` g: it is the same\n  * `c`" in survivors
    assert "* `f.py` g: **not explained**\n  * `d`" in survivors


@pytest.mark.parametrize(
    ("n_killed", "explained", "wrong"),
    [
        pytest.param(20, {}, None, id="all are killed"),
        pytest.param(19, {"19": "same"}, None, id="just enough"),
        pytest.param(19, {}, "survives unexplained: f.py:1 g: 19", id="unexplained"),
        pytest.param(20, {"3": "same"}, "a test notices what is explained", id="stale"),
        pytest.param(
            18, {"18": "same", "19": "same"}, "2 of 20 mutants survive", id="too many"
        ),
    ],
)
def test_what_is_checked(
    n_killed: int, explained: dict[str, str], wrong: str | None
) -> None:
    lines = [line(str(i), "t" if i < n_killed else "") for i in range(20)]
    known = {of(text): reason for text, reason in explained.items()}

    if wrong is None:
        check_results(lines, known)
        return
    with pytest.raises(SystemExit, match=wrong):
        check_results(lines, known)
