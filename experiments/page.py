"""The page: what the paper says next to what was measured, from the numbers alone."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from textwrap import fill
from typing import Final

from experiments.evaluation import PICTURES, Evaluation, Judged, Setting
from experiments.figure import Figure, Row
from experiments.seconds import busyness

_WIDTH: Final = 100
_TABLES: Final = {
    "adult": "UCI Adult, prepared as in the paper",
    "census": "a made-up census with Adult's columns, not a table of the paper",
}
_INTRODUCTION: Final = """
Section 4 of the paper, figure by figure: what it says, what we measure, and whether
the two agree. This page is written by a command, and every figure on it comes from
that run:
"""
_POLICIES: Final = """
`paper` is the paper's design as we built it, with its default budget: 1 % of the rows
may be suppressed. `paper, as written` spends that budget by the letter of §3.6. `best`
is our own default policy; it suppresses nothing. `original` is LeFevre's Mondrian, the
baseline. `paper` decides whether a statement holds. Reasons are made of numbers of the
same run; the paper's own reasons are statements like the others.
"""
_MEASURES: Final = """
DM is the discernibility metric: the squared sizes of the classes, and N for each
suppressed row; lower is better. RILM is the mean over the columns, from 0 to 1;
higher is better. The paper gives one RILM and does not say how columns are put
together.
"""
_FILES: Final = """
The command writes `numbers.json` and `times.json`, each figure's as CSV, and the
pictures as SVG and PNG. Everything that is not a time is the same on every run.
"""
_TREE: Final = """
The paper makes larger tables with CTGAN, trained for 1000 epochs. Here they are drawn
from a Chow-Liu tree over all columns: single columns and the pairs of the tree come
out as they are, combinations new. `--synthesizer ctgan` takes the paper's way: the real
CTGAN, on PyTorch, in an environment of its own (`.venv-ctgan`, or the folder in
`CORE_MONDRIAN_CTGAN`), because its licence is not open and it needs an older pandas.
`--synthesizer both` adds the figures on larger tables once more for CTGAN's.
"""
_BOTH: Final = """
The paper makes larger tables with CTGAN, trained for 1000 epochs. Here figures 6, 7 and
10 are measured on two kinds: drawn from a Chow-Liu tree over all columns, where single
columns and the pairs of the tree come out as they are and combinations new; and, in
sections of their own, made by CTGAN, trained for {epochs} epochs. CTGAN runs on
PyTorch in an environment of its own (`.venv-ctgan`, or the folder in
`CORE_MONDRIAN_CTGAN`), because its licence is not open and it needs an older pandas.
"""


def write_page(evaluation: Evaluation) -> str:
    """Return the page as Markdown."""
    judged = list(evaluation.judged())
    parts = [
        "# The paper's evaluation, measured again",
        *_introduction(evaluation),
        *_summary(judged),
    ]
    for figure in evaluation.figures:
        mine = [one for one in judged if one.figure is figure]
        parts += _section(evaluation, figure, mine)
    return "\n\n".join(parts) + "\n"


def _introduction(evaluation: Evaluation) -> Iterator[str]:
    setting = evaluation.setting
    yield _paragraph(_INTRODUCTION)
    yield f"```sh\n{setting.command}\n```"
    table = f"The table is {_TABLES[setting.table]}: {setting.rows:,} rows. "
    quick = "This was a quick run: few values, one run of each. "
    yield _paragraph(table + (quick if setting.is_quick else "") + _POLICIES)
    yield _paragraph(_MEASURES)
    yield _paragraph(
        f"Times are wall-clock seconds of `anonymize` on the quasi-identifiers, with "
        f"verification: medians of runs in turns, on a shared "
        f"machine with {setting.cores} cores, where the paper had 8. "
        f"{_load(evaluation)}CPU seconds are in the files."
    )
    yield _paragraph(_scaling(setting))
    yield _paragraph(_FILES)


def _load(evaluation: Evaluation) -> str:
    """Say how much other work there was: it is why wall and CPU time differ."""
    rows = [row for one in evaluation.found.values() for row in one.times]
    if all(row["threads"] > 1 for row in rows):
        return ""
    busy = busyness(rows)
    return (
        f"A run on 1 thread took {busy:.2f} times its CPU time at the median: the rest "
        "is other work on the machine. "
    )


def _scaling(setting: Setting) -> str:
    if setting.synthesizer == "both":
        return _BOTH.format(epochs=setting.epochs)
    if setting.synthesizer == "ctgan":
        return f"Larger tables are made by CTGAN, trained for {setting.epochs} epochs."
    return _TREE


def _summary(judged: Sequence[Judged]) -> Iterator[str]:
    if not judged:
        return
    first = [one for one in judged if not one.figure.repeats]
    again = [one for one in judged if one.figure.repeats]
    text = f"Of {len(first)} statements {_count_states(first)}. "
    if again:
        text += (
            f"{len(again)} are judged again on CTGAN's tables, where "
            f"{_count_states(again)}. "
        )
    yield "## In short"
    yield _paragraph(text + "All but those that hold:")
    lines = [
        f"* {one.figure.title.partition(':')[0]}: {one.claim.says}. "
        f"*{_capital(str(one.verdict))}.*"
        for one in judged
        if one.verdict.state != "holds"
    ]
    yield "\n".join(lines) if lines else "None."


def _count_states(judged: Sequence[Judged]) -> str:
    counts = Counter(one.verdict.state for one in judged)
    return (
        f"{counts['holds']} hold, {counts['does not hold']} do not, and "
        f"{counts['not tested']} cannot be tested here"
    )


def _section(
    evaluation: Evaluation, figure: Figure, judged: Sequence[Judged]
) -> Iterator[str]:
    yield f"## {figure.title}"
    yield _paragraph(figure.about)
    yield f"![{figure.title}]({PICTURES}/{figure.name}.svg)"
    if judged:
        yield _table(_claim_row(one) for one in judged)
    if figure.tabulate is not None:
        yield _table(figure.tabulate(evaluation.found[figure.key]))
    more = ""
    if figure.repeats:
        more = f" --synthesizer both --epochs {evaluation.setting.epochs}"
    yield f"`python -m experiments --figures {figure.key}{more}`"


def _claim_row(one: Judged) -> Row:
    because = f", because {one.verdict.because}" if one.verdict.because else ""
    return {
        "the paper says": one.claim.says,
        "measured": one.verdict.measured,
        "verdict": f"**{one.verdict.state}**{because}",
    }


def _table(rows: Iterable[Row]) -> str:
    listed = list(rows)
    names = [*listed[0]]
    lines = [names, ["---"] * len(names)]
    lines += [[str(row[name]) for name in names] for row in listed]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _paragraph(text: str) -> str:
    words = " ".join(text.split())
    return fill(words, _WIDTH, break_long_words=False, break_on_hyphens=False)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
