"""What readers with a release and our code found, each as it was found."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from core_mondrian import (
    KAnonymity,
    PrivacyViolation,
    Spec,
    SpecError,
    Suppression,
    anonymize,
    verify,
)
from core_mondrian.api import load_and_encode
from core_mondrian.encoding.encoder import hash_tuples
from core_mondrian.runtime.stages import Stages
from core_mondrian.sources.files.run import anonymize_files

OUTLIER = pa.table(
    {
        "age": [*[20] * 30, *[40] * 30, 99],
        "income": range(61),
        "town": [f"t{i}" for i in range(61)],
        "tags": [[i, i + 1] for i in range(61)],
    }
)
BLANK = Spec(
    ("age",), (KAnonymity(5),), suppress=Suppression(rows=1), suppressed="blank"
)


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars"])
def test_a_blank_row_shows_nothing_of_its_only_person(kind: str) -> None:
    import polars as pl

    frame = {
        "arrow": lambda: OUTLIER,
        "pandas": OUTLIER.to_pandas,
        "polars": lambda: pl.from_arrow(OUTLIER),
    }[kind]()

    data = anonymize(frame, BLANK).data

    last = data.slice(60, 1) if kind != "pandas" else data.iloc[60:]
    cells = last.to_pylist()[0] if kind == "arrow" else None
    if cells is None:
        shown = last.to_dicts()[0] if kind == "polars" else last.iloc[0].to_dict()
        cells = {x: None if y is None or y != y else y for x, y in shown.items()}  # noqa: PLR0124
    assert cells == dict.fromkeys(OUTLIER.column_names)


def test_a_blank_row_that_shows_a_carried_cell_fails_verification() -> None:
    data = anonymize(OUTLIER, BLANK).data
    towns = pa.array([*data["town"].to_pylist()[:60], "t60"])

    assert verify(data, BLANK)
    with pytest.raises(PrivacyViolation):
        verify(data.set_column(2, "town", towns), BLANK)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_blank_rows_of_streams_show_nothing(suffix: str, tmp_path: Path) -> None:
    source, target = tmp_path / f"in{suffix}", tmp_path / f"out{suffix}"
    flat = OUTLIER.drop_columns(["tags"])
    (pa_csv.write_csv if suffix == ".csv" else pq.write_table)(flat, source)

    anonymize_files(source, target, BLANK)

    if suffix == ".csv":
        assert target.read_text().splitlines()[-1].strip('",') == ""
    else:
        assert pq.read_table(target).to_pylist()[-1] == dict.fromkeys(flat.column_names)


def test_class_numbers_count_when_a_manifest_says_what_to_recount(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pa_csv.write_csv(OUTLIER.drop_columns(["tags"]).slice(0, 60), "in.csv")
    flags = ("--qid", "age", "--k", "5", "--class-id", "class")
    assert cli("anonymize", "in.csv", "out.csv", *flags).code == 0
    manifest = ("--manifest", "out.csv.manifest.json")
    assert cli("verify", "out.csv", *manifest).code == 0

    lines = Path("out.csv").read_text().splitlines()
    rows = [f"{line.rpartition(',')[0]},{i}" for i, line in enumerate(lines[1:])]
    Path("out.csv").write_text("\n".join([lines[0], *rows]) + "\n")

    assert cli("verify", "out.csv", *manifest).code == 5


def test_folders_named_by_a_quasi_identifier_are_refused(tmp_path: Path) -> None:
    for year in (2023, 2024):
        folder = tmp_path / "people" / f"year={year}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"age": [1, 2] * 5}), folder / "part.parquet")
    target = tmp_path / "out.parquet"

    with pytest.raises(SpecError, match="folder by folder"):
        anonymize_files(
            tmp_path / "people", target, Spec(("age", "year"), (KAnonymity(2),))
        )
    anonymize_files(tmp_path / "people", target, Spec(("age",), (KAnonymity(2),)))


def test_with_one_key_a_new_tuple_changes_no_lot_of_another() -> None:
    """Lots went by the rank of a tuple: one new lowest value redrew all of them."""
    values = [*["M"] * 57, *["Z"] * 3]
    spec = Spec(("q",), (KAnonymity(5),))
    hashes = []
    for names in (values, ["A"] * 5 + values):
        frame, encoded = load_and_encode(pa.table({"q": names}), spec, Stages(None))
        assert len(frame) == len(names)
        hashes.append(hash_tuples(encoded, np.arange(encoded.table.n_tuples)).tolist())

    assert hashes[0] == hashes[1][1:]


def test_a_run_is_made_again_with_the_key_of_its_record(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs of one request undo each other's lots; this makes the same one."""
    monkeypatch.chdir(tmp_path)
    table = pa.table({"q": ["A"] * 57 + ["B"] * 3, "id": range(60)})
    pa_csv.write_csv(table, "in.csv")
    asked = ("--qid", "q", "--k", "5")
    assert cli("anonymize", "in.csv", "one.csv", *asked).code == 0

    done = cli(
        "anonymize", "in.csv", "two.csv", *asked, "--key-file", "one.csv.owner.json"
    )

    assert done.code == 0, done.err
    assert Path("one.csv").read_bytes() == Path("two.csv").read_bytes()
    record = json.loads(Path("two.csv.owner.json").read_text())
    assert record["key"] == {"source": "given", "secret": None}
    refused = cli(
        *("anonymize", "in.csv", "no.csv", *asked),
        *("--key-file", "two.csv.owner.json"),
    )
    assert refused.code == 2
    assert "had a key of yours" in refused.err
