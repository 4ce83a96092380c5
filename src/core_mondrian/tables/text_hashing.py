"""Hash texts where they lie, one after the other in a buffer."""

import cython
import numpy as np
from numpy.typing import NDArray


def hash_texts(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], keys: NDArray[np.uint64]
) -> None:
    """Write a 64-bit hash of each text to ``keys`` (FNV-1a over its bytes)."""
    if not cython.compiled:
        for i in range(keys.size):
            text = data[offsets[i] : offsets[i + 1]].tolist()
            keys[i] = _hash_in_python(text)
        return
    text = cython.declare(cython.const[cython.uchar][::1], data)
    bounds = cython.declare(cython.const[cython.longlong][::1], offsets)
    hashes = cython.declare(cython.ulonglong[::1], keys)
    state = cython.declare(cython.ulonglong)
    prime = cython.declare(cython.ulonglong, 0x100000001B3)
    i = cython.declare(cython.Py_ssize_t)
    place = cython.declare(cython.Py_ssize_t)
    with cython.nogil:
        for i in range(hashes.shape[0]):
            state = 0xCBF29CE484222325
            for place in range(bounds[i], bounds[i + 1]):
                state = (state ^ text[place]) * prime
            hashes[i] = state


def _hash_in_python(text: list[int]) -> int:
    state = 0xCBF29CE484222325
    for byte in text:
        state = ((state ^ byte) * 0x100000001B3) & ((1 << 64) - 1)
    return state
