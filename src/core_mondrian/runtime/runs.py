"""Runs: stretches of an array that belong together, such as rows of one class."""

import numpy as np
from numpy.typing import NDArray

from core_mondrian.runtime.array_types import IntegerArray, Integers


def run_starts(ordered: IntegerArray) -> NDArray[np.intp]:
    """Return where each run of equal keys begins; keys are at least 0.

    Such as 0, 3 and 4 of ``[2, 2, 2, 5, 7, 7]``.
    """
    return np.flatnonzero(np.diff(ordered, prepend=-1))


def run_members(starts: IntegerArray, lengths: IntegerArray) -> Integers:
    """Return the places of some runs, one run after the other.

    Of two runs, from 7 on and from 2 on:

        starts   7  2           lengths  3  2
        places   7  8  9 | 2  3
    """
    before = np.cumsum(lengths) - lengths
    members: Integers = np.repeat(starts - before, lengths)
    return members + np.arange(members.size)
