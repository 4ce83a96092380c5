"""What readers with a release and our code found, each as it was found."""

import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from core_mondrian import (
    KAnonymity,
    MondrianError,
    PrivacyViolation,
    Series,
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


def test_places_do_not_say_which_row_of_a_series_became_which(tmp_path: Path) -> None:
    """Who moved to a new cohort together stood there in the order of the old one."""
    people = [{"id": i, "age": 20 + i % 3, "ill": f"i{i}"} for i in range(300)]
    series = Series.create(
        tmp_path / "s", Spec(("age",), k=40), row_key="id", key=b"0" * 16
    )
    first = series.release(pa.Table.from_pylist(people)).data.to_pylist()
    for one in people[::2]:
        one["ill"] = f"later {one['ill']}"
    second = series.release(pa.Table.from_pylist(people)).data.to_pylist()

    changed = {f"i{i}" for i in range(0, 300, 2)}
    before = by_cohort(one for one in first if one["ill"] in changed)
    after = by_cohort(one for one in second if one["cohort"].startswith("r2"))
    assert sorted(map(sorted, after)) == [
        sorted(f"later {ill}" for ill in ills) for ills in sorted(map(sorted, before))
    ]
    for ills in before:
        later = next(x for x in after if f"later {ills[0]}" in x)
        n_same = sum(x == f"later {y}" for x, y in zip(later, ills, strict=True))
        assert n_same < len(ills) / 4


def by_cohort(rows: Iterable[dict[str, Any]]) -> list[list[str]]:
    found = defaultdict(list)
    for row in rows:
        found[row["cohort"]].append(row["ill"])
    return list(found.values())


def test_numbers_of_cohorts_do_not_say_who_is_new(tmp_path: Path) -> None:
    """Of new cohorts that looked alike, those of new people came first."""
    new_is_first = set()
    for i in range(12):
        people = [{"id": n, "age": 20, "ill": f"i{n}"} for n in range(40)]
        series = Series.create(
            tmp_path / f"s{i}", Spec(("age",), k=5), row_key="id", key=b"%016d" % i
        )
        series.release(pa.Table.from_pylist(people))
        people[:10] = [{**one, "ill": "changed"} for one in people[:10]]
        people += [{"id": n, "age": 20, "ill": "new"} for n in range(40, 50)]
        released = series.release(pa.Table.from_pylist(people)).data.to_pylist()
        ills = {one["ill"] for one in released if one["cohort"] == "r2c1"}
        assert len(ills) == 1
        new_is_first.add("new" in ills)

    assert new_is_first == {True, False}


HEADERLESS = "Agnes,flu,34\nBob,flu,35\nCarl,cold,36\n"


@pytest.mark.parametrize(
    ("text", "column"),
    [(HEADERLESS, "agnes"), (HEADERLESS.replace("34", "34,flu"), "34")],
    ids=["one that may have been meant", "two of one name"],
)
def test_a_hint_quotes_no_cell_of_a_table_without_a_header(
    text: str, column: str, cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text(text)

    done = cli("anonymize", "in.csv", "out.csv", "--qid", column, "--k", "2")

    assert done.code != 0
    assert not [x for x in ("Agnes", "flu") if x in done.err]
    assert "is the first line a header?" in done.err


def test_a_frame_without_a_header_is_not_quoted_either() -> None:
    columns = ["Agnes", "flu", "34", "flu"]
    frame = pd.DataFrame([["Bob", "flu", 35, "x"]] * 4, columns=columns)

    with pytest.raises(MondrianError) as told:
        anonymize(frame, Spec(("34",), k=2))

    assert "flu" not in f"{told.value.message} {told.value.hint}"


def test_columns_of_a_later_release_without_a_header_are_not_quoted(
    tmp_path: Path,
) -> None:
    table = pa.table({"34": range(9), "id": range(9), "x": ["a"] * 9})
    series = Series.create(tmp_path / "s", Spec(("34",), k=3), row_key="id")
    series.release(table)

    with pytest.raises(SpecError, match="header") as told:
        series.release(table.rename_columns(["34", "id", "Agnes"]))

    assert "Agnes" not in f"{told.value.message} {told.value.hint}"


def test_a_release_without_the_columns_is_refused_and_not_quoted(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("name,ill,age\n" + HEADERLESS.replace(",3", ",4"))
    Path("out.csv").write_text(HEADERLESS)
    Path("spec.toml").write_text('quasi_identifiers = ["age"]\nk = 2\n')

    done = cli("compare", "in.csv", "out.csv", "--spec", "spec.toml")

    assert done.code == 2, done.err
    assert "not in the data: 'age'" in done.err
    assert "Agnes" not in done.err
