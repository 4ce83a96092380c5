"""Each statement is judged by numbers: made-up ones that agree, and that do not."""

from collections.abc import Callable
from typing import Any

import pytest

from experiments import causes, claims, seconds
from experiments.figure import Found, Verdict
from experiments.lab import AS_PUBLISHED, AS_WRITTEN, FAIR
from experiments.registry import FIGURES, choose_figures

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
            | {"k": 5, "classes": 40, "largest_class": 900}
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
            {"policy": policy, "k": k, "dm": dm, "rilm": rilm, "rilm_least": rilm}
            | {"classes": 1000 // k}
            for policy, points in shown.items()
            for k, dm, rilm in points
        )
    )


def by_columns(dms: list[int], rilms: list[float]) -> Found:
    lost = {"suppressed": 3, "budget": 10, "rows": 1000, "classes": 50}
    return numbers(
        *(
            {"series": name, "dm": dm, "dm_released": dm, "rilm": rilm}
            | lost
            | {"rilm_least": rilm}
            for name in claims.BUDGETS
            for dm, rilm in zip(dms, rilms, strict=True)
        )
    )


def by_threshold(
    *lost: int, written: tuple[int, ...] = (), abandoned: int = 0, in_place: int = 0
) -> Found:
    """Rows suppressed at each threshold, with and without a second model."""
    shown = {"paper": lost, AS_WRITTEN: written or lost, "best": (0,) * len(lost)}
    return numbers(
        *(
            {
                "policy": policy,
                "model": model,
                "inline_below": below,
                "suppressed": rows,
                "suppressed_in_place": in_place,
                "share_suppressed": rows / 100_000,
                "abandoned": abandoned,
                "queued": 9000 // below,
            }
            for policy, points in shown.items()
            for model in ("", "a model")
            for below, rows in zip((50, 200, 500, 2000), points, strict=True)
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
                "cuts": 100,
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
                "wall_seconds_least": wall,
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
            | {"queued": 3, "cpu_seconds": wall, "cpu_seconds_cutting": wall / 4}
            for policy in ("paper", "best")
            for below, wall in zip((10, 750, 5000, 20_000), walls, strict=True)
        )
    )


STAGES = ("examined", "considered", "proposed", "final", "accepted")
Counts = tuple[int, int, int, int, int]


def funnel(category: Counts, number: Counts, whole: Counts | None = None) -> Found:
    """Counts by stage; ``whole`` are those of categories with a budget of all rows."""
    kinds = {causes.DEFAULT: {"category": category, "number": number}}
    kinds[causes.WHOLE] = {"category": whole or category, "number": number}
    return numbers(
        *(
            {"policy": policy, "budget": budget, "kind": kind, "stage": stage}
            | {"count": count, "suppressed_in_place": 7}
            for policy in causes.ALL
            for budget, shown in kinds.items()
            for kind, counts in shown.items()
            for stage, count in zip(STAGES, counts, strict=True)
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
            | {"rilm": rilms[i], "classes": 5 * (i + 1), "largest_class": 50}
            | {"is_control": is_control}
            for is_control in (False, True)
            for p, i in both
            if i == 0 or not is_control
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
        causes.suppression_falls_to_zero,
        by_threshold(120, 120, 40, 10),
        by_threshold(70, 80, 40, 0),
    ),
    (
        "suppression has no elbow if there is none",
        causes.suppression_falls_to_zero,
        by_threshold(120, 120, 40, 0),
        by_threshold(0, 0, 0, 0),
    ),
    (
        "the elbow of suppression",
        causes.suppression_has_its_elbow,
        by_threshold(120, 120, 40, 0),
        by_threshold(120, 120, 100, 0),
    ),
    (
        "backtracking, if cuts are abandoned and suppression falls as written",
        causes.backtracking_is_the_cause,
        by_threshold(120, 60, 40, 0, abandoned=9),
        by_threshold(120, 60, 40, 0),
    ),
    (
        "no backtracking, if suppression rises as written",
        causes.backtracking_is_the_cause,
        by_threshold(120, 60, 40, 0, abandoned=9),
        by_threshold(120, 60, 40, 0, written=(120, 130, 140, 150), abandoned=9),
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
        causes.more_numbers_than_categories,
        funnel((100, 90, 50, 20, 10), (300, 90, 50, 20, 10)),
        funnel((300, 90, 50, 20, 10), (100, 90, 50, 20, 10)),
    ),
    (
        "categories are accepted less",
        causes.categories_are_accepted_less,
        funnel((100, 90, 80, 70, 10), (100, 95, 92, 91, 90)),
        funnel((100, 95, 92, 91, 90), (0, 0, 0, 0, 0)),
    ),
    (
        "the budget refuses categories",
        causes.budget_is_the_cause,
        funnel((100, 90, 80, 70, 10), (100, 90, 80, 70, 60), (100, 90, 80, 70, 65)),
        funnel((100, 90, 80, 70, 10), (100, 90, 80, 70, 60)),
    ),
    (
        "the models refuse categories, not the budget",
        causes.budget_is_the_cause,
        funnel((100, 90, 80, 70, 10), (100, 90, 80, 70, 60), (100, 90, 80, 70, 65)),
        funnel((100, 90, 10, 10, 9), (100, 90, 80, 70, 60)),
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

    assert judges == {"claims": {False}, "causes": {False}, "seconds": {True}}


def test_backtracking_is_named_only_where_cuts_are_abandoned() -> None:
    still = by_threshold(40, 16, 5, 0, written=(40, 100, 200, 400))
    moving = by_threshold(40, 16, 5, 0, abandoned=3, in_place=2)

    because = causes.backtracking_is_the_cause(still).because
    assert "no cut is abandoned" in because
    assert "solved in place suppress no row at any threshold" in because
    assert "40 → 400 rows" in because
    fallen = causes.suppression_falls_to_zero(still)
    assert "0 cuts abandoned" in fallen.measured
    assert "queued ones suppress 40 → 0" in fallen.because
    told = causes.suppression_falls_to_zero(moving)
    assert "suppress up to 2 rows" in told.because
    assert "12 cuts abandoned" in told.measured


def test_the_stage_that_is_named_is_the_one_where_categories_lose_most() -> None:
    number = (100, 90, 80, 70, 60)
    by_models = funnel((100, 90, 20, 18, 15), number)
    by_budget = funnel((100, 90, 80, 70, 20), number)

    assert "fail the models" in causes.categories_are_accepted_less(by_models).because
    assert "fail the models" in causes.budget_is_the_cause(by_models).because
    assert "over the budget" in causes.categories_are_accepted_less(by_budget).because
    still = causes.budget_is_the_cause(by_budget).because
    assert "with a budget of all rows 71% are refused all the same" in still


def test_a_mean_of_columns_is_ruled_out_only_by_the_lowest_of_them() -> None:
    high = claims.rilm_is_half_at_1000(over_k(core=[(1000, 1, 0.7)]))
    low = claims.rilm_is_half_at_1000(over_k(core=[(1000, 1, 0.3)]))

    assert "no mean of the columns is 0.50" in high.because
    assert "no mean" not in low.because


def test_a_speed_up_is_made_of_busy_cores_and_cpu_time() -> None:
    shared = timed_over_threads(1.0, 0.5, cores=2)

    assert seconds.cores_speed_up(shared).because == (
        "2 threads keep 2.00 cores busy and 1 thread 1.00, for 1.00 times the CPU time"
    )


def test_figures_on_ctgans_tables_are_there_only_if_asked_for() -> None:
    keys = [figure.key for figure in choose_figures(None)]
    both = choose_figures(None, ctgan_epochs=7)
    again = [figure for figure in both if figure.repeats]

    assert [figure.key for figure in both if not figure.repeats] == keys
    assert [f.name for f in again] == [
        *("data-ctgan", "figure-06-ctgan", "figure-07-ctgan", "figure-10-ctgan")
    ]
    assert all("7 epochs (the paper: 1000)" in figure.about for figure in again)
    assert [f.key for f in choose_figures("10-ctgan", ctgan_epochs=7)] == ["10-ctgan"]
