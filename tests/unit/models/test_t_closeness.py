"""t-closeness by equal, ordered and hierarchical distance."""

from typing import Any

import pytest
from models_oracle import counted

from core_mondrian.errors import SpecError
from core_mondrian.hierarchies.tree import flat, from_paths
from core_mondrian.models import TCloseness

# After the example of Li, Li and Venkatasubramanian 2007.
DISEASES = from_paths(
    [
        ("flu", "respiratory infection", "respiratory", "*"),
        ("pneumonia", "respiratory infection", "respiratory", "*"),
        ("bronchitis", "respiratory infection", "respiratory", "*"),
        ("pulmonary edema", "vascular lung disease", "respiratory", "*"),
        ("pulmonary embolism", "vascular lung disease", "respiratory", "*"),
        ("gastric ulcer", "stomach disease", "digestive", "*"),
        ("stomach cancer", "stomach disease", "digestive", "*"),
        ("gastritis", "stomach disease", "digestive", "*"),
        ("colitis", "colon disease", "digestive", "*"),
        ("colon cancer", "colon disease", "digestive", "*"),
    ]
)
SALARIES = [[3, 4, 5], [6, 8, 11], [7, 9, 10]]
CLOSE_SALARIES = [[3, 5, 9], [6, 8, 11], [4, 7, 10]]
CLOSE_DISEASES = [
    ["gastric ulcer", "stomach cancer", "pneumonia"],
    ["gastritis", "flu", "bronchitis"],
    ["gastritis", "bronchitis", "stomach cancer"],
]


def as_ranks(groups: list[list[int]]) -> list[list[str]]:
    return [[f"{value:02}" for value in group] for group in groups]


def test_salaries_of_the_paper() -> None:
    model = TCloseness(0.2, "salary", "ordered")

    found = model.measured(counted(as_ranks(SALARIES)))

    assert found[:2] == pytest.approx([0.375, 1 / 6])


def test_table_of_the_paper_is_0_167_close_in_salary() -> None:
    classes = counted(as_ranks(CLOSE_SALARIES))

    assert TCloseness(0.167, "salary", "ordered").holds(classes)
    assert TCloseness(0.2, "s", "ordered").reached(classes) == pytest.approx(1 / 6)


def test_diseases_by_hand() -> None:
    # In the table, 4/9 are respiratory. First class: 1/3, so 1/9 crosses the root; of
    # the rest, 2/9 moves within stomach diseases and 2/9 within infections, a third as
    # far. The others likewise.
    model = TCloseness(0.2, "disease", "hierarchical", DISEASES)

    found = model.measured(counted(CLOSE_DISEASES))

    assert found == pytest.approx([3 / 27 + 4 / 27, 6 / 27 + 2 / 27, 3 / 27 + 2 / 27])


@pytest.mark.parametrize(
    ("one", "other", "thirds"),
    [
        pytest.param("flu", "bronchitis", 1, id="same infection"),
        pytest.param("flu", "pulmonary embolism", 2, id="same system"),
        pytest.param("flu", "stomach cancer", 3, id="nothing in common"),
        pytest.param("flu", None, 3, id="missing"),
    ],
)
def test_ground_distances_of_the_paper(
    one: str, other: str | None, thirds: int
) -> None:
    # All of one against half of each: half has to move.
    model = TCloseness(0.2, "disease", "hierarchical", DISEASES)

    found = model.measured(counted([[one], [other]]))

    assert found == pytest.approx([thirds / 6] * 2)


def test_equal_distance_is_half_the_differences() -> None:
    classes = counted(["aab", "abcc"])  # a 3/7, b 2/7, c 2/7

    found = TCloseness(0.2, "s").measured(classes)

    assert found == pytest.approx([2 / 7, 1 / 2 - 2 / 7])


def test_a_flat_hierarchy_is_equal_distance() -> None:
    classes = counted(["aab", "abcc", "ac"])
    tree = flat(["a", "b", "c", "d"])

    by_tree = TCloseness(0.2, "s", "hierarchical", tree).measured(classes)

    assert by_tree == pytest.approx(TCloseness(0.2, "s").measured(classes))


def test_missing_ranks_last() -> None:
    classes = counted([["1", "2"], ["2", None]])

    found = TCloseness(0.2, "s", "ordered").measured(classes)

    assert found == pytest.approx([(1 / 4 + 1 / 4) / 2] * 2)


def test_classes_like_the_table_are_0_close_in_spite_of_rounding() -> None:
    classes = counted(["122" * 7, "122" * 3, "122"])

    for distance in ("equal", "ordered"):
        assert TCloseness(0, "s", distance).holds(classes)  # type: ignore[arg-type]


def test_labels_that_are_not_text_are_found_in_the_hierarchy() -> None:
    tree = from_paths([("1", "low", "*"), ("2", "low", "*"), ("true", "flag", "*")])
    model = TCloseness(0.2, "s", "hierarchical", tree)

    assert model.bind((1, 2.0, True)) == model.bind(("1", "2", "true"))


def test_a_value_outside_the_hierarchy_is_counted_but_not_named() -> None:
    model = TCloseness(0.2, "disease", "hierarchical", DISEASES)

    with pytest.raises(SpecError, match="'disease' does not cover 2 of 3") as caught:
        model.bind(("flu", "canary", "cough"))

    assert "canary" not in str(caught.value)


def test_models_are_equal_if_their_hierarchies_are() -> None:
    one = TCloseness(0.2, "s", "hierarchical", flat(["a", "b"]))
    same = TCloseness(0.2, "s", "hierarchical", flat(["a", "b"]))
    other = TCloseness(0.2, "s", "hierarchical", flat(["a", "c"]))

    assert one == same
    assert len({one, same, other}) == 2
    assert one != TCloseness(0.2, "s")


def test_what_it_is() -> None:
    model = TCloseness(0.2, "income")

    assert model.name == "0.2-closeness of income (equal)"
    assert model.min_rows == 1
    assert "Hierarchy" not in repr(model)


@pytest.mark.parametrize(
    ("other", "halves"), [("b", 1), ("x", 2)], ids=["same parent", "root"]
)
def test_a_height_is_the_longest_way_down(other: str, halves: int) -> None:
    tree = from_paths([("a", "g", "*"), ("b", "g", "*")]).with_leaves(["x"])
    model = TCloseness(0.2, "s", "hierarchical", tree)

    found = model.measured(counted([["a"], [other]]))

    assert found == pytest.approx([halves / 4] * 2)


@pytest.mark.parametrize("missing", ["value", "ignored"])
def test_texts_that_are_all_numbers_rank_as_numbers(missing: Any) -> None:
    model = TCloseness(0.2, "s", "ordered", missing=missing)

    # As texts, 10 would come first and be next to 8.
    found = model.measured(counted([["8"], ["9"], ["10"]]))

    assert found == pytest.approx([(2 / 3 + 1 / 3) / 2, (1 / 3 + 1 / 3) / 2, 1 / 2])
    assert list(model.bind(("10", "8", "9")))[1:4] == [1, 2, 0]
    with pytest.raises(SpecError, match="text without an order") as caught:
        model.bind(("10", "8", "nine"))
    assert "nine" not in str(caught.value)


def test_a_hierarchy_is_not_shown() -> None:
    model = TCloseness(0.2, "s", "hierarchical", flat(["CANARY"]))

    assert repr(model).startswith("TCloseness(t=0.2, sensitive='s', distance=")
    assert "hierarchy=" not in repr(model)
    assert "CANARY" not in repr(model)
    assert TCloseness(0.2, "s").hierarchy is None
