"""Hierarchies: the tree, its file form, and refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_mondrian import DataError, KAnonymity, Spec, anonymize
from core_mondrian.hierarchies.read import read_hierarchy
from core_mondrian.hierarchies.tree import Hierarchy, flat, from_paths

ROWS = [
    ("cat", "beast", "*"),
    ("hen", "bird", "*"),
    ("dog", "beast", "*"),
    ("owl", "bird", "*"),
]


def below(tree: Hierarchy, node: int) -> list[str]:
    """Labels of the leaves below a node, by walking down."""
    if not tree.n_children[node]:
        return [tree.labels[node]]
    first = int(tree.first_child[node])
    children = range(first, first + int(tree.n_children[node]))
    return [leaf for child in children for leaf in below(tree, child)]


def check_shape(tree: Hierarchy) -> None:
    """Every node covers exactly the leaves below it, as one interval."""
    for node in range(len(tree.labels)):
        low, high = int(tree.low[node]), int(tree.high[node])
        assert below(tree, node) == list(tree.leaves[low : high + 1])


def test_every_node_is_one_interval_of_leaves() -> None:
    tree = from_paths(ROWS)

    check_shape(tree)
    assert tree.leaves == ("cat", "dog", "hen", "owl")
    assert tree.labels[:3] == ("*", "beast", "bird")


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1))
def test_any_tree_is_laid_out_in_intervals(pairs: list[tuple[int, int]]) -> None:
    rows = [(f"leaf{i}", f"{a}.{b}", f"{a}", "*") for i, (a, b) in enumerate(pairs)]

    tree = from_paths(rows)

    check_shape(tree)
    assert sorted(tree.leaves) == sorted(row[0] for row in rows)


def test_one_more_leaf_for_missing_hangs_under_the_root() -> None:
    tree = from_paths(ROWS)

    wider = tree.with_missing()

    check_shape(wider)
    assert wider.n_leaves == tree.n_leaves + 1
    assert wider.leaves == (*tree.leaves, "")
    assert tree.n_leaves == 4


def test_flat_tree_of_nothing_can_hold_missing() -> None:
    tree = flat([])

    assert tree.n_leaves == 0
    assert tree.with_missing().n_leaves == 1


def test_sizes_grow_tenfold_with_every_level() -> None:
    tree = from_paths([("foo", "foobar", "*"), ("bar", "foobar", "*")])

    assert tree.sizes.tolist() == [99.0, 9.0, 0.0, 0.0]


def test_repeated_labels_add_no_level() -> None:
    tree = from_paths([("a", "a", "*"), ("b", "b", "*")])

    assert tree.sizes.tolist() == [9.0, 0.0, 0.0, 0.0, 0.0]


def test_file_of_arx_is_read(tmp_path: Path) -> None:
    file = tmp_path / "pets.csv"
    text = "﻿" + "".join(";".join(row) + "\r\n" for row in ROWS) + "\n"
    file.write_bytes(text.encode())

    tree = read_hierarchy(file)

    assert tree.labels == from_paths(ROWS).labels
    assert np.array_equal(tree.low, from_paths(ROWS).low)


def test_hierarchy_file_generalizes_a_release(tmp_path: Path) -> None:
    file = tmp_path / "pets.csv"
    file.write_text("".join(";".join(row) + "\n" for row in ROWS))
    table = pa.table({"pet": ["cat", "dog", "hen", "owl"]})
    spec = Spec(("pet",), (KAnonymity(2),), hierarchies={"pet": read_hierarchy(file)})

    release = anonymize(table, spec)

    assert release.data["pet"].to_pylist() == ["beast", "beast", "bird", "bird"]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        pytest.param([], "no rows", id="empty"),
        pytest.param(
            [("secret", "*"), ("b", "x", "*")], "line 2: 3 levels", id="ragged"
        ),
        pytest.param([("secret",)], "one level", id="no root"),
        pytest.param([("secret", "*"), ("b", "+")], "another root", id="two roots"),
        pytest.param([("secret", "*"), ("", "*")], "an empty label", id="empty label"),
        pytest.param(
            [("secret", "x", "*"), ("secret", "y", "*")],
            "line 2: the same leaf",
            id="a leaf twice",
        ),
    ],
)
def test_what_is_no_tree_is_refused_by_line(rows: Any, told: str) -> None:
    with pytest.raises(DataError) as caught:
        from_paths(rows)

    assert told in str(caught.value)
    assert "secret" not in str(caught.value)


def test_label_with_two_parents_is_refused() -> None:
    with pytest.raises(DataError):
        from_paths([("a", "x", "p", "*"), ("b", "x", "q", "*")])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(None, "no such file\nhint: check the path", id="absent"),
        pytest.param(
            b"\xff;*", "not UTF-8 text\nhint: save it as UTF-8", id="not text"
        ),
    ],
)
def test_unreadable_file_is_refused(
    content: bytes | None, words: str, tmp_path: Path
) -> None:
    file = tmp_path / "pets.csv"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(DataError, match=words):
        read_hierarchy(file)
