"""Paintings: well-formed, the same every time, and nothing that is not released."""

from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest

from core_mondrian import (
    KAnonymity,
    OriginalPolicy,
    Release,
    Spec,
    SpecError,
    anonymize,
)
from core_mondrian.datasets import census
from core_mondrian.hierarchies.tree import from_paths
from core_mondrian.report.partition_plot import paint
from core_mondrian.spec.policies import BestPolicy
from core_mondrian.spec.suppression import Suppression

SVG = "{http://www.w3.org/2000/svg}"
COLUMNS = ("age", "hours_per_week")
WIDTH, HEIGHT, LEFT = 640, 512, 128


def release_of(table: pa.Table, columns: tuple[str, str], **asked: Any) -> Release[Any]:
    given = {"models": (KAnonymity(20),), "policy": BestPolicy(), **asked}
    return anonymize(table, Spec(columns, **given))


def boxes(picture: str) -> list[ElementTree.Element]:
    """The rectangles of classes: those that say what they show."""
    root = ElementTree.fromstring(picture)  # noqa: S314
    return [
        rect for rect in root.iter(f"{SVG}rect") if rect.find(f"{SVG}title") is not None
    ]


def edges(rect: ElementTree.Element) -> tuple[float, float, float, float]:
    x, y, w, h = (float(rect.attrib[name]) for name in ("x", "y", "width", "height"))
    return x, y, x + w, y + h


def words(picture: str) -> list[str]:
    root = ElementTree.fromstring(picture)  # noqa: S314
    return [text.text or "" for text in root.iter(f"{SVG}text")]


def is_inside(rect: ElementTree.Element) -> bool:
    left, top, right, bottom = edges(rect)
    axes = (LEFT - 0.1, 40 - 0.1, WIDTH - 20 + 0.1, HEIGHT - 76 + 0.1)
    return axes[0] <= left < right <= axes[2] and axes[1] <= top < bottom <= axes[3]


FORMATS = [
    pytest.param(COLUMNS, {}, id="numbers"),
    pytest.param(COLUMNS, {"numbers": "mean"}, id="means"),
    pytest.param(("age", "occupation"), {}, id="label"),
    pytest.param(("occupation", "workclass"), {"categories": "set"}, id="sets"),
    pytest.param(("occupation", "age"), {"missing": "pattern"}, id="patterns"),
]


@pytest.mark.parametrize(("columns", "asked"), FORMATS)
def test_every_class_is_one_rectangle_inside_the_axes(
    columns: tuple[str, str], asked: dict[str, Any]
) -> None:
    release = release_of(census(1_000), columns, **asked)

    found = boxes(paint(release, *columns))

    assert len(found) == release.verification.n_classes
    assert all(is_inside(rect) for rect in found)


@pytest.mark.parametrize(("columns", "asked"), FORMATS)
def test_bytes_do_not_depend_on_the_order_of_rows(
    columns: tuple[str, str], asked: dict[str, Any]
) -> None:
    table = census(1_000)
    turned = table.take(pa.array(range(999, -1, -1)))

    pictures = {
        paint(release_of(t, columns, **asked), *columns) for t in (table, turned)
    }

    assert len(pictures) == 1


def test_disjoint_classes_do_not_overlap_and_are_opaque() -> None:
    release = release_of(census(1_000), COLUMNS, policy=BestPolicy(disjoint=True))

    found = boxes(paint(release, *COLUMNS))

    ends = [edges(rect) for rect in found]
    shared = [
        (a, b)
        for i, a in enumerate(ends)
        for b in ends[:i]
        if min(a[2], b[2]) - max(a[0], b[0]) > 0.2
        and min(a[3], b[3]) - max(a[1], b[1]) > 0.2
    ]
    assert shared == []
    assert all(" o" not in rect.attrib["class"] for rect in found)


def test_overlapping_classes_shine_through_each_other() -> None:
    columns = (*COLUMNS, "sex")
    spec = Spec(columns, models=(KAnonymity(20),), policy=OriginalPolicy())

    found = boxes(paint(anonymize(census(1_000), spec), *COLUMNS))

    assert any(" o" in rect.attrib["class"] for rect in found)


def test_a_box_reaches_from_the_smallest_to_the_largest_value() -> None:
    table = pa.table({"a": [0, 10, 50, 60] * 2, "b": [1] * 8})
    release = release_of(table, ("a", "b"), models=(KAnonymity(4),))

    found = sorted(edges(rect) for rect in boxes(paint(release, "a", "b")))

    whole = WIDTH - 20 - LEFT
    unit = whole / 61.5  # each end has room: an 80th of the range
    assert [round(x - LEFT, 1) for e in found for x in (e[0], e[2])] == [
        pytest.approx(at * unit, abs=0.2) for at in (0.0, 11.5, 50.0, 61.5)
    ]


def test_classes_without_a_value_stand_in_a_band_of_their_own() -> None:
    table = pa.table({"a": [1, 2, 3, 4, None, None], "b": ["x"] * 6})
    release = release_of(table, ("a", "b"), models=(KAnonymity(2),))

    picture = paint(release, "a", "b")

    blank = [rect for rect in boxes(picture) if "a: blank" in "".join(rect.itertext())]
    assert len(blank) == 1
    assert edges(blank[0])[2] == pytest.approx(WIDTH - 20, abs=0.1)
    assert "blank" in words(picture)


def test_columns_without_any_value_can_be_painted() -> None:
    table = pa.table(
        {"a": pa.array([None] * 4, pa.int64()), "b": pa.array([None] * 4, pa.string())}
    )
    release = release_of(table, ("a", "b"), models=(KAnonymity(2),))

    assert len(boxes(paint(release, "a", "b"))) == 1


@pytest.mark.parametrize("categories", ["label", "set"])
def test_values_that_are_not_released_are_nowhere(categories: str) -> None:
    """`canary` is suppressed; `lonely` and `rare` are hidden behind a label."""
    names = ["common"] * 20 + ["canary"] + ["lonely"] * 2 + ["rare"] * 2
    table = pa.table({"a": names, "b": [1] * 20 + [9] + [2] * 4})
    release = release_of(
        *(table, ("a", "b")),
        models=(KAnonymity(4),),
        suppress=Suppression(rows=1),
        policy=BestPolicy(price=0.01),
        categories=categories,
    )

    picture = paint(release, "a", "b")

    assert release.n_suppressed == 1
    assert "canary" not in picture
    assert ("lonely" in picture) == (categories == "set")


def test_a_hierarchy_says_where_its_labels_lie() -> None:
    tree = from_paths([(leaf, leaf[0], "*") for leaf in ("a1", "a2", "b1", "b2")])
    table = pa.table({"a": ["a1", "a2", "b1"] * 2, "b": [1] * 6})
    release = release_of(
        table, ("a", "b"), models=(KAnonymity(2),), hierarchies={"a": tree}
    )

    found = {
        "".join(rect.itertext()): edges(rect)
        for rect in boxes(paint(release, "a", "b"))
    }

    quarter = (WIDTH - 20 - LEFT) / 4
    lefts = {name.split(";")[0]: box[0] for name, box in found.items()}
    assert lefts["a: b1"] == pytest.approx(LEFT + 2 * quarter, abs=0.1)


def test_labels_are_escaped() -> None:
    odd = '<b> & \x00\x0b"'
    table = pa.table({odd: [odd] * 4, "b": [1, 1, 2, 2]})
    release = release_of(table, (odd, "b"), models=(KAnonymity(2),))

    picture = paint(release, odd, "b", title=odd)

    assert '<b> & \ufffd\ufffd"' in words(picture)


def test_colours_say_what_the_legend_says() -> None:
    table = pa.table({"a": [1] * 5 + [2] * 20 + list(range(50, 55)), "b": [1] * 30})
    release = release_of(
        table, ("a", "b"), models=(KAnonymity(5),), policy=OriginalPolicy()
    )

    colours = {
        "".join(rect.itertext()): rect.attrib["class"]
        for rect in boxes(paint(release, "a", "b"))
    }

    assert "red" in colours.values()
    for text, colour in colours.items():
        assert ("[" in text) == (colour not in ("blue",)), text


def test_a_column_that_is_not_released_by_class_is_refused() -> None:
    release = release_of(census(200), COLUMNS)

    with pytest.raises(SpecError, match="not a quasi-identifier"):
        paint(release, "age", "income")
    with pytest.raises(SpecError, match="at least 320"):
        paint(release, *COLUMNS, width=100)


def test_of_many_classes_some_are_painted_from_large_to_small() -> None:
    release = release_of(census(2_000), COLUMNS, models=(KAnonymity(5),))
    rows = sorted(release._recoded.classes.rows.tolist())
    assert len(rows) > 20

    picture = paint(release, *COLUMNS, most=10)

    found = [rect.find(f"{SVG}title") for rect in boxes(picture)]
    sizes = [int(str(t.text).split()[-2]) for t in found if t is not None]
    assert len(sizes) == 10
    assert {rows[0], rows[-1]} <= set(sizes)
    assert f"10 of {len(rows)} classes over" in picture
    assert paint(release, *COLUMNS, most=len(rows)) == paint(release, *COLUMNS)
