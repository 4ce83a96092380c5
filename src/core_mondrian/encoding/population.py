"""Tuples of a population beside those of the table, which is a part of it."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.encoding.collapse import Collapsed, TuplePacker
from core_mondrian.errors import DataError
from core_mondrian.tables.encoded import INSIDE, OUTSIDE, EncodedTable, SensitiveColumn

PRESENCE = SensitiveColumn("", 3, ("outside", "inside"))


def join_columns(
    name: str, table: pa.ChunkedArray, population: pa.ChunkedArray
) -> pa.ChunkedArray:
    """Return the column of the table, and after it that of the population.

    Raises:
        DataError: the population's cannot be what the table's is.
    """
    kind = table.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
        table = table.cast(kind)
    try:
        return pa.chunked_array([*table.chunks, *population.cast(kind).chunks], kind)
    except pa.ArrowException:
        raise DataError(
            f"column {name!r} is {kind} in the table and {population.type} in the "
            "population",
            hint="give both the same type",
        ) from None


def add_population(
    table: EncodedTable,
    row_tuple: NDArray[np.int32],
    population: NDArray[np.int32],
) -> tuple[EncodedTable, NDArray[np.int32]]:
    """Return the table with the rest of the population as tuples of their own.

    ``population`` has the quasi-identifiers' codes, one row a person. Returns the
    tuple of each row of the table as well.

    Raises:
        DataError: rows of the table are not in the population.
    """
    n_columns = len(table.columns)
    others = _collapse(table, population)
    both_codes = np.concatenate([table.codes[:, :n_columns], others.codes])
    both = _collapse(table, both_codes)
    n = table.n_tuples
    size = both.counts.size
    inside = np.bincount(both.row_tuple[:n], table.counts, size).astype(np.int64)
    everybody = np.bincount(both.row_tuple[n:], others.counts, size).astype(np.int64)
    outside = everybody - inside
    if lacking := int(-outside[outside < 0].sum()):
        raise DataError(
            f"the population lacks {lacking} rows of the table",
            hint="everybody in the table has to be in the population",
        )
    rest = np.flatnonzero(outside)
    codes = np.concatenate(
        [
            _with_presence(table.codes, n_columns, INSIDE),
            _outside_codes(table, both.codes[rest]),
        ]
    )
    counts = np.concatenate([table.counts, outside[rest]])
    order = np.lexsort(codes.T[::-1])
    number = np.empty(order.size, dtype=np.int32)
    number[order] = np.arange(order.size)
    joined = replace(
        table,
        sensitive=(PRESENCE, *table.sensitive),
        codes=np.ascontiguousarray(codes[order]),
        counts=counts[order],
        present=0,
    )
    return joined, number[row_tuple]


def _collapse(table: EncodedTable, codes: NDArray[np.int32]) -> Collapsed:
    bits = [column.n_values.bit_length() for column in table.columns]
    packer = TuplePacker(bits, codes.shape[0])
    for i in range(len(bits)):
        packer.append(np.ascontiguousarray(codes[:, i]))
    return packer.collapse()


def _with_presence(
    codes: NDArray[np.int32], n_columns: int, presence: int
) -> NDArray[np.int32]:
    return np.insert(codes, n_columns, presence, axis=1)


def _outside_codes(
    table: EncodedTable, quasi_identifiers: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return whole tuples of people who have no sensitive value that we know of."""
    nothing = [OUTSIDE, *(column.n_values for column in table.sensitive)]
    rest = np.broadcast_to(
        np.array(nothing, dtype=np.int32), (len(quasi_identifiers), len(nothing))
    )
    return np.concatenate([quasi_identifiers, rest], axis=1)
