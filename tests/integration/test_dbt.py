"""The dbt package: its SQL in plain DuckDB, and its example with dbt itself."""

import json
import os
import random
import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import jinja2
import pytest

ROOT = Path(__file__).parents[2]
DBT = ROOT / ".venv-dbt" / "bin" / "dbt"


class Refused(Exception):
    """What dbt raises for a wrong argument."""


class Adapter:
    @staticmethod
    def quote(name: str) -> str:
        return '"' + name.replace('"', '""') + '"'


class Exceptions:
    @staticmethod
    def raise_compiler_error(text: str) -> None:
        raise Refused(text)


def rendered(test: str, *arguments: Any, **named: Any) -> str:
    """Return the SQL of a generic test, as dbt renders it."""
    files = sorted((ROOT / "dbt" / "macros").glob("*.sql"))
    text = "\n".join(path.read_text("utf-8") for path in files)
    text = re.sub(r"{% test (\w+)", r"{% macro test_\1", text)
    text = text.replace("{% endtest %}", "{% endmacro %}")
    environment = jinja2.Environment()  # noqa: S701  # SQL, as in dbt
    environment.globals |= {"adapter": Adapter, "exceptions": Exceptions}
    environment.globals["core_mondrian"] = package = SimpleNamespace()
    module = environment.from_string(text).module
    package.__dict__.update(vars(module))
    return str(getattr(module, f"test_{test}")(*arguments, **named))


def sizes_by_hand(
    rows: list[tuple[Any, ...]], value: int | None, least: int
) -> dict[int, int]:
    """Count the classes of each size that is too small; None is a value."""
    classes = defaultdict(list)
    for row in rows:
        classes[row[:2]].append(row if value is None else row[value])
    found: dict[int, int] = defaultdict(int)
    for members in classes.values():
        n = len(members) if value is None else len(set(members))
        if n < least:
            found[n] += 1
    return dict(found)


@pytest.mark.parametrize("seed", range(20))
def test_what_the_tests_return_is_what_a_count_by_hand_finds(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311
    rows = [
        (
            *(dice.choice([None, "a", "b", "'"]) for _ in range(2)),
            dice.choice([None, 1, 2]),
            dice.choice([None, *range(5)]),
        )
        for _ in range(dice.randrange(0, 60))
    ]
    with duckdb.connect() as connection:
        connection.execute(
            'CREATE TABLE t ("an age" TEXT, "q""x" TEXT, ill INT, who INT)'
        )
        if rows:
            connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
        columns = ["an age", 'q"x']
        least = dice.randrange(1, 8)
        for sql, value in (
            (rendered("k_anonymous", "t", columns, least), None),
            (rendered("k_anonymous", "t", columns, least, unit="who"), 3),
            (rendered("l_diverse", "t", columns, "ill", least), 2),
        ):
            found = dict(connection.execute(sql).fetchall())
            assert found == sizes_by_hand(rows, value, least)


@pytest.mark.parametrize("columns", ["age", []])
def test_columns_that_are_no_list_are_refused(columns: Any) -> None:
    with pytest.raises(Refused, match="list of quasi-identifiers"):
        rendered("k_anonymous", "t", columns, 5)


@pytest.mark.parametrize("least", [None, "", "five", "5.5", 5.5, True, 0, -5, [5]])
def test_what_is_no_number_is_refused_and_passes_no_table(least: Any) -> None:
    with pytest.raises(Refused, match="k is a whole number, 1 or more"):
        rendered("k_anonymous", "t", ["age"], least)
    with pytest.raises(Refused, match="l is a whole number, 1 or more"):
        rendered("l_diverse", "t", ["age"], "ill", least)


def test_a_number_may_be_written_as_text() -> None:
    assert "where n < 5\n" in rendered("k_anonymous", "t", ["age"], "5")


def build(folder: Path, *arguments: str) -> tuple[int, dict[str, str]]:
    """Return the exit code of `dbt build`, and what became of each model and test."""
    more = {
        "PYTHONPATH": str(ROOT / "src"),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        "EXAMPLE_DATABASE": str(folder / "example.duckdb"),
    }
    done = subprocess.run(  # noqa: S603
        [DBT, *arguments, "--profiles-dir", "."],
        cwd=folder / "example",
        env=os.environ | more,
        capture_output=True,
        text=True,
        check=False,
    )
    results = folder / "example" / "target" / "run_results.json"
    if arguments[0] != "build":
        return done.returncode, {}
    told = json.loads(results.read_text("utf-8"))["results"]
    return done.returncode, {
        ".".join(one["unique_id"].split(".")[:3])[:48]: one["status"] for one in told
    }


@pytest.mark.skipif(not DBT.exists(), reason="dbt is not here: make dbt")
def test_the_example_gates_a_model(tmp_path: Path) -> None:
    folder = tmp_path / "dbt"
    shutil.copytree(ROOT / "dbt", folder)
    assert build(folder, "deps")[0] == 0

    code, status = build(folder, "build")
    assert code == 0, status
    assert status["model.example.incomes"] == "success"
    assert sorted(status.values()) == ["pass", "pass", "success", "success", "success"]

    code, status = build(folder, "build", "--vars", "{k: 2}")
    assert code == 1, status
    assert status["model.example.incomes"] == "skipped"
    assert sorted(status.values()) == ["fail", "pass", "skipped", "success", "success"]
