"""What the package offers, pinned."""

from typing import Any

import core_mondrian
from core_mondrian import models

NAMES = [
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


def test_public_names_are_these() -> None:
    assert core_mondrian.__all__ == NAMES
    assert dir(core_mondrian) == sorted([*NAMES, "__version__"])


def test_every_public_name_can_be_had_and_says_what_it_is() -> None:
    for name in NAMES:
        assert getattr(core_mondrian, name).__doc__, name


def test_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(core_mondrian, "anonymise")


def test_every_model_can_be_had_from_its_package() -> None:
    assert dir(models) == sorted(models.__all__)
    for name in models.__all__:
        assert getattr(models, name), name
    assert {kind.__name__ for kind in models.MODELS.values()} < set(models.__all__)
    assert not hasattr(models, "LDiversity")


def test_errors_have_different_exit_codes() -> None:
    errors = [getattr(core_mondrian, name) for name in NAMES]
    kinds: list[Any] = [
        e for e in errors if isinstance(e, type) and issubclass(e, Exception)
    ]

    codes = [kind.exit_code for kind in kinds]

    assert len(set(codes)) == len(kinds)
