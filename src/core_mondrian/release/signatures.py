"""Ed25519 signatures of manifests: keys, what is signed, what fits.

A signature is the 64 bytes of RFC 8032, in a file beside the manifest, over the
manifest's exact bytes: any other tool that knows Ed25519 can check it.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from core_mondrian.errors import CHECK_PATH, DataError, PrivacyViolation, SpecError
from core_mondrian.release.manifests import manifest_text, parse_bytes
from core_mondrian.tables.files.atomic_write import Content, check_place, write_files
from core_mondrian.tables.files.kinds import parts_of
from core_mondrian.tables.files.staging import manifest_of, read_secret

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

_LENGTH: Final = 64
_CHUNK: Final = 1 << 20
_DISTRUST: Final = "do not rely on this manifest"


@dataclass(frozen=True, slots=True)
class Signer:
    """A private key that is never shown."""

    _key: "Ed25519PrivateKey" = field(repr=False)

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the public key: what others know the key by."""
        return _fingerprint(self._key.public_key())

    def sign(self, raw: bytes) -> bytes:
        """Return the signature of ``raw``."""
        signature: bytes = self._key.sign(raw)
        return signature


@dataclass(frozen=True, slots=True)
class PublicKey:
    """What a signature is checked by."""

    _key: "Ed25519PublicKey" = field(repr=False)

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the key: what others know it by."""
        return _fingerprint(self._key)

    def fits(self, raw: bytes, signature: bytes) -> bool:
        """Return whether the key's owner signed exactly ``raw``."""
        from cryptography.exceptions import InvalidSignature

        try:
            self._key.verify(signature, raw)
        except InvalidSignature:
            return False
        return True


def signature_of(manifest: Path) -> Path:
    """Return where the signature of a manifest stands."""
    return manifest.with_name(manifest.name + ".sig")


def public_of(key: Path) -> Path:
    """Return where the public key beside a new private one stands."""
    return key.with_name(key.name + ".pub")


def make_keys(path: Path) -> str:
    """Write a new private key to ``path``, and its public key beside.

    Only the owner may read the private key. Nothing is ever overwritten. Return the
    fingerprint, which others know the pair by.

    Raises:
        SpecError: a file exists, or `cryptography` is not installed.
        OutputError: they cannot be written.
    """
    serialization, ed25519 = _tools()
    key = ed25519.Ed25519PrivateKey.generate()
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )

    for file in (path, public_of(path)):
        check_key_place(file)
    write_files({path: secret, public_of(path): public}, private=[path])
    return _fingerprint(key.public_key())


def check_key_place(path: Path) -> None:
    """Refuse to put a key where a file is."""
    if path.exists():
        raise SpecError(
            f"{path}: the file exists, and keys are never overwritten",
            hint="take another name",
        )
    check_place(path, overwrite=False, private=True)


def read_signer(path: Path) -> Signer:
    """Read a private key: PEM, Ed25519, not encrypted.

    Raises:
        SpecError: it is none, or `cryptography` is not installed. Nothing of the key
            is told.
    """
    serialization, ed25519 = _tools()
    raw = _read_key(path, read_secret)
    if b"ENCRYPTED" in raw:
        raise SpecError(
            f"key {path}: it is encrypted", hint="give a key without a password"
        )
    try:
        key = serialization.load_pem_private_key(raw, None)
    except Exception:  # noqa: BLE001  # whatever is wrong, nothing of it is told
        raise SpecError(
            f"key {path}: not a private key in PEM",
            hint="core-mondrian keygen KEYFILE makes one",
        ) from None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise SpecError(f"key {path}: not an Ed25519 key", hint="others do not sign")
    return Signer(key)


def read_public_key(path: Path) -> PublicKey:
    """Read a public key: PEM, Ed25519.

    Raises:
        SpecError: it is none, or `cryptography` is not installed.
    """
    serialization, ed25519 = _tools()
    raw = _read_key(path)
    if b"PRIVATE KEY" in raw:
        raise SpecError(
            f"key {path}: that is a private key",
            hint="give the public one, and keep this one to yourself",
        )
    try:
        key = serialization.load_pem_public_key(raw)
    except Exception:  # noqa: BLE001  # see above
        raise SpecError(
            f"key {path}: not a public key in PEM", hint="KEYFILE.pub of keygen is one"
        ) from None
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise SpecError(f"key {path}: not an Ed25519 key", hint="others do not sign")
    return PublicKey(key)


def sign_manifest(manifest: Path, key: Path, *, overwrite: bool = False) -> str:
    """Write the signature beside a manifest; return the fingerprint of the key.

    Raises:
        DataError: it is no manifest.
        SpecError: it is signed already, or the key cannot be used.
        OutputError: the signature cannot be written.
    """
    signer = read_signer(key)
    raw = read_bytes(manifest)
    parse_bytes(raw, manifest)
    file = signature_of(manifest)
    check_place(file, overwrite=overwrite)
    write_files({file: signer.sign(raw)}, overwrite=overwrite)
    return signer.fingerprint


def check_signature(manifest: Path, public_key: Path) -> str:
    """Check the signature beside a manifest; return the fingerprint of the key.

    Raises:
        PrivacyViolation: there is none, or it does not fit the manifest and the key.
        DataError: the manifest or the signature cannot be read.
        SpecError: the key cannot be used.
    """
    key = read_public_key(public_key)
    problem = find_problem(read_bytes(manifest), manifest, key)
    if problem is not None:
        raise PrivacyViolation(problem, hint=_DISTRUST)
    return key.fingerprint


def find_problem(raw: bytes, manifest: Path, key: PublicKey) -> str | None:
    """Return what is wrong with the signature of ``raw``; None: nothing."""
    file = signature_of(manifest)
    if not file.exists():
        return f"the manifest is not signed: there is no {file}"
    signature = read_bytes(file)
    if len(signature) != _LENGTH:
        return f"{file}: a signature has {_LENGTH} bytes, this one {len(signature)}"
    if key.fits(raw, signature):
        return None
    return (
        f"the signature does not fit: manifest or signature were changed, or another "
        f"key than {key.fingerprint} signed"
    )


def sealed(
    files: Mapping[Path, Content],
    target: Path,
    manifest: Mapping[str, object],
    signer: Signer | None,
) -> dict[Path, Content]:
    """Return ``files`` with the manifest of ``target`` signed, if there is a signer.

    Otherwise no signature of another manifest stays. The manifest tells the digest of
    the release as written, so `write_files`, which keeps the order, has to write the
    release before it.
    """
    signature = signature_of(manifest_of(target))
    if signer is None:
        return {**files, signature: None}
    content = files[target]
    known: list[bytes] = []

    def know(path: Path) -> None:
        sealed_manifest = {**manifest, "files": {"release": digest_file(path)}}
        known.append(manifest_text(sealed_manifest).encode())

    def write_release(path: Path) -> None:
        if callable(content):
            content(path)
        know(path)

    if isinstance(content, Path):
        know(content)
    return {
        **files,
        target: content if isinstance(content, Path) else write_release,
        manifest_of(target): lambda path: _write(path, known[0]),
        signature: lambda path: _write(path, signer.sign(known[0])),
    }


def digest_file(path: Path) -> str:
    """Return the SHA-256 of a file, or of the names and digests of a folder's parts."""
    digest = hashlib.sha256()
    if path.is_dir():
        for part in parts_of(path):
            digest.update(f"{part.name}\0{digest_file(part)}\n".encode())
        return digest.hexdigest()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def read_bytes(path: Path) -> bytes:
    """Read a manifest or a signature.

    Raises:
        DataError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}", hint=CHECK_PATH) from None


def _write(path: Path, raw: bytes) -> None:
    path.write_bytes(raw)


def _read_key(path: Path, read: Callable[[Path], bytes] = Path.read_bytes) -> bytes:
    try:
        return read(path)
    except OSError as error:
        raise SpecError(f"key {path}: {error.strerror}", hint=CHECK_PATH) from None


def _fingerprint(key: "Ed25519PublicKey") -> str:
    serialization, _ = _tools()
    plain = key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return f"sha256:{hashlib.sha256(plain).hexdigest()}"


def _tools() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise SpecError(
            "signatures need the package cryptography",
            hint="pip install 'core-mondrian[sign]'",
        ) from None
    return serialization, ed25519
