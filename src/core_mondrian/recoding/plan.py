"""Plan: what becomes of every tuple, decided before any row is touched.

counts ─► encode ─► collapse ─► partition ─► what each class shows
                                                     │
          a source looks the tuple of every row up ◄─┘
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.encoding.allocation import draw_lots, order_rows
from core_mondrian.encoding.encoder import (
    Encoded,
    hash_tuples,
    with_persons_exchanged,
)
from core_mondrian.engine.grow import grow
from core_mondrian.engine.grown import Grown
from core_mondrian.errors import InternalError
from core_mondrian.models.k_anonymity import KAnonymity
from core_mondrian.recoding.labels import number_distinct
from core_mondrian.recoding.recode import (
    Recoded,
    broadcast_labels,
    recode_classes,
    release_digest,
)
from core_mondrian.recoding.representatives import number_leaves
from core_mondrian.runtime.array_types import Codes, Integers
from core_mondrian.runtime.runs import run_members
from core_mondrian.spec.declaration import Spec
from core_mondrian.spec.suppression import Suppression
from core_mondrian.tables.encoded import EncodedTable
from core_mondrian.tables.keys import Key

SUPPRESSED: Final = -1
DIVIDED: Final = -2


class Place(NamedTuple):
    """A column of the release, and what stands in it."""

    name: str
    how: Literal["shown", "carried", "pseudonym"]
    source: str | None
    """The column of the table it is made from; None: it is new."""


class Shares(NamedTuple):
    """Tuples whose rows are in several classes: how many are where.

    One entry per tuple and leaf, rising by tuple; leaf `SUPPRESSED` is none.
    """

    tuple_of: Codes
    leaf: Codes
    rows: Integers
    piece: Codes
    """The number of each entry among the pieces of all tuples."""
    content: NDArray[np.uint64]
    """A hash of each entry's tuple, by value: no other tuple has a say in its lots."""

    @property
    def n_rows(self) -> int:
        return int(self.rows.sum())

    def allocate(
        self, tuples: Codes, contents: NDArray[np.uint64], key: bytes
    ) -> Codes:
        """Return each row's place among these entries, given all rows of its tuple.

        Lots drawn under the key decide, never the order the rows come in.

            tuple_of   4  4  9      rows   2  1  1       entries: 3 rows of 4, 1 of 9
            tuples     9  4  4  4   order  1  3  2  0    by tuple, then at random
            result     2  0  1  0   2 rows of tuple 4 to entry 0, one to entry 1
        """
        owners, which = number_distinct(tuples.astype(np.int64))
        n_found = np.bincount(which)
        first = np.searchsorted(self.tuple_of, owners)
        lots = draw_lots(tuples, self.content[first][which], contents, key)
        order = order_rows(tuples, lots)
        last = np.searchsorted(self.tuple_of, owners, side="right")
        n = last - first
        places = run_members(first, n)
        rows = self.rows[places]
        if not np.array_equal(np.add.reduceat(rows, np.cumsum(n) - n), n_found):
            raise InternalError("the rows of a tuple are not those that were counted")
        place = np.empty(tuples.size, dtype=np.int32)
        place[order] = np.repeat(places, rows)
        return place


@dataclass(frozen=True)
class Plan:
    """What is released of every tuple, and which rows of it go where."""

    spec: Spec
    encoded: Encoded
    """The tuples that came in; ``row_tuple`` says which each counted one is."""
    grown: Grown
    pieces: EncodedTable
    """The same tuples, those in several classes once for each."""
    recoded: Recoded
    """What every class shows."""
    key: Key
    """What decides between rows that should look alike."""

    @property
    def allocation_key(self) -> bytes:
        """Decides which rows of divided tuples go where."""
        return self.key.derive("allocation")

    @property
    def n_rows(self) -> int:
        return self.encoded.table.n_rows

    @property
    def n_suppressed(self) -> int:
        return self.grown.tree.n_suppressed

    @property
    def budget(self) -> int:
        return self.grown.budget

    @cached_property
    def digest(self) -> str:
        """The digest of the release that will come of it."""
        return release_digest(self.recoded, self.spec)

    @cached_property
    def tuple_of_piece(self) -> Integers:
        """The tuple that each piece is of, rising."""
        split_tuples = self.grown.split_tuples
        if split_tuples is None:
            return np.arange(self.pieces.n_tuples)
        return split_tuples.tuple_of

    @cached_property
    def leaf_of_piece(self) -> Codes:
        """The class each piece is in, among all that look different or not."""
        return number_leaves(self.grown)

    @cached_property
    def piece_of_tuple(self) -> Codes:
        """The piece of each tuple; `DIVIDED`: there are several."""
        owner = self.tuple_of_piece
        n_pieces = np.bincount(owner, minlength=self.encoded.table.n_tuples)
        first = np.cumsum(n_pieces) - n_pieces
        return np.where(n_pieces > 1, DIVIDED, first).astype(np.int32)

    @cached_property
    def leaf_of_tuple(self) -> Codes:
        """The class of each tuple; `SUPPRESSED`, or `DIVIDED`: several."""
        piece = self.piece_of_tuple
        leaf = self.leaf_of_piece[np.maximum(piece, 0)]
        return np.where(piece == DIVIDED, np.int32(DIVIDED), leaf)

    @property
    def tuple_of(self) -> Codes:
        """The tuple of each counted one; several may be one, such as NaN and null."""
        return self.encoded.row_tuple

    @property
    def leaf(self) -> Codes:
        """The class of each counted tuple; see `leaf_of_tuple`."""
        return self.leaf_of_tuple[self.tuple_of]

    @cached_property
    def shares(self) -> Shares:
        """Where the rows of divided tuples go."""
        owner = self.tuple_of_piece
        piece = np.flatnonzero(
            (self.piece_of_tuple[owner] == DIVIDED) & (self.pieces.counts > 0)
        )
        return Shares(
            owner[piece].astype(np.int32),
            self.leaf_of_piece[piece],
            self.pieces.counts[piece],
            piece.astype(np.int32),
            hash_tuples(self.encoded, owner[piece]),
        )

    @cached_property
    def shown(self) -> pa.Table:
        """What each class shows: the released columns, one row per leaf.

        Where suppressed rows stay as blanks, there is one more, last, for them.
        """
        leaves = np.arange(self.grown.tree.n_classes, dtype=np.int32)
        if not self.spec.leaves_out:
            leaves = np.append(leaves, np.int32(SUPPRESSED))
        columns = broadcast_labels(self.recoded, leaves, self.spec)
        flat = {name: array for one in columns.values() for name, array in one.items()}
        return pa.table(flat)

    def place_rows(
        self,
        row_tuple: Codes,
        contents_of: Callable[[NDArray[np.intp]], Any],
    ) -> Codes:
        """Return the piece of every row of the table, given all of them.

        ``contents_of`` is asked for the content of rows of divided tuples alone.
        """
        if self.grown.split_tuples is None:
            return row_tuple
        piece = self.piece_of_tuple[row_tuple]
        divided = np.flatnonzero(piece == DIVIDED)
        if divided.size:
            place = self.shares.allocate(
                row_tuple[divided], contents_of(divided), self.allocation_key
            )
            piece[divided] = self.shares.piece[place]
        return piece

    def places(self, names: Sequence[str]) -> list[Place]:
        """Return the columns of the release of a table with such columns, in order."""
        return places_of(self.spec, names, self.shown.column_names)


def places_of(spec: Spec, names: Sequence[str], shown: Sequence[str]) -> list[Place]:
    """Return the columns of the release of a table with such columns, in order.

    ``shown`` are those that classes show.
    """
    names_shown, places = set(shown), []
    for name in names:
        if name in spec.removed:
            continue
        if name in spec.quasi_identifiers:
            new = [bound for bound in spec.bounds_of(name) if bound in names_shown] or [
                name
            ]
            places += [Place(one, "shown", name) for one in new]
        else:
            how = "pseudonym" if name in spec.pseudonyms else "carried"
            places.append(Place(name, how, name))  # type: ignore[arg-type]
    if spec.class_id is not None:
        places.append(Place(spec.class_id, "shown", None))
    return places


def build_plan(
    encoded: Encoded,
    spec: Spec,
    key: Key,
    *,
    threads: int | None = None,
    report: Callable[[float], None] = lambda _: None,
) -> Plan:
    """Grow the tree, and say what every class shows.

    Raises:
        InfeasibleError: no release satisfies the models within the budget.
    """
    grown = grow(encoded.table, spec, threads=threads, report=report)
    exchanged = with_persons_exchanged(encoded, key.derive("persons"))
    return plan_of(exchanged, grown, spec, key, threads)


def plan_of(
    encoded: Encoded,
    grown: Grown,
    spec: Spec,
    key: Key,
    threads: int | None = None,
    used: Sequence[NDArray[np.bool_]] | None = None,
) -> Plan:
    """Say what every class of a grown tree shows.

    ``used``: the codes of each column that are released, if there are other parts.
    """
    pieces = encoded.table
    if grown.split_tuples is not None:
        pieces = grown.split_tuples.of_table(pieces)
    if pieces.present is not None:  # who is of the population only has no rows
        pieces = replace(pieces, counts=np.where(pieces.inside, pieces.counts, 0))
    recoded = recode_classes(
        replace(encoded, table=pieces), grown, spec, key, threads, used
    )
    return Plan(spec, encoded, grown, pieces, recoded, key)


def with_resolved_hierarchies(spec: Spec, encoded: Encoded) -> Spec:
    """Return the spec with the hierarchies that the table was encoded with."""
    trees = {column.name: column.hierarchy for column in encoded.table.columns}
    resolved = {name: tree for name in spec.hierarchies if (tree := trees[name])}
    return replace(spec, hierarchies=resolved)


def tightened_spec(plan: Plan) -> Spec | None:
    """Return a stricter spec, for a release that fails only as a reader sees it.

    Classes that look alike are one class to a reader, and so are suppressed rows that
    stay as blanks and a class that shows nothing. Each may pass, and both together
    fail. And more of a population may fit what a class shows than were counted with
    it. The last resort is the whole table as one class. None: there is none left, or
    it fails for another reason, which would be a fault of ours.
    """
    spec, table, tree = plan.spec, plan.encoded.table, plan.grown.tree
    is_blank = spec.suppressed == "blank" and tree.n_suppressed > 0
    looks_alike = plan.recoded.classes.n_classes != tree.n_classes
    if not is_blank and not looks_alike and spec.population is None:
        return None
    if tree.n_suppressed:
        return replace(spec, suppress=Suppression(rows=0))
    most = table.n_rows
    if table.n_units is not None:
        most = np.unique(table.codes[:, -1]).size
    if spec.min_rows >= most:
        return None
    larger = KAnonymity(min(2 * spec.min_rows, most))
    return replace(spec, models=(*spec.models, larger))
