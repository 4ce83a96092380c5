"""What classes of a part show, and what is known of them: done where the part is."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.encoding.encoder import Encoded
from core_mondrian.engine.funnel_counts import Funnel
from core_mondrian.engine.grown import Grown, number_split_tuples
from core_mondrian.engine.inputs import with_scratch
from core_mondrian.engine.layout import Codes, Columns, Counts
from core_mondrian.engine.parts import Arrays, SolvedPart, class_of_record
from core_mondrian.engine.scheduler import number_nodes
from core_mondrian.engine.tree import freeze
from core_mondrian.measures.disclosure_warnings import (
    Generalized,
    KindCounts,
    are_picked,
)
from core_mondrian.measures.utility import MeasureSums, Reach, sum_part
from core_mondrian.recoding.plan import DIVIDED, Plan, Shares, plan_of
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.keys import Key

Flags = NDArray[np.bool_]


class Blanked(NamedTuple):
    """Tuples of which cells were blanked to repair their missing pattern."""

    numbers: NDArray[np.int64]
    """Rising."""
    codes: Codes
    """Their quasi-identifiers as they came in."""

    @staticmethod
    def none(n_columns: int) -> "Blanked":
        """Return that there are none."""
        empty = np.zeros((0, n_columns), dtype=np.int32)
        return Blanked(np.zeros(0, dtype=np.int64), empty)


@dataclass(frozen=True)
class PartContext:
    """All that it takes to say what the classes of a part show."""

    encoded: Encoded
    """The columns and their values, without tuples."""
    columns: Columns
    spec: Spec
    key: Key
    blanked: Blanked

    def open(self, arrays: Arrays, used: Sequence[Flags] | None = None) -> Plan:
        """Return the plan of one part, as if it were a table of its own.

        ``used`` says which codes of each column are released anywhere.
        """
        part = SolvedPart.of(arrays)
        table = self.encoded.table
        numbers, first, local = np.unique(
            part.records[:, -1], return_index=True, return_inverse=True
        )
        codes = np.ascontiguousarray(part.records[first, :-2])
        self.restore(codes, numbers)
        counts = np.bincount(local.ravel(), part.records[:, -2]).astype(np.int64)
        n_units = None if table.n_units is None else int(codes[:, -1].max()) + 1
        tuples = replace(
            table,
            codes=codes,
            counts=counts,
            n_rows=int(counts.sum()),
            n_units=n_units,
            figures=None,
        )
        part.records[:, -1] = local.ravel()
        encoded = replace(self.encoded, table=tuples)
        return plan_of(
            encoded=encoded,
            grown=self._grown(part),
            spec=replace(self.spec, class_id=None),
            key=self.key,
            threads=1,
            used=used,
        )

    def restore(self, codes: Codes, numbers: NDArray[np.integer[Any]]) -> None:
        """Put cells that were blanked back into the codes of tuples."""
        own = np.flatnonzero(np.isin(numbers, self.blanked.numbers))
        place = np.searchsorted(self.blanked.numbers, numbers[own])
        codes[own, : self.blanked.codes.shape[1]] = self.blanked.codes[place]

    def _grown(self, part: SolvedPart) -> Grown:
        names = self.encoded.table.names
        kinds = tuple(column.kind for column in self.encoded.table.columns)
        pieces = number_split_tuples(part.records)
        tuples = with_scratch(part.records)
        tree = freeze(number_nodes(part.nodes, part.n_roots), tuples, names)
        none = Funnel(names, kinds, np.zeros((0, len(names)), dtype=np.int64))
        return Grown(tree, none, 0, 0, tuples, self.columns, pieces)


class PartReach(NamedTuple):
    """Which codes of each quasi-identifier the released rows of a part have."""

    used: tuple[Flags, ...]
    """Where cells were blanked, the missing one."""
    original: tuple[Flags, ...]
    """As they came in."""

    def plus(self, other: "PartReach") -> "PartReach":
        """Return the codes of both."""
        pairs = zip(self, other, strict=True)
        used, original = (
            tuple(x | y for x, y in zip(*both, strict=True)) for both in pairs
        )
        return PartReach(used, original)


@dataclass(frozen=True)
class FindReach:
    """Says which codes are released: ranges on a grid, and measures, depend on it."""

    context: PartContext

    def __call__(self, number: int, arrays: Arrays) -> tuple[Arrays, PartReach]:
        del number
        part = SolvedPart.of(arrays)
        group = class_of_record(part.nodes, len(part.records))
        records = part.records[group >= 0]
        used = self._flags(records)
        self.context.restore(records, records[:, -1])
        return {}, PartReach(used, self._flags(records))

    def _flags(self, records: Codes) -> tuple[Flags, ...]:
        found = []
        for i, column in enumerate(self.context.encoded.table.columns):
            flags = np.zeros(column.n_values + 1, dtype=np.bool_)
            flags[records[:, i]] = True
            found.append(flags)
        return tuple(found)


class Described(NamedTuple):
    """What is known here of a part whose classes are described."""

    n_leaves: int
    sums: MeasureSums
    kinds: KindCounts
    n_split: int
    """Rows of tuples that are in several classes."""


@dataclass(frozen=True)
class DescribePart:
    """Says what every class of a part shows, and where the rows of its tuples go.

    Arrays that are kept, where a piece is a tuple, or what of it is in one class:

        shown0 …  what its classes show, column by column, packed; no two are equal
        index     by leaf and column: what it shows, among what the part shows; -1 blank
        leaf_rows
        number    of each piece: its tuple; rising
        leaf      its leaf in the part; -1 suppressed
        rows      and how many rows it has
        content   a hash of its tuple, if that is split
        codes     its quasi-identifiers
        owner     its class: leaves that show the same are one
        mixed     by class and column: whether several values are hidden there
        class_rows
    """

    context: PartContext
    used: tuple[Flags, ...]
    reaches: tuple[Reach, ...]

    def __call__(self, number: int, arrays: Arrays) -> tuple[Arrays, Described]:
        del number
        numbers = np.unique(arrays["records"][:, -1])
        plan = self.context.open(arrays, self.used)
        recoded, pieces = plan.recoded, plan.pieces
        labels = list(recoded.labels.values())
        sums = sum_part(pieces, recoded.classes, self.context.spec, self.reaches)
        n_leaves = plan.grown.tree.n_classes
        # The first place is that of suppressed rows.
        rows = np.bincount(plan.leaf_of_piece + 1, pieces.counts, n_leaves + 1)[1:]
        content = np.zeros(pieces.n_tuples, dtype=np.uint64)
        content[plan.shares.piece] = plan.shares.content
        generalized = Generalized.of(plan.pieces, plan.recoded.classes)
        kept: dict[str, NDArray[Any]] = {
            "index": np.stack([one.index for one in labels], axis=1),
            "leaf_rows": rows.astype(np.int64),
            "number": numbers[plan.tuple_of_piece].astype(np.int32),
            "leaf": plan.leaf_of_piece,
            "rows": pieces.counts.astype(np.int32),
            "content": content,
            "codes": pieces.codes[:, : len(pieces.columns)].astype(np.int32),
            "owner": recoded.classes.of_tuple,
            "mixed": generalized.is_mixed.T,
            "class_rows": recoded.classes.rows,
        }
        shown = {f"shown{i}": pack(one.shown) for i, one in enumerate(labels)}
        return kept | shown, Described(
            n_leaves,
            sums,
            generalized.kinds(),
            plan.shares.n_rows,
        )


@dataclass(frozen=True)
class TakeArrays:
    """Hands out some of the arrays that are kept of a part."""

    names: Sequence[str]

    def __call__(self, number: int, arrays: Arrays) -> tuple[Arrays, Arrays]:
        del number
        return {}, {name: arrays[name] for name in self.names}


class Pieces(NamedTuple):
    """The pieces of a described part's tuples, tuple by tuple."""

    number: NDArray[np.int32]
    leaf: NDArray[np.int32]
    """Among those of all parts; `SUPPRESSED`: none."""
    rows: NDArray[np.int32]
    content: NDArray[np.uint64]
    is_divided: Flags

    @classmethod
    def of(cls, arrays: Arrays, first_leaf: int) -> "Pieces":
        """Read what `DescribePart` keeps."""
        number, leaf, rows, content = (
            arrays[name] for name in ("number", "leaf", "rows", "content")
        )
        leaf = np.where(leaf < 0, leaf, leaf + first_leaf).astype(np.int32)
        is_same = number[1:] == number[:-1]
        is_divided = np.append(False, is_same) | np.append(is_same, False)
        return cls(number, leaf, rows, content, is_divided)

    def places(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return tuples, and the leaf of each; `DIVIDED`: several."""
        first = np.flatnonzero(np.diff(self.number, prepend=-1))
        leaf = np.where(self.is_divided[first], np.int32(DIVIDED), self.leaf[first])
        return self.number[first], leaf

    def shares(self) -> Shares:
        """Return how many rows of divided tuples go where."""
        own = np.flatnonzero(self.is_divided & (self.rows > 0)).astype(np.int32)
        rows = self.rows[own].astype(np.int64)
        return Shares(self.number[own], self.leaf[own], rows, own, self.content[own])


def pack(array: pa.Array) -> NDArray[np.uint8]:
    """Return an Arrow array as bytes."""
    sink = pa.BufferOutputStream()
    batch = pa.record_batch([array], names=["shown"])
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)


def unpack(packed: NDArray[np.uint8]) -> pa.Array:
    """Return what was packed."""
    with pa.ipc.open_stream(pa.py_buffer(packed)) as reader:
        return reader.read_next_batch().column(0)


class Picked(NamedTuple):
    """Classes of a part whose rows are looked at for what they give away."""

    number: NDArray[np.int64]
    """Of each of their pieces: the tuple."""
    leaf: NDArray[np.int64]
    """And its leaf, among those of all parts."""
    codes: Codes
    counts: Counts
    owner: NDArray[np.int64]
    """Its class, from 0 on among those picked."""
    mixed: Flags
    rows: Counts
    chance: NDArray[np.float64]
    """Of each class, to be picked."""


@dataclass(frozen=True)
class PickClasses:
    """Picks classes by lot, with the chances that their kinds have."""

    kinds: KindCounts
    """Of all parts."""
    n_columns: int
    """Columns that are looked at."""
    first_leaf: Sequence[int]
    """By part: the number of its first leaf."""

    def __call__(self, number: int, arrays: Arrays) -> tuple[Arrays, Picked]:
        mixed = arrays["mixed"]
        chance = self.kinds.shares(mixed.T, self.n_columns)
        # Leaves of all parts are numbered, and no part has more classes than leaves.
        picked = are_picked(chance, self.first_leaf[number])
        place = np.cumsum(picked) - 1
        owner = arrays["owner"].astype(np.int64)
        inside = np.flatnonzero(np.append(picked, False)[owner])
        return {}, Picked(
            arrays["number"][inside].astype(np.int64),
            arrays["leaf"][inside].astype(np.int64) + self.first_leaf[number],
            arrays["codes"][inside],
            arrays["rows"][inside].astype(np.int64),
            place[owner[inside]],
            mixed[picked],
            arrays["class_rows"][picked],
            chance[picked],
        )
