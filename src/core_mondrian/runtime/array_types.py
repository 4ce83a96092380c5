"""What arrays hold, named once: the types that annotations use."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Codes: TypeAlias = NDArray[np.int32]
"""Numbers that stand for values, or for tuples."""
Integers: TypeAlias = NDArray[np.int64]
Counts: TypeAlias = NDArray[np.int64]
"""How many rows, persons or values there are of each."""
Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Words: TypeAlias = NDArray[np.uint64]
"""Bits that mean nothing by themselves, such as hashes."""

ArrowArray: TypeAlias = Any
"""An Arrow array, chunked or not; Arrow itself has no types to check."""
ArrowType: TypeAlias = Any
ArrowField: TypeAlias = Any
Frame: TypeAlias = Any
"""A dataframe of the caller's kind: pandas, polars or Arrow."""
Column: TypeAlias = Any
"""A column of such a frame."""
Dtype: TypeAlias = Any
"""The type of such a column."""
IntegerArray: TypeAlias = NDArray[np.integer[Any]]
"""Whole numbers of any width, signed or not."""
