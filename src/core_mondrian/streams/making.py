"""The stages of a streamed run, in order."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.counted import CountedPlan, make_plan
from core_mondrian.counts import counted_columns
from core_mondrian.errors import InternalError, SpecError, list_names
from core_mondrian.files.cells import spelled
from core_mondrian.files.place import Content, write_files
from core_mondrian.measure.concerns import Concern, LookedAt, Repeats
from core_mondrian.measure.counting import code_column
from core_mondrian.measure.sights import join_sights
from core_mondrian.measure.verify import Verification
from core_mondrian.owner_record import record_text
from core_mondrian.plan import Plan
from core_mondrian.release import Release
from core_mondrian.signatures import sealed
from core_mondrian.spec import Spec
from core_mondrian.stages import Stages
from core_mondrian.streams.batches import Sizes
from core_mondrian.streams.csv_blocks import BadRows
from core_mondrian.streams.dealing import Deal
from core_mondrian.streams.first_pass import FirstPass
from core_mondrian.streams.lookup import TupleIndex
from core_mondrian.streams.memory import Limit, give_back, used_memory
from core_mondrian.streams.recount import Recount
from core_mondrian.streams.repeats import count_repeats
from core_mondrian.streams.rows import BAD, Recoder
from core_mondrian.streams.second_pass import Drafts, SecondPass, Written
from core_mondrian.streams.source import Source, open_source
from core_mondrian.streams.state import Counts, save_counts
from core_mondrian.streams.tally import Tally, put_last
from core_mondrian.streams.targets import Targets, suffix_of
from core_mondrian.streams.values import Values, type_tally
from core_mondrian.streams.words import find_words, refuse_words, words_in
from core_mondrian.streams.workspace import Workspace
from core_mondrian.tables.keys import Key


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

    def make(self, space: Workspace, before: Counts | None) -> Release[Path]:
        """Count, plan, write, verify, and put everything in its place."""
        counts = self.count(before, space)
        values, tally = self.type(counts.tally)
        planned = self._plan(values)
        drafts = self._drafts(space)
        # The plan takes its share of the memory, and stays.
        left = self.limit.sizes(self.source, self.sizes.threads, used_memory())
        run = replace(self, sizes=left)
        written = run.write(planned, values, tally, drafts)
        self.source.check_unchanged()
        _check_rows(planned, written)
        verification = run.verify(planned, drafts)
        concerns = run.find_concerns(planned, written, drafts)
        release = planned.release(
            *(self.targets.release, verification),
            by=self.by,
            suppressed=self.targets.suppressed,
            carried=tuple(self.spec.carried(self.source.schema.names)),
            spent=self.stages.spent,
            warnings=concerns,
            n_bad=self.bad.n,
        )
        self._place(release, drafts, counts, space)
        return release

    def count(self, before: Counts | None, space: Workspace | None) -> Counts:
        """Count the distinct tuples of all rows."""
        save = None if space is None else space.save
        policy = self.spec.policy.base
        first = FirstPass(
            *(self.source, self.columns, self.sizes, self.limit, self.bad),
            *(policy, save),
        )
        if before is not None:
            self.bad.n, self.bad.first = before.n_bad, before.first_bad
        counts = first.run(before, self.stages.report("count"))
        self.stages.end("count")
        self.limit.check_tuples(counts.tally.n_tuples, len(self.columns), policy)
        give_back()
        return counts

    def type(self, tally: Tally) -> tuple[Values, Tally]:
        """Give the counts types; tuples of bad rows are the last of the tally."""
        n_good = tally.n_tuples
        if self.source.kind == "csv":
            words = find_words(self.spec, self.columns, tally)
            is_bad = words_in(words, self.columns, tally)
            n_rows = int(tally.rows[is_bad].sum())
            if self.bad.n + n_rows > self.bad.most:
                refuse_words(self.source, words, self.bad)
            self.bad.n += n_rows
            if n_rows:
                n_good -= int(np.count_nonzero(is_bad))
                tally = put_last(tally, is_bad)
        return type_tally(self.source, self.spec, self.columns, tally, n_good), tally

    def _plan(self, values: Values) -> CountedPlan:
        planned = make_plan(
            *(values.counts, self.spec, self.key),
            by=self.by,
            threads=self.sizes.threads,
            stages=self.stages,
            executor=self.limit.executor(
                *(values.counts.rows.size, len(self.columns), self.spec.policy.base)
            ),
        )
        names = Counter(x.name for x in planned.plan.places(self.source.schema.names))
        if twice := sorted(name for name, n in names.items() if n > 1):
            raise SpecError(
                "the release would have several columns of one name: "
                f"{list_names(twice)}",
                hint="rename them, or choose another format or class_id",
            )
        give_back()
        return planned

    def _drafts(self, space: Workspace) -> Drafts:
        targets, spec = self.targets, self.spec
        suffix = suffix_of(targets, self.source)
        apart = targets.suppressed
        return Drafts(
            space.draft("release" + ("" if targets.is_folder else suffix)),
            suffix,
            None if apart is None else space.draft(f"apart{apart.suffix.lower()}"),
            space.draft("units") if spec.is_unit_removed else None,
        )

    def write(
        self,
        planned: CountedPlan,
        values: Values,
        tally: Tally,
        drafts: Drafts,
    ) -> Written:
        """Write all rows to the drafts."""
        plan, folder = planned.plan, drafts.release.parent
        with _dealing(plan, self.limit, folder) as deal:
            more = tally.n_tuples - plan.leaf.size
            leaf = np.append(plan.leaf, np.full(more, np.int32(BAD)))
            looked_at = planned.looked_at(self.source.schema.names)
            recoder = Recoder(
                *(self.source, self.spec, plan, leaf, self.columns),
                *(TupleIndex(tally), values.typed, deal, looked_at),
                persons=self._persons(tally),
            )
            second = SecondPass(self.source, recoder, self.sizes, self.limit)
            if deal.is_needed:
                second.deal(self.stages.report("deal"))
                self.stages.end("deal")
            written = second.write(drafts, self.stages.report("write"))
        self.stages.end("write")
        give_back()
        return written

    def _persons(self, tally: Tally) -> NDArray[np.int32] | None:
        """Number the persons: texts of one number are one person, as `encode` reads."""
        if self.spec.unit is None:
            return None
        texts = tally.values[self.columns.index(self.spec.unit)]
        read = spelled(pa.chunked_array([texts]), self.spec.null_values)
        found = code_column(read)
        numbers = np.where(found.missing, 0, found.codes + 1)
        return np.append(0, numbers).astype(np.int32)

    def verify(self, planned: CountedPlan, drafts: Drafts) -> Verification:
        """Check what was written, as a reader would."""
        schema = self.source.schema
        types = {
            name: kind
            for name in self.spec.sensitive
            if _has_one_text(kind := _plain_type(schema.field(name).type))
        }
        recount = Recount(
            *(drafts.release, self.spec, types, drafts.units, self.sizes, self.limit)
        )
        found = recount.run(planned, self.stages.report("verify"))
        self.stages.end("verify")
        return found

    def find_concerns(
        self, planned: CountedPlan, written: Written, drafts: Drafts
    ) -> tuple[Concern, ...]:
        """Say what columns that pass through may give away."""
        self.stages.report("warn")
        if not written.sights:
            return ()
        spec, folder = self.spec, drafts.release.parent
        release = open_source(drafts.release, guarded=spec.guard_formulas)

        def repeats(name: str) -> Repeats:
            if name in spec.removed:
                return count_repeats(self.source, (name, None), self.sizes, folder)
            unit = spec.unit if drafts.units is None else drafts.units
            return count_repeats(release, (name, unit), self.sizes, folder)

        found = planned.concerns_of(
            LookedAt(
                tuple(self.source.schema.names), join_sights(written.sights), repeats
            )
        )
        self.stages.end("warn")
        return found

    def _place(
        self, release: Release[Path], drafts: Drafts, counts: Counts, space: Workspace
    ) -> None:
        """Move everything to where it belongs, together."""
        from core_mondrian.report.plain import manifest_text

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


def n_released(planned: CountedPlan) -> int:
    """Return how many rows will be in the release, blank ones too."""
    plan = planned.plan
    return plan.n_rows - (plan.n_suppressed if plan.spec.leaves_out else 0)


def _check_rows(planned: CountedPlan, written: Written) -> None:
    plan = planned.plan
    same = (
        written.n_released == n_released(planned),
        written.n_suppressed == plan.n_suppressed,
        written.n_rows == plan.n_rows + written.n_bad,
    )
    if not all(same):
        raise InternalError("rows written and suppressed do not add up to rows counted")


def _has_one_text(kind: pa.DataType) -> bool:
    """Tell whether a value can be read back from how CSV spells it."""
    tests = (
        *(pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal),
        *(pa.types.is_boolean, pa.types.is_date32),
    )
    return any(test(kind) for test in tests)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


@contextmanager
def _dealing(plan: Plan, limit: Limit, folder: Path) -> Iterator[Deal]:
    deal = Deal(plan, limit, folder)
    try:
        yield deal
    finally:
        deal.close()
