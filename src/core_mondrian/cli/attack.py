"""core-mondrian attack: what an attacker gets out of a release."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final

import typer

from core_mondrian.cli.compare import manifest_spec
from core_mondrian.cli.csv_files import Csv, read_source
from core_mondrian.cli.options import AsJson, OriginalFile, SpecFile, build_spec
from core_mondrian.cli.reply import Reply
from core_mondrian.cli.requests import command
from core_mondrian.cli.summary import escape_controls
from core_mondrian.errors import DataError, PrivacyViolation, SpecError
from core_mondrian.runtime.progress import Progress, Steps, show_progress
from core_mondrian.tables.files.staging import manifest_of

if TYPE_CHECKING:
    from core_mondrian.analysis.attacks import Attacks, Finding
    from core_mondrian.spec.declaration import Spec

_WIDTH: Final = 88
_INDENT: Final = 21


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackRequest:
    """What `attack` is asked."""

    PANEL: ClassVar = "Attack"
    release: Annotated[
        Path,
        typer.Argument(
            help="CSV, Parquet or Arrow IPC; or a folder of releases and manifests."
        ),
    ]
    original: OriginalFile = None
    known: Annotated[
        str | None,
        typer.Option(
            "--known",
            metavar="COLUMN,…",
            help="Columns that attackers know. [default: the quasi-identifiers]",
        ),
    ] = None
    sensitive: Annotated[
        list[str] | None,
        typer.Option(
            "--sensitive",
            metavar="COLUMN",
            help="What the attacker is after, besides those of the spec. Repeat for "
            "more.",
        ),
    ] = None
    also: Annotated[
        Path | None,
        typer.Option(
            "--also",
            metavar="FILE",
            help="Another release of the same people, by its manifest or this spec.",
        ),
    ] = None
    unit: Annotated[
        str | None,
        typer.Option(
            "--unit",
            metavar="COLUMN",
            help="Whose row it is. [default: as the spec says, or an identifier that "
            "repeats]",
        ),
    ] = None
    spec_file: SpecFile = None
    csv: Csv = None
    fail_above: Annotated[
        float | None,
        typer.Option(
            "--fail-above",
            metavar="SHARE",
            help="Exit code 5 if a larger share is linked with confidence above 1/k.",
        ),
    ] = None
    as_json: AsJson = False

    def check(self) -> None:
        """Refuse a share that is none, and options that RELEASE has no use for."""
        if self.fail_above is not None and not 0 <= self.fail_above <= 1:
            raise SpecError("--fail-above lies between 0 and 1", hint="such as 0.01")
        if self.release.is_dir():
            if any(x is not None for x in (self.known, self.also, self.unit)) or (
                self.spec_file is not None
            ):
                raise SpecError(
                    "--known, --also, --unit and --spec are for one release",
                    hint="leave them out: every release in a folder has its own "
                    "manifest",
                )
            if self.csv and self.original is None:
                raise SpecError(
                    "--csv says how the table of --with is written",
                    hint="name that table: --with FILE",
                )
        elif self.original is None:
            raise SpecError(
                "an attack needs the people who are in the release",
                hint="name the table that it was made of: --with FILE",
            )

    def people(self, typed: Sequence[str], null_values: Sequence[str]) -> Any:  # noqa: ANN401
        """Return the table of the people as `anonymize` reads it; None: not given."""
        if self.original is None:
            return None
        return read_source(
            self.original, self.csv, typed=typed, null_values=null_values
        )


@command(AttackRequest)
def attack_file(request: AttackRequest) -> None:
    """Attack RELEASE with the people it was made of, and say what gets out.

    The spec is --spec, or else that of the manifest beside it. No cell is printed.
    Of a folder, the releases are attacked two by two: what does a reader of both find?
    """
    request.check()
    if request.release.is_dir():
        from core_mondrian.cli.attack_folder import attack_folder

        reply = attack_folder(request)
    else:
        reply = _attack_release(request)
    reply.print(as_json=request.as_json)


def _attack_release(request: AttackRequest) -> Reply:
    with show_progress(as_json=request.as_json) as progress:
        attacks = _attack(request, progress)

    def check() -> None:
        most = request.fail_above
        if most is not None and attacks.n_strange > most * attacks.n_released:
            raise DataError(
                f"{attacks.n_strange:,} of {attacks.n_released:,} released rows fit "
                "nobody of the original: who is linked to them cannot be known",
                hint="compare a release with its own original, both written alike",
            )
        if most is not None and attacks.linked > most:
            raise PrivacyViolation(
                f"{attacks.linked:.2%} of the {attacks.who} are linked with a "
                f"confidence above 1/{attacks.k}, more than {most:.2%}",
                hint="do not publish this table",
            )

    return Reply(attacks.to_json, partial(_show, attacks), check=check)


def _attack(request: AttackRequest, progress: Progress | None) -> "Attacks":
    from core_mondrian.analysis.attacks import attack
    from core_mondrian.verification.read_back import read_release

    release, also = request.release, request.also
    spec = _spec_of(release, request.spec_file)
    _check_original(release, request.original)
    end = Steps(progress, "reading", (1.0, 1.0)).end
    before = end(request.people(spec.quasi_identifiers, spec.null_values))
    second: Any = None
    if also is not None:
        has_own = manifest_of(also).is_file()
        others_spec = manifest_spec(also) if has_own else spec
        second = read_release(also, others_spec), others_spec
    known = request.known
    return attack(
        end(read_release(release, spec)),
        before,
        spec,
        known=None if known is None else [name for name in known.split(",") if name],
        sensitive=request.sensitive or [],
        unit=request.unit,
        also=second,
        file=release,
        manifest=_published(release),
        progress=progress,
    )


def _check_original(release: Path, original: Path | None) -> None:
    """Refuse a release as its own original: all that is found would be wrong."""
    if original is None or not (release.exists() and original.exists()):
        return
    if original.samefile(release):
        raise SpecError(
            f"{release}: the release and the original are the same file",
            hint="--with names the table that the release was made of",
        )


def _spec_of(release: Path, spec_file: Path | None) -> "Spec":
    if spec_file is None:
        return manifest_spec(release)
    return build_spec(spec_file, {}, [])


def _published(release: Path) -> Any:  # noqa: ANN401  # plain values
    """Return the manifest beside a release, if there is one."""
    from core_mondrian.release.manifests import parse_bytes

    file = manifest_of(release)
    return parse_bytes(file.read_bytes(), file)[1] if file.is_file() else None


def _show(attacks: "Attacks") -> None:
    from core_mondrian.analysis.attacks.findings import counted

    typer.echo(
        f"{counted(attacks.n_people, attacks.who)} of the original, "
        f"{counted(attacks.n_released, 'rows')} of the release, k = {attacks.k}"
    )
    linkage = attacks.named("linkage")
    others = [one for one in attacks.findings if one.name != "linkage"]
    # All quasi-identifiers, and of the others those that find most.
    worst = sorted(linkage[1:], key=_danger)[-1:]
    for one in (*linkage[:1], *worst, *others):
        show_finding(one)
    if len(linkage) > 2:
        typer.echo(
            f"linkage was tried with {len(linkage)} sets of columns; --json has all"
        )
    for note in attacks.notes:
        typer.echo(escape_controls(f"note: {note}"))
    names = {one.name for one in attacks.findings}
    n = len({one.name for one in attacks.succeeded})
    typer.echo(f"{n} of {len(names)} attacks succeeded")


def _danger(one: "Finding") -> tuple[float, float]:
    return one.numbers["above"], one.numbers["mean_confidence"]


def show_finding(one: "Finding") -> None:
    """Say whether an attack succeeded, and what would lower it."""
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
