"""A store of tuples in memory that is slow and obvious: the oracle of all others."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracle import Closeness

from core_mondrian import KAnonymity, Suppression
from core_mondrian.engine.grow import grow
from core_mondrian.engine.grow_parts import GrownParts, grow_parts
from core_mondrian.engine.grown import Grown
from core_mondrian.engine.layout import CUT, Objective
from core_mondrian.engine.marginals import Marginal, Moments, Pairs
from core_mondrian.engine.missing_patterns import (
    Chosen,
    CountedPatterns,
    PatternTuples,
    Repaired,
    TablePatterns,
)
from core_mondrian.engine.parts import PartRoots
from core_mondrian.engine.search.loss_weights import build_objective
from core_mondrian.engine.top import NodeCut
from core_mondrian.errors import InfeasibleError
from core_mondrian.models.distinct import DistinctLDiversity
from core_mondrian.spec.declaration import Spec
from core_mondrian.spec.policies import BestPolicy, OriginalPolicy, PaperPolicy
from core_mondrian.tables.encoded import EncodedTable, TableFigures

QID = ("a", "b", "c")
K = (KAnonymity(2),)
SPECS = (
    Spec(QID, K, policy=PaperPolicy(), inline_below=8),
    Spec(
        QID,
        (*K, DistinctLDiversity(2, "s")),
        policy=PaperPolicy(),
        inline_below=12,
        suppress=Suppression(share=0.2),
    ),
    Spec(QID, (*K, Closeness(0.6, "s")), policy=PaperPolicy(), inline_below=8),
    Spec(QID, K, policy=OriginalPolicy()),
    Spec(QID, K, policy=BestPolicy(), inline_below=6),
    Spec(
        QID,
        (*K, DistinctLDiversity(2, "s")),
        policy=BestPolicy(effort="strong"),
        inline_below=6,
        categories="set",
        suppress=Suppression(rows=3),
    ),
    Spec(QID, K, policy=BestPolicy(disjoint=True), unit="u", inline_below=6),
    *(
        Spec(
            QID,
            (*models, KAnonymity(4)),
            policy=policy,
            inline_below=8,
            missing="pattern",
            small_patterns="suppress",
            suppress=Suppression(rows=7),
        )
        for models in ((), (DistinctLDiversity(2, "s"),))
        for policy in (PaperPolicy(), OriginalPolicy(), BestPolicy())
    ),
)


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    n = draw(st.integers(4, 60))

    def column(values: st.SearchStrategy[Any], kind: pa.DataType) -> pa.Array:
        return pa.array(draw(st.lists(values, min_size=n, max_size=n)), kind)

    return pa.table(
        {
            "a": column(st.none() | st.integers(0, 9), pa.int64()),
            "b": column(st.none() | st.sampled_from("uvwxyz"), pa.string()),
            "c": column(st.integers(0, 3), pa.int64()),
            "s": column(st.sampled_from("pqr"), pa.string()),
            "u": column(st.integers(0, 40), pa.int64()),
        }
    )


class MemoryStore:
    """Counts with dictionaries, and keeps every stage in a dictionary."""

    def __init__(self, table: EncodedTable, spec: Spec, task_tuples: int) -> None:
        self.task_tuples = task_tuples
        self.stages: dict[str, list[dict[str, Any]]] = {}
        self.n_counts = 0
        self.largest = 0
        self._table, self._patterns = table, TablePatterns(table)
        self._objective: Objective = build_objective(table, spec)
        numbers = np.arange(table.n_tuples)
        self._own = np.column_stack([table.codes, table.counts, numbers])
        self.records = self._own.astype(np.int32)
        self.node = np.zeros(table.n_tuples, dtype=np.int32)

    def count(self) -> CountedPatterns:
        return self._patterns.count()

    def tuples(self, chosen: Chosen) -> Iterator[PatternTuples]:
        for some in self._patterns.tuples(chosen):  # one at a time
            for i in range(some.number.size):
                own = slice(i, i + 1)
                yield PatternTuples(
                    number=some.number[own],
                    pattern=some.pattern[own],
                    rows=some.rows[own],
                    sensitive=some.sensitive[own],
                    person=None if some.person is None else some.person[own],
                )

    def plant(self, repaired: Repaired | None) -> None:
        self.records = self._own.astype(np.int32)
        self.node = np.zeros(len(self.records), dtype=np.int32)
        if repaired is None:
            return
        root = repaired.root_of_pattern[self._patterns.pattern]
        for number, other in repaired.root_of_moved.items():
            root[number] = other
        for i, column in enumerate(self._table.columns):
            self.records[repaired.missing[root, i], i] = column.missing
        self.node = root.astype(np.int32)

    def sample(self, numbers: NDArray[np.int64]) -> NDArray[np.int32]:
        order = np.lexsort((self.records[:, -1], self.node))
        wanted = order[np.isin(self.records[order, -1], numbers)]
        return np.ascontiguousarray(self.records[wanted])

    def sizes(self, nodes: Sequence[int]) -> dict[int, int]:
        return {node: int(np.count_nonzero(self.node == node)) for node in nodes}

    def divide(self, cuts: Sequence[NodeCut]) -> None:
        for cut in cuts:
            for i in np.flatnonzero(self.node == cut.node):
                code = self.records[i, cut.column]
                if cut.child is None:
                    child = int(code > cut.cut_code)
                else:
                    child = int(cut.child[code])
                self.node[i] = cut.first + child

    def _sums(self, nodes: Sequence[int], columns: Sequence[int]) -> dict[Any, int]:
        self.n_counts += 1
        found: dict[Any, int] = {}
        for node, record in zip(self.node, self.records, strict=True):
            if node in nodes:
                key = (int(node), *(int(record[column]) for column in columns))
                found[key] = found.get(key, 0) + int(record[-2])
        return dict(sorted(found.items()))

    def marginals(self, nodes: Sequence[int], columns: Sequence[int]) -> list[Marginal]:
        return [self._marginal(nodes, column) for column in columns]

    def _marginal(self, nodes: Sequence[int], column: int) -> Marginal:
        n = len(self._table.columns)
        others = range(n, self.records.shape[1] - 2)
        found = self._sums(nodes, [*others, column])
        keys = np.array([*found], dtype=np.int32).reshape(len(found), -1)
        rows = np.array([*found.values()], dtype=np.int64)
        return Marginal(keys[:, 0], keys[:, 1:-1], keys[:, -1], rows)

    def pairs(
        self, nodes: Sequence[int], column: int, others: Sequence[int]
    ) -> list[Pairs]:
        return [self._pairs(nodes, column, other) for other in others]

    def _pairs(self, nodes: Sequence[int], column: int, other: int) -> Pairs:
        found = self._sums(nodes, [column, other])
        keys = np.array([*found], dtype=np.int32).reshape(len(found), -1)
        node, first, second = keys.T
        return Pairs(node, first, second, np.array([*found.values()], dtype=np.int64))

    def moments(self, nodes: Sequence[int], column: int) -> Moments:
        info = self._objective.info
        numbers = [i for i, kind in enumerate(info["kind"]) if kind == 0]
        keys = [*self._sums(nodes, [column])]
        shape = len(keys), len(numbers)
        low, high = np.zeros((2, *shape), dtype=np.int32)
        levels, squares = np.zeros((2, *shape), dtype=np.int64)
        for i, (node, code) in enumerate(keys):
            inside = (self.node == node) & (self.records[:, column] == code)
            for j, number in enumerate(numbers):
                codes = self.records[inside, number]
                low[i, j], high[i, j] = codes.min(), codes.max()
                at = int(info[number]["value_offset"])
                level = self._objective.levels[at + codes]
                rows = self.records[inside, -2]
                levels[i, j] = (level * rows).sum()
                squares[i, j] = (level * level * rows).sum()
        both = np.array(keys, dtype=np.int32).reshape(len(keys), 2)
        return Moments(both[:, 0], both[:, 1], low, high, levels, squares)

    def hand_out(self, parts: Sequence[PartRoots], stage: str) -> None:
        self.stages[stage] = []
        for part in parts:
            inside = np.isin(self.node, part.numbers)
            inside = np.flatnonzero(inside)[::-1]  # in any order
            self.largest = max(self.largest, inside.size)
            arrays = {"records": self.records[inside], "node": self.node[inside]}
            self.stages[stage].append(arrays)

    def run(self, task: Any, stage: str, target: str | None = None) -> list[Any]:
        done = [task(i, arrays) for i, arrays in enumerate(self.stages[stage])]
        if target is not None:
            self.stages[target] = [dict(kept) for kept, _ in done]
        return [summary for _, summary in done]

    def drop(self, stage: str) -> None:
        del self.stages[stage]

    def clear(self) -> None:
        self.stages.clear()


def without_tuples(table: EncodedTable) -> EncodedTable:
    """Return what is known of a table whose tuples are elsewhere."""
    n = len(table.columns) + len(table.sensitive)
    rows = tuple(table.code_rows(i) for i in range(n))
    figures = TableFigures(table.n_tuples, rows, table.n_persons)
    return replace(
        table, codes=table.codes[:0], counts=table.counts[:0], figures=figures
    )


Class = tuple[tuple[int, int], ...]


def classes_of(nodes: Any, records: Any, numbers: Any) -> list[tuple[int, Class]]:
    """Return kind and content of every leaf: its tuples, and the rows of each."""
    found = []
    for leaf in np.flatnonzero(nodes["kind"] != CUT):
        inside = slice(nodes["start"][leaf], nodes["stop"][leaf])
        content = zip(
            numbers[inside].tolist(), records[inside, -2].tolist(), strict=True
        )
        found.append((int(nodes["kind"][leaf]), tuple(sorted(content))))
    return sorted(found)


def whole(grown: Grown) -> list[tuple[int, Class]]:
    tree = grown.tree
    numbers = grown.tuples.records[:, -1]
    if grown.split_tuples is not None:
        numbers = grown.split_tuples.tuple_of[numbers]
    nodes = {"kind": tree.kind, "start": tree.start, "stop": tree.stop}
    return classes_of(nodes, grown.tuples.records, numbers)


def parted(store: MemoryStore, grown: GrownParts) -> list[tuple[int, Class]]:
    found = []
    for arrays in store.stages[grown.stage]:
        records = arrays["records"]
        found += classes_of(arrays["nodes"], records, records[:, -1])
    return sorted(found)


def grow_both_ways(table: EncodedTable, spec: Spec, task_tuples: int) -> MemoryStore:
    """Grow in one place and in parts, and compare; return the store of the parts."""
    store = MemoryStore(table, spec, task_tuples)
    try:
        expected = grow(table, spec, threads=1)
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            grow_parts(store, without_tuples(table), spec)
        return store
    found = grow_parts(store, without_tuples(table), spec)
    assert parted(store, found) == whole(expected)
    assert found.funnel.to_json() == expected.funnel.to_json()
    assert found.search == expected.search
    assert found.n_blanked == expected.n_blanked
    assert found.n_suppressed == expected.tree.n_suppressed
    assert found.budget == expected.budget
    assert [*store.stages] == [found.stage]  # all others were let go
    return store
