"""core-mondrian attack: what an attacker gets out of a release."""

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from core_mondrian.cli.anonymize import manifest_of
from core_mondrian.cli.compare import manifest_spec
from core_mondrian.cli.options import AsJson, SpecFile, build_spec
from core_mondrian.cli.summary import escape_controls, json_line
from core_mondrian.errors import PrivacyViolation, SpecError

if TYPE_CHECKING:
    from core_mondrian.analysis.attacks import Attacks, Finding
    from core_mondrian.spec.declaration import Spec

_WIDTH: Final = 88
_INDENT: Final = 21


def attack_file(
    release: Annotated[Path, typer.Argument(help="CSV, Parquet or Arrow IPC.")],
    *,
    original: Annotated[
        Path, typer.Option("--with", help="The table that RELEASE was made of.")
    ],
    known: Annotated[
        str | None,
        typer.Option(
            "--known",
            metavar="COLUMN,…",
            help="What is known of people. Default: the quasi-identifiers.",
        ),
    ] = None,
    sensitive: Annotated[
        list[str] | None,
        typer.Option(
            "--sensitive",
            metavar="COLUMN",
            help="What the attacker is after, next to those of the spec. Repeat.",
        ),
    ] = None,
    also: Annotated[
        Path | None,
        typer.Option(
            "--also",
            metavar="FILE",
            help="Another release of the same people, by its manifest or this spec.",
        ),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            "--unit",
            metavar="COLUMN",
            help="Whose row it is. Default: as the spec says, or an identifier that "
            "repeats.",
        ),
    ] = None,
    spec_file: SpecFile = None,
    fail_above: Annotated[
        float | None,
        typer.Option(
            "--fail-above",
            metavar="SHARE",
            help="Exit code 5 if a larger share is linked with confidence above 1/k.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Attack RELEASE with the people it was made of, and say what gets out.

    The spec is --spec, or else that of the manifest beside it. No cell is printed.
    """
    if fail_above is not None and not 0 <= fail_above <= 1:
        raise SpecError("--fail-above lies between 0 and 1", hint="such as 0.01")
    spec = _spec_of(release, spec_file)
    asked = {"known": known, "sensitive": sensitive or [], "unit": unit}
    found = _attack(release, original, spec, also, asked)
    if as_json:
        typer.echo(json_line(found.to_json()))
    else:
        _show(found)
    if fail_above is not None and found.linked > fail_above:
        raise PrivacyViolation(
            f"{found.linked:.2%} of the {found.who} are linked with a confidence above "
            f"1/{found.k}, more than {fail_above:.2%}",
            hint="do not give this table away",
        )


def _spec_of(release: Path, spec_file: Path | None) -> "Spec":
    return (
        manifest_spec(release) if spec_file is None else build_spec(spec_file, {}, [])
    )


def _attack(
    release: Path,
    original: Path,
    spec: "Spec",
    also: Path | None,
    asked: dict[str, Any],
) -> "Attacks":
    from core_mondrian.analysis.attacks import attack
    from core_mondrian.tables.files.read import read_table
    from core_mondrian.verification.read_back import read_release

    if asked["known"] is not None:
        asked["known"] = [name for name in asked["known"].split(",") if name]
    before = read_table(
        original, typed=spec.quasi_identifiers, null_values=spec.null_values
    )
    second: Any = None
    if also is not None:
        has_own = manifest_of(also).is_file()
        others_spec = manifest_spec(also) if has_own else spec
        second = read_release(also, others_spec), others_spec
    return attack(
        *(read_release(release, spec), before, spec),
        also=second,
        file=release,
        manifest=_published(release),
        **asked,
    )


def _published(release: Path) -> Any:  # noqa: ANN401  # plain values
    """Return the manifest beside a release, if there is one."""
    from core_mondrian.release.manifests import parse_bytes

    file = manifest_of(release)
    return parse_bytes(file.read_bytes(), file)[1] if file.is_file() else None


def _show(found: "Attacks") -> None:
    from core_mondrian.analysis.attacks.findings import counted

    typer.echo(
        f"{counted(found.n_people, found.who)} of the original, "
        f"{counted(found.n_released, 'rows')} of the release, k = {found.k}"
    )
    linkage = found.named("linkage")
    others = [one for one in found.findings if one.name != "linkage"]
    # All quasi-identifiers, and of the others those that find most.
    worst = sorted(linkage[1:], key=_danger)[-1:]
    for one in (*linkage[:1], *worst, *others):
        _show_finding(one)
    if len(linkage) > 2:
        typer.echo(
            f"linkage was tried with {len(linkage)} sets of columns; --json has all"
        )
    for note in found.notes:
        typer.echo(escape_controls(f"note: {note}"))
    names = {one.name for one in found.findings}
    n = len({one.name for one in found.succeeded})
    typer.echo(f"{n} of {len(names)} attacks succeeded")


def _danger(one: "Finding") -> tuple[float, float]:
    return one.numbers["above"], one.numbers["mean_confidence"]


def _show_finding(one: "Finding") -> None:
    first = f"{one.name:{_INDENT - 5}}{'yes' if one.succeeded else 'no':5}"
    _show_text(first, one.sentence)
    if one.succeeded:
        _show_text(" " * _INDENT, f"lower it: {one.remedy}")


def _show_text(first: str, text: str) -> None:
    lines = textwrap.wrap(
        escape_controls(text),
        _WIDTH,
        initial_indent=first,
        subsequent_indent=" " * _INDENT,
        break_on_hyphens=False,
    )
    for line in lines:
        typer.echo(line)
