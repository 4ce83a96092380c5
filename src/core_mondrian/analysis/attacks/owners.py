"""Owners: which row of the original each released row was made of, where that is known.

An attacker does not have it: it is what guesses are judged by.
"""

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
import pyarrow as pa

from core_mondrian.analysis.attacks.candidates import Candidates
from core_mondrian.analysis.attacks.columns import join_columns
from core_mondrian.analysis.attacks.order import is_row_by_row
from core_mondrian.runtime.array_types import Integers
from core_mondrian.tables.frames import OpenFrame, arrow_column
from core_mondrian.verification.counting import (
    Coded,
    code_column,
    combine,
    compress,
    first_rows,
)
from core_mondrian.verification.matches import plain_column


def find_owners(
    released: OpenFrame,
    original: OpenFrame,
    candidates: Candidates,
    carried: Sequence[str],
) -> Integers:
    """Return the original row of each released row; -1: several, or none, may be it.

    Rows are told apart by the columns ``carried``, or by their place if all are there.
    """
    n = len(released)
    unique = _match_cells(released, original, carried)
    if (unique < 0).any() and is_row_by_row(candidates):
        return np.where(candidates.class_of < 0, -1, np.arange(n))
    return np.where(candidates.class_of < 0, -1, unique)


def _match_cells(
    released: OpenFrame, original: OpenFrame, names: Sequence[str]
) -> Integers:
    n = len(released)
    both = []
    for name in names:
        columns = (
            plain_column(arrow_column(one, name)) for one in (released, original)
        )
        with suppress(pa.ArrowException):  # such as a list and a text
            both.append(code_column(join_columns(*columns)))
    if not both:
        return np.full(n, -1, dtype=np.int64)
    keys = compress(combine(both))
    old = Coded(keys.codes[n:], keys.n_codes)
    rows = np.bincount(old.codes, minlength=keys.n_codes)
    place = np.full(keys.n_codes, -1, dtype=np.int64)
    place[np.flatnonzero(rows)] = first_rows(old)
    place[rows != 1] = -1
    places: Integers = place[keys.codes[:n]]
    return places
