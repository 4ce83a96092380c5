"""Beyond the paper: who loses how much, and what analysts find in the release."""

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from core_mondrian.analysis.analyst_statistics import Question, compare, evaluate
from core_mondrian.api import anonymize
from core_mondrian.datasets import ADULT_SETS
from core_mondrian.models.k_anonymity import KAnonymity
from core_mondrian.report.charts import Chart, styled
from core_mondrian.spec.declaration import Spec
from core_mondrian.spec.policies import BestPolicy, Policy
from experiments.drawing import (
    below,
    draw_dots,
    linear_axis,
)
from experiments.figure import Figure, Found, Report, Row, pick
from experiments.lab import POLICIES, SIX, K, Lab

_KEY: Final = b"no secret: the same lots on every run"
"""Which of several equal rows is in which class is drawn by lot, under a key."""
_GROUPS: Final = ("race", "sex")
_FAIR: Final = "best, equity by race"
_STRONG: Final = "best, strong"
_STRONG_FAIR: Final = "best, strong, equity by race"
_LOSERS: Final[dict[str, Policy]] = {
    "paper": POLICIES["paper"],
    "best": POLICIES["best"],
    _FAIR: BestPolicy(equity="race"),
    _STRONG: BestPolicy("strong"),
    _STRONG_FAIR: BestPolicy("strong", equity="race"),
}


def _release_by_group(table: pa.Table, name: str, lab: Lab) -> Iterator[Row]:
    spec = Spec(SIX, models=(KAnonymity(K),), policy=_LOSERS[name])
    release = anonymize(table, spec, key=_KEY, by=_GROUPS, threads=lab.threads)
    for column in _GROUPS:
        for group in release.by_group(column):
            yield {
                "policy": name,
                "column": column,
                "group": group.group,
                "group_rows": group.n_rows,
                "group_loss": group.loss,
                "ratio": group.ratio,
                "group_suppressed": group.share_suppressed,
                "loss": release.measures().loss,
                "digest": release.digest,
            }


def _run_equity(lab: Lab, report: Report) -> Found:
    table = lab.base.select(list(dict.fromkeys((*SIX, *_GROUPS))))
    rows: list[Row] = []
    for done, name in enumerate(_LOSERS):
        rows += _release_by_group(table, name, lab)
        report((done + 1) / len(_LOSERS))
    return Found(tuple(rows))


def _draw_equity(found: Found) -> Chart:
    panels = []
    names = [name for name in _LOSERS if pick(found.numbers, policy=name)]
    x = linear_axis(
        "group_loss",
        "share of detail lost (NCP)",
        [row["group_loss"] for row in found.numbers],
    )
    for column in _GROUPS:
        rows = [
            row | {"series": row["policy"], "name": _sized(row)}
            for row in pick(found.numbers, column=column)
        ]
        panels.append(draw_dots(rows, x, names=names, title=f"by {column}"))
    notes = ["6 columns, k = 5; a suppressed row has lost everything"]
    return styled(below(*panels), "Who loses how much", notes)


def _sized(row: Row) -> str:
    return f"{row['group']} ({row['group_rows']:,})"


def _tabulate_equity(found: Found) -> list[Row]:
    """Return a line for each group, a column for each policy."""
    lines = []
    for column in _GROUPS:
        mine = pick(found.numbers, column=column)
        for group in dict.fromkeys(row["group"] for row in mine):
            rows = pick(mine, group=group)
            line: Row = {"group": f"{column} {group}"}
            line["rows"] = f"{rows[0]['group_rows']:,}"
            line |= {row["policy"]: f"{row['group_loss']:.4f}" for row in rows}
            lines.append(line)
    whole = {name: pick(found.numbers, policy=name)[0]["loss"] for name in _LOSERS}
    told = {name: f"{loss:.4f}" for name, loss in whole.items()}
    n_rows = sum(r["group_rows"] for r in pick(found.numbers, policy="best")) // 2
    return [*lines, {"group": "**all**", "rows": f"{n_rows:,}", **told}]


EQUITY: Final = Figure(
    "equity",
    "Equity: who loses how much",
    "What the rows of each race and sex lose (NCP), whether or not the column is a "
    "quasi-identifier: sex is, race is not. 6 columns, k = 5. With `equity` policy "
    "`best` searches again with the rows of the groups that lose most worth more; what "
    "that costs all is in the last line. The paper has no such figure; its authors' "
    "reason to anonymize, Project Lighthouse, is to measure how such groups differ.",
    _run_equity,
    _draw_equity,
    tabulate=_tabulate_equity,
)

# --- statistics ---------------------------------------------------------------------

_COLUMNS: Final = (*ADULT_SETS["8"], "race")
_KS: Final = (5, 25, 100)
_INCOME: Final = "income"
_QUESTIONS: Final = (
    Question("means", _INCOME, ("sex", "race")),
    Question("linear", "hours-per-week", ("age", "sex")),
    Question("logistic", _INCOME, ("age", "sex", "hours-per-week")),
)


def _run_statistics(lab: Lab, report: Report) -> Found:
    ks = [k for k in _KS if 20 * k <= lab.base.num_rows]
    ks = ks[:1] if lab.plan.repeats == 1 else ks
    asked = [(name, k) for name in ("paper", "best") for k in ks]
    rows: list[Row] = []
    for done, (name, k) in enumerate(asked):
        rows += _ask(lab, name, k)
        report((done + 1) / len(asked))
    return Found(tuple(rows))


def _ask(lab: Lab, name: str, k: int) -> Iterator[Row]:
    spec = Spec(_COLUMNS, models=(KAnonymity(k),), policy=POLICIES[name])
    release = anonymize(lab.base, spec, key=_KEY, threads=lab.threads)
    answers = list(compare(lab.base, release.data, spec, _QUESTIONS).answers)
    learnt = evaluate(lab.base, spec, [Question("classifier", _INCOME)], key=_KEY)
    for answer in (*answers, *learnt.answers):
        for row in answer.rows:
            yield {
                "policy": name,
                "k": k,
                "question": str(answer.question),
                "what": answer.what,
                "name": row.name,
                "rows": row.n_before,
                "before": _rounded(row.before),
                "after": _rounded(row.after),
                "error_before": _rounded(row.error_before),
                "overlap": _rounded(row.overlap),
                "guess": _rounded(row.guess),
            }


def _rounded(value: float | None) -> float | None:
    """Return a number to nine digits: what is fitted may differ in the last ones."""
    return None if value is None else float(f"{value:.9g}")


def _draw_statistics(found: Found) -> Chart:
    rows = pick(found.numbers, question=str(_QUESTIONS[0]))
    lowest = min(row["k"] for row in rows)
    shown: list[Row] = []
    for row in pick(rows, k=lowest):
        if row["name"] == "others":  # not the same groups for each policy
            continue
        name = f"{row['name']} ({row['rows']:,})"
        shown.append({"series": row["policy"], "name": name, "value": row["after"]})
        if row["policy"] == "best":
            shown.append({"series": "original", "name": name, "value": row["before"]})
    known = [row for row in shown if row["value"] is not None]
    values = [row["value"] for row in known] or [1.0]
    x = linear_axis("value", "share with a high income", values, ".0%")
    panel = draw_dots(known, x, names=["original", "paper", "best"], title="")
    notes = [f"by sex and race; {len(_COLUMNS)} columns, k = {lowest}"]
    return styled(panel, "Income in the original and in releases", notes)


def _tabulate_statistics(found: Found) -> list[Row]:
    lines = []
    for policy, k in dict.fromkeys((row["policy"], row["k"]) for row in found.numbers):
        mine = pick(found.numbers, policy=policy, k=k)
        means, linear, logistic = (
            pick(mine, question=str(question)) for question in _QUESTIONS
        )
        learnt = [row for row in mine if row["question"].startswith("classifier")]
        lines.append(
            {
                "release": f"`{policy}`, k = {k}",
                "income by sex and race, most off": _most_off(means),
                "hours by age and sex, intervals in common": _overlap(linear),
                "income by age, sex, hours, intervals in common": _overlap(logistic),
                "AUC of a classifier: original, release": _auc(learnt),
            }
        )
    return lines


def _most_off(rows: Sequence[Row]) -> str:
    gaps = [abs(r["after"] - r["before"]) for r in rows if r["after"] is not None]
    return f"{100 * max(gaps):.1f} points" if gaps else "-"


def _overlap(rows: Sequence[Row]) -> str:
    known = [row["overlap"] for row in rows if row["overlap"] is not None]
    return f"{sum(known) / len(known):.0%}" if known else "-"


def _auc(rows: Sequence[Row]) -> str:
    found = [row for row in rows if row["name"] == "AUC"]
    if not found or found[0]["after"] is None:
        return "-"
    return f"{found[0]['before']:.3f}, {found[0]['after']:.3f}"


STATISTICS: Final = Figure(
    "statistics",
    "Statistics: what analysts find",
    "Income by sex and race, two regressions and a classifier, on the original and on "
    f"releases of {len(_COLUMNS)} columns, race among them. The classifier of a "
    "release is trained on a release of 70 % of the rows, and both are tested on the "
    "other original rows. How released cells are read: see the page on what is good "
    "enough. The paper has no such figure.",
    _run_statistics,
    _draw_statistics,
    tabulate=_tabulate_statistics,
    fits=True,
)
