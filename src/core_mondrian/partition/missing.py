"""Root partitions: tuples by which quasi-identifiers are missing (Core Mondrian §3.2).

A pattern too small for a class is repaired by blanking further cells of it, as few as
possible, so that it joins a larger pattern.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core_mondrian.encode.table import EncodedTable
from core_mondrian.models.base import PrivacyModel, admits


@dataclass(frozen=True, slots=True)
class Roots:
    """The root partitions of the tree, in the order they are grown."""

    codes: NDArray[np.int32]
    """The table's codes after repair: blanked cells hold the missing code."""
    root: NDArray[np.int64]
    """Root of each tuple; -1: its pattern is to be suppressed."""
    n_roots: int
    n_blanked: int
    """Cells blanked by the repair, over all rows."""


@dataclass(frozen=True, slots=True)
class _Patterns:
    """All patterns as arrays; merging changes them in place."""

    missing: NDArray[np.bool_]
    rows: NDArray[np.int64]
    counts: tuple[NDArray[np.int64], ...]
    """Per sensitive column: rows of each pattern by value."""
    passes: NDArray[np.bool_]
    joined: NDArray[np.int64]
    """The pattern each one has become part of; itself at first."""


def one_root(table: EncodedTable) -> Roots:
    """Return the whole table as one root: missing is a value like any other."""
    root = np.zeros(table.n_tuples, dtype=np.int64)
    return Roots(table.codes, root, min(1, table.n_tuples), 0)


def roots_by_pattern(table: EncodedTable, models: tuple[PrivacyModel, ...]) -> Roots:
    """Group tuples by missing pattern and repair the patterns that fail the models."""
    missing_codes = np.array([column.missing for column in table.columns])
    is_missing = table.codes[:, : len(table.columns)] == missing_codes
    # Patterns in order of their bits, first column highest: a total order.
    first, pattern = _unique_rows(np.packbits(is_missing, axis=1))
    patterns = _count_patterns(table, is_missing[first], pattern)
    for number in range(patterns.rows.size):
        patterns.passes[number] = _passes(patterns, number, models, table)
    _repair(patterns, models, table)
    return _lay_out(table, patterns, pattern, missing_codes)


def _unique_rows(
    packed: NDArray[np.uint8],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first index of each distinct row, rising, and each row's number."""
    whole = np.dtype((np.void, packed.shape[1]))
    rows = np.ascontiguousarray(packed).view(whole).ravel()
    _, first, number = np.unique(rows, return_index=True, return_inverse=True)
    return first.astype(np.int64), number.astype(np.int64)


def _count_patterns(
    table: EncodedTable, missing: NDArray[np.bool_], pattern: NDArray[np.int64]
) -> _Patterns:
    n = missing.shape[0]
    rows = np.bincount(pattern, weights=table.counts, minlength=n)
    by_value: list[NDArray[np.int64]] = []
    for i, column in enumerate(table.sensitive):
        codes = table.codes[:, len(table.columns) + i].astype(np.int64)
        flat = np.bincount(
            pattern * column.n_values + codes,
            weights=table.counts,
            minlength=n * column.n_values,
        )
        by_value.append(flat.astype(np.int64).reshape(n, column.n_values))
    return _Patterns(
        missing.copy(),
        rows.astype(np.int64),
        tuple(by_value),
        np.zeros(n, dtype=np.bool_),
        np.arange(n),
    )


def _passes(
    patterns: _Patterns,
    number: int,
    models: tuple[PrivacyModel, ...],
    table: EncodedTable,
) -> bool:
    names = [column.name for column in table.sensitive]
    for model in models:
        counts = whole = np.zeros(0, dtype=np.int64)
        if model.sensitive is not None:
            at = names.index(model.sensitive)
            counts, whole = patterns.counts[at][number], table_counts(table, at)
        if not admits(model, int(patterns.rows[number]), counts, whole):
            return False
    return True


def table_counts(table: EncodedTable, sensitive: int) -> NDArray[np.int64]:
    """Return the rows of the whole table by value of one sensitive column."""
    codes = table.codes[:, len(table.columns) + sensitive]
    n_values = table.sensitive[sensitive].n_values
    counts = np.bincount(codes, weights=table.counts, minlength=n_values)
    return counts.astype(np.int64)


def _repair(
    patterns: _Patterns, models: tuple[PrivacyModel, ...], table: EncodedTable
) -> None:
    """Merge failing patterns, smallest first, into what costs the fewest cells."""
    is_stuck = np.zeros(patterns.rows.size, dtype=np.bool_)
    is_own = np.ones(patterns.rows.size, dtype=np.bool_)
    while True:
        failing = np.flatnonzero(is_own & ~patterns.passes & ~is_stuck)
        if not failing.size:
            return
        source = int(failing[np.argmin(patterns.rows[failing])])
        target = _cheapest(patterns, source, is_own)
        if target is None:
            is_stuck[source] = True
            continue
        patterns.missing[target] |= patterns.missing[source]
        patterns.rows[target] += patterns.rows[source]
        for counts in patterns.counts:
            counts[target] += counts[source]
        patterns.joined[patterns.joined == source] = target
        is_own[source] = False
        patterns.passes[target] = _passes(patterns, target, models, table)
        is_stuck[:] = False


def _cheapest(
    patterns: _Patterns, source: int, is_own: NDArray[np.bool_]
) -> int | None:
    """Return the pattern to join: fewest cells blanked, ties in column order."""
    own = patterns.missing[source]
    added_there = (own & ~patterns.missing).sum(axis=1)
    added_here = (~own & patterns.missing).sum(axis=1)
    # A pattern that can stand alone is never blanked further.
    may_join = is_own & ~(patterns.passes & (added_there > 0))
    may_join[source] = False
    targets = np.flatnonzero(may_join)
    if not targets.size:
        return None
    cells = patterns.rows[source] * added_here + patterns.rows * added_there
    best = targets[cells[targets] == cells[targets].min()]
    kept = ~(patterns.missing[best] & ~own)
    return int(best[np.lexsort(kept.T[::-1])[0]])


def _lay_out(
    table: EncodedTable,
    patterns: _Patterns,
    pattern: NDArray[np.int64],
    missing_codes: NDArray[np.int64],
) -> Roots:
    """Number the patterns left as roots and blank the cells of the merged ones."""
    own = np.flatnonzero(patterns.joined == np.arange(patterns.rows.size))
    passing = own[patterns.passes[own]]
    number = np.full(patterns.rows.size, -1, dtype=np.int64)
    number[passing] = np.arange(passing.size)
    codes, n_blanked = table.codes, 0
    if own.size < patterns.rows.size:
        codes = codes.copy()
        blank = patterns.missing[patterns.joined[pattern]]
        for column, missing in enumerate(missing_codes.tolist()):
            newly = blank[:, column] & (codes[:, column] != missing)
            n_blanked += int(table.counts[newly].sum())
            codes[newly, column] = missing
    return Roots(codes, number[patterns.joined[pattern]], int(passing.size), n_blanked)
