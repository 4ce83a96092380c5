"""Each statement is judged by numbers: made-up ones that agree, and that do not."""

from collections.abc import Callable
from typing import Any

import pytest

from core_mondrian.experiments import claims, seconds
from core_mondrian.experiments.figure import Found, Verdict
from core_mondrian.experiments.lab import AS_PUBLISHED, FAIR
from core_mondrian.experiments.registry import FIGURES

Judge = Callable[[Found], Verdict]
POLICIES = ("paper", "best", FAIR, AS_PUBLISHED)


def numbers(*rows: dict[str, Any]) -> Found:
    return Found(rows)


def times(*rows: dict[str, Any]) -> Found:
    return Found((), rows)


def against(n_columns: int, **values: tuple[float, float]) -> Found:
    """DM and RILM of each policy, paper and best alike, for one request."""
    core, original = values["core"], values["original"]
    by_policy = dict(zip(POLICIES, (core, core, original, original), strict=True))
    return numbers(
        *(
            {"policy": p, "n_columns": n_columns, "columns": "age", "dm": dm, "rilm": r}
            for p, (dm, r) in by_policy.items()
        )
    )


def over_k(**values: list[tuple[int, float, float]]) -> Found:
    """Rows of (k, DM, RILM): of Core, and of Original if it is given."""
    original = values.get("original")
    shown = {"paper": values["core"], "best": values["core"]}
    if original:
        shown |= {FAIR: original, AS_PUBLISHED: original}
    return numbers(
        *(
            {"policy": policy, "k": k, "dm": dm, "rilm": rilm}
            for policy, points in shown.items()
            for k, dm, rilm in points
        )
    )


def by_columns(dms: list[int], rilms: list[float]) -> Found:
    names = ("paper", "paper, no budget", "best")
    lost = {"suppressed": 3, "budget": 10, "rows": 1000}
    return numbers(
        *(
            {"series": name, "dm": dm, "rilm": rilm} | lost
            for name in names
            for dm, rilm in zip(dms, rilms, strict=True)
        )
    )


def by_threshold(*shares: float, at: tuple[int, ...] = (50, 200, 500, 2000)) -> Found:
    return numbers(
        *(
            {"policy": policy, "inline_below": below, "share_suppressed": share}
            for policy in ("paper", "best")
            for below, share in zip(at, shares, strict=True)
        )
    )


def timed_over_k(paper_1: float, paper_2: float, original: float) -> Found:
    shown = {"paper, 1 thread": paper_1, "paper, all threads": paper_2}
    shown |= {"best, 1 thread": paper_1, "best, all threads": paper_2}
    shown["original, 1 thread"] = original
    return times(
        *(
            {
                "series": name,
                "policy": name.partition(",")[0],
                "factor": factor,
                "k": k,
                "threads": 1 if name.endswith("1 thread") else 2,
                "wall_seconds": wall,
                "cpu_seconds": wall,
                "cpu_seconds_cutting": wall / 4,
            }
            for factor in (1, 20)
            for name, wall in shown.items()
            for k in (5, 50, 1000)
        )
    )


def timed_over_threads(*walls: float, cores: int) -> Found:
    return times(
        *(
            {
                "policy": policy,
                "threads": 1 << i,
                "cores": cores,
                "wall_seconds": wall,
                "wall_seconds_cutting": wall,
                "cpu_seconds": 1.0,
                "cpu_seconds_cutting": 0.25,
            }
            for policy in ("paper", "best")
            for i, wall in enumerate(walls)
        )
    )


def timed_by_threshold(*walls: float) -> Found:
    return times(
        *(
            {"policy": policy, "inline_below": below, "wall_seconds": wall}
            for policy in ("paper", "best")
            for below, wall in zip((10, 750, 5000, 20_000), walls, strict=True)
        )
    )


def funnel(category: tuple[int, int], number: tuple[int, int]) -> Found:
    kinds = {"category": category, "number": number}
    return numbers(
        *(
            {"policy": policy, "kind": kind, "stage": stage, "count": count}
            for policy in ("paper", "best")
            for kind, counts in kinds.items()
            for stage, count in zip(("examined", "accepted"), counts, strict=True)
        )
    )


def by_size(
    walls: tuple[float, ...], dms: tuple[int, ...], rilms: tuple[float, ...]
) -> Found:
    sizes = (1000, 2000, 10_000)
    both = [(policy, i) for policy in ("paper", "best") for i in range(3)]
    return Found(
        tuple(
            {"policy": p, "rows": sizes[i], "tuples": 10 * (i + 1), "dm": dms[i]}
            | {"rilm": rilms[i]}
            for p, i in both
        ),
        tuple(
            {"policy": p, "rows": sizes[i], "wall_seconds": walls[i]} for p, i in both
        ),
    )


RISING, FALLING = (1, 2, 3), (0.9, 0.8, 0.95)
CASES: list[tuple[str, Judge, Found, Found]] = [
    (
        "lower DM than Original",
        claims.beats("dm", FAIR),
        against(3, core=(5, 0.9), original=(6, 0.9)),
        against(3, core=(6, 0.9), original=(6, 0.9)),
    ),
    (
        "higher RILM than Original",
        claims.beats("rilm", AS_PUBLISHED),
        against(4, core=(5, 0.91), original=(5, 0.9)),
        against(4, core=(5, 0.9), original=(5, 0.9)),
    ),
    (
        "one column, little gap",
        claims.little_gap_for_one_column,
        against(1, core=(98, 0.9), original=(100, 0.9)),
        against(1, core=(60, 0.9), original=(100, 0.9)),
    ),
    (
        "the gap widens",
        claims.gap_widens,
        over_k(core=[(5, 10, 1), (50, 20, 1)], original=[(5, 12, 1), (50, 30, 1)]),
        over_k(core=[(5, 10, 1), (50, 20, 1)], original=[(5, 20, 1), (50, 29, 1)]),
    ),
    (
        "RILM stays higher",
        claims.rilm_stays_higher,
        over_k(core=[(5, 1, 0.9), (50, 1, 0.8)], original=[(5, 1, 0.8), (50, 1, 0.7)]),
        over_k(core=[(5, 1, 0.9), (50, 1, 0.8)], original=[(5, 1, 0.8), (50, 1, 0.8)]),
    ),
    (
        "DM rises ever steeper",
        claims.dm_rises_ever_steeper,
        over_k(core=[(5, 10, 1), (10, 11, 1), (15, 13, 1)]),
        over_k(core=[(5, 10, 1), (10, 13, 1), (15, 14, 1)]),
    ),
    (
        "RILM is one at k = 5",
        claims.rilm_is_one_at_five,
        over_k(core=[(5, 1, 0.995)]),
        over_k(core=[(5, 1, 0.985)]),
    ),
    (
        "RILM crosses .90 near k = 200",
        claims.rilm_crosses_at_200,
        over_k(core=[(100, 1, 0.95), (300, 1, 0.85)]),
        over_k(core=[(100, 1, 0.95), (300, 1, 0.91)]),
    ),
    (
        "RILM is one half at k = 1000",
        claims.rilm_is_half_at_1000,
        over_k(core=[(1000, 1, 0.52)]),
        over_k(core=[(1000, 1, 0.86)]),
    ),
    (
        "DM rises with the columns",
        claims.dm_rises_with_columns,
        by_columns([18, 22, 24], [1, 0.96, 0.94]),
        by_columns([18, 2, 1], [1, 0.96, 0.94]),
    ),
    (
        "RILM falls with the columns",
        claims.rilm_falls_with_columns,
        by_columns([1, 1, 1], [1, 0.96, 0.95]),
        by_columns([1, 1, 1], [1, 0.94, 0.95]),
    ),
    (
        "suppression falls to zero",
        claims.suppression_falls_to_zero,
        by_threshold(0.0012, 0.0012, 0.0004, 0.0001),
        by_threshold(0.0007, 0.0008, 0.0004, 0.0),
    ),
    (
        "suppression has no elbow if there is none",
        claims.suppression_falls_to_zero,
        by_threshold(0.0012, 0.0012, 0.0004, 0.0),
        by_threshold(0.0, 0.0, 0.0, 0.0),
    ),
    (
        "the elbow of suppression",
        claims.suppression_has_its_elbow,
        by_threshold(0.0012, 0.0012, 0.0004, 0.0),
        by_threshold(0.0012, 0.0012, 0.0010, 0.0),
    ),
    (
        "Core takes longer",
        seconds.takes_longer_than_original,
        timed_over_k(2.0, 1.0, 1.0),
        timed_over_k(1.0, 2.0, 1.0),
    ),
    (
        "one thread is faster on the smaller table",
        seconds.threads_at(is_large=False),
        timed_over_k(1.0, 1.5, 1.0),
        timed_over_k(1.5, 1.0, 1.0),
    ),
    (
        "threads help on the larger table",
        seconds.threads_at(is_large=True, below=500),
        timed_over_k(1.5, 1.0, 1.0),
        timed_over_k(1.0, 1.5, 1.0),
    ),
    (
        "cores speed it up",
        seconds.cores_speed_up,
        timed_over_threads(4.0, 2.0, 1.5, cores=4),
        timed_over_threads(4.0, 2.0, 2.5, cores=4),
    ),
    (
        "more than 4 times on 8 cores",
        seconds.four_times_on_eight,
        timed_over_threads(4.0, 2.0, 1.5, 0.9, cores=8),
        timed_over_threads(4.0, 2.0, 1.5, 1.2, cores=8),
    ),
    (
        "U-shaped",
        seconds.runtime_is_u_shaped,
        timed_by_threshold(2.0, 1.0, 1.2, 1.5),
        timed_by_threshold(2.0, 1.0, 1.02, 1.01),
    ),
    (
        "more cuts of numbers",
        claims.more_numbers_than_categories,
        funnel(category=(100, 10), number=(300, 10)),
        funnel(category=(300, 10), number=(100, 10)),
    ),
    (
        "categories are accepted less",
        claims.categories_are_accepted_less,
        funnel(category=(100, 10), number=(100, 90)),
        funnel(category=(100, 90), number=(0, 0)),
    ),
    (
        "super-linear",
        seconds.runtime_is_super_linear,
        by_size((1.0, 2.5, 15.0), RISING, FALLING),
        by_size((1.0, 2.0, 10.0), RISING, FALLING),
    ),
    (
        "near-linear",
        seconds.runtime_is_near_linear,
        by_size((1.0, 2.0, 10.5), RISING, FALLING),
        by_size((1.0, 2.5, 15.0), RISING, FALLING),
    ),
    (
        "DM rises with the rows",
        claims.dm_rises_with_rows,
        by_size((1, 1, 1), RISING, FALLING),
        by_size((1, 1, 1), (1, 3, 2), FALLING),
    ),
    (
        "RILM falls, then rises",
        claims.rilm_falls_then_rises,
        by_size((1, 1, 1), RISING, FALLING),
        by_size((1, 1, 1), RISING, (0.8, 0.9, 0.95)),
    ),
]


@pytest.mark.parametrize(
    ("judge", "agreeing", "_other"), [pytest.param(*c[1:], id=c[0]) for c in CASES]
)
def test_numbers_that_agree_make_it_hold(
    judge: Judge, agreeing: Found, _other: Found
) -> None:
    verdict = judge(agreeing)

    assert verdict.state == "holds", verdict
    assert verdict.because == ""
    assert "paper" in verdict.measured


@pytest.mark.parametrize(
    ("judge", "_other", "disagreeing"), [pytest.param(*c[1:], id=c[0]) for c in CASES]
)
def test_numbers_that_disagree_do_not_and_say_why(
    judge: Judge, _other: Found, disagreeing: Found
) -> None:
    verdict = judge(disagreeing)

    assert verdict.state == "does not hold", verdict
    assert verdict.because
    assert str(verdict).startswith("does not hold, because ")


def test_what_the_machine_cannot_show_is_not_tested() -> None:
    two_cores = timed_over_threads(4.0, 2.0, 1.9, cores=2)
    one_core = timed_over_threads(4.0, 4.0, cores=1)
    small = over_k(core=[(5, 1, 0.9)])

    assert seconds.four_times_on_eight(two_cores).state == "not tested"
    assert "2 cores" in seconds.four_times_on_eight(two_cores).because
    assert seconds.cores_speed_up(one_core).state == "not tested"
    assert claims.rilm_is_half_at_1000(small).state == "not tested"


def test_more_threads_than_cores_do_not_count_as_speed_up() -> None:
    # The third run has 4 threads on 2 cores.
    assert seconds.cores_speed_up(timed_over_threads(4, 2, 3, cores=2)).state == "holds"


def test_the_verdict_is_that_of_policy_paper() -> None:
    rows = [
        {"policy": "paper", "k": 5, "dm": 1, "rilm": 0.9},
        {"policy": "best", "k": 5, "dm": 1, "rilm": 1.0},
    ]

    verdict = claims.rilm_is_one_at_five(numbers(*rows))

    assert verdict.state == "does not hold"
    assert verdict.measured == "`paper`: 0.9000; `best`: 1.0000"


def test_a_u_with_its_bottom_elsewhere_does_not_count() -> None:
    verdict = seconds.runtime_is_u_shaped(timed_by_threshold(2.0, 1.2, 1.0, 1.5))

    assert verdict.state == "does not hold"
    assert "fastest at 5000" in verdict.measured


def test_other_work_is_named_where_threads_do_not_help() -> None:
    idle = timed_over_threads(1.0, 1.0, cores=2)
    busy = timed_over_threads(3.0, 3.0, cores=2)  # of which one second is CPU time

    assert "other work" not in seconds.cores_speed_up(idle).because
    assert "other work" in seconds.cores_speed_up(busy).because
    assert seconds.busyness(busy.times) == pytest.approx(3.0)


def test_the_exponent_of_a_power_is_found() -> None:
    rows = [{"rows": n, "wall_seconds": 3e-6 * n**1.5} for n in (10, 1000)]

    assert seconds.exponent(rows) == pytest.approx(1.5)


def test_every_statement_about_seconds_is_marked_as_such() -> None:
    judges = {
        claim.judge.__module__.rpartition(".")[2]: set()
        for figure in FIGURES
        for claim in figure.claims
    }
    for figure in FIGURES:
        for claim in figure.claims:
            judges[claim.judge.__module__.rpartition(".")[2]].add(claim.is_timed)

    assert judges == {"claims": {False}, "seconds": {True}}
