"""Collapse: from one row of codes per person to distinct tuples with counts."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core_mondrian.kernels.group import append_codes, group_rows, renumber


@dataclass(frozen=True, slots=True)
class Collapsed:
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

    def collapse(self, rows: NDArray[np.int64] | None = None) -> Collapsed:
        """Group equal rows; ``rows`` says how many each of them stands for."""
        group = np.empty(self._words.shape[0], dtype=np.int32)
        firsts = group_rows(self._words, group)
        words = self._words[firsts]
        order = np.lexsort(words.T[::-1])
        number = np.empty(order.size, dtype=np.int32)
        number[order] = np.arange(order.size)
        counts = np.zeros(order.size, dtype=np.int64)
        renumber(group, number, counts)
        if rows is not None:
            # Exact: no table has 2^53 rows.
            counts = np.bincount(group, rows, order.size).astype(np.int64)
        return Collapsed(self._unpack(words[order]), counts, group)

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
