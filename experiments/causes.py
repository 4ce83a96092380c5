"""Figures 5 and 9: the paper's statements, and whether its reasons are the cause.

The budget is spent in two ways (`paper.spend`), and with two budgets: what differs
between them is caused by the budget, what does not is not.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from experiments.claims import each, tell
from experiments.figure import Found, Row, Verdict, pick
from experiments.lab import AS_WRITTEN

SPENDERS: Final = ("paper", AS_WRITTEN)
ALL: Final = (*SPENDERS, "best")
DEFAULT, WHOLE = "default", "all rows"
"""Budgets of the funnel: 1 % of the rows, or as many as there are."""
LOSSES: Final = {
    "considered": "divide no rows",
    "proposed": "fail the models",
    "final": "another cut was taken",
    "accepted": "over the budget",
}
"""Why a candidate cut does not reach a stage that the one before reached."""

# Figure 5


def _rows(found: Found, policy: str, *, has_model: bool = False) -> list[Row]:
    mine = pick(found.numbers, policy=policy)
    return [row for row in mine if bool(row["model"]) == has_model]


def _falls(rows: Sequence[Row]) -> bool:
    """Tell whether suppression never rises with the threshold, and falls at all."""
    lost = [row["suppressed"] for row in rows]
    return all(a >= b for a, b in pairwise(lost)) and lost[0] > lost[-1]


def _course(rows: Sequence[Row]) -> str:
    first, last = rows[0]["suppressed"], rows[-1]["suppressed"]
    return f"{first:,} → {last:,} rows"


def _told_abandoned(rows: Sequence[Row]) -> str:
    return f"{sum(row['abandoned'] for row in rows):,} cuts abandoned"


def _who_spends(rows: Sequence[Row]) -> str:
    """Say who suppresses the rows: queued partitions, or those solved in place."""
    ends = (rows[0], rows[-1])
    in_place = [row["suppressed_in_place"] for row in rows]
    queued = [row["suppressed"] - row["suppressed_in_place"] for row in ends]
    alone = (
        f"suppress up to {max(in_place):,} rows"
        if any(in_place)
        else "suppress no row at any threshold"
    )
    return (
        f"partitions solved in place {alone}; queued ones suppress {queued[0]:,} → "
        f"{queued[1]:,}, and there are {ends[0]['queued']:,} → {ends[1]['queued']:,} "
        "of them"
    )


def suppression_falls_to_zero(found: Found) -> Verdict:
    """Ask for a rate that never rises with the threshold and ends near zero."""

    def told(policy: str) -> str:
        rows = _rows(found, policy)
        first, last = (row["share_suppressed"] for row in (rows[0], rows[-1]))
        return f"{first:.3%} → {last:.3%}, {_told_abandoned(rows)}"

    paper = _rows(found, "paper")
    is_near_zero = paper[-1]["suppressed"] <= paper[0]["suppressed"] / 10
    because = _who_spends(paper)
    if not any(row["suppressed"] for row in paper):
        because = "no row is suppressed at any threshold"
    return tell(
        holds=_falls(paper) and is_near_zero,
        measured=each(told, ALL),
        because=because,
        cause=because,
    )


def suppression_has_its_elbow(found: Found) -> Verdict:
    """Ask that half of the suppression is gone between 500 and 1000."""
    rows = _rows(found, "paper")
    half = rows[0]["suppressed"] / 2
    at = next((r["inline_below"] for r in rows if r["suppressed"] <= half), None)
    where = "at none of the thresholds" if at is None else f"at {at}"
    near = [r for r in rows if 500 <= r["inline_below"] <= 1000]
    steps = ", ".join(f"{r['suppressed']:,} at {r['inline_below']}" for r in near)
    return tell(
        holds=half > 0 and at is not None and 500 <= at <= 1000,
        measured=f"`paper`: half of it is gone {where}"
        if half
        else "`paper` suppresses no row",
        because=f"of {rows[0]['suppressed']:,} rows half are gone {where}",
        cause=f"of {rows[0]['suppressed']:,} rows queued partitions suppress {steps}",
    )


def backtracking_is_the_cause(found: Found) -> Verdict:
    """Ask that cuts are abandoned, and that suppression falls as §3.6 is written."""
    paper, written = (_rows(found, policy) for policy in SPENDERS)
    diverse = {policy: _rows(found, policy, has_model=True) for policy in SPENDERS}
    n_abandoned = sum(row["abandoned"] for row in paper)
    backtracks = n_abandoned > 0
    reasons = []
    if not backtracks:
        reasons.append(f"no cut is abandoned; {_who_spends(paper)}")
    if not _falls(written):
        reasons.append(
            "with the budget spent in place as well, as §3.6 is written, suppression "
            f"goes {_course(written)}"
        )

    def told(policy: str) -> str:
        alone, more = _rows(found, policy), diverse[policy]
        return (
            f"{_course(alone)}, {_told_abandoned(alone)}; with {more[0]['model']} "
            f"{_course(more)}, {_told_abandoned(more)}"
        )

    return tell(
        holds=backtracks and _falls(written),
        measured=each(told, SPENDERS),
        because="; and ".join(reasons),
    )


# Figure 9


def counts_of(found: Found, policy: str, kind: str, budget: str = DEFAULT) -> Row:
    """Return the counts of a funnel by stage."""
    rows = pick(found.numbers, policy=policy, kind=kind, budget=budget)
    return {row["stage"]: row["count"] for row in rows}


def _refused(counts: Row, stage: str) -> float:
    """Return the share of the cuts before a stage that do not reach it."""
    stages = ["examined", *LOSSES]
    before = counts[stages[stages.index(stage) - 1]]
    return 1 - counts[stage] / before if before else 0.0


def _accepted(found: Found, policy: str, kind: str) -> float:
    counts = counts_of(found, policy, kind)
    return counts["accepted"] / counts["examined"] if counts["examined"] else 0.0


def more_numbers_than_categories(found: Found) -> Verdict:
    """Ask for at least twice as many cuts of numbers as of categories."""

    def examined(policy: str, kind: str) -> int:
        return int(counts_of(found, policy, kind)["examined"])

    numbers, categories = (examined("paper", kind) for kind in ("number", "category"))
    ratio = numbers / categories if categories else float("inf")
    return tell(
        holds=ratio >= 2,
        measured=each(
            lambda p: (
                f"{examined(p, 'number'):,} of numbers, "
                f"{examined(p, 'category'):,} of categories"
            ),
            ALL,
        ),
        because=f"numbers have {ratio:.1f} times the cuts of categories, not twice",
    )


def _worst_stage(found: Found, policy: str) -> str:
    """Return where categories lose most of what they would keep as numbers do."""
    category, number = (
        counts_of(found, policy, kind) for kind in ("category", "number")
    )

    def kept(stage: str) -> float:
        return (1 - _refused(category, stage)) / max(1 - _refused(number, stage), 1e-9)

    return min(LOSSES, key=kept)


def _told_stage(found: Found, policy: str, stage: str, budget: str = DEFAULT) -> str:
    shares = [
        f"{_refused(counts_of(found, policy, kind, budget), stage):.0%}"
        for kind in ("category", "number")
    ]
    return f"{shares[0]} of categories and {shares[1]} of numbers"


def categories_are_accepted_less(found: Found) -> Verdict:
    """Ask for a smaller share of accepted cuts among categories."""
    category, number = (
        _accepted(found, "paper", kind) for kind in ("category", "number")
    )
    worst = _worst_stage(found, "paper")
    return tell(
        holds=category < number,
        measured=each(
            lambda p: (
                f"{_accepted(found, p, 'category'):.0%} of categories, "
                f"{_accepted(found, p, 'number'):.0%} of numbers"
            ),
            ALL,
        ),
        because=f"{category:.0%} of categories are accepted and {number:.0%} of "
        "numbers",
        cause=f"they differ most where cuts are lost as “{LOSSES[worst]}”: "
        f"{_told_stage(found, 'paper', worst)}",
    )


def budget_is_the_cause(found: Found) -> Verdict:
    """Ask that the budget refuses the cuts, and a budget of all rows hardly any."""

    def refused(policy: str, budget: str) -> float:
        return _refused(counts_of(found, policy, "category", budget), "accepted")

    def is_cause(policy: str) -> bool:
        is_worst = _worst_stage(found, policy) == "accepted"
        return is_worst and refused(policy, WHOLE) <= refused(policy, DEFAULT) / 2

    def told(policy: str) -> str:
        default, whole = (
            _told_stage(found, policy, "accepted", budget)
            for budget in (DEFAULT, WHOLE)
        )
        return f"refused {default}; with a budget of all rows {whole}"

    worst = _worst_stage(found, "paper")
    if worst != "accepted":
        because = f"categories lose most as “{LOSSES[worst]}”"
    else:
        spent = pick(found.numbers, policy="paper", budget=WHOLE)[0]
        because = (
            f"with a budget of all rows {refused('paper', WHOLE):.0%} are refused "
            "all the same: partitions solved in place suppress "
            f"{spent['suppressed_in_place']:,} rows of it"
        )
    if is_cause(AS_WRITTEN):
        because += "; as written the budget is the cause"
    return tell(holds=is_cause("paper"), measured=each(told, SPENDERS), because=because)
