"""core-mondrian attack FOLDER: what releases of the same people say together."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from core_mondrian.cli.attack import AttackRequest, show_finding
from core_mondrian.cli.compare import manifest_spec
from core_mondrian.cli.reply import Reply
from core_mondrian.cli.summary import escape_controls
from core_mondrian.errors import DataError, PrivacyViolation
from core_mondrian.runtime.progress import Steps, show_progress

if TYPE_CHECKING:
    from core_mondrian.analysis.attacks.together import Together
    from core_mondrian.spec.declaration import Spec

_MANIFEST: Final = ".manifest.json"


def attack_folder(request: AttackRequest) -> Reply:
    """Attack the releases in a folder together, and return what gets out."""
    from core_mondrian.analysis.attacks.together import attack_together
    from core_mondrian.tables.files.dialect import WRITTEN
    from core_mondrian.verification.read_back import read_release

    specs = _specs(request.release)
    every = list(specs.values())
    typed = sorted({name for spec in every for name in spec.quasi_identifiers})
    with show_progress(as_json=request.as_json) as progress:
        end = Steps(progress, "reading", [1.0, *(1.0 for _ in specs)]).end
        before = end(request.people(typed, every[0].null_values))
        releases = {
            path.name: (end(read_release(path, spec, dialect=WRITTEN)), spec)
            for path, spec in specs.items()
        }
        attacked = attack_together(
            releases, before, sensitive=request.sensitive or [], progress=progress
        )

    def check() -> None:
        most = request.fail_above
        for one in attacked.unmatched:
            if most is not None and one.is_most:
                raise DataError(
                    f"{one.name}: {one.n_strange:,} of {one.n_released:,} released "
                    "rows fit nobody of the original: who is linked to them cannot be "
                    "known",
                    hint="compare releases with their own original, both written alike",
                )
        if most is not None and attacked.share > most:
            raise PrivacyViolation(
                f"releases together leave {attacked.share:.2%} below k, more than "
                f"{most:.2%}",
                hint="do not give all of them away",
            )

    return Reply(attacked.to_json, partial(_show, attacked), check=check)


def _specs(folder: Path) -> "dict[Path, Spec]":
    """Return the releases in a folder, each with the spec of its manifest.

    Raises:
        DataError: a manifest stands beside nothing, or there is none.
    """
    specs = {}
    manifests = sorted(folder.glob(f"*{_MANIFEST}"))
    if not manifests:  # of a series, maybe
        manifests = sorted(folder.glob(f"releases/*{_MANIFEST}"))
    for manifest in manifests:
        path = manifest.with_name(manifest.name.removesuffix(_MANIFEST))
        if not path.is_file():
            raise DataError(
                f"{manifest}: its release is gone", hint="put it beside the manifest"
            )
        specs[path] = _with_cohorts(manifest_spec(path), manifest)
    if not specs:
        raise DataError(
            f"{folder}: no release with a manifest",
            hint="put releases and their manifests into one folder",
        )
    return specs


def _with_cohorts(spec: "Spec", manifest: Path) -> "Spec":
    """Return the spec of a release; if it is of a series, a cohort is a class."""
    series = json.loads(manifest.read_bytes()).get("series")
    return spec if series is None else replace(spec, class_id=str(series["cohort"]))


def _show(together: "Together") -> None:
    for pair in together.pairs:
        names = escape_controls(f"{pair.first} and {pair.second}")
        typer.echo(f"{names}, k = {pair.k}")
        for one in pair.findings:
            show_finding(one)
        if not pair.findings:
            typer.echo("nothing joins them that both show")
    for one in together.at_once:
        typer.echo(f"{one.numbers['releases']} releases at once")
        show_finding(one)
    for note in together.notes:
        typer.echo(escape_controls(f"note: {note}"))
    n, n_pairs = len(together.succeeded), len(together.pairs)
    typer.echo(f"{n} of {n_pairs} pairs reveal more together")
