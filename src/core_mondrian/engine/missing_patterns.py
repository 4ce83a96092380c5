"""Root partitions: tuples by which quasi-identifiers are missing (Core Mondrian §3.2).

A pattern too small for a class is repaired by blanking cells, as few as possible: its
own, so that it joins another pattern, or else those of the few rows it takes from a
larger one. No row is lost to its pattern, unless the spec asks for it: then small
patterns are suppressed whole as long as the budget lasts, and the others repaired.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from core_mondrian.engine.constraints import (
    Constraints,
    CountedGroups,
    all_pass,
    count_groups,
)
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.encoded import EncodedTable


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


class CountedPatterns(NamedTuple):
    """The patterns that occur, in order of their bits, the first column highest."""

    missing: NDArray[np.bool_]
    """By pattern (axis 0) and column (axis 1)."""
    rows: NDArray[np.int64]
    counts: tuple[NDArray[np.int64], ...]
    """Per sensitive column: rows of each pattern by value."""
    units: list[set[int]]
    """The persons of each pattern, where persons are counted."""


class PatternTuples(NamedTuple):
    """Some tuples, and the pattern that each of them had at first."""

    number: NDArray[np.int64]
    pattern: NDArray[np.int64]
    rows: NDArray[np.int64]
    sensitive: NDArray[np.int32]
    """By tuple (axis 0) and sensitive column (axis 1)."""
    person: NDArray[np.int32] | None


class PatternSource(Protocol):
    """Whoever has the tuples, and can say which patterns they have."""

    def count(self) -> CountedPatterns:
        """Count all tuples by pattern."""

    def tuples(self, chosen: "Chosen") -> Iterator[PatternTuples]:
        """Hand out the chosen tuples in their order, some at a time."""


class Chosen(NamedTuple):
    """Tuples of some patterns, except those that were moved to another."""

    patterns: NDArray[np.int64]
    dropped: NDArray[np.int64]
    """Tuples of these patterns that are not meant."""
    more: NDArray[np.int64]
    """Tuples of others that are."""


class _Moved(NamedTuple):
    """A tuple that was moved to another pattern."""

    old: int
    new: int
    rows: int


@dataclass(slots=True)
class _Patterns:
    """All patterns as arrays; repairing changes them in place."""

    missing: NDArray[np.bool_]
    rows: NDArray[np.int64]
    counts: tuple[NDArray[np.int64], ...]
    units: list[set[int]]
    passes: NDArray[np.bool_]
    suppressed: NDArray[np.bool_]
    joined: NDArray[np.int64]
    """The pattern each one has become part of; itself at first."""
    first_rows: NDArray[np.int64]
    """Rows of each before any was repaired."""
    moved: dict[int, "_Moved"] = field(default_factory=dict)
    """Tuples that were moved from the pattern they had to another."""

    @classmethod
    def of(cls, before: CountedPatterns) -> "_Patterns":
        n = before.rows.size
        passes, suppressed = np.zeros((2, n), dtype=np.bool_)
        return cls(
            before.missing.copy(),
            before.rows.copy(),
            before.counts,
            before.units,
            passes,
            suppressed,
            np.arange(n),
            before.rows,
        )

    def tuples_of(self, pattern: int) -> Chosen:
        """Return which tuples a pattern has now."""
        patterns = np.flatnonzero(self.joined == pattern)
        inside = set(patterns.tolist())
        is_in = [(x, m.old in inside, m.new in inside) for x, m in self.moved.items()]
        gone = [x for x, was, is_now in is_in if was and not is_now]
        more = [x for x, was, is_now in is_in if is_now and not was]
        return Chosen(patterns, np.array(gone, np.int64), np.array(more, np.int64))

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
    """Returns whether a pattern's rows could be a class."""

    table: EncodedTable
    """Of which no tuple is looked at."""
    spec: Spec
    constraints: Constraints

    def admits(self, heap: "_Heap") -> bool:
        """Return whether these rows could be a class."""
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

    def take(self, tuples: PatternTuples, item: int, other: "_Heap") -> None:
        """Take a tuple from another heap, whose persons are recounted later."""
        n = int(tuples.rows[item])
        self.rows += n
        other.rows -= n
        for i, by_value in enumerate(self.counts):
            code = tuples.sensitive[item, i]
            by_value[code] += n
            other.counts[i][code] -= n
        if tuples.person is not None:
            self.units.add(int(tuples.person[item]))

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


class Repaired(NamedTuple):
    """What became of the patterns: the roots, and which tuples are below each."""

    root_of_pattern: NDArray[np.int64]
    root_of_moved: dict[int, int]
    """The root of each tuple that was moved to another pattern."""
    missing: NDArray[np.bool_]
    """By root (axis 0) and column (axis 1): cells that are blank."""
    rows: NDArray[np.int64]
    """Of each root."""
    suppressed: NDArray[np.bool_]
    """Roots that are suppressed whole."""
    n_blanked: int
    """Cells blanked by the repair, over all rows."""


def roots_by_pattern(
    table: EncodedTable, spec: Spec, constraints: Constraints, budget: int = 0
) -> Roots:
    """Group tuples by missing pattern and repair the patterns that fail the models.

    If the spec asks for it, they are suppressed instead, up to ``budget`` rows. The
    table as a whole has to pass; then every pattern can be repaired.
    """
    source = TablePatterns(table)
    repaired = repair_patterns(source, table, spec, constraints, budget)
    root = repaired.root_of_pattern[source.pattern]
    if repaired.root_of_moved:
        moved = np.array([*repaired.root_of_moved.items()])
        root[moved[:, 0]] = moved[:, 1]
    codes = _blanked(table, repaired.missing, root) if repaired.n_blanked else None
    return Roots(
        table.codes if codes is None else codes,
        root,
        repaired.rows.size,
        repaired.n_blanked,
        repaired.suppressed,
    )


def repair_patterns(
    source: PatternSource,
    table: EncodedTable,
    spec: Spec,
    constraints: Constraints,
    budget: int,
) -> Repaired:
    """Join or suppress the patterns that fail the models; see `roots_by_pattern`."""
    before = source.count()
    patterns = _Patterns.of(before)
    judge = _Judge(table, spec, constraints)
    for one in range(patterns.rows.size):
        judge.settle(patterns, one)
    if not patterns.passes.all():
        if spec.small_patterns == "suppress":
            _suppress(patterns, judge, budget)
        _repair(patterns, judge, source)
    roots = np.flatnonzero(patterns.roots)
    number = np.zeros(patterns.rows.size, dtype=np.int64)
    number[roots] = np.arange(roots.size)
    root_of_pattern = number[patterns.joined]
    moved = {x: int(root_of_pattern[m.new]) for x, m in patterns.moved.items()}
    return Repaired(
        root_of_pattern,
        moved,
        patterns.missing[roots],
        patterns.rows[roots],
        patterns.suppressed[roots],
        _count_blanked(before.missing, patterns),
    )


def _count_blanked(missing: NDArray[np.bool_], patterns: _Patterns) -> int:
    """Count the cells that were ``missing`` in no pattern and are blank in its root."""
    left = patterns.first_rows.copy()
    total = 0
    for moved in patterns.moved.values():
        left[moved.old] -= moved.rows
        root = patterns.joined[moved.new]
        newly = patterns.missing[root] & ~missing[moved.old]
        total += moved.rows * int(newly.sum())
    newly_blank = patterns.missing[patterns.joined] & ~missing
    return total + int((left * newly_blank.sum(axis=1)).sum())


class TablePatterns:
    """The patterns of a table whose tuples are here."""

    def __init__(self, table: EncodedTable) -> None:
        self._table = table
        missing_codes = np.array([column.missing for column in table.columns])
        self._missing, self.pattern = _find_patterns(table.codes, missing_codes)

    def count(self) -> CountedPatterns:
        table, n = self._table, self._missing.shape[0]
        groups = count_groups(table, self.pattern, n)
        units = [set[int]() for _ in range(n)]
        if table.n_units is not None:
            for i, persons in enumerate(units):
                persons.update(table.codes[self.pattern == i, -1].tolist())
        return CountedPatterns(self._missing, groups.rows, groups.by_value, units)

    def tuples(self, chosen: Chosen) -> Iterator[PatternTuples]:
        is_in = np.isin(self.pattern, chosen.patterns)
        is_in[chosen.dropped] = False
        is_in[chosen.more] = True
        number, table = np.flatnonzero(is_in), self._table
        first = len(table.columns)
        yield PatternTuples(
            number,
            self.pattern[number],
            table.counts[number],
            table.codes[number, first : first + len(table.sensitive)],
            None if table.n_units is None else table.codes[number, -1],
        )


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


def _repair(patterns: _Patterns, judge: _Judge, tuples: PatternSource) -> None:
    """Join failing patterns, smallest first, at the price of the fewest cells."""
    while True:
        failing = np.flatnonzero(patterns.own & ~patterns.passes)
        # All rows together pass, compared with the source table. Compared with the
        # released one they may not, and there is nothing left to join.
        if not failing.size or np.count_nonzero(patterns.own) == 1:
            return
        source = int(failing[np.argmin(patterns.rows[failing])])
        target = _cheapest_to_join(patterns, source)
        if target is None:
            _take_rows(patterns, source, judge, tuples)
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


def _take_rows(
    patterns: _Patterns, source: int, judge: _Judge, tuples: PatternSource
) -> None:
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
    filled, left = _Heap.of(patterns, source), _Heap.of(patterns, donor)
    left.units = set()
    taken: dict[int, _Moved] = {}
    for some in tuples.tuples(patterns.tuples_of(donor)):
        item = 0
        while item < some.number.size and not judge.admits(filled):
            filled.take(some, item, left)
            old, rows = int(some.pattern[item]), int(some.rows[item])
            taken[int(some.number[item])] = _Moved(old, source, rows)
            item += 1
        if some.person is not None:
            left.units.update(some.person[item:].tolist())
        elif item < some.number.size:
            break
    if not (judge.admits(filled) and judge.admits(left)):
        _join(patterns, source, donor)
        judge.settle(patterns, donor)
        return
    patterns.missing[source] |= patterns.missing[donor]
    filled.put(patterns, source)
    left.put(patterns, donor)
    patterns.moved |= taken
    patterns.passes[source] = True


def _blanked(
    table: EncodedTable, missing: NDArray[np.bool_], root: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return the codes with the cells blank that are ``missing`` in their root."""
    codes = table.codes.copy()
    for i, column in enumerate(table.columns):
        codes[missing[root, i], i] = column.missing
    return codes
