"""The tree is consistent with itself, read-only, and exports plainly."""

import json

import numpy as np
import pyarrow as pa
import pytest

from core_mondrian import KAnonymity, PaperPolicy, Spec, Suppression, anonymize
from core_mondrian.engine.layout import CLASS, CUT, SUPPRESSED
from core_mondrian.engine.tree import PartitionTree


@pytest.fixture(scope="module")
def tree() -> PartitionTree:
    rng = np.random.default_rng(2)
    table = pa.table(
        {
            "a": rng.integers(0, 30, 300),
            "b": [None if i % 9 == 0 else "pqrst"[i % 5] for i in range(300)],
        }
    )
    spec = Spec(
        ("a", "b"),
        (KAnonymity(4),),
        policy=PaperPolicy(),
        suppress=Suppression(rows=20),
        inline_below=50,
    )
    return anonymize(table, spec).tree


def test_children_partition_their_parent(tree: PartitionTree) -> None:
    for node in np.flatnonzero(tree.kind == CUT).tolist():
        first, n = int(tree.first_child[node]), int(tree.n_children[node])
        children = range(first, first + n)

        inside = [tree.order[tree.start[c] : tree.stop[c]] for c in children]

        own = tree.order[tree.start[node] : tree.stop[node]]
        assert sorted(np.concatenate(inside)) == sorted(own)
        assert tree.rows[first : first + n].sum() == tree.rows[node]
        assert tree.spent[first : first + n].sum() == tree.spent[node]
        assert (tree.parent[first : first + n] == node).all()
        assert n >= 2


def test_nodes_are_numbered_breadth_first(tree: PartitionTree) -> None:
    assert (np.diff(tree.depth) >= 0).all()
    assert (tree.parent < np.arange(tree.n_nodes)).all()


def test_nothing_spends_more_than_it_was_given(tree: PartitionTree) -> None:
    cuts = tree.kind == CUT
    assert (tree.spent[cuts] <= tree.budget[cuts]).all()
    assert tree.n_suppressed == tree.spent[tree.parent < 0].sum() <= 20


def test_leaves_hold_every_tuple_once(tree: PartitionTree) -> None:
    leaf = tree.leaf_of_tuple

    kinds = set(tree.kind[leaf].tolist())
    assert kinds <= {CLASS, SUPPRESSED}
    assert sorted(tree.order.tolist()) == list(range(leaf.size))
    assert tree.n_classes == len(set(leaf.tolist()) & set(tree.leaves.tolist()))


def test_arrays_cannot_be_written(tree: PartitionTree) -> None:
    with pytest.raises(ValueError, match="read-only"):
        tree.rows[0] = 1


def test_json_form_has_every_node(tree: PartitionTree) -> None:
    plain = json.loads(json.dumps(tree.to_json()))

    assert plain["columns"] == ["a", "b"]
    assert plain["digest"] == tree.digest
    assert {len(values) for values in plain["nodes"].values()} == {tree.n_nodes}
    assert plain["nodes"]["kind"].count("class") == tree.n_classes
