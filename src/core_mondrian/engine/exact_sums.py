"""Sums of floats without rounding: the same in whatever order, and part by part."""

from fractions import Fraction

import numpy as np

from core_mondrian.engine.layout import Floats

_MANTISSA = 53


def exact_sum(values: Floats) -> Fraction:
    """Return the sum of finite numbers, exactly.

    A float is a whole number of 53 bits times a power of two. Those with the same
    power are added as whole numbers, in halves that cannot overflow.
    """
    mantissa, exponent = np.frexp(values)
    whole = np.ldexp(mantissa, _MANTISSA).astype(np.int64)
    powers, place = np.unique(exponent, return_inverse=True)
    total = Fraction(0)
    for i, power in enumerate(powers.tolist()):
        own = whole[place == i]
        number = (int((own >> 32).sum()) << 32) + int((own & 0xFFFFFFFF).sum())
        total += Fraction(number) * Fraction(2) ** (power - _MANTISSA)
    return total
