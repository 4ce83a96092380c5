"""What a curve can be drawn over, its points, and where they are in the picture."""

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from core_mondrian.analysis.advise import Figures, Point, Problem, Sweep
from core_mondrian.datasets import census
from core_mondrian.errors import SpecError
from core_mondrian.report.charts import draw_trade_off, render
from core_mondrian.studio.actions import Opened, make_release, open_table
from core_mondrian.studio.advanced_options import find_changed
from core_mondrian.studio.draft import Draft, Guard, draft_of
from core_mondrian.studio.reading import read_draft
from core_mondrian.studio.sweep import (
    everything_but,
    find_bands,
    find_curve,
    find_points,
    find_varied,
    present_value,
    take_value,
)
from core_mondrian.tables.files.write import write_table


def quiet(_stage: str, _done: float) -> None:
    """Nobody watches."""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    path = tmp_path_factory.mktemp("people") / "people.csv"
    write_table(census(400).select(["age", "sex", "education", "income"]), path)
    return open_table(path, "people.csv", quiet)


def drafted(**guards: Guard) -> Draft:
    roles: dict[str, Any] = dict.fromkeys(("age", "sex"), "quasi-identifier")
    return Draft(roles | dict.fromkeys(guards, "sensitive"), guards=guards)


def test_every_number_of_the_models_can_be_varied() -> None:
    draft = drafted(
        income=Guard("distinct-l-diversity", {"l": 3}),
        job=Guard("recursive-cl-diversity", {"c": 2.0, "l": 3}),
        town=Guard("none", {"t": 0.1}),
    )
    draft.further = Guard("maximum-risk", {"risk": 0.1})

    assert find_varied(draft) == {
        "k": "k: rows that look alike",
        "risk": "risk",
        "l": "l of income, job",
        "c": "c of job",
    }


def test_a_value_is_set_wherever_it_is_asked_for() -> None:
    draft = drafted(
        income=Guard("distinct-l-diversity", {"l": 3}),
        job=Guard("p-sensitive-k-anonymity", {"p": 2, "k": 4}),
        town=Guard("none", {"l": 9}),
    )
    draft.rest["models"] = [
        {"name": "distinct-l-diversity", "l": 2, "sensitive": "job"}
    ]
    assert present_value(draft, "l") is None

    take_value(draft, "l", 5)
    take_value(draft, "k", 11)

    assert draft.guards["income"].values == {"l": 5}
    assert draft.guards["job"].values == {"p": 2, "k": 11}
    assert draft.guards["town"].values == {"l": 9}
    assert draft.rest["models"][0]["l"] == 5
    assert (draft.k, present_value(draft, "l"), present_value(draft, "k")) == (
        11,
        5,
        11,
    )
    assert present_value(draft, "alpha") is None


def test_points_are_usual_ones_and_the_present_one() -> None:
    draft = drafted(
        income=Guard("entropy-l-diversity", {"l": 1.7}),
        job=Guard("p-sensitive-k-anonymity", {"p": 7, "k": 4}),
    )
    draft.k = 6
    draft.rest["models"] = [{"name": "own.py:Odd", "odd": 8, "share": 0.4}]

    assert find_points(draft, "k", 30) == [2, 3, 4, 5, 6, 10, 20]
    assert find_points(draft, "p", 30) == [2, 3, 4, 5, 6, 7, 8, 10]
    assert 1.7 in find_points(draft, "l", 30)
    assert find_points(draft, "odd", 30) == [2, 4, 8, 12, 16, 24]
    assert find_points(draft, "share", 30)[:3] == [0.1, 0.2, 0.4]
    assert all(isinstance(one, int) for one in find_points(draft, "odd", 30))


def test_a_curve_is_good_until_something_else_changes() -> None:
    draft = drafted(income=Guard("t-closeness", {"t": 0.2}))
    of_t, of_k = everything_but(draft, "t"), everything_but(draft, "k")

    take_value(draft, "t", 0.4)

    assert everything_but(draft, "t") == of_t
    assert everything_but(draft, "k") != of_k
    draft.suppress = "1%"
    assert everything_but(draft, "t") != of_t


def test_a_point_that_is_taken_makes_the_release_it_promised(opened: Opened) -> None:
    draft = draft_of(opened.guesses)
    for name in ("sex", "age"):
        draft.assign(name, "quasi-identifier")
    draft.assign("income", "sensitive")
    draft.guard("income").take("t-closeness")

    curve = find_curve(opened, draft, "t", quiet)

    assert [one.parameters["t"] for one in curve.found.points] == find_points(
        draft, "t", 400
    )
    point = curve.found.points[1]
    take_value(draft, "t", point.parameters["t"])
    assert point.figures is not None
    assert make_release(opened, draft, 1, quiet).release.digest == point.figures.digest
    assert sorted(curve.bands) == list(range(len(curve.found.points)))


def test_k_can_be_varied_where_the_file_had_none(opened: Opened) -> None:
    asked = {
        "quasi_identifiers": ["age"],
        "models": [{"name": "maximum-risk", "risk": 0.3}],
    }
    draft = read_draft(asked, opened.table.column_names, Path())

    found = find_curve(opened, draft, "k", quiet).found

    assert [one.parameters["k"] for one in found.points][:2] == [2, 3]
    assert found.points[0].figures is not None


def made_up(name: str, values: list[float], lost: list[float | None]) -> Sweep:
    """Return a sweep whose points cannot be reached where nothing is lost."""
    points = []
    for value, loss in zip(values, lost, strict=True):
        figures = None
        problem = Problem("too much", None, is_infeasible=True)
        if loss is not None:
            figures = Figures(
                *(9, 0, 0, loss, 3, 4.0, 0.3, 0.2), models=(), digest="", seconds=0.0
            )
        points.append(Point({name: value}, None, figures, None if figures else problem))
    return Sweep(100, tuple(points), {})


@pytest.mark.parametrize("name", ["k", "l"])
@pytest.mark.parametrize(
    "lost",
    [
        pytest.param([0.1, 0.2, 0.4, 0.45], id="all"),
        pytest.param([0.1, 0.2, None, None], id="some"),
        pytest.param([None, None, 0.2, 0.1], id="the others"),
        pytest.param([0.3, None, 0.2, None], id="mixed"),
    ],
)
def test_bands_are_where_the_axis_has_the_values(
    name: str, lost: list[float | None]
) -> None:
    values: list[float] = [2, 3, 8, 40]
    found = made_up(name, values, lost)

    bands = find_bands(render(draw_trade_off(found), ".svg").decode(), found.points)

    assert sorted(bands) == [0, 1, 2, 3]
    ordered = [bands[i] for i in range(4)]
    xs = [band.left + band.width * band.x / 100 for band in ordered]
    place = math.log if name == "k" else float
    for i in (1, 2):
        share = (xs[i] - xs[0]) / (xs[3] - xs[0])
        wanted = (place(values[i]) - place(values[0])) / (place(40) - place(2))
        assert share == pytest.approx(wanted, abs=1e-3)
    for one, other in pairwise(ordered):
        assert one.left + one.width == pytest.approx(other.left)
    heights = [bands[i].y for i, loss in enumerate(lost) if loss is not None]
    by_loss = sorted((loss for loss in lost if loss is not None), reverse=True)
    assert [heights[lost_at(lost, loss)] for loss in by_loss] == sorted(heights)


def lost_at(lost: list[float | None], loss: float) -> int:
    return [one for one in lost if one is not None].index(loss)


def test_one_point_has_room_and_a_foreign_picture_has_none() -> None:
    found = made_up("k", [5], [0.2])
    picture = render(draw_trade_off(found), ".svg").decode()

    (band,) = find_bands(picture, found.points).values()

    assert band.width > 5
    assert band.x == pytest.approx(50)
    more = made_up("k", [2, 5], [0.1, 0.2])
    assert find_bands(picture, more.points) == {}


def test_a_value_that_means_nothing_has_no_place() -> None:
    found = made_up("k", [2, 5, 9], [0.1, 0.2, 0.3])
    refused = Point({"k": 1}, None, None, Problem("k >= 2", None, is_infeasible=False))
    points = (refused, *found.points)

    picture = render(draw_trade_off(Sweep(100, points, {})), ".svg").decode()

    assert sorted(find_bands(picture, points)) == [1, 2, 3]


def test_a_draft_that_is_refused_has_no_curve(opened: Opened) -> None:
    draft = draft_of(opened.guesses)
    draft.suppress = "some"

    with pytest.raises(SpecError, match="neither a percentage"):
        find_curve(opened, draft, "k", quiet)


def test_what_is_not_as_it_comes_is_told_by_name() -> None:
    draft = Draft()
    assert find_changed(draft) == []

    draft.policy, draft.suppress, draft.is_nice = "paper", "1%", True
    draft.further.take("maximum-risk")

    assert find_changed(draft) == [
        "how cuts are chosen",
        "rows that may be left out",
        "round numbers",
        "a further promise",
    ]
    draft.further.take("none")
    assert "a further promise" not in find_changed(draft)
