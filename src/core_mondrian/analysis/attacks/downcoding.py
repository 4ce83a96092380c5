"""Downcoding: what minimal generalizations say of the rows below them.

A label that is the lowest over a class, a tight range and a set name values that must
be among its rows, or no narrower one would have been needed. After Cohen, "Attacks on
Deidentification's Defenses" (USENIX Security 2022).
"""

from typing import NamedTuple

import numpy as np

from core_mondrian.analysis.attacks.candidates import Candidates
from core_mondrian.analysis.attacks.columns import Column, EndParts, LabelParts
from core_mondrian.analysis.attacks.findings import Finding, counted, share_of
from core_mondrian.runtime.array_types import Flags


class _Counts(NamedTuple):
    """Cells of one column in all rows."""

    general: int
    """Those that may be several values."""
    certain: int
    """Those that hold what the label gives away, at least."""
    resolved: int
    """Those of classes in which every row is such a one."""


def downcode(candidates: Candidates) -> Finding | None:
    """Count the generalized cells whose finer values are certain, up to their order.

    They count where an attacker can rely on it: ranges one by one, labels and sets in
    columns where it is true of every class. None: no column says anything.
    """
    columns = [one for one in candidates.columns if one.parts is not None]
    if not columns:
        return None
    by_column = [_count_column(candidates, column) for column in columns]
    general, certain, resolved = (sum(each) for each in zip(*by_column, strict=True))
    named = tuple(
        column.name
        for column, one in zip(columns, by_column, strict=True)
        if one.resolved
    )
    return Finding(
        name="downcoding",
        succeeded=resolved > 0,
        numbers={
            "cells": general,
            "certain": certain,
            "resolved": resolved,
            "share": share_of(resolved, general),
        },
        sentence=(
            f"Of {counted(general, 'generalized cells')} at least "
            f"{certain:,} hold a value that the class itself reveals, and {resolved:,} "
            "are in classes that reveal all of theirs, up to the order of rows."
        ),
        remedy=(
            "nice = true for ranges; a larger k; labels instead of sets, and "
            "hierarchies with more than two branches a node"
        ),
        columns=named,
    )


def _count_column(candidates: Candidates, column: Column) -> _Counts:
    if column.fits is None or column.parts is None:
        return _Counts(0, 0, 0)
    n_values = np.count_nonzero(column.fits, axis=1)[column.cells]
    is_blank = column.cells == len(column.fits) - 1
    rows = np.where((n_values > 1) & ~is_blank, candidates.rows, 0)
    general = int(rows.sum())
    n_parts = column.parts.n_parts[column.cells]
    reliable = _are_reliable(candidates, column, column.parts)
    if isinstance(column.parts, LabelParts):
        reliable[:] = reliable.all()
    certain = np.where(reliable, np.minimum(n_parts, rows), 0)
    resolved = rows[reliable & (certain == rows)]
    return _Counts(general, int(certain.sum()), int(resolved.sum()))


def _are_reliable(
    candidates: Candidates, column: Column, parts: EndParts | LabelParts
) -> Flags:
    """Return of each class whether somebody fits every part that it names."""
    n_parts = parts.n_parts[column.cells]
    is_there = np.zeros(
        (candidates.rows.size, int(n_parts.max(initial=0)) + 1), np.bool_
    )
    for _, _, (persons, classes) in candidates.pairs():
        values = column.values[candidates.first[persons]]
        is_there[classes, parts.part_of(column.cells[classes], values)] = True
    present = np.count_nonzero(is_there[:, 1:], axis=1)
    reliable: Flags = (present == n_parts) | (candidates.rows == 0)
    return reliable
