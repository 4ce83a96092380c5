"""What a curve can be drawn over, its points, and what is said of them."""

from pathlib import Path
from typing import Any

import pytest

from core_mondrian.analysis.advise import Figures, Point, Problem, Sweep
from core_mondrian.datasets import census
from core_mondrian.errors import SpecError
from core_mondrian.studio.actions import OpenedTable, make_release, open_table
from core_mondrian.studio.advanced_options import find_changed
from core_mondrian.studio.draft import Draft, Protection, draft_of
from core_mondrian.studio.reading import read_draft
from core_mondrian.studio.sweep import (
    Curve,
    everything_but,
    find_curve,
    find_points,
    find_varied,
    point_text,
    present_value,
    take_value,
)
from core_mondrian.tables.files.write import write_table


def quiet(_stage: str, _done: float) -> None:
    """Nobody watches."""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> OpenedTable:
    path = tmp_path_factory.mktemp("people") / "people.csv"
    write_table(census(400).select(["age", "sex", "education", "income"]), path)
    return open_table(path, "people.csv", quiet)


def drafted(**guards: Protection) -> Draft:
    roles: dict[str, Any] = dict.fromkeys(("age", "sex"), "quasi-identifier")
    return Draft(roles | dict.fromkeys(guards, "sensitive"), guards=guards)


def test_every_number_of_the_models_can_be_varied() -> None:
    draft = drafted(
        income=Protection("distinct-l-diversity", {"l": 3}),
        job=Protection("recursive-cl-diversity", {"c": 2.0, "l": 3}),
        town=Protection("none", {"t": 0.1}),
    )
    draft.further = Protection("maximum-risk", {"risk": 0.1})

    assert find_varied(draft) == {
        "k": "k: rows that look alike",
        "risk": "risk",
        "l": "l of income, job",
        "c": "c of job",
    }


def test_a_value_is_set_wherever_it_is_asked_for() -> None:
    draft = drafted(
        income=Protection("distinct-l-diversity", {"l": 3}),
        job=Protection("p-sensitive-k-anonymity", {"p": 2, "k": 4}),
        town=Protection("none", {"l": 9}),
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
        income=Protection("entropy-l-diversity", {"l": 1.7}),
        job=Protection("p-sensitive-k-anonymity", {"p": 7, "k": 4}),
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
    draft = drafted(income=Protection("t-closeness", {"t": 0.2}))
    of_t, of_k = everything_but(draft, "t"), everything_but(draft, "k")

    take_value(draft, "t", 0.4)

    assert everything_but(draft, "t") == of_t
    assert everything_but(draft, "k") != of_k
    draft.suppress = "1%"
    assert everything_but(draft, "t") != of_t


def test_a_point_that_is_taken_makes_the_release_it_promised(
    opened: OpenedTable,
) -> None:
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


def test_k_can_be_varied_where_the_file_had_none(opened: OpenedTable) -> None:
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


def test_what_a_value_makes_of_the_data_is_said_in_words() -> None:
    curve = Curve("k", made_up("k", [2, 5, 9, 20], [0.1, 0.25, None, 0.2]))

    assert point_text(curve, 2) == (
        "With k = 2, 100 of your 100 rows are released in 9 groups that look alike. "
        "The smallest has 3: whoever looks for a person in it guesses right in 1 of 3 "
        "cases. 10.0% of the detail is lost."
    )
    assert "25.0% of the detail is lost, 15.0 points more than with k = 2." in (
        point_text(curve, 5)
    )
    assert point_text(curve, 9) == "With k = 9 there is no release of these data."
    assert point_text(curve, 20).endswith("5.0 points less than with k = 5.")
    assert point_text(curve, 3) == point_text(curve, None) == ""


def test_a_draft_that_is_refused_has_no_curve(opened: OpenedTable) -> None:
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
