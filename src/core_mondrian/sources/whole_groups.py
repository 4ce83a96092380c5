"""Rows that come group by group, some groups at a time and none of them divided."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def whole_groups(
    tables: Iterable[pa.Table],
    keys_of: Callable[[pa.Table], NDArray[Any]],
    size_of: Callable[[pa.Table], int],
    most: int,
) -> Iterator[pa.Table]:
    """Join tables until they have ``most``, and cut them where the last group begins.

    Rows of one group come one after another. A group may be larger than ``most``.
    """
    held: list[pa.Table] = []
    size = 0
    for table in tables:
        held.append(table)
        size += size_of(table)
        if size < most:
            continue
        joined = pa.concat_tables(held)
        end = _end_of_groups(keys_of(joined))
        if end:
            yield joined.slice(0, end)
        held = [joined.slice(end)]
        size = size_of(held[0])
    if held:
        yield pa.concat_tables(held)


def _end_of_groups(keys: NDArray[Any]) -> int:
    """Return where the last group begins, of which more rows may follow."""
    others = np.flatnonzero(keys != keys[-1]) if keys.size else keys
    return int(others[-1]) + 1 if others.size else 0
