"""Parts: partitions below the top of a tree that are solved together in one place.

Where there is room, that is wherever the tuples are: on threads of this machine, or on
the executors of a cluster. What becomes of a part stays there, under the name of a
stage; only a summary comes back.

    tuples ─► [ part 0 | part 1 | ... ] ─► solved ─► described
                 task      task               summaries, added up here
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from core_mondrian.engine import layout
from core_mondrian.engine.constraints import (
    Constraints,
    CountedGroups,
    all_pass,
    count_groups_in_parts,
    table_counts,
)
from core_mondrian.engine.exact_sums import exact_sum
from core_mondrian.engine.inputs import build_models, with_scratch
from core_mondrian.engine.layout import (
    Codes,
    Columns,
    Counts,
    Models,
    Objective,
    Policy,
    Search,
    Tuples,
)
from core_mondrian.engine.missing_patterns import PatternSource, Repaired
from core_mondrian.engine.paper.growth import cut_partition
from core_mondrian.engine.paper.strategy import strategy_of
from core_mondrian.engine.paper.workspace import FunnelWorkspace
from core_mondrian.engine.scheduler import NEVER, Forest, Nodes
from core_mondrian.engine.search.best import BestSearch, Searched, lost_by_class
from core_mondrian.engine.search.suppression_budget import (
    Offers,
    list_offers,
    separate_suppressed,
    take_offers,
)
from core_mondrian.engine.search.workspace import RecordBuffers, SearchWorkspace
from core_mondrian.engine.top import Divider, Inline, Top
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.encoded import EncodedTable

Arrays = Mapping[str, NDArray[Any]]
"""What is kept of a part, by name."""
ResultT = TypeVar("ResultT")
Task = Callable[[int, Arrays], tuple[Arrays, ResultT]]
"""Takes a part's number and arrays; returns those to keep, and a summary."""


class PartRoots(NamedTuple):
    """The partitions of one part, and how those of one cut share a budget."""

    numbers: list[int]
    """Their numbers in the top, in the order of their records."""
    nodes: Nodes
    inline: list[Inline]
    """By place among ``numbers``."""


class PartitionStore(Divider, PatternSource, Protocol):
    """Whoever has the tuples, and works on them part by part."""

    def plant(self, repaired: Repaired | None) -> None:
        """Begin anew, each tuple below its root; None: there is one root."""

    def sample(self, numbers: NDArray[np.int64]) -> Codes:
        """Return the records of some tuples, root by root in their order."""

    def hand_out(self, parts: Sequence[PartRoots], stage: str) -> None:
        """Give the tuples of the nodes that are not cut to their parts.

        Each has the arrays ``records`` and ``node`` then.
        """

    def run(
        self, task: Task[ResultT], stage: str, target: str | None = None
    ) -> list[ResultT]:
        """Do a task with every part of a stage; what it keeps is the target stage."""

    def drop(self, stage: str) -> None:
        """Let go of a stage."""

    def clear(self) -> None:
        """Let go of all stages."""


def bundle(top: Top, sizes: Mapping[int, int], most: int) -> list[PartRoots]:
    """Put neighbouring leaves of the top together, as long as they fit in one place."""
    bundles: list[list[int]] = [[]]
    held = 0
    for node in top.leaves():
        if bundles[-1] and held + sizes[node] > most:
            bundles.append([])
            held = 0
        bundles[-1].append(node)
        held += sizes[node]
    return [PartRoots(own, top.nodes.take(own), []) for own in bundles]


def bundle_units(
    top: Top, sizes: Mapping[int, int], most: int, *, shares_budget: bool
) -> list[PartRoots]:
    """The same for the funnel: children of one cut that share a budget stay together.

    Where they spend nothing, those that are too many are divided.
    """
    grouped = {node for group in top.inline for node in group.nodes}
    units = [Inline([node], [], 0) for node in top.leaves() if node not in grouped]
    for group in top.inline:
        units += [group] if shares_budget else _divided(group, sizes, most)
    bundles: list[list[Inline]] = [[]]
    held = 0
    for unit in units:
        n = sum(sizes[node] for node in unit.nodes)
        if bundles[-1] and held + n > most:
            bundles.append([])
            held = 0
        bundles[-1].append(unit)
        held += n
    return [_with_units(top, own) for own in bundles]


def _divided(group: Inline, sizes: Mapping[int, int], most: int) -> Iterable[Inline]:
    own: list[int] = []
    for node in group.nodes:
        if own and sum(sizes[one] for one in own) + sizes[node] > most:
            yield Inline(own, [x for x in group.turns if x in own], group.budget)
            own = []
        own.append(node)
    yield Inline(own, [x for x in group.turns if x in own], group.budget)


def _with_units(top: Top, units: Sequence[Inline]) -> PartRoots:
    numbers = [node for unit in units for node in unit.nodes]
    place = {node: i for i, node in enumerate(numbers)}
    inline = [
        Inline([place[x] for x in unit.nodes], [place[x] for x in unit.turns], unit[2])
        for unit in units
        if unit.turns
    ]
    return PartRoots(numbers, top.nodes.take(numbers), inline)


@dataclass(frozen=True, slots=True)
class Context:
    """All that solving takes, but the records; what is compiled is built in place."""

    table: EncodedTable
    """Without its tuples."""
    spec: Spec
    constraints: Constraints
    columns: Columns
    policy: Policy
    objective: Objective | None = None
    """Of the policy `best`; and how it searches."""
    search: Search | None = None

    def local(self, records: Codes) -> "Context":
        """Return the context of a part: its persons are numbered among themselves."""
        if self.table.n_units is None:
            return self
        n_units = int(records[:, -3].max(initial=-1)) + 1
        return replace(self, table=replace(self.table, n_units=n_units))

    def models(self) -> Models:
        return build_models(self.table, self.spec, self.constraints)

    def workspace(self, tuples: Tuples) -> FunnelWorkspace:
        """Return what the funnel works with."""
        strategy = strategy_of(self.spec.policy, self.table)
        models = self.models()
        return FunnelWorkspace(tuples, self.columns, models, self.policy, strategy)

    def open_search(self, records: Codes) -> BestSearch:
        """Return a search on some records, on one thread."""
        if self.objective is None or self.search is None:
            raise TypeError("a search without an objective")
        models = self.models()
        workspace = SearchWorkspace(self.objective, models)
        buffers = RecordBuffers(records)
        return BestSearch(self.objective, models, [workspace], self.search, buffers)


class PartSummary(NamedTuple):
    """The summary of a part that was solved."""

    n_suppressed: int
    funnel: Counts
    released: tuple[Counts, ...]
    """Released rows by value, per sensitive column."""
    sizes: Counts | None
    """Rows, or persons, of each class; None: nobody asked."""
    loss: Fraction
    """Of the policy `best`: what all its rows lose."""


def lay_out(
    context: Context, roots: PartRoots, arrays: Arrays
) -> tuple[Context, Nodes, Codes]:
    """Put the records of a part in order, root by root.

    Return the context of the part and its roots as well.
    """
    records: Codes = arrays["records"]
    place = np.full(max(roots.numbers) + 1, -1, dtype=np.int64)
    place[roots.numbers] = np.arange(len(roots.numbers))
    root = place[arrays["node"]]
    order = np.lexsort((records[:, -1], root))
    nodes = layout.join_fields([roots.nodes])
    edges = np.searchsorted(root[order], np.arange(len(roots.numbers) + 1))
    nodes["start"], nodes["stop"] = edges[:-1], edges[1:]
    ordered = np.ascontiguousarray(records[order])
    if context.table.n_units is not None:
        ordered[:, -3] = np.unique(ordered[:, -3], return_inverse=True)[1]
    return context.local(ordered), nodes, ordered


class SolvedPart(NamedTuple):
    """A part with its classes: a tree, whose roots come first, and its records."""

    nodes: Nodes
    records: Codes
    n_roots: int

    @staticmethod
    def of(arrays: Arrays) -> "SolvedPart":
        """Return a part that was kept as arrays."""
        nodes = layout.as_fields(np.ascontiguousarray(arrays["nodes"]))
        records = np.ascontiguousarray(arrays["records"])
        return SolvedPart(nodes, records, int(arrays["n_roots"][0]))

    def arrays(self) -> Arrays:
        """Return what is kept of it."""
        nodes = np.asarray(self.nodes)
        # What is above the roots is not part of it.
        nodes["parent"][: self.n_roots] = -1
        n_roots = np.array([self.n_roots])
        return {"nodes": nodes, "records": self.records, "n_roots": n_roots}

    @property
    def as_searched(self) -> Searched:
        """The same for the search; its loss is not known here."""
        return Searched(self.nodes, self.records, 0.0)


def class_of_record(nodes: Nodes, n_records: int) -> NDArray[np.int64]:
    """Return the class of each record, from 0 on by node; -1: suppressed."""
    number = np.cumsum(nodes["kind"] == layout.CLASS) - 1
    ends = np.flatnonzero(nodes["kind"] != layout.CUT)
    ends = ends[np.argsort(nodes["start"][ends], kind="stable")]
    is_class = nodes["kind"][ends] == layout.CLASS
    owner = np.where(is_class, number[ends], -1)
    of_record = np.repeat(owner, nodes["stop"][ends] - nodes["start"][ends])
    if of_record.size != n_records:
        raise ValueError("leaves that do not cover the records")
    return of_record.astype(np.int64)


def as_table(table: EncodedTable, records: Codes) -> EncodedTable:
    """Return records as the tuples of a table."""
    codes = np.ascontiguousarray(records[:, :-2])
    counts = records[:, -2].astype(np.int64)
    n_rows = int(counts.sum())
    return replace(table, codes=codes, counts=counts, n_rows=n_rows, figures=None)


def summarize(
    context: Context,
    solved: Searched,
    funnel: Counts,
    search: BestSearch | None,
    *,
    wants_sizes: bool,
) -> PartSummary:
    """Sum up a solved part."""
    nodes, records = solved.nodes, solved.records
    group = class_of_record(nodes, len(records))
    table = as_table(context.table, records[group >= 0])
    released = tuple(table_counts(table, i) for i in range(len(table.sensitive)))
    sizes = None
    if wants_sizes:
        n_classes = int(np.count_nonzero(nodes["kind"] == layout.CLASS))
        groups = count_groups_in_parts(table, group[group >= 0], n_classes)
        sizes = np.concatenate([_sizes(part) for part in groups])
    lost = Fraction(0)
    if search is not None:
        lost = exact_sum(lost_by_class(search, records, nodes))
    is_suppressed = nodes["kind"] == layout.SUPPRESSED
    n_suppressed = int(nodes["rows"][is_suppressed].sum())
    return PartSummary(n_suppressed, funnel.copy(), released, sizes, lost)


def _sizes(groups: CountedGroups) -> Counts:
    return groups.rows if groups.persons is None else groups.persons


@dataclass(frozen=True)
class SolveFunnel:
    """Solves a part by the funnel."""

    context: Context
    roots: Sequence[PartRoots]
    wants_sizes: bool = False

    def __call__(self, number: int, arrays: Arrays) -> tuple[Arrays, PartSummary]:
        context, roots, records = lay_out(self.context, self.roots[number], arrays)
        tuples = with_scratch(records)
        work = context.workspace(tuples)
        forest = Forest(roots)
        for root, node in forest.queued(0):
            forest.graft(cut_partition(work, node, NEVER), root)
        for group in self.roots[number].inline:
            self._solve_inline(work, forest, group)
        nodes = layout.join_fields(forest.blocks)
        solved = Searched(nodes, tuples.records, 0.0)
        search = None
        if context.objective is not None:
            search = context.open_search(tuples.records)
        summary = summarize(
            context, solved, work.funnel, search, wants_sizes=self.wants_sizes
        )
        part = SolvedPart(nodes, tuples.records, roots.size)
        return part.arrays(), summary

    def _solve_inline(
        self, work: FunnelWorkspace, forest: Forest, group: Inline
    ) -> None:
        left = group.budget
        for root in group.turns:
            node = forest.node(root).copy()
            node["budget"][0] = left
            grown = cut_partition(work, node, NEVER)
            left -= int(grown["rows"][grown["kind"] == layout.SUPPRESSED].sum())
            forest.graft(grown, root)


class Offering(NamedTuple):
    """A summary, and what the classes of a part would rather suppress."""

    summary: PartSummary
    offers: Offers


@dataclass(frozen=True)
class SolveSearch:
    """Searches a part by the policy `best`."""

    context: Context
    roots: Sequence[PartRoots]
    wants_sizes: bool = False

    def __call__(self, number: int, arrays: Arrays) -> tuple[Arrays, PartSummary]:
        context, roots, records = lay_out(self.context, self.roots[number], arrays)
        search = context.open_search(records)
        result = search.run(roots, lambda _: None)
        return self.keep(result, roots.size), self.sum_up(search, result)

    def keep(self, result: Searched, n_roots: int) -> Arrays:
        """Return what is kept of what was found."""
        return SolvedPart(result.nodes, result.records, n_roots).arrays()

    def sum_up(self, search: BestSearch, result: Searched) -> PartSummary:
        """Sum up what was found."""
        context = self.context.local(result.records)
        funnel = search.workspaces[0].funnel
        return summarize(context, result, funnel, search, wants_sizes=self.wants_sizes)


@dataclass(frozen=True)
class SearchRoughly(SolveSearch):
    """Searches a part with no regrouping, to see what could be suppressed early."""

    price: float = 0.0
    budget: int = 0
    is_rough: bool = True

    def __call__(self, number: int, arrays: Arrays) -> tuple[Arrays, Offering]:  # type: ignore[override]
        context, roots, records = lay_out(self.context, self.roots[number], arrays)
        search = context.open_search(records)
        nodes = search.cut(roots, lambda _: None)
        if self.is_rough:
            search.workspaces[0].funnel[:] = 0  # counted with the thorough search
            search = search.roughly()
        return self.offer(search, nodes, roots.size)

    def offer(
        self, search: BestSearch, blocks: Nodes, n_roots: int
    ) -> tuple[Arrays, Offering]:
        """Solve blocks, and ask their classes what they would suppress."""
        result = search.solve(blocks, lambda _: None)
        offers = list_offers(search, result, self.price, self.budget)
        offering = Offering(self.sum_up(search, result), offers)
        return self.keep(result, n_roots), offering


@dataclass(frozen=True)
class TakeOffers(SolveSearch):
    """Suppresses what was chosen among the offers of a part's classes."""

    price: float = 0.0
    steps: Sequence[Counts] = ()
    """By part: how many of its offers each class gives."""

    def __call__(self, number: int, arrays: Arrays) -> tuple[Arrays, PartSummary]:
        part = SolvedPart.of(arrays)
        search = self.context.local(part.records).open_search(part.records)
        taken = take_offers(search, part.as_searched, self.price, self.steps[number])
        return self.keep(taken, part.n_roots), self.sum_up(search, taken)


@dataclass(frozen=True)
class SearchWithout(SearchRoughly):
    """Searches a part without the tuples that were suppressed in another stage."""

    is_rough: bool = False
    suppressed: Sequence[NDArray[np.int64]] = ()
    """By part: the numbers of these tuples."""

    def __call__(self, number: int, arrays: Arrays) -> tuple[Arrays, Offering]:  # type: ignore[override]
        context, roots, records = lay_out(self.context, self.roots[number], arrays)
        search = context.open_search(records)
        nodes = search.cut(roots, lambda _: None)
        search.workspaces[0].funnel[:] = 0  # counted before
        remaining = separate_suppressed(search, nodes, self.suppressed[number])
        return self.offer(search, remaining, roots.size)


@dataclass(frozen=True)
class SearchFurther(SolveSearch):
    """Searches below the classes of a part that was solved by the funnel."""

    def __call__(self, number: int, arrays: Arrays) -> tuple[Arrays, PartSummary]:
        del number
        part = SolvedPart.of(arrays)
        search = self.context.local(part.records).open_search(part.records)
        result = search.solve(part.nodes, lambda _: None)
        return self.keep(result, part.n_roots), self.sum_up(search, result)


@dataclass(frozen=True)
class FindSuppressed:
    """Says which tuples of a part are suppressed."""

    def __call__(self, number: int, arrays: Arrays) -> tuple[Arrays, NDArray[np.int64]]:
        del number
        solved = SolvedPart.of(arrays)
        group = class_of_record(solved.nodes, len(solved.records))
        return {}, solved.records[group < 0, -1].astype(np.int64)


@dataclass(frozen=True)
class CheckPart:
    """Returns whether every class of a part passes."""

    context: Context
    constraints: Constraints

    def __call__(self, number: int, arrays: Arrays) -> tuple[Arrays, bool]:
        del number
        solved = SolvedPart.of(arrays)
        group = class_of_record(solved.nodes, len(solved.records))
        table = as_table(self.context.local(solved.records).table, solved.records)
        n_classes = int(np.count_nonzero(solved.nodes["kind"] == layout.CLASS))
        parts = count_groups_in_parts(table, group, n_classes)
        spec = self.context.spec
        return {}, all(all_pass(table, spec, part, self.constraints) for part in parts)
