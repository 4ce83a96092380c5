"""Neither hash seeds nor the compiler change a release."""

import os
import subprocess
import sys

import pytest
from support.plain_engine import IN_SUBPROCESS, IS_PLAIN

pytestmark = pytest.mark.skipif(IS_PLAIN, reason="runs the engine both ways itself")

SCRIPT = (
    IN_SUBPROCESS
    + """
from core_mondrian import KAnonymity, OriginalPolicy, PaperPolicy, Spec, anonymize
from core_mondrian.datasets import CENSUS_QUASI_IDENTIFIERS, census

table = census(240, seed=3)
names = (*CENSUS_QUASI_IDENTIFIERS, "hours_per_week")
policies = [
    PaperPolicy(),
    PaperPolicy(cut_points=("median", "bin_edges"), compete_above=0.0),
    OriginalPolicy(),
]
for policy in policies:
    for missing in ("pattern", "value"):
        spec = Spec(
            names,
            models=(KAnonymity(4),),
            policy=policy,
            missing=missing,
            numbers="mean" if missing == "value" else "interval",
            inline_below=60,
        )
        release = anonymize(table, spec)
        print(release.tree.digest, release.digest, release.input_digest(bytes(32)))
"""
)


def digests(**environment: str) -> str:
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def expected() -> str:
    return digests(CORE_MONDRIAN_PLAIN="0", PYTHONHASHSEED="0")


@pytest.mark.parametrize(
    "seed", ["1", *(pytest.param(seed, marks=pytest.mark.slow) for seed in "23")]
)
def test_hash_seed_changes_nothing(expected: str, seed: str) -> None:
    found = digests(CORE_MONDRIAN_PLAIN="0", PYTHONHASHSEED=seed)

    assert found == expected


def test_uncompiled_kernels_find_the_same(expected: str) -> None:
    found = digests(CORE_MONDRIAN_PLAIN="1", PYTHONHASHSEED="0")

    assert len(found.splitlines()) == 6
    assert found == expected
