"""A manifest as evidence: is it of this release, of that input, and who signed it?"""

import hmac
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from narwhals.typing import IntoDataFrame

from core_mondrian.api import anonymize, load_and_encode
from core_mondrian.encoding.encoder import input_digest
from core_mondrian.errors import DataError, PrivacyViolation, SpecError
from core_mondrian.release.explanation import Explanation, explain
from core_mondrian.release.manifests import (
    Manifest,
    manifest_text,
    parse_bytes,
    whole_spec,
)
from core_mondrian.release.owner_record import OwnerRecord, salted_digests
from core_mondrian.release.result import AnyRelease
from core_mondrian.release.signatures import (
    check_signature,
    digest_file,
    find_problem,
    make_keys,
    read_bytes,
    read_public_key,
    sign_manifest,
    signature_of,
)
from core_mondrian.runtime.array_types import Frame
from core_mondrian.runtime.plain_values import JsonMapping, JsonObject
from core_mondrian.runtime.progress import Progress
from core_mondrian.runtime.stages import Stages
from core_mondrian.spec.declaration import Spec

__all__ = [
    "Check",
    "Evidence",
    "Redo",
    "check_manifest",
    "check_signature",
    "check_source",
    "make_keys",
    "remake",
    "sign_manifest",
]

_REMADE: Final = ("rows", "cells_blanked", "models", "search", "equity", "funnel")
_STAND_IN: Final = bytes(32)
"""For the owner's key where it is not given: no digest depends on it."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    what: str
    passed: bool | None
    """None: it could not be found out."""
    text: str

    def to_json(self) -> JsonObject:
        """Return plain values."""
        return {"what": self.what, "passed": self.passed, "text": self.text}


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a manifest is evidence of."""

    manifest: Manifest = field(repr=False)
    record: JsonMapping = field(repr=False)
    """Its plain values."""
    checks: tuple[Check, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """What does not fit; with none, all that was checked does."""
        return tuple(one.text for one in self.checks if one.passed is False)

    @property
    def passed(self) -> bool:
        """Return whether nothing contradicts the manifest."""
        return not self.problems

    def check(self) -> None:
        """Raise PrivacyViolation if something does not fit."""
        if self.problems:
            more = len(self.problems)
            others = f" (problem 1 of {more})" if more > 1 else ""
            raise PrivacyViolation(
                f"{self.problems[0]}{others}",
                hint="do not rely on this release and its manifest",
            )

    def to_json(self) -> JsonObject:
        """Return plain values."""
        return {
            "format": 1,
            "passed": self.passed,
            "checks": [one.to_json() for one in self.checks],
        }


def check_manifest(
    data: IntoDataFrame,
    manifest: Path,
    *,
    file: Path | None = None,
    spec: Spec | None = None,
    public_key: Path | None = None,
) -> Evidence:
    """Check that a manifest is of a released table, which is recounted.

    Args:
        data: The released table.
        manifest: The file of its manifest; its signature stands beside.
        file: The file that ``data`` was read from, compared byte by byte if the
            manifest was signed when the release was made.
        spec: What to recount by; None: what the manifest tells.
        public_key: Whose signature is asked for; None: nobody's.

    Raises:
        DataError: the manifest or its signature cannot be read.
        SpecError: the key or the spec cannot be used.
    """
    raw = read_bytes(manifest)
    manifest_read, record = parse_bytes(raw, manifest)
    checks = (
        *_check_signature(raw, manifest, public_key),
        *_check_file(record, file),
        *_check_table(data, spec, manifest_read),
        *_untold(),
    )
    return Evidence(manifest_read, record, checks)


@dataclass(frozen=True)
class Redo:
    """How a release is made again, and what is compared."""

    key: bytes | None = field(default=None, repr=False)
    """The owner's, if one was given then; one drawn at random is in the record."""
    same_rows: Callable[[Frame], bool] | None = None
    """Given the data made again: are its rows those of the release?"""
    threads: int | None = None
    by: Sequence[str] = ()
    """Columns whose groups are counted."""
    progress: Progress | None = None


def check_source(
    evidence: Evidence,
    source: IntoDataFrame,
    record: OwnerRecord | None,
    spec: Spec | None = None,
    *,
    redo: Redo | None = None,
) -> Evidence:
    """Return the evidence, and whether ``source`` is the input; ``redo``: made again.

    ``spec`` is what the release was made with; None: what the manifest tells.

    Raises:
        SpecError: there is no record, the manifest does not tell the spec in full and
            none is given, or it does not fit ``source``.
        DataError: ``source`` cannot be encoded.
        InfeasibleError: with ``redo``, there is no release of ``source``.
    """
    if record is None:
        raise SpecError(
            "an input is checked by the owner's record, and there is none",
            hint="name it by --record FILE: it was written as TARGET.owner.json",
        )
    plain = evidence.record
    rows = (record.n_read, record.budget)
    asked = whole_spec(plain, evidence.manifest, rows) if spec is None else spec
    threads = None if redo is None else redo.threads
    _, encoded = load_and_encode(source, asked, Stages(None), threads)
    checks = [
        _same_release(evidence, record),
        _same_digest(record, "input", input_digest(encoded, record.salt)),
    ]
    if redo and checks[1].passed:
        checks.extend(_remake(evidence, record, source, asked, redo))
    elif redo:
        checks.append(Check("redone", None, "not made again of another input"))
    now = {one.what for one in checks}
    kept = (one for one in evidence.checks if one.what not in now)
    return replace(evidence, checks=(*kept, *checks))


def _check_signature(
    raw: bytes, manifest: Path, public_key: Path | None
) -> Iterator[Check]:
    if public_key is not None:
        key = read_public_key(public_key)
        problem = find_problem(raw, manifest, key)
        text = f"fits the manifest; key {key.fingerprint}"
        yield Check("signature", problem is None, problem or text)
    elif signature_of(manifest).exists():
        yield Check("signature", None, "there is one; --public-key FILE checks whose")
    else:
        yield Check("signature", None, "there is none")


def _check_file(record: JsonMapping, file: Path | None) -> Iterator[Check]:
    files = record.get("files")
    digest = files.get("release") if isinstance(files, dict) else None
    if digest is None or file is None:
        why = "columns that pass through are not covered: the manifest has no digest"
        yield Check("file", None, f"{why} of the file")
    elif digest_file(file) == digest:
        yield Check("file", True, "every byte is as it was written")  # noqa: FBT003
    else:
        problem = "the file of the release was changed: its digest is another"
        yield Check("file", False, problem)  # noqa: FBT003


def _check_table(
    data: IntoDataFrame, spec: Spec | None, manifest: Manifest
) -> Iterator[Check]:
    try:
        explanation = explain(data, spec, manifest, depth=0)
    except (SpecError, DataError) as error:
        if spec is not None:
            raise
        problem = f"the table does not fit the manifest: {error.message}"
        yield Check("release", False, problem)  # noqa: FBT003
        return
    for problem in explanation.problems:
        yield Check("release", False, problem)  # noqa: FBT003
    if not explanation.problems:
        yield from _compare_with_manifest(explanation, manifest)
        yield from _models(explanation, manifest)
    for note in explanation.notes:
        yield Check("release", None, note)


def _compare_with_manifest(
    explanation: Explanation, manifest: Manifest
) -> Iterator[Check]:
    """Yield what was compared: another spec has other classes and another digest."""
    if manifest.n_rows is not None:
        yield Check("rows", True, f"{explanation.n_rows:,}, as stated")  # noqa: FBT003
    if explanation.n_classes == manifest.n_classes:
        yield Check("classes", True, f"{explanation.n_classes:,}, as stated")  # noqa: FBT003
    else:
        yield Check("classes", None, "the spec is another than the manifest's")
    if explanation.digest_match == "matches":
        text = "as stated: the quasi-identifiers are the same"
        yield Check("digest", True, text)  # noqa: FBT003


def _models(explanation: Explanation, manifest: Manifest) -> Iterator[Check]:
    recounted = [model for model in explanation.models if model.passed]
    for model in recounted:
        reached = "vacuously" if model.reached is None else f"{model.reached:.9g}"
        yield Check("model", True, f"{model.name} reaches {reached}")  # noqa: FBT003
    names = {model.name for model in recounted}
    for name, _ in manifest.reached:
        if name not in names:
            yield Check("model", None, f"{name} needs the spec: --spec FILE")


def _untold() -> Iterator[Check]:
    """Yield what needs more than the release."""
    yield Check("input", None, "it needs the input and the owner's record: --with")


def _same_release(evidence: Evidence, record: OwnerRecord) -> Check:
    if record.release == evidence.manifest.digest:
        return Check("record", True, "the owner's record is of this release")  # noqa: FBT003
    problem = "the owner's record is of another release"
    return Check("record", False, problem)  # noqa: FBT003


def _same_digest(record: OwnerRecord, what: str, digest: str) -> Check:
    recorded = record.plain["digests"].get(what)
    if isinstance(recorded, str) and hmac.compare_digest(recorded, digest):
        return Check(what, True, "the digest is that of the record")  # noqa: FBT003
    problem = f"the {what} is not that of the record: the digests differ"
    return Check(what, False, problem)  # noqa: FBT003


def _remake(
    evidence: Evidence,
    record: OwnerRecord,
    source: IntoDataFrame,
    spec: Spec,
    redo: Redo,
) -> Iterator[Check]:
    """Make the release again and yield what is the same."""
    key = record.key or redo.key
    again = remake(source, spec, record, redo)
    digests = salted_digests(again, record.salt)
    if "tree" in record.plain["digests"]:  # else it did not fit into memory
        yield _same_digest(record, "tree", digests["tree"])
    figures = json.loads(manifest_text(again.figures()))
    differ = [name for name in _REMADE if figures[name] != record.plain.get(name)]
    if again.digest != evidence.manifest.digest and _has_key(spec, key):
        differ.insert(0, "digest of the release")
    if not differ:
        text = "classes, counts and figures come out the same"
        yield Check("redone", True, text)  # noqa: FBT003
        yield _compare_rows(again.data, key, redo)
        return
    problem = f"made again, the release is another: {', '.join(differ)}"
    yield Check("redone", False, problem)  # noqa: FBT003
    if again.manifest()["versions"] != evidence.record.get("versions"):
        yield Check("versions", None, "other versions made it; these may differ")


def remake(
    source: IntoDataFrame, spec: Spec, record: OwnerRecord, redo: Redo
) -> AnyRelease:
    """Return a release made again: with the key of its record, or the owner's."""
    again = anonymize(
        source,
        spec,
        key=record.key or redo.key or _STAND_IN,
        by=redo.by,
        threads=redo.threads,
        progress=redo.progress,
    )
    # The key of a record was drawn then, and is not the owner's now.
    key = replace(again._key, is_given=record.key is None)  # noqa: SLF001
    return replace(again, _key=key)


def _has_key(spec: Spec, key: bytes | None) -> bool:
    """Return whether the digest can come out the same: samples are drawn by the key."""
    formats = {spec.format_of(name) for name in spec.quasi_identifiers}
    return key is not None or "sample" not in formats


def _compare_rows(data: Frame, key: bytes | None, redo: Redo) -> Check:
    if key is None:
        return Check("row by row", None, "it needs the owner's key: --key-file FILE")
    if redo.same_rows is None:
        return Check("row by row", None, "there is no file to compare with")
    if redo.same_rows(data):
        return Check("row by row", True, "every row is the same")  # noqa: FBT003
    return Check("row by row", False, "rows of the release are others")  # noqa: FBT003
