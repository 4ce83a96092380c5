"""Releases of tables of several sizes, measured and timed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from statistics import median
from typing import Final

import numpy as np
import pyarrow as pa

from core_mondrian.api import anonymize
from core_mondrian.datasets import ADULT_SETS
from core_mondrian.engine.layout import SUPPRESSED
from core_mondrian.errors import InternalError
from core_mondrian.models.base import PrivacyModel
from core_mondrian.models.entropy import EntropyLDiversity
from core_mondrian.models.k_anonymity import KAnonymity
from core_mondrian.release.result import Release
from core_mondrian.spec.declaration import Spec
from core_mondrian.spec.policies import BestPolicy, OriginalPolicy, PaperPolicy, Policy
from core_mondrian.spec.suppression import Suppression
from experiments.figure import Report, Row
from experiments.tables import Sampler

CORE: Final = ("paper", "best")
AS_WRITTEN: Final = "paper, as written"
"""The paper's §3.6 to the letter: partitions solved in place spend budget, too."""
FAIR: Final = "original, fair"
AS_PUBLISHED: Final = "original, as published"
ORIGINAL: Final = (FAIR, AS_PUBLISHED)
POLICIES: Final[dict[str, Policy]] = {
    "paper": PaperPolicy(),
    "best": BestPolicy(),
    FAIR: OriginalPolicy("fair"),
    AS_PUBLISHED: OriginalPolicy("as_published"),
}
VARIANTS: Final[dict[str, Policy]] = {AS_WRITTEN: PaperPolicy(spend="as-written")}
"""Only run where a figure asks what the budget does."""
DIVERSE: Final = EntropyLDiversity(4, "education")
"""A model whose classes may fail where the class above passes: cuts are abandoned."""
NO_ROWS: Final = Suppression(rows=0)
ALL_ROWS: Final = Suppression(share=Fraction(1))
NUMERIC: Final = ADULT_SETS["numeric"]
SIX: Final = ADULT_SETS["6"]
K: Final = 5
"""Where the paper does not vary it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Which values are tried, and how often."""

    ks: tuple[int, ...] = (2, 5, 10, 25, 50, 100, 200, 350, 500, 750, 1000)
    scatter_ks: tuple[int, ...] = (5, 10, 25, 50, 100, 200, 500, 1000)
    timed_ks: tuple[int, ...] = (5, 20, 100, 500, 1000)
    thresholds: tuple[int, ...] = (
        *(10, 20, 50, 100, 200, 350, 500, 750, 1000, 2000, 5000, 10_000, 20_000),
    )
    """Of partitions that are solved in place; one that none reaches is added."""
    factors: tuple[int, ...] = (1, 2, 5, 10, 15, 20)
    large: int = 20
    """The larger of the two sizes whose runtime is compared."""
    repeats: int = 7
    repeats_large: int = 5


QUICK: Final = Plan(
    ks=(5, 50, 200, 1000),
    scatter_ks=(5, 200),
    timed_ks=(5, 200),
    thresholds=(50, 1000),
    factors=(1, 2),
    large=2,
    repeats=1,
    repeats_large=1,
)


@dataclass(frozen=True, slots=True)
class Asked:
    """One release to be made."""

    columns: tuple[str, ...]
    policy: str
    """A key of ``POLICIES`` or ``VARIANTS``."""
    k: int = K
    factor: int = 1
    inline_below: int = 1000
    suppress: Suppression | None = None
    """None: as by default, 1 % of the rows for policy `paper` and none for others."""
    model: EntropyLDiversity | None = None
    """Asked for besides k-anonymity."""
    is_synthetic: bool = False
    """Whether x1 is made up as well; larger tables always are."""

    @property
    def models(self) -> tuple[PrivacyModel, ...]:
        """Return what every class has to pass."""
        more = () if self.model is None else (self.model,)
        return (KAnonymity(self.k), *more)

    @property
    def needed(self) -> list[str]:
        """Return the columns that the request is about."""
        more = [] if self.model is None else [self.model.sensitive]
        return [*self.columns, *more]

    @property
    def spec(self) -> Spec:
        """Return the request as `anonymize` takes it."""
        return Spec(
            self.columns,
            models=self.models,
            policy=(POLICIES | VARIANTS)[self.policy],
            inline_below=self.inline_below,
            suppress=self.suppress,
        )


@dataclass(frozen=True, slots=True)
class Job:
    """A release to be timed."""

    asked: Asked
    threads: int
    repeats: int = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a release is like, and how long it took."""

    numbers: Row
    funnel: dict[str, Row]
    """Counts by kind of column and stage."""
    seconds: Row
    """Medians."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """Where seconds come from; only commands may look at a clock."""

    wall: Callable[[], float]
    cpu: Callable[[], float]


@dataclass(slots=True)
class Lab:
    """Makes releases; the same one is made and measured once."""

    base: pa.Table
    plan: Plan
    sample: Sampler
    clocks: Clocks
    threads: int
    """What is meant by all threads."""
    cores: int
    ctgan: "Lab | None" = None
    """The same with larger tables made by CTGAN, for what is measured on both."""
    _large: pa.Table | None = None
    _known: dict[Asked, Outcome] = field(default_factory=dict)

    @property
    def thread_counts(self) -> tuple[int, ...]:
        """Return powers of two up to twice the cores, and what was asked for."""
        most = max(2, 2 * self.cores) if self.plan.repeats > 1 else self.threads
        doubled = {1 << i for i in range(most.bit_length()) if 1 << i <= most}
        return tuple(sorted(doubled | {self.threads}))

    @property
    def ks(self) -> tuple[int, ...]:
        """Return those k with which the table can be cut at all."""
        return self._feasible(self.plan.ks)

    @property
    def scatter_ks(self) -> tuple[int, ...]:
        return self._feasible(self.plan.scatter_ks)

    @property
    def timed_ks(self) -> tuple[int, ...]:
        return self._feasible(self.plan.timed_ks)

    @property
    def thresholds(self) -> tuple[int, ...]:
        """Return the thresholds to try, the last above the number of rows."""
        n = self.base.num_rows
        return (*(t for t in self.plan.thresholds if t < n), n + 1)

    def _feasible(self, ks: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(k for k in ks if 2 * k <= self.base.num_rows)

    def table(self, factor: int, *, is_synthetic: bool = False) -> pa.Table:
        """Return the table itself for factor 1, else that many times its rows.

        x1 is made up as well if it is asked to be.
        """
        if factor == 1 and not is_synthetic:
            return self.base
        if self._large is None:
            most = max(*self.plan.factors, self.plan.large)
            self._large = self.sample(most * self.base.num_rows)
        return self._large.slice(0, factor * self.base.num_rows)

    def release(self, asked: Asked) -> Outcome:
        """Return what a release is like; its seconds are those of one run."""
        if asked not in self._known:
            job = Job(asked, self.threads)
            self._known[asked] = self.time([job], lambda _done: None)[0]
        return self._known[asked]

    def time(self, jobs: Sequence[Job], report: Report) -> list[Outcome]:
        """Make releases, each as often as asked, in turns.

        Turns spread what else the machine does over all jobs alike.

        Raises:
            InternalError: a release, made again, is another one.
        """
        runs: list[list[_Run]] = [[] for _ in jobs]
        total, done = sum(job.repeats for job in jobs), 0
        for turn in range(max(job.repeats for job in jobs)):
            for job, known in zip(jobs, runs, strict=True):
                if turn < job.repeats:
                    known.append(self._run(job, known[0] if known else None))
                    done += 1
                    report(done / total)
        return [_conclude(job, known) for job, known in zip(jobs, runs, strict=True)]

    def _run(self, job: Job, first: "_Run | None") -> "_Run":
        """Make a release; what it is like is measured the first time only."""
        asked, clocks = job.asked, self.clocks
        table = self.table(asked.factor, is_synthetic=asked.is_synthetic)
        table = table.select(asked.needed)
        cutting: dict[float, float] = {}

        def watch(stage: str, done: float) -> None:
            if stage == "partition" and done in (0.0, 1.0):
                cutting[done] = clocks.wall()

        wall, cpu = clocks.wall(), clocks.cpu()
        release = anonymize(table, asked.spec, threads=job.threads, progress=watch)
        seconds = {
            "wall_seconds": clocks.wall() - wall,
            "cpu_seconds": clocks.cpu() - cpu,
            "wall_seconds_cutting": cutting[1.0] - cutting[0.0],
            "cpu_seconds_cutting": release.seconds["partition"],
        }
        if first is None:
            kinds: dict[str, Row] = release.funnel.to_json()["kinds"]
            return _Run(_numbers(asked, release), kinds, seconds)
        if release.digest != first.numbers["digest"]:
            raise InternalError("the same release, made again, is another one")
        return replace(first, seconds=seconds)

    def warm_up(self) -> None:
        """Let every policy run once, so that no time holds that of loading modules."""
        few = self.base.slice(0, 2000)
        for policy in POLICIES:
            for threads in (1, self.threads):
                asked = Asked(NUMERIC if policy in ORIGINAL else SIX, policy, k=2)
                table = few.select(list(asked.columns))
                anonymize(table, asked.spec, threads=threads)


@dataclass(frozen=True, slots=True)
class _Run:
    """One run of a job."""

    numbers: Row
    funnel: dict[str, Row]
    seconds: dict[str, float]


def _conclude(job: Job, runs: Sequence[_Run]) -> Outcome:
    first = runs[0]
    middle = {
        name: round(median(run.seconds[name] for run in runs), 6)
        for name in first.seconds
    }
    least = round(min(run.seconds["wall_seconds"] for run in runs), 6)
    seconds = {"threads": job.threads, **middle}
    seconds |= {"wall_seconds_least": least, "runs": len(runs)}
    return Outcome(first.numbers, first.funnel, seconds)


def _numbers(asked: Asked, release: Release[pa.Table]) -> Row:
    found = release.measures()
    kept = [c.rilm for c in found.columns if c.rilm is not None]
    return {
        "policy": asked.policy,
        "n_columns": len(asked.columns),
        "columns": " ".join(asked.columns),
        "k": asked.k,
        "model": "" if asked.model is None else asked.model.name,
        "factor": asked.factor,
        "is_synthetic": asked.is_synthetic or asked.factor > 1,
        "rows": release.n_rows,
        "tuples": release.n_tuples,
        "inline_below": asked.inline_below,
        "budget": release.budget,
        "dm": found.dm,
        "dm_released": found.dm_released,
        "rilm": found.rilm_mean,
        "rilm_least": min(kept, default=None),
        "suppressed": found.n_suppressed,
        "share_suppressed": found.share_suppressed,
        "classes": found.n_classes,
        "smallest_class": found.smallest_class,
        "largest_class": int(release.class_sizes.max(initial=0)),
        "loss": found.loss,
        **_count_cuts(asked, release),
        "digest": release.digest,
    }


def _count_cuts(asked: Asked, release: Release[pa.Table]) -> Row:
    """Return what the tree and its funnel say of how the release came about."""
    stages = release.funnel.to_json()["kinds"].values()
    tree = release.tree
    lost = np.flatnonzero(tree.kind == SUPPRESSED)
    # Rows are suppressed by the cut above them; a root is lost by itself.
    above = np.where(tree.parent[lost] < 0, lost, tree.parent[lost])
    in_place = lost[tree.rows[above] < asked.inline_below]
    return {
        "cuts": sum(counts["accepted"] - counts["abandoned"] for counts in stages),
        "abandoned": sum(counts["abandoned"] for counts in stages),
        "queued": int((tree.rows >= asked.inline_below).sum()),
        "suppressed_in_place": int(tree.rows[in_place].sum()),
    }


def timed_row(outcome: Outcome, *names: str) -> Row:
    """Return the seconds of an outcome, next to what they are of."""
    return {name: outcome.numbers[name] for name in names} | outcome.seconds
