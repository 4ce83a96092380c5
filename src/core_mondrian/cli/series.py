"""core-mondrian series: releases of a table that changes, under one guarantee."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from core_mondrian.cli.options import AsJson, SpecFile
from core_mondrian.cli.summary import FOR_OWNER, echo, json_line, print_verification

if TYPE_CHECKING:
    from core_mondrian.analysis.released_series import ReleasedSeries
    from core_mondrian.series.release_step import RowCounts
    from core_mondrian.series.series import Series
    from core_mondrian.spec.declaration import Spec

Folder = Annotated[Path, typer.Argument(help="The folder of the series.")]


def create_series(
    folder: Annotated[Path, typer.Argument(help="A new folder.")],
    *,
    spec_file: Annotated[
        Path, typer.Option("--spec", metavar="FILE", help="What to protect, as TOML.")
    ],
    row_key: Annotated[
        list[str],
        typer.Option(
            "--row-key",
            metavar="COLUMN",
            help="Says which row is which; not released. Repeat for more.",
        ),
    ],
    too_small: Annotated[
        str,
        typer.Option(
            "--too-small",
            metavar="ancestor|wait|withhold",
            help="What becomes of new rows that are too few for a class.",
        ),
    ] = "ancestor",
    cohort: Annotated[
        str,
        typer.Option("--cohort", metavar="COLUMN", help="Says who is shown together."),
    ] = "cohort",
    cohort_size: Annotated[
        int | None,
        typer.Option(
            "--cohort-size",
            metavar="N",
            help="Persons a cohort begins with: more survive more deletions.",
        ),
    ] = None,
    suffix: Annotated[
        str, typer.Option("--format", metavar="SUFFIX", help="Of the released files.")
    ] = ".parquet",
) -> None:
    """Begin a series in FOLDER, which only you can read."""
    from core_mondrian.series.series import Series
    from core_mondrian.spec.toml_file import load_spec

    Series.create(
        folder,
        load_spec(spec_file),
        row_key=row_key,
        too_small=too_small,  # type: ignore[arg-type]  # checked there
        cohort=cohort,
        cohort_size=cohort_size,
        suffix=suffix,
    )
    echo(f"wrote {folder}: {FOR_OWNER}")


def release_series(
    folder: Folder,
    table: Annotated[Path, typer.Argument(help="The table as it is now, all of it.")],
    *,
    spec_file: SpecFile = None,
    preview: Annotated[
        bool,
        typer.Option("--preview", help="Say what would become of rows; write nothing."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Release TABLE as the next one of the series in FOLDER.

    Rows that were shown and are as they were are shown as they were. New rows form
    classes of their own. Who is gone or has changed leaves, with others.
    """
    series = _open(folder, spec_file)
    data = _read(table, series)
    if preview:
        _tell_counts(series.preview(data), as_json=as_json, more={"preview": True})
        return
    found = series.release(data)
    more = {"release": found.number, "file": str(found.path)}
    _tell_counts(found.counts, as_json=as_json, more=more)
    print_verification(found.verification)
    echo(f"wrote {found.path}")


def show_series(
    folder: Folder, *, spec_file: SpecFile = None, as_json: AsJson = False
) -> None:
    """Say what the series in FOLDER has released, and what it was asked."""
    import json

    state = _open(folder, spec_file).state()
    records = [
        json.loads(path.read_text("utf-8"))
        for path in sorted(
            (folder / "records").iterdir(), key=lambda path: (len(path.name), path.name)
        )
    ]
    if as_json:
        told = [{"release": x["series"]["number"], **x["rows"]} for x in records]
        typer.echo(json_line({"series": state.name, "releases": told}))
        return
    typer.echo(f"series      {state.name}, {state.chain.number} releases")
    typer.echo(f"models      {', '.join(model.title for model in state.spec.models)}")
    for record in records:
        rows = ", ".join(f"{n} {name}" for name, n in record["rows"].items())
        typer.echo(f"release {record['series']['number']:<3} {rows}")


def verify_series(
    folder: Annotated[Path, typer.Argument(help="Releases and their manifests.")],
    *,
    spec_file: SpecFile = None,
    as_json: AsJson = False,
) -> None:
    """Recount all releases in FOLDER together; exit code 5 if anybody stands out.

    Released files and their manifests are all it needs: whoever got them can check.
    """
    tell_series(
        folder, None if spec_file is None else _load(spec_file), as_json=as_json
    )


def tell_series(folder: Path, spec: "Spec | None", *, as_json: bool) -> None:
    """Recount a series from its files, and say what was found."""
    from core_mondrian.analysis.released_series import verify_released

    found = verify_released(folder, spec)
    if as_json:
        typer.echo(json_line(found.to_json()))
    for line in _lines(found):
        echo(line)


def _lines(series: "ReleasedSeries") -> list[str]:
    found = series.found
    lines = [
        f"releases    {found.n_releases}, {found.n_rows} rows together",
        f"cohorts     {found.n_cohorts}; what leaves, stays and comes: "
        f"{found.n_parts} parts, the smallest of {found.smallest_part} rows",
        *(
            f"model       {x.name} holds (reached {x.reached:.6g})"
            for x in found.models
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


def _load(spec_file: Path) -> "Spec":
    from core_mondrian.spec.toml_file import load_spec

    return load_spec(spec_file)


def _open(folder: Path, spec_file: Path | None) -> "Series":
    from core_mondrian.series.series import Series

    return Series.open(folder, None if spec_file is None else _load(spec_file))


def _read(table: Path, series: "Series") -> Any:  # noqa: ANN401  # an Arrow table
    from core_mondrian.tables.files.read import read_table

    spec = series.state().spec
    return read_table(table, typed=spec.quasi_identifiers, null_values=spec.null_values)


def _tell_counts(counts: "RowCounts", *, as_json: bool, more: dict[str, Any]) -> None:
    rows = counts.to_json()
    if as_json:
        typer.echo(json_line({**more, "rows": rows}))
    echo("rows        " + ", ".join(f"{n} {name}" for name, n in rows.items()))


COMMANDS: Final = {
    "create": create_series,
    "release": release_series,
    "status": show_series,
    "verify": verify_series,
}
"""What can be done with a series."""
