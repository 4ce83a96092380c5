"""Rows moved to parts by their first digits, next to sorting them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_mondrian.encoding.row_parts import DIGIT_BITS, RowParts

words = st.one_of(st.integers(0, 3), st.integers(0, 2**40 - 1), st.just(2**40 - 1))


@pytest.mark.twin("encoding.row_parts")
@given(
    st.lists(st.tuples(words, st.integers(0, 5)), max_size=40),
    st.integers(1, 5),
    st.integers(1, 3),
)
def test_rows_of_a_part_are_together_in_their_order(
    rows: list[tuple[int, int]], n_parts: int, n_spans: int
) -> None:
    given_words = np.array(rows, dtype=np.uint64).reshape(-1, 2)
    n, shift = len(rows), 40 - DIGIT_BITS
    parts = RowParts(given_words, 40)
    edges = [n * i // n_spans for i in range(n_spans + 1)]
    spans = list(pairwise(edges))
    digits = [first >> shift for first, _ in rows]

    counted = [parts.count(*span) for span in spans]
    begins, starts = parts.divide(counted, n_parts)
    for span, places in zip(spans, starts, strict=True):
        parts.move(*span, places)

    for (a, b), counts in zip(spans, counted, strict=True):
        assert counts.tolist() == np.bincount(digits[a:b], minlength=4096).tolist()
    moved, row_of = parts.arrays()
    assert moved.tolist() == [list(rows[i]) for i in row_of.tolist()]
    assert sorted(row_of.tolist()) == list(range(n))
    numbers = [[*row_of[a:b].tolist()] for a, b in pairwise(begins)]
    for inner in numbers:
        assert inner == sorted(inner)
    seen = [{digits[i] for i in inner} for inner in numbers if inner]
    for left, right in pairwise(seen):
        assert max(left) < min(right)
