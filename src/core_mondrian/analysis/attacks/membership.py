"""Membership: whether people of the table can be told from people who are not in it."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from core_mondrian.analysis.attacks.candidates import Candidates
from core_mondrian.analysis.attacks.findings import Finding, percent, share_of
from core_mondrian.runtime.array_types import Integers
from core_mondrian.tables.hashing import draw, row_words
from core_mondrian.verification.counting import Coded, combine, compress

TELLS_ABOVE: Final = 0.5
"""Advantage from which most people are told from others."""
_SEED: Final = 9


def membership_attack(candidates: Candidates) -> Finding | None:
    """Try to tell people of the table from people who are not in it.

    The others are made by permuting each column, and left out where they are like
    somebody of the table. None: nobody can be made.
    """
    columns = [one.values for one in candidates.columns]
    made = _made_up(columns)
    outsiders = made[0].size
    if not outsiders:
        return None
    inside = share_of(candidates.count(candidates.sizes() > 0), candidates.n_people)
    outside = share_of(int(np.count_nonzero(candidates.sizes_of(made))), outsiders)
    advantage = inside - outside
    return Finding(
        name="membership",
        succeeded=advantage > TELLS_ABOVE,
        numbers={
            "inside": inside,
            "outside": outside,
            "outsiders": outsiders,
            "advantage": advantage,
        },
        sentence=(
            f"{percent(inside)} of the {candidates.who} fit a released row, and "
            f"{percent(outside)} of made-up ones that are not in the table: "
            f"an advantage of {advantage:.2f} in guessing who is in it."
        ),
        remedy="model delta-presence, a larger k, fewer quasi-identifiers, or nice",
        columns=tuple(one.name for one in candidates.columns),
    )


def _made_up(columns: Sequence[Integers]) -> list[Integers]:
    """Return people with values of others, who are like nobody of the table."""
    n = columns[0].size
    words = row_words(np.arange(n, dtype=np.uint64), _SEED)
    made = [
        column[np.argsort(draw(words, stream), kind="stable")]
        for stream, column in enumerate(columns)
    ]
    both = [
        Coded(np.concatenate([own, new]), int(own.max(initial=0)) + 1)
        for own, new in zip(columns, made, strict=True)
    ]
    keys = compress(combine(both))
    is_real = np.zeros(keys.n_codes, dtype=np.bool_)
    is_real[keys.codes[:n]] = True
    others = ~is_real[keys.codes[n:]]
    return [one[others] for one in made]
