"""What a class shows: ranges, labels, middles, blanks."""

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from core_mondrian import DataError, KAnonymity, Spec, Suppression, anonymize
from core_mondrian.hierarchies.tree import from_paths

ZOO = from_paths([("cat", "beast", "*"), ("dog", "beast", "*"), ("hen", "bird", "*")])


def k_spec(columns: str = "a", k: int = 2, **more: Any) -> Spec:
    return Spec(tuple(columns), (KAnonymity(k),), suppress=Suppression(rows=0), **more)


def shown(table: pa.Table, spec: Spec, name: str = "a") -> list[Any]:
    cells: list[Any] = anonymize(table, spec).data[name].to_pylist()
    return cells


def test_range_of_one_value_is_that_value() -> None:
    assert shown(pa.table({"a": [5, 5, 7, 8]}), k_spec()) == ["5", "5"] + ["[7, 8]"] * 2


def test_ranges_keep_the_spelling_of_their_type() -> None:
    floats = shown(pa.table({"a": [0.1, 0.25]}), k_spec())
    texts = shown(pa.table({"a": [2**53 + 1, 2**53 + 3]}), k_spec())

    assert floats == ["[0.1, 0.25]"] * 2
    assert texts == ["[9007199254740993, 9007199254740995]"] * 2


def test_labels_are_the_lowest_common_ancestors() -> None:
    table = pa.table({"a": ["cat", "dog", "hen", "hen"]})

    labels = shown(table, k_spec(hierarchies={"a": ZOO}))

    assert labels == ["beast", "beast", "hen", "hen"]


def test_a_set_lists_the_values_of_its_class_in_the_order_of_the_hierarchy() -> None:
    table = pa.table({"a": ["hen", "cat", "hen", "dog", "cat"]})
    spec = k_spec(k=5, hierarchies={"a": ZOO}, categories="set")

    assert shown(table, spec) == ["{cat, dog, hen}"] * 5


def test_a_set_of_one_value_is_that_value() -> None:
    table = pa.table({"a": ["hen", "hen", "cat", "dog"]})

    labels = shown(table, k_spec(hierarchies={"a": ZOO}, categories="set"))

    assert labels == ["hen", "hen", "{cat, dog}", "{cat, dog}"]


def test_equal_rows_are_one_set_of_one() -> None:
    assert shown(pa.table({"a": ["x"] * 3}), k_spec(k=3, categories="set")) == ["x"] * 3


def test_a_set_names_no_value_that_is_only_in_the_hierarchy() -> None:
    table = pa.table({"a": ["cat", "hen"]})

    labels = shown(table, k_spec(hierarchies={"a": ZOO}, categories="set"))

    assert labels == ["{cat, hen}"] * 2


def test_a_set_that_mixes_missing_and_present_is_not_blank() -> None:
    table = pa.table({"a": ["x", None], "b": [None, "null"]})
    spec = k_spec("ab", missing="value", categories="set")

    release = anonymize(table, spec)

    assert release.data["a"].to_pylist() == ["{x, null}"] * 2
    assert release.data["b"].to_pylist() == ['{"null", null}'] * 2
    assert [column.rilm for column in release.measures().columns] == [0.0, 0.0]
    assert release.measures().n_generalized == 2


@pytest.mark.parametrize("missing", ["pattern", "value"])
def test_a_class_without_values_is_blank(missing: Any) -> None:
    table = pa.table({"a": pa.array([None, None], pa.string())})

    assert shown(table, k_spec(missing=missing, categories="set")) == [None, None]


def test_cells_blanked_for_their_pattern_are_in_no_set() -> None:
    table = pa.table({"a": ["x", "y", None, "z", "z"], "b": [1, 1, 1, None, 1]})

    release = anonymize(table, k_spec("ab", categories="set", missing="pattern"))

    assert release.n_blanked
    assert all("null" not in (text or "") for text in release.data["a"].to_pylist())


def test_a_lone_value_that_looks_like_a_set_is_a_class_of_its_own() -> None:
    # Were "{x, y}" shown as it is, it could not be told from the set of x and y.
    table = pa.table({"a": ["{x, y}", "{x, y}", "x", "y"]})

    labels = shown(table, k_spec(categories="set"))

    assert labels == ['{"{x, y}"}'] * 2 + ["{x, y}"] * 2


def test_categories_can_differ_by_column() -> None:
    table = pa.table({"a": ["x", "y"], "b": ["x", "y"], "c": [1, 2]})
    spec = k_spec("abc", categories="set", categories_by_column={"b": "label"})

    released = anonymize(table, spec).data.to_pydict()

    assert released == {"a": ["{x, y}"] * 2, "b": ["*"] * 2, "c": ["[1, 2]"] * 2}


@pytest.mark.parametrize("suppressed", ["drop", "blank"])
def test_dictionary_of_sets_lists_no_value_that_was_suppressed(suppressed: Any) -> None:
    table = pa.table({"a": list("xxyyz"), "b": [1, 1, 2, 2, 9]})
    spec = Spec(
        ("a", "b"),
        (KAnonymity(2),),
        suppress=Suppression(rows=1),
        suppressed=suppressed,
        inline_below=0,
        categories="set",
    )

    release = anonymize(table, spec)

    assert release.n_suppressed == 1
    column = release.data["a"].combine_chunks()
    assert sorted(column.dictionary.to_pylist()) == ["x", "y"]


def test_mixed_class_shows_a_blank_when_missing_is_a_value() -> None:
    table = pa.table({"a": [1, None], "b": ["x", None]})
    spec = k_spec("ab", missing="value")

    assert shown(table, spec, "a") == [None, None]
    assert shown(table, spec, "b") == [None, None]


def test_hierarchy_labels_after_the_missing_leaf_are_not_shifted() -> None:
    table = pa.table({"a": ["cat", "dog", "hen", "hen", None, None]})

    labels = shown(table, k_spec(hierarchies={"a": ZOO}, missing="value"))

    assert labels == ["beast", "beast", "hen", "hen", None, None]


@pytest.mark.parametrize(
    ("numbers", "middle"),
    [pytest.param("mean", 3.0, id="mean"), pytest.param("median", 2, id="median")],
)
def test_middle_of_a_class(numbers: Any, middle: float) -> None:
    table = pa.table({"a": [1, 2, 2, 7]})

    assert shown(table, k_spec(k=4, numbers=numbers)) == [middle] * 4


def test_median_of_an_even_class_is_the_lower_of_the_two() -> None:
    assert (
        shown(pa.table({"a": [1, 2, 3, 4]}), k_spec(k=4, numbers="median")) == [2] * 4
    )


def test_formats_can_differ_by_column() -> None:
    table = pa.table({"a": [1, 2], "b": [1, 2]})
    spec = k_spec("ab", numbers="mean", numbers_by_column={"b": "interval"})

    release = anonymize(table, spec)

    assert release.data["a"].to_pylist() == [1.5, 1.5]
    assert release.data["b"].to_pylist() == ["[1, 2]"] * 2


def test_mean_of_equal_values_is_that_value() -> None:
    table = pa.table({"a": [0.1, 0.1, 0.1]})

    assert shown(table, k_spec(k=3, numbers="mean")) == [0.1] * 3


def test_mean_date_is_a_date() -> None:
    table = pa.table({"a": [dt.date(2020, 1, 1), dt.date(2020, 1, 4)]})

    assert shown(table, k_spec(numbers="mean")) == [dt.date(2020, 1, 2)] * 2


def test_mean_timestamp_keeps_its_zone() -> None:
    moments = pa.array([0, 10], pa.timestamp("s", "Europe/Paris"))

    release = anonymize(pa.table({"a": moments}), k_spec(numbers="mean"))

    assert release.data["a"].type == pa.timestamp("s", "Europe/Paris")
    assert release.data["a"].cast(pa.int64()).to_pylist() == [5, 5]


@pytest.mark.parametrize(
    ("array", "back"),
    [
        pytest.param(
            pa.array([1577854800123456789] * 2, pa.timestamp("ns")),
            pa.int64(),
            id="timestamps in nanoseconds",
        ),
        pytest.param(pa.array([2**53 + 3] * 2), pa.int64(), id="large integers"),
    ],
)
def test_mean_of_equal_large_numbers_is_that_number(
    array: pa.Array, back: pa.DataType
) -> None:
    release = anonymize(pa.table({"a": array}), k_spec(numbers="mean"))

    assert release.data["a"].cast(back).to_pylist() == array.cast(back).to_pylist()


def test_numbers_whose_squares_overflow_are_refused() -> None:
    table = pa.table({"a": [-1.7e308, 0.0, 0.0, 1.7e308]})

    with pytest.raises(DataError, match="column 'a' holds numbers beyond 1e\\+150"):
        anonymize(table, k_spec(k=4, numbers="mean"))


def test_classes_that_look_alike_are_counted_as_one() -> None:
    # Both pools of rare letters show "*": 2 + 2 rows in one class of 4.
    table = pa.table({"a": list("ppqrppst"), "b": [1, 1, 1, 1, 1, 1, 1, 1]})

    release = anonymize(table, k_spec("ab"))

    assert release.verification.n_classes == 2
    assert release.verification.smallest_class == 4


def test_digest_depends_on_what_is_shown_not_on_what_is_hidden() -> None:
    first = anonymize(pa.table({"a": list("ppqr")}), k_spec())
    second = anonymize(pa.table({"a": list("ppst")}), k_spec())

    assert first.digest == second.digest
    assert first.input_digest(bytes(32)) != second.input_digest(bytes(32))


def test_released_dictionary_lists_no_value_that_was_generalized_away() -> None:
    release = anonymize(pa.table({"a": list("ppqr")}), k_spec())

    column = release.data["a"].combine_chunks()
    assert sorted(column.dictionary.to_pylist()) == ["*", "p"]


def test_pandas_category_lists_no_value_that_was_generalized_away() -> None:
    import pandas as pd

    frame = pd.DataFrame({"a": pd.Categorical(list("ppqr"))})

    release = anonymize(frame, k_spec())

    assert sorted(release.data["a"].cat.categories) == ["*", "p"]


def test_pandas_category_of_sets_lists_what_is_shown() -> None:
    import pandas as pd

    frame = pd.DataFrame({"a": pd.Categorical(list("ppqr"), categories=list("zrqp"))})

    release = anonymize(frame, k_spec(categories="set"))

    assert sorted(release.data["a"].cat.categories) == ["p", "{q, r}"]


def test_infinite_mean_is_never_released() -> None:
    table = pa.table({"a": [1e149, 2e149, 3e149]})

    assert shown(table, k_spec(k=3, numbers="mean")) == [2e149] * 3
