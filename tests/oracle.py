"""Mondrian once more, slow and obvious, with models and tables to try it on.

Nothing here comes from the engine: partitions are lists, the tree is nested objects,
counts are recounted wherever they are needed, and cuts are tried by a generator that
is simply resumed to backtrack. Only the order of floating-point operations is taken
over, so that both sides round alike.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st
from numpy.typing import NDArray

from core_mondrian.hierarchies.tree import Hierarchy, from_paths
from core_mondrian.models.base import Limits, PrivacyModel
from core_mondrian.spec.declaration import Spec
from core_mondrian.spec.policies import SPENDING, OriginalPolicy, PaperPolicy
from core_mondrian.tables.encoded import EncodedColumn, EncodedTable

MAX_ATTEMPTS = 8
POOL = -1


class Infeasible(Exception):
    """Not even the whole table as one class passes."""


# --- what a partition is -----------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One distinct tuple and how many rows have it."""

    number: int
    codes: tuple[int, ...]
    sensitive: tuple[int, ...]
    count: int


Part = list[Row]


def n_rows(part: Part) -> int:
    return sum(row.count for row in part)


def codes_of(part: Part, column: int) -> list[int]:
    """The codes of one column, once per row, rising."""
    return sorted(row.codes[column] for row in part for _ in range(row.count))


@dataclass
class Node:
    """A node of the grown tree."""

    kind: str
    part: Part
    low: int = -1
    high: int = -1
    budget: int = 0
    column: int = -1
    at: int = -1
    children: list["Node"] = field(default_factory=list)

    @property
    def spent(self) -> int:
        if self.kind == "suppressed":
            return n_rows(self.part)
        return sum(child.spent for child in self.children)

    def inner(self) -> Iterator["Node"]:
        if self.children:
            yield self
        for child in self.children:
            yield from child.inner()

    def leaves(self) -> Iterator["Node"]:
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves()


@dataclass
class Piece:
    """One child of a proposed cut."""

    part: Part
    low: int
    high: int
    verdict: str  # passes, open, lost


@dataclass
class Cut:
    """A proposed cut."""

    column: int
    at: int
    pieces: list[Piece]
    score: float = 0.0

    @property
    def loss(self) -> int:
        return sum(n_rows(p.part) for p in self.pieces if p.verdict == "lost")


@dataclass
class Twig:
    """A hierarchy node as an object: its leaves' codes, its children, its size."""

    label: str
    codes: range
    children: list["Twig"]

    @property
    def level(self) -> int:
        steps = (c.level + (c.label != self.label) for c in self.children)
        return max(steps, default=0)

    @property
    def size(self) -> float:
        return 10.0**self.level - 1.0

    def covering(self, low: int, high: int) -> "Twig":
        """The lowest node with all codes from ``low`` to ``high``."""
        for child in self.children:
            if low in child.codes and high in child.codes:
                return child.covering(low, high)
        return self


def grow_twigs(tree: Hierarchy) -> Twig:
    """The hierarchy as objects, with one more leaf for missing values."""

    def twig(node: int) -> Twig:
        first = int(tree.first_child[node])
        below = range(first, first + int(tree.n_children[node]))
        codes = range(int(tree.low[node]), int(tree.high[node]) + 1)
        return Twig(tree.labels[node], codes, [twig(child) for child in below])

    root = twig(0)
    missing = tree.n_leaves
    root.children.append(Twig("", range(missing, missing + 1), []))
    return Twig(root.label, range(missing + 1), root.children)


def classes_of(roots: list[Node]) -> list[Part]:
    """The parts of all leaves that are released."""
    return [
        leaf.part for root in roots for leaf in root.leaves() if leaf.kind == "class"
    ]


# --- the algorithm -----------------------------------------------------------------


class Oracle:
    """Grows the tree for one table and spec; ``funnel`` counts what it looked at."""

    def __init__(self, table: EncodedTable, spec: Spec) -> None:
        self.table = table
        self.spec = spec
        self.columns = table.columns
        self.funnel: Counter[tuple[str, int]] = Counter()
        self.n_blanked = 0
        self.k = max(model.min_rows for model in spec.models)
        self.has_rules = any(type(model).measure is not None for model in spec.models)
        self.is_monotone = all(model.is_monotone for model in spec.models)
        self.rows = [
            Row(
                number,
                tuple(codes[: len(self.columns)]),
                tuple(codes[len(self.columns) :]),
                count,
            )
            for number, (codes, count) in enumerate(
                zip(table.codes.tolist(), table.counts.tolist(), strict=True)
            )
        ]
        self.whole = self.rows
        """What classes are compared with: all rows, or those released."""
        self.twigs = [
            None if c.hierarchy is None else grow_twigs(c.hierarchy)
            for c in self.columns
        ]
        paper = spec.policy if isinstance(spec.policy, PaperPolicy) else PaperPolicy()
        self.paper = paper
        self.domains = [self.percentile_domains(i) for i in range(len(self.columns))]

    def grow(self) -> list[Node]:
        """The roots of the tree, one per missing pattern that is left."""
        if not self.admits(self.rows):
            raise Infeasible
        budget = self.spec.budget(self.table.n_rows)
        for _ in range(4):
            roots = self.grow_once(budget)
            released = [row for part in classes_of(roots) for row in part]
            if not self.has_rules or len(released) == len(self.whole) == len(self.rows):
                return roots
            self.whole = released
            if all(self.admits(part) for part in classes_of(roots)):
                return roots
        self.whole = self.rows
        return self.grow_once(0)

    def grow_once(self, budget: int) -> list[Node]:
        self.funnel.clear()
        self.n_blanked = 0
        planted = self.plant(budget)
        left = budget - sum(n_rows(part) for part, is_lost in planted if is_lost)
        kept = sum(n_rows(part) for part, is_lost in planted if not is_lost)
        return [
            Node("suppressed", part, budget=n_rows(part))
            if is_lost
            else self.solve(part, n_rows(part) * left // kept, is_open=False)
            for part, is_lost in planted
        ]

    # roots

    def plant(self, budget: int) -> list[tuple[Part, bool]]:
        """The root partitions, and whether they are suppressed."""
        if self.spec.missing == "value":
            return [(self.rows, False)]
        patterns: dict[tuple[bool, ...], Part] = defaultdict(list)
        for row in self.rows:
            patterns[self.pattern(row)].append(row)
        groups = [[set_of(p), patterns[p]] for p in sorted(patterns)]
        lost = self.give_up(groups, budget)
        self.repair(groups)
        return [
            (lost[i], True) if i in lost else (self.blanked(part, blank), False)
            for i, (blank, part) in enumerate(groups)
            if part or i in lost
        ]

    def give_up(self, groups: list[Any], budget: int) -> dict[int, Part]:
        """Suppress failing patterns, smallest first, and leave them empty."""
        lost: dict[int, Part] = {}
        if self.spec.small_patterns == "repair":
            return lost
        failing = [i for i, (_, part) in enumerate(groups) if not self.admits(part)]
        for i in sorted(failing, key=lambda i: (n_rows(groups[i][1]), i)):
            spent = sum(n_rows(part) for part in [*lost.values(), groups[i][1]])
            rest = [r for j, (_, part) in enumerate(groups) if j != i for r in part]
            if spent <= budget and rest and self.admits(rest):
                lost[i], groups[i][1] = groups[i][1], []
        return lost

    def pattern(self, row: Row) -> tuple[bool, ...]:
        pairs = zip(row.codes, self.columns, strict=True)
        return tuple(code == column.n_values for code, column in pairs)

    def repair(self, groups: list[Any]) -> None:
        """Save failing patterns, smallest first; a joined one is left empty."""
        while True:
            failing = [
                (n_rows(part), i)
                for i, (_, part) in enumerate(groups)
                if part and not self.admits(part)
            ]
            if not failing or sum(bool(part) for _, part in groups) == 1:
                return
            source = min(failing)[1]
            target = self.cheapest_to_join(groups, source)
            if target is None:
                self.take_rows(groups, source)
            else:
                self.join(groups, source, target)

    def join(self, groups: list[Any], source: int, target: int) -> None:
        groups[target][0] = groups[target][0] | groups[source][0]
        groups[target][1] = groups[target][1] + groups[source][1]
        groups[source][1] = []

    def cheapest_to_join(self, groups: list[Any], source: int) -> int | None:
        mine, part = groups[source]
        offers = []
        for i, (theirs, other) in enumerate(groups):
            if i == source or not other:
                continue
            if mine - theirs and self.admits(other):
                continue
            cells = n_rows(part) * len(theirs - mine)
            cells += n_rows(other) * len(mine - theirs)
            offers.append((cells, self.kept(mine, theirs), i))
        return min(offers)[2] if offers else None

    def kept(self, mine: frozenset[int], theirs: frozenset[int]) -> list[bool]:
        return [c not in theirs - mine for c in range(len(self.columns))]

    def take_rows(self, groups: list[Any], source: int) -> None:
        """Fill a pattern up with another's tuples, or join it if it would fail."""
        mine, part = groups[source]
        need = max(self.k - n_rows(part), 1)
        offers = []
        for i, (theirs, other) in enumerate(groups):
            if i != source and other:
                cells = n_rows(part) * len(theirs - mine)
                cells += min(n_rows(other), need) * len(mine - theirs)
                offers.append((cells, self.kept(mine, theirs), i))
        donor = min(offers)[2]
        theirs, other = groups[donor]
        other = sorted(other, key=lambda row: row.number)
        filled = list(part)
        while other and not self.admits(filled):
            filled.append(other.pop(0))
        if self.admits(filled) and self.admits(other):
            groups[source] = [mine | theirs, filled]
            groups[donor][1] = other
        else:
            self.join(groups, source, donor)

    def blanked(self, part: Part, blank: frozenset[int]) -> Part:
        rows = []
        for row in part:
            codes = list(row.codes)
            for column in blank:
                if codes[column] != self.columns[column].n_values:
                    codes[column] = self.columns[column].n_values
                    self.n_blanked += row.count
            rows.append(Row(row.number, tuple(codes), row.sensitive, row.count))
        return rows

    # models

    def admits(self, part: Part) -> bool:
        """Whether every model lets the part be a class."""
        for model in self.spec.models:
            if n_rows(part) < model.min_rows:
                return False
            measure = type(model).measure
            if measure is None:
                continue
            inside, whole = self.counts(part, model), self.counts(self.whole, model)
            parameters = np.array(model.parameters, dtype=np.float64)
            value = measure(n_rows(part), inside, whole, parameters)
            least, most, _ = model.limits()
            if not least - 1e-12 <= value <= most + 1e-12:
                return False
        return True

    def counts(self, part: Part, model: Any) -> NDArray[np.int64]:
        if model.column is None:
            return np.zeros(0, dtype=np.int64)
        at = [column.name for column in self.table.sensitive].index(model.column)
        counts = np.zeros(self.table.sensitive[at].n_values, dtype=np.int64)
        for row in part:
            counts[row.sensitive[at]] += row.count
        return counts

    def judge(self, part: Part, *, may_stay_open: bool) -> str:
        if n_rows(part) < self.k:
            return "fails"
        if not self.has_rules or self.admits(part):
            return "passes"
        if may_stay_open and not self.is_monotone and n_rows(part) >= 2 * self.k:
            return "open"
        return "fails"

    def is_inline(self, part: Part) -> bool:
        is_paper = isinstance(self.spec.policy, PaperPolicy)
        return is_paper and n_rows(part) < self.spec.inline_below

    # execution

    def solve(self, part: Part, budget: int, *, is_open: bool) -> Node:
        """Cut a partition as often as possible; an open one is lost otherwise."""
        most = budget
        is_small = n_rows(part) < self.spec.inline_below
        if is_small and self.paper.spend == "last-resort":
            most = 0
        for cut in islice(self.cuts(part, most), MAX_ATTEMPTS):
            children, is_within = self.carry_out(cut, most)
            if is_within:
                return Node(
                    "cut",
                    part,
                    budget=budget,
                    column=cut.column,
                    at=cut.at,
                    children=children,
                )
            self.funnel["abandoned", cut.column] += 1
            for child in children:
                for node in child.inner():
                    self.funnel["abandoned", node.column] += 1
        return Node("suppressed" if is_open else "class", part, budget=budget)

    def carry_out(self, cut: Cut, budget: int) -> tuple[list[Node], bool]:
        """The children of a cut, and whether they keep within the budget."""
        left = budget - cut.loss
        nodes: dict[int, Node] = {}
        worth = []
        for i, piece in enumerate(cut.pieces):
            size = n_rows(piece.part)
            if piece.verdict == "lost":
                nodes[i] = Node("suppressed", piece.part)
            elif piece.verdict == "open" or size >= 2 * self.k:
                worth.append((i, piece, size))
            else:
                nodes[i] = Node("class", piece.part)
        total = sum(size for _, _, size in worth)
        queued = [item for item in worth if item[2] >= self.spec.inline_below]
        shares = {i: size * left // total for i, _, size in queued}
        left -= sum(shares.values())
        inline = [item for item in worth if item[2] < self.spec.inline_below]
        for i, piece, _ in sorted(inline, key=lambda item: -item[2]):
            nodes[i] = self.solve(piece.part, left, is_open=piece.verdict == "open")
            left -= nodes[i].spent
            if left < 0:
                return list(nodes.values()), False
        for i, piece, _ in queued:
            nodes[i] = self.solve(piece.part, shares[i], is_open=False)
        for i, piece in enumerate(cut.pieces):
            nodes[i].low, nodes[i].high = piece.low, piece.high
        return [nodes[i] for i in range(len(cut.pieces))], True

    # the funnel

    def cuts(self, part: Part, budget: int) -> Iterator[Cut]:
        """The cuts of a partition that the budget allows, best first."""
        competes = self.competes(part)
        group: list[Cut] = []
        last_rank = 0.0
        for rank, column in self.choices(part):
            epsilon = self.paper.rilm_epsilon
            is_far = epsilon is not None and abs(rank - last_rank) > epsilon
            if group and (is_far or not competes):
                yield from self.afford(group, budget)
                group = []
            proposed = self.proposals(part, column)
            self.funnel["proposed", column] += len(proposed)
            if proposed:
                last_rank = rank
            if len(proposed) > 1 or competes:
                for cut in proposed:
                    cut.score = self.score(part, cut)
            group += proposed
        yield from self.afford(group, budget)

    def afford(self, group: list[Cut], budget: int) -> Iterator[Cut]:
        """Those of a group that the budget allows, by score."""
        for cut in sorted(group, key=by_score):
            self.funnel["final", cut.column] += 1
            if cut.loss <= budget:
                self.funnel["accepted", cut.column] += 1
                yield cut

    def competes(self, part: Part) -> bool:
        if isinstance(self.spec.policy, OriginalPolicy):
            return False
        return n_rows(part) >= int(self.paper.compete_above * self.table.n_rows)

    # which column first

    def choices(self, part: Part) -> list[tuple[float, int]]:
        found = []
        for column in range(len(self.columns)):
            codes = codes_of(part, column)
            low, high = codes[0], codes[-1]
            if low == high:
                continue
            if isinstance(self.spec.policy, OriginalPolicy):
                found.append((-self.width(column, low, high), column))
                continue
            score = self.rilm(column, low, high)
            if not self.is_enough(column, score):
                found.append((score, column))
        found.sort()
        if self.spec.policy == OriginalPolicy("as_published"):
            return found[:1]
        return found

    def is_enough(self, column: int, score: float) -> bool:
        """Dynamic breakout: the column's RILM is at its threshold, or close to it."""
        if self.paper.breakout_multiplier is None:
            return False
        base = self.threshold(self.columns[column])
        enough = base + (1.0 - base) * self.paper.breakout_multiplier
        return score >= enough - 1e-8 - 1e-5 * enough

    def threshold(self, column: EncodedColumn) -> float:
        asked = self.spec.thresholds
        own = dict(self.paper.breakout_thresholds)
        if column.name in own:
            return own[column.name]
        if column.name in self.spec.exclude:
            return 1.0
        if column.kind == "category":
            found = asked.rilm_categorical
        elif asked.rilm_numerical is not None:
            found = asked.rilm_numerical
        else:
            found = asked.pearson
        return 1.0 if found is None else found

    def rilm(self, column: int, low: int, high: int) -> float:
        info, twig = self.columns[column], self.twigs[column]
        if high == info.n_values:
            return 0.0
        if twig is not None:
            return 1.0 - twig.covering(low, high).size / twig.size
        smallest, largest = float(info.values[low]), float(info.values[high])
        for bottom, top in self.domains[column]:
            if smallest < math.nextafter(bottom, -math.inf):
                continue
            if largest > math.nextafter(top, math.inf):
                continue
            if top == bottom:
                return 1.0
            return 1.0 - (largest - smallest) / (top - bottom)
        raise AssertionError("the last domain holds every value")

    def width(self, column: int, low: int, high: int) -> float:
        info, twig = self.columns[column], self.twigs[column]
        if high == info.n_values:
            return 1.0
        if twig is not None:
            return len(twig.covering(low, high).codes) / len(twig.codes)
        span = float(info.values[-1]) - float(info.values[0])
        return (float(info.values[high]) - float(info.values[low])) / span

    def percentile_domains(self, column: int) -> list[tuple[float, float]]:
        info = self.columns[column]
        present = [c for c in codes_of(self.rows, column) if c < info.n_values]
        if info.kind != "number" or not present:
            return []
        values = [float(info.values[code]) for code in present]
        return [
            (
                at_rank(values, tail / 100.0 * (len(values) - 1)),
                at_rank(values, (100.0 - tail) / 100.0 * (len(values) - 1)),
            )
            for tail in self.paper.tails
        ]

    # where to cut

    def proposals(self, part: Part, column: int) -> list[Cut]:
        if self.columns[column].kind == "category":
            return self.category_cuts(part, column)
        codes = codes_of(part, column)
        distinct = sorted(set(codes))
        run = distinct.index(codes[(len(codes) - 1) // 2])
        if isinstance(self.spec.policy, OriginalPolicy):
            return self.number_cuts(part, column, [distinct[run]], may_lose=False)
        cuts: list[Cut] = []
        if "median" in self.paper.cut_points:
            at = distinct[min(run, len(distinct) - 2)]
            cuts += self.number_cuts(part, column, [at])
        if "bin_edges" in self.paper.cut_points and self.has_bins(column, codes):
            cuts += self.number_cuts(part, column, self.bin_edges(column, codes))
        if "lossless" not in self.paper.cut_points:
            return cuts
        is_classic = "median" in self.paper.cut_points and run == len(distinct) - 1
        if run and not is_classic:
            at = distinct[run - 1]
            cuts += self.number_cuts(part, column, [at], may_lose=False)
        if any(cut.loss == 0 for cut in cuts):
            return cuts
        self.funnel["examined", column] += 1
        balanced = self.balanced_cut(part, column)
        self.funnel["considered", column] += balanced is not None
        return cuts if balanced is None else [*cuts, balanced]

    def number_cuts(
        self, part: Part, column: int, points: list[int], *, may_lose: bool = True
    ) -> list[Cut]:
        """The cuts worth having; a point that repeats another one divides nothing."""
        cuts = []
        largest = max(row.codes[column] for row in part)
        for i, at in enumerate(points):
            self.funnel["examined", column] += 1
            if at == largest or at in points[:i]:
                continue
            self.funnel["considered", column] += 1
            cut = self.number_cut(part, column, at)
            if cut is not None and (may_lose or cut.loss == 0):
                cuts.append(cut)
        return cuts

    def has_bins(self, column: int, codes: list[int]) -> bool:
        if len(codes) < int(self.paper.bin_edges_above * self.table.n_rows):
            return False
        if len(set(codes)) < self.paper.min_bin_values:
            return False
        return codes[-1] != self.columns[column].n_values

    def bin_edges(self, column: int, codes: list[int]) -> list[int]:
        values = [float(self.columns[column].values[code]) for code in codes]
        smallest, largest = values[0], values[-1]
        upper = at_rank(values, 0.75 * (len(values) - 1))
        lower = at_rank(values, 0.25 * (len(values) - 1))
        width = (largest - smallest) / (math.log2(len(values)) + 1.0)
        narrow = 2.0 * (upper - lower) / float(len(values)) ** (1.0 / 3.0)
        if 0.0 < narrow < width:
            width = narrow
        n_edges = math.ceil((largest - smallest) / width)
        n_kept = min(n_edges, self.paper.max_bin_edges)
        if n_edges < 2:
            return []
        points: list[int] = []
        for kept in range(n_kept):
            edge = kept
            if n_edges > n_kept > 1:
                edge = round(kept * (n_edges - 1) / (n_kept - 1))
            value = smallest + (largest - smallest) * (edge / n_edges)
            below = [c for c, v in zip(codes, values, strict=True) if v <= value]
            points.append(below[-1])
        return points

    def number_cut(self, part: Part, column: int, at: int) -> Cut | None:
        codes = codes_of(part, column)
        left = [row for row in part if row.codes[column] <= at]
        right = [row for row in part if row.codes[column] > at]
        if not right:
            return None
        verdicts = [
            self.judge(side, may_stay_open=self.is_inline(part))
            for side in (left, right)
        ]
        if verdicts == ["fails", "fails"]:
            return None
        verdicts = ["lost" if v == "fails" else v for v in verdicts]
        pieces = [
            Piece(left, codes[0], at, verdicts[0]),
            Piece(right, at + 1, codes[-1], verdicts[1]),
        ]
        return Cut(column, at, pieces)

    def balanced_cut(self, part: Part, column: int) -> Cut | None:
        best, best_smaller = None, 0
        for at in sorted({row.codes[column] for row in part})[:-1]:
            left = [row for row in part if row.codes[column] <= at]
            right = [row for row in part if row.codes[column] > at]
            smaller = min(n_rows(left), n_rows(right))
            if smaller > best_smaller and self.admits(left) and self.admits(right):
                best, best_smaller = self.number_cut(part, column, at), smaller
        return best

    def category_cuts(self, part: Part, column: int) -> list[Cut]:
        pieces = self.child_pieces(part, column)
        alone = [p for p in pieces if p.verdict != "fails"]
        pooled = [p for p in pieces if p.verdict == "fails"]
        self.funnel["examined", column] += 1
        self.funnel["considered", column] += 1
        if not alone or (pooled and isinstance(self.spec.policy, OriginalPolicy)):
            return []
        if not pooled:
            return [Cut(column, -1, alone)]
        pool = joined(pooled)
        if self.admits(pool):
            return [Cut(column, -1, [*alone, Piece(pool, POOL, POOL, "passes")])]
        cuts = [Cut(column, -1, [*alone, Piece(pool, POOL, POOL, "lost")])]
        if "lossless" not in self.paper.cut_points:
            return cuts
        self.funnel["examined", column] += 1
        while len(alone) > 1:
            smallest = min(alone, key=lambda piece: n_rows(piece.part))
            alone = [piece for piece in alone if piece is not smallest]
            pool = pool + smallest.part
            if self.admits(pool):
                pieces = [*alone, Piece(pool, POOL, POOL, "passes")]
                self.funnel["considered", column] += 1
                return [*cuts, Cut(column, -1, pieces)]
        return cuts

    def child_pieces(self, part: Part, column: int) -> list[Piece]:
        codes = codes_of(part, column)
        twig = self.twigs[column]
        assert twig is not None
        pieces = []
        for child in twig.covering(codes[0], codes[-1]).children:
            inside = [row for row in part if row.codes[column] in child.codes]
            if inside:
                verdict = self.judge(inside, may_stay_open=self.is_inline(part))
                low, high = child.codes[0], child.codes[-1]
                pieces.append(Piece(inside, low, high, verdict))
        return pieces

    # how good is a cut

    def score(self, part: Part, cut: Cut) -> float:
        kept = [piece.part for piece in cut.pieces if piece.verdict != "lost"]
        of = self.number_spread
        if self.columns[cut.column].kind == "category":
            of = self.category_spread
        spreads = [of(piece, cut.column) for piece in kept]
        n = sum(size for _, size in spreads)
        before, _ = of(part, cut.column)
        if n == 0 or before == 0.0:
            return 1.0
        weighted = 0.0
        for spread, size in spreads:
            weighted += size * spread
        return max(-1.0, min(1.0, weighted / n / before - 1.0))

    def number_spread(self, part: Part, column: int) -> tuple[float, int]:
        """Constraints deviation and rows of the values that are not missing."""
        info = self.columns[column]
        counts = Counter(c for c in codes_of(part, column) if c < info.n_values)
        n = sum(counts.values())
        if not n:
            return 0.0, 0
        codes = sorted(counts)
        origin = float(info.values[codes[0]])
        total = squares = 0.0
        for code in codes:
            total += counts[code] * (float(info.values[code]) - origin)
        mean = total / n
        for code in codes:
            value = float(info.values[code]) - origin - mean
            squares += counts[code] * (value * value)
        return math.sqrt(squares / n), n

    def category_spread(self, part: Part, column: int) -> tuple[float, int]:
        """Constraints deviation of "is the most frequent value", and rows."""
        counts = Counter(codes_of(part, column))
        n = sum(counts.values())
        share = max(counts.values()) / n
        return math.sqrt(share * (1.0 - share)), n


def set_of(pattern: tuple[bool, ...]) -> frozenset[int]:
    return frozenset(i for i, is_missing in enumerate(pattern) if is_missing)


def joined(pieces: list[Piece]) -> Part:
    return [row for piece in pieces for row in piece.part]


def by_score(cut: Cut) -> tuple[float, int]:
    return (cut.score, cut.loss)


def at_rank(values: list[float], rank: float) -> float:
    """The value at a fractional rank of a sorted list, linearly interpolated."""
    below = math.floor(rank)
    lower = values[below]
    upper = values[min(below + 1, len(values) - 1)]
    return lower + (upper - lower) * (rank - below)


# --- models of a user, in a user's file ----------------------------------------------


@dataclass(frozen=True, slots=True)
class DistinctDiversity(PrivacyModel):
    """Each class holds at least ``l`` sensitive values."""

    l: int  # noqa: E741
    sensitive: str = "s"
    is_monotone = True

    @property
    def min_rows(self) -> int:
        return self.l

    def limits(self) -> Limits:
        return Limits(at_least=self.l)

    @staticmethod
    def measure(
        _rows: int,
        values: NDArray[np.int64],
        _table: NDArray[np.int64],
        _parameters: NDArray[np.float64],
    ) -> float:
        """How many different values there are."""
        n = 0
        for count in values:
            if count > 0:
                n += 1
        return n


@dataclass(frozen=True, slots=True)
class Closeness(PrivacyModel):
    """No class's sensitive values are shared out very differently from the table's."""

    t: float
    sensitive: str = "s"

    def limits(self) -> Limits:
        return Limits(at_most=self.t)

    @staticmethod
    def measure(
        rows: int,
        values: NDArray[np.int64],
        table: NDArray[np.int64],
        _parameters: NDArray[np.float64],
    ) -> float:
        """How far a value's share is from its share of the table, at most."""
        total = 0
        for count in table:
            total += count
        apart = 0
        for i in range(values.size):
            # Whole numbers as long as possible.
            apart = max(apart, abs(values[i] * total - table[i] * rows))
        return apart / (rows * total)


# --- tables to try ------------------------------------------------------------------

ZOO = from_paths(
    [
        ("cat", "cat", "beast", "*"),
        ("dog", "dog", "beast", "*"),
        ("cow", "cattle", "beast", "*"),
        ("ox", "cattle", "beast", "*"),
        ("hen", "fowl", "bird", "*"),
        ("duck", "fowl", "bird", "*"),
        ("owl", "owl", "bird", "*"),
        ("carp", "fish", "fish", "*"),
    ]
)
NUMBERS: dict[str, list[float]] = {
    "even": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    "skewed": [0, 1, 2, 3, 5, 8, 13, 100, 1000, 5000, 5001, 1e6],
    "thirds": [i / 3 - 2 for i in range(12)],
    "near": [0.1, 0.2, 0.3, 0.1 + 0.2, 0.4, 0.7, 0.8, 1.1, 1.2, 1.3, 1.4, 1.5],
}
KINDS = (*NUMBERS, "letters", "zoo")


@dataclass(frozen=True)
class Sample:
    """A small table with the hierarchies it wants."""

    columns: dict[str, list[Any]]
    hierarchies: dict[str, Hierarchy]
    sensitive: list[str | None]

    @property
    def n_rows(self) -> int:
        return len(self.sensitive)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.columns)

    def arrow(self, *, sensitive: bool = False) -> pa.Table:
        arrays = {
            name: pa.array(cells, pa.float64() if name[0] == "n" else pa.string())
            for name, cells in self.columns.items()
        }
        if sensitive:
            arrays["s"] = pa.array(self.sensitive, pa.string())
        return pa.table(arrays)


def _cells(kind: str) -> list[Any]:
    if kind == "letters":
        return list("abcdefghijkl")
    return list(ZOO.leaves) if kind == "zoo" else NUMBERS[kind]


@st.composite
def samples(draw: Any, max_rows: int = 60, max_columns: int = 4) -> Sample:
    """Tables with ties, constants, missing cells and columns that are all missing."""
    n = draw(st.integers(1, max_rows))
    columns: dict[str, list[Any]] = {}
    hierarchies = {}
    for i in range(draw(st.integers(1, max_columns))):
        kind = draw(st.sampled_from(KINDS))
        cells = _cells(kind)
        shown = cells[: draw(st.integers(1, len(cells)))]
        missing = draw(st.sampled_from(["never", "never", "some", "often", "always"]))
        picks = st.integers(0, len(shown) - 1)
        if missing in ("some", "often"):
            picks = st.integers(-1 if missing == "some" else -4, len(shown) - 1)
        if missing == "always":
            picks = st.just(-1)
        at = draw(st.lists(picks, min_size=n, max_size=n))
        name = f"{'n' if kind in NUMBERS else 'c'}{i}"
        columns[name] = [None if j < 0 else shown[j] for j in at]
        if kind == "zoo":
            hierarchies[name] = ZOO
    values = st.sampled_from(["x", "x", "y", "z", None])
    sensitive = draw(st.lists(values, min_size=n, max_size=n))
    return Sample(columns, hierarchies, sensitive)


def small_patterns(missing: str | None) -> st.SearchStrategy[Any]:
    """What may become of small patterns, if there are any."""
    ways = ["repair", "suppress"] if missing == "pattern" else ["repair"]
    return st.sampled_from(ways)


@st.composite
def paper_policies(draw: Any, names: tuple[str, ...] = ()) -> PaperPolicy:
    shares = st.sampled_from([0.0, 0.25, 0.5, 0.9, 1.0])
    cut_points = [
        *[("median",), ("bin_edges",), ("lossless",), ("median", "bin_edges")],
        *[("median", "lossless"), ("median", "bin_edges", "lossless")],
    ]
    multiplier = draw(st.sampled_from([None, None, 0.0, 0.5, 1.0]))
    own = st.just({})
    if names and multiplier is not None:
        own = st.dictionaries(st.sampled_from(names), shares)
    tails = [(0.0,), (10.0, 1.0, 0.0), (25.0, 10.0, 0.1, 0.0), (0.1, 0.0, 10.0, 25.0)]
    return PaperPolicy(
        cut_points=draw(st.sampled_from(cut_points)),
        spend=draw(st.sampled_from(SPENDING)),
        bin_edges_above=draw(shares),
        max_bin_edges=draw(st.integers(1, 12)),
        min_bin_values=draw(st.integers(2, 6)),
        tails=draw(st.sampled_from(tails)),
        rilm_epsilon=draw(st.sampled_from([None, -1.0, 0.0, 0.05, 0.5])),
        compete_above=draw(shares),
        breakout_multiplier=multiplier,
        breakout_thresholds=tuple(sorted(draw(own).items())),
    )
