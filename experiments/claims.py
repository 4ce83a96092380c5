"""The paper's statements as functions of what was measured.

Policy `paper`, which is the paper's design, decides whether a statement holds; what
`best` reaches stands next to it.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import median
from typing import Final, Literal

from experiments.figure import Found, Row, Verdict, pick, series
from experiments.lab import (
    AS_PUBLISHED,
    AS_WRITTEN,
    CORE,
    FAIR,
    ORIGINAL,
    K,
)

Measure = Literal["dm", "rilm"]

BUDGETS: Final = ("paper", "paper, no budget", AS_WRITTEN, "best")
"""The series of figure 4."""
LITTLE: Final = 0.05
"""A gap that is hard to see in a picture: this share."""


def tell(*, holds: bool, measured: str, because: str, cause: str = "") -> Verdict:
    """Return a verdict: ``because`` if it does not hold, ``cause`` if it does.

    Both are made of what was measured; a cause is given where one was.
    """
    if holds:
        return Verdict("holds", measured, cause)
    return Verdict("does not hold", measured, because)


def each(text: Callable[[str], str], policies: Sequence[str] = CORE) -> str:
    """Say something of each policy."""
    return "; ".join(f"`{policy}`: {text(policy)}" for policy in policies)


def millions(value: float) -> str:
    """Spell a DM."""
    return f"{value / 1e6:.3g}m"


def _ratios(
    rows: Sequence[Row], policy: str, baseline: str
) -> list[tuple[float, float]]:
    """Return DM as a share of the baseline's, and how much higher RILM is."""
    pairs = zip(pick(rows, policy=policy), pick(rows, policy=baseline), strict=True)
    return [(a["dm"] / b["dm"], a["rilm"] - b["rilm"]) for a, b in pairs]


# Figure 1


def beats(measure: Measure, baseline: str) -> Callable[[Found], Verdict]:
    """Ask for a better value than the baseline's wherever there are > 2 columns."""

    def judge(found: Found) -> Verdict:
        rows = [row for row in found.numbers if row["n_columns"] > 2]
        at = ("dm", "rilm").index(measure)
        better = {
            policy: [
                one[at] < 1 if measure == "dm" else one[at] > 0
                for one in _ratios(rows, policy, baseline)
            ]
            for policy in CORE
        }
        middle = {
            p: median(one[at] for one in _ratios(rows, p, baseline)) for p in CORE
        }

        def told(policy: str) -> str:
            how = (
                f"DM x {middle[policy]:.2f}"
                if measure == "dm"
                else f"RILM + {middle[policy]:.3f}"
            )
            wins = better[policy]
            return f"better in {sum(wins)} of {len(wins)}, median {how}"

        lost = len(better["paper"]) - sum(better["paper"])
        pairs = zip(
            series(rows, "classes", policy="paper"),
            series(rows, "classes", policy=baseline),
            strict=True,
        )
        finer = median(a / b for a, b in pairs)
        cause = f"`paper` makes {finer:.1f} times Original's classes at the median"
        return tell(
            holds=lost == 0,
            measured=each(told),
            because=f"{lost} of the points lie on the other side; {cause}",
            cause=cause,
        )

    return judge


def little_gap_for_one_column(found: Found) -> Verdict:
    """Ask for hardly any difference where there is one column."""
    rows = pick(found.numbers, n_columns=1)
    gaps = {
        policy: [1 - dm for dm, _ in _ratios(rows, policy, FAIR)] for policy in CORE
    }
    widest = max(range(len(gaps["paper"])), key=lambda i: abs(gaps["paper"][i]))
    ours, theirs = (pick(rows, policy=p)[widest] for p in ("paper", FAIR))
    return tell(
        holds=max(abs(gap) for gap in gaps["paper"]) <= LITTLE,
        measured=each(
            lambda p: (
                f"DM lower by {median(gaps[p]):.0%} at the median, "
                f"by {max(gaps[p]):.0%} at most"
            )
        ),
        because=f"the gap is widest for `{ours['columns']}` at k = {ours['k']}, where "
        f"Original makes {theirs['classes']:,} classes and `paper` "
        f"{ours['classes']:,}; the largest has {theirs['largest_class']:,} and "
        f"{ours['largest_class']:,} rows",
    )


# Figures 2 and 3


def _told_classes(rows: Sequence[Row]) -> str:
    """Say how many classes there are for the lowest and the highest k."""
    classes = {p: series(rows, "classes", policy=p) for p in ("paper", *ORIGINAL)}
    texts = [f"{n[0]:,} → {n[-1]:,} of `{p}`" for p, n in classes.items() if n]
    return f"the classes go {', '.join(texts)}"


def gap_widens(found: Found) -> Verdict:
    """Ask for a distance to Original that is greater for the last k than the first."""
    rows = found.numbers

    def gaps(policy: str, baseline: str) -> tuple[int, int]:
        ours, theirs = (
            series(rows, "dm", policy=policy),
            series(rows, "dm", policy=baseline),
        )
        return theirs[0] - ours[0], theirs[-1] - ours[-1]

    def told(policy: str) -> str:
        texts = []
        for baseline in ORIGINAL:
            first, last = gaps(policy, baseline)
            texts.append(f"{millions(first)} → {millions(last)} to {baseline}")
        return ", ".join(texts)

    ends = {baseline: gaps("paper", baseline) for baseline in ORIGINAL}
    shrunk = [name for name, (first, last) in ends.items() if last <= first]
    return tell(
        holds=not shrunk,
        measured=f"distance in DM from the lowest to the highest k: {each(told)}",
        because=f"the distance does not widen to {' and '.join(shrunk)}",
        cause=_told_classes(rows),
    )


def rilm_stays_higher(found: Found) -> Verdict:
    """Ask for a higher RILM at every k."""
    least = {
        (policy, baseline): min(
            gap for _, gap in _ratios(found.numbers, policy, baseline)
        )
        for policy in CORE
        for baseline in ORIGINAL
    }
    return tell(
        holds=all(least["paper", baseline] > 0 for baseline in ORIGINAL),
        measured=each(
            lambda p: (
                f"higher by at least {least[p, FAIR]:.3f} (fair), "
                f"{least[p, AS_PUBLISHED]:.3f} (as published)"
            )
        ),
        because="the least distance is "
        + ", ".join(f"{least['paper', b]:.3f} to {b}" for b in ORIGINAL),
        cause=_told_classes(found.numbers),
    )


def dm_rises_ever_steeper(found: Found) -> Verdict:
    """Ask for a DM that rises with k, and more per step of k at the end."""

    def slopes(policy: str) -> list[float]:
        points = [(row["k"], row["dm"]) for row in pick(found.numbers, policy=policy)]
        return [(d - b) / (c - a) for (a, b), (c, d) in pairwise(points)]

    first, last = slopes("paper")[0], slopes("paper")[-1]
    return tell(
        holds=min(slopes("paper")) > 0 and last > first,
        measured=each(
            lambda p: (
                f"{millions(series(found.numbers, 'dm', policy=p)[0])} → "
                f"{millions(series(found.numbers, 'dm', policy=p)[-1])}, "
                f"rising at every k: {'yes' if min(slopes(p)) > 0 else 'no'}"
            )
        ),
        because=f"a step of k costs {millions(first)} at first, {millions(last)} at "
        f"the end and {millions(min(slopes('paper')))} at least",
        cause=_told_classes(found.numbers),
    )


def _rilm_at(found: Found, policy: str, k: int) -> float | None:
    values = series(found.numbers, "rilm", policy=policy, k=k)
    return values[0] if values else None


def rilm_is_one_at_five(found: Found) -> Verdict:
    """Ask for 1.00 within a hundredth at k = 5."""
    values = {policy: _rilm_at(found, policy, K) or 0.0 for policy in CORE}
    return tell(
        holds=values["paper"] >= 0.99,
        measured=each(lambda p: f"{values[p]:.4f}"),
        because=f"{1 - values['paper']:.4f} is lost, more than a hundredth",
    )


def _crossing(found: Found, policy: str, level: float) -> float | None:
    """Return the k at which RILM falls below a level, on a straight line between."""
    rows = pick(found.numbers, policy=policy)
    for a, b in pairwise(rows):
        if a["rilm"] >= level > b["rilm"]:
            share = (a["rilm"] - level) / (a["rilm"] - b["rilm"])
            return float(a["k"] + share * (b["k"] - a["k"]))
    return None


def _lowest_column(found: Found, k: int, stated: float) -> str:
    """Say whether some mean of the columns can be as low as stated."""
    row = pick(found.numbers, policy="paper", k=k)
    if not row:
        return "RILM at this k was not measured"
    least = row[0]["rilm_least"]
    told = f"at k = {k} the lowest single column has {least:.3f}"
    if least > stated:
        return f"{told}: no mean of the columns is {stated:.2f}"
    return f"{told}, the plain mean {row[0]['rilm']:.3f}"


def rilm_crosses_at_200(found: Found) -> Verdict:
    """Ask for the crossing of .90 between k = 100 and 400."""
    crossings = {policy: _crossing(found, policy, 0.90) for policy in CORE}

    def told(policy: str) -> str:
        at = crossings[policy]
        text = "never here" if at is None else f"at k ≈ {at:.0f}"
        value = _rilm_at(found, policy, 200)
        return text if value is None else f"{text} ({value:.3f} at k = 200)"

    paper = crossings["paper"]
    return tell(
        holds=paper is not None and 100 <= paper <= 400,
        measured=each(told),
        because=_lowest_column(found, 200, 0.9),
    )


def rilm_is_half_at_1000(found: Found) -> Verdict:
    """Ask for about one half at k = 1000."""
    values = {policy: _rilm_at(found, policy, 1000) for policy in CORE}
    if values["paper"] is None:
        return Verdict("not tested", "no k of 1000", "the table is too small")
    return tell(
        holds=abs(values["paper"] - 0.5) <= 0.1,
        measured=each(lambda p: f"{values[p] or 0.0:.3f}"),
        because=_lowest_column(found, 1000, 0.5),
    )


# Figure 4


def dm_rises_with_columns(found: Found) -> Verdict:
    """Ask for a DM that rises from 4 to 6 to 8 columns."""
    rows = found.numbers

    def dms(policy: str, name: str = "dm") -> list[int]:
        return series(rows, name, series=policy)

    def told(policy: str) -> str:
        lost = "/".join(str(n) for n in dms(policy, "suppressed"))
        text = " → ".join(millions(dm) for dm in dms(policy))
        return f"{text} ({lost} rows suppressed)"

    return tell(
        holds=all(a < b for a, b in pairwise(dms("paper"))),
        measured=each(told, BUDGETS),
        because=f"DM of the released rows goes {_released(rows, 'paper')} as classes "
        f"get smaller ({_mean_sizes(rows)} rows), and suppressed rows cost "
        f"{_penalties(rows, 'paper')}; spent as written, the budget costs "
        f"{_penalties(rows, AS_WRITTEN)}, so that DM goes "
        f"{' → '.join(millions(dm) for dm in dms(AS_WRITTEN))}; 24m with 8 columns "
        f"takes {_rows_for(rows, 24e6):.2%} suppressed rows, where figure 5 of the "
        "paper says near zero",
    )


def _rows_for(rows: Sequence[Row], dm: float) -> float:
    """Return the share of rows that has to be suppressed for a DM, of most columns."""
    last = pick(rows, series="paper")[-1]
    return float((dm - last["dm_released"]) / last["rows"] / last["rows"])


def _released(rows: Sequence[Row], policy: str) -> str:
    return " → ".join(millions(dm) for dm in series(rows, "dm_released", series=policy))


def _mean_sizes(rows: Sequence[Row]) -> str:
    paper = pick(rows, series="paper")
    return " → ".join(f"{r['rows'] / max(r['classes'], 1):.0f}" for r in paper)


def _penalties(rows: Sequence[Row], policy: str) -> str:
    """Spell what the suppressed rows cost: N each."""
    mine = pick(rows, series=policy)
    return " → ".join(millions(row["suppressed"] * row["rows"]) for row in mine)


def rilm_falls_with_columns(found: Found) -> Verdict:
    """Ask for a RILM that falls from nearly 1 to .94."""

    def rilms(policy: str) -> list[float]:
        return series(found.numbers, "rilm", series=policy)

    paper = rilms("paper")
    return tell(
        holds=all(a > b for a, b in pairwise(paper))
        and paper[0] >= 0.99
        and abs(paper[-1] - 0.94) <= 0.03,
        measured=each(lambda p: " → ".join(f"{one:.3f}" for one in rilms(p))),
        because=f"it goes {' → '.join(f'{one:.3f}' for one in paper)}",
        cause="the lowest single column has "
        + " → ".join(
            f"{one:.3f}" for one in series(found.numbers, "rilm_least", series="paper")
        ),
    )


# Figure 10


def dm_rises_with_rows(found: Found) -> Verdict:
    """Ask for a DM that rises with every size."""

    def dms(policy: str) -> list[int]:
        return series(found.numbers, "dm", policy=policy, is_control=False)

    steps = " → ".join(millions(dm) for dm in dms("paper"))
    return tell(
        holds=all(a < b for a, b in pairwise(dms("paper"))),
        measured=each(lambda p: f"{millions(dms(p)[0])} → {millions(dms(p)[-1])}"),
        because=f"it goes {steps}",
        cause=_growth_of_classes(found),
    )


def _growth_of_classes(found: Found) -> str:
    paper = pick(found.numbers, policy="paper", is_control=False)
    first, last = paper[0], paper[-1]
    return (
        f"{last['rows'] / first['rows']:.0f} times the rows are in "
        f"{last['classes'] / first['classes']:.1f} times the classes, the largest of "
        f"{first['largest_class']:,} → {last['largest_class']:,} rows"
    )


def rilm_falls_then_rises(found: Found) -> Verdict:
    """Ask for a slight decline at first, and a rise with every size after it."""

    def rilms(policy: str) -> list[float]:
        return series(found.numbers, "rilm", policy=policy, is_control=False)

    paper = rilms("paper")
    alike = series(found.numbers, "rilm", policy="paper", is_control=True)[0]
    rises = all(a < b for a, b in pairwise(paper[1:]))
    cause = (
        f"RILM changes by {alike - paper[0]:+.3f} from the table to a synthetic one of "
        f"the same size, and by {paper[1] - alike:+.3f} from that to the next size"
    )
    return tell(
        holds=rises and paper[1] < paper[0],
        measured=each(lambda p: " → ".join(f"{one:.3f}" for one in rilms(p))),
        because=cause if rises else f"it does not rise with every size; {cause}",
        cause=cause,
    )
