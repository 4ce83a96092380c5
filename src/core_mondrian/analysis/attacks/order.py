"""Row order: whether the place of a released row tells whose it is."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from core_mondrian.analysis.attacks.candidates import Candidates
from core_mondrian.analysis.attacks.columns import Column, EndParts
from core_mondrian.analysis.attacks.findings import Finding, percent, share_of
from core_mondrian.errors import list_names
from core_mondrian.runtime.array_types import Integers
from core_mondrian.tables.hashing import draw, row_words

FOLLOWS_ABOVE: Final = 0.5
"""How much longer than by chance rows follow the original's order."""
_SORTED_FROM: Final = 0.9
_MOST_ROWS: Final = 100_000
_SEED: Final = 9


def compare_order(ways: Sequence[Candidates]) -> Finding | None:
    """Walk through both tables in step, and through the release in a random order.

    Rows that were left out are stepped over. ``ways`` match by different columns; the
    one that tells most counts. None: there are no rows.
    """
    n = ways[0].class_of.size
    if not n or not ways[0].person.size:
        return None
    words = row_words(np.arange(n, dtype=np.uint64), _SEED)
    mixed = np.argsort(draw(words, 0), kind="stable")
    shares = [
        tuple(
            share_of(_follow(one, order), min(n, _MOST_ROWS))
            for order in (np.arange(n), mixed)
        )
        for one in ways
    ]
    kept, chance = max(shares, key=lambda pair: pair[0] - pair[1])
    succeeded = kept - chance > FOLLOWS_ABOVE
    sorted_by = _sorted_columns(ways[0].columns) if succeeded else ()
    return Finding(
        name="row order",
        succeeded=succeeded,
        numbers={"in_order": kept, "by_chance": chance},
        sentence=_sentence(kept, chance, succeeded, sorted_by),
        remedy="shuffle = a number that you keep to yourself",
        columns=sorted_by,
    )


def _sentence(
    kept: float,
    chance: float,
    succeeded: bool,  # noqa: FBT001  # a finding
    sorted_by: Sequence[str],
) -> str:
    text = (
        f"{percent(kept)} of the released rows follow each other as in the original, "
        f"and {percent(chance)} would by chance"
    )
    text += ": a row's place reveals whose it is" if succeeded else ""
    if sorted_by:
        text += f", and the original is sorted by {list_names(sorted_by)}"
    return f"{text}."


def is_row_by_row(candidates: Candidates) -> bool:
    """Return whether the first row may be the first person, and so on to the last."""
    if candidates.class_of.size != candidates.person.size:
        return False
    kept = np.flatnonzero(candidates.class_of >= 0)
    return all(
        bool(one.fit_each(kept, candidates.class_of[kept]).all())
        for one in candidates.columns
    )


def _follow(candidates: Candidates, order: Integers) -> int:
    """Count the rows, from the first on, that fit people in the original's order."""
    person = matched = 0
    n_people = candidates.person.size
    for row in order[:_MOST_ROWS].tolist():
        if candidates.class_of[row] < 0:  # a blank row has somebody's place
            person, matched = person + 1, matched + 1
            continue
        person = candidates.first_fit(person, row)
        if person >= n_people:
            break
        person, matched = person + 1, matched + 1
    return matched


def _sorted_columns(columns: Sequence[Column]) -> tuple[str, ...]:
    """Return the quasi-identifiers by which the original's rows stand in order."""
    return tuple(
        one.name
        for one in columns
        if isinstance(one.parts, EndParts)
        and abs(_rank_correlation(one.values)) >= _SORTED_FROM
    )


def _rank_correlation(values: Integers) -> float:
    """Return Spearman's correlation of values with their places."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    if ranks.size < 2 or np.ptp(ranks) == 0:
        return 0.0
    return float(np.corrcoef(ranks, np.arange(ranks.size))[0, 1])
