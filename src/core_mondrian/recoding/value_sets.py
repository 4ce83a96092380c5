"""Value sets: the distinct values of each class, as text that reads in one way only."""

import json
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core_mondrian.runtime.runs import run_starts

MISSING = "null"
_MARKS = frozenset(',{}"')


class ValueSets(NamedTuple):
    """Which classes hold which codes; every set is listed once."""

    of_class: NDArray[np.int32]
    """Number of each class's set."""
    starts: NDArray[np.int64]
    """Set ``i`` is ``codes[starts[i] : starts[i + 1]]``, rising."""
    codes: NDArray[np.int32]


def find_sets(
    owner: NDArray[np.int32], codes: NDArray[np.int32], n_classes: int
) -> ValueSets:
    """Collect the distinct codes of each class, given as pairs of class and code.

    Every class has at least one pair. Sets are numbered by size, then by their codes.

        class     0 | 1     | 2     | 3
        members   7 | 2  5  | 2  5  | 3         firsts  0  1  3  5
        sets      {3} {7} {2, 5}                starts  0  1  2  4
        of_class  1   2       2       0
    """
    width = int(codes.max(initial=0)) + 1
    pairs = np.sort(owner.astype(np.int64) * width + codes)
    pairs = pairs[run_starts(pairs)]
    # Big-endian, so that bytes compare as the numbers do.
    members = (pairs % width).astype(">i4")
    sizes = np.bincount(pairs // width, minlength=n_classes)
    firsts = np.cumsum(sizes) - sizes
    by_size = np.argsort(sizes, kind="stable")
    of_class = np.empty(n_classes, dtype=np.int32)
    listed, lengths = [members[:0]], [sizes[:0]]
    n_sets = 0
    for size, n in zip(*np.unique(sizes, return_counts=True), strict=True):
        alike, by_size = by_size[:n], by_size[n:]
        rows = members[firsts[alike][:, np.newaxis] + np.arange(size)]
        whole = rows.view(np.dtype((np.void, rows.itemsize * int(size)))).ravel()
        distinct, number = np.unique(whole, return_inverse=True)
        of_class[alike] = n_sets + number
        n_sets += distinct.size
        listed.append(distinct.view(">i4"))
        lengths.append(np.full(distinct.size, size))
    starts = np.append(0, np.cumsum(np.concatenate(lengths)))
    return ValueSets(of_class, starts, np.concatenate(listed).astype(np.int32))


def write_sets(sets: ValueSets, values: pa.Array) -> pa.Array:
    """Return the text of each set; the code after the last of ``values`` is missing.

    One value stands for itself, several are ``{A, B}``, and missing alone is no text.
    No two sets share a text: what could be mistaken for punctuation is quoted, and a
    lone value that looks like a set is shown as a set of one.
    """
    members = [_quote(value) for value in values.to_pylist()] + [MISSING]
    lists = pa.ListArray.from_arrays(
        pa.array(sets.starts, pa.int32()),
        pa.array(members, pa.string()).take(pa.array(sets.codes)),
    )
    joined = pc.binary_join(lists, ", ")
    several = pc.binary_join_element_wise("{", joined, "}", "")
    alone = pa.concat_arrays([values, pa.nulls(1, pa.string())])
    first = alone.take(pa.array(sets.codes[sets.starts[:-1]]))
    is_one = pa.array(np.diff(sets.starts) == 1)
    # Null for a set that is missing alone, and then so is its text.
    is_plain = pc.and_not_kleene(is_one, pc.starts_with(first, "{"))
    return pc.if_else(is_plain, first, several)


def _quote(value: str) -> str:
    """Return a member of a set as it is if that is safe, else as JSON writes text."""
    is_safe = _MARKS.isdisjoint(value) and value == value.strip()
    if is_safe and value not in ("", MISSING):
        return value
    return json.dumps(value, ensure_ascii=False)
