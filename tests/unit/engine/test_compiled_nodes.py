"""Compiled functions that all of the engine shares, next to slow twins."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import samples
from support.compiled import compiled, inside
from support.engine_parts import FunnelBench, encoded, funnel_benches
from support.plain_engine import IS_PLAIN

from core_mondrian import KAnonymity, Spec
from core_mondrian.engine.boxes import find_nodes
from core_mondrian.engine.inputs import build_columns
from core_mondrian.engine.layout import (
    CLASS,
    CUT,
    N_STAGES,
    NODE,
    QUEUED,
    SUPPRESSED,
    fields,
)
from core_mondrian.engine.nodes import (
    NODE_ROWS,
    fill_records,
    graft_blocks,
    level_order,
    number_fragments,
)
from core_mondrian.engine.records import copy_record, data, low_half, node_at, row

BIG = 2**62
keys = st.one_of(
    st.lists(st.integers(0, 3), max_size=90),
    st.lists(st.integers(-BIG, BIG), max_size=90),
)


plain: Any = compiled("engine.plain")


@pytest.mark.twin("engine.plain")
def test_it_is_known_whether_the_engine_is_compiled() -> None:
    assert plain.IS_PLAIN is IS_PLAIN
    assert (plain.__file__ or "").endswith(".py") == IS_PLAIN


# sorting


@pytest.mark.twin("engine.sorting")
@given(keys, st.data())
def test_a_span_of_keys_is_sorted_and_nothing_else(
    numbers: list[int], draw: st.DataObject
) -> None:
    first = draw.draw(st.integers(0, len(numbers)))
    last = draw.draw(st.integers(first - 1, len(numbers) - 1))
    sorting = compiled("engine.sorting")
    for sort in (sorting.sort_keys, sorting.sort_short):
        found = np.array(numbers or [0], dtype=np.int64)

        sort(found, first, last)

        inner = sorted(numbers[first : last + 1])
        expected = [*numbers[:first], *inner, *numbers[last + 1 :]]
        assert found[: len(numbers)].tolist() == expected


@pytest.mark.twin("engine.sorting")
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=40))
def test_keys_are_divided_at_a_pivot(numbers: list[int]) -> None:
    found = np.array(numbers, dtype=np.int64)

    end, start = compiled("engine.sorting").divide(found, 0, len(numbers) - 1)

    assert sorted(found.tolist()) == sorted(numbers)
    assert end < start
    left, middle, right = found[: end + 1], found[end + 1 : start], found[start:]
    pivots = {*middle.tolist()}
    assert len(pivots) <= 1
    if left.size and right.size:
        assert left.max() <= right.min()
    assert all(left.max(initial=-9) <= one <= right.min(initial=9) for one in pivots)


# columns and boxes


@pytest.mark.twin("engine.columns")
@given(funnel_benches(), st.data())
def test_nodes_of_hierarchies_are_those_that_walking_down_finds(
    bench: FunnelBench, draw: st.DataObject
) -> None:
    columns = compiled("engine.columns")
    views = inside(bench.work).columns
    nodes = inside(views).nodes
    for i, info in enumerate(bench.oracle.columns):
        missing = info.n_values
        low = draw.draw(st.integers(0, missing))
        high = draw.draw(st.integers(low, missing))
        is_blank = low < high == missing
        assert bool(columns.is_blank(views, i, low, high)) == is_blank
        twig = bench.oracle.twigs[i]
        if twig is None:
            continue
        over = twig.covering(low, high)
        first = int(inside(views).info[i]["node_offset"])
        node = columns.common_ancestor(views, i, low, high)
        found = nodes[first + node]
        assert range(found["low"], found["high"] + 1) == over.codes
        if over.children:
            child = nodes[first + columns.child_with(views, i, node, low)]
            codes = next(x.codes for x in over.children if low in x.codes)
            assert range(child["low"], child["high"] + 1) == codes


@pytest.mark.twin("engine.boxes")
@given(samples(max_rows=20), st.data())
def test_the_node_of_a_class_covers_its_codes_or_is_blank(
    sample: Any, draw: st.DataObject
) -> None:
    spec = Spec(sample.names, (KAnonymity(2),), hierarchies=sample.hierarchies)
    table = encoded(sample, spec)
    columns = build_columns(table, spec)
    for i, info in enumerate(table.columns):
        if info.hierarchy is None:
            continue
        ends = st.tuples(*[st.integers(0, info.n_values)] * 2).map(sorted)
        pairs = draw.draw(st.lists(ends, min_size=1, max_size=5))
        low, high = np.array(pairs, dtype=np.int32).T.copy()
        found = np.empty(len(pairs), dtype=np.int32)

        find_nodes(columns, i, low, high, found)

        tree = info.hierarchy.with_missing()
        for (a, b), node in zip(pairs, found.tolist(), strict=True):
            if b == info.n_values:
                assert node == -1
                continue
            sizes = tree.high - tree.low
            over = np.flatnonzero((tree.low <= a) & (tree.high >= b))
            assert tree.low[node] <= a <= b <= tree.high[node]
            assert sizes[node] == sizes[over].min()


@pytest.mark.twin("engine.boxes")
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 4)), min_size=1))
def test_a_lower_median_counts_rows(pairs: list[tuple[int, int]]) -> None:
    records = np.array([(code, n, 0) for code, n in pairs], dtype=np.int32)
    scratch = np.empty(len(pairs), dtype=np.int64)

    median = compiled("engine.boxes").lower_median(records, scratch, 0, 0, len(pairs))

    codes = sorted(code for code, n in pairs for _ in range(n))
    assert median == codes[(len(codes) - 1) // 2]


# records and nodes


@pytest.mark.twin("engine.records")
def test_records_are_read_and_moved_as_rows_of_an_array() -> None:
    records = np.arange(12, dtype=np.int32).reshape(4, 3)
    target = np.zeros((2, 3), dtype=np.int32)

    copy_record(records, 2, target, 1)
    row(records, 0)[1] = 77

    assert target.tolist() == [[0, 0, 0], [6, 7, 8]]
    assert records[0].tolist() == [0, 77, 2]
    assert low_half((5 << 32) | 0xFFFFFFFF) == 0xFFFFFFFF
    assert low_half(5 << 32) == 0
    assert data(np.arange(3)).tolist() == [0, 1, 2]
    nodes = fields(2, NODE)
    node_at(nodes, 1)["rows"] = 5
    assert nodes["rows"].tolist() == [0, 5]


@pytest.mark.twin("engine.records")
@given(funnel_benches(), st.data())
def test_compiled_code_moves_whole_records(
    bench: FunnelBench, draw: st.DataObject
) -> None:
    """What is inlined is seen in a cut: records go to both sides, none changes."""
    if not bench.columns:
        return
    growth, column = compiled("engine.paper.growth"), bench.columns[0]
    codes = sorted({one.codes[column] for one in bench.part})
    before = bench.tuples.records.copy()
    bench.look_at(column)
    bench.seen.chosen["cut_code"][0] = at = draw.draw(st.sampled_from(codes[:-1]))

    growth.split_number(bench.work, 0)

    part = before[bench.start : bench.stop]
    sides = [part[part[:, column] <= at], part[part[:, column] > at]]
    before[bench.start : bench.stop] = np.concatenate(sides)
    assert bench.tuples.records.tolist() == before.tolist()
    assert bench.nodes["rows"][1:3].tolist() == [int(x[:, -2].sum()) for x in sides]


@pytest.mark.twin("engine.nodes")
@given(st.data())
def test_records_are_codes_counts_and_numbers_in_order(draw: st.DataObject) -> None:
    n = draw.draw(st.integers(0, 6))
    codes = np.arange(3 * n, dtype=np.int32).reshape(n, 3)
    counts = np.arange(n, dtype=np.int64) + 50
    order = np.array(draw.draw(st.permutations(range(n))), dtype=np.int64)
    records = np.zeros((n, 5), dtype=np.int32)

    fill_records(codes, counts, order, records)

    expected = [[*codes[i].tolist(), 50 + i, i] for i in order.tolist()]
    assert records.tolist() == expected


@pytest.mark.twin("engine.nodes")
def test_a_fresh_node_has_no_children() -> None:
    nodes = fields(2, NODE)
    nodes["needs_cut"] = nodes["budget"] = 9
    node = nodes[1] if IS_PLAIN else nodes[1:]

    compiled("engine.nodes").add_node(node, 1, 0, 3, 5, 2**40)

    found = dict(zip(NODE.names or (), nodes[1].item(), strict=True))
    assert found == {
        "rows": 2**40,
        "budget": 0,
        "parent": 0,
        "kind": CLASS,
        "column": -1,
        "cut_code": -1,
        "first_child": -1,
        "n_children": 0,
        "start": 3,
        "stop": 5,
        "low": -1,
        "high": -1,
        "visit_order": 1,
        "needs_cut": 0,
    }
    assert nodes["needs_cut"][0] == 9


@pytest.mark.twin("engine.nodes")
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9)), min_size=1))
def test_pieces_are_numbered_by_tuple_and_place(pairs: list[tuple[int, int]]) -> None:
    records = np.array([(7, n, owner) for owner, n in pairs], dtype=np.int32)
    sizes = Counter(owner for owner, _ in pairs)
    places = np.cumsum([0, *(sizes[i] for i in range(3))], dtype=np.int64)
    rows = np.zeros(len(pairs), dtype=np.int64)

    number_fragments(records, places, rows)

    order = sorted(range(len(pairs)), key=lambda i: pairs[i][0])
    assert [
        int(np.flatnonzero(records[:, 2] == n)[0]) for n in range(len(pairs))
    ] == order
    assert rows.tolist() == [pairs[i][1] for i in order]


@st.composite
def forests(draw: Any) -> list[list[int]]:
    """The children of each node, roots first; a node's children are consecutive."""
    n_roots, n = draw(st.integers(1, 3)), draw(st.integers(0, 6))
    children: list[list[int]] = [[] for _ in range(n_roots)]
    for _ in range(n):
        bare = [i for i, below in enumerate(children) if not below]
        parent = draw(st.sampled_from(bare))
        more = draw(st.integers(1, 3))
        children[parent] = list(range(len(children), len(children) + more))
        children += [[] for _ in range(more)]
    return [list(range(n_roots)), *children]


@pytest.mark.twin("engine.nodes")
@given(forests())
def test_nodes_are_numbered_level_by_level(forest: list[list[int]]) -> None:
    roots, *children = forest
    nodes = fields(len(children), NODE)
    nodes["first_child"] = -1
    nodes["rows"] = np.arange(len(children))  # which node it is
    for i, below in enumerate(children):
        if below:
            nodes["first_child"][i], nodes["n_children"][i] = below[0], len(below)
    table = np.full((len(NODE_ROWS), len(children)), -7, dtype=np.int64)

    level_order(nodes, len(roots), np.empty(len(children), np.int32), table)

    level, order, parent = roots, [], dict.fromkeys(roots, -1)
    while level:
        parent |= {x: order.index(one) + 0 for one in order for x in children[one]}
        order += level
        level = [below for one in level for below in children[one]]
    parent |= {x: order.index(one) for one in order for x in children[one]}
    found = dict(zip(NODE_ROWS, table.tolist(), strict=True))
    assert found["rows"] == order
    assert found["parent"] == [parent[one] for one in order]
    assert found["n_children"] == [len(children[one]) for one in order]
    starts = [order.index(children[x][0]) if children[x] else -1 for x in order]
    assert found["first_child"] == starts


@pytest.mark.twin("engine.nodes")
@given(st.lists(forests(), min_size=1, max_size=3))
def test_blocks_are_put_in_the_place_of_their_leaves(
    drawn: list[list[list[int]]],
) -> None:
    trees = [_one_root(forest) for forest in drawn]
    n_leaves, n = len(trees), sum(len(tree) for tree in trees)
    grown, edges = fields(n, NODE), np.zeros((n_leaves + 1, 2), dtype=np.int64)
    names, parents = [], {}
    for number, tree in enumerate(trees):
        first = len(names)
        edges[number, 0] = first
        for i, below in enumerate(tree):
            grown["first_child"][first + i] = first + below[0] if below else -1
            grown["n_children"][first + i] = len(below)
            grown["column"][first + i] = first + i  # which node it is
            parents |= {first + x: first + i for x in below}
            names.append(first + i)
    for name, above in parents.items():
        grown["parent"][name] = above
    edges[n_leaves, 0] = n
    into = fields(n_leaves + n, NODE)
    into["column"] = -1

    leaves = np.arange(n_leaves, dtype=np.int64)
    graft_blocks(grown, edges, leaves, into, n_leaves, 100)

    place = {
        int(name): i for i, name in enumerate(into["column"].tolist()) if name >= 0
    }
    assert sorted(place) == names
    for number, tree in enumerate(trees):
        first = int(edges[number, 0])
        assert place[first] == number
        for i, below in enumerate(tree):
            node = into[place[first + i]]
            assert node["n_children"] == len(below)
            if below:
                assert node["first_child"] == place[first + below[0]]
            if i:
                assert node["parent"] == place[parents[first + i]]
                assert node["start"] == 100


def _one_root(forest: list[list[int]]) -> list[list[int]]:
    """The tree below the first root, numbered anew."""
    _, *children = forest
    numbers, waiting = {0: 0}, [0]
    while waiting:
        for below in children[waiting.pop(0)]:
            numbers[below] = len(numbers)
            waiting.append(below)
    return [[numbers[x] for x in children[one]] for one in numbers]


# budget


@pytest.mark.twin("engine.budget")
@given(funnel_benches(with_rules=False), st.data())
def test_children_are_given_their_shares_and_spend_what_is_left(
    bench: FunnelBench, draw: st.DataObject
) -> None:
    budget, k, cutoff = (
        compiled("engine.budget"),
        bench.oracle.k,
        bench.seen.inline_below,
    )
    sizes = draw.draw(st.lists(st.integers(1, 3 * k + cutoff), min_size=1, max_size=5))
    lost = [draw.draw(st.booleans()) for _ in sizes]
    opened = [draw.draw(st.booleans()) for _ in sizes]
    left = draw.draw(st.integers(0, 20))
    nodes = fields(len(sizes) + 1, NODE)
    bench.seen.nodes = nodes
    nodes["first_child"][0], nodes["n_children"][0] = 1, len(sizes)
    nodes["rows"][1:], nodes["needs_cut"][1:] = sizes, opened
    nodes["kind"][1:] = np.where(lost, SUPPRESSED, CLASS)
    turns = draw.draw(st.permutations(range(1, len(sizes) + 1)))
    nodes["visit_order"][1:] = turns
    bench.stack["left"][0] = left

    rest = budget.queue_children(bench.work, 0, left)

    unsolved = [
        not gone and (must or n >= 2 * k)
        for n, gone, must in zip(sizes, lost, opened, strict=True)
    ]
    total = sum(n for n, is_open in zip(sizes, unsolved, strict=True) if is_open)
    queued = [i for i, x in enumerate(unsolved) if x and sizes[i] >= cutoff]
    shares = {i: sizes[i] * left // total for i in queued}
    assert rest == left - sum(shares.values())
    assert [i for i, x in enumerate(nodes["kind"][1:]) if x == QUEUED] == queued
    assert all(nodes["budget"][i + 1] == share for i, share in shares.items())

    found = []
    while (child := budget.next_child(bench.work, 0)) >= 0:
        assert nodes["budget"][child] == left
        found.append(child)
    inline = {i + 1 for i, x in enumerate(unsolved) if x and i not in queued}
    assert found == [child for child in turns if child in inline]

    check_spending(bench, left)


def check_spending(bench: FunnelBench, left: int) -> None:
    """All that is left may be spent, and no row more."""
    budget = compiled("engine.budget")
    budget.spend(bench.work, 0, left)
    assert not budget.is_overrun(bench.work, 0)
    budget.spend(bench.work, 0, 1)
    assert budget.is_overrun(bench.work, 0)
    assert bench.stack["spent"][0] == left + 1


@pytest.mark.twin("engine.budget")
@given(funnel_benches(with_rules=False), st.data())
def test_a_cut_is_undone_with_all_that_came_of_it(
    bench: FunnelBench, draw: st.DataObject
) -> None:
    kinds = draw.draw(st.lists(st.sampled_from([CUT, CLASS, QUEUED]), max_size=6))
    n_kept = draw.draw(st.integers(1, 3))
    n_columns = len(bench.oracle.columns)
    nodes = fields(n_kept + len(kinds), NODE)
    nodes["kind"][n_kept:] = kinds
    nodes["column"] = np.arange(nodes.size) % n_columns
    seen, stack = bench.seen, bench.stack
    seen.nodes, seen.n_nodes, seen.n_queued = nodes, nodes.size, 5
    stack["undo_mark"][0], stack["queue_mark"][0] = n_kept, 2
    stack["attempt"][0], stack["next_child"][0] = 3, 1

    compiled("engine.budget").backtrack(bench.work, 0)

    assert (seen.n_nodes, seen.n_queued) == (n_kept, 2)
    assert (stack["attempt"][0], stack["next_child"][0]) == (4, -1)
    undone = Counter(
        int(nodes["column"][n_kept + i]) for i, x in enumerate(kinds) if x == CUT
    )
    undone[0] += 1  # the partition itself
    counted = bench.work.funnel[N_STAGES - 1]
    assert counted.tolist() == [undone[i] for i in range(n_columns)]
