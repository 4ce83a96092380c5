"""The arrays kernels work on, grouped and named once.

A partition is a slice [start, stop) of ``Tuples.records``; cutting it reorders the
slice. Every scratch array of ``Tuples`` is as long as ``records``, and a partition may
use its own slice of it, so threads on disjoint partitions never meet.

Records with named fields rather than one array per field: every array that a kernel
is handed costs compile time, and this layout halved it.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
Fields = Any
"""An array of records with named fields; NumPy's types cannot name them."""

NUMBER, CATEGORY = range(2)
PAPER, ORIGINAL, AS_PUBLISHED = range(3)
CUT, CLASS, SUPPRESSED, QUEUED = range(4)
# What a part of a cut may be: it fails the models (and goes to the pool), passes
# them, or may pass once it is cut further.
FAILS, PASSES, MAY_PASS = range(3)
# Variants of a cut.
KEEP_BOTH, LOSE_LEFT, LOSE_RIGHT, POOLED, TOPPED_UP = range(5)
# Stages of the funnel, in order.
EXAMINED, CONSIDERED, PROPOSED, FINAL, ACCEPTED, ABANDONED, N_STAGES = range(7)


def _fields(int64: str = "", int32: str = "", float64: str = "") -> np.dtype[np.void]:
    kinds = [(np.float64, float64), (np.int64, int64), (np.int32, int32)]
    return np.dtype([(name, kind) for kind, names in kinds for name in names.split()])


RUN = _fields(int64="rows", int32="code")
PART = _fields(int64="rows mode", int32="low high state place")
NODE = _fields(
    int64="rows budget",
    int32="parent kind column at first_child n_children start stop low high turn open",
)
FRAME = _fields(int64="left spent", int32="node attempt mark queue_mark next")
COLUMN = _fields(
    float64="width breakout", int64="kind n_values value_offset node_offset"
)
HIERARCHY_NODE = _fields(float64="size", int32="low high first n_children")
RULE = _fields(int64="address column first_parameter last_parameter")
BOX = _fields(int32="low high")
CHOICE = _fields(float64="score", int64="column")
PROPOSAL = _fields(float64="score", int64="column at variant loss")


def fields(n: int, kind: np.dtype[np.void]) -> Fields:
    """Return ``n`` records, zeroed, whose fields are attributes."""
    return np.zeros(n, dtype=kind).view(np.recarray)


def raw_fields(n: int, kind: np.dtype[np.void]) -> Fields:
    """Return ``n`` records, not yet written: an untouched page costs nothing."""
    return np.empty(n, dtype=kind).view(np.recarray)


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
    is_monotone: bool
    rules: Fields
    parameters: Floats
    table_counts: Counts
    """Whole-table counts of the values of all sensitive columns."""
    count_offset: Counts


class Policy(NamedTuple):
    """A cut policy's parameters, in rows."""

    name: int
    epsilon: float
    compete_rows: int
    use_median: bool
    use_bin_edges: bool
    bin_rows: int
    max_edges: int
    min_bin_values: int
    inline_below: int


class Work(NamedTuple):
    """Scratch of one thread."""

    box: Fields
    choices: Fields
    proposals: Fields
    chosen: Fields
    """One record: the cut that was found."""
    histogram: Counts
    side_counts: Counts
    pool_counts: Counts
    all_counts: Counts
    funnel: Counts
