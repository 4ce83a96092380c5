"""The paper's statements as functions of what was measured.

Policy `paper`, which is the paper's design, decides whether a statement holds; what
`best` reaches stands next to it.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import median
from typing import Final, Literal

from core_mondrian.experiments.figure import Found, Row, Verdict, pick, series
from core_mondrian.experiments.lab import AS_PUBLISHED, CORE, FAIR, ORIGINAL, K

Measure = Literal["dm", "rilm"]

_KEEPS_MORE: Final = (
    "ours keeps more; so does the published code where we run it (`python -m "
    "benchmarks.reference --sets numeric`); how the paper averages columns is unknown"
)
LITTLE: Final = 0.05
"""A gap that is hard to see in a picture: this share."""


def tell(*, holds: bool, measured: str, because: str) -> Verdict:
    """Return a verdict; the reason is given only where it is needed."""
    if holds:
        return Verdict("holds", measured)
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
        return tell(
            holds=lost == 0,
            measured=each(told),
            because=f"{lost} of the points lie on the other side",
        )

    return judge


def little_gap_for_one_column(found: Found) -> Verdict:
    """Ask for hardly any difference where there is one column."""
    rows = pick(found.numbers, n_columns=1)
    gaps = {
        policy: [1 - dm for dm, _ in _ratios(rows, policy, FAIR)] for policy in CORE
    }
    widest = max(range(len(gaps["paper"])), key=lambda i: abs(gaps["paper"][i]))
    name = pick(rows, policy="paper")[widest]["columns"]
    return tell(
        holds=max(abs(gap) for gap in gaps["paper"]) <= LITTLE,
        measured=each(
            lambda p: (
                f"DM lower by {median(gaps[p]):.0%} at the median, "
                f"by {max(gaps[p]):.0%} at most"
            )
        ),
        because="Original cuts at the median only, and stops where too many rows "
        f"share it; the gap is widest for `{name}`",
    )


# Figures 2 and 3


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

    widened = [last > first for b in ORIGINAL for first, last in [gaps("paper", b)]]
    return tell(
        holds=all(widened),
        measured=f"distance in DM from the lowest to the highest k: {each(told)}",
        because="the distance shrinks for at least one baseline",
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
        because="a baseline keeps more at some k",
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
        because="DM does not rise everywhere, or not more steeply at the end",
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
        because="more is lost than a hundredth",
    )


def _crossing(found: Found, policy: str, level: float) -> float | None:
    """Return the k at which RILM falls below a level, on a straight line between."""
    rows = pick(found.numbers, policy=policy)
    for a, b in pairwise(rows):
        if a["rilm"] >= level > b["rilm"]:
            share = (a["rilm"] - level) / (a["rilm"] - b["rilm"])
            return float(a["k"] + share * (b["k"] - a["k"]))
    return None


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
        because=_KEEPS_MORE,
    )


def rilm_is_half_at_1000(found: Found) -> Verdict:
    """Ask for about one half at k = 1000."""
    values = {policy: _rilm_at(found, policy, 1000) for policy in CORE}
    if values["paper"] is None:
        return Verdict("not tested", "no k of 1000", "the table is too small")
    return tell(
        holds=abs(values["paper"] - 0.5) <= 0.1,
        measured=each(lambda p: f"{values[p] or 0.0:.3f}"),
        because=_KEEPS_MORE,
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

    paper = pick(rows, series="paper")
    penalty = millions(paper[0]["budget"] * paper[0]["rows"])
    return tell(
        holds=all(a < b for a, b in pairwise(dms("paper"))),
        measured=each(told, ("paper", "paper, no budget", "best")),
        because="classes of more columns are smaller, and so are their squares; what "
        "rises in the paper is the penalty of one N per suppressed row, which comes to "
        f"{penalty} for the whole budget of 1 %, and ours suppresses next to nothing",
    )


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
        because="RILM does not fall from 1.00 to about 0.94",
    )


# Figure 5


def suppression_falls_to_zero(found: Found) -> Verdict:
    """Ask for a rate that never rises with the threshold and ends near zero."""

    def rates(policy: str) -> list[float]:
        return series(found.numbers, "share_suppressed", policy=policy)

    paper = rates("paper")
    falls = all(a >= b for a, b in pairwise(paper)) and paper[0] > paper[-1]
    return tell(
        holds=falls and paper[-1] <= paper[0] / 10,
        measured=each(lambda p: f"{rates(p)[0]:.3%} → {rates(p)[-1]:.3%}"),
        because="the rate rises somewhere"
        if paper[0]
        else "no row is suppressed at any threshold",
    )


def suppression_has_its_elbow(found: Found) -> Verdict:
    """Ask that half of the suppression is gone between 500 and 1000."""
    rows = pick(found.numbers, policy="paper")
    half = rows[0]["share_suppressed"] / 2
    at = next((r["inline_below"] for r in rows if r["share_suppressed"] <= half), None)
    return tell(
        holds=at is not None and 500 <= at <= 1000,
        measured=f"`paper`: half of it is gone at {at}"
        if half
        else "`paper` suppresses no row",
        because="it goes at another threshold in this table",
    )


# Figure 9


def _share(rows: Sequence[Row], policy: str, kind: str) -> tuple[int, int]:
    counts = {r["stage"]: r["count"] for r in pick(rows, policy=policy, kind=kind)}
    return counts["accepted"], counts["examined"]


def more_numbers_than_categories(found: Found) -> Verdict:
    """Ask for at least twice as many cuts of numbers as of categories."""

    def examined(policy: str, kind: str) -> int:
        return _share(found.numbers, policy, kind)[1]

    return tell(
        holds=examined("paper", "number") >= 2 * examined("paper", "category"),
        measured=each(
            lambda p: (
                f"{examined(p, 'number'):,} of numbers, "
                f"{examined(p, 'category'):,} of categories"
            )
        ),
        because="there are as many of both here",
    )


def categories_are_accepted_less(found: Found) -> Verdict:
    """Ask for a smaller share of accepted cuts among categories."""

    def share(policy: str, kind: str) -> float:
        accepted, examined = _share(found.numbers, policy, kind)
        return accepted / examined if examined else 0.0

    return tell(
        holds=share("paper", "category") < share("paper", "number"),
        measured=each(
            lambda p: (
                f"{share(p, 'category'):.0%} of categories, "
                f"{share(p, 'number'):.0%} of numbers"
            )
        ),
        because="categories are not discarded more often here",
    )


# Figure 10


def dm_rises_with_rows(found: Found) -> Verdict:
    """Ask for a DM that rises with every size."""

    def dms(policy: str) -> list[int]:
        return series(found.numbers, "dm", policy=policy)

    return tell(
        holds=all(a < b for a, b in pairwise(dms("paper"))),
        measured=each(lambda p: f"{millions(dms(p)[0])} → {millions(dms(p)[-1])}"),
        because="DM falls somewhere",
    )


def rilm_falls_then_rises(found: Found) -> Verdict:
    """Ask for a slight decline at first, and a rise with every size after it."""

    def rilms(policy: str) -> list[float]:
        return series(found.numbers, "rilm", policy=policy)

    paper = rilms("paper")
    rises = all(a < b for a, b in pairwise(paper[1:]))
    return tell(
        holds=rises and paper[1] < paper[0],
        measured=each(lambda p: " → ".join(f"{one:.3f}" for one in rilms(p))),
        because="it rises from the start: the decline is between the original and the "
        "first synthetic table, and depends on how that was made"
        if rises
        else "it does not rise with every size",
    )
