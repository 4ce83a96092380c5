"""Core Mondrian: anonymized tables of personal data, each verified independently.

The names below load when they are first used, so that importing the package costs
next to nothing.
"""

from typing import TYPE_CHECKING

from core_mondrian.runtime.lazy_names import load_on_use

if TYPE_CHECKING:
    from core_mondrian.analysis.attacks.run import attack
    from core_mondrian.analysis.attacks.together import attack_together
    from core_mondrian.analysis.p_sensitize import p_sensitize
    from core_mondrian.api import anonymize
    from core_mondrian.errors import (
        DataError,
        InfeasibleError,
        MemoryLimitError,
        MondrianError,
        OutputError,
        PrivacyViolation,
        SpecError,
    )
    from core_mondrian.hierarchies.codes import Flat, Prefix, Redact
    from core_mondrian.hierarchies.dates import Dates
    from core_mondrian.hierarchies.groups import Grouping, Lookup
    from core_mondrian.hierarchies.learned import Learned
    from core_mondrian.hierarchies.ranges import Ranges
    from core_mondrian.hierarchies.read import read_hierarchy
    from core_mondrian.hierarchies.tree import Hierarchy
    from core_mondrian.models.alpha_k import AlphaKAnonymity
    from core_mondrian.models.base import ClassCounts, Limits, PrivacyModel
    from core_mondrian.models.disclosure import DeltaDisclosure
    from core_mondrian.models.distinct import DistinctLDiversity, PSensitiveKAnonymity
    from core_mondrian.models.entropy import EntropyLDiversity
    from core_mondrian.models.k_anonymity import KAnonymity
    from core_mondrian.models.likeness import BetaLikeness
    from core_mondrian.models.population import DeltaPresence, KMap
    from core_mondrian.models.recursive import RecursiveCLDiversity
    from core_mondrian.models.risk import AverageRisk, MaximumRisk
    from core_mondrian.models.t_closeness import TCloseness
    from core_mondrian.release.result import Release
    from core_mondrian.report.page import report_html
    from core_mondrian.series.recoding import Recoding, fit
    from core_mondrian.series.series import Series
    from core_mondrian.sources.files.run import anonymize_files, count_files
    from core_mondrian.sources.spark.api import anonymize_spark
    from core_mondrian.sources.sql.anonymize import anonymize_sql
    from core_mondrian.sources.sql.live import LiveView
    from core_mondrian.spec.declaration import Spec
    from core_mondrian.spec.policies import (
        BestPolicy,
        FunnelPolicy,
        OriginalPolicy,
        PaperPolicy,
    )
    from core_mondrian.spec.suppression import Suppression
    from core_mondrian.spec.thresholds import Thresholds
    from core_mondrian.spec.toml_file import load_spec
    from core_mondrian.verification.verify import verify

__version__ = "0.2.0"

_HOMES = {
    "Recoding": "series.recoding",
    "Series": "series.series",
    "LiveView": "sources.sql.live",
    "fit": "series.recoding",
    "AlphaKAnonymity": "models.alpha_k",
    "AverageRisk": "models.risk",
    "BestPolicy": "spec.policies",
    "BetaLikeness": "models.likeness",
    "ClassCounts": "models.base",
    "DataError": "errors",
    "Dates": "hierarchies.dates",
    "DeltaDisclosure": "models.disclosure",
    "DeltaPresence": "models.population",
    "DistinctLDiversity": "models.distinct",
    "EntropyLDiversity": "models.entropy",
    "Flat": "hierarchies.codes",
    "FunnelPolicy": "spec.policies",
    "Grouping": "hierarchies.groups",
    "Hierarchy": "hierarchies.tree",
    "InfeasibleError": "errors",
    "KAnonymity": "models.k_anonymity",
    "KMap": "models.population",
    "Learned": "hierarchies.learned",
    "Limits": "models.base",
    "Lookup": "hierarchies.groups",
    "MaximumRisk": "models.risk",
    "MemoryLimitError": "errors",
    "MondrianError": "errors",
    "OriginalPolicy": "spec.policies",
    "OutputError": "errors",
    "PSensitiveKAnonymity": "models.distinct",
    "PaperPolicy": "spec.policies",
    "Prefix": "hierarchies.codes",
    "PrivacyModel": "models.base",
    "PrivacyViolation": "errors",
    "Ranges": "hierarchies.ranges",
    "RecursiveCLDiversity": "models.recursive",
    "Redact": "hierarchies.codes",
    "Release": "release.result",
    "Spec": "spec.declaration",
    "SpecError": "errors",
    "Suppression": "spec.suppression",
    "TCloseness": "models.t_closeness",
    "Thresholds": "spec.thresholds",
    "anonymize": "api",
    "anonymize_files": "sources.files.run",
    "anonymize_spark": "sources.spark.api",
    "anonymize_sql": "sources.sql.anonymize",
    "attack": "analysis.attacks.run",
    "attack_together": "analysis.attacks.together",
    "count_files": "sources.files.run",
    "load_spec": "spec.toml_file",
    "p_sensitize": "analysis.p_sensitize",
    "read_hierarchy": "hierarchies.read",
    "report_html": "report.page",
    "verify": "verification.verify",
}

__all__ = [
    "AlphaKAnonymity",
    "AverageRisk",
    "BestPolicy",
    "BetaLikeness",
    "ClassCounts",
    "DataError",
    "Dates",
    "DeltaDisclosure",
    "DeltaPresence",
    "DistinctLDiversity",
    "EntropyLDiversity",
    "Flat",
    "FunnelPolicy",
    "Grouping",
    "Hierarchy",
    "InfeasibleError",
    "KAnonymity",
    "KMap",
    "Learned",
    "Limits",
    "LiveView",
    "Lookup",
    "MaximumRisk",
    "MemoryLimitError",
    "MondrianError",
    "OriginalPolicy",
    "OutputError",
    "PSensitiveKAnonymity",
    "PaperPolicy",
    "Prefix",
    "PrivacyModel",
    "PrivacyViolation",
    "Ranges",
    "Recoding",
    "RecursiveCLDiversity",
    "Redact",
    "Release",
    "Series",
    "Spec",
    "SpecError",
    "Suppression",
    "TCloseness",
    "Thresholds",
    "anonymize",
    "anonymize_files",
    "anonymize_spark",
    "anonymize_sql",
    "attack",
    "attack_together",
    "count_files",
    "fit",
    "load_spec",
    "p_sensitize",
    "read_hierarchy",
    "report_html",
    "verify",
]


__getattr__ = load_on_use(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
