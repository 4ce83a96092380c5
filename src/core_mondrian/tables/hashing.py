"""Draws that depend on a seed and a row number only: no state, no order, no clock."""

from typing import Final

import numpy as np

from core_mondrian.runtime.array_types import Words

LARGEST_WORD: Final = (1 << 64) - 1
_GOLDEN: Final = 0x9E3779B97F4A7C15


def mix(words: Words) -> Words:
    """Scramble words with splitmix64's finalizer, a bijection."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def splitmix64(words: Words) -> Words:
    """Return words that look random, the same for the same ones; missing cells too."""
    return mix(words + np.uint64(_GOLDEN))


def mixed_seed(seed: int) -> np.uint64:
    """Return a word in which neighbouring seeds have nothing in common."""
    return np.uint64(mix(np.array([seed], np.uint64) + np.uint64(_GOLDEN))[0])


def row_words(rows: Words, seed: int) -> Words:
    """Return a word for each row number, from which its streams are drawn."""
    return mix(rows * np.uint64(_GOLDEN) ^ mixed_seed(seed))


def draw(words: Words, stream: int) -> Words:
    """Return the draw of each row in one of its independent streams."""
    return mix(words + np.uint64(stream * _GOLDEN & LARGEST_WORD))
