"""The verifier against a plain recount, and against tables made to fool it."""

import math
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from core_mondrian.api import anonymize
from core_mondrian.errors import (
    DataError,
    InfeasibleError,
    PrivacyViolation,
    SpecError,
)
from core_mondrian.models.base import Limits, PrivacyModel
from core_mondrian.models.distinct import DistinctLDiversity
from core_mondrian.models.entropy import EntropyLDiversity
from core_mondrian.models.k_anonymity import KAnonymity
from core_mondrian.models.population import KMap
from core_mondrian.models.recursive import RecursiveCLDiversity
from core_mondrian.models.risk import AverageRisk
from core_mondrian.models.t_closeness import TCloseness
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.pseudonyms import LENGTH
from core_mondrian.verification.counting import Coded, code_column, compress
from core_mondrian.verification.counts import Classes
from core_mondrian.verification.verify import (
    _count_values,
    _parts,
    are_pseudonyms,
    verify,
)

NAN = float("nan")
PSEUDONYM = "a1" * (LENGTH // 2)
Frame = Callable[[dict[str, list[Any]]], Any]
FRAMES = [
    pytest.param(pd.DataFrame, id="pandas"),
    pytest.param(lambda columns: pl.DataFrame(columns, strict=False), id="polars"),
    pytest.param(pa.table, id="pyarrow"),
]


def k_spec(columns: str, k: int = 2, **more: Any) -> Spec:
    return Spec(tuple(columns), models=(KAnonymity(k),), **more)


@dataclass(frozen=True, slots=True)
class Diverse(PrivacyModel):
    """At least two values of column ``s`` in each class: a model with a measure."""

    name: str = "diversity"
    sensitive: str = "s"

    def limits(self) -> Limits:
        return Limits(at_least=2)

    @staticmethod
    def measure(
        _rows: int,
        values: NDArray[np.int64],
        _table: NDArray[np.int64],
        _parameters: NDArray[np.float64],
    ) -> float:
        return float(np.count_nonzero(values))


@pytest.mark.parametrize("frame", FRAMES)
def test_classes_are_counted_alike_in_every_frame(frame: Frame) -> None:
    data = frame({"a": [1, 1, 1, 2, 2], "b": ["x", "x", "x", "y", "y"]})

    found = verify(data, k_spec("ab"))

    assert (found.n_rows, found.n_classes, found.smallest_class) == (5, 2, 2)
    assert [(m.name, m.reached) for m in found.models] == [("2-anonymity", 2.0)]


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize(
    "values",
    [
        pytest.param([None, "x", "x"], id="text"),
        pytest.param([None, 1.5, 1.5], id="number"),
        pytest.param([None, True, True], id="boolean"),
    ],
)
def test_a_single_missing_value_is_a_class_of_one(
    frame: Frame, values: list[Any]
) -> None:
    with pytest.raises(PrivacyViolation, match="1 of 2 classes with 1 of 3 rows"):
        verify(frame({"a": values}), k_spec("a"))


def test_pandas_would_drop_what_we_count() -> None:
    data = pd.DataFrame({"a": ["x", "x", None], "b": [1.0, 1.0, np.nan]})

    assert data.groupby(["a", "b"]).size().min() == 2
    with pytest.raises(PrivacyViolation):
        verify(data, k_spec("ab"))


def test_every_kind_of_missing_is_one_value() -> None:
    data = pd.DataFrame({"a": pd.Series([None, NAN, pd.NaT, pd.NA], dtype=object)})

    assert verify(data, k_spec("a", 4)).n_classes == 1


def test_nan_and_null_are_one_value_and_so_are_both_zeros() -> None:
    numbers = pa.array([None, NAN, 0.0, -0.0])

    assert verify(pa.table({"a": numbers}), k_spec("a")).n_classes == 2
    assert (
        verify(pl.DataFrame({"a": [None, NAN, 0.0, -0.0]}), k_spec("a")).n_classes == 2
    )


def test_an_empty_table_passes() -> None:
    found = verify(pa.table({"a": pa.array([], pa.string())}), k_spec("a"))

    assert (found.n_rows, found.n_classes, found.smallest_class) == (0, 0, 0)
    assert found.to_json()["models"] == [{"name": "2-anonymity", "reached": None}]


def test_a_table_of_one_row_fails() -> None:
    with pytest.raises(PrivacyViolation, match="the smallest of them has 1"):
        verify(pa.table({"a": [1]}), k_spec("a"))


def test_dictionaries_may_be_as_untidy_as_arrow_allows() -> None:
    first = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 2, None], pa.int8()), pa.array(["x", "x", None, "unused"])
    )
    second = pa.DictionaryArray.from_arrays(
        pa.array([1, 0, 0], pa.int8()), pa.array([None, "x"])
    )
    third = pa.DictionaryArray.from_arrays(
        pa.array([], pa.int8()), pa.array([], pa.string())
    )
    data = pa.table({"a": pa.chunked_array([first, second, third])})

    found = verify(data, k_spec("a", 3))

    assert (found.n_classes, found.smallest_class) == (2, 3)


@pytest.mark.parametrize("kind", [pa.string(), pa.string_view(), pa.large_string()])
def test_texts_of_every_width_compare(kind: Any) -> None:
    data = pa.table({"a": pa.array(["x", "x", None, None], kind)})

    assert verify(data, k_spec("a")).n_classes == 2


@pytest.mark.parametrize(
    "values",
    [
        pytest.param([[1], [1], [2], [2]], id="list"),
        pytest.param([{"a": 1}, {"a": 1}, {"a": 2}, {"a": 2}], id="struct"),
    ],
)
def test_nested_values_compare(values: list[Any]) -> None:
    assert verify(pa.table({"a": values}), k_spec("a")).n_classes == 2


def test_mixed_pandas_columns_compare() -> None:
    mixed = pd.Series(["20-30", "20-30", 7, 7, True, True, None, NAN], dtype=object)
    intervals = pd.Series(pd.cut([1, 1, 2, 2, 9, 9, 9, 9], 3))
    data = pd.DataFrame({"a": mixed, "b": intervals, "c": intervals.astype("category")})

    assert verify(data, k_spec("abc")).n_classes == 4


def test_two_hundred_columns_do_not_overflow() -> None:
    rng = np.random.default_rng(7)
    classes = rng.integers(0, 1000, size=(50, 200))
    rows = np.repeat(classes, 3, axis=0)
    names = [f"c{i}" for i in range(200)]
    data = pa.table({name: rows[:, i] for i, name in enumerate(names)})

    found = verify(data, Spec(tuple(names), models=(KAnonymity(3),)))

    assert (found.n_classes, found.smallest_class) == (50, 3)


def test_one_tampered_cell_among_many_is_found() -> None:
    groups = np.repeat(np.arange(1000), 5)
    data = pd.DataFrame({"a": groups // 10, "b": groups % 10})
    spec = k_spec("ab", 5)
    assert verify(data, spec).n_classes == 1000

    data.loc[1234, "b"] = 99

    with pytest.raises(PrivacyViolation, match="2 of 1,001 classes with 5 of 5,000"):
        verify(data, spec)


def test_blank_rows_are_suppressed_rows_only_within_the_budget() -> None:
    data = pa.table({"a": ["x"] * 6 + [None] * 2, "b": [1] * 6 + [None] * 2})
    blank = k_spec("ab", 3, suppressed="blank")

    found = verify(data, blank, budget=2)
    assert (found.n_suppressed_blank, found.n_classes) == (2, 1)
    with pytest.raises(PrivacyViolation):
        verify(data, blank, budget=1)
    with pytest.raises(PrivacyViolation):
        verify(data, blank)  # the spec's own budget: 1 % of 8 rows
    with pytest.raises(PrivacyViolation):
        verify(data, k_spec("ab", 3), budget=2)


def test_partly_blank_rows_are_never_suppressed_rows() -> None:
    data = pa.table({"a": ["x", "x", None], "b": [1, 1, 1]})

    with pytest.raises(PrivacyViolation):
        verify(data, k_spec("ab", suppressed="blank"), budget=3)


def test_too_many_blank_rows_may_still_be_a_class() -> None:
    data = pa.table({"a": pa.nulls(5, pa.string())})

    found = verify(data, k_spec("a", 5, suppressed="blank"), budget=1)

    assert (found.n_suppressed_blank, found.n_classes) == (0, 1)


def test_blank_rows_within_the_budget_are_a_class_if_the_table_needs_them() -> None:
    # Without the blank rows, 3 classes of 6 rows: a risk of 0.5 on average.
    data = pa.table({"a": pa.array([1, 1, 2, 2, 3, 3] + [None] * 14, pa.int64())})
    spec = Spec(("a",), (AverageRisk(0.3),), suppressed="blank")

    found = verify(data, spec, budget=14)

    assert (found.n_suppressed_blank, found.n_classes) == (0, 4)
    assert found.models[0].reached == 4 / 20
    with pytest.raises(PrivacyViolation, match=r"the table reaches 0\.5\n") as caught:
        verify(data, replace(spec, models=(AverageRisk(0.1),)), budget=14)
    assert caught.value.hint == "do not publish this table"


def test_a_rule_sees_sensitive_values_with_missing_as_one() -> None:
    spec = Spec(("a",), models=(KAnonymity(2), Diverse()))
    good = pa.table({"a": [1, 1, 2, 2], "s": ["u", None, "v", "w"]})
    bad = pa.table({"a": [1, 1, 2, 2], "s": ["u", None, "v", "v"]})

    assert [m.reached for m in verify(good, spec).models] == [2.0, 2.0]
    with pytest.raises(PrivacyViolation, match="diversity fails for 1 of 2 classes"):
        verify(bad, spec)


def test_a_rule_does_not_see_suppressed_rows() -> None:
    spec = Spec(("a",), models=(Diverse(),), suppressed="blank")
    data = pa.table({"a": [1, 1, None], "s": ["u", "v", None]})

    assert verify(data, spec, budget=1).models[0].reached == 2.0


@dataclass(frozen=True, slots=True)
class Sized(PrivacyModel):
    """At least so many rows in each class, by a measure that looks at no column."""

    least: float

    def limits(self) -> Limits:
        return Limits(at_least=self.least)

    @staticmethod
    def measure(
        rows: int,
        _values: NDArray[np.int64],
        _table: NDArray[np.int64],
        _parameters: NDArray[np.float64],
    ) -> float:
        return float(rows)


def test_a_measure_without_a_column_sees_the_rows_of_the_class() -> None:
    data = pa.table({"a": [1, 1, 2, 2, 2]})

    assert verify(data, Spec(("a",), (Sized(2),))).models[0].reached == 2
    with pytest.raises(PrivacyViolation, match="1 of 2 classes with 2 of 5 rows"):
        verify(data, Spec(("a",), (Sized(3),)))


def test_only_who_asks_for_the_population_sees_it() -> None:
    data = pa.table({"a": ["x", "x", "y", "y", "y"]})
    people = pa.table({"a": ["x"] * 5 + ["y"] * 7})

    found = verify(data, Spec(("a",), (KAnonymity(2), Sized(2), KMap(5, people))))

    assert [model.reached for model in found.models] == [2, 2, 5]


def test_a_number_is_looked_for_by_its_own_name_and_by_its_bounds() -> None:
    spec = k_spec("a", numbers="bounds")
    bounds = pa.table({"a_min": [1, 1, 1, 1], "a_max": [2, 2, 3, 3]})

    assert verify(bounds, spec).n_classes == 2
    assert verify(pa.table({"a": [1, 1, 1, 1]}), spec).n_classes == 1
    with pytest.raises(SpecError, match=r"not in the table: 'a_max'"):
        verify(bounds.drop(["a_max"]), spec)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        pytest.param(pa.array([PSEUDONYM, None]), True, id="with a missing one"),
        pytest.param(pa.array([PSEUDONYM, PSEUDONYM[:-1]]), False, id="too short"),
        pytest.param(pa.array([PSEUDONYM + "0"]), False, id="too long"),
        pytest.param(pa.array([PSEUDONYM.upper()]), False, id="capitals"),
        pytest.param(pa.array([PSEUDONYM]).dictionary_encode(), True, id="dictionary"),
        pytest.param(pa.array([], pa.string()), True, id="no rows"),
        pytest.param(pa.nulls(2, pa.string()), True, id="nothing"),
        pytest.param(pa.array([[1]]), False, id="lists"),
    ],
)
def test_what_looks_like_a_pseudonym(cells: Any, *, expected: bool) -> None:
    column = nw.from_native(pa.chunked_array([cells]), series_only=True)

    assert are_pseudonyms(column) is expected


def test_codes_follow_the_order_of_values_if_asked() -> None:
    column = pa.chunked_array([pa.array([3.5, None, -1.0, 10.0, NAN])])

    coded = code_column(column, ordered=True)

    assert coded.codes.tolist() == [1, 3, 0, 2, 3]
    assert coded.n_codes == 4


def test_absent_columns_are_named_and_the_present_ones_listed() -> None:
    with pytest.raises(SpecError, match=r"'b'\nhint: it has 'a'"):
        verify(pa.table({"a": [1]}), k_spec("ab"))


def test_an_identifier_left_in_the_table_is_a_violation() -> None:
    data = pa.table({"a": [1, 1], "name": ["x", "y"]})

    with pytest.raises(PrivacyViolation, match="'name'"):
        verify(data, k_spec("a", identifiers=("name",)))


def test_columns_of_one_name_are_refused() -> None:
    twice = pa.table([pa.array([1, 1]), pa.array([1, 2])], names=["a", "a"])

    for data in (twice, pd.DataFrame([[1, 1], [1, 2]], columns=["a", "a"])):
        with pytest.raises(DataError):
            verify(data, k_spec("a"))


@pytest.mark.parametrize("data", [42, pl.LazyFrame({"a": [1]})], ids=["int", "lazy"])
def test_what_is_no_table_in_memory_is_refused(data: Any) -> None:
    with pytest.raises(SpecError):
        verify(data, k_spec("a"))


def test_messages_hold_no_cell() -> None:
    data = pd.DataFrame({"a": ["CANARY1", "CANARY2", 3]})

    with pytest.raises(PrivacyViolation) as caught:
        verify(data, k_spec("a"))

    assert "CANARY" not in str(caught.value)


def test_the_verifier_loads_nothing_of_the_engine() -> None:
    script = (
        "import sys, core_mondrian.verification.verify\n"
        "engine = ('encoding', 'engine', 'recode')\n"
        "print([m for m in sys.modules if m.startswith('core_mondrian.') "
        "and m.split('.')[1] in engine], 'numba' in sys.modules)"
    )

    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stdout == "[] False\n"


CELLS = st.one_of(
    st.none(), st.just(NAN), st.sampled_from([0.0, -0.0, 1.0, 2.5]), st.integers(0, 2)
)
FORMS = ["plain", "dictionary"]
TABLES = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=40)
)


def smallest_class(rows: list[list[float | None]]) -> int:
    """Recount in plain Python."""
    keys = [
        tuple("missing" if v is None or v != v else float(v) for v in row)  # noqa: PLR0124
        for row in rows
    ]
    return min(Counter(keys).values(), default=0)


@settings(deadline=None, max_examples=150)
@given(
    rows=TABLES,
    k=st.integers(2, 4),
    chunk=st.integers(1, 7),
    form=st.sampled_from(FORMS),
)
def test_the_verifier_agrees_with_a_plain_recount(
    rows: list[list[float | None]], k: int, chunk: int, form: str
) -> None:
    width = len(rows[0]) if rows else 1
    names = "abcd"[:width]
    parts = [rows[i : i + chunk] for i in range(0, len(rows), chunk)]
    columns = {}
    for place, name in enumerate(names):
        arrays = [
            pa.array([row[place] for row in part], pa.float64()) for part in parts
        ]
        coded = form == "dictionary"
        if coded:
            arrays = [array.dictionary_encode() for array in arrays]
        kind = pa.dictionary(pa.int32(), pa.float64()) if coded else pa.float64()
        columns[name] = pa.chunked_array(arrays, kind)
    expected = smallest_class(rows)

    if rows and expected < k:
        with pytest.raises(PrivacyViolation):
            verify(pa.table(columns), k_spec(names, k))
    else:
        assert verify(pa.table(columns), k_spec(names, k)).smallest_class == expected


def test_persons_cannot_be_counted_without_their_column() -> None:
    spec = Spec(("a",), (KAnonymity(2),), unit="who")

    with pytest.raises(SpecError, match="persons of a class cannot be counted"):
        verify(pa.table({"a": [1, 1]}), spec)
    assert verify(pa.table({"a": [1, 1], "who": ["x", "y"]}), spec).n_classes == 1
    with pytest.raises(PrivacyViolation, match="2-anonymity fails"):
        verify(pa.table({"a": [1, 1], "who": ["x", "x"]}), spec)


@pytest.mark.parametrize("cells", [1, 7, 10**6])
@pytest.mark.parametrize("in_python", [0, 10**9])
def test_many_values_are_counted_some_classes_at_a_time(
    cells: int, in_python: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column of 63,000 values once took 85 s and 4.6 GB to verify."""
    monkeypatch.setattr("core_mondrian.verification.verify._MOST_CELLS", cells)
    monkeypatch.setattr("core_mondrian.models.base._MOST_IN_PYTHON", in_python)
    keys = [i // 3 for i in range(30)]
    spec = Spec(("a",), models=(KAnonymity(2), TCloseness(0.9, "s"), Diverse()))
    diverse = replace(spec, models=(Diverse(),))
    values = list(range(30))
    result = verify(pa.table({"a": keys, "s": values}), spec)
    assert [round(found.reached, 9) for found in result.models] == [3, 0.9, 3]
    for at in (0, 12, 27):  # in the first part, in the middle and in the last
        alike = [*values]
        alike[at : at + 3] = [alike[at]] * 3
        with pytest.raises(PrivacyViolation, match=r"1 of 10 classes with 3 of 30"):
            verify(pa.table({"a": keys, "s": alike}), diverse)


@pytest.mark.parametrize("cells", [1, 9, 10**6])
def test_what_is_reached_is_that_of_the_worst_part(
    cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core_mondrian.verification.verify._MOST_CELLS", cells)
    data = pa.table({"a": list("xxxxyyyyzzzz"), "s": list("abcdaabbabca")})
    spec = Spec(("a",), models=(Diverse(), TCloseness(0.9, "s")))

    diverse, close = verify(data, spec).models

    # a 5/12, b 4/12, c 2/12, d 1/12; farthest off are the a and b of y.
    assert diverse.reached == 2
    assert close.reached == pytest.approx(3 / 12)


@pytest.mark.parametrize("cells", [1, 8, 9, 10**6])
@pytest.mark.parametrize("n_classes", [0, 1, 2, 7])
def test_no_part_has_more_counts_than_may_be(
    n_classes: int, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core_mondrian.verification.verify._MOST_CELLS", cells)
    codes = np.repeat(np.arange(n_classes), 3)
    values = np.tile([0, 1, 1], n_classes)
    keys, coded = Coded(codes, n_classes), Coded(values, 4, ("u", "v", "w"))
    rows, persons = np.full(n_classes, 3), np.arange(n_classes)
    classes = _count_values(coded, compress(keys), None, Classes(rows, persons))

    parts = [*_parts(classes, has_persons=True)]

    n_values = 3 if n_classes else 1  # those that there are, and missing
    step = max(1, cells // n_values)
    assert len(parts) == max(1, -(-n_classes // step))
    assert all(part.by_value.size <= max(cells, n_values) for part in parts)
    assert all(part.by_value.dtype == np.int64 for part in parts)
    assert sum(part.rows.size for part in parts) == n_classes
    assert [x for part in parts for x in part.sizes] == persons.tolist()
    if n_classes:
        assert (
            np.concatenate([x.by_value for x in parts]).tolist()
            == [[1, 2, 0]] * n_classes
        )


def test_an_empty_table_passes_models_of_a_column() -> None:
    empty = pa.table({"a": pa.array([], pa.string()), "s": pa.array([], pa.string())})

    found = verify(empty, Spec(("a",), models=(Diverse(), TCloseness(0.1, "s"))))

    assert [model.reached for model in found.models] == [math.inf, -math.inf]
    assert [item["reached"] for item in found.to_json()["models"]] == [None, None]


def test_an_empty_table_has_no_persons() -> None:
    empty = pa.table({"a": pa.array([], pa.string()), "who": pa.array([], pa.int64())})

    found = verify(empty, Spec(("a",), (KAnonymity(2),), unit="who"))

    assert (found.n_classes, found.models[0].reached) == (0, math.inf)


@pytest.mark.parametrize(
    "model",
    [
        DistinctLDiversity(3, "s"),
        EntropyLDiversity(2.5, "s"),
        RecursiveCLDiversity(3.0, 3, "s"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_values_of_one_person_do_not_stand_for_those_of_several(
    model: PrivacyModel,
) -> None:
    rows = {"a": [1, 1, 1, 1], "s": ["p", "p", "q", "r"]}
    two = pa.table(rows | {"who": ["x", "x", "x", "y"]})
    three = pa.table(rows | {"who": ["x", "y", "z", "z"]})
    spec = Spec(("a",), (model,))
    of_persons = replace(spec, unit="who")

    assert verify(two, spec).n_classes == 1
    assert verify(three, of_persons).n_classes == 1  # by rows z has two of the values
    with pytest.raises(PrivacyViolation, match="the smallest of them has 2 persons"):
        verify(two, of_persons)
    assert anonymize(three, of_persons).n_rows == 4
    with pytest.raises(InfeasibleError, match="2 persons, but one class needs 3"):
        anonymize(two, of_persons)


def test_rows_of_nobody_are_one_persons() -> None:
    data = pa.table({"a": [1, 1, 1, 2, 2], "who": [None, None, 7, 7, 8]})

    assert verify(data, Spec(("a",), (KAnonymity(2),), unit="who")).n_classes == 2
    with pytest.raises(PrivacyViolation, match="2 of 2 classes with 5 of 5 rows"):
        verify(data, Spec(("a",), (KAnonymity(3),), unit="who"))
