"""What executors send back: data, whatever somebody put there."""

import io
import pickle
from collections import namedtuple
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as some

from core_mondrian.engine.parts import Offering, PartSummary
from core_mondrian.engine.search.suppression_budget import Offers
from core_mondrian.errors import InternalError
from core_mondrian.sources.spark.packing import pack_value, unpack_value

DTYPES = st.one_of(
    some.integer_dtypes(endianness="="), some.boolean_dtypes(), st.just(np.dtype("f8"))
)
ARRAYS = some.arrays(DTYPES, some.array_shapes(min_dims=1, min_side=0, max_side=4))
PLAIN = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.fractions()
)
VALUES = st.recursive(
    PLAIN | ARRAYS,
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(st.text(), inner),
    ),
    max_leaves=8,
)


def same(one: Any, two: Any) -> bool:
    if type(one) is not type(two):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == two.dtype and one.tobytes() == two.tobytes()
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same(one[k], two[k]) for k in one)
    if isinstance(one, tuple | list):
        return len(one) == len(two) and all(map(same, one, two))
    return repr(one) == repr(two)


@given(VALUES)
def test_what_is_packed_comes_back(value: Any) -> None:
    assert same(unpack_value(pack_value(value)), value)


def test_records_of_tasks_come_back_as_what_they_were() -> None:
    nodes = np.zeros(3, dtype=[("kind", "i1"), ("rows", "i8")])
    summary = PartSummary(2, np.arange(3), (nodes,), None, Fraction(1, 3))
    counts = np.arange(2)
    value = Offering(summary, Offers(2, counts, counts * 0.5, counts))
    assert same(unpack_value(pack_value(value)), value)


def test_a_number_of_numpy_becomes_a_plain_one() -> None:
    assert same(unpack_value(pack_value((np.int64(3), np.bool_(1)))), (3, True))


@pytest.mark.parametrize(
    "value",
    [
        np.array([object()]),
        {1, 2},
        print,
        namedtuple("PartSummary", "n")(1),  # only the name is ours
    ],
)
def test_other_things_are_not_packed(value: object) -> None:
    with pytest.raises(TypeError):
        pack_value(value)


class Hostile:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return (exec, ("raise SystemExit('code of a stranger ran')",))


def hostile_array() -> bytes:
    sink = io.BytesIO()
    np.savez(sink, form=np.array([Hostile()], dtype=object))
    return sink.getvalue()


def with_form(text: bytes) -> bytes:
    sink = io.BytesIO()
    np.savez(sink, form=np.frombuffer(text, dtype=np.uint8))
    return sink.getvalue()


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"no archive",
        pickle.dumps(Hostile()),
        hostile_array(),
        with_form(b'["record", "Popen", "true"]'),
        with_form(b'["system", "true"]'),
        with_form(b'["array", 7]'),
        with_form(b"[]"),
        with_form(b"{"),
        pack_value(np.arange(9))[:-40],
    ],
)
def test_what_no_task_returned_is_refused(packed: bytes) -> None:
    with pytest.raises(InternalError, match="executor"):
        unpack_value(packed)
