"""p_sensitize(): what it promises, judged by plain counting; and what it refuses."""

import datetime as dt
import decimal
import json
import math
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import Frame, as_arrow, as_pandas, as_polars
from hypothesis import given
from hypothesis import strategies as st
from support.keys import KEY, key_of

import core_mondrian
from core_mondrian import (
    DataError,
    InfeasibleError,
    MondrianError,
    SpecError,
    p_sensitize,
)
from core_mondrian.errors import InternalError
from core_mondrian.measures.changed import compare
from core_mondrian.tables.frames import open_frame, take_cells

CANARY = "CANARY-51c2"
KINDS = (as_arrow, as_pandas, as_polars)


def one_class(values: list[Any], **more: Any) -> Any:
    return pa.table({"q": ["x"] * len(values), "s": values, **more})


def cells(frame: Any, name: str) -> list[Any]:
    """Return plain values of any kind of frame, missing as None."""
    column = frame[name]
    listed = column.to_pylist() if isinstance(frame, pa.Table) else column.to_list()
    return [None if isinstance(v, float) and math.isnan(v) else v for v in listed]


# The oracle: dictionaries and loops


def by_class(keys: list[Any], values: list[Any]) -> dict[Any, Counter[Any]]:
    classes: dict[Any, Counter[Any]] = defaultdict(Counter)
    for key, value in zip(keys, values, strict=True):
        classes[key][value] += 1
    return classes


def distinct(counts: Counter[Any], missing: str) -> int:
    return len([v for v in counts if v is not None or missing == "value"])


def fewest_changes(classes: dict[Any, Counter[Any]], p: int, missing: str) -> int:
    return sum(max(0, p - distinct(counts, missing)) for counts in classes.values())


def can_reach(
    counts: Counter[Any], p: int, weights: Mapping[Any, float], missing: str
) -> bool:
    if distinct(counts, missing) >= p:
        return True
    could = {v for v in counts if v is not None or missing == "value"}
    could |= {value for value, weight in weights.items() if weight > 0}
    rows = sum(n for v, n in counts.items() if v is not None or missing == "value")
    return len(could) >= p and rows >= p


# Hypothesis

VALUES = ("a", "b", "c", "d", "e")


@st.composite
def releases(draw: st.DrawFn) -> tuple[list[tuple[int | None, str | None, int]], int]:
    """Rows of a k-anonymous table: class, sensitive value, another cell."""
    k = draw(st.integers(2, 5))
    rows: list[tuple[int | None, str | None, int]] = []
    for key in draw(st.permutations([None, 0, 1, 2, 3]))[: draw(st.integers(1, 5))]:
        n = draw(st.integers(k, k + 4))
        pool = draw(st.lists(st.sampled_from([*VALUES, None]), min_size=1, max_size=3))
        values = draw(st.lists(st.sampled_from(pool), min_size=n, max_size=n))
        rows += [(key, value, draw(st.integers(0, 2))) for value in values]
    return rows, k


chances = st.none() | st.dictionaries(
    st.sampled_from([*VALUES, "new", "newer"]), st.sampled_from([0, 1e-9, 0.5, 3])
).filter(lambda found: any(found.values()))


def table_of(rows: list[tuple[int | None, str | None, int]]) -> Any:
    return pa.table(
        {
            "other": pa.array([row[2] for row in rows], pa.int64()),
            "q": pa.array([row[0] for row in rows], pa.int64()),
            "s": pa.array([row[1] for row in rows], pa.string()),
        }
    )


@dataclass(frozen=True)
class Case:
    """A release and a request; what is drawable and whether it can be done."""

    rows: list[tuple[int | None, str | None, int]]
    k: int
    p: int
    options: dict[str, Any]

    @property
    def keys(self) -> list[Any]:
        return [row[0] for row in self.rows]

    @property
    def old(self) -> list[Any]:
        return [row[1] for row in self.rows]

    @property
    def drawable(self) -> Mapping[Any, float]:
        given: Mapping[Any, float] | None = self.options["probabilities"]
        return Counter(v for v in self.old if v is not None) if given is None else given

    @property
    def missing(self) -> str:
        return str(self.options["missing"])

    @property
    def is_feasible(self) -> bool:
        classes = by_class(self.keys, self.old).values()
        return all(can_reach(c, self.p, self.drawable, self.missing) for c in classes)

    def run(self, kind: Frame = as_arrow) -> Any:
        data = kind(table_of(self.rows))
        return p_sensitize(data, ["q"], "s", self.p, self.k, **self.options)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    rows, k = draw(releases())
    options = {
        "probabilities": draw(chances),
        "key": key_of(draw(st.integers(0, 3))),
        "missing": draw(st.sampled_from(["value", "ignored"])),
    }
    return Case(rows, k, min(k, draw(st.integers(2, 5))), options)


@given(cases(), st.sampled_from(KINDS))
def test_only_what_can_be_done_is_done(case: Case, kind: Frame) -> None:
    if case.is_feasible:
        assert case.run(kind).p >= case.p
    else:
        with pytest.raises(InfeasibleError):
            case.run(kind)


@given(cases().filter(lambda case: case.is_feasible), st.sampled_from(KINDS))
def test_every_guarantee_holds(case: Case, kind: Frame) -> None:
    done = case.run(kind)

    keys, old, new = case.keys, case.old, cells(done.data, "s")
    before, after = by_class(keys, old), by_class(keys, new)
    changed = [i for i in range(len(old)) if old[i] != new[i]]
    assert type(done.data) is type(kind(table_of(case.rows)))
    assert cells(done.data, "q") == keys
    assert cells(done.data, "other") == [row[2] for row in case.rows]
    assert all(distinct(counts, case.missing) >= case.p for counts in after.values())
    assert all(set(before[key]) <= set(after[key]) for key in before)
    assert len(changed) == fewest_changes(before, case.p, case.missing)
    assert all(case.drawable.get(new[i], 0) > 0 for i in changed)
    assert all(new[i] not in before[keys[i]] for i in changed)
    if case.missing == "ignored":
        assert all(old[i] is not None for i in changed)


@given(cases().filter(lambda case: case.is_feasible))
def test_every_figure_is_right(case: Case) -> None:
    done = case.run()

    new = cells(done.data, "s")
    changed = [i for i, value in enumerate(case.old) if value != new[i]]
    after = by_class(case.keys, new)
    moved = Counter(new)
    moved.subtract(Counter(case.old))
    assert done.n_rows == len(case.rows)
    assert done.n_changed == len(changed)
    assert done.n_classes == len(after)
    assert done.n_classes_changed == len({case.keys[i] for i in changed})
    assert done.k == min(sum(counts.values()) for counts in after.values())
    assert done.p == min(distinct(counts, case.missing) for counts in after.values())
    assert done.drift == sum(map(abs, moved.values())) / 2 / len(case.rows)


@given(releases(), st.randoms(use_true_random=False), st.integers(0, 50))
def test_row_order_and_library_change_nothing(
    release: Any, random: Any, seed: int
) -> None:
    rows, k = release
    shuffled = list(rows)
    random.shuffle(shuffled)
    weights = dict.fromkeys((*VALUES, "new"), 1)

    found = []
    for kind in KINDS:
        for some in (rows, shuffled):
            done = p_sensitize(
                *(kind(table_of(some)), ["q"], "s", min(3, k), k),
                probabilities=weights,
                key=key_of(seed),
            )
            columns = [cells(done.data, name) for name in ("other", "q", "s")]
            found.append(Counter(zip(*columns, strict=True)))

    assert all(other == found[0] for other in found[1:])


# Facts any implementation has to reproduce


def test_one_change_makes_two_values_and_none_is_impossible() -> None:
    priors = {"green": 0.5, "blue": 0.5, "orange": 0}

    for seed in range(30):
        done = p_sensitize(
            *(one_class(["green", "green"]), ["q"], "s", 2, 2),
            probabilities=priors,
            key=key_of(seed),
        )
        assert sorted(cells(done.data, "s")) == ["blue", "green"]
        assert done.n_changed == 1


def test_two_changes_make_three_values() -> None:
    priors = {"green": 0.2, "blue": 0.4, "orange": 0.4}

    done = p_sensitize(one_class(["green"] * 3), ["q"], "s", 3, 3, probabilities=priors)

    assert sorted(cells(done.data, "s")) == ["blue", "green", "orange"]
    assert done.n_changed == 2


def test_existing_values_survive_whatever_the_lots() -> None:
    priors = dict.fromkeys("ABCDEF", 1.0)

    for seed in range(30):
        done = p_sensitize(
            *(one_class(["A", "A", "B", "B"]), ["q"], "s", 4, 4),
            probabilities=priors,
            key=key_of(seed),
        )
        assert done.n_changed == 2
        assert {"A", "B"} < set(cells(done.data, "s"))
        assert done.p == 4


def test_the_key_decides_and_nothing_else() -> None:
    table = pa.table(
        {"q": [i // 4 for i in range(80)], "s": ["a"] * 80, "id": range(80)}
    )
    priors = dict.fromkeys("abcd", 1)

    runs = [
        cells(
            p_sensitize(
                table, ["q"], "s", 2, 4, probabilities=priors, key=key_of(s)
            ).data,
            "s",
        )
        for s in (1, 1, 2)
    ]

    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def changed_rows(rows: pa.Table, key: bytes | None) -> set[tuple[int, str]]:
    priors = {"a": 1, "b": 1, "c": 1}
    done = p_sensitize(rows, ["q"], "s", 2, 4, probabilities=priors, key=key).data
    pairs = zip(done["i"].to_pylist(), done["s"].to_pylist(), strict=True)
    return {(i, s) for i, s in pairs if i >= 30 and s != "b"}


def two_classes() -> pa.Table:
    table = pa.table({"q": ["x"] * 30 + ["y"] * 30, "s": ["a"] * 30 + ["b"] * 30})
    return table.append_column("i", pa.array(range(60)))


def test_row_order_does_not_decide_what_is_changed() -> None:
    table = two_classes()

    upside_down = table.take(pa.array(range(59, -1, -1)))

    assert changed_rows(table, KEY) == changed_rows(upside_down, KEY)


@pytest.mark.usefixtures("random_keys")
def test_without_a_key_nobody_can_draw_the_same_lots_again() -> None:
    # A seed made from the table could be found by trying what is left of it.
    table = two_classes()

    drawn = {frozenset(changed_rows(table, None)) for _ in range(5)}

    assert len(drawn) > 1


def test_a_process_with_another_hash_seed_gives_the_same() -> None:
    code = (
        "import pyarrow as pa\n"
        "from core_mondrian import p_sensitize\n"
        "t = pa.table({'q': [i // 4 for i in range(40)], 's': ['a', 'b'] * 20})\n"
        "w = {v: 1 for v in set('abcdefg')}\n"
        "k = bytes(16)\n"
        "done = p_sensitize(t, ['q'], 's', 4, 4, probabilities=w, key=k)\n"
        "print(done.data['s'].to_pylist())"
    )
    source = str(Path(core_mondrian.__file__).parents[1])

    printed = {
        subprocess.run(  # noqa: S603
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": source},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(printed) == 1


def test_what_is_drawn_does_not_change_from_version_to_version() -> None:
    table = pa.table(
        {"q": [i // 3 for i in range(12)], "s": ["a"] * 12, "id": range(12)}
    )

    done = p_sensitize(
        table, ["q"], "s", 2, 3, probabilities=dict.fromkeys("abcd", 1), key=KEY
    )

    assert "".join(cells(done.data, "s")) == "aadaabaacdaa"


# How rows and values are drawn


def test_values_are_drawn_as_likely_as_asked() -> None:
    n = 4_000
    table = pa.table({"q": [i // 2 for i in range(2 * n)], "s": ["a"] * (2 * n)})
    priors = {"a": 5, "b": 6, "c": 3, "d": 1}

    done = p_sensitize(table, ["q"], "s", 2, 2, probabilities=priors, key=KEY)

    drawn = Counter(cells(done.data, "s"))
    assert [drawn[v] / n for v in "abcd"] == pytest.approx([1, 0.6, 0.3, 0.1], abs=0.03)


def test_without_probabilities_values_are_drawn_as_they_occur() -> None:
    n = 3_000
    keys = [i // 2 for i in range(2 * n)]
    table = pa.table(
        {"q": [*keys, *[-1] * 200], "s": ["a"] * (2 * n) + ["b"] * 150 + ["c"] * 50}
    )

    done = p_sensitize(table, ["q"], "s", 2, 2)

    drawn = Counter(cells(done.data, "s")[: 2 * n])
    assert [drawn["b"] / n, drawn["c"] / n] == pytest.approx([0.75, 0.25], abs=0.03)
    assert done.n_classes_changed == n


def test_the_second_value_is_drawn_among_those_left() -> None:
    n = 4_000
    table = pa.table({"q": [i // 3 for i in range(3 * n)], "s": ["a"] * (3 * n)})
    priors = {"b": 0.5, "c": 0.25, "d": 0.25}

    done = p_sensitize(table, ["q"], "s", 3, 3, probabilities=priors)

    pairs = Counter(
        "".join(sorted(counts))
        for counts in by_class(cells(table, "q"), cells(done.data, "s")).values()
    )
    # b then c: .5 * .5; c then b: .25 * 2/3; the same for d; c and d: 2 * .25 / 3.
    shares = [pairs[pair] / n for pair in ("abc", "abd", "acd")]
    assert shares == pytest.approx([5 / 12, 5 / 12, 1 / 6], abs=0.03)


def test_every_row_is_as_likely_to_be_changed() -> None:
    n = 3_000
    table = pa.table(
        {
            "q": [i // 5 for i in range(5 * n)],
            "s": ["a", "a", "a", "b", "c"] * n,
            "id": [i % 5 for i in range(5 * n)],
        }
    )

    done = p_sensitize(table, ["q"], "s", 4, 5, probabilities={"d": 1})

    changed = [i % 5 for i, v in enumerate(cells(done.data, "s")) if v == "d"]
    shares = [changed.count(i) / n for i in range(5)]
    assert shares == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0, 0], abs=0.03)


def test_two_sensitive_columns_are_drawn_apart() -> None:
    n = 200
    keys = [i // 2 for i in range(2 * n)]
    same = ["a"] * (2 * n)
    table = pa.table({"q": keys, "s": same, "t": same, "id": range(2 * n)})
    priors = {"b": 1, "c": 1}

    one = p_sensitize(table, ["q"], "s", 2, 2, probabilities=priors).data
    both = p_sensitize(one, ["q"], "t", 2, 2, probabilities=priors).data

    assert both["s"].equals(one["s"])
    assert cells(both, "s") != cells(both, "t")


def test_the_order_of_quasi_identifiers_makes_no_difference() -> None:
    table = pa.table(
        {"q": [i // 40 for i in range(80)], "r": [i // 4 % 10 for i in range(80)]}
    ).append_column("s", pa.array(["a"] * 80))
    table = table.append_column("id", pa.array(range(80)))

    runs = [
        p_sensitize(table, names, "s", 2, 4, probabilities={"b": 1}, key=KEY).data
        for names in (["q", "r"], ["r", "q"])
    ]

    assert runs[0].equals(runs[1])


@pytest.mark.parametrize(
    "priors",
    [{"a": 1.0, "b": 5e-324}, {"a": 1.7e308, "b": 1e-300}],
    ids=["tiny", "huge"],
)
def test_probabilities_at_the_ends_of_floats_are_drawn_from(priors: Any) -> None:
    for seed in range(20):  # of so small a number, half the chances round up to all
        done = p_sensitize(
            *(one_class(["a"] * 2), ["q"], "s", 2, 2),
            probabilities=priors,
            key=key_of(seed),
        )
        assert sorted(cells(done.data, "s")) == ["a", "b"]


def test_more_columns_than_one_number_can_hold() -> None:
    n = 2_000
    wide = {f"q{i}": [(row // 2 * 7 + i) % 997 for row in range(n)] for i in range(8)}
    table = pa.table({**wide, "s": ["a"] * n})

    done = p_sensitize(table, list(wide), "s", 2, 2, probabilities={"b": 1})

    assert done.n_classes == len(set(zip(*wide.values(), strict=True)))
    assert done.n_changed == done.n_classes


# Nothing to do


def test_a_table_that_is_there_already_is_left_alone(frame_kind: Frame) -> None:
    table = frame_kind(one_class(["a", "b", "a"]))

    done = p_sensitize(table, ["q"], "s", 2, 3)

    assert cells(done.data, "s") == ["a", "b", "a"]
    assert (done.n_changed, done.n_classes_changed, done.p, done.k) == (0, 0, 2, 3)
    assert done.drift == 0.0
    assert done.to_json()["values_changed"] is False
    assert done.summary == "no value of 's' was changed: every class has 2 or more"


# Types, indices, frames

ANY: list[Any] = [
    pytest.param([1, 1, 1, 7], 3, pa.int8(), id="small whole numbers"),
    pytest.param([1, 1, 1, 7], 3, pa.uint64(), id="unsigned"),
    pytest.param([0.5, 0.5, 0.5, 7.0], 2, pa.float32(), id="numbers"),
    pytest.param(["a", "a", "a", "b"], "c", pa.large_string(), id="large text"),
    pytest.param(["a", "a", "a", "b"], "c", pa.string_view(), id="text view"),
    pytest.param([True] * 4, False, pa.bool_(), id="booleans"),
    pytest.param(
        [dt.date(2020, 1, 1)] * 4, dt.date(1890, 5, 6), pa.date32(), id="dates"
    ),
    pytest.param(
        [dt.datetime(2020, 1, 1, 5)] * 4,
        dt.datetime(1890, 5, 6, 7, 8, 9),
        pa.timestamp("us"),
        id="times",
    ),
    pytest.param(
        [dt.datetime(2020, 1, 1, 5, tzinfo=dt.UTC)] * 4,
        dt.datetime(1999, 5, 6, 7, tzinfo=dt.UTC),
        pa.timestamp("ns", "UTC"),
        id="times of a zone",
    ),
    pytest.param(
        [decimal.Decimal("1.50")] * 4,
        decimal.Decimal("2.25"),
        pa.decimal128(6, 2),
        id="decimals",
    ),
    pytest.param(
        ["a"] * 4, "b", pa.dictionary(pa.int8(), pa.string()), id="dictionary"
    ),
    pytest.param([3] * 4, 4, pa.dictionary(pa.int16(), pa.int64()), id="numbered"),
]


@pytest.mark.parametrize(("old", "new", "kind"), ANY)
def test_types_are_kept(old: Any, new: Any, kind: Any, frame_kind: Frame) -> None:
    column = pa.chunked_array([pa.array(old[:1], kind), pa.array(old[1:], kind)])
    table = frame_kind(pa.table({"q": ["x"] * 4, "s": column, "t": [1, 2, 3, 4]}))
    if isinstance(table, pd.DataFrame) and pa.types.is_dictionary(kind):
        table["s"] = table["s"].cat.add_categories([new])

    done = p_sensitize(
        table, ["q"], "s", len(set(old)) + 1, 4, probabilities={new: 0.1}
    )

    found = cells(done.data, "s")
    assert open_frame(done.data).schema == open_frame(table).schema
    if isinstance(table, pa.Table):
        assert done.data.schema.equals(table.schema, check_metadata=True)
    assert Counter(found) - Counter(cells(table, "s")) == Counter([new])


def test_pandas_keeps_its_order_of_categories_and_its_objects() -> None:
    kind = pd.CategoricalDtype(["low", "middle", "high"], ordered=True)
    table = pd.DataFrame(
        {
            "q": [1.5, 1.5, 1.5, 2.5, 2.5, 2.5],
            "s": pd.Series(["high", "high", "high", "low", "low", "low"], dtype=kind),
            "mixed": [1, "x", None, b"y", {"z"}, [1]],
        }
    )
    table.index = pd.Index([7, 7, 7, 3, 3, 7], name="person")
    table.columns.name = "columns"
    before = table.copy()

    done = p_sensitize(
        table, ["q"], "s", 3, 3, probabilities={"middle": 1, "low": 1, "high": 1}
    )

    pd.testing.assert_frame_equal(table, before)
    pd.testing.assert_frame_equal(
        done.data.drop(columns="s"),
        before.drop(columns="s").reset_index(drop=True).rename_axis(columns=None),
    )
    assert done.data["s"].dtype == kind
    assert done.n_changed == 4
    assert set(done.data["s"].iloc[:3]) == {"low", "middle", "high"}


@pytest.mark.parametrize(
    "dtype",
    ["int64", "Int64", "float64", "int64[pyarrow]", "object", "string", "str", "bool"],
)
def test_pandas_types_are_kept(dtype: str) -> None:
    old, new = ("a", "b") if dtype in ("object", "string", "str") else (1, 2)
    if dtype == "bool":
        old, new = True, False
    column = pd.Series([old] * 4, dtype=dtype)
    table = pd.DataFrame({"q": 1, "s": column})

    done = p_sensitize(table, ["q"], "s", 2, 4, probabilities={new: 1})

    assert done.data["s"].dtype == column.dtype
    assert sorted(cells(done.data, "s")) == sorted([old, old, old, new])


def test_polars_keeps_an_enum_of_what_is_used() -> None:
    kind = pl.Enum(["z", "a", "m"])
    table = pl.DataFrame({"q": [1, 1, 1], "s": pl.Series(["a", "a", "a"], dtype=kind)})

    done = p_sensitize(table, ["q"], "s", 2, 3, probabilities={"z": 1})

    assert done.data.schema == {"q": pl.Int64(), "s": pl.Enum(["z", "a"])}
    assert sorted(done.data["s"].to_list()) == ["a", "a", "z"]


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(
            pl.DataFrame(
                {"q": [1, 1], "s": pl.Series(["a", "a"], dtype=pl.Enum(["a"]))}
            ),
            id="polars",
        ),
        pytest.param(
            pd.DataFrame({"q": [1, 1], "s": pd.Categorical(["a", "a"])}), id="pandas"
        ),
        pytest.param(
            pa.table(
                {
                    "q": [1] * 256,
                    "s": pa.array(
                        [str(i % 128) for i in range(256)],
                        pa.dictionary(pa.int8(), pa.string()),
                    ),
                }
            ),
            id="pyarrow",
        ),
    ],
)
def test_a_value_that_the_type_cannot_hold_is_refused(table: Any) -> None:
    with pytest.raises(SpecError, match="do not fit into column 's'") as caught:
        p_sensitize(table, ["q"], "s", 2, 2, probabilities={CANARY: 1})

    assert CANARY not in str(caught.value)


def test_arrow_keeps_required_fields() -> None:
    schema = pa.schema(
        [
            pa.field("q", pa.string()),
            pa.field("s", pa.int64(), nullable=False, metadata={"unit": "mg"}),
        ],
        metadata={"source": "study"},
    )
    table = pa.table({"q": ["x"] * 3, "s": [1, 1, 1]}, schema=schema)

    done = p_sensitize(table, ["q"], "s", 2, 3, probabilities={5: 1})

    assert done.data.schema == schema
    assert done.data.schema.metadata is None


def test_values_of_numpy_are_values() -> None:
    done = p_sensitize(
        one_class([1, 1, 1]),
        ["q"],
        "s",
        2,
        3,
        probabilities={np.int64(4): np.float32(1)},
    )

    assert sorted(cells(done.data, "s")) == [1, 1, 4]


@pytest.mark.parametrize(
    "kind",
    [
        pa.int16(),
        pa.float32(),
        pa.bool_(),
        pa.date32(),
        pa.date64(),
        pa.timestamp("s"),
        pa.timestamp("ms", "UTC"),
        pa.time32("s"),
        pa.duration("s"),
        pa.decimal128(5, 1),
        pa.dictionary(pa.int8(), pa.string()),
    ],
    ids=str,
)
def test_classes_of_any_type_draw_the_same_in_every_library(kind: Any) -> None:
    numbers = pa.array([i // 4 for i in range(32)], pa.int32())
    if pa.types.is_dictionary(kind):
        keys = numbers.cast(pa.string()).dictionary_encode().cast(kind)
    elif pa.types.is_date64(kind):
        keys = numbers.cast(pa.date32()).cast(kind)
    elif pa.types.is_decimal(kind):
        keys = pa.array([decimal.Decimal(n) / 2 for n in numbers.to_pylist()], kind)
    else:
        keys = numbers.cast(pa.int64() if kind.bit_width == 64 else pa.int32())
        keys = keys.cast(kind)
    keys = pa.concat_arrays([keys, pa.nulls(4, kind)])
    table = pa.table({"q": keys, "s": ["a"] * 36, "id": range(36)})

    found = [
        cells(
            p_sensitize(
                *(kind_(table), ["q"], "s", 2, 4),
                probabilities=dict.fromkeys("bcde", 1),
                key=KEY,
            ).data,
            "s",
        )
        for kind_ in KINDS
    ]

    assert found[0] == found[1] == found[2]


def test_missing_and_nan_are_one_value(frame_kind: Frame) -> None:
    table = frame_kind(
        pa.table(
            {
                "q": pa.array([None, None, 1.5, 1.5]),
                "s": pa.array([2.5, 2.5, 2.5, None]),
                "t": pa.array([float("nan"), None, 1.0, 2.0]),
            }
        )
    )

    done = p_sensitize(table, ["q"], "s", 2, 2, probabilities={7: 1})

    found = cells(done.data, "s")
    assert sorted(found[:2]) == [2.5, 7.0]
    assert found[2:] == [2.5, None]


def test_a_missing_value_is_a_value_that_is_kept_and_never_drawn() -> None:
    table = one_class([None, None, None, "a"])

    done = p_sensitize(table, ["q"], "s", 4, 4, probabilities={"b": 1, "c": 1})

    assert sorted(cells(done.data, "s"), key=str) == [None, "a", "b", "c"]
    with pytest.raises(InfeasibleError, match="only 2 different values"):
        p_sensitize(table, ["q"], "s", 3, 4)


def test_missing_values_may_be_left_alone() -> None:
    table = one_class([None, None, "a", "a", "a"])

    done = p_sensitize(
        *(table, ["q"], "s", 3, 5),
        probabilities={"b": 1, "c": 1},
        missing="ignored",
    )

    assert cells(done.data, "s")[:2] == [None, None]
    assert sorted(cells(done.data, "s")[2:]) == ["a", "b", "c"]
    with pytest.raises(InfeasibleError, match="1 have too few rows with a value"):
        p_sensitize(
            *(table, ["q"], "s", 4, 5),
            probabilities=dict.fromkeys("bcdefg", 1),
            missing="ignored",
        )


# What is told


def test_the_summary_says_that_values_are_false() -> None:
    n = 1_200
    table = pa.table({"q": [i // 2 for i in range(n)], "disease": ["a"] * n})

    done = p_sensitize(table, ["q"], "disease", 2, 2, probabilities={"b": 1})

    assert done.summary == (
        "600 of 1,200 values of 'disease' were changed so that every class has 2 or "
        "more: do not use them as measurements of individuals"
    )
    assert done.drift == 0.5


def test_the_record_is_plain_and_holds_no_cell() -> None:
    table = one_class([CANARY] * 3, t=[CANARY] * 3)

    done = p_sensitize(
        table, ["q"], "s", 2, 2, probabilities={CANARY + "x": 1}, key=KEY
    )

    record = json.loads(json.dumps(done.to_json()))
    assert record["values_changed"] is True
    assert record["asked"]["key"] == "given"
    assert "12" not in repr(done)
    assert record["reached"] == {"p": 2, "k": 3}
    assert record["asked"]["p"] == 2
    assert CANARY not in json.dumps(record) + repr(done)


# Refusals


def refuse(error: type[MondrianError], match: str, data: Any, **more: Any) -> None:
    asked = {"quasi_identifiers": ["q"], "sensitive": "s", "p": 2, "k": 2, **more}
    with pytest.raises(error, match=match) as caught:
        p_sensitize(data, **asked)
    assert CANARY not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("more", "match"),
    [
        pytest.param({"p": 1}, "p >= 2, got p=1", id="p of one"),
        pytest.param({"p": 2.0}, "p must be a whole number, got float", id="p float"),
        pytest.param({"p": True}, "p must be a whole number, got bool", id="p bool"),
        pytest.param({"k": "5"}, "k must be a whole number, got str", id="k text"),
        pytest.param({"p": 3}, "k is at least p, got k=2 and p=3", id="k below p"),
        pytest.param({"key": "x" * 20}, "the key is bytes, got str", id="key"),
        pytest.param({"key": b"short"}, "fewer than 16", id="short key"),
        pytest.param(
            {"missing": "x"}, "missing is one of value, ignored", id="missing"
        ),
        pytest.param({"quasi_identifiers": []}, "no quasi-identifier", id="no column"),
        pytest.param({"quasi_identifiers": "q"}, "got one text", id="one text"),
        pytest.param({"quasi_identifiers": [1]}, "got int", id="a number"),
        pytest.param({"quasi_identifiers": ["q", "q"]}, "named twice", id="twice"),
        pytest.param({"quasi_identifiers": ["w"]}, r"not in the data: 'w'", id="q"),
        pytest.param({"sensitive": "w"}, r"not in the data: 'w'", id="sensitive"),
        pytest.param({"sensitive": "q"}, "a quasi-identifier and sensitive", id="both"),
        pytest.param({"probabilities": [1]}, "map values to numbers", id="a list"),
        pytest.param({"probabilities": {}}, "finite sum above 0", id="empty"),
        pytest.param({"probabilities": {"a": 0}}, "finite sum above 0", id="nothing"),
        pytest.param({"probabilities": {"a": -0.1}}, "not below 0", id="negative"),
        pytest.param({"probabilities": {"a": math.nan}}, "finite", id="nan"),
        pytest.param({"probabilities": {"a": math.inf}}, "finite", id="infinite"),
        pytest.param(
            {"probabilities": {"a": 1e308, "b": 1.7e308}}, "finite sum", id="overflow"
        ),
        pytest.param({"probabilities": {"a": "x"}}, "number, got str", id="a word"),
        pytest.param({"probabilities": {"a": True}}, "number, got bool", id="truth"),
        pytest.param({"probabilities": {1: 1}}, "not string", id="wrong type"),
        pytest.param({"probabilities": {None: 1}}, "not string", id="missing value"),
        pytest.param({"probabilities": {(CANARY,): 1}}, "not string", id="tuple"),
    ],
)
def test_contradictions_are_refused(more: Any, match: str) -> None:
    refuse(SpecError, match, one_class([CANARY] * 4), **more)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        pytest.param(pa.int64(), "1", id="text for a number"),
        pytest.param(pa.int64(), 1.5, id="fraction for a whole number"),
        pytest.param(pa.int64(), True, id="truth for a number"),
        pytest.param(pa.int8(), 300, id="too large"),
        pytest.param(pa.float64(), math.nan, id="nan"),
        pytest.param(pa.float64(), math.inf, id="infinite"),
        pytest.param(pa.bool_(), 1, id="number for truth"),
        pytest.param(pa.date32(), 3, id="number for a date"),
        pytest.param(pa.date32(), dt.datetime(2020, 1, 1, 4), id="time for a date"),
        pytest.param(pa.timestamp("us"), dt.date(2020, 1, 1), id="date for a time"),
    ],
)
def test_values_of_another_type_are_refused(kind: Any, value: Any) -> None:
    same = pa.array([1, 1], pa.int64() if kind.bit_width == 64 else pa.int32())
    table = pa.table({"q": [1, 1], "s": same.cast(kind)})

    name = str(kind).split("[", maxsplit=1)[0]
    refuse(SpecError, f"values that are not {name}", table, probabilities={value: 1})


def test_a_value_named_twice_is_refused() -> None:
    table = pa.table({"q": [1, 1], "s": pa.array([1, 1], pa.float32())})

    refuse(SpecError, "twice", table, probabilities={0.1: 1, 0.1 + 1e-12: 1})


def test_tables_that_do_not_fit_are_refused() -> None:
    empty = pa.table({"q": pa.array([], pa.string()), "s": pa.array([], pa.string())})
    refuse(InfeasibleError, "0 rows, but one class needs 2", empty)
    refuse(SpecError, "a dataframe in memory is needed", {"q": [1], "s": [2]})
    nested = pa.table({"q": [1, 1], "s": [[CANARY], [CANARY]]})
    refuse(DataError, "neither an order nor labels", nested)
    mixed = pd.DataFrame({"q": [1, 1], "s": pd.Series([1, CANARY], dtype=object)})
    refuse(DataError, "mixes values of different types", mixed)
    blank = pa.table({"q": [1, 1], "s": pa.nulls(2)})
    refuse(InfeasibleError, "only 1 different values for 's'\nhint: no p", blank)


def test_a_table_that_is_not_k_anonymous_is_refused() -> None:
    table = pa.table({"q": [1, 1, 1, 2, 2, 3], "s": [CANARY] * 6})

    refuse(
        *(InfeasibleError, "2 of 3 classes have fewer than 3 rows; the smallest has 1"),
        table,
        k=3,
    )


def test_p_above_the_number_of_values_names_the_nearest_that_works() -> None:
    table = one_class(["a", "b", "c", "a", CANARY])

    refuse(
        InfeasibleError, "only 4 different values for 's'\nhint: p = 4", table, p=5, k=5
    )


def test_classes_that_lack_drawable_values_are_counted() -> None:
    table = pa.table(
        {
            "q": [1, 1, 1, 2, 2, 2, 3, 3, 3],
            "s": ["a", "a", "a", "b", "b", "b", "a", "b", CANARY],
        }
    )

    refuse(
        InfeasibleError,
        "1 of 3 classes cannot have 3 different values of 's'.*the worst lacks 1\n"
        "hint: p = 2 would work; or give more values a probability above 0",
        table,
        p=3,
        k=3,
        probabilities={"b": 1, CANARY: 1},
    )


def test_two_columns_of_one_name_are_refused() -> None:
    table = pa.Table.from_arrays([pa.array(["a", "a"])] * 3, names=["q", "s", "s"])

    refuse(DataError, "same name", table)


# The recount


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        pytest.param({"q": ["y", "x", "x"]}, "other cells", id="quasi-identifier"),
        pytest.param({"t": [1, 2, 4]}, "other cells", id="carried"),
        pytest.param({"s": ["a", "a", "a"]}, "lost one", id="wiped out"),
        pytest.param({"s": ["a", "b", None]}, "lost one", id="blanked"),
        pytest.param({"s": [1, 2, 1]}, "rows or types", id="type"),
    ],
)
def test_the_recount_notices(changes: Any, match: str, frame_kind: Frame) -> None:
    old = {"q": ["x"] * 3, "s": ["a", "b", "a"], "t": [1, 2, 3]}
    before = open_frame(frame_kind(pa.table(old)))
    after = open_frame(frame_kind(pa.table({**old, **changes})))

    with pytest.raises(InternalError, match=match):
        compare(before, after, ["q"], "s", ignores_missing=False)


def test_a_frame_of_no_known_library_is_refused() -> None:
    class Unknown:
        implementation = type(
            "Name",
            (),
            {
                "is_pandas": lambda _: False,
                "is_polars": lambda _: False,
                "is_pyarrow": lambda _: False,
            },
        )()

        def to_native(self) -> None:
            return None

    with pytest.raises(SpecError, match="not supported"):
        take_cells(Unknown(), "s", pa.array([]), np.arange(0))  # type: ignore[arg-type]
