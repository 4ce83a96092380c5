"""Collapse: from one row of codes per person to distinct tuples with counts."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core_mondrian.encoding.row_groups import (
    RowGroups,
    append_codes,
    renumber,
    rising_order,
)
from core_mondrian.threads import map_threads, useful_threads

_SAMPLE = 1 << 14


class Collapsed(NamedTuple):
    """Distinct tuples in lexicographic order, and the tuple of every row."""

    codes: NDArray[np.int32]
    counts: NDArray[np.int64]
    row_tuple: NDArray[np.int32]


class TuplePacker:
    """Packs columns of codes, one after the other, into 64-bit words per row."""

    def __init__(self, bits: list[int], n_rows: int) -> None:
        self._bits = bits
        self._word_of = _assign_words(bits)
        self._words = np.zeros((n_rows, max(self._word_of, default=0) + 1), np.uint64)
        self._n_packed = 0

    def append(self, codes: NDArray[np.int32]) -> None:
        """Pack the next column; its array may be dropped afterwards."""
        column = self._n_packed
        append_codes(self._words[:, self._word_of[column]], codes, self._bits[column])
        self._n_packed += 1

    @property
    def words(self) -> NDArray[np.uint64]:
        """The packed codes, a row of words for each row."""
        return self._words

    def collapse(
        self, rows: NDArray[np.int64] | None = None, threads: int | None = 1
    ) -> Collapsed:
        """Group equal rows; ``rows`` says how many each of them stands for.

        Each thread groups rows of its own, then one of them absorbs the others' groups:

            row             0  1  2 | 3  4  5        words  A  B  A | C  B  B
            group           0  1  0 | 0  1  1        of each part
            absorbed                | 2  1           C is new, B is known
        """
        n_rows = self._words.shape[0]
        group = np.empty(n_rows, dtype=np.int32)
        n_parts = useful_threads(threads, n_rows) if self._collapses(group) else 1
        spans = [*pairwise(n_rows * i // n_parts for i in range(n_parts + 1))]
        parts = map_threads(lambda span: self._group(group, *span), spans)
        known = [np.arange(parts[0].n_groups, dtype=np.int32)]
        known += [parts[0].absorb(part) for part in parts[1:]]
        words = self._words[parts[0].first_rows()]
        order = rising_order(words)
        number = np.empty(order.size, dtype=np.int32)
        number[order] = np.arange(order.size)

        def count(i: int) -> NDArray[np.int64]:
            counts = np.zeros(order.size, dtype=np.int64)
            renumber(group[slice(*spans[i])], number[known[i]], counts)
            return counts

        counts: NDArray[np.int64] = np.sum(map_threads(count, range(n_parts)), axis=0)
        if rows is not None:
            # Exact: no table has 2^53 rows.
            counts = np.bincount(group, rows, order.size).astype(np.int64)
        return Collapsed(self._unpack(words[order]), counts, group)

    def _collapses(self, group: NDArray[np.int32]) -> bool:
        """Tell whether few of the first rows differ: else there is all to absorb."""
        n_rows = min(group.size, _SAMPLE)
        return self._group(group, 0, n_rows).n_groups <= n_rows // 4

    def _group(self, group: NDArray[np.int32], first: int, last: int) -> RowGroups:
        """Number some of the rows into ``group``."""
        groups = RowGroups(self._words)
        groups.number(group, first, last)
        return groups

    def _unpack(self, words: NDArray[np.uint64]) -> NDArray[np.int32]:
        codes = np.empty((words.shape[0], len(self._bits)), dtype=np.int32)
        words = words.copy()
        for column in range(len(self._bits) - 1, -1, -1):
            word = words[:, self._word_of[column]]
            codes[:, column] = word & np.uint64((1 << self._bits[column]) - 1)
            word >>= np.uint64(self._bits[column])
        return codes


def _assign_words(bits: list[int]) -> list[int]:
    """Return the word of each column, filled in order so that sorting keeps it."""
    words: list[int] = []
    word = used = 0
    for width in bits:
        if used + width > 64:
            word, used = word + 1, 0
        used += width
        words.append(word)
    return words
