"""Collapse finds the distinct tuples, whatever their hashes."""

from collections import Counter

import numpy as np
import pytest
from conftest import IS_PLAIN
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from core_mondrian.encoding.collapse import Collapsed, TuplePacker
from core_mondrian.encoding.row_groups import rising_order

WORD = 2**64


def collapsed(columns: list[NDArray[np.int32]], bits: list[int]) -> Collapsed:
    packer = TuplePacker(bits, columns[0].size)
    for column in columns:
        packer.append(column)
    return packer.collapse()


def check(found: Collapsed, rows: list[tuple[int, ...]]) -> None:
    counts = Counter(rows)
    assert [tuple(codes) for codes in found.codes.tolist()] == sorted(counts)
    assert found.counts.tolist() == [counts[row] for row in sorted(counts)]
    tuples = [tuple(found.codes[i].tolist()) for i in found.row_tuple.tolist()]
    assert tuples == rows


@pytest.mark.twin("encoding.row_groups")
@given(
    st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=40),
    st.sampled_from([[2, 2, 2], [31, 31, 31], [2, 31, 2], [31, 31, 2]]),
)
def test_tuples_are_counted_and_sorted(
    rows: list[tuple[int, ...]], bits: list[int]
) -> None:
    columns = [np.array(column, dtype=np.int32) for column in zip(*rows, strict=True)]

    found = collapsed(columns, bits)

    check(found, rows)


def test_widest_codes_survive_packing() -> None:
    most = 2**31 - 1
    rows = [(most, 0, most), (0, most, most), (most, most, 0), (most, 0, most)]
    columns = [np.array(column, dtype=np.int32) for column in zip(*rows, strict=True)]

    found = collapsed(columns, [31, 31, 31])

    check(found, rows)


def mixed(word: int) -> int:
    """The hash of a row of one word, in plain integers."""
    state = (word + 0x9E3779B97F4A7C15) % WORD
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB % WORD
    return state ^ (state >> 31)


def test_rows_that_share_a_slot_are_told_apart() -> None:
    slots = 2**12
    crowded = [code for code in range(200_000) if mixed(code) % slots == 7]
    rows = [(code,) for code in crowded for _ in range(2)][::-1]
    assert len(crowded) > 30

    found = collapsed([np.array(rows, dtype=np.int32)[:, 0]], [18])

    check(found, rows)


@pytest.mark.skipif(IS_PLAIN, reason="slow without compilation")
def test_hash_table_grows_several_times() -> None:
    rng = np.random.default_rng(5)
    codes = rng.permutation(np.repeat(np.arange(40_000), 2)).astype(np.int32)

    found = collapsed([codes], [16])

    assert found.codes[:, 0].tolist() == list(range(40_000))
    assert (found.counts == 2).all()
    assert (found.codes[found.row_tuple, 0] == codes).all()


def test_column_of_nothing_but_missing_needs_no_bits() -> None:
    empty = np.zeros(3, dtype=np.int32)

    found = collapsed([empty, np.array([1, 0, 1], dtype=np.int32)], [0, 1])

    check(found, [(0, 1), (0, 0), (0, 1)])


@given(
    st.integers(1, 3).flatmap(
        lambda n: st.lists(
            st.tuples(*[st.sampled_from([0, 1, 2, 2047, 2048, 2**40, 2**64 - 1])] * n),
            max_size=40,
        ).map(lambda rows: (n, rows))
    )
)
def test_rows_of_words_are_sorted_as_numpy_sorts_them(
    case: tuple[int, list[tuple[int, ...]]],
) -> None:
    n_words, rows = case
    words = np.array(rows, dtype=np.uint64).reshape(len(rows), n_words)

    order = rising_order(words)

    assert order.tolist() == np.lexsort(words.T[::-1]).tolist()


@pytest.mark.parametrize("n_values", [3, 1000])
@pytest.mark.parametrize("threads", [2, 3])
def test_threads_group_the_same_rows(
    monkeypatch: pytest.MonkeyPatch, n_values: int, threads: int
) -> None:
    monkeypatch.setattr("core_mondrian.runtime.threads._ROWS_PER_THREAD", 10)
    monkeypatch.setattr("core_mondrian.encoding.collapse._SAMPLE", 4)
    codes = np.random.default_rng(3).integers(0, n_values, (200, 2)).astype(np.int32)
    codes[:8] = 0  # so that the sample collapses

    def grouped(n_threads: int) -> Collapsed:
        packer = TuplePacker([10, 10], len(codes))
        for column in codes.T:
            packer.append(np.ascontiguousarray(column))
        return packer.collapse(threads=n_threads)

    one, several = grouped(1), grouped(threads)

    expected, counts = np.unique(codes, axis=0, return_counts=True)
    assert np.array_equal(one.codes, expected)
    assert np.array_equal(one.counts, counts)
    for name in ("codes", "counts", "row_tuple"):
        assert np.array_equal(getattr(several, name), getattr(one, name))


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("bits", [[10, 10], [10, 60], [3, 10]])
def test_rows_that_differ_are_grouped_part_by_part(
    monkeypatch: pytest.MonkeyPatch, bits: list[int], threads: int
) -> None:
    monkeypatch.setattr("core_mondrian.runtime.threads._ROWS_PER_THREAD", 10)
    monkeypatch.setattr("core_mondrian.encoding.collapse._ROWS_PER_PART", 16)
    rng = np.random.default_rng(4)
    codes = rng.integers(0, [8, 1000], (200, 2)).astype(np.int32)
    codes[100:120] = codes[:20]

    packer = TuplePacker(bits, len(codes))
    packer.append_all([np.ascontiguousarray(x) for x in codes.T], threads)
    found = packer.collapse(threads=threads)

    check(found, [tuple(row) for row in codes.tolist()])
