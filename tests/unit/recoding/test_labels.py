"""Labels: keys are numbered as NumPy numbers them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core_mondrian.recoding.labels import number_distinct


@given(st.lists(st.integers(-1, 9) | st.integers(-1, 2**62), max_size=30))
def test_distinct_keys_are_numbered_as_numpy_does(numbers: list[int]) -> None:
    keys = np.array(numbers, dtype=np.int64)

    distinct, places = number_distinct(keys)

    wanted, index = np.unique(keys, return_inverse=True)
    assert distinct.tolist() == wanted.tolist()
    assert places.tolist() == index.tolist()
