"""What a model does that overrides next to nothing."""

import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from models_oracle import counted

from core_mondrian.errors import SpecError
from core_mondrian.models import (
    AlphaKAnonymity,
    ClassCounts,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    Limits,
    PrivacyModel,
    TCloseness,
)
from core_mondrian.models.base import _distinct, _rounded
from core_mondrian.models.own_measures import measure_of, plain_measure

NO_VALUES = np.zeros((2, 0), np.int64)


@dataclass(frozen=True)
class Bare(PrivacyModel):
    """A model without anything."""


@dataclass(frozen=True)
class Share(PrivacyModel):
    """No value is more than a share; with its parameters as they come."""

    share: float
    label: str = "x"
    factor: int = 1
    sensitive: str = "income"
    missing: str = "value"

    @staticmethod
    def measure(rows: int, counts: Any, table: Any, parameters: Any) -> float:
        assert parameters.dtype == np.float64
        assert counts.flags.c_contiguous
        assert table.size == counts.size
        return float(counts.max() / rows)

    def limits(self) -> Limits:
        return Limits(at_most=self.share)

    def bind(self, labels: Any) -> list[int]:
        del labels
        return [1, 2]


@pytest.mark.parametrize(
    ("limits", "low", "high"),
    [
        pytest.param(Limits(), -math.inf, math.inf, id="none"),
        pytest.param(Limits(at_least=1000), 1000 - 1e-9, math.inf, id="from below"),
        pytest.param(Limits(at_least=-1000), -1000 - 1e-9, math.inf, id="negative"),
        pytest.param(Limits(at_most=1000), -math.inf, 1000 + 1e-9, id="from above"),
        pytest.param(Limits(at_most=-1000), -math.inf, -1000 + 1e-9, id="below 0"),
        pytest.param(Limits(below=1000), -math.inf, 1000 - 1e-9, id="below"),
        pytest.param(Limits(below=-1000), -math.inf, -1000 - 1e-9, id="far below"),
        pytest.param(Limits(0, 2000, 1000), 0, 1000 - 1e-9, id="the stricter one"),
        pytest.param(Limits(0, 500, 1000), 0, 500 + 5e-10, id="the other one"),
    ],
)
def test_edges_allow_for_rounding(limits: Limits, low: float, high: float) -> None:
    # A float near 1000 is 1e-13 from the next.
    assert limits.edges == (
        pytest.approx(low, rel=0, abs=5e-13),
        pytest.approx(high, rel=0, abs=5e-13),
    )


def test_names_are_those_of_the_class_and_its_fields() -> None:
    assert Bare().name == "Bare"
    assert Share(0.5).name == "Share share 0.5, label x, factor 1 of income"
    assert Share(0.5).title == Share(0.5).name
    ignored = Share(0.5, missing="ignored")
    assert ignored.title == f"{ignored.name}, missing ignored"


def test_what_is_not_overridden() -> None:
    model = Bare()
    classes = ClassCounts(np.array([1, 0]), NO_VALUES)

    assert model.limits() == Limits(-math.inf, math.inf, math.inf)
    assert (model.min_rows, model.enough_rows, model.column) == (1, None, None)
    assert (model.is_monotone, model.skips_missing) == (False, False)
    assert model.parameters == ()
    assert Share(0.5, factor=3).parameters == (0.5, 3.0)
    assert list(PrivacyModel.bind(Share(0.5), ())) == [0.5, 1.0]
    assert model.measured(classes).tolist() == [0, 0]
    assert model.passes(classes).tolist() == [True, False]
    assert not model.holds(classes)
    assert model.holds(ClassCounts(np.array([1, 1]), NO_VALUES))


def test_limits_belong_to_what_passes() -> None:
    classes = counted(["aab", "abc", "ab"])

    assert Share(0.5).passes(classes).tolist() == [False, True, True]
    assert Share(2 / 3).passes(classes).tolist() == [True, True, True]
    assert Share(0.6).reached(classes) == 2 / 3
    assert Share(0.5).reached(counted(["abc", "ab"])) == 0.5


def test_a_measure_without_a_column_is_asked_about_rows() -> None:
    class Sized(Share):
        @staticmethod
        def measure(rows: int, *_: Any) -> float:
            return float(rows)

    classes = ClassCounts(np.array([4, 6]), NO_VALUES)

    assert Sized(0.5).measured(classes).tolist() == [4, 6]


def test_limits_of_0_belong_to_what_passes() -> None:
    class Zero(Share):
        @staticmethod
        def measure(*_: Any) -> float:
            return 0.0

        def limits(self) -> Limits:
            return Limits(at_least=0, at_most=0)

    assert Zero(0.5).holds(counted(["ab"]))


def test_the_table_is_that_of_all_classes_unless_it_is_given() -> None:
    classes = counted(["ab", "aa"])
    part = ClassCounts(
        classes.rows, classes.by_value, classes.labels, whole=np.array([9, 9, 9])
    )

    assert classes.table.tolist() == [3, 1, 0]
    assert part.table.tolist() == [9, 9, 9]
    assert part.sizes.tolist() == [2, 2]


def test_classes_without_a_value_are_left_out_of_what_is_reached() -> None:
    model = DistinctLDiversity(2, "s", "ignored")
    none = counted([[None, None]])

    assert math.isnan(model.measured(none)[0])
    assert model.reached(none) == math.inf
    assert TCloseness(0.2, "s", missing="ignored").reached(none) == -math.inf
    assert model.reached(counted([[None, None], ["a", "b", "b", None]])) == 2
    assert model.passes(none).tolist() == [True]
    assert model.passes(counted([[None, "a"]])).tolist() == [False]


def test_an_error_of_a_measure_is_the_models() -> None:
    class Wrong(Share):
        @staticmethod
        def measure(*_: Any) -> float:
            raise ZeroDivisionError

    with pytest.raises(SpecError, match="the measure of Wrong raised a ZeroDivision"):
        Wrong(0.5).measured(counted(["ab"]))


@pytest.mark.parametrize(
    ("model", "groups", "nearest"),
    [
        pytest.param(KAnonymity(5), ["aaa", "aaaa"], ("k", 3), id="k"),
        pytest.param(KAnonymity(5), ["a", "aaaa"], None, id="no k"),
        pytest.param(Share(0.5), ["aab", "abc"], ("share", 0.6667), id="rounded up"),
        pytest.param(Share(0.5), ["aab", "abcc"], ("share", 0.6667), id="the worst"),
        pytest.param(Share(0.25), ["aabb", "ab"], ("share", 0.5), id="exactly"),
        pytest.param(DistinctLDiversity(4, "s"), ["abc"], ("l", 3), id="l"),
        pytest.param(AlphaKAnonymity(0.5, 2, "s"), ["aab"], ("alpha", 0.6667), id="a"),
        pytest.param(AlphaKAnonymity(0.5, 2, "s"), ["aaa"], None, id="no alpha"),
        pytest.param(AlphaKAnonymity(0.5, 5, "s"), ["abab"], ("k", 4), id="k of alpha"),
        pytest.param(
            AlphaKAnonymity(0.5, 5, "s"), ["abab", "abababab"], ("k", 4), id="smallest"
        ),
        pytest.param(
            EntropyLDiversity(2, "s"), ["aaaab"], ("l", 1.6493), id="fraction"
        ),
    ],
)
def test_the_nearest_that_can_be_met(
    model: PrivacyModel, groups: list[str], nearest: tuple[str, float] | None
) -> None:
    assert model.nearest(counted(groups)) == nearest


@pytest.mark.parametrize(
    ("reached", "limits", "offers"),
    [
        pytest.param(2.71828, Limits(at_least=3), (2.0, 2.7182), id="at least"),
        pytest.param(2.71828, Limits(at_most=2), (2.7183, 3.0), id="at most"),
        pytest.param(2.5, Limits(at_most=2), (2.5, 3.0), id="few digits"),
        pytest.param(2.0, Limits(below=2), (2.0001, 3.0), id="below a whole one"),
        pytest.param(2.71828, Limits(below=2), (2.7184, 4.0), id="below"),
    ],
)
def test_offers_are_round_and_met(
    reached: float, limits: Limits, offers: tuple[float, float]
) -> None:
    assert _rounded(reached, limits) == offers


@pytest.mark.parametrize(
    "shape", [(0, 3), (1, 3), (2, 3), (7, 1), (7, 0), (7, 64), (7, 65)]
)
def test_distinct_rows_give_all_rows_back(shape: tuple[int, int]) -> None:
    rows = (
        np.random.default_rng(3).integers(0, 2, shape)
        * (np.arange(shape[0]) < 4)[:, np.newaxis]
    )

    distinct, where = _distinct(rows)

    assert distinct[where].tolist() == rows.tolist()
    if shape[0] == 7 and 0 < shape[1] <= 64:
        assert len(distinct) == len(np.unique(rows, axis=0))


@pytest.mark.parametrize("in_python", [0, 10**9], ids=["compiled", "as it is"])
def test_a_measure_is_the_same_compiled_or_not(
    in_python: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core_mondrian.models.base._MOST_IN_PYTHON", in_python)

    assert DistinctLDiversity(2, "s").measured(counted(["aab", "abc"])).tolist() == [
        2,
        3,
    ]


def test_two_equal_classes_are_asked_once() -> None:
    distinct, where = _distinct(np.array([[1, 2], [1, 2]]))

    assert (distinct.tolist(), where.tolist()) == ([[1, 2]], [0, 0])


@dataclass(frozen=True)
class LargestShare(PrivacyModel):
    sensitive: str = "s"

    @staticmethod
    def measure(rows: int, counts: Any, table: Any, parameters: Any) -> float:  # noqa: ARG004
        return float(counts.max() / rows)


@pytest.mark.parametrize("package", ["numba", "no package"])
def test_a_measure_of_ones_own_is_the_same_with_numba_and_without(
    monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setattr("core_mondrian.models.base._MOST_IN_PYTHON", 0)
    measure_of.cache_clear()
    if package == "numba":
        pytest.importorskip("numba")
    else:
        monkeypatch.setitem(sys.modules, "numba", None)

    found = LargestShare().measured(counted(["aab"])).tolist()

    assert found == [2 / 3]
    plain = plain_measure(LargestShare.measure)
    assert (plain is None) == (package == "numba")
    assert plain is None or "own-models" in plain.reason
    measure_of.cache_clear()
