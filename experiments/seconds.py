"""The paper's statements about seconds; verdicts may differ between runs."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import log
from statistics import median
from typing import Final

from experiments.claims import LITTLE, each, tell
from experiments.figure import Found, Row, Verdict, pick, series
from experiments.lab import CORE

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
        because=_cost_of_cuts(found.times),
        cause=_cost_of_cuts(found.times),
    )


def _cost_of_cuts(times: Sequence[Row]) -> str:
    """Say what cutting costs both, as a share of all and by the cut."""

    def sums(name: str) -> list[float]:
        names = ("paper, 1 thread", "original, 1 thread")
        return [sum(series(times, name, series=one)) for one in names]

    cutting, whole = sums("cpu_seconds_cutting"), sums("cpu_seconds")
    cuts = sums("cuts")
    shares = [a / b for a, b in zip(cutting, whole, strict=True)]
    each_cut = [a / b for a, b in zip(cutting, cuts, strict=True)]
    return (
        f"cutting is {shares[0]:.0%} of `paper`'s CPU time and {shares[1]:.0%} of "
        f"Original's: {cuts[0] / cuts[1]:.1f} times the cuts, at "
        f"{each_cut[0] / each_cut[1]:.1f} times the CPU time for each"
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
        names = ("paper, 1 thread", "paper, all threads")
        cause = _use_of_threads(*(pick(rows, series=name) for name in names))
        cause += _told_busy(rows)
        return tell(
            holds=holds,
            measured=each(
                lambda p: (
                    f"{threads} threads faster for {sum(g > 1 for g in gains[p])} "
                    f"of {len(gains[p])} k, {median(gains[p]):.2f} times at the median"
                )
            ),
            because=cause,
            cause=cause,
        )

    return judge


def _use_of_threads(alone: Sequence[Row], shared: Sequence[Row]) -> str:
    """Say what a speed-up is made of: cores kept busy, and CPU time added."""

    def busy(rows: Sequence[Row]) -> float:
        return median(float(r["cpu_seconds"]) / float(r["wall_seconds"]) for r in rows)

    pairs = zip(alone, shared, strict=True)
    more = median(float(b["cpu_seconds"]) / float(a["cpu_seconds"]) for a, b in pairs)
    return (
        f"{shared[0]['threads']} threads keep {busy(shared):.2f} cores busy and 1 "
        f"thread {busy(alone):.2f}, for {more:.2f} times the CPU time"
    )


def busyness(rows: Sequence[Row]) -> float:
    """Return how long runs on one thread took, in their CPU times: 1 if undisturbed."""
    alone = [row for row in rows if row["threads"] == 1]
    return median(float(r["wall_seconds"]) / float(r["cpu_seconds"]) for r in alone)


def _told_busy(rows: Sequence[Row]) -> str:
    """Say so if other work took part of the machine: more threads then get more."""
    is_busy = busyness(rows) > 2 * _CLEARLY - 1
    return "; and other work kept the cores busy" if is_busy else ""


def _speed_ups(
    found: Found, policy: str, name: str = "wall_seconds"
) -> list[tuple[int, float]]:
    rows = [r for r in pick(found.times, policy=policy) if r["threads"] <= r["cores"]]
    return [(r["threads"], rows[0][name] / r[name]) for r in rows]


def _told_speed_ups(found: Found) -> str:
    def told(policy: str) -> str:
        rows = pick(found.times, policy=policy)
        first = rows[0]["wall_seconds"]
        least = {row["threads"]: row["wall_seconds_least"] for row in rows}
        pairs = zip(
            _speed_ups(found, policy)[1:],
            _speed_ups(found, policy, "wall_seconds_cutting")[1:],
            strict=True,
        )
        texts = [f"{first:.2f} s on 1 thread (fastest run {least[1]:.2f})"]
        texts += [
            f"{first / a:.2f} s on {n} ({least[n]:.2f}): {a:.2f} times as fast, "
            f"cutting alone {b:.2f}"
            for (n, a), (_, b) in pairs
        ]
        return ", ".join(texts)

    return f"the whole call takes: {each(told)}"


def cores_speed_up(found: Found) -> Verdict:
    """Ask for fewer seconds with every further core there is."""
    gains = [gain for _, gain in _speed_ups(found, "paper")]
    if len(gains) < 2:
        return Verdict("not tested", "one core", "this machine has no second core")
    cause = _use_of_cores(found) + _told_busy(found.times)
    return tell(
        holds=all(b > _CLEARLY * a for a, b in pairwise(gains)),
        measured=_told_speed_ups(found),
        because=cause,
        cause=cause,
    )


def _use_of_cores(found: Found) -> str:
    rows = [r for r in pick(found.times, policy="paper") if r["threads"] <= r["cores"]]
    return _use_of_threads(rows[:1], rows[-1:])


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
        because=_use_of_cores(found),
        cause=_use_of_cores(found),
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
        because=f"{first['queued']:,} partitions are queued at the lowest threshold "
        f"and {last['queued']:,} at the highest, and cutting takes "
        f"{first['cpu_seconds_cutting']:.3f} and {last['cpu_seconds_cutting']:.3f} of "
        f"{first['cpu_seconds']:.3f} and {last['cpu_seconds']:.3f} CPU seconds",
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
    return tell(
        holds=exponent(pick(found.times, policy="paper")) > 1 + LITTLE,
        measured=_told_exponents(found),
        because=_growth_of_tuples(found, "paper"),
        cause=_growth_of_tuples(found, "paper"),
    )


def _growth_of_tuples(found: Found, policy: str) -> str:
    """Say what the engine cuts: rows that are equal in all columns are one tuple."""
    numbers = pick(found.numbers, policy=policy, is_control=False)
    first, last = numbers[0], numbers[-1]
    seconds = series(found.times, "wall_seconds", policy=policy)
    return (
        f"{last['rows'] / first['rows']:.0f} times the rows are "
        f"{last['tuples'] / first['tuples']:.1f} times the tuples that are cut, and "
        f"take `{policy}` {seconds[-1] / seconds[0]:.1f} times the seconds"
    )


def runtime_is_near_linear(found: Found) -> Verdict:
    """Ask for an exponent of at most 1.1, of either policy."""
    exponents = {p: exponent(pick(found.times, policy=p)) for p in CORE}
    worst = max(CORE, key=exponents.__getitem__)
    return tell(
        holds=exponents[worst] <= 1.1,
        measured=_told_exponents(found),
        because=_growth_of_tuples(found, worst),
        cause=_growth_of_tuples(found, worst),
    )
