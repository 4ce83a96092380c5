"""core-mondrian verify: recount a table anyone sends."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core_mondrian.cli.options import (
    AsJson,
    K,
    ModelTexts,
    NullValues,
    Numbers,
    QuasiIdentifiers,
    Sensitive,
    SpecFile,
    Suppress,
    Suppressed,
    Unit,
    build_spec,
    model_tables,
)
from core_mondrian.cli.summary import tell_verification
from core_mondrian.errors import PrivacyViolation

if TYPE_CHECKING:
    from core_mondrian.spec import Spec


def verify_file(
    table: Annotated[Path, typer.Argument(help="CSV, Parquet or Arrow IPC.")],
    *,
    spec_file: SpecFile = None,
    quasi_identifiers: QuasiIdentifiers = None,
    k: K = None,
    models: ModelTexts = None,
    sensitive: Sensitive = None,
    unit: Unit = None,
    suppress: Suppress = None,
    suppressed: Suppressed = None,
    numbers: Numbers = None,
    null_values: NullValues = None,
    as_json: AsJson = False,
) -> None:
    """Check that every class of TABLE passes the models; exit code 5 if one does not.

    TABLE is recounted as it stands: a missing value is a value, and texts that differ
    by a letter differ.
    """
    from core_mondrian.measure.verify import verify

    spec = released_spec(locals())
    # A blank row is one of empty cells, whatever was missing in the original.
    blank = ("",) if spec.suppressed == "blank" else ()
    data = read_release(table, spec, (*blank, *spec.null_values))
    try:
        found = verify(data, spec)
    except PrivacyViolation as error:
        if as_json:
            typer.echo(json.dumps({"passed": False, "message": error.message}))
        raise
    if as_json:
        typer.echo(json.dumps({"passed": True, **found.to_json()}))
    typer.echo(f"rows        {found.n_rows}", err=True)
    tell_verification(found)


def released_spec(options: Mapping[str, Any]) -> "Spec":
    """Return what the options of a command say a release is recounted by."""
    same = (
        *("quasi_identifiers", "k", "unit", "suppress", "suppressed", "numbers"),
        "null_values",
    )
    flags = {name: options[name] for name in same}
    flags["models"] = model_tables(options["models"], options["sensitive"])
    file = options["spec_file"]
    spec = build_spec(file, flags, None)  # released labels are just values
    if spec.population is not None:
        spec = build_spec(file, flags, [])  # whom of it do they cover?
    return spec


def read_release(file: Path, spec: "Spec", null_values: Sequence[str]) -> Any:  # noqa: ANN401  # an Arrow table
    """Read a release; cells of a CSV file stay the texts they are."""
    from core_mondrian.files.read import read_table

    return read_table(
        file,
        typed=[  # the others are as they came
            shown
            for name in spec.quasi_identifiers
            for shown in (name, *spec.bounds_of(name))
        ],
        null_values=null_values,
        infer=False,
    )
