"""Files: what is written is read back, and what is no tree is refused by its place."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core_mondrian import DataError, SpecError
from core_mondrian.hierarchies.groups import Lookup
from core_mondrian.hierarchies.read import read_hierarchy
from core_mondrian.hierarchies.tree import Hierarchy, flat, from_paths, lay_out
from core_mondrian.spec.hierarchy_files import paths_of, write_hierarchy

SUFFIXES = (".csv", ".json", ".toml")
LABELS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"),
    min_size=1,
    max_size=4,
).filter(lambda text: bool(text.strip()))
NASTY = "a;b\", '\n#=[]{}*\u2028é"


@st.composite
def even_trees(draw: Any) -> Hierarchy:
    """Trees with all values at one depth, and labels of any characters."""
    leaves = draw(st.lists(LABELS.map(str.strip), min_size=1, max_size=8, unique=True))
    depth = draw(st.integers(1, 3))
    rows = []
    for leaf in leaves:
        group = [draw(st.integers(0, 1)) for _ in range(depth)]
        over = [f"{NASTY}{group[: i + 1]}" for i in range(depth)]
        rows.append((leaf, *reversed(over), "*"))
    return from_paths(rows)


@st.composite
def uneven_trees(draw: Any) -> Hierarchy:
    """Trees of any shape."""
    n = draw(st.integers(2, 12))
    parents = [-1, *(draw(st.integers(0, i - 1)) for i in range(1, n))]
    return lay_out([f"n{i}" for i in range(n)], np.array(parents))


def check_same(one: Hierarchy, two: Hierarchy) -> None:
    assert one.labels == two.labels
    for name in ("low", "high", "first_child", "n_children"):
        assert np.array_equal(getattr(one, name), getattr(two, name))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(even_trees(), st.sampled_from(SUFFIXES))
def test_even_trees_come_back(tmp_path: Path, tree: Hierarchy, suffix: str) -> None:
    file = tmp_path / f"tree{suffix}"

    write_hierarchy(tree, file, overwrite=True)

    check_same(read_hierarchy(file), tree)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(uneven_trees(), st.sampled_from([".json", ".toml"]))
def test_uneven_trees_come_back(tmp_path: Path, tree: Hierarchy, suffix: str) -> None:
    file = tmp_path / f"tree{suffix}"

    write_hierarchy(tree, file, overwrite=True)

    check_same(read_hierarchy(file), tree)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(uneven_trees())
def test_rows_of_uneven_trees_are_filled_up(tmp_path: Path, tree: Hierarchy) -> None:
    file = tmp_path / "tree.csv"

    write_hierarchy(tree, file, overwrite=True)
    found = read_hierarchy(file)

    assert found.leaves == tree.leaves
    over = [dict.fromkeys(path) for path in paths_of(tree)]
    assert [dict.fromkeys(path) for path in paths_of(found)] == over
    assert found.sizes[0] == tree.sizes[0]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("cat;beast;*\nhen;bird;*\n", id="semicolons"),
        pytest.param("cat,beast,*\nhen,bird,*\n", id="commas"),
        pytest.param('"cat","beast","*"\r\n"hen","bird","*"\r\n', id="quoted"),
        pytest.param("\ufeffcat ; beast;*\r\n\r\nhen;\t bird;*", id="bom, blanks"),
        pytest.param('"cat"; "beast"; *\nhen; bird; *\n', id="quotes after spaces"),
    ],
)
def test_csv_is_read_in_many_forms(text: str, tmp_path: Path) -> None:
    file = tmp_path / "pets.csv"
    file.write_bytes(text.encode())

    assert read_hierarchy(file).labels == ("*", "beast", "bird", "cat", "hen")


def test_commas_in_labels_stay_where_semicolons_part(tmp_path: Path) -> None:
    file = tmp_path / "pets.csv"
    file.write_text("cat, tame;beast;*\nhen, wild;bird;*\n")
    assert read_hierarchy(file).leaves == ("cat, tame", "hen, wild")

    file.write_text('"cat; tame",beast,*\n"hen; wild",bird,*\n')
    assert read_hierarchy(file).leaves == ("cat; tame", "hen; wild")


NESTED = {"*": {"beast": ["cat", {"small": ["rat", 7]}], "bird": ["hen"]}}


def test_nested_json_and_toml_say_the_same(tmp_path: Path) -> None:
    one, two = tmp_path / "a.json", tmp_path / "a.toml"
    one.write_text(json.dumps(NESTED))
    two.write_text('["*"]\nbeast = ["cat", { small = ["rat", 7] }]\nbird = ["hen"]\n')

    check_same(read_hierarchy(one), read_hierarchy(two))
    assert read_hierarchy(one).leaves == ("cat", "rat", "7", "hen")


def nodes(**changes: Any) -> dict[str, Any]:
    """A tree as the reference writes it, with nodes changed or, if None, gone."""
    found = {
        "r": ["*", None, 9.0, ["a", "b"]],
        "a": ["cat", "r", 0.0, []],
        "b": ["hen", "r", 0.0, []],
        **changes,
    }
    kept = {key: node for key, node in found.items() if node is not None}
    return {"root_nid": "r", "nodes": kept}


def test_tree_of_the_reference_is_read(tmp_path: Path) -> None:
    file = tmp_path / "tree.json"
    whole = nodes(a=[1, "r", float("nan"), []])
    file.write_text(json.dumps({**whole, "value_to_leaf_node_nid": {"1": "a"}}))

    check_same(read_hierarchy(file), flat(["1", "hen"]))


@pytest.mark.parametrize(
    ("suffix", "text", "told"),
    [
        pytest.param(".csv", "secret;*\n\nb;x;*\n", "line 3: 3 levels", id="uneven"),
        pytest.param(".csv", "secret;*\nb;+\n", "line 2: another root", id="roots"),
        pytest.param(".csv", "secret;;*\n", "line 1: an empty label", id="empty"),
        pytest.param(".csv", "s;a;*\n\nt;b;*\ns;b;*\n", "line 4: the same", id="twice"),
        pytest.param(
            *(".csv", "s;a;x;*\nt;a;y;*\n", "line 2: a label with two parents"),
            id="parents",
        ),
        pytest.param(".csv", 's;"secret\n', "line 1: a quote", id="quote"),
        pytest.param(".csv", "secret\nb\n", "one level", id="no root"),
        pytest.param(".csv", "", "no rows", id="nothing"),
        pytest.param(
            ".json", '{"*": ["secret", "secret"]}', "item 1.2: the same", id="x"
        ),
        pytest.param(".json", '{"*": ["a"], "+": ["secret"]}', "one root", id="two"),
        pytest.param(".json", '{"*": {"a": []}}', "item 1.1: nothing below", id="bare"),
        pytest.param(".json", '{"*": {"a": "secret"}}', "item 1.1: neither", id="word"),
        pytest.param(
            ".json", '{"*": ["secret", ""]}', "item 1.2: an empty", id="blank"
        ),
        pytest.param(
            ".json", '{"*": ["secret", null]}', "item 1.2: a label", id="null"
        ),
        pytest.param(
            *(".json", '{"*": {"a": {"x": ["s"]}, "b": {"x": ["t"]}}}', "two parents"),
            id="label with two parents",
        ),
        pytest.param(
            ".json", '{"*": {"a": ["s"], "a": ["t"]}}', "a label twice", id="k"
        ),
        pytest.param(".json", '{"*":\n["secret"', "line 2: not JSON", id="not json"),
        pytest.param(".json", "[" * 99_999, "nested too deeply", id="deep"),
        pytest.param(".toml", '"*" = ["secret"\nb', "not TOML (at line", id="not toml"),
        pytest.param(".toml", "a = 1", "item 1: neither", id="number"),
    ],
)
def test_what_is_no_tree_is_refused_by_place(
    suffix: str, text: str, told: str, tmp_path: Path
) -> None:
    file = tmp_path / f"tree{suffix}"
    file.write_text(text)

    with pytest.raises(DataError) as caught:
        read_hierarchy(file)

    assert told in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        pytest.param({"a": ["cat", "b", 0, []]}, "names another parent", id="parent"),
        pytest.param({"b": ["hen", "r", 0, ["a"]]}, "two parents", id="two parents"),
        pytest.param({"b": ["hen", "r", 0, ["r"]]}, "two parents", id="up to the root"),
        pytest.param({"c": ["cow", "c", 0, ["c"]]}, "in a circle", id="circle"),
        pytest.param({"c": ["cow", None, 0, []]}, "under another root", id="roots"),
        pytest.param({"b": None}, "not there", id="absent"),
        pytest.param({"b": ["cat", "r", 0, []]}, "node 3: the same leaf", id="twice"),
        pytest.param({"b": ["", "r", 0, []]}, "node 3: an empty", id="empty"),
        pytest.param({"b": ["hen", "r", 0]}, "node 3: not [value", id="short"),
        pytest.param({"r": ["*", None, 5, ["a", "b"]]}, "10**level - 1", id="sizes"),
    ],
)
def test_nodes_that_are_no_tree_are_refused(
    changes: dict[str, Any], told: str, tmp_path: Path
) -> None:
    file = tmp_path / "tree.json"
    file.write_text(json.dumps(nodes(**changes)))

    with pytest.raises(DataError) as caught:
        read_hierarchy(file)

    assert told in str(caught.value)


def test_lookup_file_names_the_line_of_a_second_group(tmp_path: Path) -> None:
    file = tmp_path / "lookup.csv"
    file.write_text("value,group\ncat,beast\nhen,bird\n")
    assert Lookup.read(file).build(["hen"]).labels == ("*", "bird", "hen")

    file.write_text("cat,beast\nhen,bird\ncat,bird\n")
    with pytest.raises(DataError, match="line 3: the same leaf"):
        Lookup.read(file)


def test_existing_files_and_other_suffixes_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "tree.csv"
    write_hierarchy(flat(["a", "b"]), file)
    before = file.read_bytes()

    with pytest.raises(SpecError, match="exists"):
        write_hierarchy(flat(["c"]), file)
    with pytest.raises(SpecError, match="unknown kind"):
        write_hierarchy(flat(["c"]), tmp_path / "tree.xml")
    with pytest.raises(SpecError, match="without values"):
        write_hierarchy(flat([]), tmp_path / "none.csv")

    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["tree.csv"]


def test_labels_that_rows_cannot_hold_are_refused(tmp_path: Path) -> None:
    mixed = lay_out(["*", "a", "b", "a"], np.array([-1, 0, 0, 2]))

    for tree in (flat([" a"]), mixed):
        with pytest.raises(SpecError, match=r"hint: write \.json"):
            write_hierarchy(tree, tmp_path / "tree.csv")


def write_tree(path: Path, n: int, depth: int) -> Path:
    """Write n leaves whose paths share what is above them, three by three."""
    rows = []
    for i in range(n):
        over = [f"{level}-{i // 3**level}" for level in range(1, min(depth - 1, 12))]
        rows.append((f"{i}", *over, *["+"] * (depth - len(over) - 2), "*"))
    path.write_text("".join(";".join(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("n", "depth"),
    [pytest.param(20_000, 12, id="wide"), pytest.param(20, 10_000, id="deep")],
)
def test_large_trees_are_read_and_written(n: int, depth: int, tmp_path: Path) -> None:
    tree = read_hierarchy(write_tree(tmp_path / "tree.csv", n, depth))

    assert tree.n_leaves == n
    assert np.isfinite(tree.sizes).all()
    write_hierarchy(tree, tmp_path / "again.json")
    check_same(read_hierarchy(tmp_path / "again.json"), tree)


def n_lines_to_read(file: Path) -> int:
    """Count the lines of Python that reading runs: a clock that no load disturbs."""
    n = 0

    def count(_frame: object, event: str, _arg: object) -> Any:
        nonlocal n
        n += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        _ = read_hierarchy(file).sizes
    finally:
        sys.settrace(before)
    return n


@pytest.mark.parametrize(
    ("once", "twice"),
    [
        pytest.param((500, 12), (1000, 12), id="wide"),
        pytest.param((20, 500), (20, 1000), id="deep"),
    ],
)
def test_twice_the_tree_is_twice_the_work(
    once: tuple[int, int], twice: tuple[int, int], tmp_path: Path
) -> None:
    # Paths that are compared in pairs would be four times the work.
    files = [
        write_tree(tmp_path / f"{at}.csv", *size)
        for at, size in enumerate((once, twice))
    ]

    lines = [n_lines_to_read(file) for file in files]

    assert lines[0] < lines[1] < 2.5 * lines[0]


def test_tree_of_ten_thousand_different_levels_has_sizes() -> None:
    tree = from_paths([("a", *(str(i) for i in range(10_000)), "*")])

    assert np.isfinite(tree.sizes).all()
    assert tree.sizes[0] > tree.sizes[1] > 0.0
