"""What `anonymize` is asked, and what comes of it: the same for every source."""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import typer

from core_mondrian.cli.csv_files import Csv
from core_mondrian.cli.options import (
    OUTPUT,
    AsJson,
    KeyFile,
    Overwrite,
    SignKey,
    SpecOptions,
    Threads,
)
from core_mondrian.cli.summary import (
    FOR_ANYONE,
    FOR_OWNER,
    echo,
    json_line,
    print_group_losses,
    print_release,
)
from core_mondrian.errors import SpecError
from core_mondrian.tables.files.staging import manifest_of, record_of

if TYPE_CHECKING:
    from core_mondrian.measures.groups import GroupMeasures
    from core_mondrian.measures.utility import Measures
    from core_mondrian.release.report_file import ReportFile
    from core_mondrian.release.result import AnyRelease
    from core_mondrian.release.signatures import Signer
    from core_mondrian.spec.declaration import Spec

Place = Literal["files", "batches", "database", "cluster"]
"""Where rows are, and so who does the work."""


@dataclass(frozen=True, slots=True)
class DatabaseOptions:
    """A table in a database instead of a file."""

    PANEL: ClassVar = "Databases and clusters"
    database: Annotated[
        str | None,
        typer.Option(
            "--database",
            metavar="FILE|URL",
            help="A DuckDB or SQLite file, or postgresql://…: work inside it.",
        ),
    ] = None
    view: Annotated[
        bool,
        typer.Option("--view", help="With --database: TARGET is a view of SOURCE."),
    ] = False
    manifest: Annotated[
        Path | None,
        typer.Option(
            "--manifest",
            metavar="FILE",
            help="With --database: else TARGET.manifest.json, here.",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """A cluster instead of this machine."""

    PANEL: ClassVar = DatabaseOptions.PANEL
    engine: Annotated[
        str,
        typer.Option(
            "--engine",
            metavar="local|spark",
            help="Where the work is done: on this machine, or on a cluster.",
        ),
    ] = "local"
    master: Annotated[
        str | None,
        typer.Option(
            "--master",
            metavar="URL",
            help="Spark: the cluster, such as spark://HOST:7077.",
        ),
    ] = None
    remote: Annotated[
        str | None,
        typer.Option(
            "--remote",
            metavar="URL",
            help="Spark: a Connect server, such as sc://HOST.",
        ),
    ] = None
    driver_tuples: Annotated[
        int | None,
        typer.Option(
            "--driver-tuples",
            metavar="N",
            min=0,
            help="Spark: distinct tuples planned on the driver; more stay on the "
            "cluster [default: 1000000].",
        ),
    ] = None

    def check(self) -> None:
        """Refuse an engine that there is not, and a cluster without one."""
        from core_mondrian.spec.declaration import check_choice

        check_choice("engine", self.engine, ("local", "spark"))
        if self.engine == "spark":
            return
        for name in ("master", "remote", "driver_tuples"):
            if getattr(self, name) is not None:
                flag = f"--{name.replace('_', '-')}"
                raise SpecError(f"{flag} is for clusters", hint="add --engine spark")


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """Files that do not fit into memory."""

    PANEL: ClassVar = "Large files"
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="Never take more than that, such as 2GB: rows are streamed.",
        ),
    ] = None
    stream: Annotated[
        bool,
        typer.Option("--stream", help="Read SOURCE in batches, even if it would fit."),
    ] = False
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with the counts of an interrupted run."),
    ] = False
    bad_rows: Annotated[
        str | None,
        typer.Option(
            "--bad-rows",
            metavar="error|ROWS",
            help="Rows of CSV that cannot be read: an error, or so many are left out.",
        ),
    ] = None
    save_counts: Annotated[
        Path | None,
        typer.Option(
            "--save-counts",
            metavar="FILE",
            help="Keep the counts of tuples. They hold values of SOURCE: keep them "
            "safe.",
        ),
    ] = None
    add_counts: Annotated[
        Path | None,
        typer.Option(
            "--add-counts",
            metavar="FILE",
            help="Counts kept before: their parts of SOURCE are not counted again.",
        ),
    ] = None

    def given(self) -> list[str]:
        """Return the names of those that are given, the memory last."""
        names = ("stream", "resume", "bad_rows", "save_counts", "add_counts", "memory")
        return [name for name in names if getattr(self, name) not in (None, False)]


By = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        metavar="COLUMN",
        help="Show what each group lost, by its name. Repeat for more.",
    ),
]
Painting = Annotated[
    tuple[str, str] | None,
    typer.Option(
        "--painting",
        metavar="COLUMN COLUMN",
        help="The two columns whose partition the report paints.",
    ),
]
Timings = Annotated[
    bool,
    typer.Option(
        "--timings",
        help="Show in the report what each stage took. Its bytes then differ "
        "from run to run.",
    ),
]


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """A report, for people."""

    PANEL: ClassVar = "Report"
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Write a report to FILE: one HTML page, for people.",
        ),
    ] = None
    report_for: Annotated[
        str,
        typer.Option(
            "--report-for",
            metavar="owner|readers",
            help="Whom the report is for. Readers get what they can compute from the "
            "release.",
        ),
    ] = "owner"
    painting: Painting = None
    timings: Timings = False


@dataclass(frozen=True, slots=True)
class FigureOptions:
    """What is measured of the release, and how it is shown."""

    PANEL: ClassVar = OUTPUT
    by: By = None
    measures: Annotated[
        bool, typer.Option("--measures/--no-measures", help="Measure what was lost.")
    ] = True
    bound: Annotated[
        bool,
        typer.Option("--bound", help="Find what any release loses at least."),
    ] = False
    as_json: AsJson = False

    def measure(self, release: "AnyRelease") -> "Outcome":
        """Return a release with what was lost in it, and by each group, as asked.

        Groups are those of the columns asked for and that of equity. The bound is
        found, if it is asked for, and kept in the release.
        """
        if self.bound:
            _find_bound(release)
        measures, groups = None, {}
        if self.measures:
            equity = release.spec.equity
            asked = (*(self.by or []), *([] if equity is None else [equity]))
            groups = {name: release.by_group(name) for name in dict.fromkeys(asked)}
            measures = release.measures()
        output = release_json(release, measures, groups) if self.as_json else None
        return Outcome(release, measures, groups, output)


def _find_bound(release: "AnyRelease") -> None:
    from core_mondrian.release.result import PartedRelease

    if isinstance(release, PartedRelease):
        echo("bound       not found: the distinct tuples do not fit into memory")
    else:
        release.bound()


class Outcome(NamedTuple):
    """A release that is written, and all that is said about it."""

    release: "AnyRelease"
    measures: "Measures | None"
    groups: "Mapping[str, tuple[GroupMeasures, ...]]"
    output: str | None
    """One line of JSON, if it is asked for."""
    written: str = ""
    """What was written first; the time it took is said with it."""
    more: Sequence[str] = ()
    """What else was written."""

    def print(self, started: float) -> None:
        """Say what was released, lost and written since ``started``."""
        if self.output is not None:
            typer.echo(self.output)
        print_release(self.release, self.measures)
        for name, lost in self.groups.items():
            print_group_losses(name, lost)
        echo(f"{self.written} in {time.perf_counter() - started:.1f} s")
        for line in self.more:
            echo(line)


def release_json(
    release: "AnyRelease",
    measures: "Measures | None",
    groups: "Mapping[str, tuple[GroupMeasures, ...]]",
) -> str:
    """Return manifest, figures and what was lost as one line: for the owner."""
    from core_mondrian.release.manifests import finite

    plain = {**release.manifest(), **release.figures()}
    if release.disk_bytes:
        plain["disk_bytes"] = release.disk_bytes
    if measures is not None:
        plain["measures"] = measures.to_json()
    if groups:
        plain["groups"] = {
            name: [one.to_json() for one in lost] for name, lost in groups.items()
        }
    return json_line(finite(plain))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRequest:
    """What `anonymize` is asked."""

    source_name: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="CSV, Parquet or Arrow IPC; also .csv.gz, a folder or a glob; of a "
            "--database, a table or a query.",
        ),
    ]
    target_name: Annotated[
        str,
        typer.Argument(metavar="TARGET", help="Likewise; its manifest goes beside."),
    ]
    asked: SpecOptions
    suppressed_file: Annotated[
        Path | None,
        typer.Option(
            "--suppressed-file",
            metavar="FILE",
            help="Write the rows left out to FILE, as they are: NOT anonymized. "
            "Keep it as safe as SOURCE.",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    overwrite: Overwrite = False
    figures: FigureOptions
    key_file: KeyFile = None
    sign_key: SignKey = None
    report: ReportOptions
    threads: Threads = None
    csv: Csv = None
    streaming: StreamOptions
    database: DatabaseOptions
    cluster: ClusterOptions

    @property
    def source(self) -> Path:
        return Path(self.source_name)

    @property
    def target(self) -> Path:
        return Path(self.target_name)

    @property
    def by(self) -> list[str]:
        """The columns whose groups are told apart."""
        return self.figures.by or []

    def spec(self) -> "Spec":
        """Return the spec; a file for suppressed rows separates them."""
        is_implied = self.suppressed_file is not None
        if is_implied and self.asked.flags["suppressed"] is None:
            return self.asked.spec(suppressed="separate")
        return self.asked.spec()

    def page(self, spec: "Spec") -> "ReportFile | None":
        """Return the report on request, checked; it names the table and the day.

        Readers know the release by its name, and not what it was made of.
        """
        options, is_owners = self.report, self.report.report_for == "owner"
        if options.report is None:
            if options.painting is not None or options.timings or not is_owners:
                raise SpecError(
                    "--report-for, --painting and --timings are for a report",
                    hint="add --report FILE.html",
                )
            return None
        from core_mondrian.release.report_file import ReportFile, Subject

        is_file = self.database.database is None and self.cluster.engine == "local"
        named = self.source if is_file and is_owners else self.target
        audience: Any = options.report_for  # checked below
        of = Subject(named.name, today())
        shown = (options.painting, options.timings, audience, of)
        report = ReportFile(options.report, *shown)
        report.check(spec)
        return report

    def signer(self) -> "Signer | None":
        """Return who signs the manifest beside the target file, checked before."""
        from core_mondrian.release.signatures import read_signer, signature_of
        from core_mondrian.tables.files.atomic_write import check_place

        signer = None if self.sign_key is None else read_signer(self.sign_key)
        # A signature that is there goes or is replaced: it is of another manifest.
        signature = signature_of(manifest_of(self.target))
        check_place(signature, overwrite=self.overwrite)
        return signer

    def check(self) -> None:
        """Refuse options of one place in another."""
        given, is_local = self.streaming.given(), self.cluster.engine == "local"
        if self.by and not self.figures.measures and self.report.report is None:
            # A report measures by itself.
            raise SpecError(
                "--by shows what each group lost, and --no-measures measures nothing",
                hint="leave out one of them",
            )
        if self.csv:
            given.append("csv")
        if is_local:
            given = [name for name in given if name != "memory"]
        if given and (self.database.database is not None or not is_local):
            raise SpecError(
                f"--{given[0].replace('_', '-')} is for files that are read here",
                hint="leave it out, or --database and --engine",
            )
        if self.database.database is not None:
            if self.suppressed_file is not None:
                raise SpecError(
                    "--suppressed-file is for files",
                    hint="--suppressed separate makes the table TARGET_suppressed",
                )
            return
        if self.database.view or self.database.manifest is not None:
            raise SpecError(
                "--view and --manifest are for --database",
                hint="the manifest of a file stands beside it",
            )
        self.cluster.check()

    def place(self, spec: "Spec") -> Place:
        """Return where the rows are; guarding formulas is for files written here."""
        is_remote = self.database.database is not None
        if is_remote or self.cluster.engine == "spark":
            if spec.guard_formulas:
                raise SpecError(
                    "guard_formulas is for CSV files that are written here",
                    hint="leave it out, or --database and --engine",
                )
            return "database" if is_remote else "cluster"
        from core_mondrian.cli.stream import is_streamed

        return "batches" if is_streamed(self, spec) else "files"

    def outcome_of_files(self, outcome: Outcome, signer: "Signer | None") -> Outcome:
        """Return what came of it with the files that were written."""
        target = self.target
        more = [f"wrote {record_of(target)}: {FOR_OWNER}"]
        if signer is not None:
            from core_mondrian.release.signatures import signature_of

            more.append(f"wrote {signature_of(manifest_of(target))}")
            more.append(f"signed      by key {signer.fingerprint}")
        if self.report.report is not None:
            whose = FOR_OWNER if self.report.report_for == "owner" else FOR_ANYONE
            more.append(f"wrote {self.report.report}: {whose}")
        if (rows := self.suppressed_file) is not None:
            more.append(f"wrote {rows}: original rows, NOT anonymized")
        written = f"wrote {target} and {manifest_of(target)}"
        return outcome._replace(written=written, more=more)


def today() -> str:
    """Return the day, or that of SOURCE_DATE_EPOCH: then a report is made again."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    if epoch.isdecimal():
        return datetime.fromtimestamp(int(epoch), UTC).date().isoformat()
    return datetime.now().astimezone().date().isoformat()


def check_formats(spec: "Spec", target: Path, suppressed_file: Path | None) -> None:
    """Refuse what the files cannot hold, before any work."""
    from core_mondrian.tables.files.kinds import kind_of

    is_separate = spec.suppressed == "separate"
    if is_separate != (suppressed_file is not None):
        raise SpecError(
            "suppressed = 'separate' and --suppressed-file go together",
            hint="the file gets the rows left out, as they are: NOT anonymized",
        )
    columns = spec.quasi_identifiers
    has_structs = any(spec.format_of(name) == "struct" for name in columns)
    if has_structs and kind_of(target) == "csv":
        raise SpecError(
            f"{target}: a CSV file has no structs",
            hint="take numbers = 'bounds', or write Parquet",
        )
