"""core-mondrian keygen and sign: keys, and signatures of manifests."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from core_mondrian.cli.summary import echo

if TYPE_CHECKING:
    from core_mondrian.release.signatures import Signer

SignKey = Annotated[
    Path | None,
    typer.Option(
        "--sign-key",
        metavar="FILE",
        help="Sign the manifest by this private key, see keygen.",
    ),
]


def make_key_files(
    key: Annotated[
        Path,
        typer.Argument(
            metavar="KEYFILE", help="Where the private key goes; KEYFILE.pub beside."
        ),
    ],
) -> None:
    """Make a pair of Ed25519 keys: KEYFILE signs, KEYFILE.pub checks.

    Only you can read KEYFILE: keep it so. Give KEYFILE.pub and its fingerprint to
    whoever shall check your releases. Nothing is ever overwritten.
    """
    from core_mondrian.release.signatures import make_keys, public_of

    fingerprint = make_keys(key)
    echo(f"wrote {key}: private, keep it to yourself")
    echo(f"wrote {public_of(key)}: for those who check")
    echo(f"fingerprint {fingerprint}")


def sign_file(
    manifest: Annotated[Path, typer.Argument(help="TARGET.manifest.json.")],
    *,
    key: Annotated[
        Path, typer.Option("--key", metavar="FILE", help="A private key, see keygen.")
    ],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a signature that is there.")
    ] = False,
) -> None:
    """Sign MANIFEST: write MANIFEST.sig beside it.

    The signature is over the manifest's exact bytes: change one, and it fits no more.
    """
    from core_mondrian.release.signatures import sign_manifest, signature_of

    fingerprint = sign_manifest(manifest, key, overwrite=overwrite)
    echo(f"signed      by key {fingerprint}")
    echo(f"wrote {signature_of(manifest)}")


def open_signer(key: Path | None, target: Path, *, overwrite: bool) -> "Signer | None":
    """Return the key to sign by, if one is asked for, checked before any work.

    A signature that is there goes or is replaced: it is of another manifest.
    """
    from core_mondrian.release.signatures import read_signer, signature_of
    from core_mondrian.tables.files.atomic_write import check_place, manifest_of

    signer = None if key is None else read_signer(key)
    check_place(signature_of(manifest_of(target)), overwrite=overwrite)
    return signer


def signed_text(signer: "Signer | None", target: Path) -> str | None:
    """Return what to say of the signature of a release, and by whom it is."""
    if signer is None:
        return None
    from core_mondrian.release.signatures import signature_of
    from core_mondrian.tables.files.atomic_write import manifest_of

    file = signature_of(manifest_of(target))
    return f"wrote {file}\nsigned      by key {signer.fingerprint}"
