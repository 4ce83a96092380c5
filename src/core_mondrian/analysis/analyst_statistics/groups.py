"""Means of groups and contingency tables, before and after."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from core_mondrian.analysis.analyst_statistics.answers import (
    OTHERS,
    Answer,
    Row,
    average,
    choose_named,
    name_levels,
    number_text,
    size_text,
    unanswered,
)
from core_mondrian.analysis.analyst_statistics.bins import as_bins, as_category
from core_mondrian.analysis.analyst_statistics.cells import (
    Cells,
    Column,
    Tables,
    collapse,
)
from core_mondrian.analysis.analyst_statistics.questions import MOST_GROUPS, Question
from core_mondrian.errors import SpecError
from core_mondrian.runtime.array_types import Flags, Floats

_CHUNK: Final = 1 << 22
_ALL: Final = "all"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is averaged or predicted: a number, or whether a value is there."""

    column: Column
    what: str
    is_share: bool
    level: int | None
    """The level that is looked for; None: the column is a number."""

    def values(self, cells: Cells) -> tuple[Floats, Floats]:
        """Return the number of each cell, and which part of it is known."""
        if self.level is None:
            known = (~np.isnan(cells.content)).astype(np.float64)
            return np.nan_to_num(cells.content), known
        known = cells.content.sum(axis=1)
        shares = cells.content[:, self.level]
        return np.divide(
            shares, known, out=np.zeros_like(known), where=known > 0
        ), known


def find_outcome(tables: Tables, question: Question) -> Outcome:
    """Return what a question is about.

    Raises:
        SpecError: it needs a number or two values, and the column has more.
    """
    column = tables.column(question.outcome)
    is_logistic = question.kind == "logistic"
    if column.is_number and not is_logistic:
        return Outcome(column, f"mean of {column.name}", is_share=False, level=None)
    if column.is_number:
        filled = column.before.content[~np.isnan(column.before.content)]
        if filled.size > 2:
            _refuse(question, filled.size)
        if filled.size:
            column = as_category(column, float(filled[0]), float(filled[-1]))
    if len(column.levels) > 2:
        _refuse(question, len(column.levels))
    level = len(column.levels) - 1
    named = name_levels(column, tables)
    # Which one is looked for is no secret, what it is called may be.
    shown = column.levels[level] if level >= 0 and named[level] else "the later value"
    what = f"share of {shown} in {column.name}"
    return Outcome(column, what, is_share=True, level=max(level, 0))


def _refuse(question: Question, n_values: int) -> None:
    is_means = question.kind == "means"
    raise SpecError(
        f"{question.kind} of {question.outcome!r}, which has {n_values:,} values; it "
        f"takes {'numbers or ' if is_means else ''}a column of two",
        hint=f"take {'table' if is_means else 'linear or classifier'} instead",
    )


def grouped(tables: Tables, names: Sequence[str]) -> list[Column]:
    """Return columns that make groups: categories, and numbers as ranges.

    Raises:
        SpecError: they make too many groups.
    """
    read = [tables.column(name) for name in names]
    columns = [as_bins(column) if column.is_number else column for column in read]
    n_groups = int(np.prod([len(column.levels) for column in columns], dtype=float))
    if n_groups > MOST_GROUPS:
        raise SpecError(
            f"{', '.join(names)} make {n_groups:,} groups; at most {MOST_GROUPS}",
            hint="group by fewer columns, or by columns with fewer values",
        )
    return columns


def spread(cells: Sequence[Cells], sums: Floats, *, exact: bool = False) -> Floats:
    """Add up, by group, sums (axis 1) of tuples of cells, spread by their shares.

    ``exact``: leave out tuples with a cell that is not exact.
    """
    contents = []
    for one in cells:
        content = one.content[one.codes]
        contents.append(
            content * one.exact[one.codes, np.newaxis] if exact else content
        )
    n_groups = int(np.prod([content.shape[1] for content in contents]))
    deviations = np.zeros((n_groups, sums.shape[1]))
    step = max(1, _CHUNK // max(1, n_groups))
    for start in range(0, len(sums), step):
        part = slice(start, start + step)
        shares = np.ones((len(sums[part]), 1))
        for content in contents:
            pairs = shares[:, :, np.newaxis] * content[part, np.newaxis, :]
            shares = pairs.reshape(len(shares), -1)
        deviations += shares.T @ sums[part]
    return deviations


def answer_means(question: Question, tables: Tables) -> Answer:
    """Compare the mean of a number, or the share of a value, by group."""
    outcome = find_outcome(tables, question)
    columns = grouped(tables, question.by)
    k = tables.spec.min_rows
    before, _ = _sum_up(outcome, [column.before for column in columns], "before")
    after, exact = _sum_up(outcome, [column.after for column in columns], "after")
    if not before[:, 0].sum() or not after[:, 0].sum():
        return unanswered(question, "no row has all its columns")
    groups = [column.before for column in columns]
    known = outcome.values(outcome.column.before)[1][outcome.column.before.codes] > 0
    if tables.count_people([], known)[1].sum() < k:
        return unanswered(question, f"fewer than {k} have all its columns")
    if outcome.is_share and question.outcome in tables.spec.quasi_identifiers:
        rows_of, people = tables.count_people([outcome.column.before], known)
        if ((rows_of > 0) & (people < k)).any():
            return unanswered(question, f"fewer than {k} have one of its values")
        groups.append(outcome.column.before)
    named = choose_named(*tables.count_people(groups, known), exact, k)
    names = group_names(columns, named) if columns else [_ALL]
    rows = [
        _mean_row(name, *sums)
        for name, *sums in zip(names, *pool(named, before, after), strict=True)
    ]
    rows = [row for row in rows if row.n_before or (row.n_after or 0) >= 0.5]
    left_out = tables.left_out(before[:, 0], after[:, 0])
    return _means(question, outcome, rows, before, k, left_out)


def _sum_up(outcome: Outcome, by: list[Cells], side: str) -> tuple[Floats, Floats]:
    """Return rows, sum and sum of squares by group, and the rows that are exact."""
    cells: Cells = getattr(outcome.column, side)
    codes, counts = collapse([*by, cells])
    values, known = outcome.values(cells)
    value, weight = values[codes[-1]], known[codes[-1]] * counts
    sums = np.stack([weight, weight * value, weight * value**2], axis=1)
    tuples = [
        Cells(code, one.content, one.exact)
        for code, one in zip(codes[:-1], by, strict=True)
    ]
    if not by:
        total = sums.sum(axis=0, keepdims=True)
        return total, total[:, 0]
    return spread(tuples, sums), spread(tuples, sums[:, :1], exact=True)[:, 0]


def pool(named: Flags, before: Floats, after: Floats) -> tuple[Floats, Floats]:
    """Return the sums of named groups, then those of all others together."""
    if named.all():
        return before, after
    return (
        np.vstack([before[named], before[~named].sum(axis=0)]),
        np.vstack([after[named], after[~named].sum(axis=0)]),
    )


def group_names(columns: Sequence[Column], named: Flags) -> list[str]:
    """Return the names of groups that have one, and "others" if some have none."""
    shape = [len(column.levels) for column in columns]
    places = np.unravel_index(np.flatnonzero(named), shape)
    names = [
        ", ".join(column.levels[i] for column, i in zip(columns, place, strict=True))
        for place in zip(*(place.tolist() for place in places), strict=True)
    ]
    return names if named.all() else [*names, OTHERS if named.any() else _ALL]


def _mean_row(name: str, before: Floats, after: Floats) -> Row:
    n, total, squares = before.tolist()
    mean = total / n if n else None
    error = None
    if n > 1 and mean is not None:
        error = float(np.sqrt(max(squares - n * mean**2, 0.0) / (n - 1) / n))
    return Row(
        name,
        mean,
        float(after[1] / after[0]) if after[0] > 1e-9 else None,
        error_before=error,
        n_before=round(n),
        n_after=round(float(after[0]), 6),
    )


def _means(
    question: Question,
    outcome: Outcome,
    rows: list[Row],
    before: Floats,
    k: int,
    left_out: tuple[int, float],
) -> Answer:
    known = [row for row in rows if row.difference is not None]
    if not known:
        return unanswered(question, "no group is in both tables")
    worst = max(known, key=lambda row: abs(row.difference or 0.0))
    off = abs(worst.difference or 0.0)
    usual = average((abs(row.difference or 0.0), row.n_before or 0) for row in known)
    n, total, squares = before.sum(axis=0).tolist()
    deviation = float(np.sqrt(max(squares / n - (total / n) ** 2, 0.0)))
    score = (
        1.0 if not usual else max(0.0, 1.0 - usual / deviation) if deviation else 0.0
    )
    n_noise = sum(row.is_noise for row in known)
    how = {"is_share": outcome.is_share}
    among = "" if worst.name == _ALL else f" among {worst.name}"
    line = f"no group is off by more than {size_text(off, **how)}: the {outcome.what}"
    if off < 1e-9:
        line = f"all groups are as in the original: the {outcome.what}"
    sentence = (
        f"With k = {k} {line}{among} is {number_text(worst.before, **how)} in the "
        f"original and {number_text(worst.after, **how)} in the release. {n_noise} of "
        f"{len(known)} differences are within sampling noise."
    )
    figures = {
        "largest_difference": off,
        "average_difference": usual,
        "standard_deviation": deviation,
        "within_noise": n_noise,
        "groups": len(known),
    }
    return Answer(
        question=question,
        what=outcome.what,
        rows=tuple(rows),
        score=score,
        sentence=sentence,
        figures=figures,
        left_out=left_out,
        is_share=outcome.is_share,
    )


def answer_table(question: Question, tables: Tables) -> Answer:
    """Compare the shares of all combinations of values."""
    columns = grouped(tables, [question.outcome, *question.by])
    before, after, exact = (
        _count(columns, side, is_exact=is_exact)
        for side, is_exact in (("before", False), ("after", False), ("after", True))
    )
    if not before.sum() or not after.sum():
        return unanswered(question, "no row has all its columns")
    k = tables.spec.min_rows
    sizes, people = tables.count_people([column.before for column in columns])
    if people.sum() < k:
        return unanswered(question, f"fewer than {k} have all its columns")
    named = choose_named(sizes, people, exact, k)
    shares = before / before.sum(), after / after.sum()
    pooled = pool(named, *(one[:, np.newaxis] for one in shares))
    counts = pool(named, before[:, np.newaxis], after[:, np.newaxis])
    rows = [
        Row(name, b, a, _share_error(b, n), n_before=round(n), n_after=round(m, 6))
        for name, b, a, n, m in zip(
            group_names(columns, named),
            *(one[:, 0].tolist() for one in (*pooled, *counts)),
            strict=True,
        )
    ]
    rows = [row for row in rows if row.n_before or (row.n_after or 0) >= 0.5]
    left_out = tables.left_out(before, after)
    n_outcomes = len(columns[0].levels)
    figures = {
        "distance": float(np.abs(shares[0] - shares[1]).sum() / 2),
        "cramers_v_before": _cramers_v(before.reshape(n_outcomes, -1)),
        "cramers_v_after": _cramers_v(after.reshape(n_outcomes, -1)),
    }
    return _table(question, rows, figures, left_out)


def _share_error(share: float, n: float) -> float | None:
    total = n / share if share else 0.0
    return float(np.sqrt(share * (1 - share) / total)) if total else None


def _count(columns: list[Column], side: str, *, is_exact: bool) -> Floats:
    cells: list[Cells] = [getattr(column, side) for column in columns]
    codes, counts = collapse(cells)
    tuples = [
        Cells(code, one.content, one.exact)
        for code, one in zip(codes, cells, strict=True)
    ]
    return spread(tuples, counts[:, np.newaxis].astype(float), exact=is_exact)[:, 0]


def _cramers_v(counts: Floats) -> float | None:
    """Return how strongly rows and columns of a table go together: 0 to 1."""
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    least = min(counts.shape) - 1
    if least < 1:
        return None
    n = counts.sum()
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / n
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    return float(np.sqrt(chi_square / n / least))


def _table(
    question: Question,
    rows: list[Row],
    figures: dict[str, float | None],
    left_out: tuple[int, float],
) -> Answer:
    known = [row for row in rows if row.difference is not None]
    worst = max(known, key=lambda row: abs(row.difference or 0.0))
    distance = figures["distance"] or 0.0
    before, after = figures["cramers_v_before"], figures["cramers_v_after"]
    association = ""
    if before is not None and after is not None:
        association = (
            f" Cramér's V, how strongly they go together, is {before:.3f} in the "
            f"original and {after:.3f} in the release."
        )
    share = number_text(worst.before, is_share=True)
    other = number_text(worst.after, is_share=True)
    sentence = (
        f"{number_text(distance, is_share=True)} of the rows would have to be in "
        f"another cell for both tables to be the same (total variation distance). Most "
        f"off is {worst.name}: {share} of all rows in the original and {other} in the "
        f"release.{association}"
    )
    return Answer(
        question=question,
        what="shares of rows",
        rows=tuple(rows),
        score=1.0 - distance,
        sentence=sentence,
        figures=figures,
        left_out=left_out,
        is_share=True,
    )
