"""A plan for tuples that are on disk, and how their rows find it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.encoding.collapse import TuplePacker, n_words
from core_mondrian.encoding.encoder import encode_values, tuple_columns
from core_mondrian.engine.grow_parts import check_parts
from core_mondrian.runtime.progress import Throughput
from core_mondrian.runtime.stages import Stages
from core_mondrian.sources.mapped_files import give_back
from core_mondrian.sources.memory import Limit
from core_mondrian.sources.parted_plan import PartedPlan, make_parted_plan
from core_mondrian.sources.row_coder import Codes, TupleIndex, open_words
from core_mondrian.sources.tuple_relation import TupleShape
from core_mondrian.sources.tuple_store import LocalStore
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.keys import Key

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class DiskPlanner:
    """What a plan on disk is made of."""

    store: LocalStore
    spec: Spec
    key: Key
    limit: Limit
    stages: Stages

    def plan(
        self,
        meanings: Mapping[str, pa.Array],
        rows: Mapping[str, Integers],
        chunks: Iterable[tuple[Sequence[Codes], Integers]],
        n_counted: int,
    ) -> tuple[PartedPlan, TupleIndex]:
        """Put tuples into the store, and decide what becomes of them.

        ``meanings`` says by column what its codes mean, and ``rows`` how many rows have
        each. ``chunks`` are tuples, their codes column by column as `tuple_columns` has
        them, and their rows, ``n_counted`` in all; one may be there several times. The
        store is closed.

        Raises:
            SpecError: the spec asks for what needs all tuples in memory.
            InfeasibleError: no release satisfies the models within the budget.
        """
        check_parts(self.spec)  # before the long work
        coded = encode_values(meanings, rows, self.spec)
        throughput = Throughput(self.stages.report("collapse"))
        store = self.store
        store.open(TupleShape(coded.encoded.table))
        for columns, counts in chunks:
            packer = TuplePacker(store.bits, counts.size)
            for own, codes in zip(coded.codes, columns, strict=True):
                packer.append(own[codes])
            store.add(packer.words, counts)
            self.limit.check_now()
            n_done = throughput.n_rows + counts.size
            throughput.step(counts.size, min(n_done / max(n_counted, 1), 1.0))
        self.stages.end("collapse")
        encoded = coded.with_tuples(store.finish())
        give_back()
        plan = make_parted_plan(store, encoded, self.spec, self.key, self.stages)
        maps = list(coded.codes)
        if self.spec.unit is not None:
            maps[-1] = plan.exchanged_persons()[maps[-1]].astype(np.int32)
        store.close()
        give_back()
        room = self.limit.free // 3
        words = open_words(store.words_file, n_words(store.bits), room)
        return plan, TupleIndex(store.bits, words, maps)


def tuple_places(columns: Sequence[str], spec: Spec) -> list[int]:
    """Return where among columns those are whose codes are a tuple."""
    return [columns.index(name) for name in tuple_columns(spec)]
