"""The paper's statements about seconds; verdicts may differ between runs."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import log
from statistics import median
from typing import Final

from core_mondrian.experiments.claims import LITTLE, each, tell
from core_mondrian.experiments.figure import Found, Row, Verdict, pick, series
from core_mondrian.experiments.lab import CORE

_CLEARLY: Final = 1.1
"""Times that differ by less may differ by what else the machine does."""


# Figures 6, 7 and 8


def takes_longer_than_original(found: Found) -> Verdict:
    """Ask for more seconds than Original's at every k, both on one thread."""

    def ratios(policy: str) -> list[float]:
        pairs = zip(
            series(found.times, "wall_seconds", series=f"{policy}, 1 thread"),
            series(found.times, "wall_seconds", series="original, 1 thread"),
            strict=True,
        )
        return [a / b for a, b in pairs]

    return tell(
        holds=min(ratios("paper")) > 1,
        measured=each(
            lambda p: (
                f"{median(ratios(p)):.2f} times Original's at the median, "
                f"{min(ratios(p)):.2f} to {max(ratios(p)):.2f}"
            )
        ),
        because="both run in the same engine, where a cut of the paper's funnel costs "
        "hardly more than one at the median",
    )


def threads_at(*, is_large: bool, below: int = 10**9) -> Callable[[Found], Verdict]:
    """Ask which of one and all threads is faster for most k, by the table's size."""

    def judge(found: Found) -> Verdict:
        factors = sorted({row["factor"] for row in found.times})
        factor = factors[-1] if is_large else factors[0]
        rows = [r for r in pick(found.times, factor=factor) if r["k"] < below]
        gains = {
            policy: [
                a / b
                for a, b in zip(
                    series(rows, "wall_seconds", series=f"{policy}, 1 thread"),
                    series(rows, "wall_seconds", series=f"{policy}, all threads"),
                    strict=True,
                )
            ]
            for policy in CORE
        }
        least = _CLEARLY if is_large else 1.0
        faster = [gain > least for gain in gains["paper"]]
        holds = all(faster) if is_large else 2 * sum(faster) < len(faster)
        threads = max(row["threads"] for row in rows)
        because = (
            f"there are {threads} threads here, not 8, and cutting is "
            f"{_cutting_share(rows):.0%} of the CPU time; of the rest only work on "
            "whole columns is divided"
            if is_large
            else "a second thread costs nothing here"
        )
        return tell(
            holds=holds,
            measured=each(
                lambda p: (
                    f"{threads} threads faster for {sum(g > 1 for g in gains[p])} "
                    f"of {len(gains[p])} k, {median(gains[p]):.2f} times at the median"
                )
            ),
            because=because,
        )

    return judge


def _cutting_share(rows: Sequence[Row]) -> float:
    """Return the share of the CPU time that `paper` spends on what threads share."""
    paper = [r for r in rows if r["policy"] == "paper" and r["threads"] == 1]
    cutting = sum(float(r["cpu_seconds_cutting"]) for r in paper)
    return cutting / sum(float(r["cpu_seconds"]) for r in paper)


def busyness(rows: Sequence[Row]) -> float:
    """Return how long runs on one thread took, in their CPU times: 1 if undisturbed."""
    alone = [row for row in rows if row["threads"] == 1]
    return median(float(r["wall_seconds"]) / float(r["cpu_seconds"]) for r in alone)


def _told_busy(rows: Sequence[Row]) -> str:
    is_busy = busyness(rows) > 2 * _CLEARLY - 1
    return "; and other work kept the cores busy" if is_busy else ""


def _speed_ups(
    found: Found, policy: str, name: str = "wall_seconds"
) -> list[tuple[int, float]]:
    rows = [r for r in pick(found.times, policy=policy) if r["threads"] <= r["cores"]]
    return [(r["threads"], rows[0][name] / r[name]) for r in rows]


def _told_speed_ups(found: Found) -> str:
    def told(policy: str) -> str:
        pairs = zip(
            _speed_ups(found, policy)[1:],
            _speed_ups(found, policy, "wall_seconds_cutting")[1:],
            strict=True,
        )
        texts = [f"{a:.2f} on {n} (cutting alone {b:.2f})" for (n, a), (_, b) in pairs]
        return ", ".join(texts) or "one core only"

    return f"speed-up: {each(told)}"


def cores_speed_up(found: Found) -> Verdict:
    """Ask for fewer seconds with every further core there is."""
    gains = [gain for _, gain in _speed_ups(found, "paper")]
    if len(gains) < 2:
        return Verdict("not tested", "one core", "this machine has no second core")
    return tell(
        holds=all(b > _CLEARLY * a for a, b in pairwise(gains)),
        measured=_told_speed_ups(found),
        because="only cutting and work on whole columns is divided, and for `paper` "
        f"cutting is {_cutting_share(found.times):.0%} of the CPU time"
        f"{_told_busy(found.times)}",
    )


def four_times_on_eight(found: Found) -> Verdict:
    """Ask for a speed-up above 4 on 8 cores, if there are so many."""
    gains = dict(_speed_ups(found, "paper"))
    if 8 not in gains:
        cores = found.times[0]["cores"]
        because = f"this machine has {cores} cores"
        return Verdict("not tested", _told_speed_ups(found), because)
    return tell(
        holds=gains[8] > 4,
        measured=_told_speed_ups(found),
        because="what runs on one thread is the larger part",
    )


def runtime_is_u_shaped(found: Found) -> Verdict:
    """Ask for a fastest threshold from 500 to 1000, clearly faster than both ends."""

    def told(policy: str) -> str:
        first, fastest, last = _ends(found, policy)
        seconds = fastest["wall_seconds"]
        return (
            f"fastest at {fastest['inline_below']} ({seconds:.3f} s), "
            f"{first['wall_seconds'] / seconds:.2f} times that at the lowest, "
            f"{last['wall_seconds'] / seconds:.2f} at the highest"
        )

    first, fastest, last = _ends(found, "paper")
    return tell(
        holds=min(first["wall_seconds"], last["wall_seconds"])
        > _CLEARLY * fastest["wall_seconds"]
        and 500 <= fastest["inline_below"] <= 1000,
        measured=each(told),
        because="work goes to threads that share the table, not to processes that have "
        "to be sent parts of it: the threshold hardly matters for time",
    )


def _ends(found: Found, policy: str) -> tuple[Row, Row, Row]:
    """Return the first, the fastest and the last threshold."""
    rows = pick(found.times, policy=policy)
    return rows[0], min(rows, key=lambda row: float(row["wall_seconds"])), rows[-1]


# Figure 10


def exponent(rows: Sequence[Row]) -> float:
    """Return the power of the rows that the seconds grow with, first to last."""
    first, last = rows[0], rows[-1]
    seconds = log(last["wall_seconds"] / first["wall_seconds"])
    return seconds / log(last["rows"] / first["rows"])


def _told_exponents(found: Found) -> str:
    return each(
        lambda p: (
            f"seconds grow as rows to the {exponent(pick(found.times, policy=p)):.2f}"
        )
    )


def runtime_is_super_linear(found: Found) -> Verdict:
    """Ask for an exponent above 1."""
    tuples = series(found.numbers, "tuples", policy="paper")
    rows = series(found.numbers, "rows", policy="paper")
    return tell(
        holds=exponent(pick(found.times, policy="paper")) > 1 + LITTLE,
        measured=_told_exponents(found),
        because="rows that are equal in all columns are cut as one: "
        f"{rows[-1] / rows[0]:.0f} times the rows are {tuples[-1] / tuples[0]:.1f} "
        "times the tuples",
    )


def runtime_is_near_linear(found: Found) -> Verdict:
    """Ask for an exponent of at most 1.1, of either policy."""
    worst = max(exponent(pick(found.times, policy=policy)) for policy in CORE)
    return tell(
        holds=worst <= 1.1,
        measured=_told_exponents(found),
        because="seconds grow faster than rows in this run",
    )
