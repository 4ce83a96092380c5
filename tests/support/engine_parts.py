"""One partition of a small random table, as compiled functions take it, and an oracle.

Partitions are cut out of the middle of the records, so that what stands at their edges
belongs to others.
"""

import random
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from best_oracle import BestOracle, best_specs
from hypothesis import settings
from hypothesis import strategies as st
from oracle import (
    Closeness,
    DistinctDiversity,
    Oracle,
    Part,
    Row,
    Sample,
    n_rows,
    paper_policies,
    samples,
)

from core_mondrian import KAnonymity, Spec
from core_mondrian.encoding.encoder import collapse, encode
from core_mondrian.engine.constraints import first_constraints
from core_mondrian.engine.inputs import (
    build_columns,
    build_models,
    build_policy,
    build_tuples,
)
from core_mondrian.engine.layout import FRAME, NODE, Objective, Tuples, fields
from core_mondrian.engine.paper.strategy import strategy_of
from core_mondrian.engine.paper.workspace import FunnelWorkspace
from core_mondrian.engine.search.loss_weights import build_objective
from core_mondrian.engine.search.workspace import Block, RecordBuffers, SearchWorkspace
from core_mondrian.tables.encoded import EncodedTable
from core_mondrian.tables.frames import open_frame
from support.compiled import compiled, inside

# Each of them goes through a table and an oracle: fewer examples than usual will do.
FEW = settings(max_examples=max(4, settings.default.max_examples // 3))


def encoded(sample: Sample, spec: Spec) -> EncodedTable:
    return collapse(encode(open_frame(sample.arrow(sensitive=True)), spec)).table


def _models(draw: Any, most: int) -> tuple[Any, ...]:
    """k-anonymity, alone or with a model that can be cut down to, or not."""
    others = [(), (DistinctDiversity(2),), (Closeness(0.3),)]
    return (KAnonymity(draw(st.integers(2, most))), *draw(st.sampled_from(others)))


def _take_part(draw: Any, rows: list[Row]) -> tuple[list[Row], int, int]:
    """All rows in some order, and where the partition begins and ends."""
    rows = draw(st.permutations(rows))
    start = draw(st.integers(0, len(rows) - 1))
    return rows, start, draw(st.integers(start + 1, len(rows)))


# The funnel


@dataclass(repr=False)
class FunnelBench:
    """A partition in a workspace of the funnel, and the oracle of the same table."""

    oracle: Oracle
    part: Part
    work: FunnelWorkspace
    tuples: Tuples
    start: int
    stop: int
    nodes: Any
    stack: Any

    @property
    def seen(self) -> Any:
        """What the workspace holds."""
        return inside(self.work)

    @property
    def columns(self) -> list[int]:
        """The columns in which the partition is not constant."""
        every = range(len(self.oracle.columns))
        return [i for i in every if len({row.codes[i] for row in self.part}) > 1]

    def look_at(self, column: int, *, budget: int = 0) -> None:
        """Open the partition, and one of its columns."""
        self.open(budget=budget)
        opener = compiled("engine.paper.workspace")
        opener.open_column(self.work, column, self.start, self.stop)

    def open(self, *, budget: int = 0) -> None:
        funnel, runs = (
            compiled("engine.paper.funnel"),
            compiled("engine.paper.code_runs"),
        )
        self.nodes["budget"][0] = budget
        funnel.open_partition(self.work, 0, 0)
        self.seen.n_examined = self.seen.n_considered = 0
        runs.find_box(self.work, self.start, self.stop)
        if self.seen.rules is not None and inside(self.seen.rules).has_rules:
            funnel.count_sensitive(self.work, self.start, self.stop)

    def numbers(self, start: int, stop: int) -> list[int]:
        """The tuples that stand in some records."""
        return sorted(self.tuples.records[start:stop, -1].tolist())

    def proposed(self) -> list[tuple[int, int, int]]:
        """Column, place and loss of each proposal."""
        found = self.seen.proposals[: self.seen.n_proposals]
        return [(int(x["column"]), int(x["cut_code"]), int(x["loss"])) for x in found]


@st.composite
def funnel_benches(draw: Any, *, with_rules: bool = True, **more: Any) -> FunnelBench:
    sample = draw(samples(max_rows=30))
    most = max(2, sample.n_rows // 3)
    models = (
        _models(draw, most) if with_rules else (KAnonymity(draw(st.integers(2, most))),)
    )
    policy = draw(paper_policies(sample.names))
    spec = Spec(
        sample.names,
        models,
        hierarchies=sample.hierarchies,
        policy=policy,
        inline_below=draw(st.sampled_from([0, 10, 1000])),
    )
    return funnel_bench(draw, sample, replace(spec, **more))


def funnel_bench(draw: Any, sample: Sample, spec: Spec) -> FunnelBench:
    table = encoded(sample, spec)
    oracle = Oracle(table, spec)
    rows, start, stop = _take_part(draw, oracle.rows)
    order = np.array([row.number for row in rows])
    tuples = build_tuples(table.codes, table.counts, order)
    work = FunnelWorkspace(
        tuples,
        build_columns(table, spec),
        build_models(table, spec, first_constraints(table, spec)),
        build_policy(table, spec),
        strategy_of(spec.policy, table),
    )
    nodes, stack = fields(2 * len(rows) + 2, NODE), fields(len(rows) + 1, FRAME)
    inside(work).nodes, inside(work).stack = nodes, stack
    nodes["rows"][0] = n_rows(rows[start:stop])
    nodes["start"][0], nodes["stop"][0] = start, stop
    nodes["parent"][0] = -1
    inside(work).n_nodes = 1
    return FunnelBench(
        oracle, rows[start:stop], work, tuples, start, stop, nodes, stack
    )


# The search


@dataclass(repr=False)
class SearchBench:
    """A partition in the buffers of the search, and the oracle of the same table."""

    oracle: BestOracle
    part: Part
    workspace: SearchWorkspace
    buffers: RecordBuffers
    start: int
    stop: int
    objective: Objective

    @property
    def rows(self) -> int:
        return n_rows(self.part)

    @property
    def columns(self) -> range:
        return range(self.oracle.n_columns)

    def part_of(self, records: Any) -> Part:
        """What stands in some records, by the oracle's rows: their rows may differ."""
        return [
            replace(self.oracle.rows[one[-1]], count=one[-2])
            for one in records.tolist()
        ]

    def block(self) -> Block:
        """A block with the partition's records, and room for pieces of them."""
        room = 2 * len(self.part) + 4
        found = Block(room, self.buffers.array.shape[1], self.oracle.n_columns)
        n = self.stop - self.start
        found_records(found)[:n] = self.buffers.array[self.start : self.stop]
        held = inside(found)
        held.room = held.pool_room = room
        held.beta, held.tries_cuts = 0.0, 0
        held.splits_ties, held.counts_funnel = 0, 0
        return found

    def with_trial(self) -> Block:
        """A block whose records on trial are the partition's."""
        found = self.block()
        n = len(self.part)
        inside(found).trial.array[:n] = found_records(found)[:n]
        return found


def found_records(block: Block) -> Any:
    """The records of a block."""
    return inside(block).main.array


@st.composite
def search_benches(draw: Any, *, with_rules: bool = True) -> SearchBench:
    sample = draw(samples(max_rows=24))
    spec = draw(best_specs(sample))
    if with_rules:
        spec = replace(spec, models=_models(draw, max(2, sample.n_rows // 3)))
    table = encoded(sample, spec)
    rng = random.Random(draw(st.integers(0, 9)))  # noqa: S311
    if draw(st.booleans()):
        worth = [rng.choice([1, 1, 2, 7]) for _ in range(table.n_tuples)]
        table = replace(table, worth=np.array(worth, dtype=np.int32))
    oracle = BestOracle(table, spec)
    rows, start, stop = _take_part(draw, oracle.rows)
    order = np.array([row.number for row in rows])
    records = build_tuples(table.codes, table.counts, order).records
    models = build_models(table, spec, first_constraints(table, spec))
    objective = build_objective(table, spec)
    workspace, buffers = SearchWorkspace(objective, models), RecordBuffers(records)
    part = rows[start:stop]
    return SearchBench(oracle, part, workspace, buffers, start, stop, objective)
