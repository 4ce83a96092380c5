"""Clusters of close records, next to comparing all of them one by one."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle import n_rows
from support.compiled import compiled, inside
from support.engine_parts import FEW, SearchBench, found_records, search_benches

from core_mondrian.engine.layout import CLASS, CUT, NODE_SHARE
from core_mondrian.engine.search.lanes import Lanes, build_lanes
from core_mondrian.engine.search.workspace import ClassSet, Sketch

CLOSENESS = "engine.search.closeness"
CLUSTERING = "engine.search.clustering"


def rows_of(lanes: Lanes, records: Any) -> np.ndarray:
    """The numbers of each record, column by column."""
    columns = [records[:, column] for column in lanes.columns]
    return np.array(
        [
            lanes.table[at + codes]
            for at, codes in zip(lanes.offsets, columns, strict=True)
        ],
        dtype=np.int64,
    ).T


def widths(lanes: Lanes, low: Any, high: Any) -> Any:
    """How wide boxes are, in the lanes together."""
    return np.minimum(high - low, lanes.caps.astype(np.int64)).sum(axis=-1)


@given(search_benches(with_rules=False))
def test_lanes_are_as_far_apart_as_records_lose(bench: SearchBench) -> None:
    """But for rounding, and for nodes of one level that are of different sizes."""
    lanes = build_lanes(bench.objective)
    assert lanes.caps.size % 8 == 0
    assert int(lanes.caps.astype(np.int64).sum()) <= 2**15 - 1
    records = bench.buffers.array
    rows = rows_of(lanes, records)
    apart = np.abs(rows[:1] - rows)
    lost = np.array(
        [
            [
                bench.oracle.weight_of(info.name)
                * bench.oracle.column_loss(i, {int(records[0, i]), int(one[i])})
                for i, info in enumerate(bench.oracle.table.columns)
            ]
            for one in records
        ]
    )
    far = np.minimum(apart, lanes.caps.astype(np.int64))
    for column, aim in enumerate(bench.objective.info):
        own = far[:, lanes.columns == column].sum(axis=1)
        assert ((own > 0) <= (lost[:, column] > 0)).all()
        if aim["kind"] != NODE_SHARE and own.any():
            scale = own.max() / lost[own.argmax(), column]
            assert np.abs(own - scale * lost[:, column]).max() <= 2 + own.max() / 64


def sketched(bench: SearchBench) -> tuple[Sketch, Lanes, Any]:
    """The sketch of a partition, its lanes, and its records."""
    records = np.ascontiguousarray(bench.buffers.array[bench.start : bench.stop])
    lanes = build_lanes(bench.objective)
    sketch = Sketch(len(records), lanes)
    compiled(CLOSENESS).sketch_records(sketch, records, len(records))
    return sketch, lanes, records


@pytest.mark.twin("engine.search.closeness")
@FEW
@given(search_benches(with_rules=False), st.data())
def test_records_are_as_far_apart_as_their_lanes(
    bench: SearchBench, draw: st.DataObject
) -> None:
    assume(bench.part)
    sketch, lanes, records = sketched(bench)
    rows, n = rows_of(lanes, records), len(records)
    pick = st.integers(0, n - 1)
    i, most = draw.draw(pick), draw.draw(st.integers(1, 4))
    others = draw.draw(st.lists(pick, min_size=1, unique=True))
    closeness, held = compiled(CLOSENESS), inside(sketch)
    assert (held.places[:n] == rows).all()

    far = [closeness.distance(sketch, i, j) for j in range(n)]
    assert (
        far
        == widths(lanes, np.minimum(rows[i], rows), np.maximum(rows[i], rows)).tolist()
    )

    closeness.start_box(sketch, others[0])
    for j in others[1:]:
        closeness.widen_box(sketch, j)
    box = rows[others].min(axis=0), rows[others].max(axis=0)
    assert closeness.box_width(sketch) == widths(lanes, *box)
    wider = np.minimum(box[0], rows[i]), np.maximum(box[1], rows[i])
    assert closeness.box_with(sketch, i) == widths(lanes, *wider)

    step = draw.draw(st.integers(1, 3))
    sampled = sorted(far[j] for j in range(0, n, step) if j != i)[:most]
    expected = sampled[-1] if sampled else 0
    assert closeness.solitude(sketch, i, n, step, most) == expected

    for j in others:
        closeness.take(sketch, j)
    left = set(range(n)) - set(others)
    assert set(held.left[: held.n_left]) == left
    assert [held.where[j] for j in held.left[:n]] == [*range(n)]
    closeness.list_left(sketch, i, most)
    nearest = [int(j) for j in held.near[: held.n_listed]]
    assert [far[j] for j in nearest] == sorted(far[j] for j in left)[:most]
    assert set(nearest) <= left


@pytest.mark.twin("engine.search.closeness")
@FEW
@given(search_benches(with_rules=False), st.data())
def test_a_class_is_as_wide_as_its_box(bench: SearchBench, draw: st.DataObject) -> None:
    assume(len(bench.part) > 1)
    _, lanes, records = sketched(bench)
    rows, n = rows_of(lanes, records), len(records)
    width = records.shape[1]
    pool = ClassSet(n + 1, n, width, bench.objective, anneals=True, lanes=lanes)
    held, closeness = inside(pool), compiled(CLOSENESS)
    closeness.sketch_records(held.sketch, records, n)
    held.tuple_of[:n] = np.arange(n)
    members = draw.draw(st.lists(st.integers(0, n - 1), min_size=1, unique=True))
    for i, following in zip(members, [*members[1:], -1], strict=True):
        held.next[i] = following
    held.classes["head"][0] = members[0]
    gone = draw.draw(st.sampled_from([-1, *members]))
    new = draw.draw(st.integers(-1, n - 1))

    found = closeness.class_width(pool, 0, gone, new)

    left = [i for i in [*members, new] if i >= 0]
    if gone >= 0:
        left.remove(gone)
    if left:
        box = rows[left].min(axis=0), rows[left].max(axis=0)
        assert found == widths(lanes, *box)
    else:
        assert found == 0.0


@pytest.mark.twin("engine.search.clustering")
@FEW
@given(search_benches())
def test_clusters_hold_all_records_once_and_pass_the_models(bench: SearchBench) -> None:
    assume(bench.part)
    assume(bool(inside(inside(bench.workspace).rules).is_monotone))
    assume(bench.oracle.admits(bench.part))
    block, n = bench.block(), len(bench.part)
    sketch = Sketch(n, build_lanes(bench.objective))

    compiled(CLUSTERING).cluster_block(block, sketch, bench.workspace, n, bench.rows)

    held, records = inside(block), found_records(block)
    assert held.n_records == n
    nodes = held.nodes[: held.n_nodes]
    assert nodes["kind"][0] == (CLASS if len(nodes) == 1 else CUT)
    if len(nodes) > 1:
        assert nodes["start"][1:].tolist() == [0, *nodes["stop"][1:-1].tolist()]
        assert nodes["stop"][-1] == n
    parts = [
        bench.part_of(records[node["start"] : node["stop"]])
        for node in (nodes[1:] if len(nodes) > 1 else nodes)
    ]
    assert [n_rows(part) for part in parts] == nodes["rows"][-len(parts) :].tolist()
    assert all(bench.oracle.admits(part) for part in parts)
    every = sorted(row.number for part in parts for row in part)
    assert every == sorted(row.number for row in bench.part)


@pytest.mark.twin("engine.search.clustering")
@FEW
@given(search_benches(with_rules=False))
def test_a_record_that_is_a_class_by_itself_is_a_cluster_alone(
    bench: SearchBench,
) -> None:
    assume(bench.part)
    block, n, k = bench.block(), len(bench.part), bench.oracle.k
    sketch = Sketch(n, build_lanes(bench.objective))
    compiled(CLUSTERING).cluster_block(block, sketch, bench.workspace, n, bench.rows)
    assume(bench.rows >= k)

    held, records = inside(block), found_records(block)
    nodes = held.nodes[: held.n_nodes]
    parts = [bench.part_of(records[one["start"] : one["stop"]]) for one in nodes[1:]]
    n_large = sum(row.count >= k for row in bench.part)
    assert sum(max(row.count for row in part) >= k for part in parts) == (
        n_large if len(nodes) > 1 else 0
    )
