"""The public manifest says no more than the release; the owner's record proves it."""

import itertools
import json
import stat
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.keys import KEY

from core_mondrian import (
    BestPolicy,
    DataError,
    KAnonymity,
    PaperPolicy,
    Release,
    Spec,
    Suppression,
    anonymize,
)
from core_mondrian.analysis.evidence import Redo, check_manifest, check_source
from core_mondrian.errors import MondrianError
from core_mondrian.models.distinct import DistinctLDiversity
from core_mondrian.models.k_anonymity import KAnonymity as K
from core_mondrian.release.manifests import manifest_text
from core_mondrian.release.owner_record import find_record, parse_record, record_text

MODELS = (KAnonymity(2), DistinctLDiversity(2, "s"))
SPECS = {
    "best": Spec(("age",), MODELS),
    "disjoint": Spec(("age",), MODELS, policy=BestPolicy(disjoint=True)),
    "paper": Spec(("age",), MODELS, policy=PaperPolicy()),
    "dropped": Spec(("age",), MODELS, suppress=Suppression(rows=2)),
    "blank": Spec(("age",), MODELS, suppress=Suppression(rows=2), suppressed="blank"),
    "persons": Spec(("age",), (KAnonymity(2),), unit="s"),
}


def every_table(n_rows: int = 4) -> list[pa.Table]:
    """All tables of so many rows, three ages and two diagnoses, up to row order."""
    rows = list(itertools.product((1, 2, 3, None), "xy"))
    tables = itertools.combinations_with_replacement(rows, n_rows)
    return [
        pa.table(
            {"age": pa.array([a for a, _ in x], pa.int8()), "s": [s for _, s in x]}
        )
        for x in tables
    ]


def seen(release: Release[pa.Table]) -> str:
    return str(sorted(map(str, release.data.to_pylist())))


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.usefixtures("random_keys")
@pytest.mark.long
def test_tables_with_one_release_have_one_manifest(name: str) -> None:
    """Whatever a reader guesses, the manifest adds nothing to the release itself."""
    manifests = defaultdict(set)
    for table in every_table():
        try:
            release = anonymize(table, SPECS[name])
        except MondrianError:
            continue
        told = json.dumps(release.manifest(), sort_keys=True)
        manifests[seen(release)].add(told)

    assert len(manifests) > 5
    assert {len(told) for told in manifests.values()} == {1}


@pytest.mark.usefixtures("random_keys")
def test_the_same_holds_for_the_report_for_readers() -> None:
    pages = defaultdict(set)
    for table in every_table(3):
        try:
            release = anonymize(table, SPECS["dropped"])
        except MondrianError:
            continue
        pages[seen(release)].add(release.report_html(audience="readers"))

    assert {len(page) for page in pages.values()} == {1}


def test_what_depends_on_hidden_cells_is_in_the_record() -> None:
    release = anonymize(every_table(5)[40], SPECS["dropped"])

    manifest, record = release.manifest(), release.record()

    hidden = {"cells_blanked", "warnings", "search", "equity", "funnel"}
    assert not hidden & manifest.keys()
    assert hidden <= record.keys()
    assert manifest["digests"].keys() == {"release"}
    assert record["digests"].keys() == {"input", "tree"}
    assert record["release"] == release.digest


def patients(swap: bool = False, shift: int = 0) -> pa.Table:  # noqa: FBT001, FBT002
    names = {"HIV": "flu", "flu": "HIV"} if swap else {}
    told = [["HIV", "flu"][i % 2] for i in range(40)]
    return pa.table(
        {
            "age": pa.array([2**60 + i % 7 + shift for i in range(40)], pa.int64()),
            "diagnosis": [names.get(x, x) for x in told],
            "note": [f"n{i}" for i in range(40)],
        }
    )


PATIENTS = Spec(("age",), (KAnonymity(5), DistinctLDiversity(2, "diagnosis")))


def check(folder: Path, source: pa.Table, release: Release[pa.Table]) -> Any:
    """Check a source against the manifest and the record of a release."""
    manifest = folder / "out.manifest.json"
    manifest.write_text(manifest_text(release.manifest()))
    record = parse_record(json.loads(record_text(release.record())))

    def same(again: pa.Table) -> bool:
        return sorted(map(str, again.to_pylist())) == sorted(
            map(str, release.data.to_pylist())
        )

    found = check_manifest(release.data, manifest)
    return check_source(found, source, record, redo=Redo(same_rows=same))


def test_the_right_source_is_redone_row_by_row(tmp_path: Path) -> None:
    found = check(tmp_path, patients(), anonymize(patients(), PATIENTS))

    assert found.passed, found.problems
    assert [one.passed for one in found.checks if one.what == "row by row"] == [True]


def test_exchanged_diagnoses_are_noticed(tmp_path: Path) -> None:
    found = check(tmp_path, patients(swap=True), anonymize(patients(), PATIENTS))

    assert any("the input is not that of the record" in x for x in found.problems)


def test_numbers_beyond_floats_are_told_apart(tmp_path: Path) -> None:
    assert float(2**60 + 1) == float(2**60)

    found = check(tmp_path, patients(shift=1), anonymize(patients(), PATIENTS))

    assert any("the input is not that of the record" in x for x in found.problems)


def test_changed_carried_cells_are_noticed(tmp_path: Path) -> None:
    release = anonymize(patients(), PATIENTS)
    other = patients().set_column(2, "note", pa.array(["x"] * 40))

    found = check(tmp_path, other, release)

    assert found.problems == ("rows of the release are others",)


def test_an_owners_key_is_not_in_the_record() -> None:
    given = anonymize(patients(), PATIENTS, key=KEY).record()
    drawn = anonymize(patients(), PATIENTS).record()

    assert given["key"] == {"source": "given", "secret": None}
    assert KEY.hex() not in json.dumps(given)
    assert drawn["key"]["source"] == "random"
    assert len(bytes.fromhex(drawn["key"]["secret"])) == 32


def test_two_records_of_one_release_share_no_digest() -> None:
    release = anonymize(patients(), PATIENTS)

    first, second = release.record(), release.record()

    assert first["salt"] != second["salt"]
    assert not set(first["digests"].values()) & set(second["digests"].values())
    assert first["rows"] == second["rows"]


def test_the_input_digest_is_the_same_in_every_library() -> None:
    table = patients()
    tables = (table, table.to_pandas(), table.take(pa.array(range(39, -1, -1))))

    found = {anonymize(x, PATIENTS).input_digest(bytes(32)) for x in tables}

    assert len(found) == 1


@given(st.lists(st.integers(-(2**62), 2**62), min_size=4, max_size=6, unique=True))
def test_every_input_has_a_digest_of_its_own(numbers: list[int]) -> None:
    def digest(values: list[int]) -> str:
        table = pa.table({"age": pa.array(values * 2, pa.int64())})
        return anonymize(table, Spec(("age",), (K(2),))).input_digest(bytes(32))

    other = [*numbers[:-1], numbers[-1] + 1]
    assert (digest(numbers) == digest(other)) == (sorted(numbers) == sorted(other))


def test_floats_that_are_whole_are_whole_numbers() -> None:
    whole = pa.table({"age": pa.array([1, 2, 2, 1], pa.int32())})
    floats = pa.table({"age": pa.array([1.0, 2.0, 2.0, 1.0])})
    spec = Spec(("age",), (KAnonymity(2),))

    first, second = anonymize(whole, spec), anonymize(floats, spec)

    assert first.input_digest(b"x") == second.input_digest(b"x")
    assert first.input_digest(b"x") != first.input_digest(b"y")


def broken(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(
        record_text(anonymize(patients(), PATIENTS).record())
    )
    change(record)
    return record


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda x: x.pop("salt"), id="no salt"),
        pytest.param(lambda x: x.update(salt="zz"), id="bad salt"),
        pytest.param(lambda x: x.update(format=1), id="format"),
        pytest.param(lambda x: x["key"].update({"secret": "ab"}), id="short key"),
        pytest.param(lambda x: x["key"].update({"secret": 5}), id="no text"),
        pytest.param(lambda x: x["rows"].update({"in": -1}), id="rows"),
        pytest.param(lambda x: x["digests"].update(tree=1), id="digests"),
        pytest.param(lambda x: x.update(funnel=[]), id="funnel"),
    ],
)
def test_a_damaged_record_is_refused(change: Any) -> None:
    with pytest.raises(DataError):
        parse_record(broken(change))


def test_a_record_that_contradicts_itself_is_noticed() -> None:
    record = parse_record(broken(lambda x: x["rows"].update(suppressed=3)))

    assert record.faults() == [
        "rows released and suppressed do not add up to rows in",
        "more rows are suppressed than the budget allows",
    ]


def test_commands_write_a_record_that_only_its_owner_reads(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow.parquet as pq

    monkeypatch.chdir(tmp_path)
    pq.write_table(patients(), "in.parquet")
    more = ("--qid", "age", "--k", "5")
    assert cli("anonymize", "in.parquet", "out.parquet", *more).code == 0

    path = tmp_path / "out.parquet.owner.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    record = find_record(tmp_path / "out.parquet")
    assert record is not None
    assert record.n_in == 40
    done = cli(
        *("verify", "out.parquet", "--manifest", "out.parquet.manifest.json"),
        *("--with", "in.parquet", "--redo"),
    )
    assert done.code == 0, done.err
    assert "row by row  every row is the same" in done.err

    path.unlink()
    lacking = cli(
        *("verify", "out.parquet", "--manifest", "out.parquet.manifest.json"),
        *("--with", "in.parquet"),
    )
    assert lacking.code == 2
    assert "there is none" in lacking.err


def test_the_report_says_for_whom_it_is() -> None:
    release = anonymize(patients(), PATIENTS)

    own, public = release.report_html(), release.report_html(audience="readers")

    assert "For the owner of the table" in own
    assert "may be passed on" in public
    assert "Suppressed" not in public
    assert np.char.count(public, "CANARY") == 0
