"""Fuzzing for seconds; and that it would find what it looks for."""

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest import IS_PLAIN
from hypothesis import given, settings
from hypothesis import strategies as st
from models_oracle import PATHS, accepts, sensitive_models, sized_models

from benchmarks.fuzz import commands
from benchmarks.fuzz.commands import CANARY, DOCUMENTED, run_here
from benchmarks.fuzz.definitions import holds
from benchmarks.fuzz.drawing import Case, draw
from benchmarks.fuzz.judging import find_faults, is_feasible
from benchmarks.fuzz.mutations import mutate
from benchmarks.fuzz.readers import _READERS, read, summary
from benchmarks.fuzz.seeds import SUFFIXES, vary, write_seeds
from benchmarks.fuzz.tables import _differences, run_tables
from core_mondrian import KAnonymity, Release, Spec, anonymize
from core_mondrian.errors import InternalError
from core_mondrian.models import DistinctLDiversity, KMap

pytestmark = pytest.mark.usefixtures("random_keys")  # as outside of the tests
N_TABLES = 30 if IS_PLAIN else 300


def test_small_tables_keep_every_promise() -> None:
    found = run_tables(1, range(N_TABLES), 1)

    assert found.finds == []
    assert found.tables == N_TABLES
    assert found.released > N_TABLES // 3
    assert len(found.by_policy) == 3


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(54603, id="a value that looks like a set, and a population"),
        pytest.param(80001, id="redacted labels of several lengths"),
        pytest.param(259975, id="blank rows beside a class that is blank"),
        pytest.param(685926, id="the same, with another model"),
        pytest.param(548609, id="a learned hierarchy is not in the release"),
        pytest.param(5071, id="a person of the population whose text is empty"),
        pytest.param(576, id="samples are drawn under the key of the run"),
        pytest.param(5952, id="the same, in a table with a hierarchy"),
        pytest.param(16576, id="equal rows are allocated under it, too"),
    ],
)
def test_a_table_that_was_a_find_is_none(number: int) -> None:
    found = run_tables(1, range(number, number + 1), 1)

    assert found.finds == []
    assert found.released == 1


def test_odd_commands_end_as_documented() -> None:
    found = commands.run_commands(1, range(1, 41))

    assert found.finds == []
    assert set(found.codes) <= DOCUMENTED
    assert {0, 2} <= set(found.codes)


def test_a_table_is_drawn_from_its_number_alone() -> None:
    first = draw(5, 77)
    draw(5, 78)

    again = draw(5, 77)

    assert again.columns == first.columns
    assert again.spec == first.spec
    assert draw(6, 77).columns != first.columns


# The judge is able to fail


def case_of(**asked: Any) -> Case:
    columns = {
        "a": [1, 2, 3, 4, 5, 6],
        "b b": list("xxyyxx"),
        "s": list("pqpqpq"),
        "id": list(range(6)),
    }
    types = {"a": pa.int64(), "b b": pa.string(), "s": pa.string(), "id": pa.int64()}
    spec = Spec(("a", "b b"), (KAnonymity(2), DistinctLDiversity(2, "s")), **asked)
    kinds = {"a": "small", "b b": "texts"}
    return Case(0, kinds, columns, types, spec, {}, None, "arrow", 1)


def put(column: str, row: int, value: Any) -> Callable[[pa.Table], pa.Table]:
    def tamper(table: pa.Table) -> pa.Table:
        cells = table[column].to_pylist()
        cells[row] = value
        kind = pa.string() if isinstance(value, str) else table[column].type
        at = table.column_names.index(column)
        return table.set_column(at, column, pa.array(cells, kind))

    return tamper


TAMPERED: dict[str, tuple[Callable[[pa.Table], pa.Table], str]] = {
    "a class of one": (put("a", 0, "[0, 9]"), "violation"),
    "a range elsewhere": (put("a", 0, "[7, 9]"), "cover"),
    "another label": (put("b b", 2, "z"), "cover"),
    "a value blanked": (put("a", 0, None), "violation"),
    "a sensitive value": (put("s", 1, "p"), "carried"),
    "a row lost": (lambda table: table.slice(1), "lost rows"),
    "a row twice": (lambda table: table.take([0, 0, 1, 2, 3, 4]), "lost rows"),
    "another order": (lambda table: table.take([1, 0, 2, 3, 4, 5]), "order"),
    "a column more": (lambda table: table.append_column("x", table["s"]), "columns"),
    "a column less": (lambda table: table.drop_columns(["s"]), "columns"),
}


def test_a_sound_release_has_no_faults() -> None:
    case = case_of()

    assert find_faults(case, anonymize(case.arrow(), case.spec)) == []


@pytest.mark.parametrize(("tamper", "fault"), TAMPERED.values(), ids=TAMPERED)
def test_a_release_tampered_with_is_found(
    tamper: Callable[[pa.Table], pa.Table], fault: str
) -> None:
    case = case_of()
    release = anonymize(case.arrow(), case.spec)
    data = release.data.cast(
        pa.schema(
            pa.field(f.name, pa.string() if f.name in ("a", "b b") else f.type)
            for f in release.data.schema
        )
    )
    changed: Release[Any] = replace(release, data=tamper(data))

    assert any(text.startswith(fault) for text in find_faults(case, changed))


def test_rows_suppressed_beyond_the_budget_are_found() -> None:
    case = case_of()
    release = anonymize(case.arrow(), case.spec)

    changed = replace(release, data=release.data.slice(0, 5), n_suppressed=1)

    assert "budget: more rows suppressed than allowed" in find_faults(case, changed)


def case_of_three(categories: Any) -> Case:
    """Two rows of a population of three, the third with an empty text."""
    types = {"b b": pa.string(), "id": pa.int64()}
    population = {"b b": ["x", "x", ""]}
    people = pa.table(population)
    spec = Spec(("b b",), (KMap(3, people),), categories=categories)
    columns = {"b b": ["x", "x"], "id": [0, 1]}
    kinds = {"b b": "odd"}
    return Case(0, kinds, columns, types, spec, {}, population, "arrow", 1)


def test_a_person_with_an_empty_text_fits_a_set_with_null() -> None:
    # Table 5071: the judge did not take it for missing, as everywhere else.
    case = case_of_three("set")
    release = anonymize(case.arrow(), case.spec)

    assert release.data["b b"].to_pylist() == ["{x, null}"] * 2
    assert find_faults(case, release) == []


@pytest.mark.parametrize("cell", ["x", "{x}", "{x, y}", '{"", x}'])
def test_a_class_that_too_few_of_the_population_fit_is_found(cell: str) -> None:
    case = case_of_three("set")
    release = anonymize(case.arrow(), case.spec)
    cells = pa.array([cell] * 2)

    changed = replace(release, data=release.data.set_column(0, "b b", cells))

    assert find_faults(case, changed) == ["violation: 3-map"]


def test_a_refusal_without_need_is_known() -> None:
    case = case_of()

    assert is_feasible(case)
    assert not is_feasible(replace(case, spec=Spec(("a",), (KAnonymity(7),))))


@pytest.mark.parametrize("numbers", ["interval", "sample"])
def test_runs_are_compared_under_one_key(numbers: Any) -> None:
    # Tables 576 and 5952: two runs without a key were compared, each with its own.
    case = case_of(numbers=numbers)
    release = anonymize(case.arrow(), case.spec)

    for _ in range(5):
        assert list(_differences(case, release)) == []


def test_a_digest_that_changes_from_run_to_run_is_found() -> None:
    case = case_of()
    other = anonymize(case.arrow(), replace(case.spec, models=(KAnonymity(6),)))

    assert list(_differences(case, other)) == [
        "key: the digest depends on the run or its key"
    ]


@settings(max_examples=settings.default.max_examples * 3)
@given(st.data())
def test_definitions_agree_with_the_slow_ones(data: st.DataObject) -> None:
    values = st.sampled_from(["a", "b", "d", None])
    groups = data.draw(
        st.lists(st.lists(values, min_size=1, max_size=5), min_size=1, max_size=4)
    )
    model = data.draw(sized_models(4) | sensitive_models("s", has_tree=True))
    ways = {path[0]: path for path in PATHS}

    found = holds(model, groups, [len(group) for group in groups], ways)

    assert found == accepts(model, groups)


def test_what_a_command_does_wrong_is_found() -> None:
    def faults(code: int, errors: str = "", added: str = "") -> list[str]:
        files = {added} if added else set()
        return commands._faults(code, "", errors, files, keeps_header=True)

    assert faults(0, added="out.csv") == []
    assert faults(3, "error: row 3") == []
    assert faults(70, "internal error: KeyError in plan.py, line 3") != []
    assert faults(1, "Traceback (most recent call last)") != []
    assert faults(3, added="out.csv") != []
    assert faults(0, added=".out.csv.part") != []
    assert faults(3, f"error: {CANARY}1 is not a number") != []


def seeds(folder: Path) -> list[bytes]:
    write_seeds(folder / "seeds")
    return [path.read_bytes() for path in sorted((folder / "seeds").iterdir())]


def test_mutated_files_are_read_or_refused_in_words(tmp_path: Path) -> None:
    drawn = random.Random(4)  # noqa: S311

    ends = {
        (SUFFIXES[seed[0]], read(seed[0], mutate(drawn, seed[1:]), tmp_path))
        for seed in seeds(tmp_path) * 4
    }

    refused = {suffix for suffix, was_read in ends if not was_read}
    assert refused == {*SUFFIXES} - {".labels"}  # which may be any text
    assert {".csv", ".tree.csv", ".tree.toml", ".labels"} <= {
        suffix for suffix, was_read in ends if was_read
    }


def test_a_fault_of_ours_is_no_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path) -> None:
        raise InternalError(f"{path.name} breaks an invariant")

    monkeypatch.setitem(_READERS, ".csv", fail)

    with pytest.raises(InternalError):
        read(0, b"a\n1\n", tmp_path)


def test_commands_run_here_say_what_they_would(tmp_path: Path) -> None:
    code, out, errors = run_here(["inspect", "nowhere.csv"], tmp_path)

    assert (code, out) == (3, "")
    assert "nowhere.csv" in errors


# What was given to the readers


def test_every_reader_begins_with_files_that_it_takes(tmp_path: Path) -> None:
    taken = {
        SUFFIXES[seed[0]]
        for seed in seeds(tmp_path)
        if read(seed[0], seed[1:], tmp_path)
    }

    assert taken == set(SUFFIXES)


def test_texts_with_a_form_are_varied_line_by_line() -> None:
    known = bytes([SUFFIXES.index(".labels")]) + b"first\nlast"
    table = bytes([SUFFIXES.index(".parquet")]) + b"PAR1"

    def vary_often(data: bytes) -> list[bytes | None]:
        return [vary(data, random.Random(i)) for i in range(100)]  # noqa: S311

    varied = vary_often(known)

    texts = [one for one in varied if one is not None]
    assert 20 < len(texts) < 80
    assert {one[0] for one in texts} == {known[0]}
    assert any(one.endswith(b"\nlast") and b"first" not in one for one in texts)
    assert any(b"[" in one for one in texts)
    assert vary_often(table) == [None] * 100
    assert vary_often(known) == varied


def test_what_the_fuzzer_prints_is_summed_up() -> None:
    told = [
        "INFO: Seed: 1",
        "#10\tINITED cov: 510 ft: 516 corp: 9/12255b exec/s: 0 rss: 189Mb",
        "#12\tNEW    cov: 515 ft: 521 corp: 10/12285b lim: 3299",
        "#90\tREDUCE cov: 515 ft: 521 corp: 10/12285b lim: 3299",
        "#99\tDONE   cov: 515 ft: 879 corp: 70/38Kb lim: 3299 exec/s: 99",
    ]

    again = ["#1\tINITED cov: 515 ft: 879 corp: 70/38Kb exec/s: 0 rss: 189Mb"]

    assert summary([told, again]) == {
        "tries": 100,
        "coverage of the first inputs": 510,
        "coverage": 515,
        "last grew at try": 12,
    }
    assert summary([])["tries"] is None
