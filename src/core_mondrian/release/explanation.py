"""explain(): what a released table is, from the table and its manifest alone."""

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Literal

from narwhals.typing import IntoDataFrame

from core_mondrian.errors import PrivacyViolation, SpecError, drops_context
from core_mondrian.release.manifests import Manifest, Unasked, finite
from core_mondrian.release.owner_record import OwnerRecord
from core_mondrian.release.release_tree import (
    Branch,
    ReleasedTable,
    SizeBin,
    grow_branches,
    size_bins,
)
from core_mondrian.release.released_classes import ShownClasses, read_classes
from core_mondrian.runtime.plain_values import JsonObject
from core_mondrian.spec.declaration import Spec
from core_mondrian.verification.verify import Verification, open_release, verify

DigestMatch = Literal["matches", "differs", "unknown"]


@dataclass(frozen=True, slots=True)
class ModelFinding:
    """What a recount found out about one privacy model."""

    name: str
    passed: bool | None
    """None: not recounted, because the manifest does not describe it in full."""
    reached: float | None
    """What the table reaches; None: it fails, nothing is asked, or not recounted."""
    problem: str | None = None
    told: float | None = None
    """What the manifest says it reached; None: there is none, or it says nothing."""

    def to_json(self) -> JsonObject:
        """Return plain values."""
        return {
            "name": self.name,
            "passed": self.passed,
            "reached": self.reached,
            "manifest": self.told,
            "problem": self.problem,
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a released table is, recounted; and what its manifest says of it."""

    spec: Spec
    manifest: Manifest | None
    record: OwnerRecord | None
    """What its owner knows of it, if the owner asks."""
    n_rows: int
    """Rows of the table."""
    n_blank: int
    """Of them, those that are blank all over and count as suppressed."""
    n_classes: int
    smallest_class: int
    largest_class: int
    sizes: tuple[SizeBin, ...]
    models: tuple[ModelFinding, ...]
    digest: str
    """That of the quasi-identifiers as the table shows them."""
    digest_match: DigestMatch
    """Whether it is the manifest's."""
    problems: tuple[str, ...]
    """What is wrong with the table or its manifest; with none, all is well."""
    notes: tuple[str, ...]
    """What could not be found out."""
    tree: Branch | None
    """How the classes divide; None: the recount failed, so no cell is shown."""
    shown: ReleasedTable | None = field(repr=False, compare=False)
    """The classes that differ from suppressed rows; None: as for ``tree``."""

    @property
    def passed(self) -> bool:
        """Return whether nothing is wrong."""
        return not self.problems

    def check(self) -> None:
        """Raise PrivacyViolation if something is wrong."""
        if self.problems:
            more = len(self.problems) - 1
            others = f" (problem 1 of {more + 1})" if more else ""
            raise PrivacyViolation(
                f"{self.problems[0]}{others}", hint="do not publish this table"
            )

    def to_json(self) -> JsonObject:
        """Return plain values, always under the same keys."""
        manifest, record = self.manifest, self.record
        rows = None if manifest is None else manifest.n_rows
        return {
            "format": 2,
            "passed": self.passed,
            "problems": list(self.problems),
            "notes": list(self.notes),
            "quasi_identifiers": list(self.spec.quasi_identifiers),
            "policy": None if manifest is None else manifest.policy,
            "rows": {"found": self.n_rows, "blank": self.n_blank, "manifest": rows},
            "classes": {
                "found": self.n_classes,
                "manifest": None if manifest is None else manifest.n_classes,
                "smallest": self.smallest_class,
                "largest": self.largest_class,
                "sizes": [one.to_json() for one in self.sizes],
            },
            "models": [model.to_json() for model in self.models],
            "digest": {
                "found": self.digest,
                "manifest": None if manifest is None else manifest.digest,
                "match": self.digest_match,
            },
            "owner": None
            if record is None
            else {
                "rows": record.plain["rows"],
                "cells_blanked": record.n_blanked,
                "funnel": record.funnel,
            },
            "tree": None if self.tree is None else self.tree.to_json(),
        }


@drops_context
def explain(
    data: IntoDataFrame,
    spec: Spec | None = None,
    manifest: Manifest | None = None,
    *,
    record: OwnerRecord | None = None,
    depth: int = 3,
    width: int = 3,
) -> Explanation:
    """Recount a released table, compare it with its manifest, and say how it divides.

    ``spec`` is what to recount by; without it, what the manifest says. Nothing else
    than the table, the spec and the manifest is looked at, least of all the original.

    Raises:
        SpecError: there is neither spec nor manifest, or it names columns the table
            does not have.
        DataError: the table has several columns of one name.
    """
    if spec is None and manifest is None:
        raise SpecError(
            "neither a manifest nor a spec",
            hint="say what to recount: quasi-identifiers and models",
        )
    if depth < 0 or width < 1:
        raise SpecError("depth is at least 0 and width at least 1")
    asked = spec if spec is not None else manifest.spec  # type: ignore[union-attr]
    frame, shown = open_release(data, asked)
    notes = list(_notes(spec, manifest))
    if asked.unit is not None and asked.unit not in frame.columns:
        notes.append(
            f"persons cannot be recounted without {asked.unit!r}: rows are counted "
            "instead"
        )
        asked = replace(asked, unit=None)
    budget = None if manifest is None else manifest.budget
    recount = _recount(data, asked, budget)
    every = read_classes(frame, shown)
    classes = every.without_blanks(_count_blank(every, asked, recount, budget))
    digest, match = _compare_digest(every, asked, manifest)
    shows_cells = recount.is_sound and bool(recount.models or match == "matches")
    sizes = classes.rows
    explanation = Explanation(
        spec=asked,
        manifest=manifest,
        record=record,
        n_rows=len(frame),
        n_blank=len(frame) - int(sizes.sum()),
        n_classes=int(sizes.size),
        smallest_class=int(sizes.min()) if sizes.size else 0,
        largest_class=int(sizes.max(initial=0)),
        sizes=size_bins(sizes),
        models=_with_told(recount.models, manifest, spec),
        digest=digest,
        digest_match=match,
        problems=() if recount.problem is None else (recount.problem,),
        notes=tuple(notes),
        tree=grow_branches(classes.table(), depth, width) if shows_cells else None,
        shown=_seen(every, asked).table() if shows_cells else None,
    )
    problems = dict.fromkeys((*explanation.problems, *_problems(explanation)))
    return replace(explanation, problems=tuple(problems))


def _notes(spec: Spec | None, manifest: Manifest | None) -> Iterator[str]:
    """Yield what cannot be found out."""
    if manifest is None:
        yield "no manifest: no digest to compare with"
        return
    if manifest.digest is None:
        yield "the manifest has no digest: whether the file is the same is unknown"
    if spec is None and manifest.unknown:
        yield "what is not recounted is not in the manifest in full: give the spec"
    if spec is not None and spec.quasi_identifiers != manifest.spec.quasi_identifiers:
        yield "the manifest is about other quasi-identifiers than were asked for"


@dataclass(frozen=True, slots=True)
class _Recount:
    """What the verifier says of a table."""

    verification: Verification | None
    """None: it fails."""
    models: tuple[ModelFinding, ...]
    problem: str | None = None
    """What is wrong besides the models: an identifier is still there."""

    @property
    def is_sound(self) -> bool:
        return self.problem is None and all(one.passed for one in self.models)


def _recount(data: IntoDataFrame, spec: Spec, budget: int | None) -> _Recount:
    """Verify a table; where it fails, model by model, to tell which do not."""
    with suppress(PrivacyViolation):
        verification = verify(data, spec, budget=budget)
        results = zip(verification.models, spec.models, strict=True)
        return _Recount(
            verification,
            tuple(
                ModelFinding(one.name, True, finite(one.reached))  # noqa: FBT003
                for one, model in results
                if not isinstance(model, Unasked)
            ),
        )
    alone = replace(spec, identifiers=(), pseudonyms=(), accept=())
    findings = []
    for model in spec.models:
        if isinstance(model, Unasked):
            continue
        reached, problem = _reached(data, replace(alone, models=(model,)), budget)
        findings.append(ModelFinding(model.title, problem is None, reached, problem))
    _, problem = _reached(data, replace(spec, models=(Unasked(),)), budget)
    return _Recount(None, tuple(findings), problem)


def _reached(
    data: IntoDataFrame, spec: Spec, budget: int | None
) -> tuple[float | None, str | None]:
    """Return what the spec's first model reaches, or why it does not pass."""
    try:
        return finite(verify(data, spec, budget=budget).models[0].reached), None
    except PrivacyViolation as error:
        return None, error.message


def _with_told(
    findings: tuple[ModelFinding, ...], manifest: Manifest | None, spec: Spec | None
) -> tuple[ModelFinding, ...]:
    """Return the findings next to what the manifest tells."""
    if manifest is None:
        return findings
    stated = dict(manifest.reached)
    known = [replace(one, told=stated.get(one.name)) for one in findings]
    unknown = manifest.unknown if spec is None else ()
    others = [ModelFinding(x, None, None, told=stated.get(x)) for x in unknown]
    return (*known, *others)


def _seen(classes: ShownClasses, spec: Spec) -> ShownClasses:
    """Return the classes without one that looks like suppressed rows."""
    if spec.leaves_out:
        return classes
    return classes.without_blanks(int(classes.rows[classes.blank].sum()))


def _count_blank(
    classes: ShownClasses, spec: Spec, recount: _Recount, budget: int | None
) -> int:
    """Return how many blank rows count as suppressed, as the verifier has it."""
    if recount.verification is not None:
        return recount.verification.n_suppressed_blank
    n_blank = int(classes.rows[classes.blank].sum())
    allowed = spec.budget(int(classes.rows.sum())) if budget is None else budget
    return n_blank if spec.suppressed == "blank" and n_blank <= allowed else 0


def _compare_digest(
    classes: ShownClasses, spec: Spec, manifest: Manifest | None
) -> tuple[str, DigestMatch]:
    """Return the table's digest, and whether it is the manifest's.

    Of a file without types, cells may be read in several ways: one has to fit.
    """
    seen = classes if manifest is None else _seen(classes, manifest.spec)
    digests = seen.digests()
    first = next(digests)
    if manifest is None or manifest.digest is None:
        return first, "unknown"
    if manifest.spec.quasi_identifiers != spec.quasi_identifiers:
        return first, "unknown"
    if first == manifest.digest or manifest.digest in digests:
        return manifest.digest, "matches"
    return first, "differs"


def _problems(explanation: Explanation) -> Iterator[str]:
    """Yield what is wrong, the worst first."""
    yield from (one.problem for one in explanation.models if one.problem is not None)
    manifest = explanation.manifest
    if manifest is None:
        return
    if explanation.digest_match == "differs":
        yield "the quasi-identifiers are not those of the manifest: the digests differ"
    yield from (f"the manifest contradicts itself: {x}" for x in manifest.faults())
    if manifest.n_rows is not None:
        yield from _unlike("rows", manifest.n_rows, explanation.n_rows)
    if explanation.record is not None:
        faults = explanation.record.faults()
        yield from (f"the owner's record contradicts itself: {x}" for x in faults)
        if explanation.record.release != manifest.digest:
            yield "the owner's record is of another release"
    if _counts_alike(manifest.spec, explanation.spec):
        yield from _unlike("classes", manifest.n_classes, explanation.n_classes)
    yield from _differences(explanation, manifest)


def _counts_alike(stated: Spec, asked: Spec) -> bool:
    """Return whether both have the same idea of what a class is."""
    return (stated.quasi_identifiers, stated.suppressed == "blank") == (
        asked.quasi_identifiers,
        asked.suppressed == "blank",
    )


def _unlike(what: str, stated: int, shown: int) -> Iterator[str]:
    if stated != shown:
        yield f"the manifest states {stated:,} {what}, the table has {shown:,}"


def _differences(explanation: Explanation, manifest: Manifest) -> Iterator[str]:
    """Yield models of which the manifest tells something else than the recount."""
    if manifest.spec.unit != explanation.spec.unit:
        return  # persons were counted, and now rows
    names = dict(manifest.reached)
    for one in explanation.models:
        is_told = names.get(one.name) is not None  # else the release does not show it
        if one.passed and is_told and not _is_same(one.told, one.reached):
            yield f"{one.name} reaches another figure than the manifest states"


def _is_same(stated: float | None, reached: float | None) -> bool:
    if stated is None or reached is None:
        return stated is reached
    return math.isclose(stated, reached, rel_tol=1e-9)
