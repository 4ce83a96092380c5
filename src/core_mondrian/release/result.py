"""Release: what is given back, and the evidence that goes with it."""

import platform
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian import __version__
from core_mondrian.encoding.encoder import Encoded, input_digest
from core_mondrian.engine.funnel_counts import Funnel
from core_mondrian.engine.layout import Search
from core_mondrian.engine.search.equity import Balance
from core_mondrian.engine.tree import PartitionTree
from core_mondrian.errors import SpecError, drops_context
from core_mondrian.hierarchies.tree import Hierarchy
from core_mondrian.measures.disclosure_warnings import DisclosureWarning
from core_mondrian.recoding.recode import Recoded, release_digest
from core_mondrian.runtime.array_types import Frame
from core_mondrian.runtime.plain_values import JsonObject
from core_mondrian.runtime.stages import Spent
from core_mondrian.spec.declaration import Spec
from core_mondrian.spec.policies import BestPolicy
from core_mondrian.tables.encoded import EncodedTable
from core_mondrian.tables.files.atomic_write import (
    check_place,
    check_target,
    require_distinct,
    write_files,
)
from core_mondrian.tables.files.staging import manifest_of, record_of
from core_mondrian.tables.keys import Key
from core_mondrian.verification.verify import Verification

if TYPE_CHECKING:
    from core_mondrian.bounds.bound import Bound
    from core_mondrian.measures.groups import GroupCounts, GroupMeasures
    from core_mondrian.measures.quality import Shortfall
    from core_mondrian.measures.risk import Risk
    from core_mondrian.measures.savings import Saving
    from core_mondrian.measures.utility import Measures
    from core_mondrian.release.report_file import Audience, Subject

FrameT = TypeVar("FrameT")


@dataclass(frozen=True)
class Release(Generic[FrameT]):
    """A verified release. ``data`` is the caller's kind of frame."""

    data: FrameT
    suppressed: FrameT | None = field(repr=False)
    """With ``suppressed = "separate"``: the rows left out, as they came in, for whoever
    made the release. They are no part of it and NOT anonymized. Else None."""
    spec: Spec
    tree: PartitionTree
    funnel: Funnel
    verification: Verification
    n_rows: int
    n_suppressed: int
    n_blanked: int
    """Cells blanked: those that a hierarchy does not cover, if the spec says so, and
    those that repair missing patterns too small for a class."""
    budget: int
    """Rows that might have been suppressed."""
    carried: tuple[str, ...]
    """Columns the engine never saw: released as they are, or as pseudonyms."""
    spent: Mapping[str, Spent]
    """CPU seconds of each stage, and the memory they needed."""
    balance: Balance | None
    """Policy `best` with ``equity``: what the worst group loses, and what that costs.
    """
    warnings: tuple[DisclosureWarning, ...]
    """What columns that pass through may give away; also those that are accepted."""
    _search: Search | None = field(repr=False)
    """Policy `best`: how it searched."""
    _encoded: Encoded = field(repr=False)
    _pieces: EncodedTable = field(repr=False)
    """The table as released: tuples in several classes are there once for each."""
    _recoded: Recoded = field(repr=False)
    _key: Key = field(repr=False)
    _weights: NDArray[np.float64] | None = field(default=None, repr=False)
    """Of each tuple, what its rows weigh."""
    _groups: "Mapping[str, GroupCounts]" = field(default_factory=dict, repr=False)
    _suppressed_rows: NDArray[np.int64] | None = field(default=None, repr=False)
    """Where suppressed rows stood in the table that came in, rising; None: the rows
    are elsewhere, such as in files."""
    n_bad: int = 0
    """Rows of files that could not be read and were left out, as was allowed."""
    disk_bytes: int = 0
    """The most that a run on files had on disk at a time; it is gone."""

    @property
    def seconds(self) -> dict[str, float]:
        """CPU seconds of each stage."""
        return {stage: spent.seconds for stage, spent in self.spent.items()}

    @property
    def n_tuples(self) -> int:
        """Distinct tuples of quasi-identifiers and sensitive values that came in."""
        return self._encoded.table.n_tuples

    @property
    def beta(self) -> float | None:
        """Policy `best`: the weight of impurity relative to loss, given or chosen."""
        return None if self._search is None else self._search.beta

    @property
    def effort(self) -> str | None:
        """Policy `best`: the effort taken, given or chosen by size."""
        return None if self._search is None else self._search.effort

    @property
    def search(self) -> JsonObject | None:
        """Policy `best`: the effort and beta that were taken."""
        if self._search is None:
            return None
        return {"effort": self._search.effort, "beta": self._search.beta}

    @property
    def column_weights(self) -> dict[str, float] | None:
        """What the search weighed each quasi-identifier by, for the spec's target.

        It reveals how they relate to the target: for the owner, not to be published.
        """
        table = self._encoded.table
        if table.column_weights is None:
            return None
        names = [column.name for column in table.columns]
        return dict(zip(names, table.column_weights, strict=True))

    @property
    def class_sizes(self) -> NDArray[np.int64]:
        """Rows of each class."""
        rows = self._recoded.classes.rows
        return rows[rows > 0]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the released tuples as a multiset: no row order, no frames."""
        return release_digest(self._recoded, self.spec)

    def input_digest(self, salt: bytes) -> str:
        """Return a digest of the exact values that came in, which needs the salt."""
        return input_digest(self._encoded, salt)

    def salted_digests(self) -> tuple[bytes, dict[str, str]]:
        """Return a salt, and digests of what came in and of the tree under it."""
        from core_mondrian.release.owner_record import SALT, salted_digests

        salt = secrets.token_bytes(SALT)
        return salt, salted_digests(self, salt)

    @property
    def hierarchies(self) -> dict[str, Hierarchy]:
        """The trees that were released with, those of builders as they came out."""
        trees = {c.name: c.hierarchy for c in self._encoded.table.columns}
        return {name: tree for name in self.spec.hierarchies if (tree := trees[name])}

    @cached_property
    def _measures(self) -> "Measures":
        from core_mondrian.measures.utility import measure

        return measure(self._pieces, self._recoded.classes, self.spec, self._weights)

    def measures(self) -> "Measures":
        """Return what was lost; computed once, when first asked for."""
        return self._measures

    @cached_property
    def _bound(self) -> "Bound":
        from core_mondrian.bounds.bound import find_bound

        return find_bound(self._encoded.table, self.spec, self.budget)

    def bound(self) -> "Bound":
        """Return what no release of this table can lose less than; takes seconds.

        Once it was asked for, the owner's record and report have it, too.
        """
        return self._bound

    @property
    def known_bound(self) -> "Bound | None":
        """The bound, if it was asked for."""
        return self._bound if "_bound" in vars(self) else None

    def certificate(self) -> JsonObject:
        """Return what proves the bound: values of the table and prices, for its owner.

        `core_mondrian.bounds.check.prove` takes it.

        Raises:
            SpecError: the bound is from a sample.
        """
        from core_mondrian.bounds.certificate import certify

        return certify(self.bound(), self._encoded.table, self.spec)

    def risk_before(self) -> "Risk":
        """Return how likely people are to be found in the table that came in."""
        from core_mondrian.measures.risk import measure_risk, table_records

        return measure_risk(table_records(self._encoded.table), self.spec.min_rows)

    def by_group(self, column: str) -> "tuple[GroupMeasures, ...]":
        """Return what each group of a column lost, those of most rows first.

        The column is one of ``by`` that `anonymize` was given, or that of ``equity``.
        Groups of fewer rows than a class needs are not shown separately.

        Raises:
            SpecError: the release was made without that column.
        """
        counted = self._groups.get(column)
        if counted is None:
            raise SpecError(
                f"the rows were not counted by column {column!r}",
                hint=f"anonymize(data, spec, by=[{column!r}])",
            )
        from core_mondrian.measures.groups import measure_groups

        classes = self._recoded.classes
        return measure_groups(self._pieces, classes, self.spec, counted)

    def savings(self) -> "tuple[Saving, ...]":
        """Return what hierarchies would have saved in the same classes."""
        from core_mondrian.measures.savings import find_savings

        encoded, classes = self._encoded, self._recoded.classes
        return find_savings(
            self._pieces, encoded.values, classes, self.spec, self.measures()
        )

    def tree_table(self) -> pa.Table:
        """Return the partition tree as an Arrow table, one row per node."""
        nodes = self.tree.to_json()["nodes"]
        return pa.table(nodes).replace_schema_metadata({"digest": self.tree.digest})

    def shortfalls(self) -> "tuple[Shortfall, ...]":
        """Return the spec's quality thresholds that the release does not reach."""
        from core_mondrian.measures.quality import check

        return check(self.measures(), self.spec.thresholds, self.spec.exclude)

    def score(self) -> float:
        """Return the run score against the spec's thresholds; higher is better."""
        from core_mondrian.measures.quality import score

        return score(self.measures(), self.spec.thresholds, self.spec.exclude)

    def manifest(self) -> JsonObject:
        """Return what is published and signed: what was asked, and what a reader sees.

        Nothing in it depends on hidden cells beyond what the release itself shows, so
        that no guess can be tried against it; the rest is in `record`. Nor does it
        depend on row order, threads or the clock.
        """
        packages = ("numpy", "pyarrow")
        return {
            "format": 2,
            "spec": self.spec.to_json(),
            "rows": {
                "released": self.verification.n_rows,
                # Blank rows are there to be counted, and so is how many may be.
                **({} if self.spec.leaves_out else {"budget": self.budget}),
            },
            "classes": self.verification.n_classes,
            "models": [
                {
                    "name": result.name,
                    # A reader cannot count persons, nor those outside the table.
                    "reached": None
                    if self.spec.is_unit_removed
                    or getattr(model, "population", None) is not None
                    else result.reached,
                }
                for model, result in zip(
                    self.spec.models, self.verification.models, strict=True
                )
            ],
            "allocation": self.allocation,
            "digests": {"release": self.digest},
            "versions": {
                "core-mondrian": __version__,
                "python": platform.python_version(),
                **{name: import_module(name).__version__ for name in packages},
            },
        }

    @property
    def is_split(self) -> bool:
        """Return whether rows of some tuple are in several classes."""
        return self._pieces.n_tuples > self._encoded.table.n_tuples

    @property
    def allocation(self) -> str:
        """What decides which of several equal rows is in which class.

        ``none``: such rows are in one class; ``given`` and ``random``: the owner's
        key, or one drawn for this run.
        """
        policy = self.spec.policy
        if not isinstance(policy, BestPolicy) or policy.disjoint:
            return "none"
        return "given" if self._key.is_given else "random"

    def figures(self) -> JsonObject:
        """Return what depends on hidden cells: for the owner, not to be published."""
        return {
            "rows": {
                "in": self.n_rows + self.n_bad,
                "released": self.n_rows - self.n_suppressed,
                "suppressed": self.n_suppressed,
                **({"bad": self.n_bad} if self.n_bad else {}),
                "budget": self.budget,
            },
            "cells_blanked": self.n_blanked,
            "models": [
                {"name": result.name, "reached": result.reached}
                for result in self.verification.models
            ],
            "warnings": [concern.to_json() for concern in self.warnings],
            "search": self.search,
            "equity": None if self.balance is None else self.balance.to_json(),
            "funnel": self.funnel.to_json(),
            **(
                {}
                if self.column_weights is None
                else {"column_weights": self.column_weights}
            ),
            **({} if self.known_bound is None else {"bound": self._bound.to_json()}),
        }

    def record(self) -> JsonObject:
        """Return the owner's record: key, salted digests and figures. Keep it safe.

        Whoever has it can undo the release as far as the owner can.
        """
        from core_mondrian.release.owner_record import build_record

        return build_record(self)

    @drops_context
    def save(
        self,
        path: str | Path,
        *,
        report: str | Path | None = None,
        overwrite: bool = False,
    ) -> None:
        """Write the release, its manifest and the owner's record beside it.

        The suffix of ``path`` says in which form: .csv, .csv.gz, .parquet, .arrow or
        .feather. The file is read back and verified before it gets its name; all files
        are there afterwards, or none. ``report`` is an HTML file. The owner's record
        is for you alone: do not pass it on.

        Raises:
            SpecError: the form is unknown, or a file exists and is not overwritten.
            OutputError: a file cannot be written.
            PrivacyViolation: a reader of the file would not read what was verified.
        """
        from core_mondrian.release.publication import Publication
        from core_mondrian.release.report_file import ReportFile

        target = Path(path)
        check_target(target, overwrite=overwrite)
        check_place(manifest_of(target), overwrite=overwrite)
        check_place(record_of(target), overwrite=overwrite, private=True)
        page = None
        if report is not None:
            page = ReportFile(Path(report))
            page.check(self.spec)
            check_place(page.path, overwrite=overwrite)
            require_distinct("the release and its report", (page.path, target))
        Publication(target, report=page).write(self, overwrite=overwrite)

    def measures_table(self) -> Frame:
        """Return what was lost by quasi-identifier, as the caller's kind of frame."""
        from core_mondrian.tables.frames import like

        columns = [asdict(column) for column in self.measures().columns]
        return like(self.data, pa.Table.from_pylist(columns))

    @drops_context
    def report_html(
        self,
        *,
        timings: bool = False,
        painting: tuple[str, str] | None = None,
        audience: "Audience" = "owner",
        of: "Subject | None" = None,
    ) -> str:
        """Return the report as one page of HTML; the same bytes for the same release.

        ``timings`` adds the seconds and the memory of each stage, which differ from
        run to run; ``painting`` names the two quasi-identifiers that are painted. The
        report is the owner's; with ``audience="readers"`` it may go with the release.
        ``of`` names the table and the day at its top.
        """
        # What draws a report knows releases: it is asked as anybody would ask.
        import core_mondrian
        from core_mondrian.release.report_file import Subject

        return core_mondrian.report_html(
            self,
            timings=timings,
            painting=painting,
            audience=audience,
            of=of or Subject(),
        )

    @drops_context
    def report(
        self,
        path: str | Path,
        *,
        timings: bool = False,
        painting: tuple[str, str] | None = None,
        audience: "Audience" = "owner",
        overwrite: bool = False,
    ) -> None:
        """Write the report to an HTML file; see `report_html`.

        Raises:
            SpecError: the file is no .html, or exists and is not to be overwritten.
            OutputError: it cannot be written.
        """
        from core_mondrian.release.report_file import ReportFile

        file = ReportFile(Path(path), painting, timings, audience)
        file.check(self.spec)
        check_place(file.path, overwrite=overwrite)
        write_files({file.path: file.page_of(self)}, overwrite=overwrite)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):  # asked for by Python, copies and notebooks
            raise AttributeError(name)
        raise AttributeError(
            f"a Release has no {name!r}; its table is release.data, and "
            "release.save(path) writes it with its manifest"
        )

    def __repr__(self) -> str:
        n_warnings = sum(not warning.accepted for warning in self.warnings)
        plural = "" if n_warnings == 1 else "s"
        warned = f", {n_warnings} warning{plural}: see .warnings" if n_warnings else ""
        released = self.n_rows - self.n_suppressed
        return (
            f"Release({released:,} of {self.n_rows:,} rows in "
            f"{self.verification.n_classes:,} classes, "
            f"digest {self.digest[:12]}{warned})"
        )

    def _repr_html_(self) -> str:
        """Show itself in a notebook."""
        from core_mondrian.release.notebook import release_html

        return release_html(self)


AnyRelease: TypeAlias = Release[Any]
"""A release, whatever library its frame is of."""


@dataclass(frozen=True)
class PartedFigures:
    """What is kept of a release whose tuples did not fit into memory."""

    digest: str
    measures: "Measures"
    salt: bytes
    digests: Mapping[str, str]
    """Of what came in, under the salt, as far as that was affordable."""
    is_split: bool


@dataclass(frozen=True, repr=False)
class PartedRelease(Release[FrameT]):
    """A verified release of more distinct tuples than fit into memory.

    It has manifest, owner's record, measures, verification and warnings. What needs all
    tuples or classes at once, such as a report, says that it is not there.
    """

    parted: PartedFigures = field(kw_only=True)

    @property
    def class_sizes(self) -> NDArray[np.int64]:
        return self.verification.class_sizes

    @property
    def digest(self) -> str:
        return self.parted.digest

    def measures(self) -> "Measures":
        """Return what was lost.

        What compares original and released values pair by pair is None: ILM,
        correlations, mutual information.
        """
        return self.parted.measures

    @property
    def is_split(self) -> bool:
        return self.parted.is_split

    def salted_digests(self) -> tuple[bytes, dict[str, str]]:
        return self.parted.salt, dict(self.parted.digests)

    def bound(self) -> "Bound":
        raise _too_many("the bound")

    def by_group(self, column: str) -> "tuple[GroupMeasures, ...]":
        raise _too_many(f"what each group of {column!r} lost")

    def risk_before(self) -> "Risk":
        raise _too_many("the risk before")

    def savings(self) -> "tuple[Saving, ...]":
        return ()

    def tree_table(self) -> pa.Table:
        raise _too_many("the tree")

    def report_html(self, **_asked: Any) -> str:  # noqa: ANN401
        raise _too_many("a report")

    def _repr_html_(self) -> str:
        return f"<pre>{self!r}</pre>"


def _too_many(what: str) -> SpecError:
    return SpecError(
        f"{what} needs all distinct tuples in memory at once, and here they are too "
        "many",
        hint="allow more memory; `explain` describes the release from its file",
    )
