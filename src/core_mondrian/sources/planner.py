"""What becomes of counted tuples: decided in memory, or part by part on disk."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from core_mondrian.encoding.collapse import TuplePacker, n_words
from core_mondrian.encoding.encoder import encode_values, tuple_columns
from core_mondrian.engine.grow_parts import check_parts
from core_mondrian.runtime.progress import Throughput
from core_mondrian.runtime.stages import Stages
from core_mondrian.sources.mapped_files import give_back
from core_mondrian.sources.memory import Limit
from core_mondrian.sources.parted_plan import make_parted_plan
from core_mondrian.sources.remote_plan import make_plan
from core_mondrian.sources.row_coder import Codes, TupleIndex, TupleWords, open_words
from core_mondrian.sources.row_plan import RowPlan
from core_mondrian.sources.tuple_counts import CodedTuples, TupleCounts, gather
from core_mondrian.sources.tuple_relation import TupleShape
from core_mondrian.sources.tuple_store import LocalStore
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.keys import Key


class Planned(NamedTuple):
    """A plan, and how rows find their tuples in it."""

    plan: RowPlan
    lookup: TupleIndex
    places: Sequence[int]
    """Which of the counted columns that asks for."""


@dataclass(frozen=True)
class Planner:
    """What a plan is made with."""

    spec: Spec
    key: Key
    limit: Limit
    stages: Stages
    threads: int
    folder: Path
    """Ours alone, for tuples that do not fit into memory."""
    by: tuple[str, ...] = ()
    needs_all: tuple[str, ...] = ()
    """What is asked that takes all tuples in memory."""

    def plan(self, tuples: CodedTuples) -> Planned:
        """Decide what becomes of counted tuples.

        Raises:
            SpecError: the spec does not fit them, or needs all of them in memory.
            InfeasibleError: no release satisfies the models within the budget.
        """
        fits = self.has_room(tuples)
        planned = self._in_memory(tuples) if fits else self._on_disk(tuples)
        give_back()
        return planned

    def has_room(self, tuples: CodedTuples) -> bool:
        """Return whether a plan of tuples fits into memory."""
        n_columns, policy = len(tuples.columns), self.spec.policy.base
        return tuples.n_counted <= self.limit.tuples_in_memory(n_columns, policy)

    def _in_memory(self, tuples: CodedTuples) -> Planned:
        every = range(len(tuples.columns))
        bits = [len(tuples.meanings[name]).bit_length() for name in tuples.columns]
        codes, rows = gather(tuples)
        found = _pack(bits, list(codes.T)).collapse(rows, self.threads)
        if found.counts.size < rows.size:  # as of NaN and a missing value
            codes, rows = found.codes, found.counts
        del found
        plan = make_plan(
            TupleCounts.of(tuples, codes, rows),
            self.spec,
            self.key,
            by=self.by,
            threads=self.threads,
            stages=self.stages,
        )
        words = TupleWords(_pack(bits, list(codes.T)).words)
        return Planned(plan, TupleIndex(bits, words), every)

    def _on_disk(self, tuples: CodedTuples) -> Planned:
        asked = (*self.needs_all, *(["--by"] if self.by else []))
        check_parts(self.spec, asked)  # before the long work
        columns = list(tuples.columns)
        places = [columns.index(name) for name in tuple_columns(self.spec)]
        limits = self.limit.store(len(columns), self.spec.policy.base, self.threads)
        folder = self.folder / "store"
        folder.mkdir(mode=0o700)
        with closing(LocalStore(folder, limits, self.stages)) as store:
            coded = encode_values(tuples.meanings, tuples.rows, self.spec)
            store.open(TupleShape(coded.encoded.table))
            self._fill(store, tuples, places, coded.codes)
            encoded = coded.with_tuples(store.finish())
            give_back()
            plan = make_parted_plan(store, encoded, self.spec, self.key, self.stages)
            maps = list(coded.codes)
            if self.spec.unit is not None:
                maps[-1] = plan.exchanged_persons()[maps[-1]].astype(np.int32)
        give_back()
        room = self.limit.free // 3
        words = open_words(store.words_file, n_words(store.bits), room)
        return Planned(plan, TupleIndex(store.bits, words, maps), places)

    def _fill(
        self,
        store: LocalStore,
        tuples: CodedTuples,
        places: Sequence[int],
        maps: Sequence[Codes],
    ) -> None:
        """Put tuples into a store; ``maps`` say what the codes of columns are there."""
        throughput = Throughput(self.stages.report("collapse"))
        for codes, rows in tuples.chunks():
            own = [x[codes[:, i]] for x, i in zip(maps, places, strict=True)]
            store.add(_pack(store.bits, own).words, rows)
            self.limit.check_now()
            n_done = throughput.n_rows + rows.size
            throughput.step(rows.size, min(n_done / max(tuples.n_counted, 1), 1.0))
        self.stages.end("collapse")


def _pack(bits: list[int], columns: Sequence[Codes]) -> TuplePacker:
    packer = TuplePacker(bits, columns[0].size)
    for codes in columns:
        packer.append(np.ascontiguousarray(codes))
    return packer
