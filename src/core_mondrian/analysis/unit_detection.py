"""Which column says whose row it is, by its name and by what rows with one value share.

An identifier that repeats is one of persons with several rows, such as the visits of a
patient. Its name may say so, or its content: rows with one value agree in what is known
of a person, such as sex and age.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from core_mondrian.errors import list_names
from core_mondrian.measures.leakage import Hidden, leaked_share
from core_mondrian.spec.identifier_detection import (
    PERSONS,
    Recognized,
    has_words,
    words_of,
)
from core_mondrian.verification.counting import Coded, code_column, compress

_PERSONAL: Final = (18, 8, 7, 9, 11, 6, 10, 4, 13, 12, 5, 15, 16, 1, 17, 14, 2)
"""HIPAA's kinds of identifiers, those that tell persons apart best first:
numbers of persons, patients and insured; documents; addresses; devices; names."""
_AGREE: Final = 0.9
"""Agreement, beyond chance, of rows with one value in what is known of a person."""
_FEWEST_VALUES: Final = 0.05
"""Different values per filled row that a number of persons has at least."""


class Unit(NamedTuple):
    """The column that says whose row it is."""

    name: str
    why: str


def find_unit(
    table: pa.Table,
    recognized: Mapping[str, Recognized],
    others: Sequence[str],
    known: Sequence[str],
) -> Unit | None:
    """Return the identifier that repeats and says best whose row it is; None: none.

    ``recognized`` are the columns that look like identifiers, ``others`` those whose
    content may say so, ``known`` those that others may know of a person.
    """
    for name in others:
        if words_of(name)[:1] == words_of(name) and has_words(name, PERSONS):
            column = _coded(table, name)
            if _repeats(column) and _is_fine(column):
                return Unit(name, "its values repeat")
    coded = {name: _coded(table, name) for name in recognized}
    repeating = [name for name in recognized if _repeats(coded[name])]
    if repeating:
        best = min(repeating, key=lambda name: _rank(recognized[name]))
        unit = Unit(best, "its values repeat")
        is_weak = not _numbers_persons(best, recognized[best])
        return None if is_weak and _has_persons(recognized, coded) else unit
    if _has_persons(recognized, coded):
        return None
    columns = [_coded(table, name) for name in known]
    for name in others:
        agreeing = _agreeing(_coded(table, name), columns)
        if len(agreeing) > max(len(columns) / 2, 1):
            listed = list_names([known[place] for place in agreeing])
            return Unit(name, f"its values repeat, and their rows agree in {listed}")
    return None


def _has_persons(
    recognized: Mapping[str, Recognized], coded: Mapping[str, Coded]
) -> bool:
    """Return whether every row has a number of a person that no other row has."""
    return any(
        _numbers_persons(name, looks)
        and not _repeats(coded[name])
        and not coded[name].missing.any()
        for name, looks in recognized.items()
    )


def _numbers_persons(name: str, looks: Recognized) -> bool:
    """Tell an identifier of persons from one of rows, or of several persons."""
    if looks.kind.number == _PERSONAL[0]:
        return any(has_words(name, f"{x} {x}-id {x}id") for x in PERSONS.split())
    return looks.kind.number in _PERSONAL[1:4]


def _rank(looks: Recognized) -> int:
    return _PERSONAL.index(looks.kind.number)


def _coded(table: pa.Table, name: str) -> Coded:
    column = code_column(table.column(name))
    # Codes that no row has may be left of a dictionary; missing stays the last one.
    filled = ~column.missing
    packed = compress(column.select(filled))
    codes = np.full(column.codes.size, packed.n_codes, dtype=np.int64)
    codes[filled] = packed.codes
    return Coded(codes, packed.n_codes + 1)


def _repeats(column: Coded) -> bool:
    n_values = column.n_codes - 1
    return 1 < n_values < int(np.count_nonzero(~column.missing))


def _is_fine(column: Coded) -> bool:
    """Return whether a column has values enough to number persons."""
    n_filled = int(np.count_nonzero(~column.missing))
    return column.n_codes - 1 >= max(_FEWEST_VALUES * n_filled, 2)


def _agreeing(column: Coded, known: Sequence[Coded]) -> list[int]:
    """Return the places of known columns in which rows with one value agree."""
    if not _is_fine(column):
        return []
    sizes = np.bincount(column.codes, minlength=column.n_codes)
    sizes[-1] = 0
    rows = np.flatnonzero(sizes[column.codes] > 1)
    if not rows.size:
        return []
    counts = np.ones(rows.size, dtype=np.int64)
    every = np.ones(rows.size, dtype=np.bool_)
    return [
        place
        for place, one in enumerate(known)
        if leaked_share(
            compress(column.select(rows)),
            Hidden("", one.codes[rows], one.n_codes, every),
            counts,
        )
        >= _AGREE
    ]
