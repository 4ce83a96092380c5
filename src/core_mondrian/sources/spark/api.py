"""anonymize_spark(): the same release, of rows that are on a cluster."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from core_mondrian.api import check_threads, grouped_by
from core_mondrian.errors import OutputError, SpecError, drops_context, list_names
from core_mondrian.release.result import Release
from core_mondrian.runtime.progress import Progress, watched
from core_mondrian.runtime.stages import Stages
from core_mondrian.sources.spark.plans import PlannedTuples, count_tuples, plan_tuples
from core_mondrian.sources.spark.recode import (
    PlacedRows,
    lay_out,
    place_rows,
    suppressed_rows,
)
from core_mondrian.sources.spark.recount import (
    count_released,
    find_concerns,
    same_counts,
)
from core_mondrian.sources.spark.rows import Reading, open_rows
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.keys import key_for
from core_mondrian.verification.verify import Verification

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DRIVER_TUPLES: Final = 5_000_000
"""Distinct tuples that the engine is given here."""


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
        return self.tuples.planned.spec

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
        has_unit = len(self.whole.columns) > len(self.names)
        names = (*self.names, str(self.spec.unit)) if has_unit else self.names
        counted = count_released(self.whole, names, self.spec)
        found = self.tuples.planned.verify(*counted, self.names)
        self.stages.end("verify")
        return found

    def verify_written(self, written: "DataFrame") -> Verification:
        """Count the released rows again, as they were written and are read back.

        Raises:
            PrivacyViolation: a class fails, or an identifier was not removed.
            OutputError: what was written is not what was released.
        """
        if len(self.whole.columns) == len(self.names):
            return replace(self, whole=written).verify()
        # Persons cannot be counted without the unit, which was not written.
        found = self.verify()
        if not same_counts(self.data, written, self.names, self.spec):
            raise OutputError(
                "what was written is not what was released",
                hint="nothing was published; was the source changed meanwhile?",
            )
        return found

    def release(self, verification: Verification) -> "Release[DataFrame]":
        """Return the release, with the evidence that goes with it."""
        self.stages.report("warn")
        concerns = find_concerns(self.placed, self.tuples)
        self.stages.end("warn")
        return self.tuples.planned.release(
            *(self.data, verification),
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

    If there are at most ``driver_tuples`` distinct tuples, the driver grows the tree.
    If there are more, it is cut on the cluster: by counts, as long as a partition has
    more tuples than that, and then partition by partition. ``key``
    makes pseudonyms and allocates rows of split tuples, see `anonymize`; what is
    derived from it is sent to the executors. ``by`` names quasi-identifiers or
    sensitive columns. For the rest see `anonymize`; ``Release.seconds`` are those of
    the driver.

    Raises:
        SpecError: the spec does not fit the table, or cannot be done on a cluster.
        DataError: a column cannot be encoded, or Spark cannot read the table.
        InfeasibleError: no release satisfies the models within the budget.
        PrivacyViolation: the finished release failed its own verification.
    """
    stages = Stages(progress)
    draft = draft_release(
        *(frame, spec, Means(driver_tuples, key, threads)), by=by, stages=stages
    )
    return draft.release(draft.verify())


@dataclass(frozen=True)
class Means:
    """What changes how a release is made, not what is in it."""

    driver_tuples: int = DRIVER_TUPLES
    key: bytes | None = None
    threads: int | None = None


def draft_release(
    frame: "DataFrame",
    spec: Spec,
    means: Means,
    *,
    by: Sequence[str] = (),
    stages: Stages,
    read: Reading | None = None,
) -> Draft:
    """Plan a release and lay its rows out; see `anonymize_spark`.

    ``read`` says what the values of counted tuples stand for, if not for themselves.
    """
    check_threads(means.threads)
    key = key_for(means.key, spec.pseudonyms)
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
    try:
        tuples = plan_tuples(
            *(counted, spec, key),
            by=named,
            threads=means.threads,
            stages=stages,
        )
    finally:
        counted.frame.unpersist()
    placed = place_rows(rows, tuples)
    places = tuples.planned.plan.places(rows.names)
    names = tuple(place.name for place in places)
    if twice := sorted(name for name, n in Counter(names).items() if n > 1):
        raise SpecError(
            f"the release would have several columns of one name: {list_names(twice)}",
            hint="rename them, or choose another format or class_id",
        )
    whole = lay_out(placed, places)
    return Draft(tuples, placed, whole, names, named, stages)
