"""The stages of a run on files, in order."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.errors import InternalError
from core_mondrian.measures.disclosure_warnings import (
    DisclosureWarning,
    Repeats,
    RowSample,
)
from core_mondrian.measures.row_sample import join_distinct_rows
from core_mondrian.release.owner_record import record_text
from core_mondrian.release.result import Release
from core_mondrian.release.signatures import sealed
from core_mondrian.runtime.stages import Stages
from core_mondrian.sources.files.counting import Counting, Counts, save_counts
from core_mondrian.sources.files.csv_blocks import BadRows
from core_mondrian.sources.files.recount import Counter as DuckCounter
from core_mondrian.sources.files.recount import Recount, count_repeats
from core_mondrian.sources.files.rows import Recoder
from core_mondrian.sources.files.source import Source, open_release
from core_mondrian.sources.files.targets import Targets, suffix_of
from core_mondrian.sources.files.values import (
    TypedTuples,
    find_words,
    refuse_words,
    type_values,
)
from core_mondrian.sources.files.workspace import Workspace
from core_mondrian.sources.files.writing import Drafts, RowPlaces, Writing, Written
from core_mondrian.sources.mapped_files import give_back
from core_mondrian.sources.memory import Limit, Sizes, used_memory
from core_mondrian.sources.planner import Planned, Planner
from core_mondrian.sources.row_coder import RowCoder
from core_mondrian.sources.row_plan import LookedAtRows, RowPlan, check_released_names
from core_mondrian.sources.tuple_counts import counted_columns
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.files import kinds
from core_mondrian.tables.files.atomic_write import Content, write_files
from core_mondrian.tables.files.cells import unified_texts
from core_mondrian.tables.keys import Key
from core_mondrian.verification.counting import code_column
from core_mondrian.verification.verify import Verification


@dataclass(frozen=True)
class Run:
    """What all stages of a run know."""

    source: Source
    spec: Spec
    targets: Targets
    limit: Limit
    sizes: Sizes
    stages: Stages
    bad: BadRows
    key: Key
    by: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The counted ones."""
        return counted_columns(self.spec)

    @property
    def policy(self) -> str:
        return self.spec.policy.base

    def make(self, space: Workspace, before: Counts | None) -> Release[Path]:
        """Count, plan, write, verify, and put everything in its place."""
        counts = self.count(before, space.folder / "counted")
        if not self._is_finished(before):
            space.save(counts)
        tuples = self.type(counts)
        planned = self._planner(space).plan(tuples)
        places = planned.plan.places(self.source.schema.names)
        check_released_names([place.name for place in places])
        return self._write(planned, tuples, space)

    def _is_finished(self, before: Counts | None) -> bool:
        return before is not None and len(before.parts) == len(self.source.parts)

    def count(self, before: Counts | None, spill: Path | None) -> Counts:
        """Count the distinct tuples of all rows."""
        most = self.limit.counted_in_memory(len(self.columns))
        if spill is None:
            most = self.limit.tuples_in_memory(len(self.columns), self.policy)

        def check(n_tuples: int) -> None:
            self.limit.check_now()
            if spill is None and n_tuples > most:
                self.limit.refuse_tuples(n_tuples)

        counting = Counting(
            self.source, self.columns, self.sizes, self.bad, most, check
        )
        counts = counting.run(before, spill, self.stages.report("count"))
        self.stages.end("count")
        give_back()
        return counts

    def type(self, counts: Counts) -> TypedTuples:
        """Give the counts types; rows with words in place of numbers are bad."""
        if self.source.kind != "csv":
            return type_values(self.source, self.spec, counts, [])
        words = find_words(self.spec, counts)
        values = type_values(self.source, self.spec, counts, words)
        if words:
            n_all = sum(int(rows.sum()) for _, rows in counts.chunks())
            n_rows = n_all - int(next(iter(values.rows.values())).sum())
            if self.bad.n + n_rows > self.bad.most:
                refuse_words(self.source, words, self.bad)
            self.bad.n += n_rows
        return values

    def _planner(self, space: Workspace) -> Planner:
        has_report = self.targets.report is not None
        return Planner(
            spec=self.spec,
            key=self.key,
            limit=self.limit,
            stages=self.stages,
            threads=self.sizes.threads,
            folder=space.folder,
            by=self.by,
            needs_all=("a report",) if has_report else (),
        )

    def _write(
        self, planned: Planned, tuples: TypedTuples, space: Workspace
    ) -> Release[Path]:
        plan, drafts = planned.plan, self._drafts(space)
        # The plan takes its share of the memory, and stays.
        row = self.source.row_size
        left = self.limit.sizes(row, self.sizes.threads, used_memory())
        run = replace(self, sizes=left)
        look = plan.look(self.source.schema.names)
        written = run.write(planned, look, tuples, drafts)
        self.source.check_unchanged()
        _check_rows(plan, written)
        verification = run.verify(plan, drafts)
        concerns = run.find_concerns(look, written, drafts)
        release = plan.release(
            self.targets.release,
            verification,
            by=self.by,
            suppressed=self.targets.suppressed,
            carried=tuple(self.spec.carried(self.source.schema.names)),
            spent=self.stages.spent,
            warnings=concerns,
            n_bad=self.bad.n,
        )
        self._place(release, drafts, tuples.counts, space)
        return release

    def _drafts(self, space: Workspace) -> Drafts:
        targets, spec = self.targets, self.spec
        suffix = suffix_of(targets, self.source)
        apart = targets.suppressed
        return Drafts(
            space.draft("release" + ("" if targets.is_folder else suffix)),
            suffix,
            None if apart is None else space.draft(f"apart{kinds.suffix_of(apart)}"),
            space.draft("units") if spec.is_unit_removed else None,
        )

    def write(
        self,
        planned: Planned,
        look: LookedAtRows,
        tuples: TypedTuples,
        drafts: Drafts,
    ) -> Written:
        """Write all rows to the drafts."""
        plan, counts, typed = planned.plan, tuples.counts, {}
        if self.source.kind == "csv":
            names = self.spec.quasi_identifiers
            typed = {name: tuples.meanings[name] for name in names}
        recoder = Recoder(
            source=self.source,
            spec=self.spec,
            plan=plan,
            coder=RowCoder(
                [counts.columns[i] for i in planned.places],
                [counts.values[i] for i in planned.places],
                planned.lookup,
                [tuples.bad[i] for i in planned.places],
            ),
            typed=typed,
            look=look,
            persons=self._persons(counts),
        )
        writing = Writing(recoder, self.sizes, self.limit)
        with self._places(plan, writing, drafts) as places:
            written = writing.write(drafts, places, self.stages.report("write"))
        self.stages.end("write")
        give_back()
        return written

    @contextmanager
    def _places(
        self, plan: RowPlan, writing: Writing, drafts: Drafts
    ) -> Iterator[RowPlaces | None]:
        """Find out where all rows go, if tuples are split."""
        if not plan.shares.n_rows:
            with nullcontext():
                yield None
            return
        room, folder = self.limit.free // 3, drafts.release.parent
        with RowPlaces(plan.shares, plan.allocation_key, folder, room) as places:
            writing.place(places, self.stages.report("place"))
            self.stages.end("place")
            yield places

    def _persons(self, counts: Counts) -> NDArray[np.int32] | None:
        """Number the persons: texts of one number are one person, as `encode` reads."""
        if self.spec.unit is None:
            return None
        texts = counts.values[self.columns.index(self.spec.unit)]
        read = unified_texts(pa.chunked_array([texts]), self.spec.null_values)
        found = code_column(read)
        numbers = np.where(found.missing, 0, found.codes + 1)
        return np.append(0, numbers).astype(np.int32)

    def _counter(self, drafts: Drafts) -> DuckCounter:
        return DuckCounter(drafts.release.parent, self.limit.duckdb, self.sizes)

    def verify(self, plan: RowPlan, drafts: Drafts) -> Verification:
        """Check what was written, as a reader would."""
        schema = self.source.schema
        types = {
            name: kind
            for name in self.spec.sensitive
            if _has_one_text(kind := _plain_type(schema.field(name).type))
        }
        counter = self._counter(drafts)
        recount = Recount(drafts.release, self.spec, types, drafts.units, counter)
        found = recount.run(plan, self.stages.report("verify"))
        self.stages.end("verify")
        give_back()
        return found

    def find_concerns(
        self, look: LookedAtRows, written: Written, drafts: Drafts
    ) -> tuple[DisclosureWarning, ...]:
        """Say what columns that pass through may give away."""
        self.stages.report("warn")
        if not written.sights:
            return ()
        spec, counter = self.spec, self._counter(drafts)
        release = open_release(drafts.release, guarded=spec.guard_formulas)

        def repeats(name: str) -> Repeats:
            if name in spec.removed:
                return count_repeats(self.source, name, None, counter)
            unit = spec.unit if drafts.units is None else drafts.units
            return count_repeats(release, name, unit, counter)

        names = tuple(self.source.schema.names)
        looked = RowSample(names, join_distinct_rows(written.sights), repeats)
        found = look.find_concerns(looked)
        self.stages.end("warn")
        return found

    def _place(
        self, release: Release[Path], drafts: Drafts, counts: Counts, space: Workspace
    ) -> None:
        """Move everything to where it belongs, together."""
        from core_mondrian.release.manifests import manifest_text

        targets = self.targets
        files: dict[Path, Content] = {targets.release: drafts.release}
        if targets.suppressed is not None and drafts.apart is not None:
            files[targets.suppressed] = drafts.apart
        files[targets.manifest] = manifest_text(release.manifest()).encode()
        files[targets.record] = record_text(release.record())
        if targets.report is not None:
            files[targets.report.path] = targets.report.page_of(release)
        if targets.counts is not None:
            kept = space.draft("counts")
            save_counts(counts, kept)
            files[targets.counts] = kept
        files = sealed(files, targets.release, release.manifest(), targets.signer)
        write_files(files, overwrite=targets.overwrite, private=targets.private)


def _check_rows(plan: RowPlan, written: Written) -> None:
    gone = plan.n_suppressed if plan.spec.leaves_out else 0
    same = (
        written.n_released == plan.n_rows - gone,
        written.n_suppressed == plan.n_suppressed,
        written.n_rows == plan.n_rows + written.n_bad,
    )
    if not all(same):
        raise InternalError("rows written and suppressed do not add up to rows counted")


def _has_one_text(kind: pa.DataType) -> bool:
    """Return whether a value can be read back from how CSV spells it."""
    tests = (
        *(pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal),
        *(pa.types.is_boolean, pa.types.is_date32),
    )
    return any(test(kind) for test in tests)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
