"""anonymize_spark(): the same release, of rows that are on a cluster."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from core_mondrian.api import check_threads, grouped_by
from core_mondrian.engine.grow_parts import check_parts
from core_mondrian.errors import OutputError, SpecError, drops_context
from core_mondrian.release.result import Release
from core_mondrian.runtime.progress import Progress, watched
from core_mondrian.runtime.stages import Stages
from core_mondrian.sources.remote_plan import RemotePlan
from core_mondrian.sources.row_plan import check_released_names
from core_mondrian.sources.spark.parts import plan_there
from core_mondrian.sources.spark.recode import (
    PlacedRows,
    lay_out,
    place_rows,
    suppressed_rows,
)
from core_mondrian.sources.spark.recount import (
    Recount,
    WrittenRows,
    find_concerns,
    same_counts,
)
from core_mondrian.sources.spark.rows import Reading, open_rows
from core_mondrian.sources.spark.tuples import (
    CountedTuples,
    PlannedTuples,
    count_tuples,
    plan_here,
)
from core_mondrian.sources.spark.watch import following
from core_mondrian.spec.declaration import Spec, check_rows_are_here
from core_mondrian.tables.keys import Key, key_for
from core_mondrian.verification.verify import Verification

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DRIVER_TUPLES: Final = 1_000_000
"""Distinct tuples that the driver plans with; more are planned on the cluster."""
PART_TUPLES: Final = 250_000
"""Tuples that an executor solves at a time: .3 GB, or less."""


@dataclass(frozen=True)
class Draft:
    """A release that is laid out, and not verified yet."""

    tuples: PlannedTuples
    placed: PlacedRows
    whole: "DataFrame"
    """The released rows, with the unit last if it is not among them."""
    names: tuple[str, ...]
    """The columns of the release."""
    by: Sequence[str]
    stages: Stages

    @property
    def spec(self) -> Spec:
        return self.tuples.spec

    @property
    def data(self) -> "DataFrame":
        """The released rows."""
        own = self.whole.columns[: len(self.names)]
        return self.whole.select(own).toDF(*self.names)

    @property
    def suppressed(self) -> "DataFrame | None":
        """The rows left out, if they are asked for."""
        is_separate = self.spec.suppressed == "separate"
        return suppressed_rows(self.placed) if is_separate else None

    def verify(self) -> Verification:
        """Count the released rows again, as they are laid out.

        Raises:
            PrivacyViolation: a class fails, or an identifier was not removed.
        """
        self.stages.report("verify")
        recount = Recount.of(self.whole, self.names, self.spec, has_unit=self._has_unit)
        plan = self.tuples.plan
        found = recount.judge(plan.requirements, is_small=isinstance(plan, RemotePlan))
        self.stages.end("verify")
        return found

    @property
    def _has_unit(self) -> bool:
        """Whether the unit is there that is not released."""
        return self.spec.unit is not None and self.spec.is_unit_removed

    def verify_written(self, written: "DataFrame") -> Verification:
        """Count the released rows again, as they were written and are read back.

        Raises:
            PrivacyViolation: a class fails, or an identifier was not removed.
            OutputError: what was written is not what was released.
        """
        if not self._has_unit:
            return replace(self, whole=written).verify()
        # Persons cannot be counted without the unit, which was not written.
        found = self.verify()
        if not same_counts(self.data, written, self.names, self.spec):
            raise OutputError(
                "what was written is not what was released",
                hint="nothing was published; was the source changed meanwhile?",
            )
        return found

    def release(
        self, verification: Verification, written: "DataFrame | None" = None
    ) -> "Release[DataFrame]":
        """Return the release, with the evidence that goes with it.

        ``written``: its rows as they were written, which are read more quickly.
        """
        self.stages.report("warn")
        rows = None if written is None else WrittenRows(written, self.names)
        concerns = find_concerns(self.placed, rows)
        self.stages.end("warn")
        return self.tuples.plan.release(
            self.data,
            verification,
            by=self.by,
            suppressed=self.suppressed,
            carried=tuple(self.spec.carried(self.placed.source.names)),
            spent=self.stages.spent,
            warnings=concerns,
        )


@drops_context
@watched
def anonymize_spark(  # noqa: PLR0913  # as `anonymize`, and driver_tuples
    frame: "DataFrame",
    spec: Spec,
    *,
    driver_tuples: int = DRIVER_TUPLES,
    key: bytes | None = None,
    by: Sequence[str] = (),
    threads: int | None = None,
    progress: Progress | bool | None = None,
) -> "Release[DataFrame]":
    """Return a Spark table generalized until every class satisfies ``spec.models``.

    The release is the same as `anonymize` makes of the same rows in memory. Its
    ``data`` is lazy: Spark makes the rows when they are asked for, and the same rows
    every time, as long as ``frame`` gives the same ones. They were made and verified
    once before this returns. If files that ``frame`` reads may change, write the
    release first and check it with `verify_spark`, as the command line does.

    At most ``driver_tuples`` distinct tuples come to the driver, which plans with them.
    If there are more, they stay on the cluster: partitions that are too large for one
    executor are cut by counts, smaller ones are solved there. ``key`` makes pseudonyms
    and allocates rows of split tuples, see `anonymize`; what is derived from it is sent
    to the executors. ``by`` names quasi-identifiers or
    sensitive columns. For the rest see `anonymize`; ``Release.seconds`` are those of
    the driver.

    Raises:
        SpecError: the spec does not fit the table, or cannot be done on a cluster.
        DataError: a column cannot be encoded, or Spark cannot read the table.
        InfeasibleError: no release satisfies the models within the budget.
        PrivacyViolation: the finished release failed its own verification.
    """
    shown = progress if callable(progress) else None
    means = Means(driver_tuples, key, threads)
    with (
        following(frame.sparkSession, shown) as told,
        draft_release(frame, spec, means, by=by, stages=Stages(told)) as draft,
    ):
        return draft.release(draft.verify())


@dataclass(frozen=True)
class Means:
    """What changes how a release is made, not what is in it."""

    driver_tuples: int = DRIVER_TUPLES
    key: bytes | None = None
    threads: int | None = None
    needs_all: tuple[str, ...] = ()
    """What is asked that takes all tuples in memory."""


@contextmanager
def draft_release(
    frame: "DataFrame",
    spec: Spec,
    means: Means,
    *,
    by: Sequence[str] = (),
    stages: Stages,
    read: Reading | None = None,
) -> Iterator[Draft]:
    """Plan a release and lay its rows out; see `anonymize_spark`.

    ``read`` says what the values of counted tuples stand for, if not for themselves.
    """
    check_threads(means.threads)
    key = key_for(means.key, spec.pseudonyms)
    check_rows_are_here(spec, "on a cluster")
    if spec.shuffle is not None:
        raise SpecError(
            "shuffle orders rows, and rows on a cluster have no order",
            hint="leave it out: Spark gives them back in any order",
            key=("shuffle",),
        )
    rows = open_rows(frame, spec, read)
    stages.report("count")
    counted = count_tuples(rows)
    stages.end("count")
    named = grouped_by(spec, by)
    with _planned(counted, spec, key, means, named, stages) as tuples:
        placed = place_rows(rows, tuples)
        places = tuples.plan.places(rows.names)
        names = tuple(place.name for place in places)
        check_released_names(names)
        yield Draft(tuples, placed, lay_out(placed, places), names, named, stages)


@contextmanager
def _planned(
    counted: CountedTuples,
    spec: Spec,
    key: Key,
    means: Means,
    by: Sequence[str],
    stages: Stages,
) -> Iterator[PlannedTuples]:
    """Plan here, or on the cluster; let go of what was made on the way."""
    try:
        if counted.n_tuples <= means.driver_tuples:
            tuples = plan_here(
                counted, spec, key, by=by, threads=means.threads, stages=stages
            )
        else:
            check_parts(spec, (*means.needs_all, *(["--by"] if by else [])))
            most = min(means.driver_tuples, PART_TUPLES)
            tuples = plan_there(counted, spec, key, most, stages)
    finally:
        counted.frame.unpersist()
    try:
        yield tuples
    finally:
        tuples.close()
