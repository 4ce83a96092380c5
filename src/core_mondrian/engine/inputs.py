"""The engine's inputs as the arrays that compiled code takes."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core_mondrian.engine.constraints import Constraints, column_of
from core_mondrian.engine.layout import (
    CATEGORY,
    COLUMN,
    HIERARCHY_NODE,
    NUMBER,
    PART,
    RULE,
    RUN,
    Columns,
    Fields,
    Models,
    Policy,
    Tuples,
    fields,
    join_fields,
    raw_fields,
)
from core_mondrian.engine.nodes import fill_records
from core_mondrian.engine.paper.breakout import breakout_thresholds
from core_mondrian.hierarchies.tree import Hierarchy
from core_mondrian.models.own_measures import measure_of
from core_mondrian.spec.declaration import Spec
from core_mondrian.spec.policies import OriginalPolicy, PaperPolicy
from core_mondrian.tables.encoded import INSIDE, EncodedColumn, EncodedTable


def build_tuples(
    codes: NDArray[np.int32], counts: NDArray[np.int64], order: NDArray[np.int64]
) -> Tuples:
    """Return the tuples in ``order`` as records, with scratch of the same length."""
    n, n_codes = codes.shape
    records = np.empty((n, n_codes + 2), dtype=np.int32)
    fill_records(codes, counts, order, records)
    return with_scratch(records)


def with_scratch(records: NDArray[np.int32]) -> Tuples:
    """Return records with scratch of the same length, not yet written."""
    n = len(records)
    return Tuples(
        records=records,
        spare=np.empty_like(records),
        keys=np.empty(n, dtype=np.int64),
        runs=raw_fields(n, RUN),
        parts=raw_fields(n, PART),
    )


def build_columns(table: EncodedTable, spec: Spec) -> Columns:
    """Return what the codes stand for, column after column."""
    columns = table.columns
    paper = spec.policy if isinstance(spec.policy, PaperPolicy) else PaperPolicy()
    trees = [
        fields(0, HIERARCHY_NODE) if c.hierarchy is None else _tree_nodes(c.hierarchy)
        for c in columns
    ]
    values = [column.values for column in columns]
    domains = [
        _percentile_domains(column, table.code_rows(i), paper.tails)
        for i, column in enumerate(columns)
    ]
    info = fields(len(columns), COLUMN)
    info["kind"] = [NUMBER if c.kind == "number" else CATEGORY for c in columns]
    info["n_values"] = [c.n_values for c in columns]
    info["width"] = [v[-1] - v[0] if v.size else 0.0 for v in values]
    info["breakout"] = breakout_thresholds(table, spec, paper)
    info["value_offset"] = _offsets([v.size for v in values])[:-1]
    info["node_offset"] = _offsets([tree.size for tree in trees])[:-1]
    return Columns(
        info=info,
        values=np.concatenate([*values, np.zeros(1)]),
        domains=np.array(domains, dtype=np.float64),
        nodes=join_fields([*trees, fields(1, HIERARCHY_NODE)]),
    )


def _offsets(sizes: list[int]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))).astype(np.int64)


def _tree_nodes(hierarchy: Hierarchy) -> Fields:
    """Return a hierarchy's nodes with one more leaf for missing values."""
    tree = hierarchy.with_missing()
    nodes = fields(len(tree.labels), HIERARCHY_NODE)
    nodes["low"], nodes["high"] = tree.low, tree.high
    nodes["first"], nodes["n_children"] = tree.first_child, tree.n_children
    nodes["node_size"] = tree.sizes
    return nodes


def _percentile_domains(
    column: EncodedColumn, rows: NDArray[np.int64], tails: tuple[float, ...]
) -> NDArray[np.float64]:
    """Return [percentile(tail), percentile(100 - tail)] of the values, per tail.

    ``rows`` are those of each code.
    """
    total = int(rows[: column.n_values].sum())
    # Values that a series has shown before may be in no row of the table.
    if column.kind != "number" or total == 0:
        return np.zeros((len(tails), 2))
    seen = np.cumsum(rows[: column.n_values])

    def percentile(percent: float) -> float:
        rank = percent / 100.0 * (total - 1)
        below = int(rank)
        at = int(np.searchsorted(seen, below, side="right"))
        above = int(np.searchsorted(seen, min(below + 1, total - 1), side="right"))
        lower, upper = column.values[at], column.values[above]
        return float(lower + (upper - lower) * (rank - below))

    return np.array([[percentile(t), percentile(100.0 - t)] for t in tails])


def build_models(table: EncodedTable, spec: Spec, constraints: Constraints) -> Models:
    """Return the privacy models and what they measure."""
    # Rows outside the table have no sensitive value, and one more place for it.
    n_extra = 0 if table.present is None else 1
    offsets = _offsets([column.n_values + n_extra for column in table.sensitive])
    ruled = [(m, f) for m in spec.models if (f := type(m).measure) is not None]
    rules = fields(len(ruled), RULE)
    parameters = []
    for i, (model, _) in enumerate(ruled):
        labels: Sequence[object] = ()
        at = column_of(model, table)
        if at is not None:
            labels = table.sensitive[at].labels
            rules["first_count"][i] = offsets[at]
            rules["last_count"][i] = offsets[at + 1] - n_extra
        rules["least"][i], rules["most"][i] = model.limits().edges
        rules["skips_missing"][i] = model.skips_missing
        parameters.append(np.array(model.bind(labels), dtype=np.float64))
    edges = _offsets([p.size for p in parameters])
    rules["first_parameter"], rules["last_parameter"] = edges[:-1], edges[1:]
    has_units = table.n_units is not None
    return Models(
        min_rows=constraints.min_rows,
        is_monotone=all(model.is_monotone for model in spec.models),
        has_rules=len(ruled) > 0 or has_units,
        has_units=has_units,
        present=-1 if table.present is None else int(offsets[table.present]) + INSIDE,
        n_counts=int(offsets[-1]),
        n_persons=table.n_units or 0,
        measures=tuple(measure_of(measure) for _, measure in ruled),
        rules=rules,
        parameters=np.concatenate([*parameters, np.zeros(1)]),
        table_counts=np.concatenate(
            [
                *(np.pad(x, (0, n_extra)) for x in constraints.table),
                np.zeros(1, np.int64),
            ]
        ),
        count_offset=offsets,
    )


def build_policy(table: EncodedTable, spec: Spec) -> Policy:
    """Return the cut policy's parameters in rows and codes."""
    policy = spec.policy
    paper = policy if isinstance(policy, PaperPolicy) else PaperPolicy()
    epsilon = paper.rilm_epsilon
    return Policy(
        epsilon=np.inf if epsilon is None else float(epsilon),
        # LeFevre's columns are tried one after the other.
        compete_rows=table.n_rows + 1
        if isinstance(policy, OriginalPolicy)
        else int(paper.compete_above * table.n_rows),
        use_median="median" in paper.cut_points,
        use_bin_edges="bin_edges" in paper.cut_points,
        use_lossless="lossless" in paper.cut_points,
        spends_inline=paper.spend == "as-written",
        bin_rows=int(paper.bin_edges_above * table.n_rows),
        max_edges=paper.max_bin_edges,
        min_bin_values=paper.min_bin_values,
        inline_below=spec.inline_below,
    )
