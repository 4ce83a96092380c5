"""Attacks on releases made the old way succeed, and on those made today they fail.

The old releases are in tests/fixtures/vulnerable, as version 0.1.0 made them.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Command, in_process
from databases import Place

from core_mondrian import KAnonymity, Spec, Suppression, anonymize, attack
from core_mondrian.datasets import census
from core_mondrian.sources.sql.anonymize import anonymize_sql
from core_mondrian.spec.policies import BestPolicy

OLD = Path(__file__).parents[1] / "fixtures" / "vulnerable"


@pytest.fixture
def command(capfd: Any, monkeypatch: Any, tmp_path: Path) -> Command:
    monkeypatch.chdir(tmp_path)
    return in_process(capfd)


def attacked(command: Command, release: Path, original: Path, name: str) -> Any:
    """Return what an attack found; None: there is nothing that it could look at."""
    done = command("attack", release, "--with", original, "--json")
    assert done.code == 0, done.err
    found = [one for one in json.loads(done.out)["attacks"] if one["name"] == name]
    return found[0] if found else None


def attack_old(command: Command, folder: str, suffix: str, name: str) -> Any:
    place = OLD / folder
    return attacked(
        command, place / f"release{suffix}", place / f"people{suffix}", name
    )


def attack_new(
    command: Command, folder: str, suffix: str, name: str, *options: object
) -> Any:
    """Make the release of a fixture again, and attack it."""
    original, release = OLD / folder / f"people{suffix}", Path(f"release{suffix}")
    done = command("anonymize", original, release, *options, "--shuffle", "7")
    assert done.code == 0, done.err
    return attacked(command, release, original, name)


# Split tuples


def test_public_hash_names_the_lone_person_of_an_old_release(command: Command) -> None:
    found = attack_old(command, "split_tuples", ".csv", "split tuples")

    assert found["succeeded"]
    numbers = found["numbers"]
    assert (numbers["singled_out"], numbers["right"]) == (1, 1)
    assert numbers["by_chance"] == pytest.approx(0.2)


def test_place_of_rows_names_the_lone_person_of_an_old_database_release(
    command: Command,
) -> None:
    found = attack_old(command, "split_tuples_database", ".csv", "split tuples")

    assert found["succeeded"]
    assert (found["numbers"]["singled_out"], found["numbers"]["right"]) == (1, 1)
    assert "place in the release" in found["sentence"]


@pytest.mark.usefixtures("random_keys")
@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_lone_person_of_a_new_database_release_is_not_named(
    kind: str, tmp_path: Path
) -> None:
    """By no order of rows that cells or places give; `shuffle` is not for databases."""
    place = Place(kind, str(tmp_path / f"people.{kind}"))
    place.run("SELECT 1")
    spec = replace(ALONE, shuffle=None)
    firsts = []
    for seed in range(12):
        table = departments(seed)
        place.run("DROP TABLE IF EXISTS people")
        place.load("people", table)
        anonymize_sql(place.url, "people", "released", spec, overwrite=True)
        rows = zip(*place.fetch("SELECT * FROM released"), strict=True)
        released = pa.table(dict(zip(table.column_names, map(list, rows), strict=True)))

        (found,) = attack(released, table, spec).named("split tuples")

        assert not found.succeeded
        lone = table.to_pandas().set_index("department").loc["Board", "remark"]
        mixed = released.to_pandas().query("department == '*'")["remark"].tolist()
        firsts.append(mixed.index(lone))
    assert len(set(firsts)) > 1


def departments(seed: int, n: int = 251) -> pa.Table:
    """Return a table in which one person is alone in their department."""
    draws = np.random.default_rng(seed)
    table = pa.table(
        {
            "department": ["Sales"] * (n - 1) + ["Board"],
            "salary": draws.permutation(90_000)[:n],
            "remark": [f"remark {i}" for i in draws.permutation(n)],
        }
    )
    return table.take(pa.array(draws.permutation(n)))


ALONE = Spec(("department",), (KAnonymity(5),), shuffle=7)


@pytest.mark.usefixtures("random_keys")
def test_lone_person_of_a_new_release_is_not_named() -> None:
    tables = [departments(seed) for seed in range(20)]

    found = [
        attack(anonymize(table, ALONE).data, table, ALONE).named("split tuples")[0]
        for table in tables
    ]

    assert not any(one.succeeded for one in found)


def test_lone_person_is_not_named_where_chance_lends_the_rows() -> None:
    """What a secret key does, done by a random draw: the attack finds nothing."""
    named = 0
    for seed in range(40):
        table = departments(seed).to_pandas()
        draws = np.random.default_rng(1000 + seed)
        sales = np.flatnonzero(table["department"] == "Sales")
        lent = draws.choice(sales, 4, replace=False)
        released = table.copy()
        released.loc[[*lent, *np.flatnonzero(table["department"] == "Board")]] = (
            released.assign(department="*")
        )
        released = released.iloc[draws.permutation(len(released))]

        (found,) = attack(released, table, ALONE).named("split tuples")

        assert not found.succeeded
        named += int(found.numbers["right"])
    assert named <= 40 / 5 + 3 * np.sqrt(40 / 5 * 4 / 5)


def test_place_of_rows_names_a_lone_person_too() -> None:
    """Lists have no keys in version 0.1.0: the order of rows decided."""
    table = departments(1).select(["department"])
    values = pa.array([[i] for i in np.random.default_rng(2).permutation(251)])
    table = table.append_column("visits", values)
    # The first four of Sales, as the order of the file has them, are lent.
    frame = table.to_pandas()
    sales = frame.index[frame["department"] == "Sales"]
    frame.loc[
        [*sales[:4], *frame.index[frame["department"] == "Board"]], "department"
    ] = "*"

    (found,) = attack(frame, table.to_pandas(), ALONE).named("split tuples")

    assert found.succeeded
    assert found.numbers["right"] == 1


# Manifest


INCOMES = (
    *("--qid", "sex", "--qid", "race", "--k", "5"),
    *("--model", "distinct-l-diversity l=2 sensitive=income"),
)


def test_digest_of_the_input_picks_the_true_table_of_an_old_release(
    command: Command,
) -> None:
    found = attack_old(command, "manifest", ".csv", "manifest")

    assert found["succeeded"]
    assert found["columns"] == ["digests.input", "digests.tree"]
    assert (found["numbers"]["possible"], found["numbers"]["left"]) == (21, 1)


@pytest.mark.usefixtures("random_keys")
def test_nothing_in_a_new_manifest_confirms_a_guess(command: Command) -> None:
    found = attack_new(command, "manifest", ".csv", "manifest", *INCOMES)

    assert found["numbers"]["tried"] > 0
    assert (found["succeeded"], found["columns"]) == (False, [])


@pytest.mark.usefixtures("random_keys")
def test_nothing_in_a_new_manifest_confirms_a_suppressed_row() -> None:
    table = census(200)
    spec = Spec(
        ("age", "race"),
        (KAnonymity(9),),
        suppress=Suppression(rows=10),
        policy=BestPolicy(price=0.1),
    )
    release = anonymize(table, spec)
    assert release.n_suppressed == 10

    (found,) = attack(release.data, table, spec, manifest=release.manifest()).named(
        "manifest"
    )

    assert found.numbers["tried"] > 0
    assert found.columns == ()


# Physical order


def test_dictionary_page_of_an_old_release_has_the_original_order(
    command: Command,
) -> None:
    found = attack_old(command, "physical_order", ".parquet", "physical order")

    assert (found["succeeded"], found["columns"]) == (True, ["ward"])
    assert found["numbers"]["correlation"] > 0.99
    assert found["numbers"]["released"] < 0.3


def test_dictionary_page_of_a_new_release_has_no_order(command: Command) -> None:
    found = attack_new(
        *(command, "physical_order", ".parquet", "physical order"),
        *("--qid", "age", "--qid", "sex", "--k", "5"),
    )

    assert found is None or not found["succeeded"]


# Leftovers


def test_nested_dictionary_of_an_old_release_keeps_suppressed_values(
    command: Command,
) -> None:
    found = attack_old(command, "leftovers", ".arrow", "leftovers")

    assert (found["succeeded"], found["columns"]) == (True, ["drugs"])
    assert found["numbers"]["unused"] == 10


def test_nested_dictionary_of_a_new_release_is_clean(command: Command) -> None:
    spec = OLD / "leftovers" / "spec.toml"

    found = attack_new(command, "leftovers", ".arrow", "leftovers", "--spec", spec)

    assert not found["succeeded"]


# Persons


PATIENTS = ("--qid", "age", "--qid", "sex", "--qid", "race", "--k", "5")


def test_classes_of_an_old_release_hold_too_few_persons(command: Command) -> None:
    found = attack_old(command, "persons", ".csv", "persons")

    people = pd.read_csv(OLD / "persons" / "people.csv")
    released = pd.read_csv(OLD / "persons" / "release.csv", keep_default_na=False)
    whose = people.set_index("cost")["patient"]
    classes = released.assign(patient=released["cost"].map(whose)).groupby(
        ["age", "sex", "race"]
    )["patient"]
    persons = classes.nunique()
    assert found["succeeded"]
    assert found["numbers"]["few"] == (persons < 5).sum() == 57
    assert found["numbers"]["one"] == (persons == 1).sum() == 9


def test_classes_of_a_release_with_a_unit_hold_enough_persons(command: Command) -> None:
    found = attack_new(
        command, "persons", ".csv", "persons", *PATIENTS, "--unit", "patient"
    )

    assert not found["succeeded"]
    assert found["numbers"]["few"] == 0


# What every attack keeps to itself


@pytest.mark.parametrize(
    "folder", [path.name for path in sorted(OLD.iterdir()) if path.is_dir()]
)
def test_no_cell_is_printed(command: Command, folder: str) -> None:
    (release,) = (
        path for path in (OLD / folder).glob("release.*") if path.suffix != ".json"
    )
    original = release.with_stem("people")
    printed = command("attack", release, "--with", original).out

    table = (
        pq.read_table(original).to_pandas()
        if original.suffix == ".parquet"
        else pa.ipc.open_file(original).read_all().to_pandas()
        if original.suffix == ".arrow"
        else pd.read_csv(original)
    )
    texts = [column for column in table if table[column].dtype.kind in "OT"]
    for column in texts:
        for cell in table[column].astype(str).unique():
            assert cell not in printed, column
