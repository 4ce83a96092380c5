"""Which rows of a split tuple go to which of its classes: at random, under a key.

Rows of one tuple are alike in all that the models look at. A reader who could
recompute where each goes would see which rows of a mixed class were lent to it, and
single out those that were not. So the lots are a pseudo-random function of the row's
tuple and its other cells, under a key that the reader does not have.
"""

import numpy as np
from numpy.typing import NDArray

from core_mondrian.encoding.keyed_hashing import keyed_hash
from core_mondrian.encoding.row_groups import rising_order
from core_mondrian.runtime.array_types import Words


def draw_lots(
    tuples: NDArray[np.int32], hashes: Words, contents: Words, key: bytes
) -> Words:
    """Return a lot for each row, the same in whatever order the rows come.

    ``hashes`` are of each row's tuple, by value, so that the same key draws the same
    lots for it whatever else is in the table; ``contents`` are of its other cells.
    Equal rows draw different lots; which of them draws which makes no difference.

        tuple    7  7  7  7
        content  x  x  y  x        nth  0  1  0  2       lot = PRF(tuple, content, nth)
    """
    order = order_rows(tuples, contents)
    content, owner = contents[order], tuples[order]
    is_new = np.ones(order.size, dtype=np.bool_)
    is_new[1:] = (content[1:] != content[:-1]) | (owner[1:] != owner[:-1])
    place = np.arange(order.size)
    nth = place - np.maximum.accumulate(np.where(is_new, place, 0))
    lots = np.empty(order.size, dtype=np.uint64)
    words = [hashes[order], content, nth.astype(np.uint64)]
    lots[order] = keyed_hash(words, key)
    return lots


def order_rows(tuples: NDArray[np.int32], words: Words) -> NDArray[np.int32]:
    """Return an order of the rows by tuple, then by word, equal ones as they stand."""
    return rising_order(np.stack([tuples.astype(np.uint64), words], axis=1))
