"""Persons: whether classes of k rows are classes of k persons."""

import numpy as np

from core_mondrian.analysis.attacks.candidates import Candidates
from core_mondrian.analysis.attacks.findings import Finding, counted, share_of
from core_mondrian.runtime.array_types import Integers
from core_mondrian.verification.counting import Coded


def count_persons(
    candidates: Candidates, unit: Coded, owner: Integers, k: int, name: str
) -> Finding | None:
    """Count the classes whose rows are of fewer than k persons.

    ``unit`` numbers the person of each original row, ``owner`` is the original row of
    each released row. None: it is not known of enough rows whose they are.
    """
    inside = (candidates.class_of >= 0) & (owner >= 0)
    asked = candidates.rows > 0
    known = np.bincount(candidates.class_of[inside], minlength=candidates.rows.size)
    asked &= known == candidates.rows
    if not asked.any():
        return None
    n_units = unit.n_codes
    keys = candidates.class_of[inside] * n_units + unit.codes[owner[inside]]
    of_class = np.unique(keys) // n_units
    persons = np.bincount(of_class, minlength=candidates.rows.size)
    few = int(np.count_nonzero(asked & (persons < k)))
    one = int(np.count_nonzero(asked & (persons == 1)))
    below, alone = _count_exposed(candidates, unit, np.where(asked, persons, k), k)
    n = int(np.unique(unit.codes).size)
    n_classes = int(np.count_nonzero(asked))
    return Finding(
        name="persons",
        succeeded=few > 0,
        numbers={
            "persons": n,
            "classes": n_classes,
            "few": few,
            "one": one,
            "below": below,
            "alone": alone,
            "share": share_of(below, n),
        },
        sentence=(
            f"{few:,} of {counted(n_classes, 'class', 'classes')} hold rows of fewer "
            f"than {k} persons, {one} of them of one alone. "
            f"{counted(below, 'person', 'persons')} of {n:,} can only be in rows of "
            f"fewer than {k} persons, {alone} of them only in their own."
        ),
        remedy=f"unit = {name!r}: k then counts persons",
        columns=(name,),
    )


def _count_exposed(
    candidates: Candidates, unit: Coded, persons: Integers, k: int
) -> tuple[int, int]:
    """Count persons with a row that fits rows of fewer than k, or of themselves only.

    Persons who are in two of the classes that a row fits are counted twice, so that
    there may be more exposed persons than these.
    """
    n_tuples = candidates.first.size
    reach = np.zeros(n_tuples, dtype=np.int64)
    widest = np.zeros(n_tuples, dtype=np.int64)
    for _, _, (tuples, classes) in candidates.pairs():
        reach += np.bincount(tuples, persons[classes], n_tuples).astype(np.int64)
        np.maximum.at(widest, tuples, persons[classes])
    fits = reach > 0
    is_below = (fits & (reach < k))[candidates.person]
    # Of whom every row, wherever it may be, is among nobody else's.
    is_alone = (fits & (widest == 1))[candidates.person]
    n_rows = np.bincount(unit.codes, minlength=unit.n_codes)
    own = np.bincount(unit.codes[is_alone], minlength=unit.n_codes)
    alone = int(np.count_nonzero((own == n_rows) & (n_rows > 0)))
    return int(np.unique(unit.codes[is_below]).size), alone
