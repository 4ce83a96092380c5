"""What the policy `best` minimizes, and its scratch, as kernels take it."""

import numpy as np
from numpy.typing import NDArray

from core_mondrian.encode.table import EncodedColumn, EncodedTable
from core_mondrian.errors import InternalError
from core_mondrian.hierarchy import Hierarchy
from core_mondrian.kernels.block import split_found
from core_mondrian.kernels.calls import address_of
from core_mondrian.kernels.exact import find_exact_cuts
from core_mondrian.kernels.layout import (
    AIM,
    AIM_NODE,
    ANY,
    CANDIDATE,
    FOUND,
    GROUP,
    N_STAGES,
    NEAR,
    NODE,
    NODE_SHARE,
    POOLED_CLASS,
    RANGE,
    SEGMENT,
    TOTAL,
    VALUE_SET,
    Aims,
    Block,
    Codes,
    Fields,
    Finder,
    Models,
    Pool,
    Space,
    fields,
    join_fields,
    raw_fields,
)
from core_mondrian.kernels.regroup import regroup_classes
from core_mondrian.kernels.relax import find_best_place
from core_mondrian.kernels.solve import solve_records
from core_mondrian.partition.arrays import counts_size
from core_mondrian.spec import Spec

# Steps that a number's range is divided into for its standard deviation: whole numbers
# whose squares add up exactly, for as many rows as a table may have.
_LEVELS = 2**15 - 1
# The losses of all pairs of codes are tabled up to this many.
_LARGEST_TABLE = 2**16
# A histogram this long is scanned in a few milliseconds; longer codes are sorted.
_LONGEST_HISTOGRAM = 2**20
_LARGEST_JOINT = 2**16
MOST_NEIGHBOURS = 32
_BITS = 63


class _AimBuilder:
    """Collects what the columns lose, one after the other."""

    def __init__(self, table: EncodedTable, spec: Spec) -> None:
        self._table, self._spec = table, spec
        self.info = fields(len(table.columns), AIM)
        self.positions: list[NDArray[np.float64]] = [np.zeros(1)]
        self.levels: list[NDArray[np.int64]] = [np.zeros(1, dtype=np.int64)]
        self.shares: list[NDArray[np.float64]] = [np.zeros(1)]
        self.nodes: list[Fields] = [fields(1, AIM_NODE)]
        self._n_counts = self._n_words = 0
        # Only their proportions matter; so none is too large or too small to add up.
        self._heaviest = max(spec.weight_of(c.name) for c in table.columns)

    def add(self, i: int, column: EncodedColumn) -> None:
        aim = self.info[i]
        weight = self._spec.weight_of(column.name) / self._heaviest
        aim["weight"] = aim["impurity"] = weight
        aim["n_codes"] = column.n_values + 1
        aim["share_offset"] = -1
        if column.kind == "number":
            self._add_number(aim, column)
            return
        aim["count_offset"] = self._n_counts
        self._n_counts += column.n_values + 1
        tree = _tree(column)
        if self._spec.categories_of(column.name) == "set":
            n_present = np.count_nonzero(np.bincount(self._table.codes[:, i]))
            aim["kind"] = VALUE_SET
            aim["unit"] = aim["impurity"] = aim["weight"] / max(int(n_present) - 1, 1)
            aim["word"] = self._n_words
            self._n_words += -(-(column.n_values + 1) // _BITS)
        elif int(tree.n_children[0]) == tree.n_leaves:
            aim["kind"] = ANY
        else:
            self._add_tree(aim, tree)

    def _add_number(self, aim: Fields, column: EncodedColumn) -> None:
        aim["kind"], aim["impurity"] = RANGE, 0.5 * aim["weight"] / _LEVELS
        aim["value_offset"] = sum(part.size for part in self.positions)
        places = _places(column.values)
        self.positions.append(np.append(aim["weight"] * places, aim["weight"]))
        # A missing value is as far from all others as they are from each other.
        levels = np.append(np.rint(places * _LEVELS), 2 * _LEVELS)
        self.levels.append(levels.astype(np.int64))

    def _add_tree(self, aim: Fields, tree: Hierarchy) -> None:
        aim["kind"] = NODE_SHARE
        aim["node_offset"] = sum(part.size for part in self.nodes)
        nodes = _share_nodes(tree, float(aim["weight"]))
        self.nodes.append(nodes)
        if int(aim["n_codes"]) ** 2 <= _LARGEST_TABLE:
            aim["share_offset"] = sum(part.size for part in self.shares)
            self.shares.append(_share_table(nodes, int(aim["n_codes"])))


def build_aims(table: EncodedTable, spec: Spec) -> Aims:
    """Return the loss of each column, in the format it will be released in."""
    builder = _AimBuilder(table, spec)
    for i, column in enumerate(table.columns):
        builder.add(i, column)
    return Aims(
        info=builder.info,
        positions=np.concatenate(builder.positions),
        levels=np.concatenate(builder.levels),
        shares=np.concatenate(builder.shares),
        nodes=join_fields(builder.nodes),
        worth=np.empty(0, dtype=np.int32) if table.worth is None else table.worth,
    )


def _places(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return where each value lies between the first (0) and the last (1)."""
    if not values.size:
        return values
    halves = 0.5 * values  # the range itself may lie beyond the largest float
    width = halves[-1] - halves[0]
    if width == 0.0:
        return np.zeros(values.size)
    places: NDArray[np.float64] = (halves - halves[0]) / width
    return places


def _tree(column: EncodedColumn) -> Hierarchy:
    if column.hierarchy is None:
        raise InternalError("a category without a hierarchy")
    return column.hierarchy


def _share_nodes(tree: Hierarchy, weight: float) -> Fields:
    """Return a hierarchy's nodes, with one more leaf for missing values."""
    whole = tree.with_missing()
    nodes = fields(len(whole.labels), AIM_NODE)
    nodes["low"], nodes["high"] = whole.low, whole.high
    nodes["first"], nodes["n_children"] = whole.first_child, whole.n_children
    leaves = (whole.high - whole.low + 1) / tree.n_leaves
    nodes["share"] = weight * np.minimum(leaves, 1.0)
    return nodes


def _share_table(nodes: Fields, n_codes: int) -> NDArray[np.float64]:
    """Return the share of the lowest node over each pair of codes."""
    table = np.zeros((n_codes, n_codes))
    for node in np.argsort(nodes["low"] - nodes["high"], kind="stable"):  # widest first
        inside = slice(nodes["low"][node], nodes["high"][node] + 1)
        table[inside, inside] = nodes["share"][node]
    return table.ravel()


def build_space(records: Codes) -> Space:
    """Return records with scratch of the same length."""
    n = records.shape[0]
    return Space(
        records=records,
        spare=np.empty_like(records),
        keys=np.empty(n, dtype=np.int64),
        ranks=np.empty(n, dtype=np.int64),
        groups=raw_fields(n, GROUP),
        ordered=raw_fields(n, GROUP),
        candidates=raw_fields(3 * n, CANDIDATE),
        codes=np.empty(n, dtype=np.int32),
        worth=np.empty(n, dtype=np.int32),
    )


def build_finder(
    table: EncodedTable, aims: Aims, models: Models, *, regroups: bool
) -> Finder:
    """Return one thread's scratch, with the kernels compiled that it will call."""
    n_columns = len(table.columns)
    n_counts = sum(c.n_values + 1 for c in table.columns if c.kind == "category")
    n_sensitive = counts_size(table)
    longest = max(column.n_values + 2 for column in table.columns)

    def zeros(n: int) -> NDArray[np.int64]:
        return np.zeros(n, dtype=np.int64)

    finder = Finder(
        *(0, 0, 0, 0, 0),
        totals=fields(n_columns, TOTAL),
        active=np.zeros(n_columns, dtype=np.int32),
        found=fields(n_columns + 1, FOUND),
        histogram=zeros(min(longest, _LONGEST_HISTOGRAM)),
        joint=zeros(_LARGEST_JOINT),
        counts=zeros(n_counts),
        side=zeros(n_counts),
        all_counts=zeros(n_sensitive),
        side_counts=zeros(n_sensitive),
        rest_counts=zeros(n_sensitive),
        apart=zeros(2 * n_columns),
        funnel=np.zeros((N_STAGES, n_columns), dtype=np.int64),
    )
    return _with_addresses(finder, table, aims, models, regroups=regroups)


def _with_addresses(
    finder: Finder,
    table: EncodedTable,
    aims: Aims,
    models: Models,
    *,
    regroups: bool,
) -> Finder:
    width = table.codes.shape[1] + 2
    block = build_block(1, width, len(table.columns))
    space = block.main
    solve = (block, aims, models, finder, 0, 0, 0.0, False, False, False)
    place = (space, block.before, block.after, aims, models, finder, 0, 0, 0)
    regroup = 0
    if regroups:
        pool = build_pool(1, 1, width, aims)
        arguments = (pool, block, aims, models, finder, 0, 0, 0)
        regroup = address_of(regroup_classes, arguments)
    cuts = (space, aims, models, finder, 0, 0, 0, 0.0)
    return finder._replace(
        find_cuts=address_of(find_exact_cuts, cuts),
        split=address_of(split_found, (space, finder, 0, 0, 0)),
        find_place=address_of(find_best_place, place),
        solve=address_of(solve_records, solve),
        regroup=regroup,
    )


def build_block(room: int, width: int, n_columns: int) -> Block:
    """Return the scratch for blocks of up to ``room`` records."""

    def records() -> Codes:
        return np.empty((room, width), dtype=np.int32)

    return Block(
        main=build_space(records()),
        trial=build_space(records()),
        out=records(),
        nodes=raw_fields(2 * room + 2, NODE),
        stack=raw_fields(2 * room + 2, SEGMENT),
        plans=fields(n_columns, FOUND),
        before=np.empty(room),
        after=np.empty(room),
        room=np.zeros(2, dtype=np.int64),
    )


def build_pool(room: int, n_classes: int, width: int, aims: Aims) -> Pool:
    """Return the scratch for regrouping."""
    sets = aims.info[aims.info["kind"] == VALUE_SET]
    n_words = int((-(-sets["n_codes"] // _BITS)).sum())

    def boxes() -> Codes:
        return np.empty((n_classes, aims.info.size), dtype=np.int32)

    return Pool(
        records=np.empty((room, width), dtype=np.int32),
        next=np.empty(room, dtype=np.int32),
        classes=raw_fields(n_classes, POOLED_CLASS),
        low=boxes(),
        high=boxes(),
        bits=np.empty((n_classes, n_words), dtype=np.int64),
        near=raw_fields(MOST_NEIGHBOURS + 1, NEAR),
    )
