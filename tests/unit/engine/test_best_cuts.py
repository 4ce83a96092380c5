"""Exact cuts are the best ones: every candidate of every column is tried by hand."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from best_oracle import NEAR, BestOracle, Choice, best_specs, numbers
from conftest import IS_PLAIN
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle import Closeness, DistinctDiversity, Part, n_rows, samples

from core_mondrian import KAnonymity, Spec
from core_mondrian.encoding.encoder import collapse, encode
from core_mondrian.engine.constraints import first_constraints
from core_mondrian.engine.inputs import build_models, build_tuples
from core_mondrian.engine.layout import CLASS, CUT
from core_mondrian.engine.search.best import Searched, one_node, open_search
from core_mondrian.engine.search.exact_cuts import find_cuts
from core_mondrian.engine.search.loss_weights import build_objective
from core_mondrian.engine.search.workspace import RecordBuffers, SearchWorkspace
from core_mondrian.hierarchies.tree import Hierarchy, from_paths
from core_mondrian.spec.policies import BestPolicy
from core_mondrian.tables.encoded import EncodedTable
from core_mondrian.tables.frames import open_frame

BETAS = (0.0, 0.5, 2.0, 16.0)


def encoded(table: pa.Table, spec: Spec) -> EncodedTable:
    return collapse(encode(open_frame(table), spec)).table


class Engine:
    """The function under test, on partitions given as lists of tuples."""

    def __init__(self, table: EncodedTable, spec: Spec) -> None:
        self.table = table
        models = build_models(table, spec, first_constraints(table, spec))
        self.workspace = SearchWorkspace(build_objective(table, spec), models)

    def find(self, part: Part, shift: int, beta: float) -> tuple[int, Any]:
        """The best column, and the best cut of each; the part begins at ``shift``."""
        order = [row.number for row in part]
        order = [*order[:shift], *order]
        codes, counts = self.table.codes[order], self.table.counts[order]
        records = build_tuples(codes, counts, np.arange(len(order))).records
        records[:, -1] = order
        best = find_cuts(
            *(RecordBuffers(records), self.workspace),
            *(shift, len(order), n_rows(part), beta),
        )
        return best, self.workspace.found_array


def left_codes(part: Part, column: int, found: Any) -> frozenset[int]:
    """The codes that a found cut sends to the left."""
    codes = sorted({row.codes[column] for row in part})
    if found["by_rows"]:
        rows = {c: n_rows([r for r in part if r.codes[column] == c]) for c in codes}
        codes.sort(key=lambda code: (-rows[code], code))
    return frozenset(codes[found["first"] : found["last"]])


def sides(part: Part, column: int, codes: frozenset[int]) -> frozenset[frozenset[int]]:
    left = [row for row in part if row.codes[column] in codes]
    right = [row for row in part if row.codes[column] not in codes]
    return frozenset([numbers(left), numbers(right)])


def check_cuts(
    oracle: BestOracle, engine: Engine, part: Part, shift: int, beta: float
) -> None:
    """Compare what the kernel finds in a partition with what the oracle finds."""
    best, found = engine.find(part, shift, beta)

    near = NEAR * max(1.0, oracle.cost(part, beta))
    tops: list[Choice] = []
    for column in range(oracle.n_columns):
        choices = oracle.choices(part, column, beta)
        assert (found[column]["rows"] == 0) == (not choices)
        if not choices:
            continue
        tops.append(choices[0])
        cut = found[column]
        codes = left_codes(part, column, cut)
        left = [row for row in part if row.codes[column] in codes]
        right = [row for row in part if row.codes[column] not in codes]
        lost = oracle.cost(left, beta) + oracle.cost(right, beta)
        assert cut["rows"] == n_rows(left)
        assert cut["side"] == min(n_rows(left), n_rows(right))
        assert cut["loss"] == pytest.approx(lost, abs=near)
        assert cut["gain"] == pytest.approx(max(choices[0].gain, 0.0), abs=2 * near)
        is_clear = len(choices) == 1 or choices[0].gain - choices[1].gain > near
        if is_clear:
            assert sides(part, column, codes) == choices[0].parts
    check_column(best, tops, near)


def check_column(best: int, tops: list[Choice], near: float) -> None:
    """The best column is the one that gains most, if any gains something."""
    tops = sorted(tops, key=lambda choice: -choice.gain)
    if not tops or tops[0].gain < -near:
        assert best == -1
    elif tops[0].gain > 2 * near:
        gains = {choice.column: choice.gain for choice in tops}
        assert best >= 0
        assert gains[best] >= tops[0].gain - near


def weighed(table: EncodedTable, rng: random.Random) -> EncodedTable:
    """The table with rows whose losses count more than others', or all once."""
    if rng.random() < 0.5:
        return table
    worth = [rng.choice([1, 1, 2, 7, 100]) for _ in range(table.n_tuples)]
    return replace(table, worth=np.array(worth, dtype=np.int32))


@pytest.mark.twin("engine.search.exact_cuts")
@given(st.data())
def test_the_best_cut_of_every_column_is_found(data: st.DataObject) -> None:
    sample = data.draw(samples(max_rows=40))
    spec = data.draw(best_specs(sample))
    rng = random.Random(data.draw(st.integers(0, 99)))  # noqa: S311
    oracle = BestOracle(weighed(encoded(sample.arrow(), spec), rng), spec)
    engine = Engine(oracle.table, spec)

    for beta in BETAS:
        part = rng.sample(oracle.rows, rng.randint(1, len(oracle.rows)))
        check_cuts(oracle, engine, part, rng.randint(0, len(part)), beta)


@given(st.data())
def test_no_cut_is_found_that_a_users_model_forbids(data: st.DataObject) -> None:
    sample = data.draw(samples(max_rows=40))
    extra = data.draw(
        st.sampled_from([DistinctDiversity(2), DistinctDiversity(3), Closeness(0.3)])
    )
    spec = Spec(
        sample.names,
        (KAnonymity(2), extra),
        hierarchies=sample.hierarchies,
        categories=data.draw(st.sampled_from(["label", "set"])),
        policy=BestPolicy("fast"),
    )
    oracle = BestOracle(encoded(sample.arrow(sensitive=True), spec), spec)
    engine = Engine(oracle.table, spec)
    rng = random.Random(data.draw(st.integers(0, 99)))  # noqa: S311

    for beta in (0.0, 2.0):
        part = rng.sample(oracle.rows, rng.randint(1, len(oracle.rows)))
        check_cuts(oracle, engine, part, rng.randint(0, len(part)), beta)


@pytest.mark.parametrize("seed", range(3 if IS_PLAIN else 12))
def test_cuts_of_large_partitions_are_the_best(seed: int) -> None:
    # Enough records that codes are counted instead of sorted, and pairs of codes too.
    rng = random.Random(seed)  # noqa: S311
    n = 150
    table = pa.table(
        {
            "n0": [rng.randint(0, 30) for _ in range(n)],
            "n1": [rng.choice([None, 1.5, 2.5, 100.0]) for _ in range(n)],
            "c2": [rng.choice("abcde") for _ in range(n)],
            "c3": [rng.choice([*"pqrstu", None]) for _ in range(n)],
        }
    )
    spec = Spec(
        ("n0", "n1", "c2", "c3"),
        (KAnonymity(3),),
        categories_by_column={"c3": "set"},
        policy=BestPolicy("fast"),
    )
    oracle = BestOracle(weighed(encoded(table, spec), rng), spec)
    engine = Engine(oracle.table, spec)

    for beta in (0.0, 2.0):
        check_cuts(oracle, engine, oracle.rows, 0, beta)


# --- the whole tree -----------------------------------------------------------------


def searched(table: EncodedTable, spec: Spec) -> Searched:
    """The classes of the search alone, without a look at the paper's."""
    order = np.arange(table.n_tuples)
    records = build_tuples(table.codes, table.counts, order).records
    assert isinstance(spec.policy, BestPolicy)
    models = build_models(table, spec, first_constraints(table, spec))
    search = open_search(table, spec, spec.policy, models, records, 1)
    return search.run(one_node(records), lambda _: None)


def check_tree(table: EncodedTable, spec: Spec, beta: float) -> int:
    """Every cut of a greedy tree is a best one, and a leaf has none; count the cuts."""
    oracle = BestOracle(table, spec)
    found = searched(table, spec)
    members = found.records[:, -1].tolist()
    assert sorted(members) == list(range(table.n_tuples))
    n_cuts = 0
    for node in found.nodes:
        part = [oracle.rows[i] for i in members[node["start"] : node["stop"]]]
        weight = oracle.weight(part, beta)
        near = NEAR * max(1.0, oracle.cost(part, weight))
        best = oracle.best(part, weight)
        if node["kind"] == CLASS:
            assert n_rows(part) >= spec.min_rows
            assert not best or best[0].gain < 2 * near
            continue
        assert node["kind"] == CUT
        n_cuts += 1
        both = found.nodes[
            node["first_child"] : node["first_child"] + node["n_children"]
        ]
        parts = frozenset(frozenset(members[x["start"] : x["stop"]]) for x in both)
        gains = {
            choice.parts: choice.gain
            for choice in oracle.choices(part, int(node["column"]), weight)
        }
        assert gains[parts] == pytest.approx(best[0].gain, abs=near)
    classes = found.nodes[found.nodes["kind"] == CLASS]
    lost = sum(
        oracle.loss([oracle.rows[i] for i in members[x["start"] : x["stop"]]])
        for x in classes
    )
    assert found.loss == pytest.approx(lost, abs=NEAR * max(1.0, lost))
    return n_cuts


@given(st.data())
def test_every_cut_of_a_disjoint_tree_is_the_best(data: st.DataObject) -> None:
    sample = data.draw(samples(max_rows=50))
    beta = data.draw(st.sampled_from(BETAS))
    policy = BestPolicy("fast", disjoint=True, beta=beta)
    spec = data.draw(best_specs(sample, policy=policy))
    assume(spec.min_rows <= sample.n_rows)

    check_tree(encoded(sample.arrow(), spec), spec, beta)


def long_tree(n_groups: int, n_each: int) -> Hierarchy:
    """Three levels: leaves v0, v1, … in groups, and groups in pairs."""
    return from_paths(
        [
            (f"v{i}", f"g{i // n_each}", f"h{i // n_each // 2}", "*")
            for i in range(n_groups * n_each)
        ]
    )


@pytest.mark.parametrize("n_groups", [6, 70], ids=["tabled", "walked"])
def test_long_hierarchies_are_cut_as_well_as_short_ones(n_groups: int) -> None:
    # The losses of all pairs of more than 255 leaves are not tabled but looked up.
    tree = long_tree(n_groups, 4)
    rng = random.Random(n_groups)  # noqa: S311
    n = 60
    table = pa.table(
        {
            "c": [rng.choice([*tree.leaves, None]) for _ in range(n)],
            "n": [rng.random() for _ in range(n)],
        }
    )
    spec = Spec(
        ("c", "n"),
        (KAnonymity(3),),
        hierarchies={"c": tree},
        policy=BestPolicy("fast", disjoint=True, beta=1.0),
    )
    encoded_table = encoded(table, spec)
    assert (build_objective(encoded_table, spec).info["share_offset"][0] < 0) == (
        n_groups > 9
    )

    assert check_tree(encoded_table, spec, 1.0) > 5
