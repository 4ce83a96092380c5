"""Read and move records; the twin of ``records.pxd``, which compiled modules inline."""

from core_mondrian.engine.layout import Codes, Counts, Fields


def row(records: Codes, i: int) -> Codes:
    """Return one record, to read it and to write it."""
    record: Codes = records[i]
    return record


def copy_record(source: Codes, i: int, target: Codes, j: int) -> None:
    """Write ``source[i]`` over ``target[j]``."""
    target[j] = source[i]


def data(numbers: Counts) -> Counts:
    """Return what a function takes that may be handed part of any array."""
    return numbers


def node_at(nodes: Fields, i: int) -> Fields:
    """Return one node, to read it and to write it."""
    return nodes[i]


def low_half(key: int) -> int:
    """Return what stands in the lower 32 bits of a key that is sorted."""
    return key & 0xFFFFFFFF
