"""Count what the privacy models look at, and ask them.

A record ends in its sensitive codes, its person if there are persons, its rows, and the
number of its tuple:

    quasi-identifiers      sensitive      person   rows   tuple
    0 ... n_columns - 1    n_sensitive             rows_at
"""

from typing import Any

import cython
import numpy as np
from cython.cimports.core_mondrian.models.measures import ClassFigures, Measure

from core_mondrian.engine.layout import Models
from core_mondrian.errors import SpecError

if not cython.compiled:
    MOST_RULES = 64

# The clock stands above the rows of a person, in the upper half of the same number.
_ROWS = 0xFFFFFFFF
_LAST_CLOCK = 0x7FFFFFFF


class SetCounts:
    """What is counted of a set of records: rows by sensitive value, and persons.

    Persons are many and classes few, so their rows are hardly ever set back to 0: rows
    that were counted before the clock last moved are none.
    """

    def __init__(self, n_values: int, n_persons: int) -> None:
        # One place more, for there to be an address where nothing is counted.
        self.by_value = np.zeros(n_values + 1, dtype=np.int64)
        self.person_rows = np.zeros(n_persons, dtype=np.int64)
        self.n_persons = 0
        self.n_whole = 0
        self.clock = 0


class Rules:
    """The privacy models as compiled code asks them."""

    def __init__(self, models: Models, n_columns: int) -> None:
        if len(models.measures) > MOST_RULES:
            raise SpecError(
                f"{len(models.measures)} models have a measure; there can be at most "
                f"{MOST_RULES}",
                hint="of several limits to the same measure, keep the strictest",
            )
        self.min_rows = models.min_rows
        self.is_monotone = models.is_monotone
        self.has_rules = models.has_rules
        self.has_units = models.has_units
        self.present = models.present
        self.n_values = models.n_counts
        self.n_columns = n_columns
        self.n_sensitive = models.count_offset.size - 1
        self.rows_at = n_columns + self.n_sensitive + (1 if models.has_units else 0)
        self.rules = models.rules
        self.parameters = models.parameters
        self.table_counts = models.table_counts
        self.count_offset = models.count_offset
        self.measures = models.measures
        if cython.compiled:
            for i in range(len(models.measures)):
                measure = cython.declare(Measure, models.measures[i])
                self.functions[i] = measure.function
                self.contexts[i] = measure.context


def rules_admit(rules: Rules, rows: int, counts: SetCounts) -> bool:
    """Return whether every model admits a class with these counts."""
    if rules.present >= 0:
        rows = counts.by_value[rules.present]  # the others are of the population only
    if rows < rules.min_rows:
        return False
    if rules.has_units and counts.n_persons < rules.min_rows:
        return False
    for number in range(rules.rules.shape[0]):
        n = rows
        last = rules.rules[number].last_count
        if rules.rules[number].skips_missing:
            last -= 1
            n -= counts.by_value[last]
            if n == 0:
                continue  # nothing to disclose
        value = measured(rules, number, n, last, counts)
        # Not admitted if it is not a number, either.
        if not (rules.rules[number].least <= value <= rules.rules[number].most):
            return False
    return True


def measured(
    rules: Rules, number: int, rows: int, last: int, counts: SetCounts
) -> float:
    """Return what one model measures, up to the value ``last``."""
    first = rules.rules[number].first_count
    given = rules.rules[number].first_parameter
    if not cython.compiled:
        stop = rules.rules[number].last_parameter
        value: float = rules.measures[number](
            int(rows),
            counts.by_value[first:last],
            rules.table_counts[first:last],
            rules.parameters[given:stop],
        )
        return value
    figures = cython.declare(ClassFigures)
    figures.rows = rows
    figures.counts = cython.address(counts.by_value[first])
    figures.table = cython.address(rules.table_counts[first])
    figures.parameters = cython.address(rules.parameters[given])
    figures.n_values = last - first
    figures.n_parameters = rules.rules[number].last_parameter - given
    return rules.functions[number](rules.contexts[number], cython.address(figures))


def rows_of_person(counts: SetCounts, person: int) -> int:
    """Return how many rows of a person are counted."""
    packed = counts.person_rows[person]
    if packed >> 32 == counts.clock:
        return packed & _ROWS
    return 0


def change_counts(counts: SetCounts, rules: Rules, record: Any, rows: int) -> None:  # noqa: ANN401
    """Count ``rows`` more rows (or fewer) of one record."""
    for i in range(rules.n_sensitive):
        counts.by_value[rules.count_offset[i] + record[rules.n_columns + i]] += rows
    if rules.has_units:
        person = record[rules.n_columns + rules.n_sensitive]
        before = rows_of_person(counts, person)
        after = cython.cast(cython.longlong, before + rows)
        counts.n_persons += (1 if before == 0 else 0) - (1 if after == 0 else 0)
        counts.person_rows[person] = (counts.clock << 32) | after


def add_record(counts: SetCounts, rules: Rules, record: Any) -> None:  # noqa: ANN401
    """Count all rows of one record."""
    rows = cython.cast(cython.longlong, record[rules.rows_at])
    change_counts(counts, rules, record, rows)


def change_side(
    side: SetCounts,
    whole: SetCounts,
    rules: Rules,
    record: Any,  # noqa: ANN401
    rows: int,
) -> None:
    """Count ``rows`` more rows of a record (or fewer) on one side of ``whole``.

    Persons who are there with all their rows are counted as well.
    """
    change_counts(side, rules, record, rows)
    if rules.has_units:
        person = record[rules.n_columns + rules.n_sensitive]
        every = rows_of_person(whole, person)
        after = rows_of_person(side, person)
        side.n_whole += (1 if after == every else 0) - (
            1 if after - rows == every else 0
        )


def add_to_side(side: SetCounts, whole: SetCounts, rules: Rules, record: Any) -> None:  # noqa: ANN401
    """Count all rows of a record on one side of ``whole``."""
    rows = cython.cast(cython.longlong, record[rules.rows_at])
    change_side(side, whole, rules, record, rows)


def admits_sides(
    rules: Rules,
    rows: int,
    taken: int,
    whole: SetCounts,
    side: SetCounts,
    rest: SetCounts,
) -> bool:
    """Return whether every model admits a side with ``taken`` rows, and the rest."""
    if not rules_admit(rules, taken, side):
        return False
    count_rest(rules, whole, side, rest)
    return rules_admit(rules, rows - taken, rest)


def count_rest(
    rules: Rules, whole: SetCounts, side: SetCounts, rest: SetCounts
) -> None:
    """Fill what is in ``whole`` and not on the side; persons by number only."""
    for i in range(rules.n_values):
        rest.by_value[i] = whole.by_value[i] - side.by_value[i]
    if rules.has_units:
        rest.n_persons = whole.n_persons - side.n_whole


def clear(counts: SetCounts) -> None:
    """Set every count to 0."""
    for i in range(counts.by_value.shape[0]):
        counts.by_value[i] = 0
    counts.n_persons = 0
    counts.n_whole = 0
    if counts.clock >= _LAST_CLOCK:
        for i in range(counts.person_rows.shape[0]):
            counts.person_rows[i] = 0
        counts.clock = 0
    counts.clock += 1
