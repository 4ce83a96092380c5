"""A lower bound of a mean holds as often as it says, and is near the mean."""

import numpy as np
import pytest

from core_mondrian.bounds.confidence import lower_mean

DRAWS = 400


def values(kind: str, generator: np.random.Generator, n: int) -> tuple[object, float]:
    if kind == "rare":
        return generator.binomial(1, 0.02, n).astype(float), 0.02
    if kind == "narrow":
        return generator.uniform(0.01, 0.05, n), 0.03
    return generator.beta(0.3, 6.0, n), 0.3 / 6.3


@pytest.mark.parametrize("kind", ["rare", "narrow", "skewed"])
def test_it_is_rarely_above_the_mean(kind: str) -> None:
    generator = np.random.default_rng(5)
    missed = 0
    for _ in range(DRAWS):
        drawn, mean = values(kind, generator, 200)
        missed += lower_mean(drawn, 0.9) > mean  # type: ignore[arg-type]

    assert missed <= 0.1 * DRAWS + 12  # two standard deviations


@pytest.mark.parametrize(("kind", "share"), [("rare", 0.5), ("narrow", 0.9)])
def test_it_is_near_the_mean_of_many(kind: str, share: float) -> None:
    drawn, mean = values(kind, np.random.default_rng(6), 4000)

    assert share * mean < lower_mean(drawn, 0.99) < mean  # type: ignore[arg-type]


def test_of_constants_it_is_less_than_the_constant() -> None:
    assert 0.4 < lower_mean(np.full(2000, 0.5), 0.99) < 0.5
    assert lower_mean(np.zeros(100), 0.99) == 0.0
