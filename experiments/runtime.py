"""Figures 6, 7, 8 and 10: how long it takes."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Final

from core_mondrian.errors import InternalError
from core_mondrian.report.charts import Chart, styled
from experiments import claims, seconds
from experiments.drawing import (
    NARROW,
    WIDE,
    beside,
    draw_lines,
    k_axis,
    linear_axis,
    log_axis,
    rilm_axis,
    seconds_axis,
)
from experiments.figure import Claim, Figure, Found, Report, Row, pick
from experiments.lab import (
    CORE,
    FAIR,
    NUMERIC,
    SIX,
    Asked,
    Job,
    Lab,
    timed_row,
)
from experiments.spending import asked_thresholds, threshold_axis

_ORIGINAL: Final = "original, 1 thread"
_CUTTING: Final = ", cutting only"


def _repeats(lab: Lab, factor: int) -> int:
    return lab.plan.repeats if factor == 1 else lab.plan.repeats_large


def _run_over_k(lab: Lab, report: Report) -> Found:
    counts = {"1 thread": 1, "all threads": lab.threads}
    ways = [(f"{p}, {name}", p, n) for p in CORE for name, n in counts.items()]
    ways.append((_ORIGINAL, FAIR, 1))
    work = list(product((1, lab.plan.large), ways, lab.timed_ks))
    jobs = [
        Job(Asked(NUMERIC, policy, k, factor), threads, _repeats(lab, factor))
        for factor, (_, policy, threads), k in work
    ]
    found = lab.time(jobs, report)
    numbers = {job.asked: one.numbers for job, one in zip(jobs, found, strict=True)}
    times = [
        {"series": name} | timed_row(one, "policy", "factor", "rows", "k", "cuts")
        for (_, (name, _, _), _), one in zip(work, found, strict=True)
    ]
    return Found(tuple(numbers.values()), tuple(times))


def _draw_over_k(found: Found) -> Chart:
    names = list(dict.fromkeys(row["series"] for row in found.times))
    panels = []
    for factor in sorted({row["factor"] for row in found.times}):
        rows = pick(found.times, factor=factor)
        title = f"{rows[0]['rows']:,} rows (x{factor})"
        axes = (k_axis([row["k"] for row in rows]), seconds_axis(rows))
        panels.append(draw_lines(rows, *axes, names=names, title=title))
    threads = max(row["threads"] for row in found.times)
    note = f"4 numbers, dynamic breakout off; all threads: {threads}"
    return styled(beside(*panels), "Runtime against k", [note])


def _run_over_threads(lab: Lab, report: Report) -> Found:
    factor = max(lab.plan.factors)
    jobs = [
        Job(Asked(SIX, policy, factor=factor), threads, _repeats(lab, factor))
        for policy, threads in product(CORE, lab.thread_counts)
    ]
    found = lab.time(jobs, report)
    numbers = {one.numbers["digest"]: one.numbers for one in found}
    if len(numbers) != len(CORE):
        raise InternalError("a release depends on the number of threads")
    times = [timed_row(one, "policy", "rows") | {"cores": lab.cores} for one in found]
    return Found(tuple(numbers.values()), tuple(times))


def _draw_over_threads(found: Found) -> Chart:
    rows = [row | {"series": row["policy"]} for row in found.times]
    counts = sorted({row["threads"] for row in rows})
    x = log_axis("threads", "threads", counts, "~g")
    x = replace(x, ticks=tuple(counts))
    gains = [{"series": "ideal", "threads": n, "speed_up": n} for n in counts]
    for name, ending in (("wall_seconds", ""), ("wall_seconds_cutting", _CUTTING)):
        gains += _speed_ups(found.times, name, ending)
    highest = [row["speed_up"] for row in gains]
    y = linear_axis("speed_up", "times as fast as on 1 thread", highest)
    names = [*CORE, *(policy + _CUTTING for policy in CORE), "ideal"]
    panels = beside(
        draw_lines(rows, x, seconds_axis(rows), names=names),
        draw_lines(gains, x, y, names=names),
    )
    note = (
        f"{rows[0]['rows']:,} rows, 6 columns, k = 5; "
        f"this machine has {rows[0]['cores']} cores"
    )
    return styled(panels, "Runtime and speed-up against threads", [note])


def _speed_ups(times: Sequence[Row], name: str, ending: str) -> list[Row]:
    first = {row["policy"]: row[name] for row in reversed(times)}
    return [
        {
            "series": row["policy"] + ending,
            "threads": row["threads"],
            "speed_up": first[row["policy"]] / row[name],
        }
        for row in times
    ]


def _run_over_threshold(lab: Lab, report: Report) -> Found:
    repeats = _repeats(lab, 1)
    jobs = [Job(one, lab.threads, repeats) for one in asked_thresholds(lab)]
    found = lab.time(jobs, report)
    names = ("policy", "rows", "inline_below", "queued")
    times = tuple(timed_row(one, *names) for one in found)
    return Found(tuple(one.numbers for one in found), times)


def _draw_over_threshold(found: Found) -> Chart:
    rows = [row | {"series": row["policy"]} for row in found.times]
    chart = draw_lines(rows, threshold_axis(rows), seconds_axis(rows), names=CORE)
    note = f"{rows[0]['rows']:,} rows, 6 columns, k = 5, {rows[0]['threads']} threads"
    wide = chart.properties(width=WIDE)
    return styled(wide, "Runtime against the inline threshold", [note])


def _run_over_size(lab: Lab, report: Report) -> Found:
    jobs = [
        Job(Asked(SIX, policy, factor=factor), lab.threads, _repeats(lab, factor))
        for policy, factor in product(CORE, lab.plan.factors)
    ]
    found = lab.time(jobs, report)
    times = tuple(timed_row(one, "policy", "factor", "rows") for one in found)
    alike = [lab.release(Asked(SIX, policy, is_synthetic=True)) for policy in CORE]
    numbers = [one.numbers | {"is_control": False} for one in found]
    numbers += [one.numbers | {"is_control": True} for one in alike]
    return Found(tuple(numbers), times)


def _draw_over_size(found: Found) -> Chart:
    times = [row | {"series": row["policy"]} for row in found.times]
    kept = pick(found.numbers, is_control=False)
    numbers = [row | {"series": row["policy"]} for row in kept]
    last = pick(times, policy="paper")[-1]
    per_row = last["wall_seconds"] / last["rows"]
    linear = [
        {"series": "linear", "rows": at, "wall_seconds": at * per_row}
        for at in (0, last["rows"])
    ]
    x = linear_axis("rows", "rows", [last["rows"]], "~s")
    dm = linear_axis("dm", "DM (lower is better)", [row["dm"] for row in numbers], "~s")
    names = [*CORE, "linear"]
    panels = (
        draw_lines([*times, *linear], x, seconds_axis(times), names=names),
        draw_lines(numbers, x, dm, names=names),
        draw_lines(numbers, x, rilm_axis(numbers), names=names),
    )
    narrow = beside(*(one.properties(width=NARROW) for one in panels))
    note = f"6 columns, k = 5, {times[0]['threads']} threads; x1 is the table itself"
    return styled(narrow, "Size of the table", [note])


FIGURES = (
    Figure(
        "6",
        "Figure 6: runtime against k",
        "The 4 numbers, two sizes, dynamic breakout off (the default). Original is the "
        "fair variant, on 1 thread.",
        _run_over_k,
        _draw_over_k,
        (
            Claim(
                "Core takes longer than Original",
                seconds.takes_longer_than_original,
                is_timed=True,
            ),
            Claim(
                "On the smaller table 1 thread is faster than 8 for most k",
                seconds.threads_at(is_large=False),
                is_timed=True,
            ),
            Claim(
                "On the larger table more threads are faster for k below 500",
                seconds.threads_at(is_large=True, below=500),
                is_timed=True,
            ),
        ),
    ),
    Figure(
        "7",
        "Figure 7: runtime and speed-up against threads",
        "The largest table, 6 columns, k = 5, dynamic breakout off. The release is the "
        "same for any number of threads, or the command fails. Times are those of the "
        "whole call; the time of cutting alone is given as well.",
        _run_over_threads,
        _draw_over_threads,
        (
            Claim(
                "Runtime falls consistently with the number of cores",
                seconds.cores_speed_up,
                is_timed=True,
            ),
            Claim(
                "The speed-up on 8 cores is over 4",
                seconds.four_times_on_eight,
                is_timed=True,
            ),
        ),
    ),
    Figure(
        "8",
        "Figure 8: runtime against the inline threshold",
        "The releases of figure 5, timed.",
        _run_over_threshold,
        _draw_over_threshold,
        (
            Claim(
                "Runtime is U-shaped, with its optimum at 500 to 1000",
                seconds.runtime_is_u_shaped,
                is_timed=True,
            ),
        ),
    ),
)

SCALING = Figure(
    "10",
    "Figure 10: size of the table",
    "6 columns, k = 5, all threads. x1 is the table itself, the others are synthetic "
    "(see [scaled data](#scaled-data)). A synthetic table of the same size "
    "separates what the synthesizer changes from what the size does.",
    _run_over_size,
    _draw_over_size,
    (
        Claim(
            "Runtime is super-linear in the rows",
            seconds.runtime_is_super_linear,
            is_timed=True,
        ),
        Claim(
            "Ours, not the paper's: runtime is linear in the rows, or nearly",
            seconds.runtime_is_near_linear,
            is_timed=True,
        ),
        Claim("DM rises steadily with the rows", claims.dm_rises_with_rows),
        Claim(
            "RILM declines slightly at first, then rises steadily",
            claims.rilm_falls_then_rises,
        ),
    ),
)
