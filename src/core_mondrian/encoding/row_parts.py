"""Deal rows out to parts by their first digits, so that parts can be grouped apart.

A part fits into a core's cache, threads take one each, and sorted parts one after the
other are sorted.
"""

import cython
import numpy as np

from core_mondrian.runtime.array_types import Codes, Counts, Words

DIGIT_BITS = 12


class RowParts:
    """Rows of words, moved to parts by the highest bits of their first word.

    words          3x  0y  3z  1x        first digits 3 0 3 1
    part_of_digit  0: 0   1: 0   3: 1
    moved          0y  1x | 3x  3z       part 0 | part 1, rows of each in their order
    row_of          1   3 |  0   2
    """

    def __init__(self, words: Words, n_bits: int) -> None:
        """Take words, the first of which use their lowest ``n_bits``."""
        self.words = words
        self.shift = max(n_bits - DIGIT_BITS, 0)
        self.moved = np.empty(words.shape, dtype=np.uint64)
        self.row_of = np.empty(words.shape[0], dtype=np.int32)
        self.part_of_digit = np.zeros(1 << DIGIT_BITS, dtype=np.int32)

    def arrays(self) -> tuple[Words, Codes]:
        """Return the words as they were moved, and where each came from."""
        return np.asarray(self.moved), np.asarray(self.row_of)

    def count(self, first: int, last: int) -> Counts:
        """Count the rows from ``first`` up to ``last`` by their first digit."""
        n_rows_by_digit = np.zeros(1 << DIGIT_BITS, dtype=np.int64)
        counts = cython.declare(cython.longlong[::1], n_rows_by_digit)
        begin = cython.declare(cython.Py_ssize_t, first)
        end = cython.declare(cython.Py_ssize_t, last)
        with cython.nogil:
            count_rows(self, begin, end, counts)
        return n_rows_by_digit

    def divide(self, counted: list[Counts], n_parts: int) -> tuple[Counts, Counts]:
        """Form parts of about as many rows each from the counts of some spans.

        Returns where each part begins, and where each span's rows of it are put.
        """
        total = np.sum(counted, axis=0)
        n_rows = max(int(total.sum()), 1)
        before = np.minimum(np.cumsum(total) - total, n_rows - 1)
        part = (before * n_parts // n_rows).astype(np.int32)
        self.part_of_digit = part
        each = np.array([np.bincount(part, one, n_parts) for one in counted], np.int64)
        ends = np.cumsum(each.T).reshape(n_parts, len(counted)).T
        starts = ends - each
        return np.append(starts[0], n_rows), np.ascontiguousarray(starts)

    def move(self, first: int, last: int, starts: Counts) -> None:
        """Put the rows of a span where ``starts`` says that those of each part are."""
        places = cython.declare(cython.longlong[::1], starts)
        begin = cython.declare(cython.Py_ssize_t, first)
        end = cython.declare(cython.Py_ssize_t, last)
        with cython.nogil:
            move_rows(self, begin, end, places)


def count_rows(parts: RowParts, first: int, last: int, counts: Counts) -> None:
    """Count rows by their first digit."""
    for row in range(first, last):
        counts[parts.words[row, 0] >> parts.shift] += 1


def move_rows(parts: RowParts, first: int, last: int, places: Counts) -> None:
    """Put each row at the next place of its part."""
    n_words = parts.words.shape[1]
    for row in range(first, last):
        part = parts.part_of_digit[parts.words[row, 0] >> parts.shift]
        place = places[part]
        places[part] = place + 1
        for word in range(n_words):
            parts.moved[place, word] = parts.words[row, word]
        parts.row_of[place] = row
