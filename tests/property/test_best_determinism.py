"""Threads, row order, frame library and compiler change no release of `best`."""

import os
import random
import subprocess
import sys
from typing import Any

import pyarrow as pa
import pytest
from best_oracle import cells, keys, usual_efforts
from conftest import IS_PLAIN, as_arrow, as_pandas, as_polars
from support.plain_engine import IN_SUBPROCESS

from core_mondrian import KAnonymity, Release, Spec, Suppression, anonymize
from core_mondrian.spec.policies import BestPolicy

N_ROWS = 80 if IS_PLAIN else 3000
EFFORTS = usual_efforts(is_plain=IS_PLAIN)
NAMES = ("age", "job", "town")


def table_of(n: int) -> pa.Table:
    """Rows with heavy ties, so that tuples are divided over classes."""
    rng = random.Random(n)  # noqa: S311
    towns = [f"t{i}" for i in range(40)]
    return pa.table(
        {
            "id": list(range(n)),
            "age": [int(rng.betavariate(2, 5) * 25) for _ in range(n)],
            "job": [rng.choice([*"aaaaabbbcd", None]) for _ in range(n)],
            "town": [towns[int(rng.expovariate(0.3)) % 40] for _ in range(n)],
        }
    )


def spec_of(effort: Any, **more: Any) -> Spec:
    return Spec(
        NAMES,
        (KAnonymity(2),),
        policy=BestPolicy(effort, **more),
        inline_below=40,
        categories_by_column={"town": "set"},
    )


def shown(release: Release[Any]) -> dict[int, Any]:
    """What each row shows, by its id."""
    rows = keys(release.data, NAMES)
    return dict(zip(cells(release.data, "id"), rows, strict=True))


def check_same(first: Release[Any], second: Release[Any]) -> None:
    assert first.beta == second.beta
    assert first.tree.digest == second.tree.digest
    assert first.digest == second.digest
    assert shown(first) == shown(second)


@pytest.mark.parametrize("effort", EFFORTS)
def test_threads_change_no_row(effort: str) -> None:
    table, spec = table_of(N_ROWS), spec_of(effort)

    runs = [anonymize(table, spec, threads=n) for n in (1, 2, 5)]

    check_same(runs[0], runs[1])
    check_same(runs[0], runs[2])


@pytest.mark.skipif(IS_PLAIN, reason="minutes without the compiler")
@pytest.mark.parametrize(
    "effort", [*EFFORTS[:-1], pytest.param(EFFORTS[-1], marks=pytest.mark.slow)]
)
def test_threads_change_no_row_of_a_large_table(effort: str) -> None:
    # More tuples than one thread is enough for, in many blocks.
    n = 20_000
    rng = random.Random(1)  # noqa: S311
    table = pa.table(
        {
            "id": list(range(n)),
            "age": [rng.randint(0, 400) for _ in range(n)],
            "job": [rng.choice("abcdefgh") for _ in range(n)],
            "town": [f"t{rng.randint(0, 40)}" for _ in range(n)],
        }
    )
    spec = spec_of(effort, beta=2.0)

    runs = [anonymize(table, spec, threads=n) for n in (1, 2, 5)]

    check_same(runs[0], runs[1])
    check_same(runs[0], runs[2])


@pytest.mark.parametrize("disjoint", [False, True], ids=["divided", "disjoint"])
@pytest.mark.parametrize("effort", EFFORTS)
def test_row_order_changes_no_row(effort: str, *, disjoint: bool) -> None:
    table, spec = table_of(N_ROWS), spec_of(effort, disjoint=disjoint)
    order = list(range(table.num_rows))
    random.Random(3).shuffle(order)  # noqa: S311

    first = anonymize(table, spec)
    second = anonymize(table.take(order), spec)

    check_same(first, second)
    assert first.input_digest(bytes(32)) == second.input_digest(bytes(32))
    assert first.figures()["search"] == second.figures()["search"]
    n_tuples = len(set(keys(table, NAMES)))
    # What this test is for: some tuples are in several classes.
    assert IS_PLAIN or (first.tree.order.size > n_tuples) != disjoint


@pytest.mark.parametrize("effort", EFFORTS)
def test_row_order_changes_no_suppressed_row(effort: str) -> None:
    table = table_of(120 if IS_PLAIN else 400)
    spec = Spec(
        NAMES,
        (KAnonymity(5),),
        policy=BestPolicy(effort, price=0.3),
        suppress=Suppression(rows=20),
        inline_below=40,
    )
    order = list(range(table.num_rows))
    random.Random(4).shuffle(order)  # noqa: S311

    first = anonymize(table, spec)
    second = anonymize(table.take(order), spec)

    assert first.n_suppressed > 0
    check_same(first, second)


@pytest.mark.skipif(IS_PLAIN, reason="kernels see the same arrays")
@pytest.mark.parametrize("effort", EFFORTS)
def test_frame_library_changes_no_row(effort: str) -> None:
    table, spec = table_of(N_ROWS), spec_of(effort)

    runs = [anonymize(kind(table), spec) for kind in (as_arrow, as_pandas, as_polars)]

    check_same(runs[0], runs[1])
    check_same(runs[0], runs[2])


SCRIPT = (
    IN_SUBPROCESS
    + """
from core_mondrian import KAnonymity, Spec, Suppression, anonymize
from core_mondrian.datasets import CENSUS_QUASI_IDENTIFIERS, census
from core_mondrian.spec.policies import BestPolicy

table = census(24, seed=3)
names = (*CENSUS_QUASI_IDENTIFIERS[:2], "hours_per_week")
policies = [
    BestPolicy(),
    BestPolicy("strong"),
    BestPolicy("max", beta=1.0),
    BestPolicy("strong", disjoint=True, beta=1.0),
]
for policy in policies:
    spec = Spec(
        names,
        models=(KAnonymity(2),),
        policy=policy,
        categories="label" if policy.disjoint else "set",
        suppress=Suppression(rows=3),
        inline_below=20,
    )
    release = anonymize(table, spec)
    print(release.tree.digest, release.digest, release.beta, end=" ")
    print(release.input_digest(bytes(32)))
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


@pytest.mark.skipif(IS_PLAIN, reason="the compiled tests try both")
def test_neither_hash_seed_nor_compiler_changes_a_release() -> None:
    expected = digests(CORE_MONDRIAN_PLAIN="0", PYTHONHASHSEED="0")

    found = digests(
        CORE_MONDRIAN_PLAIN="1",
        PYTHONHASHSEED="7",
        PYTHONWARNINGS="ignore::RuntimeWarning",
    )

    assert len(found.splitlines()) == 4
    assert found == expected
