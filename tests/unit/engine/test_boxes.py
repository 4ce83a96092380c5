"""What a class looks like, against NumPy; its sorting is compiled only."""

import numpy as np
import pytest

from core_mondrian.engine.boxes import find_boxes, find_medians
from core_mondrian.engine.inputs import build_tuples

# Short ones are sorted by insertion, long ones by exchange.
SIZES = (1, 2, 31, 32, 33, 34, 100, 1000)


@pytest.mark.twin("engine.boxes")
@pytest.mark.parametrize("n_codes", [1, 3, 50, 2**31 - 1])
def test_boxes_and_medians_are_those_of_the_rows(n_codes: int) -> None:
    draws = np.random.default_rng(n_codes)
    n = sum(SIZES)
    codes = draws.integers(0, n_codes, (n, 3)).astype(np.int32)
    counts = draws.integers(1, 9, n)
    tuples = build_tuples(codes, counts, np.arange(n))
    stops = np.cumsum(SIZES)
    starts = stops - SIZES
    low, high = np.empty((2, len(SIZES), 3), dtype=np.int32)
    medians = np.empty(len(SIZES), dtype=np.int32)
    find_boxes(tuples, starts, stops, low, high)
    find_medians(tuples, 1, starts, stops, medians)
    for leaf, (start, stop) in enumerate(zip(starts, stops, strict=True)):
        inside = codes[start:stop]
        assert low[leaf].tolist() == inside.min(axis=0).tolist()
        assert high[leaf].tolist() == inside.max(axis=0).tolist()
        rows = np.sort(np.repeat(inside[:, 1], counts[start:stop]))
        assert medians[leaf] == rows[(rows.size - 1) // 2]
    assert (tuples.records[:, :3] == codes).all()


@pytest.mark.parametrize("order", ["rising", "falling", "organ pipe", "equal"])
def test_medians_of_codes_in_any_order(order: str) -> None:
    rising = np.arange(501, dtype=np.int32)
    codes = {
        "rising": rising,
        "falling": rising[::-1],
        "organ pipe": np.concatenate([rising[::2], rising[1::2][::-1]]),
        "equal": np.full(501, 250, dtype=np.int32),
    }[order]
    tuples = build_tuples(codes[:, None], np.ones(501, np.int64), np.arange(501))
    median = np.empty(1, dtype=np.int32)
    find_medians(tuples, 0, np.array([0]), np.array([501]), median)
    assert median[0] == 250
