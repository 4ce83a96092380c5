"""A plan whose tuples and classes stay on disk: for more of them than fit into memory.

    tuples in a store ─► grow_parts ─► describe every part ─► labels, digest, measures
                                              │
                a source looks the tuple of every row up ◄──┘

It answers what `Plan` answers, as far as writing rows asks for it.
"""

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.encoding.encoder import Encoded, digest_input
from core_mondrian.encoding.persons import Profiles
from core_mondrian.engine.grow_parts import GrownParts, grow_parts
from core_mondrian.engine.parts import PartitionStore
from core_mondrian.errors import InternalError, SpecError, list_names
from core_mondrian.measures.column_warnings import find_mistyped
from core_mondrian.measures.disclosure_warnings import (
    DisclosureWarning,
    Generalized,
    KindCounts,
    RowSample,
    find_concerns,
    seen_columns,
)
from core_mondrian.measures.utility import Measures, Reach, finish_measures
from core_mondrian.recoding.plan import (
    DIVIDED,
    Place,
    Shares,
    places_of,
    with_resolved_hierarchies,
)
from core_mondrian.recoding.recode import as_released
from core_mondrian.release.owner_record import SALT
from core_mondrian.release.result import PartedFigures, PartedRelease, Release
from core_mondrian.runtime.stages import Stages
from core_mondrian.sources.class_ledger import ClassLedger
from core_mondrian.sources.mapped_files import give_back, make_file, map_file
from core_mondrian.sources.part_tasks import (
    Blanked,
    Described,
    DescribePart,
    FindReach,
    PartContext,
    PickClasses,
    Picked,
    unpack,
)
from core_mondrian.sources.recounted_plan import RecountedPlan
from core_mondrian.sources.shown_labels import LabelJoin, ShownLabels, ShownParts
from core_mondrian.sources.tuple_relation import as_records
from core_mondrian.sources.tuple_store import LocalStore
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.encoded import EncodedTable, ReleasedClasses
from core_mondrian.tables.keys import Key
from core_mondrian.verification.verify import (
    Verification,
)

Codes = NDArray[np.int32]
DataT = TypeVar("DataT")
DESCRIBED: Final = "described"


class TupleStore(PartitionStore, Protocol):
    """A store that also knows the tuples as they came in."""

    stage: str
    """What is done with parts at the moment."""

    def blanked(self) -> Blanked:
        """Return the tuples of which cells were blanked."""


def make_parted_plan(
    store: LocalStore, encoded: Encoded, spec: Spec, key: Key, stages: Stages
) -> "PartedPlan":
    """Decide what becomes of every tuple of a store.

    ``encoded`` has the columns, and no tuples.

    Raises:
        SpecError: the spec asks for what needs all tuples in memory.
        InfeasibleError: no release satisfies the models within the budget.
    """
    grown, described = describe_parts(store, encoded, spec, key, stages)
    give_back()
    parts = DescribedParts(store, len(described))
    labels, ledger = join_labels(store.connection, store.folder, parts, encoded)
    plan = PartedPlan(encoded, grown, spec, key, described, ledger, labels, store)
    plan.lay_out()
    plan.settle()
    give_back()
    stages.end("describe")
    return plan


def describe_parts(
    store: TupleStore, encoded: Encoded, spec: Spec, key: Key, stages: Stages
) -> tuple[GrownParts, list[Described]]:
    """Grow the tree of a store's tuples, and say what its classes show; see above.

    What is known of each part is the stage `DESCRIBED`.
    """
    grown = grow_parts(store, encoded.table, spec)
    stages.end("partition")
    store.stage = "describe"
    blanked = Blanked.none(len(encoded.table.columns))
    if grown.n_blanked:
        blanked = store.blanked()
    context = PartContext(encoded, grown.context.columns, spec, key, blanked)
    first, *rest = store.run(FindReach(context), grown.stage)
    reach = first
    for other in rest:
        reach = reach.plus(other)
    reaches = tuple(
        Reach(
            np.flatnonzero(encoded.table.code_rows(i)).astype(np.int32),
            np.flatnonzero(flags).astype(np.int32),
        )
        for i, flags in enumerate(reach.original)
    )
    described = store.run(
        DescribePart(context, reach.used, reaches), grown.stage, DESCRIBED
    )
    store.drop(grown.stage)
    return grown, described


def join_labels(
    connection: Any,  # noqa: ANN401
    folder: Path,
    parts: ShownParts,
    encoded: Encoded,
) -> tuple[list[ShownLabels], ClassLedger]:
    """Join what all parts show, column by column, and open a ledger of classes."""
    every = range(len(encoded.table.columns))
    labels = [LabelJoin(connection, folder, parts, i).run() for i in every]
    return labels, ClassLedger(connection, len(labels))


@dataclass(frozen=True)
class DescribedParts:
    """What the parts of a local store show, see `ShownParts`."""

    store: LocalStore
    n_parts: int

    def shown(self, number: int, column: int) -> pa.Array:
        return unpack(self.store.load(DESCRIBED, number, f"shown{column}"))


@dataclass(frozen=True)
class PartedClasses(RecountedPlan):
    """The classes of a release in parts, wherever the parts are."""

    encoded: Encoded
    grown: GrownParts
    spec: Spec
    key: Key
    described: Sequence[Described]
    ledger: ClassLedger
    labels: Sequence[ShownLabels]
    """What all parts show, column by column."""
    store: TupleStore

    @property
    def allocation_key(self) -> bytes:
        """Decides which rows of divided tuples go where."""
        return self.key.derive("allocation")

    @property
    def n_rows(self) -> int:
        return self.encoded.table.n_rows

    @property
    def n_suppressed(self) -> int:
        return self.grown.n_suppressed

    @property
    def budget(self) -> int:
        return self.grown.budget

    @cached_property
    def first_leaf(self) -> list[int]:
        """The number of each part's first leaf, and last how many there are."""
        return [0, *accumulate(one.n_leaves for one in self.described)]

    @property
    def n_leaves(self) -> int:
        return self.first_leaf[-1]

    @property
    def n_split(self) -> int:
        """Rows of tuples that are in several classes."""
        return sum(one.n_split for one in self.described)

    @property
    def names(self) -> list[str]:
        """The quasi-identifiers."""
        return [column.name for column in self.encoded.table.columns]

    def add_part(
        self, number: int, index: Codes, rows: NDArray[np.int64]
    ) -> list[Codes]:
        """Take what the leaves of a part show, and their rows; return the ranks."""
        ranks = [
            shown.of_part(number, index[:, i]) for i, shown in enumerate(self.labels)
        ]
        self.ledger.add(ranks, rows, self.first_leaf[number])
        return ranks

    @cached_property
    def digest(self) -> str:
        """The digest of the release that will come of it; see `release_digest`."""
        pairs = zip(self.names, self.labels, strict=True)
        shown = {name: one.texts() for name, one in pairs}
        return self.ledger.digest(shown, with_blank=self.spec.leaves_out)

    @cached_property
    def measures(self) -> Measures:
        """What was lost; see `finish_measures`.

        Classes of several parts that show the same are measured each by itself: what
        they show may be wider than what they hold.
        """
        first, *rest = (one.sums for one in self.described)
        sums = first
        for other in rest:
            sums = sums.plus(other)
        found = self.ledger.totals
        sums = sums._replace(
            n_classes=found.n_classes,
            smallest_class=found.smallest,
            dm_released=found.squares,
        )
        return finish_measures(sums, self.encoded.table, self.spec)

    def kinds(self) -> KindCounts:
        """Count the classes by what they hide."""
        first, *rest = (one.kinds for one in self.described)
        kinds = first
        for other in rest:
            kinds = kinds.plus(other)
        return kinds

    def show_ranks(
        self, ranks: Sequence[Codes], numbers: NDArray[np.int64] | None = None
    ) -> pa.Table:
        """Return what is shown by ranks of labels and class numbers; -1: blank."""
        flat: dict[str, pa.Array] = {}
        for name, labels, own in zip(self.names, self.labels, ranks, strict=True):
            flat |= as_released(name, labels.show(own), self.spec)
        if self.spec.class_id is not None and numbers is not None:
            mask = numbers < 0
            flat[self.spec.class_id] = pa.array(
                numbers, mask=mask if mask.any() else None
            )
        return pa.table(flat)

    @cached_property
    def shown_schema(self) -> pa.Schema:
        """The columns that classes show, and their types."""
        none = np.zeros(0, dtype=np.int32)
        return self.show_ranks([none for _ in self.names], none.astype(np.int64)).schema

    def places(self, names: Sequence[str]) -> list[Place]:
        """Return the columns of the release of a table with such columns, in order."""
        return places_of(self.spec, names, self.shown_schema.names)

    def look(self, names: Sequence[str]) -> "LookedAtClasses":
        """Pick the classes whose rows are looked at for what they give away."""
        n_columns = len(seen_columns(self.spec, names))
        task = PickClasses(self.kinds(), n_columns, self.first_leaf)
        found = self.store.run(task, DESCRIBED)
        return LookedAtClasses.of(found, self.encoded.table, self.spec, self.n_leaves)

    def release(
        self,
        data: DataT,
        verification: Verification,
        *,
        by: Sequence[str] = (),
        **evidence: Any,  # noqa: ANN401
    ) -> Release[DataT]:
        """Return the release as `anonymize` does; ``data`` says where it is."""
        if by:
            raise SpecError(
                f"losses by {list_names(by)} need all distinct tuples in memory at "
                "once, and here they are too many",
                hint="allow more memory (--memory, --driver-tuples), or do without",
            )
        salt, digests = self.salted_digests
        mistyped = find_mistyped(self.encoded.table, self.spec)
        evidence["warnings"] = (*mistyped, *evidence["warnings"])
        return PartedRelease(
            data=data,
            spec=self.spec,
            tree=cast("Any", None),  # classes are in parts
            funnel=self.grown.funnel,
            verification=verification,
            n_rows=self.n_rows,
            n_suppressed=self.n_suppressed,
            n_blanked=self.encoded.n_blanked + self.grown.n_blanked,
            budget=self.budget,
            _search=self.grown.search,
            balance=None,
            _encoded=self.encoded,
            _pieces=cast("Any", None),
            _recoded=cast("Any", None),
            _key=self.key,
            parted=PartedFigures(
                digest=self.digest,
                measures=self.measures,
                salt=salt,
                digests=digests,
                is_split=self.n_split > 0,
            ),
            **evidence,
        )

    @cached_property
    def salted_digests(self) -> tuple[bytes, dict[str, str]]:
        """A salt, and digests of what came in, as far as that is affordable."""
        return secrets.token_bytes(SALT), {}

    @property
    def judged_by(self) -> tuple[Spec, int]:
        return with_resolved_hierarchies(self.spec, self.encoded), self.budget


@dataclass(frozen=True)
class PartedPlan(PartedClasses):
    """What is released of every tuple of a local store, and which rows go where."""

    store: LocalStore

    def lay_out(self) -> None:
        """Write where each tuple goes, and what each leaf shows, to files."""
        folder, n_tuples = self.store.folder, self.encoded.table.n_tuples
        leaf = make_file(folder / "leaf", np.int32, n_tuples)
        shown = [make_file(path, np.int32, self.n_leaves) for path in self._shown_files]
        self.ledger.open()
        for number, (start, stop) in enumerate(pairwise(self.first_leaf)):
            index, tuples, own, rows = (
                self.store.load(DESCRIBED, number, name)
                for name in ("index", "number", "leaf", "leaf_rows")
            )
            self._place_tuples(leaf, tuples, own, start)
            ranks = self.add_part(number, index, rows)
            for column, rank in zip(shown, ranks, strict=True):
                column[start:stop] = rank

    def _place_tuples(self, leaf: Codes, tuples: Codes, own: Codes, start: int) -> None:
        """Note the leaf of each tuple of a part; those in several are `DIVIDED`."""
        leaf[tuples] = np.where(own < 0, own, own + start)
        is_same = tuples[1:] == tuples[:-1]
        leaf[tuples[1:][is_same]] = DIVIDED

    @property
    def _shown_files(self) -> list[Path]:
        """By column, the ranks of what leaves show."""
        return [self.store.folder / f"shown{i}" for i in range(len(self.names))]

    @cached_property
    def leaf(self) -> Codes:
        """The leaf of each tuple; `SUPPRESSED`, or `DIVIDED`: several."""
        return map_file(self.store.folder / "leaf", np.int32)

    def owners(self, numbers: Codes) -> Codes:
        """Return the same tuples: they are counted as the plan numbers them."""
        return numbers

    def exchanged_persons(self) -> NDArray[np.int64]:
        """Return the person that each is replaced by; see `encoding.persons`."""
        table, shape = self.encoded.table, self.store.shape
        if table.n_units is None:
            raise InternalError("persons that nobody counts")
        others = [name for name in (*shape.codes, *shape.others) if name != "u"]
        profiles = Profiles(table.n_units)
        for batch in self.store.scan(
            f"SELECT {', '.join([*others, 'u', 'n'])} FROM tuples"
        ):
            person = batch["u"].to_numpy().astype(np.int64)
            rows = batch["n"].to_numpy().astype(np.int64)
            # Rows of nobody are not a person's: no profile is like theirs.
            counts = np.where(person == table.n_units - 1, -rows, rows)
            profiles.add(as_records(batch, others), person, counts)
        return profiles.draw(self.key.derive("persons"))

    @cached_property
    def shares(self) -> Shares:
        """Where the rows of divided tuples go."""
        found: list[list[NDArray[Any]]] = []
        for number, start in enumerate(self.first_leaf[:-1]):
            tuples, leaf, rows, content = (
                self.store.load(DESCRIBED, number, name)
                for name in ("number", "leaf", "rows", "content")
            )
            own = np.flatnonzero(self.leaf[tuples] == DIVIDED)
            own = own[rows[own] > 0]
            leaf = np.where(leaf < 0, leaf, leaf + start).astype(np.int32)
            found.append([x[own] for x in (tuples, leaf, rows, content)])
        tuples, leaf, rows, content = (
            np.concatenate(x) for x in zip(*found, strict=True)
        )
        # Pieces of one tuple are in one part, and keep their order.
        order = np.argsort(tuples, kind="stable")
        piece = np.arange(order.size, dtype=np.int32)
        sums = rows[order].astype(np.int64)
        return Shares(tuples[order], leaf[order], sums, piece, content[order])

    @cached_property
    def _ranks(self) -> list[Codes]:
        return [map_file(path, np.int32) for path in self._shown_files]

    @cached_property
    def _class_numbers(self) -> NDArray[np.int64]:
        """The number of each leaf's class; -1: none."""
        path = self.store.folder / "numbers"
        with path.open("wb") as file:
            for numbers in self.ledger.numbers(with_blank=self.spec.leaves_out):
                numbers.tofile(file)
        return map_file(path, np.int64)

    def settle(self) -> None:
        """Find out all that the database is asked for, so that it may be closed."""
        _ = self.digest, self.measures, self.salted_digests
        if self.spec.class_id is not None:
            _ = self._class_numbers

    def show(self, leaves: Codes) -> pa.Table:
        """Return what rows of leaves show; those below 0 are blank."""
        inside, is_blank = np.maximum(leaves, 0), leaves < 0

        def taken(known: NDArray[Any]) -> NDArray[Any]:
            own = known[inside] if known.size else np.full(leaves.size, -1, known.dtype)
            return np.where(is_blank, known.dtype.type(-1), own)

        has_numbers = self.spec.class_id is not None
        numbers = taken(self._class_numbers) if has_numbers else None
        return self.show_ranks([taken(ranks) for ranks in self._ranks], numbers)

    @cached_property
    def salted_digests(self) -> tuple[bytes, dict[str, str]]:
        salt = secrets.token_bytes(SALT)
        names = [*self.store.shape.codes, *self.store.shape.others]

        def codes() -> Iterator[bytes]:
            for batch in self.store.scan(f"SELECT {', '.join(names)} FROM tuples"):
                columns = [batch[name].to_numpy() for name in names]
                yield np.stack(columns, axis=1).astype("<i4").tobytes()

        def counts() -> Iterator[bytes]:
            for batch in self.store.scan("SELECT n FROM tuples"):
                yield batch["n"].to_numpy().astype("<i8").tobytes()

        return salt, {"input": digest_input(self.encoded, salt, codes(), counts())}


@dataclass(frozen=True)
class LookedAtClasses:
    """Classes that were picked by lot, and their tuples."""

    release: Generalized
    spec: Spec
    number: NDArray[np.int64]
    leaf: NDArray[np.int64]
    n_leaves: int

    @classmethod
    def of(
        cls, parts: Sequence[Picked], table: EncodedTable, spec: Spec, n_leaves: int
    ) -> "LookedAtClasses":
        first = np.cumsum([0, *(part.rows.size for part in parts)])
        pairs = zip(parts, first.tolist(), strict=False)
        owner = np.concatenate([part.owner + at for part, at in pairs])
        joined = Picked(*(np.concatenate(x) for x in zip(*parts, strict=True)))
        tuples = replace(
            table,
            sensitive=(),
            codes=joined.codes,
            counts=joined.counts,
            n_units=None,
            figures=None,
        )
        classes = ReleasedClasses(owner.astype(np.int32), joined.rows, (), ())
        release = Generalized(
            tuples,
            classes,
            np.ascontiguousarray(joined.mixed.T),
            chance=joined.chance,
            n_classes=n_leaves,
        )
        return cls(release, spec, joined.number, joined.leaf, n_leaves)

    @property
    def leaves(self) -> NDArray[np.bool_]:
        """Return of each leaf whether its rows are looked at; last, suppressed rows."""
        flags = np.zeros(self.n_leaves + 1, dtype=np.bool_)
        flags[self.leaf] = True
        return flags

    def pieces(self, tuples: Codes, leaves: Codes) -> Codes:
        """Return the places of rows' tuples among those of the picked classes."""
        known = self.number * (self.n_leaves + 1) + self.leaf
        order = np.argsort(known, kind="stable")
        asked = tuples.astype(np.int64) * (self.n_leaves + 1) + leaves
        found = order[np.searchsorted(known, asked, sorter=order)]
        return found.astype(np.int32)

    def find_concerns(self, looked: RowSample) -> tuple[DisclosureWarning, ...]:
        """Say what columns that pass through may give away, by what was seen."""
        # One column after the other: who has the rows does one thing at a time.
        return find_concerns(looked, self.spec, self.release, threads=1)
