"""The report that may be passed on: what a reader of the release can compute anyway."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from core_mondrian.errors import PrivacyViolation
from core_mondrian.models.base import PrivacyModel
from core_mondrian.release.explanation import Explanation
from core_mondrian.release.release_tree import ReleasedTable, size_bins
from core_mondrian.release.report_file import Subject
from core_mondrian.release.result import AnyRelease
from core_mondrian.report import wording
from core_mondrian.report.facts import ModelFacts, meaning_of
from core_mondrian.report.pictures import draw_sizes
from core_mondrian.report.plain import DASH, finite, manifest_text
from core_mondrian.report.sample import released_table, sample_rows
from core_mondrian.runtime.plain_values import JsonMapping, JsonObject
from core_mondrian.spec.declaration import Spec


@dataclass(frozen=True, slots=True)
class PublicFacts:
    """What readers of a release have: its rows and its manifest."""

    spec: Spec
    carried: Sequence[str]
    """Columns that passed through."""
    reached: Mapping[str, float | None]
    """What each model reached, by its name; None: it takes more than the release."""
    n_rows: int
    n_classes: int
    digest: str
    table: ReleasedTable = field(repr=False)
    manifest: JsonMapping = field(repr=False)
    notice: str | None = None
    """What has to go wherever the release goes."""

    @classmethod
    def of_release(cls, release: AnyRelease) -> "PublicFacts":
        """Return what its readers will have of a release that was just made."""
        manifest = release.manifest()
        return cls(
            spec=release.spec,
            carried=release.carried,
            reached={one["name"]: one["reached"] for one in manifest["models"]},
            n_rows=manifest["rows"]["released"],
            n_classes=manifest["classes"],
            digest=manifest["digests"]["release"],
            table=released_table(release),
            manifest=manifest,
        )

    @classmethod
    def of_file(
        cls, explanation: Explanation, columns: Sequence[str], manifest: JsonMapping
    ) -> "PublicFacts":
        """Return what a released table of these columns shows, once it is recounted.

        Raises:
            PrivacyViolation: a class fails, or table and manifest do not fit.
        """
        explanation.check()
        if explanation.shown is None or explanation.manifest is None:
            raise PrivacyViolation(
                "no model was recounted, and nothing says that the table is the "
                "manifest's",
                hint="do not publish this table",
            )
        spec = explanation.manifest.spec
        bounds = {end for x in spec.quasi_identifiers for end in spec.bounds_of(x)}
        others = [x for x in columns if x not in bounds and x != spec.class_id]
        return cls(
            spec=spec,
            carried=spec.carried(others),
            reached=dict(explanation.manifest.reached),
            n_rows=explanation.n_rows,
            n_classes=explanation.n_classes,
            digest=explanation.digest,
            table=explanation.shown,
            manifest=manifest,
            notice=explanation.manifest.notice,
        )

    def page_values(self, of: Subject) -> JsonObject:
        """Return what the page shows; nothing of it depends on a hidden cell."""
        sizes, versions = size_bins(self.table.rows), self.manifest.get("versions", {})
        return {
            "spec": self.spec,
            "roles": wording.role_texts(self.spec, self.carried),
            "models": list(self._models()),
            "k": self.spec.min_rows,
            "says": self._says,
            "n_rows": self.n_rows,
            "n_classes": self.n_classes,
            "notice": self.notice,
            "of_line": wording.subject_text(of, versions),
            "sample": sample_rows(self.table),
            "sizes": draw_sizes(sizes) if sizes else "",
            "digest": self.digest,
            "versions": versions,
            "manifest": manifest_text(self.manifest),
        }

    @property
    def _says(self) -> str:
        """What everybody can recount, in one sentence: rows, as persons are gone."""
        if not self.table.rows.size:
            return "Nothing is released"
        return wording.alike_text(int(self.table.rows.min()), are_persons=False)

    def _models(self) -> Iterator[ModelFacts]:
        models = {one.title: one for one in self.spec.models}
        for name, reached in self.reached.items():
            yield ModelFacts(name, _meaning(models.get(name)), finite(reached))


def _meaning(model: PrivacyModel | None) -> str:
    return DASH if model is None else meaning_of(model)
