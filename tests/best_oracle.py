"""The policy `best` once more, slow and obvious: what is lost, and the best cut.

Nothing here comes from the search. Losses are recomputed from sets of values, and the
best cut is found by trying every candidate of every column.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st
from oracle import (
    Oracle,
    Part,
    Row,
    Sample,
    Twig,
    grow_twigs,
    n_rows,
    small_patterns,
)

from benchmarks.fuzz.cells import read_set
from core_mondrian import KAnonymity, Release, Spec, Suppression
from core_mondrian.hierarchies.tree import Hierarchy
from core_mondrian.spec.policies import BestPolicy
from core_mondrian.tables.encoded import EncodedTable

NEAR = 1e-9
LEVELS = 2**15 - 1
EFFORTS = ("fast", "light", "strong", "thorough", "max")

Key = tuple[Any, ...]


def usual_efforts(*, is_plain: bool) -> tuple[str, ...]:
    """The efforts to try on more than a few rows: without the compiler, the first."""
    return EFFORTS[:1] if is_plain else EFFORTS


# --- frames -------------------------------------------------------------------------


def cells(frame: Any, name: str) -> list[Any]:
    """A column as plain values; every kind of missing value is None."""
    if isinstance(frame, pa.Table):
        found = frame[name].to_pylist()
    elif isinstance(frame, pl.DataFrame):
        found = frame[name].to_list()
    else:
        found = frame[name].tolist()
    return [None if pd.isna(value) else value for value in found]


def keys(frame: Any, names: tuple[str, ...]) -> list[Key]:
    """The rows of some columns."""
    return list(zip(*(cells(frame, name) for name in names), strict=True))


def with_ids(table: pa.Table) -> pa.Table:
    """The table with a column that tells rows apart, and is nobody's business."""
    return table.append_column("id", pa.array(range(table.num_rows)))


def classes_of(release: Release[Any]) -> dict[Key, list[int]]:
    """The ids of the released rows, by what they show."""
    names = release.spec.quasi_identifiers
    found = defaultdict(list)
    shown = keys(release.data, names)
    for i, key in zip(cells(release.data, "id"), shown, strict=True):
        found[key].append(i)
    return dict(found)


# --- what a release loses -----------------------------------------------------------


def lost_cell(
    held: set[Any], domain: set[Any], tree: Hierarchy | None, *, as_set: bool
) -> float:
    """What a cell loses whose class holds these values."""
    if len(held) == 1:
        return 0.0
    if as_set:
        return (len(held) - 1) / (len(domain) - 1)
    if None in held:
        return 1.0
    if isinstance(next(iter(held)), str):
        return 1.0 if tree is None else lost_leaves(held, tree)
    present = domain - {None}
    return (max(held) - min(held)) / (max(present) - min(present))


def lost_leaves(held: set[str], tree: Hierarchy) -> float:
    """The share of leaves under the lowest node over some labels."""
    places = [tree.leaves.index(label) for label in held]
    over = grow_twigs(tree).covering(min(places), max(places))
    return min(len(over.codes), tree.n_leaves) / tree.n_leaves


def released_loss(
    originals: dict[str, list[Any]], release: Release[Any], n_rows_in: int
) -> float:
    """The objective, from the original cells and the frame given back."""
    spec = release.spec
    classes = classes_of(release)
    gone = n_rows_in - sum(len(ids) for ids in classes.values())
    total = 0.0
    for name in spec.quasi_identifiers:
        column = originals[name]
        domain, tree = set(column), spec.hierarchies.get(name)
        is_text = any(isinstance(value, str) for value in domain)
        as_set = is_text and spec.categories_of(name) == "set"
        lost = float(gone)
        for ids in classes.values():
            held = {column[i] for i in ids}
            lost += len(ids) * lost_cell(held, domain, tree, as_set=as_set)
        total += spec.weight_of(name) * lost / n_rows_in
    return total / math.fsum(spec.weight_of(name) for name in spec.quasi_identifiers)


def holds(shown: Any, value: Any, name: str, spec: Spec, held: set[Any]) -> bool:
    """Whether what a row shows covers its own value, among those its class holds."""
    if shown is None:
        return value is None or len(held) > 1
    is_text = any(isinstance(x, str) for x in held)
    if is_text and spec.categories_of(name) == "set":
        return value in read_set(shown)
    if value is None:
        return False
    if is_text:
        tree = spec.hierarchies.get(name)
        return shown in ("*", value) if tree is None else covers(shown, value, tree)
    low, high = bounds(shown, held, is_range=spec.format_of(name) == "interval")
    return low <= value <= high


def bounds(shown: Any, held: set[Any], *, is_range: bool) -> tuple[float, float]:
    """The range that a released number stands for; none if it lies outside."""
    if is_range:
        texts = shown[1:-1].split(", ") if shown.startswith("[") else (shown, shown)
        return float(texts[0]), float(texts[1])
    near = 1e-9 * max(abs(x) for x in held)
    is_inside = min(held) - near <= shown <= max(held) + near
    return (min(held), max(held)) if is_inside else (1.0, 0.0)


def covers(label: str, value: str, tree: Hierarchy) -> bool:
    """Whether a node called ``label`` has ``value`` below it."""
    code = tree.leaves.index(value)

    def below(twig: Twig) -> bool:
        if twig.label == label and code in twig.codes:
            return True
        return any(below(child) for child in twig.children)

    return below(grow_twigs(tree))


# --- the best cut -------------------------------------------------------------------


@dataclass(frozen=True)
class Choice:
    """A candidate: the codes of one column that go left, and what the cut gains."""

    column: int
    left: frozenset[int]
    gain: float
    parts: frozenset[frozenset[int]]
    """The numbers of the tuples on either side."""


class BestOracle:
    """Finds the best cut of a partition by trying all of them."""

    def __init__(self, table: EncodedTable, spec: Spec) -> None:
        self.table, self.spec = table, spec
        self.k = spec.min_rows
        self.n_columns = len(table.columns)
        self.rows = [
            Row(i, tuple(c[: self.n_columns]), tuple(c[self.n_columns :]), n)
            for i, (c, n) in enumerate(
                zip(table.codes.tolist(), table.counts.tolist(), strict=True)
            )
        ]
        self.whole = self.rows
        self.twigs = [
            None if c.hierarchy is None else grow_twigs(c.hierarchy)
            for c in table.columns
        ]
        self.domains = [
            {row.codes[i] for row in self.rows} for i in range(self.n_columns)
        ]

    # what a partition costs

    def kind(self, column: int) -> str:
        info = self.table.columns[column]
        if info.kind == "number":
            return "number"
        if self.spec.categories_of(info.name) == "set":
            return "set"
        twig = self.twigs[column]
        assert twig is not None
        is_flat = all(not child.children for child in twig.children)
        return "flat" if is_flat else "tree"

    def worth(self, row: Row) -> int:
        """How often the loss of a tuple's rows counts."""
        return row.count * (1 if self.table.worth is None else self.each(row))

    def each(self, row: Row) -> int:
        assert self.table.worth is not None
        return int(self.table.worth[row.number])

    def loss(self, part: Part) -> float:
        """What all rows of a part lose as one class."""
        return sum(self.worth(row) for row in part) * math.fsum(
            self.weight_of(info.name)
            * self.column_loss(i, {row.codes[i] for row in part})
            for i, info in enumerate(self.table.columns)
        )

    def column_loss(self, column: int, codes: set[int]) -> float:
        info = self.table.columns[column]
        kind = self.kind(column)
        if len(codes) == 1:
            return 0.0
        if kind == "set":
            return (len(codes) - 1) / (len(self.domains[column]) - 1)
        if kind == "flat" or info.n_values in codes:
            return 1.0
        if kind == "number":
            values = [float(info.values[code]) for code in codes]
            whole = float(info.values[-1]) - float(info.values[0])
            return (max(values) - min(values)) / whole
        twig = self.twigs[column]
        assert twig is not None
        n_leaves = len(twig.codes) - 1
        over = twig.covering(min(codes), max(codes))
        return min(len(over.codes), n_leaves) / n_leaves

    def impurity(self, part: Part) -> float:
        """Rows times Gini impurity, or half the standard deviation of numbers."""
        return math.fsum(
            self.weight_of(info.name) * self.column_impurity(i, part)
            for i, info in enumerate(self.table.columns)
        )

    def column_impurity(self, column: int, part: Part) -> float:
        rows = sum(self.worth(row) for row in part)
        if self.kind(column) == "number":
            levels = np.repeat(
                [self.level(column, row.codes[column]) for row in part],
                [self.worth(row) for row in part],
            )
            return 0.5 * rows * float(np.std(levels)) / LEVELS
        counts: Counter[int] = Counter()
        for row in part:
            counts[row.codes[column]] += self.worth(row)
        gini = 1.0 - math.fsum((n / rows) ** 2 for n in counts.values())
        if self.kind(column) == "set":
            gini /= max(len(self.domains[column]) - 1, 1)
        return rows * gini

    def level(self, column: int, code: int) -> int:
        info = self.table.columns[column]
        if code == info.n_values:
            return 2 * LEVELS
        low, high = float(info.values[0]), float(info.values[-1])
        if low == high:
            return 0
        return round((float(info.values[code]) - low) / (high - low) * LEVELS)

    def cost(self, part: Part, beta: float) -> float:
        return self.loss(part) + (beta * self.impurity(part) if beta else 0.0)

    def weight_of(self, column: str) -> float:
        """What a loss of ``column`` weighs, next to 1 for the heaviest."""
        heaviest = max(self.spec.weight_of(c.name) for c in self.table.columns)
        return self.spec.weight_of(column) / heaviest

    def weight(self, part: Part, beta: float) -> float:
        """Impurity counts as long as a partition is far from being a class."""
        return 0.0 if n_rows(part) <= 4 * self.k else beta

    # which cuts there are

    def candidates(self, part: Part, column: int) -> Iterator[frozenset[int]]:
        """The codes that go left."""
        rows: Counter[int] = Counter()
        for row in part:
            rows[row.codes[column]] += row.count
        codes = sorted(rows)
        kind = self.kind(column)
        if kind == "number":
            yield from prefixes(codes)
            return
        yield from (frozenset([code]) for code in codes)
        if kind == "set":
            yield from prefixes(sorted(codes, key=lambda code: (-rows[code], code)))
        if kind == "tree":
            yield from self.inner_nodes(column, codes)

    def inner_nodes(self, column: int, codes: list[int]) -> Iterator[frozenset[int]]:
        def below(twig: Twig) -> Iterator[frozenset[int]]:
            inside = frozenset(code for code in codes if code in twig.codes)
            if len(inside) > 1:
                yield inside
            for child in twig.children:
                yield from below(child)

        twig = self.twigs[column]
        assert twig is not None
        yield from below(twig)

    admits = Oracle.admits
    counts = Oracle.counts

    def choices(self, part: Part, column: int, beta: float) -> list[Choice]:
        """The admitted cuts of a column, best first; each pair of sides once."""
        found: dict[frozenset[frozenset[int]], Choice] = {}
        whole = self.cost(part, beta)
        for codes in self.candidates(part, column):
            left = [row for row in part if row.codes[column] in codes]
            right = [row for row in part if row.codes[column] not in codes]
            if not left or not right:
                continue
            if not (self.admits(left) and self.admits(right)):
                continue
            gain = whole - self.cost(left, beta) - self.cost(right, beta)
            parts = frozenset([numbers(left), numbers(right)])
            found.setdefault(parts, Choice(column, codes, gain, parts))
        return sorted(found.values(), key=lambda choice: -choice.gain)

    def best(self, part: Part, beta: float) -> list[Choice]:
        """The best cut of every column, best first."""
        every = [self.choices(part, i, beta)[:1] for i in range(self.n_columns)]
        return sorted((c[0] for c in every if c), key=lambda choice: -choice.gain)


def prefixes(codes: list[int]) -> Iterator[frozenset[int]]:
    """All that come before some place."""
    for n, _ in enumerate(pairwise(codes), start=1):
        yield frozenset(codes[:n])


def numbers(part: Part) -> frozenset[int]:
    return frozenset(row.number for row in part)


# --- specs to try -------------------------------------------------------------------


@st.composite
def best_policies(draw: Any) -> BestPolicy:
    return BestPolicy(
        effort=draw(st.sampled_from(EFFORTS)),
        disjoint=draw(st.booleans()),
        beta=draw(st.sampled_from([None, None, 0.0, 0.5, 2.0, 30.0])),
        price=draw(st.sampled_from([1.0, 1.0, 0.1, 0.5, 3.0])),
    )


@st.composite
def best_specs(draw: Any, sample: Sample, **more: Any) -> Spec:
    """Specs of the policy `best`, with every format, and k from 2 to all rows."""
    n = sample.n_rows
    sizes = st.sampled_from([2, max(2, n // 4), max(2, n // 2), max(2, n)])
    formats = st.sampled_from(["interval", "interval", "mean", "median"])
    weights = st.sampled_from([0.25, 1.0, 1.0, 3.0, 10.0])
    budget = draw(st.sampled_from([None, None, 0, 1, 3, n // 2, n]))
    asked: dict[str, Any] = {
        "hierarchies": sample.hierarchies,
        "policy": draw(best_policies()),
        "missing": draw(st.sampled_from([None, "value", "pattern"])),
        "suppress": None if budget is None else Suppression(rows=budget),
        "numbers_by_column": {x: draw(formats) for x in sample.names},
        "categories_by_column": {
            x: draw(st.sampled_from(["label", "set"])) for x in sample.names
        },
        "weights": {x: draw(weights) for x in sample.names},
        "inline_below": draw(st.sampled_from([0, 10, 100, 1000])),
    }
    asked |= more
    asked["small_patterns"] = draw(small_patterns(asked["missing"]))
    k = draw(sizes | st.integers(2, max(2, n // 5)))
    return Spec(sample.names, (KAnonymity(k),), **asked)
