"""Are the files in a folder one sound series of releases? Nothing else is asked."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from core_mondrian.errors import DataError, PrivacyViolation, SpecError
from core_mondrian.release.manifests import Manifest, get, parse_bytes
from core_mondrian.release.signatures import digest_file
from core_mondrian.runtime.plain_values import JsonMapping
from core_mondrian.runtime.progress import Progress, Steps
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.files.dialect import WRITTEN
from core_mondrian.verification.read_back import read_release
from core_mondrian.verification.verify_series import (
    Numbered,
    SeriesVerification,
    verify_series,
)

_MANIFEST: Final = ".manifest.json"
_HINT: Final = "name the folder with the releases of a series and their manifests"


@dataclass(frozen=True, slots=True)
class ReleasedSeries:
    """Files of a series, and what their recount found."""

    found: SeriesVerification
    numbers: tuple[int, ...]
    """The releases that are here."""
    is_whole: bool
    """Whether none is missing before the last one."""
    unit: str | None
    """Persons are counted by it, where it is known; files do not have it."""

    def to_json(self) -> dict[str, object]:
        """Return plain values."""
        scope = {"releases": list(self.numbers), "is_whole": self.is_whole}
        return {"passed": True, **scope, **self.found.to_json()}


@dataclass(frozen=True, slots=True)
class _SeriesManifest:
    """A manifest of a series."""

    path: Path
    digest: str
    manifest: Manifest
    plain: JsonMapping

    @property
    def series(self) -> JsonMapping:
        return get(self.plain, "series", dict)

    @property
    def number(self) -> int:
        return get(self.series, "number", int)

    @property
    def release(self) -> Path:
        return self.path.with_name(self.path.name.removesuffix(_MANIFEST))


def verify_released(
    folder: Path, spec: Spec | None = None, *, progress: Progress | None = None
) -> ReleasedSeries:
    """Check all releases in a folder: their chain, their bytes, and who stands out.

    ``spec`` is needed where manifests do not describe a model in full. ``progress`` is
    called with how much is done.

    Raises:
        DataError: there are no releases of a series.
        SpecError: a model is not described in full; or releases are of several.
        PrivacyViolation: a file was changed, manifests are no chain, or rows of
            some releases can be told from all but too few.
    """
    own = folder / "releases" if (folder / "releases").is_dir() else folder
    manifests = sorted(_manifests(own), key=lambda one: one.number)
    if not manifests:
        raise DataError(f"{folder}: no manifest of a series", hint=_HINT)
    _check_chain(manifests)
    wanted = _spec_of(manifests, spec)
    cohort = get(manifests[0].series, "cohort", str)
    end = Steps(progress, "recounting releases", [1.0 for _ in manifests]).end
    # The one before is recounted when the next is read.
    tables = (
        end(Numbered(x.number, read_release(x.release, wanted, dialect=WRITTEN)))
        for x in manifests
    )
    numbers = tuple(one.number for one in manifests)
    return ReleasedSeries(
        verify_series(tables, wanted, cohort),
        numbers,
        is_whole=numbers == tuple(range(1, len(numbers) + 1)),
        unit=wanted.unit,
    )


def _manifests(folder: Path) -> Iterator[_SeriesManifest]:
    for path in sorted(folder.glob(f"*{_MANIFEST}")):
        raw = path.read_bytes()
        manifest, plain = parse_bytes(raw, path)
        if "series" in plain:
            yield _SeriesManifest(
                path, hashlib.sha256(raw).hexdigest(), manifest, plain
            )


def _check_chain(manifests: list[_SeriesManifest]) -> None:
    """Refuse manifests that are not one after the other, and files of other bytes."""
    first = manifests[0]
    for one in manifests:
        same = ("name", "cohort")
        if any(one.series.get(key) != first.series.get(key) for key in same):
            raise SpecError(f"{one.path}: of another series", hint=_HINT)
        if one.plain["spec"] != first.plain["spec"]:
            raise PrivacyViolation(
                f"{one.path}: of another spec than the first", hint=_HINT
            )
        files = get(one.plain, "files", dict)
        if not one.release.exists() or digest_file(one.release) != files.get("release"):
            raise PrivacyViolation(
                f"{one.release}: gone, or not as it was released", hint=_HINT
            )
    for before, after in pairwise(manifests):
        if after.number == before.number:
            raise SpecError(
                f"{after.path}: one more release {after.number}", hint=_HINT
            )
        is_next = after.number == before.number + 1
        if is_next and after.series.get("previous") != before.digest:
            raise PrivacyViolation(
                f"{after.path}: does not follow {before.path.name}", hint=_HINT
            )


def _spec_of(manifests: list[_SeriesManifest], spec: Spec | None) -> Spec:
    if spec is not None:
        return spec
    if unknown := manifests[0].manifest.unknown:
        raise SpecError(
            f"manifests do not state in full: {', '.join(unknown)}",
            hint="give the spec that the series was created with: --spec FILE",
        )
    return manifests[0].manifest.spec
