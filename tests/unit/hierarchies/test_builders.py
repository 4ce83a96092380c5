"""Builders: every value under its label, levels nested, parameters checked."""

import datetime as dt
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_mondrian import SpecError
from core_mondrian.hierarchies.base import Builder
from core_mondrian.hierarchies.codes import Flat, Prefix, Redact
from core_mondrian.hierarchies.dates import Dates
from core_mondrian.hierarchies.groups import Grouping, Lookup
from core_mondrian.hierarchies.learned import Learned
from core_mondrian.hierarchies.load import parse_short
from core_mondrian.hierarchies.ranges import Ranges
from core_mondrian.hierarchies.tree import Hierarchy

TEXTS = st.lists(st.text("ab01.", max_size=5), unique=True, max_size=12)
NUMBERS = st.lists(
    st.one_of(st.integers(-50, 150), st.decimals(-50, 150, places=2)), max_size=12
)


def paths(tree: Hierarchy) -> Iterator[tuple[str, ...]]:
    """The labels over each leaf, from the leaf up, by walking."""
    parents = tree.parents.tolist()
    for leaf in tree.leaf_nodes.tolist():
        node, path = leaf, []
        while node >= 0:
            path.append(tree.labels[node])
            node = parents[node]
        yield tuple(path)


def check_tree(tree: Hierarchy) -> None:
    """Every leaf has one path, and covers lie within each other."""
    found = list(paths(tree)) if tree.n_leaves else []
    assert len({path[0] for path in found}) == len(found)
    assert {path[-1] for path in found} <= {"*"}
    parents = tree.parents[1:]
    assert (tree.low[parents] <= tree.low[1:]).all()
    assert (tree.high[1:] <= tree.high[parents]).all()


@given(TEXTS, st.integers(1, 3), st.sampled_from(["right", "left"]))
def test_prefix_shows_how_every_code_begins(texts: Any, step: int, pad: Any) -> None:
    tree = Prefix(step, pad=pad).build(texts)

    check_tree(tree)
    assert sorted(tree.leaves) == sorted(texts)
    longest = max(map(len, texts), default=0)
    for leaf, *over, _ in paths(tree) if texts else ():
        whole = leaf if pad == "right" else leaf.rjust(longest, "0")
        for label in over:
            assert len(label) == longest
            assert whole.startswith(label.rstrip("*")[: len(whole)])


@given(TEXTS, st.integers(1, 3), st.sampled_from(["right", "left"]))
def test_redaction_keeps_the_length(texts: Any, step: int, side: Any) -> None:
    tree = Redact(step, side=side, sign="x").build(texts)

    check_tree(tree)
    for leaf, *over, _ in paths(tree) if texts else ():
        for label in over:
            assert len(label) == len(leaf)
            assert all(a in (b, "x") for a, b in zip(label, leaf, strict=True))


@given(NUMBERS, st.sampled_from([(5,), (5, 10, 20), (0.5, 1, 10)]))
def test_every_number_lies_in_the_ranges_over_it(numbers: Any, widths: Any) -> None:
    tree = Ranges(widths, below=-20, above=90).build(numbers)

    check_tree(tree)
    assert len(tree.leaves) == len({str(n) for n in numbers})
    for leaf, *over, _ in paths(tree) if numbers else ():
        for label in over:
            assert lies_in(Fraction(leaf), label)


def lies_in(number: Fraction, label: str) -> bool:
    if label.startswith("< "):
        return number < Fraction(label[2:])
    if label.startswith("≥ "):
        return number >= Fraction(label[2:])
    low, high = label[1:-1].split(", ")
    return Fraction(low) <= number < Fraction(high)


def test_ranges_are_cut_off_at_the_ends() -> None:
    tree = Ranges((10,), below=18, above=65).build([17, 18, 19, 64, 65, 99])

    assert [path[1] for path in paths(tree)] == [
        *("< 18", "[18, 20)", "[18, 20)", "[60, 65)", "≥ 65", "≥ 65")
    ]


def test_bounds_of_ones_own() -> None:
    tree = Ranges(bounds=((0, 18, 65), (18,))).build([-1, 5, 18, 70])

    assert list(paths(tree)) == [
        ("-1", "< 0", "< 18", "*"),
        ("5", "[0, 18)", "< 18", "*"),
        ("18", "[18, 65)", "≥ 18", "*"),
        ("70", "≥ 65", "≥ 18", "*"),
    ]


def test_what_is_no_number_is_left_out() -> None:
    tree = Ranges((10,)).build(["7", "n/a", "1/2", "1e999999999", "inf", "8.5"])

    assert tree.leaves == ("7", "8.5")


@given(st.lists(st.one_of(st.dates(), st.datetimes()), max_size=8))
def test_every_date_lies_under_its_year(dates: Any) -> None:
    tree = Dates().build([str(date) for date in dates])

    check_tree(tree)
    for leaf, *over, _ in paths(tree) if dates else ():
        year, month = int(leaf[:4]), int(leaf[5:7])
        assert over[-1] == f"{year // 10:03d}0s"
        assert over[-2] == leaf[:4]
        assert over[-3] == f"{leaf[:4]}-Q{(month - 1) // 3 + 1}"
        assert over[-4] == leaf[:7]


def test_a_day_is_no_level_over_days() -> None:
    days = [dt.date(2024, 3, 9), dt.date(2024, 5, 1)]

    assert len(Dates(("day", "month")).build(days).levels) == 3
    times = ["2024-03-09 10:00:00", "2024-03-09 11:00:00+0100", "03:04:00"]
    tree = Dates(("day", "month")).build(times)
    assert next(paths(tree))[1:] == ("2024-03-09", "2024-03", "*")
    assert len(tree.leaves) == 2


def test_lookup_and_grouping_keep_what_the_column_has() -> None:
    lookup = Lookup(
        {"cat": ("beast", "pet"), "cow": ("beast", "pet"), "hen": ("bx", "pet")}
    )
    grouping = Grouping({"beast": ["cat", "cow"], "bird": {"tame": ["hen"]}})

    assert list(paths(lookup.build(["hen", "cat", "bat"]))) == [
        ("cat", "beast", "pet", "*"),
        ("hen", "bx", "pet", "*"),
    ]
    assert list(paths(grouping.build(["hen", "cow"]))) == [
        ("cow", "beast", "*"),
        ("hen", "tame", "bird", "*"),
    ]
    assert grouping.build(["bat"]).n_leaves == 0
    assert "hen" not in str(grouping.to_json())


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: Prefix(0), id="no step"),
        pytest.param(lambda: Prefix(()), id="no steps"),
        pytest.param(lambda: Prefix(lengths=(1, 3)), id="lengths rise"),
        pytest.param(lambda: Prefix(2, lengths=(3,)), id="steps and lengths"),
        pytest.param(lambda: Prefix(sign="**"), id="two signs"),
        pytest.param(lambda: Prefix(pad="top"), id="no side"),  # type: ignore[arg-type]
        pytest.param(lambda: Redact(side="top"), id="no side of it"),  # type: ignore[arg-type]
        pytest.param(Ranges, id="nothing"),
        pytest.param(lambda: Ranges((5, 12)), id="not nested"),
        pytest.param(lambda: Ranges((5, 5)), id="the same"),
        pytest.param(lambda: Ranges((0,)), id="no width"),
        pytest.param(lambda: Ranges((float("inf"),)), id="infinite"),
        pytest.param(lambda: Ranges((5,), bounds=((1,),)), id="both"),
        pytest.param(lambda: Ranges((5,), below=9, above=9), id="nothing between"),
        pytest.param(lambda: Ranges(bounds=((1, 2), (3,))), id="a bound of its own"),
        pytest.param(lambda: Ranges(bounds=((2, 1),)), id="falling"),
        pytest.param(lambda: Ranges(bounds=((1,),), below=1), id="bounds and below"),
        pytest.param(lambda: Dates(("year", "month")), id="coarse first"),
        pytest.param(lambda: Dates(("week",)), id="weeks"),
        pytest.param(lambda: Learned(1), id="one child"),
        pytest.param(lambda: Lookup({}), id="no table"),
    ],
)
def test_parameters_that_cannot_be_are_refused(make: Any) -> None:
    with pytest.raises(SpecError):
        make()


@pytest.mark.parametrize(
    "builder",
    [
        *(Flat(), Ranges((5, 10)), Dates(), Prefix(), Redact()),
        *(Learned(), Lookup({"a": "b"})),
    ],
    ids=lambda builder: builder.kind,
)
def test_no_values_make_an_empty_tree(builder: Builder) -> None:
    tree = builder.build([])

    assert tree.n_leaves == 0
    assert tree.with_leaves(("a", "b")).leaves == ("a", "b")
    assert builder.to_json()["kind"] == builder.kind


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("flat", {"kind": "flat"}),
        ("prefix", {"kind": "prefix"}),
        ("prefix:2", {"kind": "prefix", "steps": 2}),
        ("prefix:2,3", {"kind": "prefix", "steps": [2, 3]}),
        ("ranges:0.5,5", {"kind": "ranges", "widths": [0.5, 5]}),
        ("dates:month,year", {"kind": "dates", "levels": ["month", "year"]}),
        ("redact", {"kind": "redact"}),
        ("learned", {"kind": "learned"}),
        ("learned:a,b", {"kind": "learned", "columns": ["a", "b"]}),
        ("lookup:x.csv", {"kind": "lookup", "file": "x.csv"}),
        ("zip.csv", None),
    ],
)
def test_short_forms(text: str, asked: Any) -> None:
    assert parse_short(text) == asked


def test_short_forms_that_cannot_be_read_are_refused() -> None:
    with pytest.raises(SpecError, match="numbers"):
        parse_short("prefix:two")
    with pytest.raises(SpecError, match="nothing"):
        parse_short("flat:2")
