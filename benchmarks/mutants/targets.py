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
    "tests/unit/partition/test_rules.py",
    "tests/unit/test_spec.py",
    "tests/unit/test_pseudonyms.py",
    "tests/property/test_models_verify.py",
    "tests/property/test_feasible.py",
    "tests/property/test_persons.py",
    "tests/property/test_released_population.py",
)
