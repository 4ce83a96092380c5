"""How figures are written: numbers, shares, risks, and the sentence at the top."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core_mondrian.engine.funnel_counts import STAGES
from core_mondrian.measures.risk import Risk
from core_mondrian.measures.utility import ColumnMeasures
from core_mondrian.release.report_file import Subject
from core_mondrian.report.facts import ColumnFacts, Facts
from core_mondrian.report.plain import DASH, between
from core_mondrian.runtime.plain_values import JsonObject
from core_mondrian.spec.declaration import Spec

KINDS = {"number": "all numbers", "category": "all categories"}
"""What the columns of a kind are called together."""
_THIN = "\u202f"
_PLURALS = {"class": "classes"}
_LONGEST = 80
_MOST_CROWDS = 9
_MOST_HIT = 10
_UNDONE = "abandoned"
"""Of cuts: not a stage that they pass."""
_USELESS = 0.95
"""Of a column's loss: from here on it is hardly there."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the release is, in a sentence."""

    says: str
    models: tuple[str, ...]
    """What was verified."""
    proof: str
    is_weak: bool = False
    """Whether it is not of the kind that most readers expect."""


def whole(value: int | None) -> str:
    """Write a whole number."""
    return DASH if value is None else f"{value:,}"


def count(value: int, what: str) -> str:
    """Write how many there are of something."""
    many = _PLURALS.get(what, f"{what}s")
    return f"{value:,} {what if value == 1 else many}"


def percent(share: float | None) -> str:
    """Write a share; one that is nearly nothing or nearly all is neither."""
    if share is None:
        return DASH
    if 0.0 < share < 0.0005:
        return f"<{_THIN}0.1{_THIN}%"
    if 0.9995 <= share < 1.0:
        return f">{_THIN}99.9{_THIN}%"
    digits = 0 if share in (0.0, 1.0) else 1
    return f"{100 * share:.{digits}f}{_THIN}%"


def part_of(value: int, all_of: int) -> str:
    """Write a number, and which share of all it is."""
    share = f" ({percent(value / all_of)})" if value and all_of else ""
    return f"{value:,}{share}"


def number(value: float | None, none: str = DASH) -> str:
    """Write any number in few digits."""
    return none if value is None else f"{value:.4g}"


def fixed(value: float | None, digits: int = 2) -> str:
    """Write a number with so many decimals."""
    return DASH if value is None else f"{value:.{digits}f}"


def width(share: float) -> str:
    """Write a share as the width of a bar."""
    return f"{100 * min(max(share, 0.0), 1.0):.2f}".rstrip("0").rstrip(".")


def short(words: str) -> str:
    """Cut a long text."""
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…"


def role_texts(spec: Spec, carried: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return what becomes of which columns, those that are generalized first."""
    hidden = [*spec.pseudonyms]
    roles = {
        "Generalized: what others may know of a person": [*spec.quasi_identifiers],
        "Sensitive: protected by the classes, as they are": [*spec.sensitive],
        "Replaced by keyed pseudonyms": hidden,
        "Released as they are": [name for name in carried if name not in hidden],
        "Left out": [*spec.removed],
        "Added: a number for each class": [spec.class_id] if spec.class_id else [],
    }
    return [(role, names) for role, names in roles.items() if names]


def lost_categories(
    columns: Sequence[ColumnFacts | ColumnMeasures], spec: Spec
) -> list[str]:
    """Return the categories that tell nothing any more without a hierarchy."""
    return [
        column.name
        for column in columns
        if column.kind == "category"
        and spec.is_flat(column.name)
        and column.ncp is not None
        and column.ncp >= _USELESS
    ]


def verdict_of(facts: Facts) -> Verdict:
    """Return what the release promises, first of all."""
    smallest = facts.after.smallest
    names = tuple(short(model.name) for model in facts.models)
    proof = _rows_text(facts)
    if smallest is None:
        return Verdict("Nothing is released", names, proof, is_weak=True)
    says = alike_text(smallest, are_persons=facts.counts_persons)
    return Verdict(says, names, proof, is_weak=smallest < 2)


def alike_text(smallest: int, *, are_persons: bool) -> str:
    """Return what the smallest class promises, in one sentence."""
    if smallest < 2:
        return "Some rows share their released values with no other row"
    others = "one other" if smallest == 2 else f"{smallest - 1:,} others"
    whose = "Every person shares their" if are_persons else "Every row shares its"
    return f"{whose} released values with at least {others}"


def _rows_text(facts: Facts) -> str:
    who = "persons" if facts.counts_persons else "rows"
    before, after = facts.before, facts.after
    unique = part_of(before.n_unique, before.n_people)
    was = f"In the original, {unique} of {before.n_people:,} {who} were the only ones"
    now = f"{after.n_unique:,} are" if after.n_unique else "none is"
    return f"{was} of their kind; in the release {now}."


def subject_text(of: Subject, versions: Mapping[str, str]) -> str:
    """Return of which table the report is, of which day and version."""
    own = versions.get("core-mondrian")
    parts = (of.table, of.date, None if own is None else f"core-mondrian {own}")
    return " · ".join(part for part in parts if part)


def warnings_text(facts: Facts) -> str:
    """Return how many warnings nobody has accepted; nothing: none."""
    n = sum(not item["accepted"] for item in facts.warnings)
    return f"{count(n, 'warning')} to look at" if n else ""


def key_figures(facts: Facts) -> list[dict[str, str]]:
    """Return the figures at the top."""
    released = percent(facts.n_released / facts.n_rows) if facts.n_rows else DASH
    smallest = facts.after.smallest
    who = "persons" if facts.counts_persons else "rows"
    size = DASH if smallest is None else f"{smallest:,} {who}"
    return [
        _figure("rows released", whole(facts.n_released), f"{released} of all"),
        _figure("classes", whole(facts.after.n_groups), "groups that look alike"),
        _figure("smallest class", size, f"asked for: {facts.k:,}"),
        _figure(
            "highest risk",
            percent(facts.after.highest),
            f"was {percent(facts.before.highest)}",
        ),
        _figure("lost", percent(facts.loss), _least_loss(facts)),
    ]


def _least_loss(facts: Facts) -> str:
    """Return what the loss is to be compared with."""
    if facts.bound is None:
        return "0 %: all is as it was"
    return f"no release can lose less than {percent(facts.bound)}"


def _figure(name: str, value: str, note: str) -> dict[str, str]:
    return {"name": name, "value": value, "note": note}


def risk_rows(facts: Facts) -> list[dict[str, str]]:
    """Return the risks before and after, one row each."""
    who = "persons" if facts.counts_persons else "rows"

    def small(risk: Risk) -> str:
        return part_of(risk.n_small, risk.n_people)

    def unique(risk: Risk) -> str:
        return part_of(risk.n_unique, risk.n_people)

    rows: list[tuple[str, Any]] = [
        (
            "prosecutor, who knows the person is in the table: highest risk",
            lambda risk: percent(risk.highest),
        ),
        ("the same, on average", lambda risk: percent(risk.average)),
        (
            "journalist, who knows only the population: highest risk",
            lambda risk: percent(risk.journalist_highest),
        ),
        ("the same, on average", lambda risk: percent(risk.journalist_average)),
        (
            "marketer, who looks for everybody: share found",
            lambda risk: percent(risk.marketer),
        ),
        (f"{who} that are the only ones of their kind", unique),
    ]
    if facts.k > 1:
        rows.append((f"{who} in groups smaller than {facts.k:,}", small))
    return [
        {"name": name, "before": write(facts.before), "after": write(facts.after)}
        for name, write in rows
    ]


def crowd_rows(facts: Facts) -> list[JsonObject]:
    """Return people by how many look like them, before and after, one row each."""
    limits: dict[int, int] = {}
    people: list[Counter[int]] = []
    for risk in (facts.before, facts.after):
        limits |= {crowd.low: crowd.high for crowd in risk.crowds}
        people.append(Counter({one.low: one.n_people for one in risk.crowds}))
    lows = sorted(limits)
    for low in lows[_MOST_CROWDS:]:  # the largest are summed up
        for counted in people:
            counted[lows[_MOST_CROWDS - 1]] += counted[low]
    rows = []
    for i, low in enumerate(lows[:_MOST_CROWDS]):
        is_sum = i == _MOST_CROWDS - 1 < len(lows) - 1
        name = f"≥ {low:,}" if is_sum else between(low, limits[low])
        before, after = (counted[low] for counted in people)
        rows.append(
            {
                "name": "alone" if low == 1 else name,
                "before": before,
                "after": after,
                "shares": (
                    before / max(facts.before.n_people, 1),
                    after / max(facts.after.n_people, 1),
                ),
            }
        )
    return rows


def hit_rows(facts: Facts) -> list[JsonObject]:
    """Return the values whose rows are suppressed more often than all, worst first.

    Values with fewer suppressed rows than a class needs are not told.
    """
    usual = facts.n_suppressed / max(facts.n_rows, 1)
    rows: list[JsonObject] = [
        {
            "column": column.name,
            "value": item.text,
            "rows": item.rows,
            "suppressed": item.suppressed,
            "times": item.suppressed / item.rows / usual,
        }
        for column in facts.columns
        for item in column.bins
        if item.suppressed and item.suppressed / item.rows > usual
    ]
    rows.sort(key=lambda row: -row["times"])
    return rows[:_MOST_HIT]


def funnel_shares(facts: Facts) -> list[tuple[str, float]]:
    """Return how many cuts of all kinds are left after each stage."""
    kinds = facts.funnel["kinds"].values()
    stages = [stage for stage in STAGES if stage != _UNDONE]
    total = {stage: sum(counts[stage] for counts in kinds) for stage in stages}
    first = max(total[stages[0]], 1)
    return [(f"{stage} {n:,}", n / first) for stage, n in total.items()]
