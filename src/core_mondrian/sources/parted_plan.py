"""A plan whose tuples and classes stay on disk: for more of them than fit into memory.

    tuples in a store ─► grow_parts ─► describe every part ─► labels, digest, measures
                                              │
                a source looks the tuple of every row up ◄──┘

It answers what `Plan` answers, as far as writing rows asks for it.
"""

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
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
    Generalized,
    KindCounts,
    seen_columns,
)
from core_mondrian.measures.utility import Measures, Reach, finish_measures
from core_mondrian.recoding.plan import (
    Shares,
    with_resolved_hierarchies,
)
from core_mondrian.recoding.recode import as_released
from core_mondrian.release.owner_record import SALT
from core_mondrian.release.result import PartedFigures, PartedRelease, Release
from core_mondrian.runtime.stages import Stages
from core_mondrian.sources.mapped_files import give_back, make_file, map_file
from core_mondrian.sources.part_tasks import (
    Blanked,
    Described,
    DescribePart,
    FindReach,
    PartContext,
    PickClasses,
    Picked,
    Pieces,
    unpack,
)
from core_mondrian.sources.row_plan import LookedAtRows, ReleasePlan, RowPlan
from core_mondrian.sources.shown_labels import ClassLedger, LabelJoin, ShownLabels
from core_mondrian.sources.tuple_relation import as_records
from core_mondrian.sources.tuple_store import LocalStore, PartFiles
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.encoded import ReleasedClasses
from core_mondrian.tables.keys import Key
from core_mondrian.verification.verify import Verification

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
    labels, ledger = join_labels(store.connection, store.files, described, encoded)
    plan = PartedPlan(
        encoded=encoded,
        grown=grown,
        spec=spec,
        key=key,
        described=described,
        ledger=ledger,
        labels=labels,
        files=store.files,
        store=store,
    )
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
    files: PartFiles,
    described: Sequence[Described],
    encoded: Encoded,
) -> tuple[list[ShownLabels], ClassLedger]:
    """Join what all parts show, column by column, and open a ledger of classes."""

    def shown(column: int) -> Iterator[pa.Array]:
        for number in range(len(described)):
            yield unpack(files.load(DESCRIBED, number, f"shown{column}"))

    labels = [
        LabelJoin(connection, files.folder, partial(shown, i), i).run()
        for i in range(len(encoded.table.columns))
    ]
    return labels, ClassLedger(connection, len(labels))


@dataclass(frozen=True)
class PartedClasses(ReleasePlan):
    """The classes of a release in parts, wherever the parts are."""

    encoded: Encoded
    grown: GrownParts
    spec: Spec
    key: Key
    described: Sequence[Described]
    ledger: ClassLedger
    labels: Sequence[ShownLabels]
    """What all parts show, column by column."""
    files: PartFiles
    """What is known of their leaves."""
    store: TupleStore

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

    def enter(self) -> Iterator[list[Codes]]:
        """Enter all classes into the ledger; yield what leaves show, part by part."""
        self.ledger.open()
        for number, first in enumerate(self.first_leaf[:-1]):
            index, rows = (
                self.files.load(DESCRIBED, number, name)
                for name in ("index", "leaf_rows")
            )
            ranks = [
                shown.of_part(number, index[:, i])
                for i, shown in enumerate(self.labels)
            ]
            self.ledger.add(ranks, rows, first)
            yield ranks

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
        none = np.zeros(0, dtype=np.int32)
        return self.show_ranks([none for _ in self.names], none.astype(np.int64)).schema

    def look(self, names: Sequence[str]) -> LookedAtRows:
        n_columns = len(seen_columns(self.spec, names))
        task = PickClasses(self.kinds(), n_columns, self.first_leaf)
        parts = self.store.run(task, DESCRIBED)
        first = np.cumsum([0, *(part.rows.size for part in parts)])
        pairs = zip(parts, first.tolist(), strict=False)
        owner = np.concatenate([part.owner + at for part, at in pairs])
        joined = Picked(*(np.concatenate(x) for x in zip(*parts, strict=True)))
        tuples = replace(
            self.encoded.table,
            sensitive=(),
            codes=joined.codes,
            counts=joined.counts,
            n_units=None,
            figures=None,
        )
        release = Generalized(
            tuples,
            ReleasedClasses(owner.astype(np.int32), joined.rows, (), ()),
            np.ascontiguousarray(joined.mixed.T),
            chance=joined.chance,
            n_classes=self.n_leaves,
        )
        leaves = np.zeros(self.n_leaves + 1, dtype=np.bool_)
        leaves[joined.leaf] = True
        return LookedAtRows(self.spec, release, leaves, joined.number, joined.leaf)

    def release(
        self,
        data: DataT,
        verification: Verification,
        *,
        by: Sequence[str] = (),
        **evidence: Any,  # noqa: ANN401
    ) -> Release[DataT]:
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
class PartedPlan(PartedClasses, RowPlan):
    """What is released of every tuple of a local store, and which rows go where."""

    store: LocalStore

    def lay_out(self) -> None:
        """Write where each tuple goes, and what each leaf shows, to files."""
        folder, n_tuples = self.store.folder, self.encoded.table.n_tuples
        shown = [make_file(path, np.int32, self.n_leaves) for path in self._shown_files]
        for (start, stop), ranks in zip(
            pairwise(self.first_leaf), self.enter(), strict=True
        ):
            for column, rank in zip(shown, ranks, strict=True):
                column[start:stop] = rank
        leaf = make_file(folder / "leaf", np.int32, n_tuples)
        for pieces in self._pieces():
            tuples, own = pieces.places()
            leaf[tuples] = own

    def _pieces(self) -> Iterator[Pieces]:
        """Yield the pieces of tuples, part by part."""
        for number, start in enumerate(self.first_leaf[:-1]):
            names = ("number", "leaf", "rows", "content")
            arrays = {x: self.files.load(DESCRIBED, number, x) for x in names}
            yield Pieces.of(arrays, start)

    @property
    def _shown_files(self) -> list[Path]:
        """By column, the ranks of what leaves show."""
        return [self.store.folder / f"shown{i}" for i in range(len(self.names))]

    @cached_property
    def leaf(self) -> Codes:
        return map_file(self.store.folder / "leaf", np.int32)

    def owners(self, numbers: Codes) -> Codes:
        return numbers  # they are counted as the plan numbers them

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
        every = (pieces.shares() for pieces in self._pieces())
        found = Shares(*(np.concatenate(x) for x in zip(*every, strict=True)))
        # Pieces of one tuple are in one part, and keep their order.
        order = np.argsort(found.tuple_of, kind="stable")
        return Shares(
            tuple_of=found.tuple_of[order],
            leaf=found.leaf[order],
            rows=found.rows[order],
            piece=np.arange(order.size, dtype=np.int32),
            content=found.content[order],
        )

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
