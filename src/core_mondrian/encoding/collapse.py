"""Collapse: from one row of codes per person to distinct tuples with counts."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core_mondrian.encoding.row_groups import (
    RowGroups,
    append_codes,
    put_numbers,
    renumber,
    rising_order,
)
from core_mondrian.encoding.row_parts import RowParts
from core_mondrian.runtime.array_types import Codes, Counts, Words
from core_mondrian.runtime.threads import (
    map_columns,
    map_threads,
    spans,
    useful_threads,
)

_SAMPLE = 1 << 14
_ROWS_PER_PART = 1 << 16
"""Rows whose words and hashes fit into a core's cache."""


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
        self._first_bits = sum(
            width for word, width in zip(self._word_of, bits, strict=True) if not word
        )
        self._words = np.zeros((n_rows, max(self._word_of, default=0) + 1), np.uint64)
        self._n_packed = 0

    def append(self, codes: NDArray[np.int32]) -> None:
        """Pack the next column; its array may be dropped afterwards."""
        column = self._n_packed
        append_codes(self._words[:, self._word_of[column]], codes, self._bits[column])
        self._n_packed += 1

    def append_all(
        self, columns: list[NDArray[np.int32]], threads: int | None = 1
    ) -> None:
        """Pack the next columns and empty the list, some of the rows on each thread."""
        first, n_rows = self._n_packed, self._words.shape[0]

        def append(span: tuple[int, int]) -> None:
            rows = slice(*span)
            for column, codes in enumerate(columns, first):
                into = self._words[rows, self._word_of[column]]
                append_codes(into, codes[rows], self._bits[column])

        map_threads(append, spans(n_rows, useful_threads(threads, n_rows)))
        self._n_packed += len(columns)
        columns.clear()

    @property
    def words(self) -> NDArray[np.uint64]:
        """The packed codes, a row of words for each row."""
        return self._words

    def collapse(
        self, rows: NDArray[np.int64] | None = None, threads: int | None = 1
    ) -> Collapsed:
        """Group equal rows; ``rows`` says how many each of them stands for."""
        n_rows = self._words.shape[0]
        group = np.empty(n_rows, dtype=np.int32)
        n_threads = useful_threads(threads, n_rows)
        if n_rows < 2 * _ROWS_PER_PART or self._collapses(group):
            codes, counts = self._collapse_spans(group, n_threads)
        else:
            codes, counts = self._collapse_parts(group, n_threads)
        if rows is not None:
            # Exact: no table has 2^53 rows.
            counts = np.bincount(group, rows, counts.size).astype(np.int64)
        return Collapsed(codes, counts, group)

    def _collapse_spans(self, group: Codes, n_threads: int) -> tuple[Codes, Counts]:
        """Group rows of which most are equal to others.

        Each thread groups rows of its own, then one of them absorbs the others' groups:

            row             0  1  2 | 3  4  5        words  A  B  A | C  B  B
            group           0  1  0 | 0  1  1        of each part
            absorbed                | 2  1           C is new, B is known
        """
        own = spans(group.size, n_threads)
        parts = map_threads(lambda span: self._group(group, *span), own)
        numbers = [np.arange(parts[0].n_groups, dtype=np.int32)]
        numbers += [parts[0].absorb(part) for part in parts[1:]]
        words = self._words[parts[0].first_rows()]
        order = rising_order(words)
        number = _places(order)

        def count(i: int) -> Counts:
            counts = np.zeros(order.size, dtype=np.int64)
            renumber(group[slice(*own[i])], number[numbers[i]], counts)
            return counts

        counts: Counts = np.sum(map_threads(count, range(n_threads)), axis=0)
        return unpack_words(words[order], self._bits), counts

    def _collapse_parts(self, group: Codes, n_threads: int) -> tuple[Codes, Counts]:
        """Group rows of which many differ, moved so that equal ones are together.

        A part's tuples are sorted, and come before those of the next part.
        """
        parts = RowParts(self._words, self._first_bits)
        own = spans(group.size, n_threads)
        digit_counts = map_threads(lambda span: parts.count(*span), own)
        edges, starts = parts.divide(digit_counts, group.size // _ROWS_PER_PART)
        map_threads(lambda i: parts.move(*own[i], starts[i]), range(n_threads))
        moved, row_of = parts.arrays()
        of_moved = np.empty(group.size, dtype=np.int32)

        def collapse(i: int) -> tuple[Words, Counts]:
            inside = slice(edges[i], edges[i + 1])
            groups = RowGroups(moved[inside])
            groups.number(of_moved[inside], 0, int(edges[i + 1] - edges[i]))
            words = moved[inside][groups.first_rows()]
            order = rising_order(words)
            counts = np.zeros(order.size, dtype=np.int64)
            renumber(of_moved[inside], _places(order), counts)
            return words[order], counts

        every = range(edges.size - 1)
        collapsed = map_columns(collapse, every, group.size, n_threads)
        ends = np.cumsum([counts.size for _, counts in collapsed])
        codes = np.empty((int(ends[-1]), len(self._bits)), dtype=np.int32)

        def finish(i: int) -> None:
            inside = slice(edges[i], edges[i + 1])
            first = int(ends[i]) - collapsed[i][1].size
            put_numbers(group, row_of[inside], of_moved[inside], first)
            codes[first : ends[i]] = unpack_words(collapsed[i][0], self._bits)

        map_columns(finish, every, group.size, n_threads)
        return codes, np.concatenate([counts for _, counts in collapsed])

    def _collapses(self, group: NDArray[np.int32]) -> bool:
        """Return whether few of the first rows differ: else there is all to absorb."""
        n_rows = min(group.size, _SAMPLE)
        return self._group(group, 0, n_rows).n_groups <= n_rows // 4

    def _group(self, group: NDArray[np.int32], first: int, last: int) -> RowGroups:
        """Number some of the rows into ``group``."""
        groups = RowGroups(self._words)
        groups.number(group, first, last)
        return groups


def n_words(bits: list[int]) -> int:
    """Return how many words the codes of a row are packed into."""
    return max(_assign_words(bits), default=0) + 1


def unpack_words(words: NDArray[np.uint64], bits: list[int]) -> NDArray[np.int32]:
    """Return the codes that rows of words were packed from."""
    word_of = _assign_words(bits)
    codes = np.empty((words.shape[0], len(bits)), dtype=np.int32)
    words = words.copy()
    for column in range(len(bits) - 1, -1, -1):
        word = words[:, word_of[column]]
        codes[:, column] = word & np.uint64((1 << bits[column]) - 1)
        word >>= np.uint64(bits[column])
    return codes


def _places(order: Codes) -> Codes:
    """Return the place of each entry in an order."""
    places = np.empty(order.size, dtype=np.int32)
    places[order] = np.arange(order.size)
    return places


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
