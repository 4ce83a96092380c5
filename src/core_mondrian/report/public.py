"""The report that may be passed on: what a reader of the release can compute anyway."""

from typing import Any

from core_mondrian.release.release_tree import size_bins
from core_mondrian.release.result import Release
from core_mondrian.report import wording
from core_mondrian.report.facts import ModelFacts, meaning_of
from core_mondrian.report.pictures import draw_sizes
from core_mondrian.report.plain import finite, manifest_text


def public_values(release: Release[Any]) -> dict[str, Any]:
    """Return what the page shows; nothing of it depends on a hidden cell."""
    manifest = release.manifest()
    sizes = size_bins(release.shown_class_sizes)
    return {
        "spec": release.spec,
        "roles": wording.say_roles(release.spec, release.carried),
        "models": [
            ModelFacts(told["name"], meaning_of(model), finite(told["reached"]))
            for model, told in zip(release.spec.models, manifest["models"], strict=True)
        ],
        "k": release.spec.min_rows,
        "n_rows": manifest["rows"]["released"],
        "n_classes": manifest["classes"],
        "sizes": draw_sizes(sizes) if sizes else "",
        "digest": manifest["digests"]["release"],
        "versions": manifest["versions"],
        "manifest": manifest_text(manifest),
    }
