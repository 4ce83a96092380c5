from dataclasses import replace

import pytest

from core_mondrian.errors import SpecError
from core_mondrian.measures.quality import (
    Shortfall,
    check,
    score,
    score_one,
    select_best,
)
from core_mondrian.measures.utility import ColumnMeasures, Measures
from core_mondrian.spec.thresholds import Thresholds


def number(
    pearson: float | None,
    nmi: float | None,
    rilm: float | None = 1.0,
    name: str = "number",
) -> ColumnMeasures:
    lost = (0, 1.0, 0, 0, 0)
    return ColumnMeasures(name, "number", rilm, 1, *lost, pearson, nmi, nmi, nmi)


def category(rilm: float | None, name: str = "category") -> ColumnMeasures:
    lost = (0, 1.0, 0, 0, 0)
    return ColumnMeasures(name, "category", rilm, 1, *lost, None, None, None, None)


def release(*columns: ColumnMeasures, n_rows: int = 100, kept: int = 100) -> Measures:
    return Measures(
        n_rows=n_rows,
        n_released=kept,
        n_suppressed=n_rows - kept,
        share_suppressed=None,
        n_generalized=0,
        share_generalized=None,
        n_classes=1,
        smallest_class=kept,
        average_class=kept,
        dm=0,
        dm_released=0,
        ilm=None,
        rilm=None,
        rilm_mean=None,
        loss=None,
        ncp_flat=None,
        ncp_tax=None,
        ncp_set=None,
        columns=columns,
    )


def run(
    rilm: float | None, pearson: float | None, nmi: float | None = None
) -> Measures:
    return release(category(rilm), number(pearson, nmi))


def all_at(threshold: float) -> Thresholds:
    return Thresholds(None, threshold, None, threshold, threshold)


def two_at(threshold: float) -> Thresholds:
    return Thresholds(None, threshold, None, threshold, None)


@pytest.mark.parametrize(
    ("value", "threshold", "expected"),
    [
        (0.95, 0.9, 0.0798848742),
        (1.0, 0.9, 0.0975300431),
        (0.9, 0.9, -0.00056845),
        (0.5, 0.9, -0.0202151921),
        (0.0, 0.9, -0.9),
        (None, 0.9, -1.8),
        (0.85, 0.8, 0.1174895531),
        (0.7, 0.8, -0.0033354183),
        (1.0, 0.99, 0.0033365887),
        (0.0, 0.0, 0.0),
        (0.5, None, 0.0),
        (None, None, 0.0),
    ],
)
def test_score_of_one_threshold(
    value: float | None, threshold: float | None, expected: float
) -> None:
    assert score_one(value, threshold) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(("value", "threshold"), [(1.1, 0.9), (-0.1, 0.9), (0.5, 2.0)])
def test_score_refuses_what_is_not_a_share(value: float, threshold: float) -> None:
    with pytest.raises(SpecError, match="between 0 and 1"):
        score_one(value, threshold)


def test_score_adds_up_the_metrics_that_are_present() -> None:
    measures = release(number(0.95, 0.85))

    found = score(measures, Thresholds(pct_non_suppressed=0.99))

    assert found == pytest.approx(0.0033365887 + 0.0798848742 + 0.1174895531)


def test_equality_meets_every_threshold() -> None:
    measures = release(category(0.9), number(0.9, 0.8, rilm=0.7), kept=99)

    assert check(measures, Thresholds(rilm_numerical=0.7)) == ()


def test_each_metric_below_its_threshold_is_reported() -> None:
    measures = release(category(0.8), number(0.7, 0.6, rilm=0.5), kept=98)

    assert check(measures, Thresholds(rilm_numerical=0.6)) == (
        Shortfall("pct_non_suppressed", 0.99, 0.98),
        Shortfall("rilm_categorical", 0.9, 0.8),
        Shortfall("rilm_numerical", 0.6, 0.5),
        Shortfall("pearson", 0.9, 0.7),
        Shortfall("nmi", 0.8, 0.6),
    )


def test_absent_metrics_and_disabled_thresholds_pass() -> None:
    assert check(release(), Thresholds()) == ()
    assert check(run(0.1, 0.1, 0.1), Thresholds(None, None, None, None, None)) == ()


def test_undefined_metrics_fail_and_say_so() -> None:
    (missed,) = check(run(None, 1.0, 1.0), Thresholds())

    assert missed == Shortfall("rilm_categorical", 0.9, None)
    assert str(missed) == "rilm_categorical is undefined, asked for at least 0.9"
    assert (
        str(replace(missed, value=0.5))
        == "rilm_categorical is 0.5, asked for at least 0.9"
    )


def test_undefined_columns_are_ignored_beside_defined_ones() -> None:
    measures = release(number(None, None, name="x"), number(0.95, 0.85, name="y"))

    assert check(measures, Thresholds()) == ()


def test_number_without_values_has_no_rilm_to_miss() -> None:
    thresholds = Thresholds(None, None, 0.9, None, None)
    measures = release(number(None, None, rilm=None))
    nothing = release(number(None, None, rilm=None), kept=0)

    assert check(measures, thresholds) == ()
    assert check(nothing, thresholds) == (Shortfall("rilm_numerical", 0.9, None),)


def test_empty_table_has_no_share_of_released_rows() -> None:
    (missed,) = check(release(n_rows=0, kept=0), Thresholds())

    assert missed == Shortfall("pct_non_suppressed", 0.99, None)


def test_excluded_columns_take_no_part_in_a_minimum() -> None:
    measures = release(number(0.1, 0.1, name="x"), number(1.0, 1.0, name="y"))

    assert len(check(measures, Thresholds())) == 2
    assert check(measures, Thresholds(), exclude=("x",)) == ()
    assert check(measures, Thresholds(), exclude=("x", "y")) == ()
    assert score(measures, Thresholds(), exclude=("x",)) > score(measures, Thresholds())


@pytest.mark.parametrize(
    ("runs", "thresholds", "expected"),
    [
        pytest.param(
            [run(0.5, 0.9, 0.5), run(0.5, 0.6, 0.6)],
            all_at(0.5),
            (1, True),
            id="balanced beats lopsided",
        ),
        pytest.param(
            [run(0.9, 0.9, 0.5), run(0.9, 0.6, 0.6)],
            all_at(0.9),
            (1, False),
            id="balanced beats lopsided below the thresholds",
        ),
        pytest.param(
            [run(0.95, None), run(0.92, None)], two_at(0.9), (0, True), id="undefined"
        ),
        pytest.param(
            [run(0.92, None), run(0.95, None)], two_at(0.9), (1, True), id="order"
        ),
        pytest.param(
            [run(0.5, None), run(0.7, None)], two_at(0.9), (1, False), id="none meets"
        ),
        pytest.param(
            [run(0.10, None), run(0.89, 0.89)], two_at(0.9), (1, False), id="near miss"
        ),
        pytest.param(
            [run(1.0, 0.89), run(0.9, 0.9)], two_at(0.9), (1, True), id="only passing"
        ),
        pytest.param(
            [run(0.95, 0.95), run(0.95, 0.95)],
            two_at(0.9),
            (0, True),
            id="first of ties",
        ),
    ],
)
def test_the_best_run_is_selected(
    runs: list[Measures], thresholds: Thresholds, expected: tuple[int, bool]
) -> None:
    assert select_best(runs, thresholds) == expected


def test_excluded_columns_do_not_decide_a_selection() -> None:
    runs = [
        release(number(0.2, 0.9, name="x"), number(0.99, 0.99, name="y")),
        release(number(0.95, 0.9, name="x"), number(0.95, 0.95, name="y")),
    ]

    assert select_best(runs, Thresholds()) == (1, True)
    assert select_best(runs, Thresholds(), exclude=("x",)) == (0, True)


def test_nothing_to_select_from_is_an_error() -> None:
    with pytest.raises(SpecError, match="no runs"):
        select_best([], Thresholds())
