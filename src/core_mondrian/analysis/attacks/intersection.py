"""Intersection: what two releases of the same people say together."""

from typing import Final

import numpy as np

from core_mondrian.analysis.attacks.candidates import Candidates, side_by_side
from core_mondrian.analysis.attacks.findings import Finding, counted, share_of
from core_mondrian.analysis.attacks.order import is_row_by_row
from core_mondrian.analysis.attacks.sensitive import candidate_values
from core_mondrian.runtime.array_types import Integers
from core_mondrian.verification.counting import Coded, combine, compress, first_rows

_MOST_CELLS: Final = 1 << 22


def intersect(
    first: Candidates, second: Candidates, values: tuple[Coded, Coded] | None, k: int
) -> Finding:
    """Count whose candidates in both releases are fewer than k, or have one value.

    Where both have the original's rows in its order, their rows are the same people.
    Else they are only known to have the same sensitive values.
    """
    linked = is_row_by_row(first) and is_row_by_row(second)
    if linked:
        sizes, kinds = _of_same_rows(first, second, values)
    else:
        sizes, kinds = _of_same_values(first, second, values)
    alone = _kinds(first, values, 0), _kinds(second, values, 1)
    n = first.n_people
    few = first.count_rows((sizes > 0) & (sizes < k))
    unsure = (alone[0] != 1) & (alone[1] != 1)
    certain = first.count_rows((kinds == 1) & unsure)
    learnt = (
        ""
        if values is None
        else f", and make the sensitive value of {certain:,} certain"
    )
    by = "the order of the rows" if linked else "their sensitive values"
    return Finding(
        name="intersection",
        succeeded=few > 0 or (values is not None and certain > 0),
        numbers={
            "people": n,
            "fewer": few,
            "share": share_of(few, n),
            "certain": certain,
            "same_order": int(linked),
        },
        sentence=(
            f"Both releases together, linked by {by}, leave "
            f"{counted(few, first.who)} of {n:,} with fewer than {k} rows{learnt}."
        ),
        remedy="release the same people once, or shuffle both and keep their classes",
    )


def _of_same_rows(
    first: Candidates, second: Candidates, values: tuple[Coded, Coded] | None
) -> tuple[Integers, Integers]:
    """Return, person by person, the rows that fit in both, and their values."""
    both = side_by_side(first, second)
    return both.sizes()[both.person], _kinds(both, values, 0)


def _of_same_values(
    first: Candidates, second: Candidates, values: tuple[Coded, Coded] | None
) -> tuple[Integers, Integers]:
    """Return, person by person, the most rows that both may share, and their values."""
    if values is None:
        sizes = np.minimum(first.sizes()[first.person], second.sizes()[second.person])
        return sizes, np.zeros_like(sizes)
    pairs = compress(
        combine([Coded(one.person, one.first.size) for one in (first, second)])
    )
    sizes = np.zeros(pairs.n_codes, dtype=np.int64)
    kinds = np.zeros(pairs.n_codes, dtype=np.int64)
    persons = first_rows(pairs)
    step = max(1, _MOST_CELLS // values[0].n_codes)
    for start in range(0, persons.size, step):
        part = slice(start, start + step)
        shared = np.minimum(
            _by_value(first, values[0], persons[part]),
            _by_value(second, values[1], persons[part]),
        )
        sizes[part] = shared.sum(axis=1)
        kinds[part] = np.count_nonzero(shared, axis=1)
    return sizes[pairs.codes], kinds[pairs.codes]


def _by_value(candidates: Candidates, values: Coded, persons: Integers) -> Integers:
    by_person = candidate_values(candidates, values, persons)
    return np.concatenate([by_value for _, by_value in by_person])


def _kinds(
    candidates: Candidates, values: tuple[Coded, Coded] | None, which: int
) -> Integers:
    """Count the values among the candidates of each person."""
    if values is None:
        return np.zeros(candidates.person.size, dtype=np.int64)
    parts = [
        np.count_nonzero(by_value, axis=1)
        for _, by_value in candidate_values(candidates, values[which])
    ]
    return np.concatenate(parts)[candidates.person].astype(np.int64)
