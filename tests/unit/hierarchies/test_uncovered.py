"""Values that a hierarchy lacks: refused, given a branch of their own, or blanked."""

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest import IS_PLAIN

from core_mondrian import DataError, KAnonymity, Spec, SpecError, anonymize, verify
from core_mondrian.analysis.advise import sweep
from core_mondrian.datasets import adult
from core_mondrian.hierarchies.codes import Prefix
from core_mondrian.hierarchies.learned import Learned
from core_mondrian.hierarchies.ranges import Ranges
from core_mondrian.hierarchies.read import read_hierarchy
from core_mondrian.hierarchies.tree import from_paths
from core_mondrian.models.population import KMap
from core_mondrian.report.partition_plot import paint
from core_mondrian.spec.declaration import spec_from_mapping
from core_mondrian.spec.toml_file import load_spec

ADULT = os.environ.get("CORE_MONDRIAN_ADULT", "")
PETS = from_paths([("cat", "beast", "*"), ("dog", "beast", "*"), ("hen", "bird", "*")])
TABLE = pa.table({"pet": ["cat", "dog", "emu", "hen", "emu", "ant", None, "cat"] * 3})


def pets(uncovered: Any, **more: Any) -> Spec:
    return Spec(
        ("pet",),
        (KAnonymity(3),),
        hierarchies={"pet": PETS},
        uncovered=uncovered,
        **more,
    )


def test_error_names_rows_and_choices_but_no_cell() -> None:
    with pytest.raises(DataError) as caught:
        anonymize(TABLE, pets("error"))

    told = str(caught.value)
    assert "'pet' does not cover 2 of 5 values" in told
    assert "9 rows, counted from 0: 2, 4, 5, 10, 12, …" in told
    assert "'own branch'" in told
    assert "'suppress'" in told
    assert "emu" not in told


@pytest.mark.parametrize("policy", ["best", "paper"])
def test_own_branch_keeps_the_values(policy: str) -> None:
    spec = spec_from_mapping({"quasi_identifiers": ["pet"], "k": 3, "policy": policy})
    spec = pets("own branch", policy=spec.policy, suppress=spec.suppress)

    release = anonymize(TABLE, spec)

    assert release.data["pet"].to_pylist() == TABLE["pet"].to_pylist()
    assert release.n_blanked == 0
    assert release.hierarchies["pet"].leaves == (*PETS.leaves, "ant", "emu")


@pytest.mark.parametrize("missing", ["value", "pattern"])
def test_suppressed_cells_are_blank_and_counted(missing: Any) -> None:
    release = anonymize(TABLE, pets("suppress", missing=missing))

    expected = [None if x in ("emu", "ant") else x for x in TABLE["pet"].to_pylist()]
    assert release.data["pet"].to_pylist() == expected
    assert release.n_blanked == 9
    assert release.figures()["cells_blanked"] == 9
    assert release.n_suppressed == 0
    points = sweep(TABLE, pets("suppress", missing=missing), {"k": [3]}).points
    assert points[0].figures is not None
    assert points[0].figures.n_blanked == 9
    assert points[0].figures.digest == release.digest


def test_choice_of_a_column_goes_before_that_of_all() -> None:
    spec = pets("error", uncovered_by_column={"pet": "suppress"})

    assert anonymize(TABLE, spec).n_blanked == 9


def test_builders_leave_out_what_they_cannot_place() -> None:
    table = pa.table({"n": ["1", "2", "n/a", "n/a"] * 2})
    spec = Spec(("n",), (KAnonymity(4),), hierarchies={"n": Ranges((5,))})

    with pytest.raises(DataError, match="does not cover 1 of 3"):
        anonymize(table, spec)
    kept = anonymize(
        table,
        Spec(
            ("n",),
            (KAnonymity(4),),
            hierarchies=spec.hierarchies,
            uncovered="own branch",
        ),
    )
    assert kept.data["n"].to_pylist() == ["[0, 5)", "[0, 5)", "n/a", "n/a"] * 2


def test_column_that_is_not_covered_at_all_is_blank() -> None:
    table = pa.table({"n": ["a", "b"] * 4, "m": [1, 2] * 4})
    spec = Spec(
        ("n", "m"),
        (KAnonymity(4),),
        hierarchies={"n": Ranges((5,))},
        uncovered="suppress",
    )

    release = anonymize(table, spec)

    assert release.data["n"].null_count == 8
    assert release.n_blanked == 8
    assert release.measures().loss == 0.0


@pytest.mark.parametrize("uncovered", ["own branch", "suppress"])
@pytest.mark.parametrize(
    "entry", [PETS, Prefix(), Learned()], ids=["tree", "prefix", "learned"]
)
def test_population_is_covered_likewise(entry: Any, uncovered: Any) -> None:
    everybody = pa.table(
        {"pet": ["cat", "dog", "hen", "emu", "ant"] * 8, "n": [1, 2, 3, 4] * 10}
    )
    table = everybody.slice(0, 20)
    spec = Spec(
        ("pet", "n"),
        (KMap(4, everybody),),
        hierarchies={"pet": entry},
        uncovered=uncovered,
    )

    release = anonymize(table, spec)

    assert release.n_blanked == (8 if entry is PETS and uncovered == "suppress" else 0)
    if isinstance(entry, Learned):
        with pytest.raises(SpecError, match="cannot be learned again"):
            verify(release.data, spec)
    else:
        assert verify(release.data, spec).n_rows == 20


def test_painting_shows_no_values_of_a_tree_that_was_made_of_them() -> None:
    table = pa.table({"zip": ["13053", "13068", "14850"] * 4, "n": [1, 2, 3, 4] * 3})
    release = anonymize(
        table, Spec(("zip", "n"), (KAnonymity(6),), hierarchies={"zip": Prefix()})
    )

    assert "13068" not in paint(release, "zip", "n")


def test_spec_file_says_how_hierarchies_are_made(tmp_path: Path) -> None:
    (tmp_path / "pets.csv").write_text("cat;beast;*\nhen;bird;*\n")
    (tmp_path / "jobs.csv").write_text("cook,kitchen\nchef,kitchen\n")
    file = tmp_path / "spec.toml"
    file.write_text(
        """
        quasi_identifiers = ["pet", "zip", "age", "job", "day", "kin", "tel", "all"]
        k = 2
        uncovered = "suppress"
        [hierarchies]
        all = "pets.csv"
        pet = { file = "pets.csv", uncovered = "own branch" }
        zip = { kind = "prefix", steps = [2, 3] }
        age = { kind = "ranges", bounds = [[0, 18, 65], [18]] }
        job = { kind = "lookup", file = "jobs.csv" }
        day = { kind = "dates", levels = ["month", "year"] }
        tel = { kind = "redact", side = "left" }
        [hierarchies.kin]
        kind = "grouping"
        groups = { near = ["son", "wife"], far = ["aunt"] }
        """
    )

    spec = load_spec(file)

    assert spec.uncovered_of("pet") == "own branch"
    assert spec.uncovered_of("zip") == "suppress"
    told = spec.to_json()["hierarchies"]
    assert told["zip"] == {
        "kind": "prefix",
        "steps": [2, 3],
        "pad": "right",
        "sign": "*",
    }
    assert told["age"] == {"kind": "ranges", "bounds": [[0, 18, 65], [18]]}
    assert len(told["all"]) == 64
    assert "cook" not in str(told)
    assert "aunt" not in str(told)


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"knd": "prefix"}, "neither file nor kind"),
        ({"kind": "prefx"}, "did you mean 'prefix'?"),
        ({"kind": "prefix", "stepps": 2}, "did you mean 'steps'?"),
        ({"kind": "prefix", "steps": "2"}, "whole numbers"),
        ({"kind": "ranges", "bounds": 5}, "of the wrong kind"),
        ({"kind": "lookup"}, "lacks a key"),
        ({"kind": "grouping", "groups": {}}, "nothing below"),
        ({"file": 3}, "name of a file"),
        ({"file": "x.csv", "steps": 2}, "unknown key 'hierarchies.a.steps'"),
        ({"kind": "learned", "uncovered": "drop"}, "uncovered of 'a' is one of"),
    ],
)
def test_entry_that_cannot_be_is_refused(entry: Any, told: str) -> None:
    asked = {"quasi_identifiers": ["a"], "k": 2, "hierarchies": {"a": entry}}

    with pytest.raises((SpecError, DataError)) as caught:
        spec_from_mapping(asked)

    assert told in str(caught.value)


def test_spec_refuses_what_is_no_hierarchy() -> None:
    with pytest.raises(SpecError, match="is not a hierarchy"):
        Spec(("a",), (KAnonymity(2),), hierarchies={"a": 3})
    with pytest.raises(SpecError, match="uncovered is one of"):
        Spec(("a",), (KAnonymity(2),), uncovered="drop")  # type: ignore[arg-type]


@pytest.mark.skipif(
    not ADULT or IS_PLAIN, reason="CORE_MONDRIAN_ADULT names no folder with Adult"
)
@pytest.mark.parametrize("uncovered", ["error", "own branch", "suppress"])
def test_adult_with_the_hierarchies_of_arx(uncovered: Any) -> None:
    table = adult(ADULT)
    for i, name in enumerate(table.column_names):  # as it is shipped
        if table[name].null_count:
            table = table.set_column(i, name, table[name].cast("string").fill_null("?"))
    files = sorted((Path(ADULT) / "hierarchies").glob("*.csv"))
    trees = {file.stem: read_hierarchy(file) for file in files}
    spec = Spec(tuple(trees), (KAnonymity(5),), hierarchies=trees, uncovered=uncovered)
    lacking = {
        name: sum(
            x is not None and str(x) not in tree.leaves for x in table[name].to_pylist()
        )
        for name, tree in trees.items()
    }
    assert sum(lacking.values()) > 0

    if uncovered == "error":
        with pytest.raises(DataError, match="does not cover"):
            anonymize(table, spec)
        return
    release = anonymize(table, spec)

    assert release.data.num_rows == table.num_rows
    blanked = sum(lacking.values()) if uncovered == "suppress" else 0
    assert release.n_blanked == blanked
    assert release.verification.models[0].reached >= 5
