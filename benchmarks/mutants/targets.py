"""What is mutated, and the tests that have to notice it."""

TARGETS = (
    "budget.py",
    "measure/verify.py",
    "measure/counting.py",
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
    "kernels/rules.py",
)
LEFT_OUT = {
    "kernels/rules.py": (
        "",
        "PlainMeasure",
        "_array",
        "compile_measure",
        "_adopted",
        "measure_address",
        "_call_plain",
        "_call_compiled",
    ),
}
"""Functions that compile measures: here everything runs as plain Python."""
TESTS = (
    "tests/unit/test_budget.py",
    "tests/unit/models",
    "tests/unit/measure/test_verify.py",
    "tests/unit/measure/test_verify_counts.py",
    "tests/unit/measure/test_counting.py",
    "tests/unit/partition/test_rules.py",
    "tests/unit/partition/test_rules_admit.py",
    "tests/unit/test_spec.py",
    "tests/unit/test_pseudonyms.py",
    "tests/property/test_feasible.py",
    "tests/property/test_models_verify.py::"
    "test_a_table_is_accepted_just_if_the_definition_does",
    "tests/property/test_models_verify.py::"
    "test_texts_rank_the_same_however_they_are_kept",
    "tests/property/test_models_verify.py::"
    "test_a_value_named_as_number_or_text_is_the_same_value",
    "tests/property/test_released_population.py::"
    "test_the_verifier_counts_who_fits_as_we_do",
)
"""Quick ones: tests of whole releases are slow as plain Python."""
