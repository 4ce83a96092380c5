"""Warnings about columns that pass through: found, counted right, without a cell."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from conftest import Frame
from hypothesis import given
from hypothesis import strategies as st

from core_mondrian import (
    KAnonymity,
    Release,
    Spec,
    SpecError,
    Suppression,
    anonymize,
)
from core_mondrian.datasets import adult, census
from core_mondrian.measures import disclosure_warnings as concerns
from core_mondrian.measures.disclosure_warnings import Generalized
from core_mondrian.measures.leakage import Hidden, leaked_share
from core_mondrian.tables.encoded import EncodedColumn, EncodedTable, ReleasedClasses
from core_mondrian.verification.counting import Coded

ADULT = os.environ.get("CORE_MONDRIAN_ADULT")


def warned(release: Release[Any]) -> set[tuple[str, str, str | None]]:
    return {(one.column, one.why, one.about) for one in release.warnings}


def spec(*columns: str, k: int = 5, **more: Any) -> Spec:
    return Spec(columns, (KAnonymity(k),), **more)


PAIRS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 3), st.booleans()),
    min_size=2,
    max_size=25,
)


@given(PAIRS)
def test_what_is_told_agrees_with_a_count_of_pairs(
    rows: list[tuple[int, int, bool]],
) -> None:
    carried, codes, hidden = (np.array(x) for x in zip(*rows, strict=True))

    each = np.ones(len(rows), dtype=np.int64)
    found = leaked_share(Coded(carried, 5), Hidden("q", codes, 4, hidden), each)

    gained = whole = 0.0
    for i, (c, q, is_hidden) in enumerate(rows):
        if not is_hidden:
            continue
        others = [row for j, row in enumerate(rows) if j != i]
        base = Counter(row[1] for row in others)[q] / len(others)
        same = [row[1] for row in others if row[0] == c]
        again = Counter(same)[q] / len(same) if same else base
        gained, whole = gained + again - base, whole + 1 - base
    wanted = max(gained, 0.0) / whole if whole > 1e-12 else 0.0
    assert found == pytest.approx(wanted, abs=1e-4)


def coded_twice(n: int = 4000) -> pa.Table:
    """A census whose education comes once more as a number; noise beside it."""
    table = census(n).select(["age", "sex", "education", "income"])
    levels = table["education"].combine_chunks().dictionary_encode().indices
    noise = pa.array(np.random.default_rng(1).integers(0, 9, n))
    return table.append_column("level", levels).append_column("noise", noise)


def test_a_column_that_repeats_a_quasi_identifier_is_told(frame_kind: Frame) -> None:
    release = anonymize(frame_kind(coded_twice()), spec("age", "sex", "education"))

    assert warned(release) == {("level", "tells", "education")}
    assert release.warnings[0].share == 1.0
    assert "reveals 100.0% of what is hidden in 'education'" in str(release.warnings[0])


def test_nothing_hidden_is_nothing_told() -> None:
    table = coded_twice().select(["education", "level"])

    assert warned(anonymize(table, spec("education", k=2))) == set()


def test_a_sensitive_column_can_tell_as_well() -> None:
    from core_mondrian.models import DistinctLDiversity

    models = (KAnonymity(5), DistinctLDiversity(2, "level"))

    release = anonymize(coded_twice(), Spec(("age", "sex", "education"), models))

    assert ("level", "tells", "education") in warned(release)


def test_nearly_unique_columns_single_out_and_pseudonyms_do_not() -> None:
    table = coded_twice(400).append_column("row", pa.array(range(400)))
    table = table.append_column("note", pa.array([f"n{i}" for i in range(400)]))

    release = anonymize(table, spec("age", pseudonyms=("row",)), key=b"x" * 16)

    assert warned(release) == {("note", "singles-out", None)}
    assert release.warnings[0].share == 1.0


@pytest.mark.parametrize(
    ("name", "values"),
    [
        pytest.param("zip_code", [f"{i:05}" for i in range(5)], id="by name"),
        pytest.param("a", [f"u{i}@example.org" for i in range(5)], id="by values"),
        pytest.param("a", pa.array(range(5), pa.date32()), id="by type"),
    ],
)
def test_what_looks_like_an_identifier_is_told(name: str, values: Any) -> None:
    values = pa.concat_arrays([pa.array(values)] * 4)
    table = pa.table({"q": [1] * 20, name: values})

    warnings = warned(anonymize(table, spec("q")))

    # Mail addresses that repeat are persons'; places and days are not.
    is_persons = {(name, "persons", None)} if "@" in str(values[0]) else set()
    assert warnings == {(name, "identifier", None)} | is_persons


def test_known_warnings_are_accepted_and_still_in_the_manifest() -> None:
    asked = spec("age", "sex", "education", accept=("level", "noise"))

    release = anonymize(coded_twice(), asked)

    (one,) = release.warnings
    assert one.accepted
    assert release.figures()["warnings"] == [one.to_json()]
    assert release.manifest()["spec"]["accept"] == ["level", "noise"]


def test_only_columns_that_are_there_can_be_accepted() -> None:
    with pytest.raises(SpecError, match="not in the data"):
        anonymize(coded_twice(), spec("age", accept=("nois",)))


def test_large_tables_are_looked_at_in_part_whatever_their_row_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(concerns, "_MOST_ROWS", 1000)
    monkeypatch.setattr(concerns, "_PICKED_ROWS", 1000)
    table = coded_twice(20_000).append_column("row", pa.array(range(20_000)))
    backwards = table.take(pa.array(range(20_000))[::-1])
    asked = spec("age", "sex", "education", k=40)

    first, second = anonymize(table, asked), anonymize(backwards, asked)

    assert first.warnings == second.warnings
    assert warned(first) == {
        ("level", "tells", "education"),
        ("row", "singles-out", None),
    }


def test_warnings_hold_no_cell() -> None:
    table = pa.table(
        {
            "q": [1, 2] * 10,
            "note": [f"CANARY {i}" for i in range(20)],
            "mixed": [f"CANARY@{i // 10}.org" for i in range(20)],
            "0815": [f"CANARY x{i}" for i in range(20)],
        }
    )

    release = anonymize(table, spec("q", k=20))

    told = json.dumps([str(x) for x in release.warnings])
    assert len(release.warnings) >= 3
    assert "CANARY" not in told + repr(release.warnings)
    assert "0815" not in told  # a header that looks like a cell


def test_odd_columns_do_no_harm(frame_kind: Frame) -> None:
    table = pa.table(
        {
            "q": [1, 1, 1, 1],
            "list": [[1], [2], None, [4]],
            "none": pa.nulls(4),
            "nan": [float("nan"), None, 1.0, 1.0],
        }
    )

    assert warned(anonymize(frame_kind(table), spec("q", k=4))) == set()


@pytest.mark.skipif(ADULT is None, reason="CORE_MONDRIAN_ADULT is not set")
def test_adults_two_educations_are_found() -> None:
    assert ADULT is not None
    names = ("adult.data", "adult.test")
    lines = [line for n in names for line in (Path(ADULT) / n).read_text().split("\n")]
    numbers = [x.split(",")[4] for x in lines if x.strip() and not x.startswith("|")]
    table = adult(ADULT).append_column("education-num", pa.array(map(int, numbers)))

    release = anonymize(table, spec("age", "sex", "race", "education", "occupation"))

    assert warned(release) == {("education-num", "tells", "education")}


@pytest.mark.skipif(ADULT is None, reason="CORE_MONDRIAN_ADULT is not set")
def test_adults_weights_single_people_out() -> None:
    assert ADULT is not None
    names = ("adult.data", "adult.test")
    lines = [line for n in names for line in (Path(ADULT) / n).read_text().split("\n")]
    weights = [x.split(",")[2] for x in lines if x.strip() and not x.startswith("|")]
    table = adult(ADULT).append_column("fnlwgt", pa.array(map(int, weights)))
    alone = sum(n == 1 for n in Counter(weights).values())

    release = anonymize(table, spec("age", "sex", "race", "education", "occupation"))

    (one,) = release.warnings
    assert (one.column, one.why, one.share) == ("fnlwgt", "singles-out", 0.375)
    assert f"singles out {alone:,} of 48,842 rows by itself" in one.text
    cells = ("age", "sex", "race", "education", "occupation", "fnlwgt")
    shown = zip(*(release.data[name].to_pylist() for name in cells), strict=True)
    together = sum(n == 1 for n in Counter(shown).values())
    assert f"{together:,} together with the released quasi-identifiers" in one.text
    assert release.figures()["warnings"] == [one.to_json()]
    assert "fnlwgt" in one.to_json()["text"]


def test_figures_are_of_released_rows_alone() -> None:
    """Suppressed rows may not be told of: exchange their cells, and nothing changes."""
    table = pa.table(
        {
            "q": [1] * 30 + [2] * 30 + [90, 91],
            "code": [*range(30), *[7] * 30, 1000, 1001],
            "id": [*range(40), *[3] * 20, 500, 500],
        }
    )
    other = table.set_column(1, "code", pa.array([*range(30), *[7] * 30, 5, 5]))
    asked = spec(
        "q", k=5, suppress=Suppression(rows=2), identifiers=("id",), suppressed="drop"
    )

    first, second = anonymize(table, asked), anonymize(other, asked)

    assert first.n_suppressed == second.n_suppressed == 2
    warnings = [x.figures()["warnings"] for x in (first, second)]
    assert warnings[0] == warnings[1]
    assert "singles out 29 of 60 rows" in str(warnings[0])


@given(
    st.lists(
        st.tuples(
            st.integers(-1, 3), st.lists(st.integers(0, 2), min_size=9, max_size=9)
        ),
        max_size=20,
    )
)
def test_a_class_hides_what_its_tuples_differ_in(
    tuples: list[tuple[int, list[int]]],
) -> None:
    columns = tuple(
        EncodedColumn(f"q{i}", "number", 3, np.arange(3.0), None) for i in range(9)
    )
    codes = np.array([x for _, x in tuples], dtype=np.int32).reshape(-1, 9)
    owner = np.array([x for x, _ in tuples], dtype=np.int32)
    ones = np.ones(len(tuples), dtype=np.int64)
    table = EncodedTable(columns, (), codes, ones, len(tuples))
    rows = np.bincount(owner[owner >= 0], minlength=4).astype(np.int64)
    nothing = (None,) * 9
    classes = ReleasedClasses(owner, rows, nothing, nothing)

    found = Generalized.of(table, classes).is_mixed

    for one in range(4):
        own = codes[owner == one]
        wanted = [len(set(own[:, i].tolist())) > 1 for i in range(9)]
        assert found[:, one].tolist() == wanted
