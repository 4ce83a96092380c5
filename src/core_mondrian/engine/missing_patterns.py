"""Root partitions: tuples by which quasi-identifiers are missing (Core Mondrian §3.2).

A pattern too small for a class is repaired by blanking cells, as few as possible: its
own, so that it joins another pattern, or else those of the few rows it takes from a
larger one. No row is lost to its pattern, unless the spec asks for it: then small
patterns are suppressed whole as long as the budget lasts, and the others repaired.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core_mondrian.encoding.table import EncodedTable
from core_mondrian.engine.constraints import (
    Constraints,
    CountedGroups,
    all_pass,
    count_groups,
)
from core_mondrian.spec import Spec


class Roots(NamedTuple):
    """The root partitions of the tree, in the order they are grown."""

    codes: NDArray[np.int32]
    """The table's codes after repair: blanked cells hold the missing code."""
    root: NDArray[np.int64]
    """Root of each tuple."""
    n_roots: int
    n_blanked: int
    """Cells blanked by the repair, over all rows."""
    suppressed: NDArray[np.bool_]
    """Roots that are suppressed whole."""


class _Patterns(NamedTuple):
    """All patterns as arrays; repairing changes them in place."""

    missing: NDArray[np.bool_]
    rows: NDArray[np.int64]
    counts: tuple[NDArray[np.int64], ...]
    """Per sensitive column: rows of each pattern by value."""
    units: list[set[int]]
    """The persons of each pattern, where persons are counted."""
    passes: NDArray[np.bool_]
    suppressed: NDArray[np.bool_]
    joined: NDArray[np.int64]
    """The pattern each one has become part of; itself at first."""
    first_of_tuple: NDArray[np.int64]
    """The pattern of each tuple, before patterns were joined."""

    @property
    def of_tuple(self) -> NDArray[np.int64]:
        """The pattern of each tuple now."""
        return self.joined[self.first_of_tuple]

    @property
    def roots(self) -> NDArray[np.bool_]:
        """Patterns that have not become part of another."""
        roots: NDArray[np.bool_] = self.joined == np.arange(self.joined.size)
        return roots

    @property
    def own(self) -> NDArray[np.bool_]:
        """Those of them that are released."""
        return self.roots & ~self.suppressed


class _Judge(NamedTuple):
    """Tells whether a pattern's rows could be a class."""

    table: EncodedTable
    spec: Spec
    constraints: Constraints

    def admits(self, heap: "_Heap") -> bool:
        """Tell whether these rows could be a class."""
        persons = None
        if self.table.n_units is not None:
            persons = np.array([len(heap.units)])
        if (heap.rows if persons is None else persons[0]) < self.constraints.min_rows:
            return False
        counts = tuple(by_value[np.newaxis] for by_value in heap.counts)
        one = CountedGroups(np.array([heap.rows]), counts, persons)
        return all_pass(self.table, self.spec, one, self.constraints)

    def settle(self, patterns: _Patterns, number: int) -> None:
        """Note whether a pattern passes now."""
        patterns.passes[number] = self.admits(_Heap.of(patterns, number))


@dataclass(slots=True)
class _Heap:
    """Rows of one pattern, counted, while some are taken from another."""

    rows: int
    counts: list[NDArray[np.int64]]
    units: set[int]

    @classmethod
    def of(cls, patterns: _Patterns, number: int) -> "_Heap":
        counts = [by_value[number].copy() for by_value in patterns.counts]
        return cls(int(patterns.rows[number]), counts, set(patterns.units[number]))

    def take(self, table: EncodedTable, item: int, other: "_Heap") -> None:
        """Take a tuple from another heap, whose persons are recounted later."""
        n = int(table.counts[item])
        self.rows += n
        other.rows -= n
        for i, by_value in enumerate(self.counts):
            code = table.codes[item, len(table.columns) + i]
            by_value[code] += n
            other.counts[i][code] -= n
        self.units |= _units(table, [item])

    def remove(self, other: "_Heap", units: set[int]) -> None:
        """Leave out another heap; ``units`` are the persons that nobody else has."""
        self.rows -= other.rows
        for i, by_value in enumerate(other.counts):
            self.counts[i] -= by_value
        self.units -= units

    def put_back(self, other: "_Heap", units: set[int]) -> None:
        """Undo `remove`."""
        self.rows += other.rows
        for i, by_value in enumerate(other.counts):
            self.counts[i] += by_value
        self.units |= units

    def put(self, patterns: _Patterns, number: int) -> None:
        """Note what a pattern has now."""
        patterns.rows[number] = self.rows
        for i, by_value in enumerate(patterns.counts):
            by_value[number] = self.counts[i]
        patterns.units[number] = self.units


def one_root(table: EncodedTable) -> Roots:
    """Return the whole table as one root: missing is a value like any other."""
    root = np.zeros(table.n_tuples, dtype=np.int64)
    n_roots = min(1, table.n_tuples)
    return Roots(table.codes, root, n_roots, 0, np.zeros(n_roots, dtype=np.bool_))


def roots_by_pattern(
    table: EncodedTable, spec: Spec, constraints: Constraints, budget: int = 0
) -> Roots:
    """Group tuples by missing pattern and repair the patterns that fail the models.

    If the spec asks for it, they are suppressed instead, up to ``budget`` rows. The
    table as a whole has to pass; then every pattern can be repaired.
    """
    missing_codes = np.array([column.missing for column in table.columns])
    patterns = _count_patterns(table, *_find_patterns(table.codes, missing_codes))
    judge = _Judge(table, spec, constraints)
    for number in range(patterns.rows.size):
        judge.settle(patterns, number)
    if patterns.passes.all():
        none = patterns.suppressed
        return Roots(table.codes, patterns.first_of_tuple, none.size, 0, none)
    if spec.small_patterns == "suppress":
        _suppress(patterns, judge, budget)
    _repair(patterns, judge)
    return _lay_out(table, patterns, missing_codes)


def _find_patterns(
    codes: NDArray[np.int32], missing_codes: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return the patterns that occur and the pattern of each tuple.

    Patterns are in order of their bits, first column highest: a total order.
    """
    flags = [codes[:, i] == missing for i, missing in enumerate(missing_codes)]
    pattern = np.zeros(codes.shape[0], dtype=np.int64)
    n = 1
    for flag in (flag for flag in flags if flag.any()):
        pattern = 2 * pattern + flag
        n *= 2
        if n > 2 * pattern.size + 2**16:
            pattern, n = _renumbered(pattern)
    pattern, n = _renumbered(pattern)
    first = np.zeros(n, dtype=np.int64)
    first[pattern[::-1]] = np.arange(pattern.size)[::-1]
    return np.array([flag[first] for flag in flags]).T, pattern


def _renumbered(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Number what occurs from 0 on, in the same order; counting beats sorting here."""
    used = np.bincount(numbers) > 0
    return (np.cumsum(used) - 1)[numbers], int(np.count_nonzero(used))


def _count_patterns(
    table: EncodedTable, missing: NDArray[np.bool_], pattern: NDArray[np.int64]
) -> _Patterns:
    n = missing.shape[0]
    counted = count_groups(table, pattern, n)
    units = [set[int]() for _ in range(n)]
    if table.n_units is not None:
        units = [_units(table, np.flatnonzero(pattern == i)) for i in range(n)]
    return _Patterns(
        missing=missing.copy(),
        rows=counted.rows,
        counts=counted.by_value,
        units=units,
        passes=np.zeros(n, dtype=np.bool_),
        suppressed=np.zeros(n, dtype=np.bool_),
        joined=np.arange(n),
        first_of_tuple=pattern.copy(),
    )


def _suppress(patterns: _Patterns, judge: _Judge, budget: int) -> None:
    """Suppress failing patterns, smallest first, as long as the budget lasts.

    One without which the others could not be a class is left to be repaired: then all
    that is released can be repaired, as the whole table can.
    """
    failing = np.flatnonzero(~patterns.passes)
    order = failing[np.argsort(patterns.rows[failing], kind="stable")]
    n_patterns = Counter(one for units in patterns.units for one in units)
    rest = _Heap(
        int(patterns.rows.sum()),
        [by_value.sum(axis=0) for by_value in patterns.counts],
        set(n_patterns),
    )
    left = budget
    for number in order.tolist():
        heap = _Heap.of(patterns, number)
        if heap.rows > left:
            return
        alone = {one for one in heap.units if n_patterns[one] == 1}
        rest.remove(heap, alone)
        if not (rest.rows and judge.admits(rest)):
            rest.put_back(heap, alone)
            continue
        left -= heap.rows
        n_patterns.subtract(heap.units)
        patterns.suppressed[number] = True


def _repair(patterns: _Patterns, judge: _Judge) -> None:
    """Join failing patterns, smallest first, at the price of the fewest cells."""
    while True:
        failing = np.flatnonzero(patterns.own & ~patterns.passes)
        # All rows together pass next to the table that came in. Next to what was
        # released of it they may not, and there is nothing left to join.
        if not failing.size or np.count_nonzero(patterns.own) == 1:
            return
        source = int(failing[np.argmin(patterns.rows[failing])])
        target = _cheapest_to_join(patterns, source)
        if target is None:
            _take_rows(patterns, source, judge)
        else:
            _join(patterns, source, target)
            judge.settle(patterns, target)


def _added_cells(
    patterns: _Patterns, source: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the cells per row that joining blanks in ``source`` and in the other."""
    own = patterns.missing[source]
    here = (~own & patterns.missing).sum(axis=1)
    there = (own & ~patterns.missing).sum(axis=1)
    return here, there


def _cheapest(
    patterns: _Patterns,
    source: int,
    targets: NDArray[np.int64],
    cells: NDArray[np.int64],
) -> int:
    """Return the target with the fewest cells, ties in column order."""
    best = targets[cells[targets] == cells[targets].min()]
    kept = ~(patterns.missing[best] & ~patterns.missing[source])
    return int(best[np.lexsort(kept.T[::-1])[0]])


def _cheapest_to_join(patterns: _Patterns, source: int) -> int | None:
    """Return the pattern to join, None if every other would lose cells it can keep."""
    here, there = _added_cells(patterns, source)
    # A pattern that can stand alone is not blanked further.
    may_join = patterns.own & ~(patterns.passes & (there > 0))
    may_join[source] = False
    targets = np.flatnonzero(may_join)
    if not targets.size:
        return None
    cells = patterns.rows[source] * here + patterns.rows * there
    return _cheapest(patterns, source, targets, cells)


def _join(patterns: _Patterns, source: int, target: int) -> None:
    patterns.missing[target] |= patterns.missing[source]
    patterns.rows[target] += patterns.rows[source]
    for counts in patterns.counts:
        counts[target] += counts[source]
    patterns.units[target] |= patterns.units[source]
    patterns.joined[patterns.joined == source] = target


def _take_rows(patterns: _Patterns, source: int, judge: _Judge) -> None:
    """Fill a pattern up with rows of another, whose cells are blanked to match.

    Takes no more tuples than it needs, in tuple order; if the other pattern would fail
    then, it takes all of them.
    """
    here, there = _added_cells(patterns, source)
    donors = np.flatnonzero(patterns.own & (np.arange(there.size) != source))
    least = judge.constraints.min_rows
    need = max(least - int(patterns.rows[source]), 1)
    cells = patterns.rows[source] * here + np.minimum(patterns.rows, need) * there
    donor = _cheapest(patterns, source, donors, cells)
    given = np.flatnonzero(patterns.of_tuple == donor)
    filled = _Heap.of(patterns, source)
    left = _Heap.of(patterns, donor)
    n_taken = 0
    while n_taken < given.size and not judge.admits(filled):
        filled.take(judge.table, int(given[n_taken]), left)
        n_taken += 1
    left.units = _units(judge.table, given[n_taken:])
    if not (judge.admits(filled) and judge.admits(left)):
        _join(patterns, source, donor)
        judge.settle(patterns, donor)
        return
    patterns.missing[source] |= patterns.missing[donor]
    filled.put(patterns, source)
    left.put(patterns, donor)
    patterns.first_of_tuple[given[:n_taken]] = source
    patterns.passes[source] = True


def _units(table: EncodedTable, tuples: Sequence[int] | NDArray[np.int64]) -> set[int]:
    """Return the persons of some tuples."""
    return set() if table.n_units is None else set(table.codes[tuples, -1].tolist())


def _lay_out(
    table: EncodedTable, patterns: _Patterns, missing_codes: NDArray[np.int64]
) -> Roots:
    """Number the patterns left as roots and blank the cells of repaired tuples."""
    roots = np.flatnonzero(patterns.roots)
    number = np.zeros(patterns.rows.size, dtype=np.int64)
    number[roots] = np.arange(roots.size)
    of_tuple = patterns.of_tuple
    blank = patterns.missing[of_tuple]
    codes = table.codes
    newly = blank & (codes[:, : missing_codes.size] != missing_codes)
    if newly.any():
        codes = codes.copy()
        part = codes[:, : missing_codes.size]
        part[newly] = np.broadcast_to(missing_codes, part.shape)[newly]
    n_blanked = int((newly.sum(axis=1) * table.counts).sum())
    gone = patterns.suppressed[roots]
    return Roots(codes, number[of_tuple], int(roots.size), n_blanked, gone)
