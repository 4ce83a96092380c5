"""Value sets: found whole, listed once, written so that they can be read back."""

from collections import defaultdict
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.fuzz.cells import read_set
from core_mondrian.recoding.value_sets import ValueSets, find_sets, write_sets

HOSTILE = [
    *("a", "b", "a, b", "a,b", "{a", "a}", "{a, b}", "{a}", '{"{a"}', '"a"', '"', "\\"),
    *("", " ", " a", "a ", "\ta", "a\n", "null", '"null"', "{null}", "nul", "{", "}"),
    *(
        "{}",
        "{{}",
        ",",
        ", ",
        '", "',
        '\\"',
        "[a, b]",
        "*",
        "é",
        "\u2028",
        "\x00",
        "\x7f",
    ),
]
texts = st.sampled_from(HOSTILE) | st.text(st.sampled_from(' ,{}"\\nul\ta'), max_size=6)


def listed(sets: ValueSets) -> list[tuple[int, ...]]:
    """Every set as a tuple of codes, in the order of their numbers."""
    edges = sets.starts.tolist()
    codes = sets.codes.tolist()
    return [tuple(codes[start:stop]) for start, stop in pairwise(edges)]


def found(pairs: list[tuple[int, int]], n_classes: int) -> ValueSets:
    owner = np.array([owner for owner, _ in pairs], dtype=np.int32)
    codes = np.array([code for _, code in pairs], dtype=np.int32)
    return find_sets(owner, codes, n_classes)


def written(members: list[str | None], values: list[str]) -> str:
    """The text of one set of ``values``; None: missing."""
    order = {value: code for code, value in enumerate([*values, None])}
    sets = found([(0, order[member]) for member in members], 1)
    (text,) = write_sets(sets, pa.array(values, pa.string())).to_pylist()
    assert isinstance(text, str)
    return text


@st.composite
def classes(draw: Any) -> list[tuple[int, int]]:
    """Pairs in any order and number, so that each class up to the last has one."""
    n = draw(st.integers(1, 12))
    codes = st.integers(0, draw(st.sampled_from([0, 1, 3, 300, 2**31 - 2])))
    every = [(owner, draw(codes)) for owner in range(n)]
    more = st.lists(st.tuples(st.integers(0, n - 1), codes), max_size=60)
    every += draw(more)
    return draw(st.permutations(every))


@given(classes())
def test_each_class_gets_the_set_of_its_codes(pairs: list[tuple[int, int]]) -> None:
    held = defaultdict(set)
    for owner, code in pairs:
        held[owner].add(code)

    sets = found(pairs, len(held))

    every = listed(sets)
    assert [every[number] for number in sets.of_class.tolist()] == [
        tuple(sorted(held[owner])) for owner in range(len(held))
    ]
    wanted = {tuple(sorted(codes)) for codes in held.values()}
    assert every == sorted(wanted, key=lambda codes: (len(codes), codes))


def test_sets_of_one_size_that_share_most_codes_are_kept_apart() -> None:
    first, second = [*range(1000), 5000], [*range(1000), 5001]
    pairs = [(0, c) for c in first] + [(1, c) for c in second] + [(2, c) for c in first]

    assert found(pairs, 3).of_class.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("members", "text"),
    [
        pytest.param(["x"], "x", id="one value"),
        pytest.param(["y", "x"], "{x, y}", id="in the order of the codes"),
        pytest.param(["x", None], "{x, null}", id="missing among others"),
        pytest.param(["x", "null"], '{"null", x}', id="a value called null"),
        pytest.param(["null"], "null", id="alone, it stands for itself"),
        pytest.param(["a, b", "x"], '{"a, b", x}', id="comma"),
        pytest.param(["x", ""], '{"", x}', id="empty text"),
        pytest.param([""], "", id="empty text alone"),
        pytest.param(["x", " y"], '{" y", x}', id="leading space"),
        pytest.param(['say "x"', "x"], r'{"say \"x\"", x}', id="quotes"),
        pytest.param(["{x}"], '{"{x}"}', id="a lone value that looks like a set"),
        pytest.param(["{x", "y"], '{y, "{x"}', id="brace"),
        pytest.param(["\\", "x"], "{\\, x}", id="backslash needs no quotes"),
        pytest.param(["Ö", "ß"], "{Ö, ß}", id="letters stay letters"),
    ],
)
def test_text_of_a_set(members: list[str | None], text: str) -> None:
    assert written(members, sorted({m for m in members if m is not None})) == text


@given(st.lists(texts, min_size=1, max_size=8, unique=True), st.booleans())
def test_text_of_a_set_can_be_read_back(values: list[str], has_missing: bool) -> None:  # noqa: FBT001
    members = [*values, *[None] * has_missing]

    assert read_set(written(members, values)) == members


@given(st.sets(texts, max_size=7).map(sorted))
def test_no_two_sets_share_a_text(values: list[str]) -> None:
    codes = range(len(values) + 1)  # the last one: missing
    some = [set_ for n in codes for set_ in combinations(codes, n + 1)]

    sets = found([(i, code) for i, one in enumerate(some) for code in one], len(some))
    shown = write_sets(sets, pa.array(values, pa.string())).to_pylist()

    by_set = dict(zip(listed(sets), shown, strict=True))
    assert by_set.pop((len(values),)) is None
    assert len(set(by_set.values())) == len(by_set) == len(some) - 1
    for code, value in enumerate(values):
        assert (by_set[code,] == value) is not value.startswith("{")
