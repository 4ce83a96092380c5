"""A lower bound of a mean from a sample, with a stated confidence, for any values."""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# The most of the capital that is ever staked.
_LARGEST_STAKE = 0.75
_HALVINGS = 60


def lower_mean(values: Floats, confidence: float) -> float:
    """Return what the mean is at least, of values between 0 and 1 drawn at random.

    It is bet that the mean is higher than m, value after value, with stakes that depend
    on earlier values only. Were the mean m or less, the capital would hardly ever grow
    to 1 / (1 - confidence); so m is too low if it has (Waudby-Smith and Ramdas 2024).
    """
    goal = -math.log1p(-confidence)
    stakes = _stakes(values, goal)
    low, high = 0.0, float(values.mean())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _capital(values, stakes, middle) >= goal:
            low = middle
        else:
            high = middle
    return low


def _stakes(values: Floats, goal: float) -> Floats:
    """Return what is staked on each value, by the variance of those before it."""
    n = np.arange(1, values.size + 1)
    means = values.cumsum() / n
    squares = np.square(values - means).cumsum()
    # A small variance to begin with: it only has to be known before the value is.
    variance = np.append(0.01, (0.01 + squares[:-1]) / n[1:])
    stakes: Floats = np.sqrt(2.0 * goal / (values.size * variance))
    return stakes


def _capital(values: Floats, stakes: Floats, mean: float) -> float:
    """Return the logarithm of what 1 has become."""
    staked = np.minimum(stakes, _LARGEST_STAKE / mean) if mean > 0.0 else stakes
    return float(np.log1p(staked * (values - mean)).sum())
