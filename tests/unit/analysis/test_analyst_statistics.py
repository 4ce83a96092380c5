"""Statistics of an original and its release: oracles, readings by hand, privacy."""

import datetime as dt
import json
import sys
from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import CANARY, Frame
from scipy import optimize, stats

from core_mondrian import (
    DataError,
    KAnonymity,
    PaperPolicy,
    Spec,
    SpecError,
    Suppression,
    anonymize,
)
from core_mondrian.analysis.analyst_statistics import (
    Answer,
    Question,
    compare,
    evaluate,
)
from core_mondrian.analysis.analyst_statistics.answers import choose_named
from core_mondrian.analysis.analyst_statistics.cells import open_tables
from core_mondrian.analysis.analyst_statistics.classifier import hold_out, is_held_out
from core_mondrian.analysis.analyst_statistics.questions import (
    KINDS,
    Kind,
    default_questions,
    parse_question,
)
from core_mondrian.datasets import census
from core_mondrian.hierarchies.tree import from_paths
from core_mondrian.models import DistinctLDiversity

NUMBERS = ("interval", "bounds", "struct", "mean", "median", "midpoint", "sample")
EVERY = (
    Question("means", "hours", ("sex",)),
    Question("means", "income", ("sex", "town")),
    Question("means", "hours", ("age",)),
    Question("table", "town", ("sex", "age")),
    Question("linear", "hours", ("age", "sex", "town")),
    Question("logistic", "income", ("age", "sex", "town")),
)


def k_spec(*columns: str, k: int = 2, **more: Any) -> Spec:
    return Spec(columns, (KAnonymity(k),), **more)


def coarse_people(n: int = 400) -> pa.Table:
    """People whose quasi-identifiers are frequent as they are."""
    random = np.random.default_rng(7)
    sex = random.choice(["F", "M"], n)
    town = random.choice(["Bonn", "Rome", "Ulm"], n, p=[0.5, 0.3, 0.2])
    age = random.choice([20, 35, 50], n)
    hours = np.round(30 + 0.1 * age + 5 * (sex == "M") + random.normal(0, 6, n), 1)
    line = -2 + 0.03 * age + 0.8 * (sex == "M") - 0.6 * (town == "Ulm")
    income = np.where(random.random(n) < 1 / (1 + np.exp(-line)), "high", "low")
    return pa.table(
        {"sex": sex, "town": town, "age": age, "hours": hours, "income": income}
    )


def ask(
    original: Any, released: Any, spec: Spec, question: Question, **more: Any
) -> Answer:
    (answer,) = compare(original, released, spec, [question], **more).answers
    return answer


def rows_of(answer: Answer) -> dict[str, tuple[float | None, float | None]]:
    return {row.name: (row.before, row.after) for row in answer.rows}


# A release that loses nothing


@pytest.mark.parametrize("categories", ["label", "set"])
@pytest.mark.parametrize("numbers", NUMBERS)
def test_nothing_differs_where_nothing_is_lost(numbers: Any, categories: Any) -> None:
    people = coarse_people()
    spec = k_spec("sex", "town", "age", numbers=numbers, categories=categories)
    release = anonymize(people, spec)
    assert release.measures().loss == 0.0

    found = compare(people, release.data, spec, EVERY)

    for answer in found.answers:
        assert answer.rows, answer.sentence
        assert answer.score == pytest.approx(1.0)
        for row in answer.rows:
            assert row.difference == pytest.approx(0.0, abs=1e-9)
    assert found.score == pytest.approx(1.0)


def test_every_frame_gives_the_same_numbers(frame_kind: Frame) -> None:
    people = census(600)
    known = ("age", "sex", "occupation", "hours_per_week")
    spec = k_spec(*known, k=5, suppress=Suppression(rows=0))
    asked = [
        Question("means", "hours_per_week", ("sex", "occupation")),
        Question("table", "income", ("age",)),
        Question("linear", "hours_per_week", ("age", "sex")),
    ]
    expected = compare(people, anonymize(people, spec).data, spec, asked)

    frame = frame_kind(people)
    found = compare(frame, anonymize(frame, spec).data, spec, asked)

    assert found.to_json() == expected.to_json()


# Oracles: both tables are the same, so both numbers are the oracle's


def test_means_are_those_of_pandas() -> None:
    people = coarse_people()
    answer = ask(people, people, k_spec("sex", "town", k=5), EVERY[0])
    by = people.to_pandas().groupby("sex")["hours"]

    for row in answer.rows:
        assert row.before == pytest.approx(by.mean()[row.name])
        assert row.error_before == pytest.approx(by.sem()[row.name])
        assert row.n_before == by.count()[row.name]


def test_shares_are_means_of_whether_the_later_value_is_there() -> None:
    people = coarse_people()
    answer = ask(people, people, k_spec("sex", "town", k=5), EVERY[1])
    frame = people.to_pandas()
    by = (frame["income"] == "low").groupby([frame["sex"], frame["town"]])

    assert answer.what == "share of low in income"
    assert len(answer.rows) == 6
    for row in answer.rows:
        assert row.before == pytest.approx(by.mean()[tuple(row.name.split(", "))])


def test_tables_are_those_of_scipy() -> None:
    before, after = coarse_people(), coarse_people(600).slice(200)
    spec = k_spec("sex", "town", k=2)
    answer = ask(before, after, spec, Question("table", "income", ("town",)))

    counts = [
        pd.crosstab(t.to_pandas()["income"], t.to_pandas()["town"])
        for t in (before, after)
    ]
    shares = [one.to_numpy() / one.to_numpy().sum() for one in counts]
    figures = answer.figures
    assert figures["distance"] == pytest.approx(np.abs(shares[0] - shares[1]).sum() / 2)
    for count, name in zip(counts, ("before", "after"), strict=True):
        expected = stats.contingency.association(count.to_numpy(), method="cramer")
        assert figures[f"cramers_v_{name}"] == pytest.approx(expected)
    assert answer.score == pytest.approx(1 - (figures["distance"] or 0.0))


def design_of(people: pa.Table) -> tuple[np.ndarray[Any, Any], list[str]]:
    """Intercept, age, and dummies next to the most frequent value."""
    frame = people.to_pandas()
    names = ["age"]
    columns = [np.ones(len(frame)), frame["age"].to_numpy(float)]
    for name in ("sex", "town"):
        first = frame[name].value_counts().idxmax()
        for level in sorted(set(frame[name]) - {first}):
            names.append(f"{name} {level}")
            columns.append((frame[name] == level).to_numpy(float))
    return np.column_stack(columns), names


def test_linear_coefficients_are_those_of_least_squares() -> None:
    people = coarse_people()
    design, names = design_of(people)
    outcome = people["hours"].to_numpy()
    slopes, squares, _, _ = np.linalg.lstsq(design, outcome, rcond=None)
    variance = squares[0] / (len(outcome) - design.shape[1])
    errors = np.sqrt(np.diag(variance * np.linalg.inv(design.T @ design)))

    answer = ask(people, people, k_spec("sex", "town", "age", k=5), EVERY[4])

    assert [row.name for row in answer.rows] == names
    for i, row in enumerate(answer.rows):
        assert row.before == pytest.approx(slopes[i + 1], rel=1e-6)
        assert row.error_after == pytest.approx(errors[i + 1], rel=1e-6)
        assert row.overlap == pytest.approx(1.0)
    total = ((outcome - outcome.mean()) ** 2).sum()
    assert answer.figures["r2_before"] == pytest.approx(1 - squares[0] / total)


def test_logistic_coefficients_are_the_most_likely_ones() -> None:
    people = coarse_people()
    design, names = design_of(people)
    outcome = (people.to_pandas()["income"] == "low").to_numpy(float)
    scaled = design / design.max(axis=0)

    def loss(slopes: Any) -> float:
        line = scaled @ slopes
        return float(np.sum(np.logaddexp(0, line) - outcome * line))

    best = optimize.minimize(loss, np.zeros(design.shape[1]), method="BFGS", tol=1e-9)
    slopes = best.x / design.max(axis=0)
    chance = 1 / (1 + np.exp(-design @ slopes))
    information = design.T @ (design * (chance * (1 - chance))[:, np.newaxis])
    errors = np.sqrt(np.diag(np.linalg.inv(information)))

    answer = ask(people, people, k_spec("sex", "town", "age", k=5), EVERY[5])

    assert [row.name for row in answer.rows] == names
    for i, row in enumerate(answer.rows):
        assert row.before == pytest.approx(slopes[i + 1], rel=1e-3, abs=1e-4)
        assert row.error_before == pytest.approx(errors[i + 1], rel=1e-3)
    assert answer.figures["log_loss_before"] == pytest.approx(best.fun / len(outcome))


def test_overlap_of_intervals_by_hand() -> None:
    before, after = coarse_people(), coarse_people(200)
    spec = k_spec("sex", "town", "age", k=5)
    answer = ask(before, after, spec, Question("linear", "hours", ("age",)))
    (row,) = answer.rows

    assert row.before is not None
    assert row.after is not None
    assert row.error_before is not None
    assert row.error_after is not None
    ends = [
        (middle - 1.96 * error, middle + 1.96 * error)
        for middle, error in (
            (row.before, row.error_before),
            (row.after, row.error_after),
        )
    ]
    common = min(ends[0][1], ends[1][1]) - max(ends[0][0], ends[1][0])
    expected = np.mean([max(common, 0) / (high - low) for low, high in ends])
    assert row.overlap == pytest.approx(expected)
    assert row.error_after > row.error_before


# Generalized cells, by hand


def by_sex(shown: list[str | None], y: list[float], **more: Any) -> Answer:
    """Means of y by sex, of a release with 6 women first and 6 men then."""
    before = pa.table({"sex": ["F"] * 6 + ["M"] * 6, "y": [1.0] * 6 + [2.0] * 6})
    after = pa.table({"sex": shown, "y": y})
    spec = k_spec("sex", **more)
    return ask(before, after, spec, Question("means", "y", ("sex",)))


@pytest.mark.parametrize("several", ["*", "{F, M}", '{"F", "M"}'])
def test_a_cell_of_several_values_is_each_as_often_as_they_are_shown(
    several: str,
) -> None:
    # F is exact in 6 rows and M in 2: a cell of both is 3/4 F and 1/4 M.
    answer = by_sex(["F"] * 6 + ["M"] * 2 + [several] * 4, [1.0] * 6 + [3.0] * 6)

    women, men = answer.rows
    assert (women.n_after, men.n_after) == (9.0, 3.0)
    assert women.after == pytest.approx((6 * 1 + 3 * 3) / 9)
    assert men.after == pytest.approx(3.0)


def test_shared_cells_count_in_their_own_shares() -> None:
    # A and B are shown as they are, C is not, and yet most rows are likely to be C.
    before = pa.table({"t": list("AAABBBCCCCCC"), "y": [1.0] * 12})
    after = pa.table(
        {
            "t": ["A"] * 2 + ["B"] * 2 + ["{A, C}"] * 4 + ["{B, C}"] * 4,
            "y": [0.0] * 4 + [1.0] * 8,
        }
    )

    def likelihood(shares: Any) -> float:
        a, b, c = np.exp(shares) / np.exp(shares).sum()
        return float(
            -2 * np.log(a) - 2 * np.log(b) - 4 * np.log(a + c) - 4 * np.log(b + c)
        )

    best = optimize.minimize(likelihood, np.zeros(3), tol=1e-12).x
    a, b, c = 12 * np.exp(best) / np.exp(best).sum()
    answer = ask(before, after, k_spec("t"), Question("table", "t"))

    assert [row.name for row in answer.rows] == ["A", "B", "others"]
    assert [row.n_after for row in answer.rows] == pytest.approx([a, b, c], abs=1e-3)


def test_a_set_with_a_blank_is_missing_in_part() -> None:
    # 4 F, 2 M, 2 blank: F or blank is 2/3 F.
    shown = ["F"] * 4 + ["M"] * 2 + [None] * 2 + ["{F, null}"] * 3
    answer = by_sex(shown, [1.0] * 11, categories="set")

    women, men = answer.rows
    assert women.n_after == pytest.approx(4 + 3 * 2 / 3)
    assert men.n_after == pytest.approx(2.0)
    assert answer.left_out == (0, 3.0)


def test_values_that_no_cell_shows_have_equal_parts() -> None:
    before = pa.table({"t": ["A"] * 4 + ["B"] * 4 + ["C"] * 8, "y": [1.0] * 16})
    shown = ["{A, B}"] * 8 + ["C"] * 8
    after = pa.table({"t": shown, "y": [5.0] * 8 + [1.0] * 8})
    answer = ask(before, after, k_spec("t"), Question("linear", "y", ("t",)))

    # A and B are not named, as no cell shows them: C is, and the others together.
    assert rows_of(ask(before, after, k_spec("t"), Question("means", "y", ("t",)))) == {
        "C": (1.0, 1.0),
        "others": (1.0, 5.0),
    }
    assert answer.score is None
    assert "one value only" in answer.sentence


def test_labels_of_a_hierarchy_are_its_leaves_in_part() -> None:
    tree = from_paths([["F", "known", "*"], ["M", "known", "*"], ["X", "else", "*"]])
    answer = by_sex(
        ["F"] * 3 + ["M"] * 6 + ["known"] * 3, [1.0] * 12, hierarchies={"sex": tree}
    )

    assert [row.n_after for row in answer.rows] == [4.0, 8.0]


def test_a_label_over_one_value_does_not_name_it() -> None:
    tree = from_paths([["F", "women", "*"], ["M", "men", "*"]])
    answer = by_sex(["women"] * 6 + ["men"] * 6, [1.0] * 12, hierarchies={"sex": tree})

    assert [row.name for row in answer.rows] == ["all"]
    assert "F" not in json.dumps([row.to_json() for row in answer.rows])


@pytest.mark.parametrize(
    ("columns", "numbers"),
    [
        pytest.param({"a": ["[10, 20]", "[10, 20]", "30", "30"]}, "interval"),
        pytest.param({"a_min": [10, 10, 30, 30], "a_max": [20, 20, 30, 30]}, "bounds"),
        pytest.param(
            {"a": [{"min": x, "max": y} for x, y in [(10, 20)] * 2 + [(30, 30)] * 2]},
            "struct",
        ),
        pytest.param({"a": [15.0, 15.0, 30.0, 30.0]}, "mean"),
        pytest.param({"a": ["15", "15", "30", "30"]}, "median"),
    ],
)
def test_a_range_is_its_middle(columns: dict[str, Any], numbers: Any) -> None:
    before = pa.table({"a": [10, 20, 30, 30]})
    spec = k_spec("a", numbers=numbers)

    answer = ask(before, pa.table(columns), spec, Question("means", "a"))

    assert rows_of(answer) == {"all": (22.5, 22.5)}


@pytest.mark.parametrize(
    ("values", "shown", "edge"),
    [
        pytest.param(
            [dt.date(2020, 1, d) for d in (1, 3, 9, 9)],
            ["[2020-01-01, 2020-01-03]"] * 2 + ["2020-01-09"] * 2,
            "2020-01-02",
            id="dates",
        ),
        pytest.param(
            [dt.time(h) for h in (1, 3, 9, 9)],
            ["[01:00:00, 03:00:00]"] * 2 + ["09:00:00"] * 2,
            "02:00:00",
            id="times",
        ),
        pytest.param(
            [dt.datetime(2020, 1, 1, h) for h in (1, 3, 9, 9)],
            ["[2020-01-01 01:00:00, 2020-01-01 03:00:00]"] * 2
            + ["2020-01-01 09:00:00"] * 2,
            "2020-01-01 02:00:00",
            id="moments",
        ),
    ],
)
def test_dates_and_times_make_groups(values: Any, shown: list[str], edge: str) -> None:
    before = pa.table({"a": values, "y": [1.0, 2.0, 3.0, 4.0]})
    after = pa.table({"a": shown, "y": [1.0, 2.0, 3.0, 4.0]})

    answer = ask(before, after, k_spec("a"), Question("means", "y", ("a",)))

    # One row is before the edge and one after: neither may be shown alone.
    assert edge not in json.dumps(answer.to_json())
    assert rows_of(answer) == {"all": (2.5, 2.5)}
    twice, both = (pa.concat_tables([table] * 2) for table in (before, after))
    named = ask(twice, both, k_spec("a"), Question("means", "y", ("a",)))
    assert rows_of(named) == {f"to {edge}": (1.0, 1.5), f"over {edge}": (3.0, 3.5)}


def test_numbers_with_a_hierarchy_are_means_of_what_they_cover() -> None:
    tree = from_paths([["10", "low", "*"], ["20", "low", "*"], ["90", "high", "*"]])
    before = pa.table({"a": [10, 10, 10, 20, 90, 90]})
    after = pa.table({"a": ["10", "10", "low", "low", "90", "90"]})
    spec = k_spec("a", hierarchies={"a": tree})

    answer = ask(before, after, spec, Question("means", "a"))

    # Only 10 and 90 are shown as they are, so "low" is 10.
    assert rows_of(answer)["all"] == pytest.approx((230 / 6, (4 * 10 + 2 * 90) / 6))


def test_a_builder_is_built_from_the_original() -> None:
    from core_mondrian.hierarchies.codes import Prefix

    people = pa.table({"zip": ["111", "112", "121", "122"] * 5, "y": [1, 2, 3, 4] * 5})
    spec = k_spec("zip", k=10, hierarchies={"zip": Prefix()})
    release = anonymize(people, spec)

    answer = ask(people, release.data, spec, Question("means", "y", ("zip",)))

    assert rows_of(answer) == {"all": (2.5, 2.5)}


# Rows that are not there


def test_suppressed_rows_are_left_out_however_they_are_released() -> None:
    people = pa.table({"a": ["x"] * 6 + ["y"], "v": [1.0] * 6 + [9.0]})
    asked = Question("means", "v", ("a",))
    for suppressed in ("drop", "blank", "separate"):
        spec = Spec(
            ("a",),
            (KAnonymity(3),),
            policy=PaperPolicy(),
            suppress=Suppression(rows=2),
            inline_below=0,
            suppressed=suppressed,  # type: ignore[arg-type]
        )
        release = anonymize(people, spec)
        assert release.n_suppressed == 1
        answer = ask(people, release.data, spec, asked)
        # The group of one row is not shown apart, and so nothing is.
        assert [row.name for row in answer.rows] == ["all"]
        assert answer.rows[0].n_after == 6.0
        assert answer.left_out == (0, 1.0 if suppressed == "blank" else 0.0)


def test_missing_values_are_left_out_and_counted() -> None:
    people = pa.table(
        {"a": ["x"] * 4 + ["y"] * 4 + [None] * 2, "v": [1, 2, 3, None, *[5] * 6]}
    )
    release = anonymize(people, k_spec("a", missing="pattern"))

    answer = ask(people, release.data, k_spec("a"), Question("means", "v", ("a",)))

    assert rows_of(answer) == {"x": (2.0, 2.0), "y": (5.0, 5.0)}
    assert answer.left_out == (3, 3.0)


def test_an_all_missing_column_has_no_answer() -> None:
    people = pa.table({"a": ["x"] * 4, "v": pa.nulls(4, pa.float64())})

    for kind in ("means", "table"):
        answer = ask(people, people, k_spec("a"), Question(kind, "v", ("a",)))  # type: ignore[arg-type]
        assert answer.score is None
        assert "no row has all its columns" in answer.sentence


# Models without an estimate say so


def test_a_constant_outcome_has_means_and_no_regression() -> None:
    people = pa.table({"a": [1, 2, 3, 4] * 3, "v": [5.0] * 12, "w": ["z"] * 12})
    spec = k_spec("a")

    assert ask(people, people, spec, Question("means", "v", ("a",))).score == 1.0
    assert ask(people, people, spec, Question("means", "w", ("a",))).score == 1.0
    for question in (
        Question("linear", "v", ("a",)),
        Question("logistic", "w", ("a",)),
    ):
        answer = ask(people, people, spec, question)
        assert answer.score is None
        assert "in the original the outcome has one value only" in answer.sentence


@pytest.mark.parametrize("n", [4, 400])
def test_outcomes_that_predictors_separate_completely_are_said_to_be(n: int) -> None:
    people = pa.table({"a": [1, 2, 3, 4] * n, "w": ["l", "l", "r", "r"] * n})

    answer = ask(people, people, k_spec("a"), Question("logistic", "w", ("a",)))

    assert answer.score is None
    assert answer.rows == ()
    assert "outcomes of some rows completely" in answer.sentence


def test_predictors_that_follow_from_others_are_said_to() -> None:
    people = pa.table({"a": [1, 2, 3, 4] * 5, "b": [2, 4, 6, 8] * 5, "v": range(20)})

    answer = ask(people, people, k_spec("a", "b"), Question("linear", "v", ("a", "b")))

    assert "some predictors follow from the others" in answer.sentence


def test_predictors_that_do_not_vary_are_left_out() -> None:
    people = pa.table({"a": [1, 2, 3, 4] * 5, "b": [7] * 20, "v": range(20)})

    answer = ask(people, people, k_spec("a", "b"), Question("linear", "v", ("a", "b")))
    nothing = ask(people, people, k_spec("a", "b"), Question("linear", "v", ("b",)))

    assert [row.name for row in answer.rows] == ["a"]
    assert answer.figures["left_out_predictors"] == 1
    assert "1 that hardly vary there are left out" in answer.sentence
    assert "no predictor varies" in nothing.sentence


def test_values_that_are_all_but_gone_from_a_release_are_left_out() -> None:
    # C is shown by no cell, and A and B by so many that it is hardly likely anywhere.
    towns = ["A"] * 40 + ["B"] * 40 + ["C"] * 20
    outcome = (["l"] * 2 + ["r"]) * 34
    before = pa.table({"t": towns, "a": range(100), "w": outcome[:100]})
    shown = ["A"] * 40 + ["B"] * 40 + ["{A, C}"] * 10 + ["{B, C}"] * 10
    after = before.set_column(0, "t", pa.array(shown))

    answer = ask(before, after, k_spec("t"), Question("logistic", "w", ("t", "a")))

    assert [row.name for row in answer.rows] == ["t B", "a"]


def test_one_group_is_a_group() -> None:
    people = pa.table({"a": ["x"] * 5, "v": [1.0, 2, 3, 4, 5]})

    answer = ask(people, people, k_spec("a"), Question("means", "v", ("a",)))
    table = ask(people, people, k_spec("a"), Question("table", "a"))

    assert rows_of(answer) == {"x": (3.0, 3.0)}
    assert rows_of(table) == {"x": (1.0, 1.0)}
    assert table.figures["cramers_v_before"] is None


# Classifiers


def test_a_classifier_learns_what_there_is_to_learn() -> None:
    people = coarse_people(500)
    sure = people.set_column(4, "income", pa.array(people["sex"].to_pylist()))
    spec = k_spec("sex", "town", k=5)

    answer = ask(sure, sure, spec, Question("classifier", "income", ("sex",)))

    scores = {row.name: row for row in answer.rows}
    assert scores["accuracy"].after == scores["AUC"].before == 1.0
    assert scores["AUC"].guess == scores["balanced accuracy"].guess == 0.5
    assert answer.score is None  # it has seen the rows it is tested on
    assert "flatters" in answer.sentence


def test_held_out_rows_train_nothing() -> None:
    # The release knows every row's outcome by heart; of new rows it knows nothing.
    n = 600
    coin = np.random.default_rng(3).random(n) < 0.5
    people = pa.table(
        {"a": np.arange(n), "w": np.where(coin, "heads", "tails"), "b": ["x"] * n}
    )
    spec = k_spec("a", "b", k=2)

    (answer,) = evaluate(people, spec, [Question("classifier", "w")]).answers

    scores = {row.name: row for row in answer.rows}
    auc = scores["AUC"].after
    assert auc is not None
    assert 0.3 < auc < 0.7
    assert "flatters" not in answer.sentence
    assert answer.figures["n_test"] == pytest.approx(0.3 * n, rel=0.2)


def test_metrics_are_those_of_scikit_learn() -> None:
    from sklearn import metrics

    from core_mondrian.analysis.analyst_statistics.classifier import _metrics, _Sample

    random = np.random.default_rng(5)
    labels, weights = random.integers(0, 3, 200), random.random(200)
    chances = random.dirichlet([1, 1, 1], 200)
    sample = _Sample(np.zeros((200, 1)), labels, weights)

    found = _metrics(sample, np.arange(3), chances)

    guessed = chances.argmax(axis=1)
    more = {"sample_weight": weights}
    assert found["accuracy"] == pytest.approx(
        metrics.accuracy_score(labels, guessed, **more)
    )
    assert found["balanced_accuracy"] == pytest.approx(
        metrics.balanced_accuracy_score(labels, guessed, **more)
    )
    assert found["auc"] == pytest.approx(
        metrics.roc_auc_score(labels, chances, multi_class="ovr", **more)
    )


def test_numbers_of_two_values_can_be_predicted() -> None:
    people = coarse_people()
    flags = pa.array([1 if x == "low" else 0 for x in people["income"].to_pylist()])
    people = people.append_column("is_low", flags)
    spec = k_spec("sex", "town", "age", k=5)
    by = ("age", "sex")

    texts = ask(people, people, spec, Question("logistic", "income", by))
    numbers = ask(people, people, spec, Question("logistic", "is_low", by))

    assert numbers.what.startswith("coefficients for the share of 1 in is_low")
    assert rows_of(numbers) == rows_of(texts)
    assert ask(people, people, spec, Question("classifier", "is_low")).rows


def test_as_many_rows_are_held_out_as_asked_for() -> None:
    counts = np.array([1000, 1, 500, 3])
    held = hold_out([np.arange(4)], counts, 0.3)

    assert (held <= counts).all()
    assert held.sum() == pytest.approx(0.3 * counts.sum(), rel=0.1)
    keys = np.arange(10_000, dtype=np.uint64)
    assert is_held_out(keys, 0.25).mean() == pytest.approx(0.25, abs=0.02)


def test_all_rows_of_a_person_are_held_out_together(monkeypatch: Any) -> None:
    from core_mondrian.analysis.analyst_statistics import comparison as module

    people = pa.table(
        {
            "id": np.repeat(np.arange(100), 3),
            "a": np.tile([1, 2, 3], 100),
            "w": ["l", "r", "r"] * 100,
        }
    )
    spec = k_spec("a", k=5, unit="id")
    seen: list[Any] = []
    real = module.compare

    def spy(train: Any, *rest: Any, test: Any, **more: Any) -> Any:
        seen.append((train, test))
        return real(train, *rest, test=test, **more)

    monkeypatch.setattr(
        module,
        "compare",
        spy,
    )

    module.evaluate(people, spec, [Question("means", "w", ("a",))])

    ((train, test),) = seen
    persons = [set(part["id"].to_pylist()) for part in (train, test)]
    assert persons[0].isdisjoint(persons[1])
    assert len(persons[0] | persons[1]) == 100


def test_evaluation_needs_no_key_and_no_order() -> None:
    people = census(800)
    spec = k_spec("age", "sex", "occupation", k=5, pseudonyms=("person_id",))
    shuffled = people.take(np.random.default_rng(1).permutation(800))

    found = evaluate(people, spec)

    assert found.is_held_out
    assert {one.question.kind for one in found.answers} == {"means", "linear"}
    assert all("person_id" not in str(one.question) for one in found.answers)
    assert evaluate(shuffled, spec).to_json() == found.to_json()
    with pytest.raises(SpecError, match="between 0 and 1"):
        evaluate(people, spec, holdout=1.0)


# Who may be named


def test_groups_below_k_are_put_together_until_nobody_stands_out() -> None:
    sizes = np.array([50, 9, 3, 2])
    shown = np.array([50.0, 9.0, 3.0, 2.0])

    def named(n: Any, shown_by: Any, people: Any = None) -> list[bool]:
        people = n if people is None else np.array(people)
        return choose_named(n, people, shown_by, 5).tolist()

    assert named(sizes, shown) == [True, True, False, False]
    # 3 + 2 rows are 5; without the 2 the 3 would stand alone, so 9 rows join them.
    assert named(sizes[:3], shown[:3]) == [True, False, False]
    assert not any(named(sizes[2:], shown[2:]))
    # The release has to show the values as they are.
    assert named(sizes[:2], np.array([50.0, 4.0])) == [True, False]
    # Of 50 rows, 1 with the outcome would stand out.
    assert named(np.array([[49, 1], [0, 9]]), shown[:2]) == [False, False]
    assert named(np.array([0]), np.array([0.0])) == [False]
    # 9 rows of 4 persons, or of persons that are elsewhere too, need company.
    assert named(sizes[:2], shown[:2], [40, 4]) == [False, False]
    assert named(sizes[:2], shown[:2], [40, 0]) == [False, False]


def test_no_small_group_can_be_found_by_subtraction() -> None:
    towns = ["Bonn"] * 40 + ["Ulm"] * 20 + [CANARY] * 3
    people = pa.table({"t": towns, "v": [1.0] * 60 + [999.0] * 3})

    answer = ask(people, people, k_spec("t", k=5), Question("means", "v", ("t",)))

    assert [row.name for row in answer.rows] == ["Bonn", "others"]
    assert answer.rows[1].n_before == 23


def test_what_the_release_does_not_show_is_never_named() -> None:
    random = np.random.default_rng(2)
    n = 300
    towns = random.choice(["Bonn", "Ulm", *(f"{CANARY} {i}" for i in range(8))], n)
    people = pa.table(
        {
            "t": towns,
            "a": random.integers(10_000, 99_999, n),
            "s": [f"{CANARY} s{i}" if i < 3 else "flu" for i in range(n)],
            "v": random.normal(0, 1, n),
            "w": random.choice(["l", "r"], n),
        }
    )
    spec = k_spec("t", "a", k=60)
    release = anonymize(people, spec)
    assert CANARY not in str(release.data["t"].to_pylist())
    asked = [
        Question("means", "v", ("t",)),
        Question("means", "w", ("t", "a")),
        Question("table", "s", ("t",)),
        Question("linear", "v", ("t", "a", "s")),
        Question("logistic", "w", ("t", "a")),
        Question("classifier", "w", ("t", "a", "s")),
    ]

    found = compare(people, release.data, spec, asked)
    held_out = evaluate(people, spec, asked)

    told = [one for each in (found, held_out) for one in each.answers]
    text = " ".join(
        [f"{one.sentence} {one.what} {[row.name for row in one.rows]}" for one in told]
    )
    assert CANARY not in text + str(found.to_json()) + str(held_out.to_json())
    for age in people["a"].to_pylist():
        shown = any(str(age) in str(cell) for cell in release.data["a"].to_pylist())
        assert shown or str(age) not in text


def test_rare_outcomes_of_a_quasi_identifier_are_not_counted_apart() -> None:
    people = pa.table(
        {"t": ["A"] * 30 + ["B"] * 30, "sex": ["F"] * 29 + ["M"] * 16 + ["F"] * 15}
    )
    asked = Question("means", "sex", ("t",))

    known = ask(people, people, k_spec("t", "sex", k=5), asked)
    open_ = ask(people, people, k_spec("t", k=5), asked)

    # One man in A; where sex is released as it is anyway, that is no secret.
    assert [row.name for row in known.rows] == ["all"]
    assert [row.name for row in open_.rows] == ["A", "B"]


def test_groups_are_counted_by_person_where_rows_belong_to_persons() -> None:
    # Town B has 20 rows of 4 persons, A and C have 20 of 20 each.
    people = pa.table(
        {
            "id": [*range(20), *[100, 101, 102, 103] * 5, *range(200, 220)],
            "t": ["A"] * 20 + ["B"] * 20 + ["C"] * 20,
            "v": np.arange(60.0),
        }
    )
    asked = Question("means", "v", ("t",))

    by_row = ask(people, people, k_spec("t", k=5), asked)
    by_person = ask(people, people, k_spec("t", k=5, unit="id"), asked)
    moved = people.set_column(0, "id", pa.array([*range(30)] * 2))
    between = ask(moved, moved, k_spec("t", k=5, unit="id"), asked)

    assert [row.name for row in by_row.rows] == ["A", "B", "C"]
    assert [row.name for row in by_person.rows] == ["C", "others"]
    # Persons 0-9 are in A and B, 10-19 in A and C, 20-29 in B and C: all are in two.
    assert [row.name for row in between.rows] == ["all"]
    with pytest.raises(SpecError, match=r"not in the data: 'id'"):
        ask(people.drop_columns(["id"]), people, k_spec("t", unit="id"), asked)


def test_no_statistic_of_fewer_than_k_rows_is_told() -> None:
    people = pa.table(
        {
            "t": ["A"] * 30,
            "v": [1.0, 2.0, 4.0, *[None] * 27],
            "sex": ["M", *["F"] * 29],
        }
    )
    spec = k_spec("t", "sex", k=5)
    for question in (
        Question("means", "v", ("t",)),
        Question("table", "v"),
        Question("linear", "v", ("t",)),
        Question("means", "sex"),
    ):
        answer = ask(people, people, spec, question)
        assert answer.rows == ()
        assert not answer.figures
        assert "fewer than 5 have" in answer.sentence


# What is asked


def test_questions_by_default_are_about_what_is_sensitive() -> None:
    people = census(300)
    known = ("age", "sex", "zip_code")
    plain = k_spec(*known, k=5, identifiers=("person_id",))
    models = (KAnonymity(5), DistinctLDiversity(2, "income"))
    sensitive = Spec(known, models, identifiers=("person_id",))
    release = anonymize(people, plain)

    def asked(spec: Spec, *, fits: Collection[Kind]) -> list[Question]:
        tables = open_tables(people, release.data, spec)
        return list(default_questions(tables, fits=fits))

    assert {one.outcome for one in asked(sensitive, fits=())} == {"income"}
    assert {one.outcome for one in asked(plain, fits=KINDS)} == {
        *("hours_per_week", "capital_gain")
    }
    assert [str(one) for one in asked(sensitive, fits=KINDS)] == [
        "means of income by age",
        "means of income by sex",
        "means of income by zip_code",
        "means of income by age, sex",
        "means of income by sex, zip_code",
        "logistic of income by age, sex",
    ]


def test_questions_by_default_can_all_be_asked() -> None:
    codes = [f"{i % 900:03}" for i in range(4_000)]
    people = census(4_000).append_column("code", pa.array(codes))
    spec = k_spec("code", "occupation", "age", k=2, identifiers=("person_id",))

    found = compare(people, people.drop_columns(["person_id"]), spec)

    asked = {one.question.by for one in found.answers}
    assert ("code",) in asked
    assert ("code", "occupation") not in asked
    assert ("occupation", "age") in asked


def test_without_other_columns_quasi_identifiers_are_asked_about() -> None:
    people = pa.table({"a": [1, 2] * 5, "b": ["x", "y"] * 5})

    found = compare(people, people, k_spec("a", "b"))

    assert {one.question.outcome for one in found.answers} == {"a", "b"}


def test_a_question_is_read_from_text() -> None:
    assert parse_question("means", "h:a,b") == Question("means", "h", ("a", "b"))
    assert parse_question("classifier", "h") == Question("classifier", "h")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(("median", "h"), "one of means, table", id="kind"),
        pytest.param(("means", ""), "by text", id="no outcome"),
        pytest.param(("means", "h", ("a", "a")), "a column twice", id="twice"),
        pytest.param(("table", "h", ("h",)), "a column twice", id="of itself"),
        pytest.param(("linear", "h"), "columns to predict by", id="no predictors"),
    ],
)
def test_a_question_checks_itself(arguments: Any, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        Question(*arguments)


def refused(question: Question, error: type[Exception], **more: Any) -> str:
    cells = [f"{CANARY} {i}" for i in range(1200)]
    people = pa.table(
        {
            "t": ["A", "B", CANARY] * 400,
            "a": range(1200),
            "id": cells,
            "gone": cells,
            "x": [["list"]] * 1200,
            "many": [str(i % 400) for i in range(1200)],
            **{name: [str(i % 50) for i in range(1200)] for name in "cd"},
        }
    )
    after = people.drop_columns(["gone"])
    for name, cell in more.items():
        after = after.set_column(
            after.column_names.index(name), name, pa.array([cell] * 1200)
        )
    with pytest.raises(error) as caught:
        compare(people, after, k_spec("t", "a", k=2), [question])
    text = str(caught.value)
    assert CANARY not in text
    return text


def test_wrong_questions_are_refused_without_a_cell() -> None:
    assert "not in the original: 'nope'" in refused(
        Question("means", "a", ("nope",)), SpecError
    )
    assert "not in the release: 'gone'" in refused(
        Question("means", "a", ("gone",)), SpecError
    )
    assert "which has 3 values; it takes numbers or a column of two" in refused(
        Question("means", "t"), SpecError
    )
    assert "which has 1,200 values" in refused(
        Question("logistic", "a", ("t",)), SpecError
    )
    assert "a number of 1,200 values" in refused(
        Question("classifier", "a", ("t",)), SpecError
    )
    assert "'id' has 1200 values" in refused(Question("means", "a", ("id",)), DataError)
    assert "'x' has type" in refused(Question("means", "a", ("x",)), DataError)
    assert "the predictors have 399 values; at most 300" in refused(
        Question("linear", "a", ("many",)), SpecError
    )
    assert "c, d make 2,500 groups" in refused(
        Question("means", "a", ("c", "d")), SpecError
    )


def test_cells_of_another_table_are_refused_without_showing_them() -> None:
    text = refused(Question("means", "a", ("t",)), DataError, t=f"{CANARY} other")
    assert "cells that allow no value of the original" in text
    assert "not numbers of type int64" in refused(
        Question("means", "a", ("t",)), DataError, a=f"{CANARY} other"
    )


def test_empty_tables_and_no_question_are_refused() -> None:
    people = pa.table({"a": [1, 2, 3, 4]})
    with pytest.raises(DataError, match="the release has no rows"):
        compare(people, people.slice(0, 0), k_spec("a"))
    with pytest.raises(SpecError, match="no question"):
        compare(people, people, k_spec("a"), [])
    with pytest.raises(SpecError, match=r"not in the data: 'b'"):
        compare(people, people, k_spec("b"))


@pytest.mark.parametrize(
    ("module", "name", "question"),
    [
        ("sklearn", "scikit-learn", Question("classifier", "income", ("sex",))),
        ("statsmodels", "statsmodels", Question("logistic", "income", ("sex",))),
        ("statsmodels", "statsmodels", Question("linear", "hours", ("sex",))),
    ],
    ids=["classifier", "logistic", "linear"],
)
def test_who_lacks_a_package_is_told_what_to_install(
    monkeypatch: Any, module: str, name: str, question: Question
) -> None:
    people = coarse_people()
    spec = k_spec("sex", "town", k=5)
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(SpecError, match=f"need {name}") as caught:
        compare(people, people, spec, [question])

    assert "core-mondrian[statistics]" in str(caught.value)
    kinds = {x.question.kind for x in compare(people, people, spec).answers}
    assert question.kind not in kinds
    assert kinds


def test_means_and_tables_need_no_package(monkeypatch: Any) -> None:
    people = coarse_people()
    spec = k_spec("sex", "town", k=5)
    for module in ("sklearn", "statsmodels"):
        monkeypatch.setitem(sys.modules, module, None)

    assert compare(people, people, spec, EVERY[:4]).score == pytest.approx(1.0)
    kinds = {one.question.kind for one in compare(people, people, spec).answers}
    assert kinds <= {"means", "table"}
