"""Patterns of missing values: roots, repair, and what no repair can save."""

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from core_mondrian import (
    BestPolicy,
    InfeasibleError,
    KAnonymity,
    OriginalPolicy,
    PaperPolicy,
    Spec,
    Suppression,
    anonymize,
)
from core_mondrian.encoding.encoder import collapse, encode
from core_mondrian.engine.constraints import first_constraints
from core_mondrian.engine.grow import grow
from core_mondrian.engine.missing_patterns import one_root, roots_by_pattern
from core_mondrian.engine.tree import KINDS
from core_mondrian.models.distinct import DistinctLDiversity
from core_mondrian.tables.encoded import EncodedTable
from core_mondrian.tables.frames import open_frame


def k_spec(columns: str, k: int, budget: int = 0, **more: Any) -> Spec:
    asked = {"policy": PaperPolicy(), "suppress": Suppression(rows=budget), **more}
    return Spec(tuple(columns), (KAnonymity(k),), **asked)


def shown(release: Any, name: str) -> list[Any]:
    cells: list[Any] = release.data[name].to_pylist()
    return cells


def encoded(columns: dict[str, list[Any]], spec: Spec) -> EncodedTable:
    return collapse(encode(open_frame(pa.table(columns)), spec)).table


def test_patterns_are_roots_in_the_order_of_their_bits() -> None:
    spec = k_spec("ab", 2)
    columns = {"a": [1, 1, None, None, 2, 2], "b": [1, 1, 1, 1, None, None]}
    table = encoded(columns, spec)

    roots = roots_by_pattern(table, spec, first_constraints(table, spec))

    by_root = {
        number: {tuple(row) for row in table.codes[roots.root == number].tolist()}
        for number in range(roots.n_roots)
    }
    assert by_root == {0: {(0, 0)}, 1: {(1, 1)}, 2: {(2, 0)}}
    assert roots.n_blanked == 0


def test_missing_as_a_value_makes_one_root() -> None:
    spec = k_spec("ab", 2, missing="value")
    table = encoded({"a": [1, None], "b": [None, 1]}, spec)

    roots = one_root(table)

    assert roots.root.tolist() == [0, 0]


def test_small_pattern_is_blanked_to_join_a_larger_one() -> None:
    table = pa.table({"a": [1, 2, 3, 4], "b": [5, None, None, None]})

    release = anonymize(table, k_spec("ab", 2))

    assert release.n_suppressed == 0
    assert release.n_blanked == 1
    assert release.data["b"].to_pylist() == [None] * 4


def test_two_small_patterns_join_each_other() -> None:
    columns = {"a": [1, 1, 1, 2, None], "b": [1, 1, 1, None, 2]}

    release = anonymize(pa.table(columns), k_spec("ab", 2))

    assert release.data["a"].to_pylist() == ["1", "1", "1", None, None]
    assert release.data["b"].to_pylist() == ["1", "1", "1", None, None]
    assert release.n_blanked == 2


def test_repair_blanks_as_few_cells_as_possible() -> None:
    small = {"a": [9], "b": [9], "c": [None]}
    one_more = {"a": [None] * 3, "b": [1] * 3, "c": [None] * 3}
    two_more = {"a": [None] * 3, "b": [None] * 3, "c": [None] * 3}
    columns = {name: small[name] + one_more[name] + two_more[name] for name in "abc"}

    release = anonymize(pa.table(columns), k_spec("abc", 3))

    assert release.n_blanked == 1
    assert release.data["b"].to_pylist()[0] == "[1, 9]"


def test_pattern_that_can_join_nobody_takes_rows_of_a_larger_one() -> None:
    columns = {"a": [1, 1, 2, 2, 3, 3, None], "b": [1, 1, 2, 2, 3, 3, 4]}

    release = anonymize(pa.table(columns), k_spec("ab", 3))

    assert release.n_suppressed == 0
    assert release.n_blanked == 2
    assert shown(release, "a") == [None, None, *["[2, 3]"] * 4, None]
    assert shown(release, "b")[0] == shown(release, "b")[-1] == "[1, 4]"


def test_pattern_whose_donor_would_fail_is_joined_whole() -> None:
    columns = {"a": [1, 2, 3, None], "b": [1, 2, 3, 4]}

    release = anonymize(pa.table(columns), k_spec("ab", 3))

    assert release.n_blanked == 3
    assert shown(release, "a") == [None] * 4


def test_table_too_small_for_one_class_is_infeasible_not_repaired() -> None:
    with pytest.raises(InfeasibleError):
        anonymize(pa.table({"a": [1, None]}), k_spec("a", 3, budget=2))


def test_small_pattern_is_kept_when_missing_is_a_value() -> None:
    columns = {"a": [1, 1, 1, None], "b": [2, 2, 2, 4]}

    release = anonymize(pa.table(columns), k_spec("ab", 3, missing="value"))

    assert release.n_suppressed == 0
    assert release.data["a"].to_pylist() == [None] * 4


def test_more_than_eight_columns_make_patterns_of_several_bytes() -> None:
    names = "abcdefghijk"
    columns = {name: [1, 1, None, None] for name in names}
    columns["k"] = [1, 1, 1, 1]

    release = anonymize(pa.table(columns), k_spec(names, 2))

    assert release.verification.n_classes == 2


def test_every_row_of_a_repaired_root_misses_the_same_columns() -> None:
    rng = np.random.default_rng(3)
    spec = k_spec("abc", 4, budget=60)
    columns = {
        name: [None if rng.random() < 0.4 else int(rng.integers(3)) for _ in range(60)]
        for name in "abc"
    }
    table = encoded(columns, spec)

    roots = roots_by_pattern(table, spec, first_constraints(table, spec))

    missing = np.array([column.missing for column in table.columns])
    for number in range(roots.n_roots):
        inside = roots.codes[roots.root == number] == missing
        assert (inside == inside[0]).all()


def test_row_that_joined_a_stranded_pattern_is_not_lost_with_it() -> None:
    # Five whole rows and five rows of pattern {a, c, d, e} stand alone. Row 10 misses
    # a and joins row 11, which misses b; together they are still too few.
    columns = {
        "a": [1] * 5 + [None] * 5 + [None, 1],
        "b": [1] * 5 + [1] * 5 + [1, None],
        "c": [1] * 5 + [None] * 5 + [1, 1],
        "d": [1] * 5 + [None] * 5 + [1, 1],
        "e": [1] * 5 + [None] * 5 + [1, 1],
    }

    release = anonymize(pa.table(columns), k_spec("abcde", 3))

    assert release.n_suppressed == 0
    assert release.verification.smallest_class >= 3


# Small patterns that are suppressed

EVERY_POLICY = pytest.mark.parametrize(
    "policy",
    [PaperPolicy(), OriginalPolicy(), BestPolicy(), BestPolicy(effort="strong")],
    ids=["paper", "original", "best", "strong"],
)


def lacking(*sizes: int) -> dict[str, list[Any]]:
    """Whole rows, then rows that lack the first column, the second, ..."""
    names = "abcdef"[: len(sizes) - 1]
    found: dict[str, list[Any]] = {name: [] for name in names}
    for gone, size in enumerate(sizes, start=-1):
        for i, name in enumerate(names):
            found[name] += [None if i == gone else j % 4 for j in range(size)]
    return found


def suppressing(columns: str, k: int, budget: int, policy: Any, **more: Any) -> Spec:
    asked = {"policy": policy, "missing": "pattern", "small_patterns": "suppress"}
    return k_spec(columns, k, budget, **asked, **more)


@EVERY_POLICY
def test_small_pattern_is_suppressed_whole(policy: Any) -> None:
    table = pa.table({**lacking(200, 3), "id": list(range(203))})

    release = anonymize(table, suppressing("a", 5, 10, policy))

    assert (release.n_suppressed, release.n_blanked) == (3, 0)
    assert shown(release, "id") == list(range(200))
    assert None not in shown(release, "a")
    tree = release.tree
    gone = [n for n in range(tree.n_nodes) if KINDS[tree.kind[n]] == "suppressed"]
    assert [(tree.parent[n], tree.rows[n], tree.spent[n]) for n in gone] == [(-1, 3, 3)]


@EVERY_POLICY
def test_patterns_are_suppressed_smallest_first_and_the_others_repaired(
    policy: Any,
) -> None:
    table = pa.table({**lacking(40, 4, 3, 4), "id": list(range(51))})

    release = anonymize(table, suppressing("abc", 5, 7, policy))

    # 3 rows, then the first in the order of patterns of those with 4: which lacks c.
    kept = {*range(51)} - {*range(44, 51)}
    assert release.n_suppressed == 7
    assert set(shown(release, "id")) == kept
    assert release.n_blanked > 0


@EVERY_POLICY
@pytest.mark.parametrize("budget", [0, 2])
def test_what_the_budget_does_not_cover_is_repaired(policy: Any, budget: int) -> None:
    table = pa.table(lacking(30, 3))

    release = anonymize(table, suppressing("a", 5, budget, policy))

    assert release.n_suppressed == 0
    assert release.n_blanked == 8  # the rows that have the smallest value


def test_what_patterns_cost_is_deducted_before_roots_get_their_shares() -> None:
    spec = suppressing("ab", 5, 10, PaperPolicy(), inline_below=0)
    table = encoded(lacking(60, 4, 40), spec)

    tree = grow(table, spec).tree

    roots = np.flatnonzero(tree.parent < 0)
    found = zip(tree.rows[roots], tree.budget[roots], strict=True)
    assert [tuple(map(int, one)) for one in found] == [(60, 3), (40, 2), (4, 4)]
    assert tree.n_suppressed >= 4


@EVERY_POLICY
def test_the_rest_is_never_too_small_for_a_class(policy: Any) -> None:
    table = pa.table({"a": [1, 1, 1, None, None], "b": [1, 1, 1, 1, 1]})

    release = anonymize(table, suppressing("ab", 4, 5, policy))

    assert (release.n_suppressed, release.n_blanked) == (0, 3)
    assert shown(release, "a") == [None] * 5


@EVERY_POLICY
def test_the_rest_still_has_what_the_models_ask_for(policy: Any) -> None:
    columns = {"a": [1, 1, 1, 1, None], "s": list("xxxxy")}
    models = (KAnonymity(2), DistinctLDiversity(2, "s"))
    asked = {"policy": policy, "suppress": Suppression(rows=4), "missing": "pattern"}
    spec = Spec(("a",), models, small_patterns="suppress", **asked)

    release = anonymize(pa.table(columns), spec)

    assert release.n_suppressed == 0


@EVERY_POLICY
def test_a_pattern_is_small_by_its_persons(policy: Any) -> None:
    rows = {"a": [1] * 6 + [None] * 6, "p": [1, 2, 3, 4, 5, 6, 1, 1, 1, 2, 2, 2]}
    spec = suppressing("a", 3, 6, policy, unit="p")

    release = anonymize(pa.table(rows), spec)

    assert (release.n_suppressed, release.n_blanked) == (6, 0)


def test_suppressed_patterns_may_stay_as_blanks_or_be_given_back() -> None:
    table = pa.table({**lacking(20, 2), "id": list(range(22))})
    spec = suppressing("a", 5, 2, PaperPolicy())

    blank = anonymize(table, dataclasses.replace(spec, suppressed="blank"))
    apart = anonymize(table, dataclasses.replace(spec, suppressed="separate"))

    assert shown(blank, "id")[-2:] == [None, None]
    assert apart.suppressed is not None
    assert apart.suppressed["id"].to_pylist() == [20, 21]
    assert apart.report_html()


def test_small_patterns_are_repaired_unless_it_is_asked() -> None:
    release = anonymize(pa.table(lacking(200, 3)), k_spec("a", 5, budget=10))

    assert release.spec.small_patterns == "repair"
    assert (release.n_suppressed, release.n_blanked) == (0, 50)
