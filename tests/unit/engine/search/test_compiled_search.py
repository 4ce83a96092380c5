"""Compiled functions of the search, one by one, next to counting and trying all."""

import math
from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from best_oracle import NEAR
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle import Part, codes_of, n_rows
from support.compiled import compiled, inside
from support.engine_parts import FEW, SearchBench, search_benches
from support.plain_engine import IS_PLAIN

from core_mondrian.engine.layout import CLASS, NODE, RANGE, VALUE_SET, fields
from core_mondrian.engine.layout import Search as Settings
from core_mondrian.engine.search.best_search import (
    SearchSettings,
    cut_to_blocks,
    solve_blocks,
)
from core_mondrian.engine.search.class_loss import class_losses
from core_mondrian.engine.search.lanes import Lanes, build_lanes
from core_mondrian.engine.search.objective import box_loss, worth_of
from core_mondrian.engine.search.suppression import OutlierScan
from core_mondrian.engine.search.workspace import ClassSet, SolvedBlocks

LARGE = 2**40


def near(value: float, part: Part) -> Any:
    return pytest.approx(value, abs=NEAR * max(1.0, float(n_rows(part))) * 10)


def loss_per_row(bench: SearchBench, part: Part) -> float:
    """What each row of a class loses."""
    return sum(
        bench.oracle.weight_of(info.name)
        * bench.oracle.column_loss(i, {row.codes[i] for row in part})
        for i, info in enumerate(bench.oracle.table.columns)
    )


def rows_by_tuple(part: Part) -> Counter[int]:
    counts: Counter[int] = Counter()
    for row in part:
        counts[row.number] += row.count
    return counts


# the objective, and what a class loses


@pytest.mark.twin("engine.search.objective")
@FEW
@given(search_benches(with_rules=False), st.data())
def test_a_box_loses_what_the_definition_says(
    bench: SearchBench, draw: st.DataObject
) -> None:
    """The twin of what is inlined, which `class_loss` runs compiled."""
    views = SimpleNamespace(
        **bench.objective._asdict(), has_worth=bench.objective.worth.size > 0
    )
    views.info, views.nodes = (x.view(np.recarray) for x in (views.info, views.nodes))
    for i, info in enumerate(bench.oracle.table.columns):
        if bench.oracle.kind(i) == "set":
            continue
        low = draw.draw(st.integers(0, info.n_values))
        high = draw.draw(st.integers(low, info.n_values))
        weight = bench.oracle.weight_of(info.name)
        expected = weight * bench.oracle.column_loss(i, {low, high})
        assert box_loss(views, i, low, high) == pytest.approx(expected, abs=NEAR)
    for row in bench.part:
        record = np.array([*row.codes, *row.sensitive, row.count, row.number])
        assert worth_of(views, record, record.size - 2) == bench.oracle.worth(row)


@pytest.mark.twin("engine.search.class_loss")
@FEW
@given(search_benches(with_rules=False), st.data())
def test_a_class_loses_what_the_definition_says_also_without_a_record(
    bench: SearchBench, draw: st.DataObject
) -> None:
    gone = draw.draw(st.integers(-1, len(bench.part) - 1))
    place = bench.start + gone if gone >= 0 else -1
    left = [row for i, row in enumerate(bench.part) if i != gone]
    losses = compiled("engine.search.class_loss")
    if left:
        lost = losses.class_loss(
            bench.buffers, bench.workspace, bench.start, bench.stop, place
        )
        assert lost == near(loss_per_row(bench, left), left)
    worth = losses.worth_between(
        *(bench.buffers, inside(bench.workspace).objective),
        *(bench.start, bench.stop, bench.rows),
    )
    assert worth == sum(bench.oracle.worth(row) for row in bench.part)
    found = np.empty(1)
    starts, stops = np.array([bench.start]), np.array([bench.stop])
    class_losses(bench.buffers, bench.workspace, starts, stops, found)
    assert found[0] == near(loss_per_row(bench, bench.part), bench.part)
    assert not inside(bench.workspace).side.any()


# groups


def grouped(bench: SearchBench, column: int) -> int:
    """Group the partition by one column; how many groups that makes."""
    groups = compiled("engine.search.code_groups")
    arguments = (bench.buffers, bench.workspace, column, bench.start, bench.stop)
    codes = {row.codes[column] for row in bench.part}
    assert bool(groups.find_span(*arguments)) == (len(codes) > 1)
    n: int = groups.group_records(*arguments)
    groups.weigh_groups(bench.buffers, bench.workspace, n)
    held = inside(bench.workspace)
    held.start, held.stop, held.n_groups = bench.start, bench.stop, n
    return n


@pytest.mark.twin("engine.search.code_groups")
@FEW
@given(bench=search_benches(with_rules=False), by_counting=st.booleans())
def test_groups_hold_the_records_by_code(
    bench: SearchBench, *, by_counting: bool
) -> None:
    for column in bench.columns:
        n = grouped(bench, column)
        if by_counting:
            compiled("engine.search.code_groups").count_positions(
                *(bench.buffers, bench.workspace, column, bench.start, bench.stop)
            )
        found = bench.workspace.group_array[:n]
        codes = codes_of(bench.part, column)
        assert found["code"].tolist() == sorted(set(codes))
        keys = inside(bench.buffers).keys
        for group in found:
            inner = [row for row in bench.part if row.codes[column] == group["code"]]
            assert group["rows"] == n_rows(inner)
            assert group["worth"] == sum(bench.oracle.worth(row) for row in inner)
            records = keys[group["first"] : group["first"] + group["n"]]
            numbers = bench.buffers.array[records, -1].tolist()
            assert numbers == [row.number for row in inner]
        assert not inside(bench.workspace).histogram.any()


@pytest.mark.twin("engine.search.code_groups")
@FEW
@given(search_benches(with_rules=False), st.data())
def test_pairs_of_codes_are_counted_with_their_worth(
    bench: SearchBench, draw: st.DataObject
) -> None:
    groups, buffers = compiled("engine.search.code_groups"), bench.buffers
    column = draw.draw(st.sampled_from(bench.columns))
    other = draw.draw(st.sampled_from(bench.columns))
    groups.find_span(buffers, bench.workspace, other, bench.start, bench.stop)
    n = grouped(bench, column)

    groups.load_pairs(buffers, bench.workspace, column, other)

    held = inside(buffers)
    for group in bench.workspace.group_array[:n]:
        pairs: Counter[int] = Counter()
        for i in range(group["begin"], group["end"]):
            pairs[int(held.codes[i])] += int(held.worth[i])
        expected: Counter[int] = Counter()
        for row in bench.part:
            if row.codes[column] == group["code"]:
                expected[row.codes[other]] += bench.oracle.worth(row)
        assert pairs == expected
    assert not inside(bench.workspace).joint.any()
    check_boxes(bench, column, other, n)


def check_boxes(bench: SearchBench, column: int, other: int, n: int) -> None:
    """Compare the boxes and sums of groups, and those of all before and after."""
    groups, buffers = compiled("engine.search.code_groups"), bench.buffers
    is_number = bench.oracle.kind(other) == "number"
    if is_number:
        groups.sum_groups(buffers, bench.workspace, other)
    else:
        groups.box_groups(buffers, bench.workspace)
    groups.bound_groups(bench.workspace, n)
    inner = [
        [row for row in bench.part if row.codes[column] == code]
        for code in sorted(set(codes_of(bench.part, column)))
    ]
    for i, part in enumerate(inner):
        group = bench.workspace.group_array[i]
        codes = [row.codes[other] for row in part]
        assert (group["low"], group["high"]) == (min(codes), max(codes))
        after = [row.codes[other] for later in inner[i:] for row in later]
        assert (group["low_after"], group["high_after"]) == (min(after), max(after))
        before = [row.codes[other] for earlier in inner[:i] for row in earlier]
        if before:
            found = (group["low_before"], group["high_before"])
            assert found == (min(before), max(before))
        else:
            assert group["low_before"] > group["high_before"]
        if is_number:
            levels = [bench.oracle.level(other, code) for code in codes]
            worth = [bench.oracle.worth(row) for row in part]
            sums = np.array(
                [[a * b, a * a * b] for a, b in zip(levels, worth, strict=True)]
            )
            found = (bench.workspace.level_array[i], bench.workspace.square_array[i])
            assert found == tuple(sums.sum(axis=0))


@pytest.mark.twin("engine.search.code_groups")
@FEW
@given(search_benches(with_rules=False))
def test_groups_are_ordered_by_falling_rows(bench: SearchBench) -> None:
    for column in bench.columns:
        n = grouped(bench, column)

        compiled("engine.search.code_groups").order_by_rows(
            bench.buffers, bench.workspace, bench.start, n
        )

        counts = Counter(codes_of(bench.part, column))
        order = sorted(counts, key=lambda code, n=counts: (-n[code], code))  # type: ignore[misc]
        found = bench.workspace.group_array[:n]
        assert found["code"].tolist() == order


# blocks


def leaves_of(bench: SearchBench, nodes: Any, records: Any) -> list[Part]:
    """The classes of a solved block."""
    return [
        bench.part_of(records[node["start"] : node["stop"]])
        for node in nodes
        if node["kind"] == CLASS
    ]


def solvable(bench: SearchBench) -> bool:
    """Whether the partition is a class, as partitions of a search are."""
    return bench.oracle.admits(bench.part)


@pytest.mark.twin("engine.search.blocks")
@FEW
@given(search_benches(), st.sampled_from([0.0, 2.0]))
def test_every_cut_of_a_block_gains_as_much_as_any(
    bench: SearchBench, beta: float
) -> None:
    assume(solvable(bench))
    block, oracle = bench.block(), bench.oracle
    inside(block).beta = beta

    compiled("engine.search.blocks").grow_block(
        block, bench.workspace, len(bench.part), bench.rows
    )

    nodes = inside(block).nodes[: inside(block).n_nodes]
    records = block_records(block)
    for node in nodes:
        part = bench.part_of(records[node["start"] : node["stop"]])
        assert oracle.admits(part)
        weight = oracle.weight(part, beta)
        choices = oracle.best(part, weight)
        if node["kind"] == CLASS:
            assert not choices or choices[0].gain <= 1e-6 * max(1, n_rows(part))
            continue
        children = nodes[node["first_child"] :][:2]
        sides = [bench.part_of(records[x["start"] : x["stop"]]) for x in children]
        lost = sum(oracle.cost(side, weight) for side in sides)
        gain = oracle.cost(part, weight) - lost
        assert gain == pytest.approx(choices[0].gain, abs=1e-6 * max(1, n_rows(part)))
        for side, child in zip(sides, children, strict=True):
            codes = [row.codes[node["column"]] for row in side]
            if child["low"] >= 0:
                assert (child["low"], child["high"]) == (min(codes), max(codes))
    leaves = [row for part in leaves_of(bench, nodes, records) for row in part]
    assert rows_by_tuple(leaves) == rows_by_tuple(bench.part)


def block_records(block: Any) -> Any:
    return inside(block).main.array


@pytest.mark.twin("engine.search.blocks")
@FEW
@given(bench=search_benches(), tries_cuts=st.booleans())
def test_what_greedy_cuts_lose_is_what_their_classes_lose(
    bench: SearchBench, *, tries_cuts: bool
) -> None:
    assume(solvable(bench))
    blocks, block = compiled("engine.search.blocks"), bench.block()
    n, held = len(bench.part), inside(block)
    held.trial.array[:n] = held.main.array[:n]
    depth = blocks.push(block, 0, 0, n, bench.rows, 0)
    greedy = blocks.greedy_loss(block, bench.workspace, depth, 0, 1e300)
    held.tries_cuts = int(tries_cuts)

    blocks.grow_block(block, bench.workspace, n, bench.rows)

    leaves = leaves_of(bench, held.nodes[: held.n_nodes], held.main.array)
    lost = sum(bench.oracle.loss(part) for part in leaves)
    if tries_cuts:
        return  # other cuts; each of them is tried greedily to its end
    assert lost == near(greedy, bench.part)


@pytest.mark.twin("engine.search.blocks")
@FEW
@given(search_benches(with_rules=False), st.data())
def test_marked_records_move_to_the_front_in_their_order(
    bench: SearchBench, draw: st.DataObject
) -> None:
    flags = [draw.draw(st.booleans()) for _ in bench.part]
    inside(bench.buffers).ranks[bench.start : bench.stop] = flags
    before = bench.buffers.array.copy()

    end = compiled("engine.search.blocks").move_marked(
        bench.buffers, bench.start, bench.stop
    )

    part = before[bench.start : bench.stop]
    chosen = np.array(flags)
    before[bench.start : bench.stop] = np.concatenate([part[chosen], part[~chosen]])
    assert bench.buffers.array.tolist() == before.tolist()
    assert end == bench.start + sum(flags)


# cuts between equal rows


def losses_of_places(bench: SearchBench) -> list[float]:
    """What is lost by cutting the partition after any number of rows, in any order."""
    k, found = bench.oracle.k, []
    for column in bench.columns:
        if len({row.codes[column] for row in bench.part}) == 1:
            continue
        ordered = sorted(bench.part, key=lambda row, c=column: row.codes[c])  # type: ignore[misc]
        for taken in range(k, bench.rows - k + 1):
            sides: tuple[Part, Part] = ([], [])
            seen = 0
            for row in ordered:
                left = max(0, min(row.count, taken - seen))
                for side, n in zip(sides, (left, row.count - left), strict=True):
                    if n:
                        side.append(_with_count(row, n))
                seen += row.count
            if all(bench.oracle.admits(side) for side in sides):
                found.append(sum(bench.oracle.loss(side) for side in sides))
    return found


def _with_count(row: Any, n: int) -> Any:
    return type(row)(row.number, row.codes, row.sensitive, n)


@pytest.mark.twin("engine.search.tie_splitting")
@FEW
@given(search_benches())
def test_no_place_between_rows_loses_less_than_the_one_found(
    bench: SearchBench,
) -> None:
    assume(solvable(bench) and bench.rows <= 60)
    block, n = bench.block(), len(bench.part)
    held, best = inside(block), bench.oracle.n_columns
    held.trial.array[:n] = held.main.array[:n]

    column = compiled("engine.search.tie_splitting").find_place(
        block, bench.workspace, 0, n, bench.rows
    )

    places = losses_of_places(bench)
    whole = bench.oracle.loss(bench.part)
    lost = float(bench.workspace.found_array["loss"][best])
    least = min([whole, *places])
    if column >= 0:
        assert lost == near(least, bench.part)
        assert any(lost == near(one, bench.part) for one in places)
    elif bench.workspace.n_active:
        # Inside a record only the outermost places are tried: models may forbid both.
        assert least == near(whole, bench.part) or len(bench.oracle.spec.models) > 1


@pytest.mark.twin("engine.search.tie_splitting")
@FEW
@given(search_benches())
def test_pieces_of_a_class_are_classes_of_all_its_rows(bench: SearchBench) -> None:
    assume(solvable(bench))
    block, n = bench.block(), len(bench.part)
    held = inside(block)
    node = held.nodes[0] if IS_PLAIN else held.nodes[:1]
    compiled("engine.nodes").add_node(node, 0, -1, 0, n, bench.rows)
    held.n_nodes, held.n_records = 1, 0

    compiled("engine.search.tie_splitting").split_ties(block, bench.workspace, 0)

    pieces = leaves_of(bench, held.nodes[: held.n_nodes], held.out)
    assert rows_by_tuple([row for part in pieces for row in part]) == rows_by_tuple(
        bench.part
    )
    assert all(bench.oracle.admits(part) for part in pieces)
    lost = sum(bench.oracle.loss(part) for part in pieces)
    assert lost <= bench.oracle.loss(bench.part) + 1e-6 * bench.rows


@pytest.mark.twin("engine.search.block_solving")
@FEW
@given(bench=search_benches(), splits_ties=st.booleans(), tries_cuts=st.booleans())
def test_a_solved_block_is_classes_of_all_its_rows(
    bench: SearchBench, *, splits_ties: bool, tries_cuts: bool
) -> None:
    assume(solvable(bench))
    plain, block = bench.block(), bench.block()
    solve = compiled("engine.search.block_solving").solve_block
    losses = []
    for one, ways in ((plain, (0, 0)), (block, (int(splits_ties), int(tries_cuts)))):
        inside(one).splits_ties, inside(one).tries_cuts = ways

        solve(one, bench.workspace, len(bench.part), bench.rows)

        held = inside(one)
        records = held.main.array[: held.n_records]
        classes = leaves_of(bench, held.nodes[: held.n_nodes], records)
        every = [row for part in classes for row in part]
        assert rows_by_tuple(every) == rows_by_tuple(bench.part)
        assert all(bench.oracle.admits(part) for part in classes)
        losses.append(sum(bench.oracle.loss(part) for part in classes))
    if splits_ties and not tries_cuts:
        assert losses[1] <= losses[0] + 1e-6 * bench.rows


# regrouping and annealing


def class_set(
    bench: SearchBench, block: Any, n_nodes: int, lanes: Lanes | None = None
) -> ClassSet:
    """The classes of a block, ready to exchange records."""
    room, width = block_records(block).shape
    objective = bench.objective
    found = ClassSet(
        2 * room + 4, n_nodes + 4, width, objective, anneals=True, lanes=lanes
    )
    inside(block).pool_room = 2 * room + 4
    compiled("engine.search.regrouping").fill_pool(
        found, block, inside(bench.workspace).objective
    )
    return found


def classes_in(bench: SearchBench, pool: ClassSet) -> list[Part]:
    """The classes of a set, by following their chains."""
    held, found = inside(pool), []
    for number in range(held.n_classes):
        places, i = [], int(held.classes["head"][number])
        while i >= 0 and held.classes["rows"][number] > 0:
            places.append(i)
            i = int(held.next[i])
        if places:
            assert held.classes["n"][number] == len(places)
            found.append(bench.part_of(held.records[places]))
            assert held.classes["rows"][number] == n_rows(found[-1])
            lost = loss_per_row(bench, found[-1])
            assert held.classes["loss"][number] == near(lost, found[-1])
    return found


@st.composite
def pools(draw: Any) -> tuple[SearchBench, Any, ClassSet]:
    """A block cut into classes, and the same as a set of classes."""
    bench = draw(search_benches())
    assume(solvable(bench))
    block = bench.block()
    compiled("engine.search.block_solving").solve_block(
        block, bench.workspace, len(bench.part), bench.rows
    )
    lanes = build_lanes(bench.objective) if draw(st.booleans()) else None
    return bench, block, class_set(bench, block, 2 * len(bench.part) + 2, lanes)


@pytest.mark.twin("engine.search.regrouping")
@FEW
@given(st.integers(0, 2**63 - 1), st.integers(0, 1000))
def test_bits_and_words_are_counted(word: int, n_codes: int) -> None:
    regrouping = compiled("engine.search.regrouping")
    assert regrouping.count_bits(word) == word.bit_count()
    assert regrouping.n_words(n_codes) == -(-n_codes // 63)


@pytest.mark.twin("engine.search.regrouping")
@FEW
@given(pools(), st.data())
def test_losses_of_changed_classes_are_those_of_the_changed_classes(
    pooled: tuple[SearchBench, Any, ClassSet], draw: st.DataObject
) -> None:
    bench, _, pool = pooled
    regrouping, exchanges = (
        compiled("engine.search.regrouping"),
        compiled("engine.search.exchanges"),
    )
    held, views = inside(pool), inside(bench.workspace).objective
    parts = classes_in(bench, pool)
    a = draw.draw(st.integers(0, len(parts) - 1))
    b = draw.draw(st.integers(0, len(parts) - 1))
    both = [*parts[a], *parts[b]]
    union = regrouping.union_loss(pool, views, a, b, 1e300)
    assert union == near(loss_per_row(bench, both), both)
    if len(parts[a]) > 1:
        gone = int(held.classes["head"][a])
        others = parts[a][1:]
        found = regrouping.loss_without(pool, views, a, gone)
        assert found == near(loss_per_row(bench, others), others)
        swapped = exchanges.loss_after(
            pool, views, a, gone, int(held.classes["head"][b])
        )
        left = [*others, parts[b][0]]
        assert swapped == near(loss_per_row(bench, left), left)
    new = int(held.classes["head"][b])
    more = [*parts[a], parts[b][0]]
    found = regrouping.loss_with(pool, views, a, new, 1e300)
    assert found == near(loss_per_row(bench, more), more)
    for column in bench.columns:
        if bench.oracle.kind(column) == "set":
            codes = {row.codes[column] for row in parts[a]}
            for code in range(bench.oracle.table.columns[column].n_values):
                has = regrouping.has_value(pool, views, column, a, code)
                assert bool(has) == (code in codes)


@pytest.mark.twin("engine.search.regrouping")
@FEW
@given(pools())
def test_regrouping_loses_less_and_no_row(
    pooled: tuple[SearchBench, Any, ClassSet],
) -> None:
    bench, block, pool = pooled
    before = sum(bench.oracle.loss(part) for part in classes_in(bench, pool))

    has_changed = compiled("engine.search.regrouping").regroup(
        pool, block, bench.workspace, 4, 6
    )

    check_classes(bench, pool, before, has_changed=bool(has_changed))


def check_classes(
    bench: SearchBench, pool: ClassSet, before: float, *, has_changed: bool
) -> None:
    """Classes of all rows that pass the models, and lose less if they have changed."""
    parts = classes_in(bench, pool)
    assert rows_by_tuple([row for part in parts for row in part]) == rows_by_tuple(
        bench.part
    )
    assert all(bench.oracle.admits(part) for part in parts)
    lost = sum(bench.oracle.loss(part) for part in parts)
    if has_changed:
        assert lost < before
    else:
        assert lost == near(before, bench.part)


@pytest.mark.twin("engine.search.annealing")
@FEW
@given(pools(), st.sampled_from([1, 20, 200]))
def test_annealing_keeps_only_what_loses_less(
    pooled: tuple[SearchBench, Any, ClassSet], sweeps: int
) -> None:
    bench, _, pool = pooled
    before = sum(bench.oracle.loss(part) for part in classes_in(bench, pool))
    inside(pool).lot = 2463534242

    is_better = compiled("engine.search.annealing").anneal(
        pool, bench.workspace, sweeps
    )

    check_classes(bench, pool, before, has_changed=bool(is_better))


@pytest.mark.twin("engine.search.annealing")
@FEW
@given(pools(), st.integers(1, 2**31 - 1), st.sampled_from([0.0, 1e300]))
def test_steps_change_classes_or_leave_them_as_they_were(
    pooled: tuple[SearchBench, Any, ClassSet], seed: int, heat: float
) -> None:
    """Whatever a step may cost: no row is lost, and all classes pass the models."""
    bench, _, pool = pooled
    annealing, held = compiled("engine.search.annealing"), inside(pool)
    lost = [sum(bench.oracle.loss(part) for part in classes_in(bench, pool))]
    held.lot = seed
    annealing.number_tuples(pool)
    annealing.find_alike(pool, inside(bench.workspace).objective)
    for _ in range(8):
        n_members = annealing.list_members(pool)
        if n_members == 0:
            break
        has_changed = annealing.change(pool, bench.workspace, n_members, heat)
        parts = classes_in(bench, pool)
        lost.append(sum(bench.oracle.loss(part) for part in parts))
        assert all(bench.oracle.admits(part) for part in parts)
        every = [row for part in parts for row in part]
        assert rows_by_tuple(every) == rows_by_tuple(bench.part)
        if not has_changed:
            assert lost[-1] == near(lost[-2], bench.part)
        elif heat == 0.0:
            assert lost[-1] < lost[-2]
        check_links(pool)


def check_links(pool: ClassSet) -> None:
    """Every record is linked to those of its tuple, and knows its class."""
    held = inside(pool)
    tuple_of, owner = held.tuple_of, held.owner
    expected: dict[int, set[int]] = {}
    for number in range(held.n_classes):
        i = int(held.classes["head"][number]) if held.classes["rows"][number] else -1
        while i >= 0:
            assert owner[i] == number
            expected.setdefault(int(tuple_of[i]), set()).add(i)
            i = int(held.next[i])
    for number in range(held.n_tuples):
        places, i = [], int(held.of[number])
        while i >= 0:
            places.append(i)
            i = int(held.after[i])
        assert set(places) == expected.get(number, set())
        assert len(places) == held.n_of[number]


@pytest.mark.twin("engine.search.annealing")
@FEW
@given(pools())
def test_tuples_alike_lose_least_together(
    pooled: tuple[SearchBench, Any, ClassSet],
) -> None:
    bench, _, pool = pooled
    annealing, held = compiled("engine.search.annealing"), inside(pool)
    annealing.number_tuples(pool)
    annealing.find_alike(pool, inside(bench.workspace).objective)
    tuples = [bench.part_of(held.records[[i]])[0] for i in held.of[: held.n_tuples]]

    for number, one in enumerate(tuples):
        others = [x for at, x in enumerate(tuples) if at != number]
        together = sorted(loss_per_row(bench, [one, x]) for x in others)
        listed = held.alike[number * 24 : number * 24 + 24].tolist()
        known = [at for at in listed if at >= 0]
        assert number not in known
        assert len(set(known)) == len(known) == min(24, len(others))
        found = [loss_per_row(bench, [one, tuples[at]]) for at in known]
        assert found == pytest.approx(together[:24], abs=1e-9)


@pytest.mark.twin("engine.search.annealing")
@FEW
@given(pools(), st.integers(1, 2**31 - 1))
def test_lots_are_as_large_as_logarithms_say(
    pooled: tuple[SearchBench, Any, ClassSet], seed: int
) -> None:
    _, _, pool = pooled
    inside(pool).lot = seed
    share = (1 + compiled("engine.search.exchanges").draw(pool, 2**20)) / 2**20
    inside(pool).lot = seed

    lot = compiled("engine.search.annealing").lot_below(pool, 2.0)

    assert lot == pytest.approx(-2.0 * math.log(share), rel=1e-4, abs=1e-9)


@pytest.mark.twin("engine.search.exchanges")
@FEW
@given(pools(), st.integers(1, 2**31 - 1), st.integers(1, 500))
def test_lots_are_those_of_the_generator(
    pooled: tuple[SearchBench, Any, ClassSet], seed: int, n: int
) -> None:
    _, _, pool = pooled
    inside(pool).lot = seed
    lot = seed
    for _ in range(5):
        lot ^= lot << 13 & 0xFFFFFFFF
        lot ^= lot >> 17
        lot ^= lot << 5 & 0xFFFFFFFF
        assert compiled("engine.search.exchanges").draw(pool, n) == lot * n // 2**32


# suppression


@pytest.mark.twin("engine.search.suppression")
@FEW
@given(search_benches(), st.sampled_from([0.0, 0.1, 1.0, 3.0]))
def test_the_record_that_saves_most_is_offered(
    bench: SearchBench, price: float
) -> None:
    assume(solvable(bench))
    scan = OutlierScan(bench.buffers, bench.workspace, price)
    ends = [
        np.array([x], dtype=np.int64) for x in (bench.start, bench.stop, bench.rows)
    ]
    scan.set_classes(*ends)
    saved, taken = np.zeros(1), np.zeros(1, dtype=np.int64)

    scan.find_outliers(np.array([True]), saved, taken)

    oracle, rows = bench.oracle, bench.rows
    worth = sum(oracle.worth(row) for row in bench.part)
    lost = oracle.loss(bench.part)
    offers = {-1: max(lost - price * worth, 0.0) / rows}
    for i, row in enumerate(bench.part):
        others = [*bench.part[:i], *bench.part[i + 1 :]]
        if others and lost > 0 and oracle.admits(others):
            gain = lost - oracle.loss(others) - price * oracle.worth(row)
            offers[bench.start + i] = gain / row.count
    best = max(offers.values())
    assert saved[0] == pytest.approx(max(best, 0.0), abs=1e-6 * max(1.0, worth))
    assert offers[int(taken[0])] == pytest.approx(saved[0], abs=1e-6 * max(1.0, worth))


# the workspace and the search as a whole


@pytest.mark.twin("engine.search.workspace")
@FEW
@given(search_benches(), st.data())
def test_a_workspace_holds_the_objective_and_room(
    bench: SearchBench, draw: st.DataObject
) -> None:
    held, columns = inside(bench.workspace), list(bench.columns)
    wanted = draw.draw(st.none() | st.lists(st.sampled_from(columns)))

    bench.workspace.set_wanted(wanted)

    flags = [int(wanted is None or i in wanted) for i in columns]
    assert held.wanted.tolist() == flags
    kinds = inside(held.objective).info["kind"].tolist()
    by_kind = {"number": RANGE, "set": VALUE_SET}
    for i, kind in enumerate(kinds):
        expected = by_kind.get(bench.oracle.kind(i))
        assert expected is None or expected == kind
    assert held.found.size == len(columns) + 1
    assert not held.joint.any()
    bench.workspace.set_wanted(None)
    compiled("engine.search.tie_splitting").find_active(
        bench.with_trial(), bench.workspace, 0, len(bench.part)
    )
    active = [i for i in columns if len({row.codes[i] for row in bench.part}) > 1]
    assert bench.workspace.active_columns() == active


@pytest.mark.twin("engine.search.best_search")
@FEW
@given(
    bench=search_benches(),
    block_rows=st.integers(1, 12),
    relaxes=st.booleans(),
    sweeps=st.sampled_from([0, 1, 50]),
    clusters=st.booleans(),
)
def test_a_search_ends_in_classes_of_all_rows(
    bench: SearchBench, block_rows: int, sweeps: int, *, relaxes: bool, clusters: bool
) -> None:
    assume(bench.oracle.admits(bench.oracle.rows))
    n = len(bench.oracle.rows)
    settings = SearchSettings(
        Settings(
            effort="",
            beta=0.0,
            block_rows=block_rows,
            rolls_out=False,
            relaxes=relaxes,
            width=3,
            passes=3,
            sweeps=sweeps,
            clusters=clusters
            and bool(inside(inside(bench.workspace).rules).is_monotone),
        )
    )
    nodes = fields(2 * n, NODE)
    nodes["rows"][0], nodes["stop"][0] = n_rows(bench.oracle.rows), n
    nodes["parent"][0] = -1
    scratch = np.zeros(2 * n, dtype=np.int32)
    parts = (bench.buffers, bench.workspace, settings)

    n_nodes = cut_to_blocks(*parts, nodes, scratch, LARGE)

    leaves = nodes[:n_nodes][nodes["kind"][:n_nodes] == CLASS]
    least = max(block_rows, 2 * bench.oracle.k)
    for leaf in leaves:
        part = bench.part_of(bench.buffers.array[leaf["start"] : leaf["stop"]])
        assert bench.oracle.admits(part)
        gains = [choice.gain for choice in bench.oracle.best(part, 0.0)]
        assert (
            n_rows(part) < least
            or len(part) == 1
            or max([0, *gains]) < 1e-6 * n_rows(part)
        )
    assert sum(leaf["rows"] for leaf in leaves) == nodes["rows"][0]
    check_blocks(bench, settings, leaves)


def check_blocks(bench: SearchBench, settings: Any, leaves: Any) -> None:
    """Solve the blocks, and compare rows and models with the whole table."""
    spans = np.zeros((len(leaves), 6), dtype=np.int64)
    sizes = leaves["stop"] - leaves["start"]
    spans[:, 0], spans[:, 1], spans[:, 2] = (
        leaves["start"],
        leaves["stop"],
        leaves["rows"],
    )
    spans[:, 3] = spans[:, 4] = 2 * sizes + 4
    width = bench.buffers.array.shape[1]
    solved = SolvedBlocks(spans, int(spans[:, 4].sum()), width)
    room = int(spans[:, 3].max())
    block = type(bench.block())(room, width, bench.oracle.n_columns)
    pool = ClassSet(
        *(2 * room + 4, 2 * room + 4, width, bench.objective),
        anneals=True,
        lanes=build_lanes(bench.objective),
    )
    solve_blocks(bench.buffers, bench.workspace, settings, block, pool, solved)
    nodes, records, edges = solved.finish()
    classes = leaves_of(bench, nodes, records)
    every = [row for part in classes for row in part]
    assert rows_by_tuple(every) == rows_by_tuple(bench.oracle.rows)
    assert all(bench.oracle.admits(part) for part in classes)
    assert edges[-1].tolist() == [len(nodes), len(records)]
    for first, leaf in zip(edges[:-1, 0], leaves, strict=True):
        assert nodes["rows"][first] == leaf["rows"]


@pytest.mark.twin("engine.search.best_search")
@FEW
@given(search_benches(with_rules=False), st.data())
def test_the_column_that_gains_most_is_cut(
    bench: SearchBench, draw: st.DataObject
) -> None:
    gains = [draw.draw(st.sampled_from([0.0, 0.5, 1.0, 7.5])) for _ in bench.columns]
    rows = [draw.draw(st.integers(0, 2)) for _ in bench.columns]
    found = bench.workspace.found_array
    found["gain"][:-1], found["rows"][:-1] = gains, rows

    best = compiled("engine.search.best_search").best_scored(bench.workspace)

    open_ = [i for i in bench.columns if rows[i] and gains[i]]
    if not open_:
        assert best == -1
    else:
        assert gains[best] == max(gains[i] for i in open_)
