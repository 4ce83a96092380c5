"""make_plan(): a plan from counts alone, for rows that are elsewhere.

Files larger than memory, databases and clusters count their tuples, get a plan, and
carry it out themselves; what they made is recounted before it is given away.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.encoding.collapse import TuplePacker
from core_mondrian.encoding.encoder import collapse, encode, weigh_tuples
from core_mondrian.errors import InternalError, PrivacyViolation, SpecError, list_names
from core_mondrian.measures.disclosure_warnings import (
    Generalized,
    sample_leaves,
    seen_columns,
)
from core_mondrian.measures.groups import count_groups
from core_mondrian.recoding.plan import (
    Plan,
    Shares,
    build_plan,
    tightened_spec,
    with_resolved_hierarchies,
)
from core_mondrian.release.from_plan import release_from
from core_mondrian.release.result import Release
from core_mondrian.runtime.stages import Stages
from core_mondrian.sources.row_plan import LookedAtRows, RowPlan
from core_mondrian.sources.tuple_counts import TupleCounts
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.frames import check_columns, open_frame, row_weights
from core_mondrian.tables.keys import Key
from core_mondrian.verification.verify import Verification

DataT = TypeVar("DataT")
Integers = NDArray[np.int64]
Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Entries:
    """Counted tuples, divided as their rows are: which piece, how many rows."""

    counted: Integers
    piece: Codes
    rows: Integers


@dataclass(frozen=True)
class RemotePlan(RowPlan):
    """A plan, and the counts it was made from."""

    plan: Plan
    counts: TupleCounts
    spec: Spec
    """As asked; the plan's may be stricter."""
    budget: int
    key: Key

    @property
    def judged_by(self) -> tuple[Spec, int]:
        plan = self.plan
        return with_resolved_hierarchies(plan.spec, plan.encoded), plan.budget

    @property
    def n_rows(self) -> int:
        return self.plan.n_rows

    @property
    def n_suppressed(self) -> int:
        return self.plan.n_suppressed

    @property
    def n_leaves(self) -> int:
        return self.plan.grown.tree.n_classes

    @cached_property
    def leaf(self) -> Codes:
        return self.plan.leaf

    def owners(self, numbers: Codes) -> Codes:
        # Several counted ones may be one tuple.
        return self.plan.tuple_of[numbers]

    @property
    def shares(self) -> Shares:
        return self.plan.shares

    @property
    def shown_schema(self) -> pa.Schema:
        return self.plan.shown.schema

    def show(self, leaves: Codes) -> pa.Table:
        shown_at = np.where(leaves < 0, self.n_leaves, leaves)
        return self.plan.shown.take(pa.array(shown_at))

    def look(self, names: Sequence[str]) -> LookedAtRows:
        plan = self.plan
        release = Generalized.of(plan.pieces, plan.recoded.classes)
        leaves = sample_leaves(plan, release, len(seen_columns(self.spec, names)))
        return LookedAtRows(
            self.spec, release, leaves, plan.tuple_of_piece, plan.leaf_of_piece
        )

    def entries(self) -> Entries:
        """Divide the counted tuples as their rows are, tuple by tuple."""
        plan = self.plan
        order = np.argsort(plan.tuple_of, kind="stable")
        order = order[self.counts.rows[order] > 0]
        if plan.grown.split_tuples is None:
            return Entries(order, plan.tuple_of[order], self.counts.rows[order])
        # Both sides cover the same rows, tuple by tuple: cut them at all edges.
        owner = plan.tuple_of_piece
        inside = np.flatnonzero(plan.pieces.counts > 0)
        ends = np.cumsum(self.counts.rows[order])
        piece_ends = np.cumsum(plan.pieces.counts[inside])
        edges = np.union1d(ends, piece_ends)
        counted = order[np.searchsorted(ends, edges)]
        piece = inside[np.searchsorted(piece_ends, edges)]
        if not np.array_equal(plan.tuple_of[counted], owner[piece]):
            raise InternalError("pieces are not of the tuples that were counted")
        return Entries(counted, piece.astype(np.int32), np.diff(edges, prepend=0))

    def release(
        self,
        data: DataT,
        verification: Verification,
        *,
        by: Sequence[str] = (),
        **evidence: Any,  # noqa: ANN401
    ) -> Release[DataT]:
        equity = () if self.spec.equity is None else (self.spec.equity,)
        named = tuple(dict.fromkeys((*by, *equity)))
        if named or self.spec.weight is not None:
            evidence |= self._weigh(named)
        made = release_from(self.plan, data, verification, **evidence)
        return replace(made, spec=self.spec, budget=self.budget)

    def _weigh(self, by: Sequence[str]) -> dict[str, Any]:
        """Return what measures by weight or by group need."""
        entries, spec = self.entries(), self.spec
        values = self.counts.values.take(pa.array(entries.counted))
        frame, weights = open_frame(values), None
        if spec.weight is not None:
            placed = replace(
                self.plan.encoded, table=self.plan.pieces, row_tuple=entries.piece
            )
            each = row_weights(frame, spec.weight)
            weights = weigh_tuples(placed, each, entries.rows)
        groups = {
            name: count_groups(frame, name, entries.piece, spec, entries.rows)
            for name in by
        }
        return {"_weights": weights, "_groups": groups}


def make_plan(
    counts: TupleCounts,
    spec: Spec,
    key: Key,
    *,
    by: Sequence[str] = (),
    threads: int | None = None,
    stages: Stages | None = None,
) -> RemotePlan:
    """Decide what becomes of every counted tuple, and check that it passes.

    Raises:
        SpecError: the spec names columns that were not counted, or asks for what can
            be done only with all rows in memory.
        DataError: a column cannot be encoded.
        InfeasibleError: no release satisfies the models within the budget.
    """
    frame = open_frame(counts.values)
    check_columns(frame, (*spec.quasi_identifiers, *spec.sensitive_and_equity))
    _check_groups(spec, by)
    stages = Stages(None) if stages is None else stages
    coded = encode(frame, spec, stages.report("encode"), threads, counts.rows)
    stages.end("encode")
    stages.report("collapse")
    encoded = collapse(coded)
    stages.end("collapse")
    report = stages.report("partition")

    def draw(asked: Spec) -> Plan:
        return build_plan(encoded, asked, key, threads=threads, report=report)

    planned = _draw_up(draw, counts, spec)
    stages.end("partition")
    return planned


def _check_groups(spec: Spec, by: Sequence[str]) -> None:
    known = {*spec.quasi_identifiers, *spec.sensitive_and_equity}
    if others := [name for name in by if name not in known]:
        raise SpecError(
            f"losses by {list_names(others)} cannot be computed from counts",
            hint="name quasi-identifiers or sensitive columns, or read all rows into "
            "memory",
        )


def _draw_up(
    draw: Callable[[Spec], Plan], counts: TupleCounts, asked: Spec
) -> RemotePlan:
    """Plan until it passes as a reader will see it; see `tightened_spec`."""
    spec, budget = asked, None
    while True:
        plan = draw(spec)
        budget = plan.budget if budget is None else budget
        planned = RemotePlan(plan, counts, asked, budget, plan.key)
        try:
            _check(planned)
        except PrivacyViolation:
            stricter = tightened_spec(plan)
            if stricter is None:
                raise
            spec = stricter
        else:
            return planned


def _check(planned: RemotePlan) -> None:
    """Verify the release as it is planned, so that no row is written in vain."""
    plan, spec = planned.plan, planned.plan.spec
    entries = _by_class(planned, planned.entries())
    leaf = plan.leaf_of_piece[entries.piece]
    kept = np.flatnonzero(leaf >= 0) if spec.leaves_out else np.arange(leaf.size)
    shown = plan.shown.take(pa.array(leaf[kept] % plan.shown.num_rows))
    counted = planned.counts.values.take(pa.array(entries.counted[kept]))
    unit = () if spec.unit is None else (spec.unit,)
    for name in dict.fromkeys((*spec.sensitive, *unit)):
        column = counted.column(name)
        if name in spec.sensitive and not spec.leaves_out:
            places = pa.array(np.arange(len(column)), mask=leaf[kept] < 0)
            column = column.take(places)
        shown = shown.append_column(name, column)
    planned.requirements.verify(shown, entries.rows[kept], shown.column_names)


def _by_class(planned: RemotePlan, entries: Entries) -> Entries:
    """Return one entry for all that no model can tell apart: most tuples of a class."""
    plan = planned.plan
    pieces, leaf = plan.pieces, plan.leaf_of_piece[entries.piece]
    others = pieces.codes[:, len(pieces.columns) :]
    sizes = [plan.grown.tree.n_classes + 1]
    sizes += [int(codes.max(initial=0)) + 1 for codes in others.T]
    packer = TuplePacker([size.bit_length() for size in sizes], leaf.size)
    packer.append(leaf + 1)
    for codes in others.T:
        packer.append(np.ascontiguousarray(codes)[entries.piece])
    found = packer.collapse(entries.rows)
    first = np.zeros(found.counts.size, dtype=np.int64)
    first[found.row_tuple] = np.arange(leaf.size)
    return Entries(entries.counted[first], entries.piece[first], found.counts)
