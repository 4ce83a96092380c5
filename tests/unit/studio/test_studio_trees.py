"""Trees of the page: built as releases build them, edited as people drag values."""

import pytest

from core_mondrian.datasets import census
from core_mondrian.errors import MondrianError, SpecError
from core_mondrian.studio.actions import OpenedTable, make_release, open_table
from core_mondrian.studio.draft import Draft, draft_of
from core_mondrian.studio.trees import (
    MOST_SHOWN,
    add_group,
    as_entry,
    draw_nodes,
    find_tree,
    first_groups,
    groups_in,
    is_number,
    move,
    parse_entry,
    rename,
    typed_of,
)
from core_mondrian.tables.files.write import write_table


def quiet(_stage: str, _done: float) -> None:
    """Nobody watches."""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> OpenedTable:
    path = tmp_path_factory.mktemp("trees") / "people.csv"
    write_table(census(600), path)
    return open_table(path, "people.csv", quiet)


def draft(opened: OpenedTable) -> Draft:
    found = draft_of(opened.guesses)
    for name in found.columns_of("quasi-identifier"):
        if name not in ("age", "occupation", "zip_code"):
            found.roles[name] = "carried"
    return found


@pytest.mark.parametrize(
    ("name", "kind", "typed"),
    [
        ("zip_code", "prefix", "2"),
        ("age", "ranges", "5, 10"),
        ("age", "flat", ""),
        ("occupation", "learned", ""),
    ],
)
def test_the_tree_shown_is_the_one_that_is_released_with(
    opened: OpenedTable, name: str, kind: str, typed: str
) -> None:
    asked = draft(opened)
    asked.hierarchies[name] = parse_entry(kind, typed)

    tree = find_tree(opened, asked, name)

    run = make_release(opened, asked, 1, quiet)
    assert run.release.hierarchies[name].labels == tree.labels


def test_groups_dragged_together_are_what_the_release_shows(
    opened: OpenedTable,
) -> None:
    asked = draft(opened)
    asked.k = 30
    groups = first_groups(opened, asked, "occupation")
    values = sorted(value for _, group in groups for value in group)
    present = set(opened.table.column("occupation").to_pylist()) - {None}
    assert values == sorted(present)
    groups = [("work", values), ("rest", [])]
    for value in values[::2]:
        groups = move(groups, value, "rest")

    asked.hierarchies["occupation"] = as_entry(groups)

    shown = set(
        make_release(opened, asked, 1, quiet).release.data["occupation"].to_pylist()
    )
    assert shown & {"work", "rest"}
    assert shown <= {"work", "rest", "*", *values, None}


def test_moving_keeps_every_value_once_and_its_place() -> None:
    groups = [("a", ["x", "y", "z"]), ("b", ["w"])]

    assert move(groups, "y", "b", 0) == [("a", ["x", "z"]), ("b", ["y", "w"])]
    assert move(groups, "x", "a", 2) == [("a", ["y", "z", "x"]), ("b", ["w"])]
    assert move(groups, "x", "b") == [("a", ["y", "z"]), ("b", ["w", "x"])]


def test_names_of_groups_differ_from_each_other_and_from_values() -> None:
    groups = [("a", ["x"]), ("b", ["w"])]

    assert rename(groups, "a", "c") == [("c", ["x"]), ("b", ["w"])]
    for taken in ("b", "x", "*", " "):
        with pytest.raises(SpecError):
            rename(groups, "a", taken)
    assert add_group([("group 2", []), ("a", ["group 3"])])[-1] == ("group 4", [])


def test_empty_groups_are_not_written() -> None:
    entry = as_entry([("a", ["x"]), ("b", [])])

    assert groups_in(entry) == [("a", ["x"])]


def test_long_columns_are_not_dragged(opened: OpenedTable) -> None:
    with pytest.raises(MondrianError, match="too many"):
        first_groups(opened, draft(opened), "zip_code")


def test_large_trees_are_cut_where_they_say_so(opened: OpenedTable) -> None:
    asked = draft(opened)
    asked.hierarchies["zip_code"] = parse_entry("prefix", "")
    tree = find_tree(opened, asked, "zip_code")
    assert len(tree.labels) > MOST_SHOWN

    count = 0
    lacking = 0
    waiting = draw_nodes(tree)
    while waiting:
        node = waiting.pop()
        if str(node["id"]).startswith("more"):
            lacking += int(str(node["label"]).split()[1])
        else:
            count += 1
        waiting += node.get("children", [])

    assert count == MOST_SHOWN
    children_of_shown = int(tree.n_children[:MOST_SHOWN].sum())
    assert lacking == children_of_shown - (MOST_SHOWN - 1)


def test_what_is_typed_wrongly_is_told() -> None:
    with pytest.raises(SpecError, match="numbers"):
        parse_entry("ranges", "five")

    assert parse_entry("dates", "month, year")["levels"] == ["month", "year"]


@pytest.mark.parametrize(
    ("kind", "typed"),
    [
        ("flat", ""),
        ("prefix", ""),
        ("prefix", "2"),
        ("prefix", "2, 1"),
        ("ranges", "0.5, 5"),
        ("dates", "month, year"),
        ("learned", ""),
    ],
)
def test_what_was_typed_is_shown_again(kind: str, typed: str) -> None:
    assert typed_of(parse_entry(kind, typed)) == typed


@pytest.mark.parametrize(
    "entry",
    [
        {"kind": "ranges", "widths": [5], "below": 20},
        {"kind": "ranges", "bounds": [[1, 2]]},
        {"kind": "prefix", "pad": "left"},
        {"kind": "redact", "side": "left"},
    ],
)
def test_what_cannot_be_typed_is_left_alone(entry: dict[str, object]) -> None:
    assert typed_of(entry) is None


def test_groups_in_groups_are_not_dragged() -> None:
    assert groups_in({"groups": {"a": ["x"], "b": {"c": ["y"]}}}) is None


def test_numbers_are_told_from_text(opened: OpenedTable) -> None:
    assert is_number(opened, "age")
    assert not is_number(opened, "occupation")
