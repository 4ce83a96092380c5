"""Classes, trees and manifests of released tables, at their edges."""

import copy
import itertools
import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import CANARY, Frame
from hypothesis import given, settings
from hypothesis import strategies as st

from core_mondrian import (
    DataError,
    KAnonymity,
    PrivacyViolation,
    Spec,
    SpecError,
    Suppression,
    anonymize,
)
from core_mondrian.datasets import census
from core_mondrian.models import AverageRisk, DistinctLDiversity, TCloseness
from core_mondrian.release.explanation import explain
from core_mondrian.release.manifests import Manifest, Unasked, parse_manifest
from core_mondrian.release.release_tree import ReleasedTable, grow_branches, size_bins
from core_mondrian.release.released_classes import read_classes

SPEC = Spec(("age", "sex"), (KAnonymity(2),))


def told_of(release: Any) -> Manifest:
    return parse_manifest(json.loads(json.dumps(release.manifest())))


def table_of(**columns: list[Any]) -> ReleasedTable:
    """Classes that show the given words, the last column being their rows."""
    *names, rows = columns
    texts = [sorted(set(columns[name]), key=lambda x: (x is None, x)) for name in names]
    codes = [
        [t.index(x) for x in columns[n]] for n, t in zip(names, texts, strict=True)
    ]
    shown = tuple(tuple(t) for t in texts)
    return ReleasedTable(
        tuple(names), np.array(codes).T, shown, np.array(columns[rows])
    )


# Trees


def test_a_column_that_divides_evenly_and_whole_comes_before_one_of_many_values() -> (
    None
):
    table = table_of(
        town=["a", "b", "c", "d", "e", "f"], sex=["m", "w"] * 3, rows=[5] * 6
    )

    assert grow_branches(table, 1, 2).column == "sex"
    assert grow_branches(table, 1, 5).column == "town"  # all six can be listed


def test_of_equal_columns_the_first_is_taken() -> None:
    table = table_of(one=["a", "b"], other=["x", "y"], rows=[5, 5])

    assert grow_branches(table, 1, 3).column == "one"


def test_branches_of_equal_rows_come_by_what_they_show_and_blanks_last() -> None:
    table = table_of(town=["c", None, "a", "b"], rows=[5, 5, 5, 9])

    shows = [one.shows for one in grow_branches(table, 1, 9).branches]

    assert shows == ["b", "a", "c", None]


def test_one_branch_more_is_listed_rather_than_summed_up() -> None:
    table = table_of(town=list("abcd"), rows=[5, 6, 7, 8])

    whole, short = grow_branches(table, 1, 3), grow_branches(table, 1, 2)

    assert (len(whole.branches), whole.n_others) == (4, 0)
    assert (len(short.branches), short.n_others, short.other_rows) == (2, 2, 11)


def test_a_table_of_one_class_is_not_divided() -> None:
    root = grow_branches(table_of(town=["a"], rows=[7]), 3, 3)

    assert (root.n_rows, root.n_classes, root.column, root.branches) == (7, 1, None, ())


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=60))
def test_bins_of_sizes_double_and_hold_every_class_once(sizes: list[int]) -> None:
    bins = size_bins(np.array(sizes))

    assert bins[0].low == min(sizes)
    for one, following in itertools.pairwise(bins):
        assert following.low == one.high + 1 == 2 * one.low
    for one in bins:
        inside = [n for n in sizes if one.low <= n <= one.high]
        assert (one.n_classes, one.n_rows) == (len(inside), sum(inside))
    assert sum(one.n_rows for one in bins) == sum(sizes)


# Tables


def test_every_kind_of_frame_is_explained_alike(frame_kind: Frame) -> None:
    table = census(400)
    spec = Spec(("age", "sex", "education"), (KAnonymity(4),), numbers="bounds")
    release = anonymize(table, spec)

    found = explain(frame_kind(release.data), spec, told_of(release))

    assert found == replace(explain(release.data, spec, told_of(release)))
    assert found.passed
    assert found.digest == release.digest


def test_an_empty_table_is_explained() -> None:
    empty = pa.table(
        {"age": pa.array([], pa.string()), "sex": pa.array([], pa.string())}
    )

    found = explain(empty, SPEC)

    assert (found.n_rows, found.n_classes, found.smallest_class) == (0, 0, 0)
    assert found.sizes == ()
    assert found.passed
    assert found.models[0].reached is None
    assert json.dumps(found.to_json(), allow_nan=False)


def test_cells_that_are_all_missing_are_a_class() -> None:
    found = explain(pd.DataFrame({"age": [None] * 3, "sex": [None] * 3}), SPEC)

    assert (found.n_classes, found.smallest_class) == (1, 3)
    assert found.tree is not None
    assert found.tree.column is None


@pytest.mark.parametrize("column", [[[1], [2], [1], [2]], [b"x", b"y", b"x", b"y"]])
def test_cells_of_any_type_are_counted(column: list[Any]) -> None:
    found = explain(pl.DataFrame({"age": column, "sex": ["m"] * 4}), SPEC)

    assert (found.n_classes, found.smallest_class) == (2, 2)


def test_suppressed_rows_that_are_blank_are_in_no_class() -> None:
    ages = [*[20, 21] * 20, 5_000, 70_000]
    table = pa.table({"age": ages, "sex": ["m", "w"] * 21})
    spec = replace(
        SPEC,
        models=(KAnonymity(10),),
        suppress=Suppression(rows=2),
        suppressed="blank",
    )
    release = anonymize(table, spec)
    n_blank = release.n_suppressed
    assert n_blank > 0

    found = explain(release.data, None, told_of(release))

    assert (found.n_rows, found.n_blank, found.problems) == (42, n_blank, ())
    assert found.tree is not None
    assert found.tree.n_rows == 42 - n_blank


def test_a_spec_of_ones_own_finds_the_same_release_in_blank_rows() -> None:
    ages = [*[20, 21] * 20, 5_000, 70_000]
    table = pa.table({"age": ages, "sex": ["m", "w"] * 21})
    blank = replace(SPEC, suppress=Suppression(rows=2), suppressed="blank")
    release = anonymize(table, replace(blank, models=(KAnonymity(10),)))
    assert release.n_suppressed > 0

    found = explain(
        release.data, replace(SPEC, models=(AverageRisk(0.9),)), told_of(release)
    )

    assert (found.digest_match, found.problems) == ("matches", ())
    assert found.n_blank == 0  # that spec takes them for a class


def test_an_identifier_is_found_where_no_model_can_be_recounted() -> None:
    spec = replace(SPEC, models=(Unasked(),), identifiers=("name",))
    table = pd.DataFrame({"age": [1], "sex": [1], "name": [CANARY]})

    found = explain(table, spec)

    assert found.models == ()
    assert found.problems == ("identifiers are still in the table: 'name'",)
    assert found.tree is None


def test_without_spec_and_manifest_there_is_nothing_to_recount_by() -> None:
    with pytest.raises(SpecError, match="neither a manifest nor a spec"):
        explain(pd.DataFrame({"age": [1], "sex": [2]}))


def test_check_raises_what_is_wrong_without_a_cell() -> None:
    table = pd.DataFrame({"age": [CANARY, "b", "b"], "sex": [CANARY] * 3})

    found = explain(table, SPEC)

    assert found.tree is None
    with pytest.raises(PrivacyViolation, match="2-anonymity fails for 1 of 2 classes"):
        found.check()
    assert CANARY not in json.dumps(found.to_json())


def test_only_models_that_fail_are_said_to() -> None:
    table = pd.DataFrame({"age": [1, 1, 2, 2], "sex": [1] * 4, "ill": [1, 2, 3, 3]})
    spec = replace(SPEC, models=(KAnonymity(2), DistinctLDiversity(2, "ill")))

    found = explain(table, spec)

    assert [one.passed for one in found.models] == [True, False]
    assert [one.reached for one in found.models] == [2.0, None]


def test_cells_of_a_file_without_types_are_read_in_the_way_that_fits() -> None:
    """Numbers go by size and codes of digits by letter: the digest knows which."""
    names = ("number", "code")
    numbers = [9, 10, 100, 11] * 3
    table = pa.table({"number": numbers, "code": [str(n) for n in numbers]})
    spec = Spec(names, (KAnonymity(3),), numbers="median")
    release = anonymize(table, spec)
    words = {name: release.data[name].cast(pa.string()) for name in names}

    found = explain(pa.table(words), None, told_of(release))

    assert found.digest_match == "matches"
    assert found.digest == release.digest


def test_numbers_as_text_are_in_the_order_of_numbers() -> None:
    frame = pl.DataFrame({"low": ["10", "9", "9", "100"]})

    import narwhals as nw

    shown = read_classes(nw.from_native(frame, eager_only=True), {"low": ("low",)})

    assert shown.table().texts == (("9", "10", "100", None),)


# Manifests


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    models = (KAnonymity(4), TCloseness(0.9, "income"), AverageRisk(0.5))
    release = anonymize(census(300), Spec(("age", "sex", "education"), models))
    plain: dict[str, Any] = json.loads(json.dumps(release.manifest()))
    return plain


def test_the_models_of_a_manifest_are_those_asked_for(record: dict[str, Any]) -> None:
    manifest = parse_manifest(record)

    assert manifest.models == (
        *(KAnonymity(4), TCloseness(0.9, "income"), AverageRisk(0.5)),
    )
    assert manifest.unknown == ()
    assert manifest.faults() == []


def test_a_model_that_is_not_ours_is_named_and_never_imported(
    record: dict[str, Any],
) -> None:
    changed = copy.deepcopy(record)
    changed["spec"]["models"][0] = {"name": "mine", "model": "os:system", "k": 4}

    manifest = parse_manifest(changed)

    assert manifest.unknown == ("mine",)
    assert len(manifest.models) == 2


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to everything in a JSON value."""
    found = [way] if way else []
    items: Any = enumerate(value) if isinstance(value, list) else ()
    for key, item in value.items() if isinstance(value, dict) else items:
        found += places(item, (*way, key))
    return found


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(10**400)
    | st.floats()
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=4,
)


@pytest.mark.long
@settings(max_examples=400)
@given(data=st.data())
def test_whatever_stands_in_a_manifest_it_is_read_or_refused(
    record: dict[str, Any], data: st.DataObject
) -> None:
    changed = copy.deepcopy(record)
    *way, last = data.draw(st.sampled_from(places(record)))
    inside = changed
    for key in way:
        inside = inside[key]
    inside[last] = data.draw(JSON)

    try:
        manifest = parse_manifest(json.loads(json.dumps(changed)))
    except DataError:
        return
    names = ("age", "sex", "education", "income")
    data_frame = pd.DataFrame({name: [1] for name in names})
    try:
        found = explain(data_frame, None, manifest)
    except (SpecError, DataError):  # it names other columns
        return
    assert not found.passed  # this is not the release, whatever the manifest says
    assert found.tree is None
    json.dumps(found.to_json(), allow_nan=False)


def test_what_is_not_finite_is_refused(record: dict[str, Any]) -> None:
    changed = copy.deepcopy(record)
    changed["models"][0]["reached"] = math.inf

    with pytest.raises(DataError, match="a number"):
        parse_manifest(changed)
