"""Releases of a table that changes, under one guarantee."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final

import typer

from core_mondrian.cli.csv_files import Csv, read_source
from core_mondrian.cli.live import COMMANDS as LIVE
from core_mondrian.cli.options import OUTPUT, AsJson, Preview, SpecFile, load_if_given
from core_mondrian.cli.reply import Reply
from core_mondrian.cli.requests import command
from core_mondrian.cli.series_options import (
    FollowOptions,
    TooSmallRows,
    list_counts,
    previewed,
    rows_text,
)
from core_mondrian.cli.summary import (
    FOR_OWNER,
    echo,
    print_verification,
    written_stays,
)
from core_mondrian.runtime.plain_values import JsonObject
from core_mondrian.runtime.progress import Steps, show_progress
from core_mondrian.spec.metadata import PROTECTION

if TYPE_CHECKING:
    import pyarrow as pa

    from core_mondrian.analysis.released_series import ReleasedSeries
    from core_mondrian.series.series import Series, SeriesRelease
    from core_mondrian.series.state import State


@dataclass(frozen=True, slots=True)
class SeriesOptions:
    """A series that there is."""

    folder: Annotated[Path, typer.Argument(help="The folder of the series.")]
    spec_file: SpecFile = None

    def open(self) -> "Series":
        """Return the series; of a policy of one's own it needs the spec."""
        from core_mondrian.series.series import Series

        return Series.open(self.folder, load_if_given(self.spec_file))


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesCreateRequest:
    """What `series create` is asked."""

    PANEL: ClassVar = PROTECTION
    folder: Annotated[Path, typer.Argument(help="A new folder.")]
    follow: FollowOptions
    too_small: TooSmallRows = "ancestor"
    cuts: Annotated[
        str,
        typer.Option(
            "--cuts",
            metavar="afresh|first",
            help="New rows are cut by themselves, or by the tree of the first release.",
        ),
    ] = "afresh"
    departures: Annotated[
        str,
        typer.Option(
            "--departures",
            metavar='together|"by lot"',
            help="Rows that are gone stay until enough leave, or take others along.",
        ),
    ] = "together"
    suffix: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="SUFFIX",
            help="Of the released files.",
            rich_help_panel=OUTPUT,
        ),
    ] = ".parquet"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesReleaseRequest:
    """What `series release` is asked."""

    PANEL: ClassVar = OUTPUT
    series: SeriesOptions
    table: Annotated[Path, typer.Argument(help="The table as it is now, all of it.")]
    preview: Preview = False
    csv: Csv = None
    as_json: AsJson = False

    def data(self, series: "Series") -> "pa.Table":
        """Return the table as the series reads it."""
        spec = series.state().spec
        return read_source(
            self.table,
            self.csv,
            typed=spec.quasi_identifiers,
            null_values=spec.null_values,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesStatusRequest:
    """What `series status` is asked."""

    series: SeriesOptions
    as_json: AsJson = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesVerifyRequest:
    """What `series verify` is asked."""

    folder: Annotated[Path, typer.Argument(help="Releases and their manifests.")]
    spec_file: SpecFile = None
    as_json: AsJson = False


@command(SeriesCreateRequest)
def create_series(request: SeriesCreateRequest) -> None:
    """Begin a series in FOLDER, which only you can read."""
    from core_mondrian.series.series import Series

    follow = request.follow
    Series.create(
        request.folder,
        follow.spec(),
        row_key=follow.row_key,
        too_small=request.too_small,  # type: ignore[arg-type]  # checked there
        cuts=request.cuts,  # type: ignore[arg-type]
        departures=request.departures,  # type: ignore[arg-type]
        cohort=follow.cohort,
        cohort_size=follow.cohort_size,
        suffix=request.suffix,
    )
    echo(f"wrote {request.folder}: {FOR_OWNER}")


@command(SeriesReleaseRequest)
def release_series(request: SeriesReleaseRequest) -> None:
    """Release TABLE as the next one of the series in FOLDER.

    Rows that were shown and are as they were are shown as they were. New rows form
    classes of their own. Who is gone or has changed leaves together with others.
    """
    series = request.series.open()
    with written_stays():
        with show_progress(as_json=request.as_json) as progress:
            data = Steps(progress, "reading", (1.0,)).end(request.data(series))
            reply = (
                previewed(series.preview(data))
                if request.preview
                else _released(series.release(data, progress=progress))
            )
        reply.print(as_json=request.as_json)


@command(SeriesStatusRequest)
def show_series(request: SeriesStatusRequest) -> None:
    """Say what the series in FOLDER has released, and what it was asked."""
    state = request.series.open().state()
    records = _records(request.series.folder)
    _status(state, records).print(as_json=request.as_json)


@command(SeriesVerifyRequest)
def verify_series(request: SeriesVerifyRequest) -> None:
    """Recount all releases in FOLDER together; exit code 5 if anybody stands out.

    Released files and their manifests are all it needs: whoever got them can check.
    """
    reply = recount_series(request.folder, request.spec_file, as_json=request.as_json)
    reply.print(as_json=request.as_json)


def recount_series(
    folder: Path, spec_file: Path | None, *, as_json: bool = False
) -> Reply:
    """Recount a series from its files, and return what was found."""
    from core_mondrian.analysis.released_series import verify_released

    spec = load_if_given(spec_file)
    with show_progress(as_json=as_json) as progress:
        series = verify_released(folder, spec, progress=progress)
    return Reply(series.to_json, print_notes=lambda: echo("\n".join(_lines(series))))


def _lines(series: "ReleasedSeries") -> list[str]:
    checked = series.found
    lines = [
        f"releases    {checked.n_releases:,}, {checked.n_rows:,} rows together",
        f"cohorts     {checked.n_cohorts:,}; what leaves, stays and comes: "
        f"{checked.n_parts:,} parts, the smallest of {checked.smallest_part:,} rows",
        *(
            f"model       {x.name} holds (reached {x.reached:.6g})"
            for x in checked.models
        ),
    ]
    if not series.is_whole:
        lines.append(
            "note        some releases are not here: those that are were checked"
        )
    if series.unit is not None:
        lines.append(
            "note        rows were counted, not persons, whom files do not show"
        )
    return lines


def _records(folder: Path) -> list[JsonObject]:
    """Return the records of a series, the first one first: 2 before 10."""
    files = sorted(
        (folder / "records").iterdir(), key=lambda file: (len(file.name), file.name)
    )
    return [json.loads(file.read_text("utf-8")) for file in files]


def _status(state: "State", records: list[JsonObject]) -> Reply:
    def plain() -> object:
        rows = [{"release": x["series"]["number"], **x["rows"]} for x in records]
        return {"series": state.name, "releases": rows}

    def show() -> None:
        models = ", ".join(model.title for model in state.spec.models)
        typer.echo(f"series      {state.name}, {state.chain.number} releases")
        typer.echo(f"models      {models}")
        for record in records:
            rows = list_counts(record["rows"])
            typer.echo(f"release {record['series']['number']:<3} {rows}")

    return Reply(plain, show)


def _released(release: "SeriesRelease[Any]") -> Reply:
    rows = release.counts.to_json()

    def print_notes() -> None:
        echo(rows_text(rows))
        print_verification(release.verification)
        echo(f"wrote {release.path}")

    about = {"release": release.number, "file": str(release.path)}
    return Reply(lambda: {**about, "rows": rows}, print_notes=print_notes)


COMMANDS: Final = {
    "create": create_series,
    "release": release_series,
    "status": show_series,
    "verify": verify_series,
    **LIVE,
}
"""What can be done with a series, in a folder or in a database."""
