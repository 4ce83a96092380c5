"""Sweeps: every point is what anonymize() gives, and nothing stops a sweep."""

import json
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from conftest import Frame
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Closeness, DistinctDiversity

from core_mondrian import (
    BestPolicy,
    InfeasibleError,
    KAnonymity,
    PaperPolicy,
    PrivacyViolation,
    Spec,
    SpecError,
    Suppression,
    anonymize,
)
from core_mondrian.analysis import advise
from core_mondrian.analysis.advise import Figures, Point, Sweep, sweep
from core_mondrian.datasets import census
from core_mondrian.report.charts import PALETTE, draw_trade_off, render

KNOWN = ("age", "sex", "occupation", "native_country")
VALUES = (2, 5, 10, 20, 50)


@pytest.fixture(scope="module")
def people() -> pa.Table:
    return census(2_000)


@pytest.fixture(scope="module")
def found(people: pa.Table) -> Sweep:
    return sweep(people, spec_of(), {"k": VALUES})


def spec_of(**asked: Any) -> Spec:
    return Spec(KNOWN, **{"models": (KAnonymity(2),), **asked})


def with_gaps(table: pa.Table) -> pa.Table:
    """The table with some ages and occupations missing."""
    ages = [
        None if i % 9 == 0 else age for i, age in enumerate(table["age"].to_pylist())
    ]
    jobs = table["occupation"].to_pylist()
    jobs = [None if i % 400 == 0 else job for i, job in enumerate(jobs)]
    for name, values in (("age", ages), ("occupation", jobs)):
        place = table.column_names.index(name)
        table = table.set_column(place, name, pa.array(values))
    return table


def point_of(k: float, smallest: int, loss: float) -> Point:
    """A point as a sweep over k would find it."""
    figures = Figures(
        n_classes=1,
        n_suppressed=0,
        n_blanked=0,
        loss=loss,
        smallest_class=smallest,
        average_class=float(smallest),
        highest_risk=1 / smallest,
        average_risk=1 / smallest,
        models=(),
        digest="",
        seconds=0.0,
    )
    return Point({"k": k}, None, figures, None)


# Each point is what anonymize() gives


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param({}, id="best"),
        pytest.param({"policy": BestPolicy(disjoint=True)}, id="disjoint"),
        pytest.param({"policy": PaperPolicy()}, id="paper"),
        pytest.param({"suppress": Suppression(rows=40)}, id="best with a budget"),
        pytest.param(
            {"suppress": Suppression(rows=40), "suppressed": "blank"}, id="blank rows"
        ),
        pytest.param({"missing": "pattern"}, id="patterns"),
        pytest.param({"numbers": "mean", "categories": "set"}, id="other formats"),
        pytest.param({"weights": {"age": 3.0}}, id="weights"),
        pytest.param(
            {"models": (KAnonymity(2), DistinctDiversity(3, "education"))},
            id="two models",
        ),
        pytest.param(
            {"models": (KAnonymity(2), Closeness(0.4, "sex")), "policy": PaperPolicy()},
            id="not monotone",
        ),
    ],
)
def test_every_point_is_what_anonymize_gives(
    people: pa.Table, asked: dict[str, Any]
) -> None:
    models = asked.get("models", ())
    if len(models) > 1 and models[1].sensitive == "sex":
        asked = asked | {"quasi_identifiers": ("age", "occupation")}
    spec = replace(spec_of(), **asked)
    table = with_gaps(people)

    points = sweep(table, spec, {"k": (2, 10, 40)}).points

    assert any(point.figures is not None for point in points)
    for point, k in zip(points, (2, 10, 40), strict=True):
        assert point.spec == replace(spec, models=(KAnonymity(k), *spec.models[1:]))
        if point.figures is None:
            with pytest.raises((InfeasibleError, PrivacyViolation)):
                anonymize(table, point.spec)
            continue
        release = anonymize(table, point.spec)
        lost = release.measures()
        shown = point.figures
        assert shown.digest == release.digest
        assert shown.models == release.verification.models
        assert (shown.loss, shown.n_classes) == (lost.loss, lost.n_classes)
        assert shown.n_classes == release.verification.n_classes
        assert shown.smallest_class == release.verification.smallest_class
        assert shown.average_class == lost.average_class
        assert shown.n_suppressed == release.n_suppressed
        assert shown.n_blanked == release.n_blanked
        assert shown.seconds > 0.0


def test_blanked_cells_are_reported(people: pa.Table) -> None:
    spec = spec_of(missing="pattern", policy=PaperPolicy())

    points = sweep(with_gaps(people), spec, {"k": (50,)}).points

    assert points[0].figures is not None
    assert points[0].figures.n_blanked > 0


def test_every_kind_of_frame_has_the_same_figures(
    people: pa.Table, found: Sweep, frame_kind: Frame
) -> None:
    assert sweep(frame_kind(people), spec_of(), {"k": VALUES}) == found


@pytest.mark.parametrize("below", [0, 2**62], ids=["in turn", "side by side"])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_change_nothing(
    people: pa.Table, found: Sweep, threads: int, below: int, monkeypatch: Any
) -> None:
    monkeypatch.setattr(advise, "_SIDE_BY_SIDE_BELOW", below)

    assert sweep(people, spec_of(), {"k": VALUES}, threads=threads) == found


def test_points_come_in_the_order_of_the_values(people: pa.Table) -> None:
    spec = spec_of(models=(KAnonymity(2), DistinctDiversity(2, "education")))

    points = sweep(people, spec, {"k": (20, 5), "l": (2, 4)}, threads=2).points

    pairs = [(20, 2), (20, 4), (5, 2), (5, 4)]
    assert [tuple(point.parameters.values()) for point in points] == pairs
    for point, (k, l) in zip(points, pairs, strict=True):  # noqa: E741
        assert point.spec is not None
        assert point.spec.models == (KAnonymity(k), DistinctDiversity(l, "education"))
        assert point.figures is not None
        reached = {model.name: model.reached for model in point.figures.models}
        assert reached[f"{k}-anonymity"] >= k
        assert reached[f"DistinctDiversity l {l} of education"] >= l


def test_a_parameter_goes_to_every_model_that_has_it(people: pa.Table) -> None:
    models = (DistinctDiversity(2, "education"), DistinctDiversity(2, "workclass"))

    points = sweep(people, spec_of(models=models), {"l": (3,)}).points

    assert points[0].spec is not None
    assert [getattr(model, "l") for model in points[0].spec.models] == [3, 3]  # noqa: B009


def test_progress_reaches_the_end(people: pa.Table) -> None:
    told: dict[str, float] = {}

    sweep(people, spec_of(), {"k": (5, 10)}, progress=told.__setitem__)

    assert told == {"encode": 1.0, "collapse": 1.0, "points": 1.0}


# Risk


def test_risk_falls_and_loss_rises_with_k(found: Sweep) -> None:
    figures = [point.figures for point in found.points]
    risks = [one.highest_risk for one in figures if one and one.highest_risk]
    losses = [one.loss for one in figures if one and one.loss]

    assert len(risks) == len(losses) == len(VALUES)
    assert risks == sorted(risks, reverse=True)
    assert losses == sorted(losses)


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.sampled_from("abc")), min_size=1, max_size=60
    ),
    st.lists(st.integers(2, 70), min_size=1, max_size=4),
)
def test_nobody_is_found_with_more_than_one_in_k(
    rows: list[tuple[int, str]], values: list[int]
) -> None:
    table = pa.table({"n": [n for n, _ in rows], "c": [c for _, c in rows]})

    points = sweep(table, Spec(("n", "c"), (KAnonymity(2),)), {"k": values}).points

    for point, k in zip(points, values, strict=True):
        assert (point.figures is None) == (k > len(rows))
        if point.figures is not None:
            highest, average = point.figures.highest_risk, point.figures.average_risk
            assert highest is not None
            assert average is not None
            assert 1 / len(rows) <= average <= highest <= 1 / k


def test_a_release_of_nothing_has_no_risk() -> None:
    table = pa.table({"a": ["x", "y"], "b": ["p", "q"]})
    cheap = BestPolicy(price=0.001)  # to leave out both rows
    spec = Spec(
        ("a", "b"), (KAnonymity(2),), suppress=Suppression(rows=2), policy=cheap
    )

    shown = sweep(table, spec, {"k": (2,)}).points[0].figures

    assert shown is not None
    assert (shown.n_classes, shown.n_suppressed) == (0, 2)
    assert (shown.highest_risk, shown.average_risk) == (None, None)
    assert shown.to_json()["models"] == [{"name": "2-anonymity", "reached": None}]


# Knees


def test_the_knee_lies_farthest_below_the_line_between_the_ends() -> None:
    # Scaled risks 1, .375, .0625, 0; losses 0, .1, .3, 1; the line is loss = 1 - risk.
    curve = [
        point_of(2, 2, 0.0),
        point_of(4, 4, 0.1),
        point_of(8, 8, 0.3),
        point_of(10, 10, 1.0),
    ]

    knees = Sweep(100, tuple(curve), {}).knees

    # Below the line: 4 by 1 - .375 - .1 = .525, 8 by 1 - .0625 - .3 = .6375.
    assert [point.parameters["k"] for point in knees] == [8]


@pytest.mark.parametrize(
    "points",
    [
        pytest.param([(2, 0.1), (5, 0.2)], id="two points"),
        pytest.param([(2, 0.2), (4, 0.2), (10, 0.2)], id="no loss to choose by"),
        pytest.param([(5, 0.1), (5, 0.2), (5, 0.3)], id="no risk to choose by"),
        pytest.param([(2, 0.0), (4, 0.9), (10, 1.0)], id="all above the line"),
    ],
)
def test_there_may_be_no_knee(points: list[tuple[int, float]]) -> None:
    curve = tuple(point_of(i, *point) for i, point in enumerate(points))

    assert Sweep(100, curve, {}).knees == ()


def test_there_is_a_knee_for_each_combination_besides_k(people: pa.Table) -> None:
    spec = spec_of(models=(KAnonymity(2), DistinctDiversity(2, "education")))

    several = sweep(people, spec, {"k": (2, 5, 10, 20), "l": (2, 3)})
    without_k = sweep(people, spec, {"l": (2, 3, 4)})

    assert [point.parameters["l"] for point in several.knees] == [2, 3]
    assert without_k.knees == ()


# What does not work


def test_infeasible_and_impossible_points_say_why(people: pa.Table) -> None:
    found = sweep(people, spec_of(), {"k": (1, 5, 2_001, 2.5)})

    problems = [str(point.problem) for point in found.points]
    assert [point.figures is not None for point in found.points] == [
        *(False, True, False, False)
    ]
    assert "k-anonymity needs k >= 2" in problems[0]
    assert "one class needs 2001 (k = 2000 is the nearest" in problems[2]
    assert "k must be a whole number" in problems[3]
    assert [point.spec is None for point in found.points] == [True, False, False, True]
    found.check_feasible()


def test_if_nothing_is_feasible_the_limits_say_what_would_be(people: pa.Table) -> None:
    n_jobs = len(set(people["occupation"].to_pylist()))
    models = (KAnonymity(2), DistinctDiversity(2, "occupation"))
    spec = Spec(("age",), models)

    found = sweep(people, spec, {"k": (3_000,), "l": (2, 99)})

    assert dict(found.limits) == {"k": 2_000, "l": n_jobs}
    with pytest.raises(
        InfeasibleError, match=rf"none of 2 points.*\n.*k 2000, l {n_jobs};"
    ):
        found.check_feasible()


def test_values_that_no_model_takes_are_a_wrong_request(people: pa.Table) -> None:
    with pytest.raises(SpecError, match="k >= 2"):
        sweep(people, spec_of(), {"k": (0, 1)}).check_feasible()


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        pytest.param({"l": (2,)}, r"'l'\nhint: the models have \['k'\]", id="unknown"),
        pytest.param({"k": (), "l": (2,)}, "no value for 'k'", id="no value"),
        pytest.param({}, "nothing to vary", id="nothing"),
        pytest.param({"name": (2,)}, "no model has", id="not a field"),
    ],
)
def test_wrong_parameters_are_refused(
    people: pa.Table, vary: dict[str, Any], message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        sweep(people, spec_of(), vary)


def test_wrong_columns_and_threads_are_refused(people: pa.Table) -> None:
    with pytest.raises(SpecError, match="agee"):
        sweep(people, Spec(("agee",), (KAnonymity(2),)), {"k": (2,)})
    with pytest.raises(SpecError, match="threads is at least 1"):
        sweep(people, spec_of(), {"k": (2,)}, threads=0)


# What is told


def test_plain_values_hold_everything_and_no_infinity(found: Sweep) -> None:
    plain = json.loads(json.dumps(found.to_json(), allow_nan=False))

    assert plain["n_rows"] == 2_000
    assert [row["parameters"]["k"] for row in plain["points"]] == list(VALUES)
    assert [row["parameters"]["k"] for row in plain["points"] if row["knee"]] == [
        point.parameters["k"] for point in found.knees
    ]
    names = {"loss", "n_classes", "highest_risk", "models", "digest", "seconds"}
    assert names < set(plain["points"][0])


# Charts


def test_charts_are_the_same_bytes_every_time(found: Sweep) -> None:
    first, second = draw_trade_off(found), draw_trade_off(found)

    assert first.to_dict() == second.to_dict()  # pages are made of it, but slowly
    for kind in (".svg", ".png"):
        assert render(first, kind) == render(second, kind)


def test_a_chart_names_its_axes_and_marks_knee_and_gaps(people: pa.Table) -> None:
    found = sweep(people, spec_of(), {"k": (2, 5, 10, 20, 3_000)})

    picture = render(draw_trade_off(found), ".svg").decode()

    root = ElementTree.fromstring(picture)  # noqa: S314
    words = [word.strip() for word in root.itertext()]
    for word in ("k", "classes", "2", "5", "20", "3000", "What k would cost"):
        assert word in words
    text = " ".join(words)
    for note in ("loss: ", "risk: ", "○ the knee: a suggestion", "no release satis"):
        assert note in text
    assert "rows suppressed" not in text


def test_suppression_has_a_panel_and_other_parameters_a_colour(
    people: pa.Table,
) -> None:
    models = (KAnonymity(2), DistinctDiversity(2, "education"))
    spec = spec_of(models=models, suppress=Suppression(rows=20))

    found = sweep(people, spec, {"k": (5, 10, 20), "l": (2, 3)})
    picture = render(draw_trade_off(found), ".svg").decode()

    for word in (">rows suppressed<", ">l 2<", ">l 3<", PALETTE[0], PALETTE[1]):
        assert word in picture


def test_one_value_of_k_leaves_the_axis_to_the_others(people: pa.Table) -> None:
    models = (KAnonymity(2), DistinctDiversity(2, "education"))

    found = sweep(people, spec_of(models=models), {"k": (5,), "l": (2, 3)})

    assert found.varied == ("l",)
    assert ">What l would cost<" in render(draw_trade_off(found), ".svg").decode()


def test_a_chart_of_nothing_or_of_an_unknown_kind_is_refused(
    people: pa.Table, found: Sweep
) -> None:
    with pytest.raises(InfeasibleError):
        draw_trade_off(sweep(people, spec_of(), {"k": (3_000,)}))
    with pytest.raises(SpecError, match=r"\.svg, \.png, \.html"):
        render(draw_trade_off(found), ".pdf")
