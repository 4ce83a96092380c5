"""core-mondrian keygen and sign: keys, and signatures of manifests."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from core_mondrian.cli.options import OUTPUT, Overwrite
from core_mondrian.cli.requests import command
from core_mondrian.cli.summary import echo


@dataclass(frozen=True, slots=True)
class KeyPairRequest:
    """What `keygen` is asked."""

    key: Annotated[
        Path,
        typer.Argument(
            metavar="KEYFILE", help="Where the private key goes; KEYFILE.pub beside."
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class SignRequest:
    """What `sign` is asked."""

    PANEL: ClassVar = OUTPUT
    manifest: Annotated[Path, typer.Argument(help="TARGET.manifest.json.")]
    key: Annotated[
        Path, typer.Option("--key", metavar="FILE", help="A private key, see keygen.")
    ]
    overwrite: Overwrite = False


@command(KeyPairRequest)
def make_key_files(request: KeyPairRequest) -> None:
    """Make a pair of Ed25519 keys: KEYFILE signs, KEYFILE.pub checks.

    Only you can read KEYFILE. Give KEYFILE.pub and its fingerprint to those who check
    your releases. Nothing is ever overwritten.
    """
    from core_mondrian.release.signatures import make_keys, public_of

    fingerprint = make_keys(request.key)
    echo(f"wrote {request.key}: private, keep it to yourself")
    echo(f"wrote {public_of(request.key)}: for those who check")
    echo(f"fingerprint {fingerprint}")


@command(SignRequest)
def sign_file(request: SignRequest) -> None:
    """Sign MANIFEST: write MANIFEST.sig beside it.

    The signature covers the manifest's exact bytes: it fails if one of them changes.
    """
    from core_mondrian.release.signatures import sign_manifest, signature_of

    manifest = request.manifest
    fingerprint = sign_manifest(manifest, request.key, overwrite=request.overwrite)
    echo(f"signed      by key {fingerprint}")
    echo(f"wrote {signature_of(manifest)}")
