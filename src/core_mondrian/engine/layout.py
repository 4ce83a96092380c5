"""The arrays of the engine, grouped, named and typed once.

A partition is a slice [start, stop) of ``Tuples.records``; cutting it reorders the
slice. Every scratch array of ``Tuples`` is as long as ``records``, and a partition may
use its own slice of it, so threads on disjoint partitions never meet.

``layout.pxd`` beside it declares the same records and constants for compiled code.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from core_mondrian.engine.plain import IS_PLAIN
from core_mondrian.runtime import array_types

# The engine takes its types from here.
Codes: TypeAlias = array_types.Codes
Counts: TypeAlias = array_types.Counts
Floats: TypeAlias = array_types.Floats
Flags: TypeAlias = array_types.Flags
Fields = Any
"""An array of records with named fields; NumPy's types cannot name them."""

NUMBER, CATEGORY = range(2)
# How the loss of a column is counted: the range of its values, any difference, the
# share of leaves under the lowest common node, or the number of distinct values.
RANGE, ANY, NODE_SHARE, VALUE_SET = range(4)
CUT, CLASS, SUPPRESSED, QUEUED = range(4)
# What a part of a cut may be: it fails the models (and goes to the pool), passes
# them, or may pass once it is cut further.
FAILS, PASSES, MAY_PASS = range(3)
# Variants of a cut.
KEEP_BOTH, LOSE_LEFT, LOSE_RIGHT, POOLED, TOPPED_UP = range(5)
# Stages of the funnel, in order.
EXAMINED, CONSIDERED, PROPOSED, FINAL, ACCEPTED, ABANDONED, N_STAGES = range(7)
# Cuts of one column that a user's strategy may propose; of more, every so-manieth.
MOST_OWN_CUTS = 256
# The box of no record at all.
NOTHING_LOW, NOTHING_HIGH = 2**31 - 1, -1


def _fields(int64: str = "", int32: str = "", float64: str = "") -> np.dtype[np.void]:
    kinds = [(np.float64, float64), (np.int64, int64), (np.int32, int32)]
    pairs = [(name, kind) for kind, names in kinds for name in names.split()]
    return np.dtype(pairs, align=True)


RUN = _fields(int64="rows", int32="code")
PART = _fields(int64="rows mode", int32="low high state place")
NODE = _fields(
    int64="rows budget",
    int32="parent kind column cut_code first_child n_children start stop low high "
    "visit_order needs_cut",
)
FRAME = _fields(
    int64="left spent", int32="node attempt undo_mark queue_mark next_child"
)
COLUMN = _fields(
    float64="width breakout", int64="kind n_values value_offset node_offset"
)
# Not "size": that is an attribute of every record in NumPy.
HIERARCHY_NODE = _fields(float64="node_size", int32="low high first n_children")
RULE = _fields(
    float64="least most",
    int64="first_count last_count first_parameter last_parameter skips_missing",
)
BOX = _fields(int32="low high")
CHOICE = _fields(float64="score", int64="column")
AIM = _fields(
    float64="weight unit impurity",
    int64="kind n_codes value_offset share_offset node_offset count_offset word",
)
AIM_NODE = _fields(float64="share", int32="low high first n_children")
GROUP = _fields(
    int64="rows worth",
    int32="code first n begin end low high low_before high_before low_after high_after",
)
CANDIDATE = _fields(float64="loss", int64="rows worth", int32="first last")
FOUND = _fields(
    float64="loss gain", int64="rows side", int32="first last by_rows low high"
)
SEGMENT = _fields(int64="rows", int32="start stop node")
POOLED_CLASS = _fields(
    float64="loss farthest",
    int64="rows worth",
    int32="head n tried changed searched listed n_listed",
)
NEAR = _fields(float64="extra", int64="number")
SIDE = _fields(int64="number record gone rows worth")
TOTAL = _fields(int64="squares levels level_squares", int32="low high n_distinct")
PROPOSAL = _fields(float64="score", int64="column cut_code variant loss")


def fields(n: int, kind: np.dtype[np.void]) -> Fields:
    """Return ``n`` records, zeroed."""
    return as_fields(np.zeros(n, dtype=kind))


def blank_nodes(n: int) -> Fields:
    """Return ``n`` nodes without a parent, a cut or a code of their own."""
    nodes = fields(n, NODE)
    for name in ("parent", "first_child", "column", "cut_code", "low", "high"):
        nodes[name] = -1
    return nodes


def raw_fields(n: int, kind: np.dtype[np.void]) -> Fields:
    """Return ``n`` records, not yet written: an untouched page costs nothing."""
    return as_fields(np.empty(n, dtype=kind))


def as_fields(records: NDArray[np.void]) -> Fields:
    """Return records as the engine takes them.

    To the compiler fields are attributes anyway. To Python they are so only in a
    recarray, whose every use is slow: it is for an engine that is not compiled, and
    the rest of the engine writes ``records["rows"]``.
    """
    return records.view(np.recarray) if IS_PLAIN else records


def join_fields(parts: Sequence[Fields]) -> Fields:
    """Return records one after the other.

    They are copied as bytes: field by field, NumPy takes twenty times as long.
    """
    n = sum(part.size for part in parts)
    joined = as_fields(np.empty(n, dtype=parts[0].dtype))
    into, start = joined.view(np.uint8, np.ndarray), 0
    for part in parts:
        into[start : start + part.nbytes] = part.view(np.uint8, np.ndarray)
        start += part.nbytes
    return joined


class Tuples(NamedTuple):
    """The distinct tuples and scratch of the same length."""

    records: Codes
    """Per tuple: quasi-identifier codes, sensitive codes, rows, tuple number."""
    spare: Codes
    """Scratch for moving records."""
    keys: Counts
    """Scratch for sorting."""
    runs: Fields
    """A partition's distinct codes in one column, rising, with their rows."""
    parts: Fields
    """The parts of a category's cut."""


class Columns(NamedTuple):
    """What the codes of the quasi-identifiers stand for."""

    info: Fields
    values: Floats
    """Values of all number columns, one after the other."""
    domains: Floats
    """Per column and tail: lowest and highest value of the percentile domain."""
    nodes: Fields
    """Nodes of all hierarchies, one after the other."""


class Models(NamedTuple):
    """The privacy models, compiled."""

    min_rows: int
    """Rows of the smallest class, or persons where they are counted."""
    is_monotone: bool
    has_rules: bool
    """Whether the number of rows is not all there is to a class."""
    has_units: bool
    """Whether the last code of a record, before its rows, is a person."""
    present: int
    """Where rows of the table itself are counted, if a population is; else -1."""
    n_counts: int
    n_persons: int
    """How many persons there are in all; 0 if they are not counted."""
    measures: tuple[Any, ...]
    """What each rule measures."""
    rules: Fields
    parameters: Floats
    table_counts: Counts
    """Whole-table counts of the values of all sensitive columns."""
    count_offset: Counts
    """Where the counts of each sensitive column start, and where the last ends."""


class Policy(NamedTuple):
    """A cut policy's parameters, in rows."""

    epsilon: float
    compete_rows: int
    use_median: bool
    use_bin_edges: bool
    use_lossless: bool
    spends_inline: bool
    """Whether partitions that are solved in place may suppress rows."""
    bin_rows: int
    max_edges: int
    min_bin_values: int
    inline_below: int


class Objective(NamedTuple):
    """What the policy `best` minimizes: the loss of each column, as it is released.

    The loss of a row counts as often as the row is worth; all rows together are worth
    less than 2**31, like rows themselves.
    """

    info: Fields
    positions: Floats
    """Numbers: each value's place in its column's range, times the weight."""
    levels: Counts
    """Numbers: the same place as a whole number, for sums that cannot depend on
    their order."""
    shares: Floats
    """Categories: the loss of each pair of lowest and highest code."""
    nodes: Fields
    """Nodes of all hierarchies, one after the other."""
    worth: Codes
    """What one row of each tuple is worth; empty: 1 each."""


class Search(NamedTuple):
    """How the policy `best` searches."""

    effort: str
    """The effort taken, `auto` resolved."""
    beta: float
    """The weight of the impurity term."""
    block_rows: int
    """Partitions with fewer rows are blocks."""
    rolls_out: bool
    relaxes: bool
    width: int
    """How many neighbours a class is cut anew with; 0: no regrouping."""
    passes: int
    sweeps: int
    """How often each class is annealed after that; 0: not at all."""
    clusters: bool = False
    """Whether blocks are divided into clusters instead of cut."""
