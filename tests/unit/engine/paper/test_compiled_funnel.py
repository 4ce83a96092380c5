"""Compiled functions of the paper's funnel, one by one, next to the oracle's."""

import ctypes
import math
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import Cut, Node, Piece, at_rank, codes_of, n_rows, samples
from support.compiled import compiled, inside
from support.engine_parts import FEW, FunnelBench, funnel_bench, funnel_benches
from support.plain_engine import IS_PLAIN

from core_mondrian import KAnonymity, OriginalPolicy, PaperPolicy, Spec
from core_mondrian.engine.layout import (
    ABANDONED,
    ACCEPTED,
    CLASS,
    CONSIDERED,
    CUT,
    EXAMINED,
    FAILS,
    FINAL,
    KEEP_BOTH,
    LOSE_LEFT,
    LOSE_RIGHT,
    MAY_PASS,
    NODE,
    PASSES,
    POOLED,
    PROPOSED,
    TOPPED_UP,
    fields,
)
from core_mondrian.engine.paper.breakout import breakout_thresholds
from core_mondrian.engine.paper.growth import cut_once, cut_partition
from core_mondrian.engine.paper.strategy import strategy_of

VERDICTS = {"fails": FAILS, "passes": PASSES, "open": MAY_PASS}
LARGE = 2**40


def look_at_any(bench: FunnelBench, draw: st.DataObject, kind: str) -> int | None:
    """Open one of the columns of a kind that the partition is not constant in."""
    kinds = [i for i in bench.columns if bench.oracle.columns[i].kind == kind]
    if not kinds:
        return None
    column: int = draw.draw(st.sampled_from(kinds))
    bench.look_at(column)
    return column


def shape_of(cut: Cut) -> tuple[int, int, int]:
    return (cut.column, cut.at, cut.loss)


# the workspace and the columns


@pytest.mark.twin("engine.paper.workspace")
@FEW
@given(funnel_benches(), st.data())
def test_a_workspace_holds_the_policy_and_the_partition(
    bench: FunnelBench, draw: st.DataObject
) -> None:
    paper, seen, n_rows_ = bench.oracle.paper, bench.seen, bench.oracle.table.n_rows

    column = draw.draw(st.integers(0, len(bench.oracle.columns) - 1))
    bench.open()
    opener = compiled("engine.paper.workspace")
    opener.open_column(bench.work, column, bench.start, bench.stop)

    assert (seen.column, seen.start, seen.stop) == (column, bench.start, bench.stop)
    assert seen.rows == n_rows(bench.part)
    assert seen.epsilon == (
        math.inf if paper.rilm_epsilon is None else paper.rilm_epsilon
    )
    assert seen.compete_rows == int(paper.compete_above * n_rows_)
    assert seen.bin_rows == int(paper.bin_edges_above * n_rows_)
    assert bool(seen.use_median) == ("median" in paper.cut_points)
    assert bool(seen.use_lossless) == ("lossless" in paper.cut_points)
    assert bool(seen.spends_inline) == (paper.spend == "as-written")
    assert seen.rows_at == bench.tuples.records.shape[1] - 2
    assert seen.box.size == seen.choices.size == len(bench.oracle.columns)
    assert seen.histogram.any() == np.False_


@pytest.mark.twin("engine.paper.code_runs")
@FEW
@given(funnel_benches())
def test_runs_are_the_codes_with_their_rows(bench: FunnelBench) -> None:
    runs = compiled("engine.paper.code_runs")
    by_counting = runs.runs_by_counting
    for column, _ in enumerate(bench.oracle.columns):
        bench.look_at(column)
        counts = Counter(codes_of(bench.part, column))
        box = bench.seen.box[column]
        assert (box["low"], box["high"]) == (min(counts), max(counts))
        for find, *way in ((runs.find_runs, 0), (runs.find_runs, 1), (by_counting,)):
            find(bench.work, *way)

            n = bench.seen.n_runs
            found = bench.seen.runs[bench.start : bench.start + n]
            pairs = zip(found["code"].tolist(), found["rows"].tolist(), strict=True)
            assert list(pairs) == sorted(counts.items())
        assert not bench.seen.histogram.any()
        runs.find_runs(bench.work, 1)
        keys = bench.seen.keys[bench.start : bench.stop].tolist()
        codes = [one.codes[column] for one in bench.part]
        places = range(len(codes))
        order = sorted(places, key=lambda i, codes=codes: (codes[i], i))  # type: ignore[misc]
        assert [key & 0xFFFFFFFF for key in keys] == order


@pytest.mark.twin("engine.paper.column_ranking")
@FEW
@given(funnel_benches(), st.data())
def test_rilm_and_width_are_those_of_the_definitions(
    bench: FunnelBench, draw: st.DataObject
) -> None:
    ranking, views = compiled("engine.paper.column_ranking"), bench.seen.columns
    for i, info in enumerate(bench.oracle.columns):
        if not info.n_values:
            continue
        low = draw.draw(st.integers(0, info.n_values - 1))
        high = draw.draw(st.integers(low, info.n_values))
        if low < high:  # what is ranked; else there is nothing to cut
            assert ranking.rilm(views, i, low, high) == bench.oracle.rilm(i, low, high)
            width = bench.oracle.width(i, low, high)
            assert ranking.normalized_width(views, i, low, high) == width


@pytest.mark.twin("engine.paper.column_ranking")
@FEW
@given(funnel_benches())
def test_columns_are_ranked_as_the_oracle_ranks_them(bench: FunnelBench) -> None:
    bench.open()

    n = compiled("engine.paper.column_ranking").rank_choices(bench.work)

    found = bench.seen.choices[:n]
    pairs = zip(found["score"].tolist(), found["column"].tolist(), strict=True)
    assert list(pairs) == bench.oracle.choices(bench.part)


@pytest.mark.twin("engine.paper.breakout")
@FEW
@given(funnel_benches(), st.floats(0, 1))
def test_a_column_is_good_enough_where_the_oracle_says_so(
    bench: FunnelBench, score: float
) -> None:
    is_good = compiled("engine.paper.breakout").is_good_enough
    views, oracle = bench.seen.columns, bench.oracle
    enough = breakout_thresholds(oracle.table, oracle.spec, oracle.paper)
    for i, _ in enumerate(oracle.columns):
        edge = min(float(enough[i]), 2.0)  # infinite where there is no breakout
        for one in (score, edge, edge * (1 - 1e-6), edge * (1 - 1e-4) - 1e-7):
            assert bool(is_good(views, i, one)) == oracle.is_enough(i, one)


# proposals


@pytest.mark.twin("engine.paper.proposals")
@FEW
@given(funnel_benches(), st.data())
def test_cuts_of_numbers_are_those_of_the_oracle(
    bench: FunnelBench, draw: st.DataObject
) -> None:
    column = look_at_any(bench, draw, "number")
    if column is None:
        return

    compiled("engine.paper.proposals").propose_numbers(bench.work)

    expected = bench.oracle.proposals(bench.part, column)
    assert bench.proposed() == [shape_of(cut) for cut in expected]
    lost = {(0, 1): LOSE_RIGHT, (1, 0): LOSE_LEFT, (0, 0): KEEP_BOTH}
    for found, cut in zip(bench.seen.proposals, expected, strict=False):
        sides = tuple(int(piece.verdict == "lost") for piece in cut.pieces)
        assert found["variant"] == lost[sides]


@pytest.mark.twin("engine.paper.proposals")
@FEW
@given(funnel_benches(), st.data())
def test_ranks_and_medians_count_rows(bench: FunnelBench, draw: st.DataObject) -> None:
    column = look_at_any(bench, draw, "number")
    if column is None:
        return
    proposals = compiled("engine.paper.proposals")
    compiled("engine.paper.code_runs").find_runs(bench.work, 0)
    codes = codes_of(bench.part, column)
    run = proposals.median_run(bench.work)
    assert sorted(set(codes))[run] == codes[(len(codes) - 1) // 2]
    info = bench.oracle.columns[column]
    if codes[-1] == info.n_values:
        return
    values = [float(info.values[code]) for code in codes]
    for share in (0.0, 0.25, 0.75, 1.0, draw.draw(st.floats(0, 1))):
        rank = share * (len(values) - 1)
        assert proposals.value_at(bench.work, rank) == at_rank(values, rank)


@pytest.mark.twin("engine.paper.proposals")
@FEW
@given(bench=funnel_benches(), may_stay_open=st.booleans())
def test_a_part_is_judged_as_the_oracle_judges_it(
    bench: FunnelBench, *, may_stay_open: bool
) -> None:
    bench.open()
    judge, seen = compiled("engine.paper.proposals").judge_part, bench.seen

    verdict = judge(seen.rules, n_rows(bench.part), seen.whole, may_stay_open)

    expected = bench.oracle.judge(bench.part, may_stay_open=may_stay_open)
    assert verdict == VERDICTS[expected]


@pytest.mark.twin("engine.paper.category_parts")
@FEW
@given(funnel_benches(), st.data())
def test_cuts_of_categories_are_those_of_the_oracle(
    bench: FunnelBench, draw: st.DataObject
) -> None:
    column = look_at_any(bench, draw, "category")
    if column is None:
        return
    categories = compiled("engine.paper.category_parts")

    categories.propose_categories(bench.work)

    expected = bench.oracle.category_cuts(bench.part, column)
    assert bench.proposed() == [shape_of(cut) for cut in expected]
    for i, cut in enumerate(expected):
        variant = int(bench.seen.proposals["variant"][i])
        assert variant in (POOLED, TOPPED_UP)
        categories.form_proposed_parts(bench.work, i)
        check_parts(bench, [piece for piece in cut.pieces if piece.low >= 0])


def check_parts(bench: FunnelBench, alone: list[Piece]) -> None:
    """Compare the parts that are not pooled with those of a cut of the oracle's."""
    n = bench.seen.n_parts
    parts = bench.seen.parts[bench.start : bench.start + n]
    kept = parts[parts["state"] != FAILS]
    assert kept["low"].tolist() == [piece.low for piece in alone]
    assert kept["high"].tolist() == [piece.high for piece in alone]
    assert kept["rows"].tolist() == [n_rows(piece.part) for piece in alone]
    column = bench.seen.column
    modes = [
        Counter(codes_of(piece.part, column)).most_common(1)[0][1] for piece in alone
    ]
    assert kept["mode"].tolist() == modes
    states = [MAY_PASS if piece.verdict == "open" else PASSES for piece in alone]
    assert kept["state"].tolist() == states


@pytest.mark.twin("engine.paper.category_parts")
@FEW
@given(funnel_benches(), st.data())
def test_every_code_is_in_the_part_of_its_child(
    bench: FunnelBench, draw: st.DataObject
) -> None:
    column = look_at_any(bench, draw, "category")
    if column is None:
        return
    categories = compiled("engine.paper.category_parts")

    categories.form_parts(bench.work)

    pieces = bench.oracle.child_pieces(bench.part, column)
    parts = bench.seen.parts[bench.start : bench.start + bench.seen.n_parts]
    assert parts["state"].tolist() == [VERDICTS[piece.verdict] for piece in pieces]
    for number, piece in enumerate(pieces):
        for code in {one.codes[column] for one in piece.part}:
            assert categories.find_part(bench.work, code) == bench.start + number
    pooled = [n_rows(piece.part) for piece in pieces if piece.verdict == "fails"]
    assert categories.pool_rows(bench.work) == sum(pooled)
    assert categories.n_surviving(bench.work) == len(pieces) - len(pooled)


# scores


@pytest.mark.twin("engine.paper.scoring")
@FEW
@given(funnel_benches(), st.data())
def test_scores_are_those_of_the_oracle_to_the_last_bit(
    bench: FunnelBench, draw: st.DataObject
) -> None:
    for kind in ("number", "category"):
        column = look_at_any(bench, draw, kind)
        if column is None:
            continue
        if kind == "number":
            compiled("engine.paper.proposals").propose_numbers(bench.work)
        else:
            compiled("engine.paper.category_parts").propose_categories(bench.work)
        n = bench.seen.n_proposals

        compiled("engine.paper.scoring").score_proposals(bench.work, 0, n)

        cuts = bench.oracle.proposals(bench.part, column)
        scores = [bench.oracle.score(bench.part, cut) for cut in cuts]
        assert bench.seen.proposals["score"][:n].tolist() == scores


@pytest.mark.twin("engine.paper.scoring")
@FEW
@given(funnel_benches(), st.data())
def test_deviations_are_those_of_the_rows(
    bench: FunnelBench, draw: st.DataObject
) -> None:
    column = look_at_any(bench, draw, "number")
    if column is None:
        return
    scoring = compiled("engine.paper.scoring")
    compiled("engine.paper.code_runs").find_runs(bench.work, 0)
    info = bench.oracle.columns[column]
    present = [x for x in codes_of(bench.part, column) if x < info.n_values]
    deviation, n = scoring.standard_deviation(
        bench.work, bench.start, bench.start + bench.seen.n_runs
    )
    values = [float(info.values[code]) for code in present]
    assert n == len(values)
    expected = float(np.std(values)) if values else 0.0
    assert deviation == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.twin("engine.paper.scoring")
def test_scores_are_relative_and_bounded() -> None:
    scoring = compiled("engine.paper.scoring")

    assert [scoring.relative_score(x, 1.0) for x in (0.0, 0.5, 9.0)] == [-1, -0.5, 1]
    assert scoring.relative_score(1.0, 0.0) == 1.0
    for mode in (1, 4, 9):
        flags = [1] * mode + [0] * (9 - mode)
        assert scoring.mode_deviation(mode, 9) == pytest.approx(np.std(flags))


# the funnel


@pytest.mark.twin("engine.paper.funnel")
@FEW
@given(funnel_benches(), st.integers(0, 12), st.integers(0, 3))
def test_the_cut_found_is_the_oracles_at_every_attempt(
    bench: FunnelBench, budget: int, attempt: int
) -> None:
    bench.open(budget=budget)
    funnel = compiled("engine.paper.funnel")

    has_cut = funnel.find_cut(bench.work, 0, attempt)

    most = budget
    if bench.seen.is_inline and bench.oracle.paper.spend == "last-resort":
        most = 0
    assert funnel.spendable_rows(bench.work, 0) == most
    cut = next(islice(bench.oracle.cuts(bench.part, most), attempt, None), None)
    assert bool(has_cut) == (cut is not None)
    if cut is None:
        return
    chosen = bench.seen.chosen[0]
    assert (chosen["column"], chosen["cut_code"], chosen["loss"]) == shape_of(cut)
    assert chosen["score"] == cut.score
    if attempt:
        return  # what earlier attempts have counted is not counted again
    stages = {"examined": EXAMINED, "considered": CONSIDERED, "proposed": PROPOSED}
    stages |= {"final": FINAL, "accepted": ACCEPTED, "abandoned": ABANDONED}
    for name, stage in stages.items():
        columns = range(len(bench.oracle.columns))
        counted = [bench.oracle.funnel[name, column] for column in columns]
        assert bench.work.funnel[stage].tolist() == counted, name


@pytest.mark.twin("engine.paper.funnel")
@FEW
@given(funnel_benches(), st.data())
def test_proposals_are_sorted_stably_by_score_and_loss(
    bench: FunnelBench, draw: st.DataObject
) -> None:
    room = bench.seen.proposals.size
    pairs = st.tuples(st.sampled_from([-1.0, 0.0, 0.5]), st.integers(0, 2))
    drawn = draw.draw(st.lists(pairs, max_size=min(room, 8)))
    for i, (score, loss) in enumerate(drawn):
        bench.seen.proposals[i] = (score, 0, i, KEEP_BOTH, loss)
    bench.seen.n_proposals = len(drawn)

    compiled("engine.paper.funnel").sort_proposals(bench.work)

    order = sorted(range(len(drawn)), key=lambda i: drawn[i])
    assert bench.seen.proposals["cut_code"][: len(drawn)].tolist() == order


# growth


def same_tree(nodes: Any, number: int, node: Node, bench: FunnelBench) -> None:
    """Compare a grown tree with the oracle's, node by node."""
    found = nodes[number]
    kinds = {"cut": CUT, "class": CLASS}
    tuples = sorted(one.number for one in node.part)
    assert bench.numbers(found["start"], found["stop"]) == tuples
    assert found["rows"] == n_rows(node.part)
    if node.kind in kinds:
        assert found["kind"] == kinds[node.kind]
    if number:
        assert (found["low"], found["high"]) == (node.low, node.high)
    assert found["n_children"] == len(node.children)
    if node.children:
        assert (found["column"], found["cut_code"]) == (node.column, node.at)
    for i, child in enumerate(node.children):
        same_tree(nodes, found["first_child"] + i, child, bench)


@pytest.mark.twin("engine.paper.growth")
@FEW
@given(funnel_benches(), st.integers(0, 12))
def test_the_tree_below_a_partition_is_the_oracles(
    bench: FunnelBench, budget: int
) -> None:
    root = fields(1, NODE)
    root[0] = bench.nodes[0]
    root["budget"] = budget

    nodes = cut_partition(bench.work, root, LARGE)

    same_tree(nodes, 0, bench.oracle.solve(bench.part, budget, is_open=False), bench)


@pytest.mark.twin("engine.paper.growth")
@FEW
@given(funnel_benches(), st.integers(0, 12))
def test_one_cut_is_the_first_that_the_oracle_would_make(
    bench: FunnelBench, budget: int
) -> None:
    root = fields(1, NODE)
    root["rows"] = sum(one.count for one in bench.oracle.rows)
    root["parent"], root["budget"] = -1, budget
    most = budget
    is_small = root["rows"][0] < bench.seen.inline_below
    if is_small and bench.oracle.paper.spend == "last-resort":
        most = 0
    cut = next(bench.oracle.cuts(bench.oracle.rows, most), None)

    nodes = cut_once(bench.work, root)

    if cut is None:
        assert len(nodes) == 1
        return
    assert (nodes["column"][0], nodes["cut_code"][0]) == (cut.column, cut.at)
    children = nodes[nodes["first_child"][0] :]
    sides = [
        bench.numbers(a, b)
        for a, b in zip(children["start"], children["stop"], strict=True)
    ]
    assert sides == [sorted(one.number for one in piece.part) for piece in cut.pieces]


# strategies


def address(strategy: Any, name: str) -> Any:
    """Which function takes one of the decisions."""
    return getattr(inside(strategy), name)


def address_of(module: str, name: str) -> Any:
    functions = compiled(f"engine.paper.{module}")
    if IS_PLAIN:
        return getattr(functions, name)
    capsule = functions._module.__pyx_capi__[name]
    named = ctypes.pythonapi.PyCapsule_GetName(ctypes.py_object(capsule))
    return ctypes.pythonapi.PyCapsule_GetPointer(
        ctypes.py_object(capsule), ctypes.c_char_p(named)
    )


@pytest.mark.twin("engine.paper.strategy")
@pytest.mark.parametrize(
    ("policy", "ranks", "cuts", "opens"),
    [
        (PaperPolicy(), "rank_by_rilm", "propose_numbers", True),
        (OriginalPolicy(), "rank_by_width", "propose_strict_median", False),
        (OriginalPolicy("as_published"), "rank_widest", "propose_strict_median", False),
    ],
    ids=["paper", "original", "as published"],
)
@FEW
@given(data=st.data())
def test_a_policy_is_a_set_of_functions(
    data: st.DataObject, policy: Any, ranks: str, cuts: str, *, opens: bool
) -> None:
    bench = data.draw(funnel_benches(policy=policy))

    strategy = strategy_of(policy, bench.oracle.table)

    assert address(strategy, "rank_columns") == address_of("column_ranking", ranks)
    assert address(strategy, "propose_numbers") == address_of("proposals", cuts)
    assert (bool(strategy.opens_parts), strategy.hooks) == (opens, {})
    same_tree_by(bench)


def same_tree_by(bench: FunnelBench) -> None:
    root = fields(1, NODE)
    root[0] = bench.nodes[0]
    nodes = cut_partition(bench.work, root, LARGE)
    same_tree(nodes, 0, bench.oracle.solve(bench.part, 0, is_open=False), bench)


@dataclass(frozen=True)
class Witness(PaperPolicy):
    """Notes what it is asked, and answers with constants; Numba cannot compile it."""

    wanted: float = 3.0
    asked: ClassVar[list[tuple[Any, ...]]] = []

    @staticmethod
    def cut_choices(rows, low, high, rilm, rank, parameters):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN205
        Witness.asked.append((rows, [*low], [*high], [*rilm], [*rank], [*parameters]))
        rank[:] = -np.arange(rank.size)

    @staticmethod
    def score(_column, codes, rows, values, parts, _parameters):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN205
        Witness.asked.append(([*codes], [*rows], [*values], [*parts]))
        return 0.25

    @staticmethod
    def accept(column, rows, loss, budget, score, parameters):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN205
        Witness.asked.append((column, rows, loss, budget, score, [*parameters]))
        return loss % 2 == 0


@pytest.mark.twin("engine.paper.own_strategy")
@FEW
@given(st.data())
def test_a_users_functions_see_the_partition_as_it_is(draw: st.DataObject) -> None:
    sample = draw.draw(samples(max_rows=20))
    spec = Spec(
        sample.names, (KAnonymity(2),), hierarchies=sample.hierarchies, policy=Witness()
    )
    bench = funnel_bench(draw.draw, sample, spec)
    own, ranking = (
        compiled("engine.paper.own_strategy"),
        compiled("engine.paper.column_ranking"),
    )
    bench.open()
    Witness.asked.clear()

    n = ranking.rank_choices(bench.work)

    ((rows, low, high, rilms, ranks, parameters),) = Witness.asked
    assert (rows, parameters) == (n_rows(bench.part), [3.0])
    codes = [[one.codes[i] for one in bench.part] for i, _ in enumerate(low)]
    assert (low, high) == ([min(x) for x in codes], [max(x) for x in codes])
    for i in bench.columns:
        assert rilms[i] == bench.oracle.rilm(i, low[i], high[i])
        assert ranks[i] in (rilms[i], math.inf)
    chosen = bench.seen.choices["column"][:n].tolist()
    assert chosen == bench.columns[::-1]
    for column in bench.columns:
        check_score(bench, own, column)


def check_score(bench: FunnelBench, own: Any, column: int) -> None:
    """Compare what a score is asked with the parts of the oracle's cuts."""
    bench.look_at(column)
    info = bench.oracle.columns[column]
    is_number = info.kind == "number"
    kind = "proposals" if is_number else "category_parts"
    propose = "propose_numbers" if is_number else "propose_categories"
    getattr(compiled(f"engine.paper.{kind}"), propose)(bench.work)
    score = own.score_number_by_own if is_number else own.score_category_by_own
    for i, cut in enumerate(bench.oracle.proposals(bench.part, column)):
        Witness.asked.clear()
        assert score(bench.work, i) == 0.25
        ((codes, rows, values, parts),) = Witness.asked
        counts = Counter(codes_of(bench.part, column))
        assert dict(zip(codes, rows, strict=True)) == counts
        number, part_of = 0, {}
        for piece in cut.pieces:
            mark = -1 if piece.verdict == "lost" else number
            number += mark >= 0
            part_of |= {one.codes[column]: mark for one in piece.part}
        assert parts == [part_of[code] for code in codes]
        if is_number:
            known = [
                float(info.values[x]) if x < info.n_values else math.nan for x in codes
            ]
            assert str(values) == str(known) or np.array_equal(
                values, known, equal_nan=True
            )
        else:
            assert values == []
        Witness.asked.clear()
        accepted = own.accept_by_own(bench.work, i)
        assert bool(accepted) == (cut.loss % 2 == 0)
        assert Witness.asked[0][:3] == (column, n_rows(bench.part), cut.loss)
    assert bench.work.n_faults == 0
