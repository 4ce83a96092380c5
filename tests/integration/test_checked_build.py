"""A build in which every index is checked finds no wrong one, and the same releases.

The short form of `make checked`, which runs all tests of the engine that way, as `make
sanitized` does with AddressSanitizer and UBSan.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from supply.lock import ROOT

pytest.importorskip("Cython", reason="what the build needs is not installed")
SCRIPT = """
from core_mondrian import *
from core_mondrian.models import DistinctLDiversity, EntropyLDiversity, TCloseness
from core_mondrian.datasets import census

table = census(1200, seed=5)
names = ("age", "sex", "occupation", "marital_status", "hours_per_week")
models = [
    [KAnonymity(4)],
    [KAnonymity(3), TCloseness(0.4, "income")],
    [DistinctLDiversity(2, "income"), EntropyLDiversity(1.5, "income")],
]
policies = [PaperPolicy(), OriginalPolicy(), BestPolicy(), BestPolicy(effort="strong")]
for policy in policies:
    for asked in models:
        for how in ({}, {"unit": "person_id"}, {"suppress": Suppression(share=0.02)}):
            if how.get("suppress") and isinstance(policy, OriginalPolicy):
                continue
            spec = Spec(names, models=tuple(asked), policy=policy, **how)
            release = anonymize(table, spec, threads=2)
            print(release.tree.digest, release.digest)
"""
WRONG = """
import numpy as np
from core_mondrian.engine.boxes import find_boxes
from core_mondrian.engine.inputs import build_tuples

tuples = build_tuples(np.zeros((3, 1), np.int32), np.ones(3, np.int64), np.arange(3))
boxes = np.zeros((1, 1), np.int32)
find_boxes(tuples, np.array([0]), np.array([9]), boxes, boxes)
"""


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checked")
    build = ["build", "--build-base", folder / "base", "--build-lib", folder / "lib"]
    subprocess.run(  # noqa: S603
        [sys.executable, "setup.py", "--quiet", *build],
        cwd=ROOT,
        env={**os.environ, "CORE_MONDRIAN_BUILD": "checked"},
        check=True,
        capture_output=True,
    )
    return folder / "lib"


def run(script: str, path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603
        [sys.executable, "-W", "ignore", "-c", script],
        env={**os.environ, "PYTHONPATH": str(path)},
        check=True,
        capture_output=True,
        text=True,
    )


def test_no_index_is_wrong_and_releases_are_the_same(checked: Path) -> None:
    found, expected = run(SCRIPT, checked), run(SCRIPT, ROOT / "src")

    assert found.stderr == ""
    assert len(expected.stdout.splitlines()) == 33
    assert found.stdout == expected.stdout


def test_a_wrong_index_would_be_told(checked: Path) -> None:
    assert "IndexError" in run(WRONG, checked).stderr
