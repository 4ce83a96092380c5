"""What the shipped models measure of a class: compiled, and called without the GIL.

A measure sees the figures of one class: its rows, how many of them have each sensitive
value, the same of the whole table, and parameters. Counts are whole numbers, exact
below 2**31 rows.

Here and in all compiled modules a quotient of two whole numbers is written
``float(a) / b``: C would drop its fraction.
"""

from typing import Any

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY, exp, fabs, log

if not cython.compiled:
    INFINITY = float("inf")

# What the first parameter of the earth mover's distance says.
EQUAL, ORDERED, HIERARCHICAL = 0.0, 1.0, 2.0
END_OF_CHILD = -2.0
# A limit that is computed is one this share away from itself.
ROUNDED_UP = 1.0 + 1e-12

# The same for Python: names of this module that are C's are not seen from there.
DISTANCES = {"equal": EQUAL, "ordered": ORDERED, "hierarchical": HIERARCHICAL}
LAST_OF_CHILD = END_OF_CHILD


class PlainFigures:
    """What a measure sees of a class; compiled code has a C struct for it."""

    def __init__(self, rows: int, counts: Any, table: Any, given: Any) -> None:  # noqa: ANN401
        self.rows, self.counts, self.table, self.parameters = rows, counts, table, given
        self.n_values, self.n_parameters = len(counts), len(given)


class Measure:
    """A measure that compiled code can call, and Python as well."""

    def __call__(self, rows: int, counts: Any, table: Any, parameters: Any) -> float:  # noqa: ANN401
        """Return the measure of one class."""
        if self.python is not None:
            return float(self.python(rows, counts, table, parameters))
        if not cython.compiled:
            plain = PlainFigures(rows, counts, table, parameters)
            return float(self.function(None, plain))
        seen = cython.declare(cython.longlong[::1], _not_empty(counts, np.int64))
        whole = cython.declare(cython.longlong[::1], _not_empty(table, np.int64))
        given = cython.declare(cython.double[::1], _not_empty(parameters, np.float64))
        figures = cython.declare(ClassFigures)
        figures.rows = rows
        figures.counts = cython.address(seen[0])
        figures.table = cython.address(whole[0])
        figures.parameters = cython.address(given[0])
        figures.n_values = len(counts)
        figures.n_parameters = len(parameters)
        return self.function(self.context, cython.address(figures))


def _not_empty(values: Any, kind: Any) -> Any:  # noqa: ANN401
    """Return the values in one piece; a place at least, for there to be an address."""
    if not len(values):
        return np.zeros(1, dtype=kind)
    return np.array(values, dtype=kind)


def shipped(function: Any) -> Measure:  # noqa: ANN401
    """Return one of the functions below as a measure."""
    measure = Measure()
    measure.function = function
    measure.python = None
    measure.owner = None
    measure.context = cython.NULL
    return measure


def foreign_measure(address: int, python: Any, owner: Any) -> Measure:  # noqa: ANN401
    """Return a measure at the address of a C function that ``owner`` keeps alive.

    ``python`` is the same measure for calls from Python.
    """
    measure = Measure()
    measure.python = python
    measure.owner = owner
    if cython.compiled:
        measure.function = call_foreign
        measure.context = cython.cast(
            cython.p_void, cython.cast(cython.size_t, address)
        )
    return measure


def call_foreign(context: object, figures: PlainFigures) -> float:
    """Call the C function whose address is the context."""
    return cython.cast(ForeignFunction, context)(
        figures.rows,
        figures.counts,
        figures.table,
        figures.n_values,
        figures.parameters,
        figures.n_parameters,
    )


def distinct_values(context: object, figures: PlainFigures) -> float:
    """Return how many different values a class holds."""
    n_values = 0
    for i in range(figures.n_values):
        if figures.counts[i] > 0:
            n_values += 1
    return n_values


def entropy(context: object, figures: PlainFigures) -> float:
    """Return e to the entropy of the values."""
    total = 0.0
    for i in range(figures.n_values):
        if figures.counts[i] > 0:
            total += figures.counts[i] * log(figures.counts[i])
    return exp(log(figures.rows) - total / figures.rows)


def largest_share(context: object, figures: PlainFigures) -> float:
    """Return the largest share of a value that parameters have a 1 for."""
    most = cython.declare(cython.longlong, 0)
    for i in range(figures.n_values):
        if figures.counts[i] > most and figures.parameters[i] > 0.0:
            most = figures.counts[i]
    return float(most) / figures.rows


def recursive_ratio(context: object, figures: PlainFigures) -> float:
    """Return r1 / (r_l + … + r_m); the second parameter is l.

    Takes away the l - 1 largest counts, equal ones together: no sorting, and no array
    to sort in.
    """
    n_top = cython.cast(cython.longlong, figures.parameters[1]) - 1
    most = cython.declare(cython.longlong, 0)
    rest = cython.declare(cython.longlong, figures.rows)
    above = cython.declare(cython.longlong, figures.rows + 1)
    while n_top > 0 and above > 0:
        next_largest = cython.declare(cython.longlong, 0)
        n_equal = cython.declare(cython.longlong, 0)
        for i in range(figures.n_values):
            if next_largest < figures.counts[i] < above:
                next_largest = figures.counts[i]
                n_equal = 1
            elif figures.counts[i] == next_largest:
                n_equal += 1
        most = max(most, next_largest)
        rest -= min(n_equal, n_top) * next_largest
        n_top -= n_equal
        above = next_largest
    if rest <= 0:
        return INFINITY
    return float(most) / rest


def relative_gain(context: object, figures: PlainFigures) -> float:
    """Return the largest relative gain of a value's share over the table's."""
    total = cython.declare(cython.longlong, 0)
    for i in range(figures.n_values):
        total += figures.table[i]
    largest = 0.0
    for i in range(figures.n_values):
        gain = figures.counts[i] * total - figures.table[i] * figures.rows
        if gain > 0:
            if figures.table[i] == 0:  # only suppressed rows have it
                return INFINITY
            relative = float(gain) / (figures.table[i] * figures.rows)
            if figures.parameters[0] == 1.0:
                highest = log(float(total) / figures.table[i])
                if relative > highest * ROUNDED_UP:
                    return INFINITY
            largest = max(largest, relative)
    return largest


def log_ratio(context: object, figures: PlainFigures) -> float:
    """Return the largest logarithm of a value's share over the table's."""
    total = cython.declare(cython.longlong, 0)
    for i in range(figures.n_values):
        total += figures.table[i]
    largest = 0.0
    for i in range(figures.n_values):
        if figures.counts[i] > 0:
            if figures.table[i] == 0:  # only suppressed rows have it
                return INFINITY
            expected = figures.table[i] * figures.rows
            ratio = float(figures.counts[i] * total) / expected
            largest = max(largest, fabs(log(ratio)))
        elif figures.table[i] > 0 and figures.parameters[0] == 0.0:
            return INFINITY
    return largest


def fitting_persons(context: object, figures: PlainFigures) -> float:
    """Return how many persons of the population fit the class."""
    return figures.counts[0] + figures.counts[1]


def share_present(context: object, figures: PlainFigures) -> float:
    """Return which share of the population that fits the class is in the table."""
    fitting = figures.counts[0] + figures.counts[1]
    if fitting == 0:
        return INFINITY
    return float(figures.counts[1]) / fitting


def movers_distance(context: object, figures: PlainFigures) -> float:
    """Return the earth mover's distance; parameters say which, and the tree."""
    total = cython.declare(cython.longlong, 0)
    for i in range(figures.n_values):
        total += figures.table[i]
    if figures.parameters[0] == EQUAL:
        return equal_distance(figures, total)
    if figures.parameters[0] == ORDERED:
        return ordered_distance(figures, total)
    return hierarchical_distance(figures, total)


def equal_distance(figures: PlainFigures, total: int) -> float:
    """Return the distance where any two values are 1 apart."""
    gained = cython.declare(cython.longlong, 0)
    for i in range(figures.n_values):
        difference = figures.counts[i] * total - figures.table[i] * figures.rows
        if difference > 0:
            gained += difference
    return gained / (float(figures.rows) * float(total))


def ordered_distance(figures: PlainFigures, total: int) -> float:
    """Return the distance where neighbours among the table's values are one step."""
    moved = 0.0
    n_steps = -1
    carried = cython.declare(cython.longlong, 0)
    for j in range(1, figures.n_parameters):
        i = cython.cast(cython.Py_ssize_t, figures.parameters[j])
        if figures.table[i] > 0:
            carried += figures.counts[i] * total - figures.table[i] * figures.rows
            moved += abs(carried)
            n_steps += 1
    return moved / (float(figures.rows) * float(total) * max(1, n_steps))


def hierarchical_distance(figures: PlainFigures, total: int) -> float:
    """Return the distance along a hierarchy, laid out node after node.

    parameters   2.0   0 3 END   1 END   -1.0      ...
                 kind  └ values of a child ┘  └ minus the node's height, of the root's
    """
    moved = 0.0
    extra = cython.declare(cython.longlong, 0)
    surplus = cython.declare(cython.longlong, 0)
    lack = cython.declare(cython.longlong, 0)
    for j in range(1, figures.n_parameters):
        item = figures.parameters[j]
        if item >= 0.0:
            i = cython.cast(cython.Py_ssize_t, item)
            extra += figures.counts[i] * total - figures.table[i] * figures.rows
        elif item == END_OF_CHILD:
            surplus += max(0, extra)
            lack += max(0, -extra)
            extra = 0
        else:
            moved -= item * min(surplus, lack)
            surplus = 0
            lack = 0
    return moved / (float(figures.rows) * float(total))


DISTINCT_VALUES = shipped(distinct_values)
ENTROPY = shipped(entropy)
LARGEST_SHARE = shipped(largest_share)
RECURSIVE_RATIO = shipped(recursive_ratio)
RELATIVE_GAIN = shipped(relative_gain)
LOG_RATIO = shipped(log_ratio)
FITTING_PERSONS = shipped(fitting_persons)
SHARE_PRESENT = shipped(share_present)
MOVERS_DISTANCE = shipped(movers_distance)
