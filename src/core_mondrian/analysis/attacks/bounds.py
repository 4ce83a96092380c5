"""Reconstruction: exact values that tight bounds of ranges give away."""

import numpy as np

from core_mondrian.analysis.attacks.candidates import Candidates
from core_mondrian.analysis.attacks.columns import Column, EndParts
from core_mondrian.analysis.attacks.findings import Finding, counted, share_of
from core_mondrian.runtime.array_types import Integers


def reconstruct(candidates: Candidates) -> Finding | None:
    """Count the bounds that are the value of one person alone.

    They count where an attacker can rely on them, range by range: both bounds are the
    value of somebody who fits the class, and not one of several that the grid of nice
    bounds leaves open. None: no column is released as ranges.
    """
    numbers = [one for one in candidates.columns if isinstance(one.parts, EndParts)]
    if not numbers:
        return None
    owners = [_count_owners(candidates, column) for column in numbers]
    tight = [one[(one > 0).all(axis=1)] for one in owners]
    n_bounds = sum(one.size for one in owners)
    n_exact = sum(one.size for one in tight)
    exposed = sum(int(np.count_nonzero(one == 1)) for one in tight)
    names = tuple(
        column.name for column, one in zip(numbers, tight, strict=True) if one.size
    )
    return Finding(
        name="reconstruction",
        succeeded=exposed > 0,
        numbers={
            "bounds": n_bounds,
            "exact": n_exact,
            "exposed": exposed,
            "share": share_of(exposed, n_bounds),
        },
        sentence=(
            f"{exposed:,} of {counted(n_bounds, 'bounds')} of released ranges "
            f"can be relied on and are the exact value of one {candidates.who[:-1]} "
            "alone."
        ),
        remedy="nice = true: bounds stand on a grid that all classes share",
        columns=names,
    )


def _count_owners(candidates: Candidates, column: Column) -> Integers:
    """Return, for both bounds of each range, how many people they are the value of."""
    if not isinstance(column.parts, EndParts):
        return np.zeros((0, 2), dtype=np.int64)
    ends = column.parts.ends[column.cells]
    n_classes = candidates.rows.size
    counts = np.zeros((n_classes, 2), dtype=np.int64)
    for _, _, (tuples, classes) in candidates.pairs():
        values = column.values[candidates.first[tuples]]
        for side in (0, 1):
            owns = values == ends[classes, side]
            counts[:, side] += np.bincount(
                classes[owns], candidates.people[tuples[owns]], n_classes
            ).astype(np.int64)
    is_range = (ends != -1).all(axis=1) & (candidates.rows > 0)
    bounds: Integers = counts[is_range]
    return bounds
