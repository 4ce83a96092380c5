"""Hash texts where they lie, one after the other in a buffer."""

import numpy as np
from numpy.typing import NDArray

from core_mondrian.kernels.jit import entry_kernel

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]
Keys = NDArray[np.uint64]


@entry_kernel
def hash_texts(data: Bytes, offsets: Offsets, keys: Keys) -> None:
    """Write a 64-bit hash of each text to ``keys`` (FNV-1a over its bytes)."""
    for i in range(keys.size):
        state = np.uint64(0xCBF29CE484222325)
        for place in range(offsets[i], offsets[i + 1]):
            state = (state ^ np.uint64(data[place])) * np.uint64(0x100000001B3)
        keys[i] = state
