"""Where new rows stop in a tree, next to a walk over nested dictionaries."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.compiled import compiled

from core_mondrian.series.walking import LEAF_RANGE, STEP, TreeWalk, find_stops

N_CODES = 9


@st.composite
def trees(draw: Any) -> list[dict[str, Any]]:
    """Nodes that cut a number, or name and cover leaves; children come later."""
    nodes: list[dict[str, Any]] = [{}]
    for number in range(draw(st.integers(0, 4))):
        if number >= len(nodes):
            break
        free = len(nodes)
        node: dict[str, Any] = {
            "column": draw(st.integers(0, 1)),
            "missing": draw(st.sampled_from([-1, free])),
            "cut": draw(st.integers(-1, N_CODES)),
            "is_number": draw(st.booleans()),
            "named": draw(named_ranges(free)),
            "covered": draw(
                st.sampled_from([[], [(0, 8, free)], [(0, 8, free), (3, 5, free + 1)]])
            ),
        }
        nodes[number] = node | {"left": free, "right": free + 1}
        nodes += [{}, {}]
    return nodes


@st.composite
def named_ranges(draw: Any, free: int) -> list[tuple[int, int, int]]:
    """Ranges of leaves that do not overlap, rising."""
    ends = sorted(draw(st.sets(st.integers(0, N_CODES - 1), max_size=4)))
    pairs = zip(ends[::2], ends[1::2], strict=False)
    return [(low, high, free + i % 2) for i, (low, high) in enumerate(pairs)]


def slow_child(node: dict[str, Any], code: int) -> int:
    if code == N_CODES:
        return int(node["missing"])
    if node["is_number"]:
        return int(node["left"] if code <= node["cut"] else node["right"])
    for low, high, child in node["named"]:
        if low <= code <= high:
            return int(child)
    narrow = [
        (high - low, child)
        for low, high, child in node["covered"]
        if low <= code <= high
    ]
    return min(narrow)[1] if narrow else -1


def walk_of(nodes: list[dict[str, Any]]) -> TreeWalk:
    """The same nodes as arrays."""
    steps = np.zeros(len(nodes) + 1, dtype=STEP)
    ranges: dict[str, list[tuple[int, int, int]]] = {"named": [], "covered": []}
    for i, node in enumerate([*nodes, {}]):
        steps["column"][i] = node.get("column", -1)
        steps["blank"][i] = N_CODES
        for name in ("is_number", "cut", "left", "right", "missing"):
            steps[name][i] = node.get(name, -1)
        for name, every in ranges.items():
            steps[name][i] = len(every)
            every.extend(node.get(name, []))
    named, covered = (
        np.array([*found, (0, 0, 0)], dtype=LEAF_RANGE).view(np.recarray)
        for found in ranges.values()
    )
    return TreeWalk(steps.view(np.recarray), named, covered)


@pytest.mark.twin("series.walking")
@given(trees(), st.lists(st.tuples(*[st.integers(0, N_CODES)] * 2), max_size=12))
def test_rows_stop_where_walking_step_by_step_ends(
    nodes: list[dict[str, Any]], rows: list[tuple[int, int]]
) -> None:
    walk = walk_of(nodes)
    codes = np.array(rows, dtype=np.int32).reshape(-1, 2)
    stops = np.full(len(rows), -7, dtype=np.int64)

    find_stops(walk, codes, stops)

    for row, stop in zip(rows, stops.tolist(), strict=True):
        node, child = 0, 0
        while child >= 0:
            node = child
            here = nodes[node]
            child = slow_child(here, row[here["column"]]) if here else -1
        assert stop == node
    for number, node in enumerate(nodes):
        if node:
            for code in range(N_CODES + 1):
                found = compiled("series.walking").child_of(walk, number, code)
                assert found == slow_child(node, code)
