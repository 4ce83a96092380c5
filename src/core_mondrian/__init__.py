"""Core Mondrian: tables with people in them in, verified releases out.

The names below load when they are first used, so that importing the package costs
next to nothing.
"""

from typing import TYPE_CHECKING

from core_mondrian.runtime.lazy_names import load_on_use

if TYPE_CHECKING:
    from core_mondrian.analysis.attacks.run import attack
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
    from core_mondrian.models.base import ClassCounts, Limits, PrivacyModel
    from core_mondrian.models.k_anonymity import KAnonymity
    from core_mondrian.release.result import Release
    from core_mondrian.sources.files.run import anonymize_files, count_files
    from core_mondrian.sources.spark.api import anonymize_spark
    from core_mondrian.sources.sql.anonymize import anonymize_sql
    from core_mondrian.spec.declaration import Spec
    from core_mondrian.spec.policies import BestPolicy, OriginalPolicy, PaperPolicy
    from core_mondrian.spec.suppression import Suppression
    from core_mondrian.spec.toml_file import load_spec
    from core_mondrian.verification.verify import verify

__version__ = "0.1.0"

_HOMES = {
    "anonymize": "api",
    "anonymize_files": "sources.files.run",
    "count_files": "sources.files.run",
    "anonymize_spark": "sources.spark.api",
    "anonymize_sql": "sources.sql.anonymize",
    "attack": "analysis.attacks.run",
    "Suppression": "spec.suppression",
    "DataError": "errors",
    "InfeasibleError": "errors",
    "MemoryLimitError": "errors",
    "MondrianError": "errors",
    "OutputError": "errors",
    "PrivacyViolation": "errors",
    "SpecError": "errors",
    "verify": "verification.verify",
    "ClassCounts": "models.base",
    "Limits": "models.base",
    "PrivacyModel": "models.base",
    "KAnonymity": "models.k_anonymity",
    "BestPolicy": "spec.policies",
    "OriginalPolicy": "spec.policies",
    "PaperPolicy": "spec.policies",
    "FunnelPolicy": "spec.policies",
    "Release": "release.result",
    "p_sensitize": "analysis.p_sensitize",
    "Spec": "spec.declaration",
    "load_spec": "spec.toml_file",
}

__all__ = [
    "BestPolicy",
    "ClassCounts",
    "DataError",
    "InfeasibleError",
    "KAnonymity",
    "Limits",
    "MemoryLimitError",
    "MondrianError",
    "OriginalPolicy",
    "OutputError",
    "PaperPolicy",
    "PrivacyModel",
    "PrivacyViolation",
    "Release",
    "Spec",
    "SpecError",
    "Suppression",
    "anonymize",
    "anonymize_files",
    "anonymize_spark",
    "anonymize_sql",
    "attack",
    "count_files",
    "load_spec",
    "p_sensitize",
    "verify",
]


__getattr__ = load_on_use(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
