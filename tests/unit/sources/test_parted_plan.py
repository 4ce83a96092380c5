"""A plan that stays on disk releases what a plan in memory does."""

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.partition_store import SPECS, tables, without_tuples
from test_tuple_store import opened

from core_mondrian import BestPolicy, KAnonymity, PaperPolicy, Spec, Suppression
from core_mondrian.encoding.encoder import collapse, encode, input_digest
from core_mondrian.errors import InfeasibleError
from core_mondrian.measures.utility import measure
from core_mondrian.recoding.plan import DIVIDED, Plan, build_plan
from core_mondrian.runtime.stages import Stages
from core_mondrian.sources.parted_plan import PartedPlan, make_parted_plan
from core_mondrian.tables.frames import open_frame
from core_mondrian.tables.keys import Key

KEY = Key(b"a key of sixteen bytes or more", is_given=True)
BEST = Spec(("a", "b", "c"), (KAnonymity(2),), policy=BestPolicy(), inline_below=6)
PAPER = replace(BEST, policy=PaperPolicy(), suppress=Suppression(rows=4))
FORMATS = (
    *(replace(BEST, numbers=how) for how in ("mean", "median", "midpoint", "sample")),
    replace(BEST, numbers="bounds", class_id="class"),
    replace(BEST, numbers="struct", nice=True),
    replace(BEST, nice=True, categories="set"),
    replace(PAPER, suppressed="blank", class_id="class"),
    replace(PAPER, suppressed="blank", nice=True, missing="pattern"),
)


def rows_of(shown: list[Any], tuples: Any, leaves: Any, rows: Any) -> Any:
    """Return what each tuple's rows show, and how many of them."""
    return sorted(
        (int(t), None if leaf == -1 else str(shown[leaf]), int(n))
        for t, leaf, n in zip(tuples, leaves, rows, strict=True)
        if n
    )


def of_memory(plan: Plan) -> Any:
    pieces = plan.tuple_of_piece, plan.leaf_of_piece, plan.pieces.counts
    return rows_of(plan.shown.to_pylist(), *pieces)


def of_parts(plan: PartedPlan, counts: Any) -> Any:
    leaf = np.asarray(plan.leaf)
    whole = np.flatnonzero(leaf != DIVIDED)
    shares = plan.shares
    return rows_of(
        plan.show(np.arange(plan.n_leaves, dtype=np.int32)).to_pylist(),
        np.concatenate([whole, shares.tuple_of]),
        np.concatenate([leaf[whole], shares.leaf]),
        np.concatenate([counts[whole], shares.rows]),
    )


@pytest.mark.parametrize("spec", [*SPECS, *FORMATS])
@settings(max_examples=5)
@given(table=tables(), task_tuples=st.integers(1, 30))
def test_both_release_the_same(spec: Spec, table: pa.Table, task_tuples: int) -> None:
    encoded = collapse(encode(open_frame(table), spec))
    try:
        expected = build_plan(encoded, spec, KEY, threads=1)
    except InfeasibleError:
        return
    known = replace(encoded, table=without_tuples(encoded.table))
    with opened(encoded.table, task_tuples) as store:
        found = make_parted_plan(store, known, spec, KEY, Stages(None))

        assert found.digest == expected.digest
        assert of_parts(found, encoded.table.counts) == of_memory(expected)
        assert (found.n_suppressed, found.budget, found.n_rows) == (
            *(expected.n_suppressed, expected.budget, expected.n_rows),
        )
        assert found.places(table.column_names) == expected.places(table.column_names)
        none = np.zeros(0, dtype=np.int32)
        assert found.show(none).schema.types == expected.shown.schema.types
        if spec.unit is None:  # else persons have been exchanged
            shares = found.shares.content, found.shares.rows
            ours = expected.shares.content, expected.shares.rows
            assert [x.tolist() for x in shares] == [x.tolist() for x in ours]
        salt, digests = found.salted_digests
        assert digests == {"input": input_digest(encoded, salt)}
        lost = measure(expected.pieces, expected.recoded.classes, spec)
        if not spec.nice:  # else classes of several parts may show the same
            same_measures(asdict(found.measures), asdict(lost))


def same_measures(found: dict[str, Any], expected: dict[str, Any]) -> None:
    for name, value in expected.items():
        if name == "columns":
            for one, two in zip(found[name], value, strict=True):
                same_measures(one, two)
        elif name not in ("ilm", "pearson", "nmi_v1", "nmi_v2", "nmi_scaled_v1"):
            close = value if isinstance(value, str | None) else pytest.approx(value)
            assert found[name] == close, name
