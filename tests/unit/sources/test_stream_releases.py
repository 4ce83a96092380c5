"""A streamed release is the one that anonymize() makes of the same table."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core_mondrian import (
    BestPolicy,
    InfeasibleError,
    KAnonymity,
    PaperPolicy,
    Release,
    Spec,
    SpecError,
    Suppression,
    anonymize,
    anonymize_files,
)
from core_mondrian.datasets import census
from core_mondrian.hierarchies.codes import Flat
from core_mondrian.models.distinct import DistinctLDiversity
from core_mondrian.models.t_closeness import TCloseness
from core_mondrian.release.result import PartedRelease
from core_mondrian.sources import counted_release
from core_mondrian.sources.memory import Limit, Sizes
from core_mondrian.sources.tuple_store import StoreLimits
from core_mondrian.tables.files.kinds import source_schema
from core_mondrian.tables.files.read import read_table
from core_mondrian.tables.files.write import write_table

QIDS = ("age", "sex", "education", "occupation")
TINY = Sizes(rows=97, text=3000, in_flight=3, threads=2)
KEY = b"0123456789abcdef"


@pytest.fixture(autouse=True)
def tiny_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Limit, "sizes", lambda *_: TINY)


@pytest.fixture(scope="module")
def people() -> pa.Table:
    """1500 people with missing values, two rows each for some, and odd texts."""
    rng = np.random.default_rng(0)
    table = census(1500, seed=3)
    ages = pa.array(table["age"].to_numpy(), mask=rng.random(1500) < 0.03)
    table = table.set_column(1, "age", ages)
    person = pa.array([f"p{i // 2}" for i in range(1500)])
    remarks = ["a, b", 'say "no"', "two\nlines", "", "ünï", None]
    notes = pa.array([remarks[i % 6] for i in range(1500)])
    return table.append_column("person", person).append_column("note", notes)


SPECS = {
    "best": Spec(QIDS, (KAnonymity(5),)),
    "paper": Spec(QIDS, (KAnonymity(5),), policy=PaperPolicy()),
    "diversity": Spec(
        QIDS, (KAnonymity(3), DistinctLDiversity(2, "income")), identifiers=("note",)
    ),
    "closeness": Spec(
        QIDS,
        (KAnonymity(3), TCloseness(0.4, "hours_per_week")),
        policy=PaperPolicy(),
    ),
    "unit": Spec(QIDS, (KAnonymity(5),), unit="person"),
    "unit and pseudonym": Spec(
        QIDS, (KAnonymity(5),), unit="person", pseudonyms=("person",)
    ),
    "bounds": Spec(QIDS, (KAnonymity(4),), numbers="bounds", class_id="class"),
    "means": Spec(QIDS, (KAnonymity(4),), numbers="mean", categories="set"),
    "dropped": Spec(
        QIDS, (KAnonymity(8),), policy=PaperPolicy(), suppress=Suppression(rows=150)
    ),
    "blank": Spec(
        QIDS,
        (KAnonymity(8), DistinctLDiversity(2, "income")),
        policy=PaperPolicy(),
        suppress=Suppression(rows=150),
        suppressed="blank",
        pseudonyms=("person",),
        class_id="class",
    ),
    "separate": Spec(
        QIDS,
        (KAnonymity(8),),
        policy=PaperPolicy(),
        suppress=Suppression(rows=150),
        suppressed="separate",
    ),
    "pattern": Spec(QIDS, (KAnonymity(5),), missing="pattern", identifiers=("person",)),
    "small patterns": Spec(
        QIDS,
        (KAnonymity(60),),
        policy=PaperPolicy(),
        small_patterns="suppress",
        suppress=Suppression(rows=150),
    ),
    "small patterns, best": Spec(
        QIDS,
        (KAnonymity(60),),
        missing="pattern",
        small_patterns="suppress",
        suppress=Suppression(rows=150),
        suppressed="blank",
    ),
    "weight": Spec(
        QIDS, (KAnonymity(5),), weight="hours_per_week", policy=PaperPolicy()
    ),
    "equity": Spec(QIDS, (KAnonymity(5),), policy=BestPolicy(equity="race")),
    "disjoint": Spec(QIDS, (KAnonymity(5),), policy=BestPolicy(disjoint=True)),
    "codes": Spec(QIDS, (KAnonymity(5),), hierarchies={"age": Flat()}),
}


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    return table.to_pylist()


def compare(
    source: Path, whole: pa.Table, spec: Spec, folder: Path, suffix: str
) -> Release[Path]:
    """Check a streamed release against one in memory, and return it."""
    key = KEY if spec.pseudonyms else None
    target, apart = folder / f"streamed{suffix}", folder / f"apart{suffix}"
    is_separate = spec.suppressed == "separate"
    expected = anonymize(whole, spec, key=key)

    found = anonymize_files(
        source, target, spec, key=key, suppressed_file=apart if is_separate else None
    )

    assert found.digest == expected.digest
    assert found.manifest() == expected.manifest()
    if not isinstance(found, PartedRelease):
        assert found.measures() == expected.measures()
    assert found.figures()["rows"] == expected.figures()["rows"]
    assert found.figures()["funnel"] == expected.figures()["funnel"]
    assert found.data == target
    written = json.loads((folder / f"{target.name}.manifest.json").read_text())
    assert written["digests"]["release"] == expected.digest
    kind = suffix or source_suffix(source)
    same_as_written(target, expected.data, source_schema(whole), folder, kind)
    if is_separate:
        same_as_written(apart, expected.suppressed, source_schema(whole), folder, kind)
    left = {path.name for path in folder.iterdir() if path.name.startswith(".")}
    assert not left
    return found


def source_suffix(source: Path) -> str:
    return ".parquet" if "parquet" in source.name else ".csv"


def same_as_written(
    target: Path, expected: pa.Table, schema: pa.Schema, folder: Path, suffix: str
) -> None:
    """Both files, or a file and a folder, say the same in the same types."""
    other = folder / f"expected{suffix}"
    write_table(expected, other, source=schema, overwrite=True)
    parts = sorted(target.iterdir()) if target.is_dir() else [target]
    tables = [plain(part) for part in parts]
    read = pa.concat_tables(tables)
    whole = plain(other)
    assert read.schema == whole.schema
    assert rows_of(read) == rows_of(whole)


def plain(path: Path) -> pa.Table:
    if path.suffix == ".csv":
        return pa_csv.read_csv(
            path,
            pa_csv.ReadOptions(),
            pa_csv.ParseOptions(newlines_in_values=True),
            pa_csv.ConvertOptions(
                column_types={
                    name: pa.string() for name in read_table(path).column_names
                },
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    table = pq.ParquetFile(path).read()
    return table.replace_schema_metadata(None)


@pytest.mark.parametrize("name", SPECS)
def test_parquet_is_released_as_in_memory(
    name: str, people: pa.Table, tmp_path: Path
) -> None:
    source = tmp_path / "people.parquet"
    pq.write_table(people, source, row_group_size=250)

    compare(source, read_table(source), SPECS[name], tmp_path, ".parquet")


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.long
def test_csv_is_released_as_in_memory(
    name: str, people: pa.Table, tmp_path: Path
) -> None:
    source = tmp_path / "people.csv"
    write_table(people, source)
    spec = SPECS[name]
    whole = read_table(source, typed=spec.quasi_identifiers)

    compare(source, whole, spec, tmp_path, ".csv")


@pytest.fixture
def on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have room for so few tuples that they are counted, and solved, on disk."""
    store = StoreLimits(memory=256 << 20, task_tuples=60, threads=2)
    monkeypatch.setattr(Limit, "tuples_in_memory", lambda *_: 40)
    monkeypatch.setattr(Limit, "counted_in_memory", lambda *_: 150)
    monkeypatch.setattr(Limit, "store", lambda *_: store)
    monkeypatch.setattr(counted_release, "_AT_ONCE", 100)


NEEDS_ALL = ("weight", "equity")


@pytest.mark.usefixtures("on_disk")
@pytest.mark.parametrize("name", [name for name in SPECS if name not in NEEDS_ALL])
def test_tuples_on_disk_are_released_as_in_memory(
    name: str, people: pa.Table, tmp_path: Path
) -> None:
    source = tmp_path / "people.parquet"
    pq.write_table(people, source, row_group_size=250)

    found = compare(source, read_table(source), SPECS[name], tmp_path, ".parquet")

    assert isinstance(found, PartedRelease)
    assert found.measures().n_released == found.verification.n_rows - blank(found)


def blank(release: Release[Path]) -> int:
    return 0 if release.spec.leaves_out else release.n_suppressed


@pytest.mark.usefixtures("on_disk")
@pytest.mark.parametrize("name", ["best", "unit", "blank", "separate", "codes"])
def test_tuples_of_csv_on_disk_are_released_as_in_memory(
    name: str, people: pa.Table, tmp_path: Path
) -> None:
    source, spec = tmp_path / "people.csv", SPECS[name]
    write_table(people, source)

    whole = read_table(source, typed=spec.quasi_identifiers)
    compare(source, whole, spec, tmp_path, ".csv")


@pytest.mark.usefixtures("on_disk")
def test_tuples_that_are_not_hashed_are_found_in_their_file(
    people: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core_mondrian.sources.row_coder._HASHED", 1 << 40)
    source = tmp_path / "people.parquet"
    pq.write_table(people, source, row_group_size=250)
    many = (*QIDS, "zip_code", "native_country", "hours_per_week", "note", "person")

    for qids in (QIDS, many):  # one word, and several
        spec = Spec(qids, (KAnonymity(5),), policy=PaperPolicy())
        found = compare(source, read_table(source), spec, tmp_path, ".parquet")
        assert isinstance(found, PartedRelease)
        for path in tmp_path.glob("streamed*"):
            path.unlink()


@pytest.mark.usefixtures("on_disk")
@pytest.mark.parametrize("name", NEEDS_ALL)
def test_what_takes_all_tuples_in_memory_says_so(
    name: str, people: pa.Table, tmp_path: Path
) -> None:
    source = tmp_path / "people.parquet"
    pq.write_table(people, source)

    with pytest.raises(SpecError, match="all distinct tuples in memory at once"):
        anonymize_files(source, tmp_path / "out.parquet", SPECS[name])
    with pytest.raises(SpecError, match="a report needs all distinct tuples"):
        anonymize_files(
            *(source, tmp_path / "out.parquet", SPECS["best"]),
            report=tmp_path / "report.html",
        )

    assert {path.name for path in tmp_path.iterdir()} == {"people.parquet"}


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ""])
@pytest.mark.parametrize("kind", [".csv", ".parquet"])
@pytest.mark.long
def test_target_may_be_of_another_kind_or_a_folder(
    kind: str, suffix: str, people: pa.Table, tmp_path: Path
) -> None:
    source = tmp_path / f"people{kind}"
    write_table(people, source)
    whole = read_table(source, typed=QIDS)

    compare(source, whole, SPECS["diversity"], tmp_path, suffix)


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".zst"])
def test_compressed_csv_is_read(suffix: str, people: pa.Table, tmp_path: Path) -> None:
    plain_file, source = tmp_path / "people.csv", tmp_path / f"people.csv{suffix}"
    write_table(people, plain_file)
    with pa.output_stream(source) as stream:
        stream.write(plain_file.read_bytes())

    whole = read_table(plain_file, typed=QIDS)
    compare(source, whole, SPECS["best"], tmp_path, ".csv")


def test_gzip_of_several_members_is_read_to_its_end(
    people: pa.Table, tmp_path: Path
) -> None:
    plain_file, source = tmp_path / "people.csv", tmp_path / "people.csv.gz"
    write_table(people, plain_file)
    text = plain_file.read_bytes()
    middle = text.index(b"\n", len(text) // 2) + 1
    source.write_bytes(gzip.compress(text[:middle]) + gzip.compress(text[middle:]))

    whole = read_table(plain_file, typed=QIDS)
    compare(source, whole, SPECS["best"], tmp_path, ".csv")


def test_folder_with_keys_is_one_table(people: pa.Table, tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    ds.write_dataset(
        people,
        folder,
        format="parquet",
        partitioning=["race"],
        partitioning_flavor="hive",
    )
    (folder / "_SUCCESS").touch()
    files = sorted(folder.rglob("*.parquet"), key=lambda path: path.parts)
    tables = []
    for file in files:
        table = pq.ParquetFile(file).read()
        keys = dict(part.split("=") for part in file.parts if "=" in part)
        for name, value in keys.items():
            text = pa.array([value.replace("%20", " ")] * len(table))
            table = table.append_column(name, text)
        tables.append(table)

    compare(folder, pa.concat_tables(tables), SPECS["diversity"], tmp_path, ".parquet")


def test_keys_that_are_numbers_are_numbers(people: pa.Table, tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    pieces = []
    for year in (9, 10, 2001):
        piece = people.slice(len(pieces) * 500, 500)
        (folder / f"year={year}").mkdir(parents=True)
        pq.write_table(piece, folder / f"year={year}" / "x.parquet")
        pieces.append((f"year={year}", piece, year))
    whole = pa.concat_tables(
        piece.append_column("year", pa.array([year] * 500))
        for _, piece, year in sorted(pieces, key=lambda one: one[0])
    )
    spec = Spec(QIDS, (KAnonymity(5),))

    compare(folder, whole, spec, tmp_path, ".parquet")


def test_glob_of_csv_with_columns_in_any_order(
    people: pa.Table, tmp_path: Path
) -> None:
    names = people.column_names
    write_table(people.slice(0, 700), tmp_path / "day-1.csv")
    write_table(people.slice(700).select(names[::-1]), tmp_path / "day-2.csv")
    write_table(people, tmp_path / "whole.csv")
    whole = read_table(tmp_path / "whole.csv", typed=QIDS)

    compare(tmp_path / "day-*.csv", whole, SPECS["best"], tmp_path, ".csv")


def test_part_of_nothing_but_missing_values_fits(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    first = pa.table({"age": [1, 2, 3] * 4, "job": ["a", "b", "c"] * 4})
    second = pa.table({"age": [1] * 6, "job": pa.nulls(6)})
    pq.write_table(first, folder / "1.parquet")
    pq.write_table(second, folder / "2.parquet")
    whole = pa.concat_tables([first, second], promote_options="default")
    spec = Spec(("age", "job"), (KAnonymity(2),))

    compare(folder, whole, spec, tmp_path, ".parquet")


@pytest.mark.filterwarnings("ignore:column 'mixed' is text")
def test_null_values_and_types_are_those_of_all_batches(tmp_path: Path) -> None:
    source = tmp_path / "odd.csv"
    lines = [f"{i % 40},{i % 7},{'?' if i % 9 == 0 else i % 5}" for i in range(2000)]
    lines[1900] = "1.5,007,x"
    source.write_text("number,code,mixed\n" + "\n".join(lines))
    spec = Spec(("number", "code", "mixed"), (KAnonymity(3),), null_values=("", "?"))
    whole = read_table(source, typed=spec.quasi_identifiers, null_values=("", "?"))
    assert whole.schema.types[0] == pa.float64()

    compare(source, whole, spec, tmp_path, ".csv")


def test_one_column_and_few_rows(tmp_path: Path) -> None:
    spec = Spec(("age",), (KAnonymity(2),))
    texts = {"two": "age\n5\n6", "gaps": "age\n\n3\n\n4\n"}
    for name, text in texts.items():
        source = tmp_path / f"{name}.csv"
        source.write_text(text)
        folder = tmp_path / name
        folder.mkdir()

        compare(source, read_table(source, typed=("age",)), spec, folder, ".csv")


def test_ends_of_lines_quotes_and_a_mark_are_read_as_in_memory(tmp_path: Path) -> None:
    source = tmp_path / "odd.csv"
    rows = [
        f'{i % 9},"x ""{i % 3}""",a"b{i % 2}\r\n' + ("\r\n" if i % 7 == 0 else "")
        for i in range(300)
    ]
    text = "\r\n".join(['age,"a, \nname",note', "".join(rows)])
    source.write_bytes(b"\xef\xbb\xbf" + text.encode())
    spec = Spec(("age", "a, \nname"), (KAnonymity(3),))
    whole = read_table(source, typed=spec.quasi_identifiers)
    assert whole.num_rows == 300

    compare(source, whole, spec, tmp_path, ".csv")


def test_sensitive_dates_and_times_are_verified_in_csv_too(
    people: pa.Table, tmp_path: Path
) -> None:
    days = pa.array(np.arange(1500) % 40, pa.int32())
    table = people.append_column("day", days.cast(pa.date32()))
    moment = pa.array(np.arange(1500) % 30, pa.int64()).cast(pa.timestamp("us", "UTC"))
    table = table.append_column("moment", moment)
    source = tmp_path / "people.parquet"
    pq.write_table(table, source, row_group_size=400)
    models = tuple(DistinctLDiversity(2, name) for name in ("day", "moment"))
    spec = Spec(QIDS, (KAnonymity(3), *models), policy=PaperPolicy())

    found = anonymize_files(source, tmp_path / "out.csv", spec)

    assert found.manifest() == anonymize(table, spec).manifest()


def test_no_rows_are_infeasible_as_in_memory(tmp_path: Path) -> None:
    source = tmp_path / "none.csv"
    source.write_text("age,sex\n")
    spec = Spec(("age",), (KAnonymity(2),))

    with pytest.raises(InfeasibleError, match="0 rows"):
        anonymize_files(source, tmp_path / "out.csv", spec)

    assert [path.name for path in tmp_path.iterdir()] == ["none.csv"]


def test_odd_types_pass_through(tmp_path: Path) -> None:
    n = 300
    table = pa.table(
        {
            "f16": pa.array(np.arange(n) % 7, pa.float64()).cast(pa.float16()),
            "day": pa.array(np.arange(n) % 30, pa.int32()).cast(pa.date32()),
            "price": pa.array([f"{i % 9}.50" for i in range(n)]).cast(
                pa.decimal128(5, 2)
            ),
            "big": pa.array([f"t{i % 5}" for i in range(n)], pa.large_string()),
            "flag": pa.array([i % 2 == 0 for i in range(n)]),
            "real": pa.array([[0.0, -0.0, float("nan"), 1.5][i % 4] for i in range(n)]),
            "coded": pa.array([f"c{i % 3}" for i in range(n)]).dictionary_encode(),
            "list": pa.array([[i, None] for i in range(n)]),
            "struct": pa.array([{"a": i} for i in range(n)]),
        }
    )
    source = tmp_path / "odd.parquet"
    pq.write_table(table, source, row_group_size=80)
    spec = Spec(
        ("f16", "day", "price", "big", "flag", "real", "coded"),
        (KAnonymity(2),),
        policy=PaperPolicy(),
    )

    compare(source, read_table(source), spec, tmp_path, ".parquet")


def test_rows_of_divided_tuples_are_dealt_out_in_buckets(
    people: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Limit, "free", property(lambda _: 3 << 20))
    monkeypatch.setattr("core_mondrian.sources.memory._ALLOCATED", 10_000)
    source = tmp_path / "people.parquet"
    pq.write_table(people, source, row_group_size=250)

    compare(source, read_table(source), SPECS["best"], tmp_path, ".parquet")


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["1", "2", "10", "", "02", "x"]),
            st.sampled_from(["a", "b", ""]),
            st.sampled_from(["", "u", '"', "v,w", "l\n1"]),
        ),
        min_size=2,
        max_size=40,
    ),
    st.integers(1, 60),
    st.integers(1, 3),
    st.sampled_from(["best", "paper"]),
)
@settings(max_examples=30)
@pytest.mark.filterwarnings("ignore:column 'n' is text")
def test_sizes_of_batches_and_threads_decide_nothing(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, str, str]],
    size: int,
    threads: int,
    policy: str,
) -> None:
    folder = tmp_path_factory.mktemp("any")
    source = folder / "table.csv"
    cells = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    write_table(pa.table(cells, names=["n", "c", "note"]), source)
    chosen = BestPolicy() if policy == "best" else PaperPolicy()
    spec = Spec(("n", "c"), (KAnonymity(2),), policy=chosen)
    whole = read_table(source, typed=("n", "c"))
    with pytest.MonkeyPatch.context() as patch:
        sizes = Sizes(rows=size, text=size, in_flight=threads + 1, threads=threads)
        patch.setattr(Limit, "sizes", lambda *_: sizes)

        compare(source, whole, spec, folder, ".csv")


def test_count_of_groups_and_measures_is_the_same(
    people: pa.Table, tmp_path: Path
) -> None:
    source = tmp_path / "people.parquet"
    pq.write_table(people, source)
    spec = SPECS["diversity"]

    found = anonymize_files(source, tmp_path / "out.parquet", spec, by=["sex"])

    assert found.by_group("sex") == anonymize(people, spec, by=["sex"]).by_group("sex")


def stages() -> Iterator[str]:
    yield from ("count", "write", "verify")


def test_progress_tells_rows_per_second(people: pa.Table, tmp_path: Path) -> None:
    source = tmp_path / "people.parquet"
    pq.write_table(people, source, row_group_size=100)
    told: dict[str, list[float]] = {}

    anonymize_files(
        *(source, tmp_path / "out.parquet", SPECS["paper"]),
        progress=lambda stage, done: told.setdefault(stage, []).append(done),
    )

    for stage in stages():
        assert told[stage] == sorted(told[stage])
        assert told[stage][-1] == 1.0
        assert any("rows/s" in getattr(done, "text", "") for done in told[stage])


@pytest.mark.parametrize("target", ["out.parquet", "out"])
def test_rows_are_divided_anew_wherever_some_were_left_out(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("tables.files.write", "sources.files.writing"):
        monkeypatch.setattr(f"core_mondrian.{module}.ROWS_TOGETHER", 50)
    who = ["few" if i in (40, 60) else "many" for i in range(122)]
    notes = [f"{'zyx'[i % 3]}{i % 7}" for i in range(122)]
    source = tmp_path / "a.parquet"
    pq.write_table(pa.table({"who": who, "note": notes}), source, row_group_size=20)
    budget = Suppression(rows=2)
    spec = Spec(("who",), k=100, suppress=budget, policy=PaperPolicy(), inline_below=0)

    found = anonymize_files(source, tmp_path / target, spec)

    out = tmp_path / target
    parts = sorted(out.iterdir()) if out.is_dir() else [out]
    assert found.n_suppressed == 2
    assert [part.stem for part in parts[1:]] == (
        ["part-00001", "part-00002"] if out.is_dir() else []
    )
    assert [n for part in parts for n in groups_of(part)] == [50, 50, 20]
    shown = [cell for part in parts for cell in pq.read_table(part)["note"].to_pylist()]
    assert shown == [note for i, note in enumerate(notes) if i not in (40, 60)]
    for part in parts:
        assert all(held == sorted(held) for held in dictionaries(part) if len(held) > 1)


@pytest.mark.parametrize(
    ("suffix", "target"),
    [
        (".parquet", "out.parquet"),
        (".parquet", "out"),
        (".csv", "out.parquet"),
        (".csv.gz", "out.parquet"),
    ],
)
def test_wide_rows_wait_in_small_groups_whatever_the_threads(
    suffix: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    ages = ["few", *["many"] * 4_999]
    notes = [rng.bytes(2_000).hex() for _ in ages]
    source = tmp_path / f"a{suffix}"
    write_any(pa.table({"age": ages, "note": notes}), source)
    suppress = Suppression(rows=1)
    spec = Spec(("age",), k=100, suppress=suppress, policy=PaperPolicy())
    made = []
    for threads in (1, 2):
        sizes = Sizes(500 * threads, 1 << (19 + threads), threads + 1, threads)
        monkeypatch.setattr(Limit, "sizes", lambda *_, own=sizes: own)
        folder = tmp_path / str(threads)
        folder.mkdir()

        anonymize_files(source, folder / target, spec)

        out = folder / target
        parts = sorted(out.iterdir()) if out.is_dir() else [out]
        groups = [n for part in parts for n in groups_of(part)]
        made.append([part.read_bytes() for part in parts])
        assert len(parts) == 1
        assert sum(groups) == 4_999
        assert 4_000 < groups[0] <= (16 << 20) // 4_000
    assert made[0] == made[1]


def test_a_long_cell_of_a_row_that_is_left_out_changes_no_row_group(
    tmp_path: Path,
) -> None:
    """Once the bytes of all rows that were read decided how many were together."""
    spec = Spec(
        ("age",),
        k=100,
        suppress=Suppression(rows=1),
        policy=PaperPolicy(),
        inline_below=0,
    )
    released = []
    for hidden in ("x", "x" * (64 << 20)):
        notes = [hidden, *(f"{i:01000}" for i in range(20_000))]
        source = tmp_path / f"{len(hidden)}.parquet"
        ages = ["few", *["many"] * 20_000]
        write_any(pa.table({"age": ages, "note": notes}), source)

        anonymize_files(source, tmp_path / f"{len(hidden)}.out.parquet", spec)

        released.append(tmp_path / f"{len(hidden)}.out.parquet")
    assert groups_of(released[0]) == groups_of(released[1])
    assert len(groups_of(released[0])) == 2


def write_any(table: pa.Table, path: Path) -> None:
    if path.suffix == ".parquet":
        pq.write_table(table, path, use_dictionary=False)
    else:
        write_table(table, path)


def groups_of(file: Path) -> list[int]:
    metadata = pq.read_metadata(file)
    return [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]


def dictionaries(file: Path) -> Iterator[list[str]]:
    """What the dictionary pages of a column list, row group by row group."""
    with pq.ParquetFile(file, read_dictionary=["note"]) as opened:
        for i in range(opened.num_row_groups):
            yield opened.read_row_group(i)["note"].chunk(0).dictionary.to_pylist()


def test_no_dictionary_of_the_source_rides_along(tmp_path: Path) -> None:
    secret = [f"secret-{i}" for i in range(50)]
    kind = pa.dictionary(pa.int32(), pa.string())
    column = pa.DictionaryArray.from_arrays(
        pa.array([0, 1] * 50, pa.int32()), pa.array(secret)
    )
    table = pa.table({"age": [1, 2] * 50, "code": column.cast(kind)})
    source, target = tmp_path / "a.parquet", tmp_path / "b.parquet"
    pq.write_table(table, source)

    anonymize_files(source, target, Spec(("age",), (KAnonymity(2),)))

    assert b"secret-49" not in target.read_bytes()
    assert pq.read_table(target)["code"].to_pylist() == ["secret-0", "secret-1"] * 50
