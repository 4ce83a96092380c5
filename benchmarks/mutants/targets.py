"""What is mutated, and the tests that have to notice it."""

from typing import NamedTuple

_VERIFIED = "tests/property/test_models_verify.py::"


class Group(NamedTuple):
    """Modules, and quick tests of them."""

    files: tuple[str, ...]
    tests: tuple[str, ...]


GROUPS = (
    Group(
        ("spec/suppression.py",),
        ("tests/unit/spec/test_suppression.py", "tests/unit/spec/test_spec.py"),
    ),
    Group(
        ("verification/verify.py", "verification/counting.py"),
        (
            "tests/unit/verification/test_verify.py",
            "tests/unit/verification/test_verify_counts.py",
            "tests/unit/verification/test_counting.py",
            "tests/unit/tables/test_pseudonyms.py",
            _VERIFIED + "test_a_table_is_accepted_just_if_the_definition_does",
            _VERIFIED + "test_texts_rank_the_same_however_they_are_kept",
            "tests/property/test_released_population.py::"
            "test_the_verifier_counts_who_fits_as_we_do",
        ),
    ),
    Group(
        ("engine/model_rules.py", "models/measures.py"),
        (
            "tests/unit/engine/test_rules.py",
            "tests/unit/engine/test_rules_admit.py",
            "tests/unit/models",
        ),
    ),
    Group(
        (
            "models/alpha_k.py",
            "models/base.py",
            "models/checks.py",
            "models/disclosure.py",
            "models/distinct.py",
            "models/entropy.py",
            "models/k_anonymity.py",
            "models/likeness.py",
            "models/load.py",
            "models/population.py",
            "models/recursive.py",
            "models/risk.py",
            "models/t_closeness.py",
        ),
        (
            "tests/unit/models",
            "tests/property/test_feasible.py",
            _VERIFIED + "test_a_table_is_accepted_just_if_the_definition_does",
            _VERIFIED + "test_a_value_named_as_number_or_text_is_the_same_value",
        ),
    ),
)
TARGETS = tuple(file for group in GROUPS for file in group.files)
LEFT_OUT = {
    "models/measures.py": ("Measure", "_not_empty", "foreign_measure", "call_foreign"),
}
"""Functions that only compiled code calls: here everything runs as plain Python."""
