"""The shape of a release: formats of numbers, class ids, row order, rows left out."""

import datetime as dt
from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import Frame
from support.keys import KEY, key_of

from core_mondrian import (
    KAnonymity,
    PaperPolicy,
    PrivacyViolation,
    Spec,
    SpecError,
    Suppression,
    anonymize,
    verify,
)
from core_mondrian.datasets import census
from core_mondrian.models.population import KMap
from core_mondrian.report.partition_plot import paint
from core_mondrian.spec.declaration import spec_from_mapping
from core_mondrian.verification import counting
from core_mondrian.verification.counting import code_column

KNOWN = ("age", "sex", "hours_per_week")


def k_spec(columns: str = "a", k: int = 2, **more: Any) -> Spec:
    return Spec(tuple(columns), (KAnonymity(k),), suppress=Suppression(rows=0), **more)


def losing_spec(**more: Any) -> Spec:
    """A spec that suppresses what is not an x."""
    return Spec(
        ("a",),
        (KAnonymity(3),),
        policy=PaperPolicy(),
        suppress=Suppression(rows=2),
        inline_below=0,
        **more,
    )


def cells(frame: Any, name: str) -> list[Any]:
    column = frame[name]
    found = column.to_pylist() if isinstance(frame, pa.Table) else list(column)
    return [None if value is pd.NA else value for value in found]


def names(frame: Any) -> list[str]:
    return list(frame.column_names if isinstance(frame, pa.Table) else frame.columns)


# bounds, structs, midpoints


def test_bounds_stand_where_the_column_stood(frame_kind: Frame) -> None:
    table = pa.table({"x": [7] * 4, "a": [5, 5, 7, 8], "y": [8] * 4})

    release = anonymize(frame_kind(table), k_spec(numbers="bounds"))

    assert names(release.data) == ["x", "a_min", "a_max", "y"]
    assert cells(release.data, "a_min") == [5, 5, 7, 7]
    assert cells(release.data, "a_max") == [5, 5, 8, 8]


def test_a_struct_has_both_bounds(frame_kind: Frame) -> None:
    table = pa.table({"a": pa.array([5, 6, None, None], pa.int16()), "y": [8] * 4})

    release = anonymize(frame_kind(table), k_spec(numbers="struct"))

    assert names(release.data) == ["a", "y"]
    assert cells(release.data, "a") == [{"min": 5, "max": 6}] * 2 + [None] * 2


@pytest.mark.parametrize(
    ("values", "middle"),
    [
        pytest.param([1, 2, 2, 7], 4.0, id="whole numbers"),
        pytest.param([0.0, 0.1, 0.1, 0.5], 0.25, id="floats"),
        pytest.param([dt.date(2020, 1, d) for d in (1, 1, 1, 4)], dt.date(2020, 1, 2)),
        pytest.param([2**53 + 1, *[2**53 + 8] * 3], 2**53 + 4, id="large"),
    ],
)
def test_midpoint_is_typed_as_the_mean_is(values: list[Any], middle: Any) -> None:
    table = pa.table({"a": values})

    release = anonymize(table, k_spec(k=4, numbers="midpoint"))
    mean = anonymize(table, k_spec(k=4, numbers="mean"))

    assert release.data["a"].to_pylist() == [middle] * 4
    assert release.data["a"].type == mean.data["a"].type


@pytest.mark.parametrize("numbers", ["mean", "midpoint"])
@pytest.mark.parametrize(
    ("values", "kind", "middle"),
    [
        pytest.param([2**64 - 1] * 2, pa.uint64(), 2**64 - 1, id="the largest"),
        pytest.param([0, 2**64 - 1], pa.uint64(), 2**63, id="unsigned"),
        pytest.param([-(2**63), 2**63 - 1], pa.int64(), 0, id="signed"),
    ],
)
def test_whole_numbers_that_no_float_can_hold_keep_their_type(
    values: list[int], kind: pa.DataType, middle: int, numbers: Any
) -> None:
    # Found by fuzzing: 2**64 was shown for 2**64 - 1, as a float.
    table = pa.table({"a": pa.array(values, kind)})

    release = anonymize(table, k_spec(k=2, numbers=numbers))

    assert release.data["a"].to_pylist() == [middle] * 2
    assert release.data["a"].type == kind


@pytest.mark.parametrize("numbers", ["bounds", "struct", "mean", "midpoint", "sample"])
def test_a_class_that_mixes_missing_and_present_is_blank(numbers: Any) -> None:
    table = pa.table({"a": [1, None, 3, None]})

    release = anonymize(table, k_spec(k=4, numbers=numbers, missing="value"))

    shown = {"bounds": ("a_min", "a_max")}.get(numbers, ("a",))
    assert release.data.column_names == list(shown)
    assert all(release.data[name].null_count == 4 for name in shown)


def test_texts_ignore_the_format_of_numbers() -> None:
    table = pa.table({"a": ["x", "x"], "a_min": [1, 2]})

    release = anonymize(table, k_spec(numbers="bounds", accept=("a_min",)))

    assert release.data["a"].to_pylist() == ["x", "x"]


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"numbers": "bounds"}, id="bounds"),
        pytest.param({"class_id": "a_min"}, id="class id"),
        pytest.param({"class_id": "a"}, id="class id like a quasi-identifier"),
    ],
)
def test_new_columns_need_a_name_of_their_own(more: dict[str, Any]) -> None:
    table = pa.table({"a": [1, 2], "a_min": [3, 4]})

    with pytest.raises(SpecError, match=r"several columns of one name: 'a"):
        anonymize(table, k_spec(**more))


def test_a_class_id_is_not_called_like_a_removed_identifier() -> None:
    table = pa.table({"a": [1, 1], "id": list("pq")})

    with pytest.raises(SpecError, match="several columns of one name"):
        anonymize(table, k_spec(identifiers=("id",), class_id="id"))


def test_a_class_id_called_like_a_bound_is_refused() -> None:
    spec = k_spec(numbers="bounds", class_id="a_max")

    with pytest.raises(SpecError, match="several columns of one name"):
        anonymize(pa.table({"a": [1, 2]}), spec)


# nice bounds


def test_nice_bounds_are_round_and_classes_that_look_alike_merge() -> None:
    table = pa.table({"a": [17, 23, 18, 24], "b": list("xxyy")})

    exact = anonymize(table, k_spec("ab"))
    nice = anonymize(table, k_spec("ab", nice=True))

    assert exact.data["a"].to_pylist() == ["[17, 23]"] * 2 + ["[18, 24]"] * 2
    assert nice.data["a"].to_pylist() == ["[15, 25]"] * 4
    alone = anonymize(table, k_spec("a", k=2, nice=True))
    assert alone.verification.n_classes <= exact.verification.n_classes


def test_nice_can_differ_by_column() -> None:
    table = pa.table({"a": [17, 23], "b": [17, 23]})
    spec = k_spec("ab", nice=True, nice_by_column={"b": False})

    released = anonymize(table, spec).data

    assert released["a"].to_pylist() == ["[16, 24]"] * 2
    assert released["b"].to_pylist() == ["[17, 23]"] * 2


def decimals(*texts: str) -> pd.DataFrame:
    return pd.DataFrame({"a": [Decimal(text) for text in texts]})


@pytest.mark.parametrize("dtype", ["object", "category"])
@pytest.mark.parametrize("numbers", ["interval", "bounds", "struct"])
def test_nice_bounds_of_decimals_are_the_same_in_pandas(
    numbers: Any, dtype: Any
) -> None:
    # Found by fuzzing: the end was 9.99, the last that as many digits can write.
    frame = decimals("-2.25", "-1.25", "4.00", "6.75")
    declared = pa.table({"a": pa.array(frame["a"], pa.decimal128(12, 2))})
    spec = k_spec(k=4, nice=True, numbers=numbers)

    digests = {anonymize(x, spec).digest for x in (frame.astype(dtype), declared)}

    assert len(digests) == 1


def test_nice_bounds_do_not_tell_how_large_a_suppressed_decimal_was() -> None:
    spec = Spec(("a",), (KAnonymity(4),), nice=True, suppress=Suppression(rows=1))
    texts = ["-2.25", "-1.25", "4.00", "6.75"]

    released = [
        anonymize(decimals(*texts, *more), spec).data["a"].tolist()
        for more in ([], ["1200.00"])
    ]

    assert released == [["[-5, 10]"] * 4] * 2


@pytest.mark.parametrize(
    ("texts", "shown"),
    [
        (["1", "1", "2", "2"], "[1, 2]"),
        (["1.50", "1.50", "20.00", "7.25"], "[1.5, 20.0]"),
        (["0", "0", "0", "0"], "0"),
        (["1000", "1000", "1000", "1000"], "1000"),
    ],
)
def test_ranges_do_not_tell_how_many_digits_a_suppressed_decimal_had(
    texts: list[str], shown: str
) -> None:
    spec = Spec(
        ("a", "b"),
        (KAnonymity(4),),
        policy=PaperPolicy(),
        inline_below=0,
        suppress=Suppression(rows=1),
    )
    hidden = decimals(*texts, "3.123456789")
    hidden["b"] = [*"xxxx", "y"]

    release = anonymize(hidden, spec)
    alone = anonymize(hidden.head(4).assign(a=decimals(*texts)["a"]), spec)

    assert release.n_suppressed == 1
    assert release.data["a"].tolist() == alone.data["a"].tolist() == [shown] * 4


def test_a_population_may_have_decimals_larger_than_all_of_the_table() -> None:
    table = decimals("1.25", "2.50")
    people = decimals("1.25", "2.50", "12.00")

    release = anonymize(table, Spec(("a",), (KMap(3, people),)))

    assert release.data["a"].tolist() == ["[1.25, 12.00]"] * 2


@pytest.mark.parametrize("numbers", ["interval", "bounds", "struct"])
def test_nice_releases_verify_with_fewer_or_as_many_classes(numbers: Any) -> None:
    table = census(600, seed=3)
    spec = Spec(KNOWN, (KAnonymity(5),), numbers=numbers)
    nice = Spec(KNOWN, (KAnonymity(5),), numbers=numbers, nice=True)

    first, second = anonymize(table, spec), anonymize(table, nice)

    assert second.verification.n_classes <= first.verification.n_classes
    assert second.measures().n_classes == second.verification.n_classes
    assert verify(second.data, nice) == second.verification


def test_a_painting_shows_no_more_than_nice_bounds_do() -> None:
    table = pa.table({"a": [17, 23, 117, 123], "b": [1, 1, 2, 2]})

    release = anonymize(table, k_spec("ab", nice=True))

    picture = paint(release, "a", "b")
    assert "20" in picture
    assert not any(f">{exact}<" in picture for exact in (17, 23, 117, 123))


# samples


def sampled(table: pa.Table, seed: int = 0, **more: Any) -> Any:
    spec = Spec(KNOWN, (KAnonymity(10),), numbers="sample", **more)
    return anonymize(table, spec, key=key_of(seed))


def test_a_sample_is_one_value_of_each_class() -> None:
    table = census(500, seed=2)

    release = sampled(table)
    bounds = anonymize(
        *(table, Spec(KNOWN, (KAnonymity(10),), numbers="bounds", class_id="class")),
        key=key_of(0),
    ).data

    shown = release.data["age"].to_pylist()
    classes = bounds["class"].to_pylist()
    members: dict[int, set[int]] = {}
    for number, age in zip(classes, table["age"].to_pylist(), strict=True):
        members.setdefault(number, set()).add(age)
    drawn = set(zip(classes, shown, strict=True))
    assert len(drawn) == len(members)  # one for all rows of a class
    assert all(age in members[number] for number, age in drawn)


def test_samples_depend_on_the_key_and_on_nothing_else() -> None:
    table = census(500, seed=2)
    backwards = table.take(pa.array(range(499, -1, -1)))

    first, other = sampled(table), sampled(table, seed=1)

    assert first.digest == sampled(backwards).digest
    assert first.digest == sampled(table.to_pandas()).digest
    assert first.digest != other.digest
    assert first.tree.digest == other.tree.digest


def test_a_class_draws_the_same_whatever_else_is_in_the_table() -> None:
    ages = [20, 21, 22, 23, 24]
    alone = pa.table({"a": ages, "b": ["x"] * 5})
    joined = pa.table(
        {"a": ages + [900 + i for i in range(5)], "b": list("xxxxxyyyyy")}
    )

    spec = k_spec("ab", k=5, numbers="sample")

    drawn = anonymize(alone, spec, key=KEY).data["a"].to_pylist()
    assert anonymize(joined, spec, key=KEY).data["a"].to_pylist()[:5] == drawn


def test_values_of_many_rows_are_drawn_more_often() -> None:
    drawn = Counter(
        anonymize(
            pa.table({"a": [1] + [2] * 9}),
            k_spec(k=10, numbers="sample"),
            key=key_of(number),
        ).data["a"][0].as_py()
        for number in range(200)
    )  # fmt: skip

    assert 5 <= drawn[1] <= 40  # 20 are expected


def test_columns_draw_for_themselves() -> None:
    # The same member for all columns would be somebody's row.
    rows = list(range(20))
    table = pa.table({"a": rows, "b": rows})

    pairs = [
        anonymize(table, k_spec("ab", k=20, numbers="sample"), key=key_of(i)).data
        for i in range(10)
    ]

    assert any(data["a"][0] != data["b"][0] for data in pairs)


# class ids


def test_classes_are_numbered_by_what_they_show(frame_kind: Frame) -> None:
    table = pa.table({"a": [30, 10, 20, 30, 10, 20]})

    release = anonymize(frame_kind(table), k_spec(numbers="median", class_id="group"))

    assert names(release.data) == ["a", "group"]
    assert cells(release.data, "group") == [3, 1, 2, 3, 1, 2]
    assert verify(release.data, release.spec) == release.verification


def test_a_class_id_tells_no_suppressed_row_from_a_blank_class() -> None:
    table = pa.table({"a": ["x"] * 3 + [None] * 3 + ["y"]})
    spec = Spec(
        ("a",),
        (KAnonymity(3),),
        policy=PaperPolicy(),
        suppress=Suppression(rows=1),
        suppressed="blank",
        missing="value",
        inline_below=0,
        class_id="group",
    )

    release = anonymize(table, spec)

    for shown, number in zip(
        release.data["a"].to_pylist(), release.data["group"].to_pylist(), strict=True
    ):
        assert (shown is None) == (number is None)


def test_class_ids_do_not_depend_on_row_order() -> None:
    table = census(300, seed=5)
    spec = Spec(KNOWN, (KAnonymity(5),), class_id="group")
    order = np.random.default_rng(1).permutation(300)

    first, second = anonymize(table, spec), anonymize(table.take(pa.array(order)), spec)

    def numbered(release: Any) -> set[tuple[Any, ...]]:
        shown = (release.data[name].to_pylist() for name in (*KNOWN, "group"))
        return set(zip(*shown, strict=True))

    assert numbered(first) == numbered(second)
    assert len(numbered(first)) == first.verification.n_classes


# row order


def test_shuffled_rows_do_not_depend_on_the_order_they_came_in() -> None:
    table = census(300, seed=5).append_column("note", pa.array(list("abc") * 100))
    order = pa.array(np.random.default_rng(2).permutation(300))
    spec = Spec(KNOWN, (KAnonymity(5),), shuffle=3)

    first = anonymize(table, spec, key=KEY).data
    second = anonymize(table.take(order), spec, key=KEY).data
    other = anonymize(table, Spec(KNOWN, (KAnonymity(5),), shuffle=4), key=KEY).data

    assert first.equals(second)
    assert not first.equals(other)
    plain = anonymize(table, Spec(KNOWN, (KAnonymity(5),)), key=KEY).data
    assert sorted(map(str, plain.to_pylist())) == sorted(map(str, first.to_pylist()))


def test_shuffled_rows_lose_their_index() -> None:
    frame = pd.DataFrame({"a": [1, 1, 2, 2], "b": [1, 2, 3, 4]}, index=list("wxyz"))

    release = anonymize(frame, k_spec(shuffle=1))

    assert release.data.index.equals(pd.RangeIndex(4))
    assert sorted(release.data["b"]) == [1, 2, 3, 4]


def test_objects_are_shuffled_by_content_or_not_at_all() -> None:
    mixed: list[Any] = [1, "x", None, (1, {"k": [2.5]})]
    frame = pd.DataFrame({"a": [1] * 4, "o": pd.Series(mixed, dtype=object)})
    strange = pd.DataFrame({"a": [1] * 2, "o": [object(), object()]})

    first = anonymize(frame, k_spec(shuffle=1)).data
    second = anonymize(frame.iloc[::-1], k_spec(shuffle=1)).data

    assert first["o"].map(repr).tolist() == second["o"].map(repr).tolist()
    with pytest.raises(SpecError, match="column 'o' holds object objects"):
        anonymize(strange, k_spec(shuffle=1))


def test_the_unit_has_no_say_in_the_order() -> None:
    table = pa.table({"a": [1, 1, 1, 1], "who": [4, 3, 2, 1], "b": [1, 2, 3, 4]})
    renamed = table.set_column(1, "who", pa.array([1, 3, 2, 4]))
    spec = k_spec(unit="who", shuffle=5)

    assert anonymize(table, spec).data.equals(anonymize(renamed, spec).data)


# rows left out


def test_suppressed_rows_apart_are_the_original_ones(frame_kind: Frame) -> None:
    table = pa.table({"a": list("xxxyz"), "id": [1, 2, 3, 4, 5]})
    spec = losing_spec(suppressed="separate", identifiers=("id",))

    release = anonymize(frame_kind(table), spec)

    assert release.n_suppressed == 2
    assert names(release.data) == ["a"]
    assert cells(release.data, "a") == ["x"] * 3
    assert type(release.suppressed) is type(release.data)
    assert cells(release.suppressed, "a") == ["y", "z"]
    assert cells(release.suppressed, "id") == [4, 5]
    assert "suppressed=" not in repr(release)
    assert verify(release.data, spec) == release.verification


@pytest.mark.parametrize("suppressed", ["drop", "blank"])
def test_otherwise_nothing_is_given_back_of_them(suppressed: Any) -> None:
    table = pa.table({"a": list("xxxyz")})

    release = anonymize(table, losing_spec(suppressed=suppressed))

    assert release.n_suppressed == 2
    assert release.suppressed is None


def test_apart_is_the_same_release_as_drop() -> None:
    table = census(400, seed=1)
    specs = [
        Spec(KNOWN, (KAnonymity(5),), policy=PaperPolicy(), suppressed=how)
        for how in ("drop", "separate")
    ]

    first, second = (anonymize(table, spec) for spec in specs)

    assert first.data.equals(second.data)
    assert first.digest == second.digest
    assert second.suppressed.num_rows == second.n_suppressed


def test_rows_apart_may_be_none() -> None:
    release = anonymize(pl.DataFrame({"a": [1, 1]}), k_spec(suppressed="separate"))

    assert release.suppressed is not None
    assert release.suppressed.shape == (0, 1)


# the recount


@pytest.mark.parametrize("numbers", ["bounds", "struct"])
def test_one_changed_bound_is_noticed(numbers: Any, frame_kind: Frame) -> None:
    spec = k_spec(numbers=numbers)
    table = pa.table({"a": [5, 6, 7, 8]})
    release = anonymize(frame_kind(table), spec)
    if numbers == "bounds":
        tampered = pa.table({"a_min": [5, 5, 7, 7], "a_max": [6, 6, 8, 9]})
    else:
        ends = [(5, 6), (5, 6), (7, 8), (7, 9)]
        tampered = pa.table({"a": [{"min": low, "max": high} for low, high in ends]})

    assert verify(release.data, spec) == release.verification
    with pytest.raises(PrivacyViolation):
        verify(frame_kind(tampered), spec)


def test_one_bound_without_the_other_is_not_a_release() -> None:
    with pytest.raises(SpecError, match=r"not in the table: 'a_max'"):
        verify(pa.table({"a_min": [1, 1]}), k_spec(numbers="bounds"))


def test_structs_are_counted_without_looking_at_python_objects(
    monkeypatch: Any,
) -> None:
    def refuse(_values: object) -> None:
        raise AssertionError("slow")

    monkeypatch.setattr(counting, "_code_objects", refuse)
    kind = pa.struct({"min": pa.float64(), "max": pa.float64()})
    rows = [{"min": 1.0, "max": 2.0}, None, {"min": None, "max": None}]
    column = pa.chunked_array([pa.array(rows * 2, kind), pa.array(rows, kind)])

    coded = code_column(column)

    assert coded.missing.tolist() == [False, True, False] * 3
    assert len(set(coded.codes.tolist())) == 3


def test_blank_rows_of_bounds_and_structs_count_as_suppressed() -> None:
    table = pa.table({"a": [1, 1, 1, 50, 90]})
    for numbers in ("bounds", "struct"):
        spec = losing_spec(suppressed="blank", numbers=numbers)

        release = anonymize(table, spec)

        assert release.verification.n_suppressed_blank == release.n_suppressed


@pytest.mark.parametrize("nice", [False, True], ids=["exact", "nice"])
@pytest.mark.parametrize("numbers", ["interval", "bounds", "struct"])
def test_a_population_is_found_in_every_format_of_ranges(
    numbers: Any, nice: Any
) -> None:
    people = pa.table({"a": [10, 11, 12, 13, 14, 15, 16, 17], "b": list("xxxxyyyy")})
    models = (KMap(k=3, population=people),)
    spec = Spec(("a", "b"), models, numbers=numbers, nice=nice)

    release = anonymize(people.take([0, 2, 5, 6]), spec)

    assert release.verification.models[0].reached >= 3


def test_a_population_does_not_go_with_one_value_of_a_class() -> None:
    people = pa.table({"a": [1, 2, 3]})

    with pytest.raises(SpecError, match="numbers as mean, median, midpoint or sample"):
        Spec(("a",), (KMap(k=2, population=people),), numbers="sample")


# the spec


def test_the_shape_of_a_release_in_toml() -> None:
    asked = {
        "quasi_identifiers": ["a", "b"],
        "k": 3,
        "numbers": {"default": "bounds", "a": "struct"},
        "nice": {"default": True, "b": False},
        "class_id": "group",
        "shuffle": 11,
        "suppressed": "separate",
    }

    spec = spec_from_mapping(asked)

    assert (spec.format_of("a"), spec.format_of("b")) == ("struct", "bounds")
    assert (spec.is_nice("a"), spec.is_nice("b")) == (True, False)
    assert (spec.class_id, spec.shuffle) == ("group", 11)
    told = spec.to_json()
    assert told["nice"] is True
    assert told["nice_by_column"] == {"b": False}
    assert told["shuffle"] == 11


@pytest.mark.parametrize(
    ("more", "told"),
    [
        pytest.param({"nice": "yes"}, "nice has the wrong kind", id="nice"),
        pytest.param({"nice": {"a": 1}}, "nice is true or false", id="nice of a"),
        pytest.param({"nice": {"z": True}}, "not quasi-identifiers", id="nice of none"),
        pytest.param({"shuffle": True}, "wrong kind: bool", id="shuffle"),
        pytest.param({"shuffle": "x"}, "shuffle has the wrong kind", id="its kind"),
        pytest.param({"class_id": ""}, "class_id is the name of a new", id="class id"),
        pytest.param(
            {"numbers": "range"}, "numbers is one of interval, bounds", id="n"
        ),
        pytest.param({"suppressed": "keep"}, "drop, blank, separate", id="suppressed"),
    ],
)
def test_shapes_that_cannot_be_are_refused(more: dict[str, Any], told: str) -> None:
    with pytest.raises(SpecError) as caught:
        spec_from_mapping({"quasi_identifiers": ["a"], "k": 3, **more})

    assert told in str(caught.value)
