"""encode(frame, spec): the only reader of user data."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.encode.collapse import TuplePacker
from core_mondrian.encode.columns import (
    CodedColumn,
    encode_column,
    encode_sensitive,
)
from core_mondrian.encode.table import EncodedTable, SensitiveColumn
from core_mondrian.errors import DataError
from core_mondrian.frames import arrow_column
from core_mondrian.spec import Spec


@dataclass(frozen=True, slots=True)
class Encoded:
    """The table as the engine sees it, and the way back to the caller's rows."""

    table: EncodedTable
    values: tuple[pa.Array, ...]
    """Per quasi-identifier: what each code stands for, in the caller's type."""
    row_tuple: NDArray[np.int32]
    digest: str
    """SHA-256 of the multiset of quasi-identifier and sensitive values."""


def encode(
    frame: nw.DataFrame[Any],
    spec: Spec,
    report: Callable[[float], None] = lambda _: None,
) -> Encoded:
    """Encode the columns the spec names and collapse equal rows.

    Raises:
        DataError: a column cannot be encoded.
    """
    n_rows = len(frame)
    if n_rows >= 2**31:
        raise DataError(f"{n_rows} rows; at most {2**31 - 1} fit in one table")
    coded: list[CodedColumn] = []
    names = (*spec.quasi_identifiers, *spec.sensitive)
    for done, name in enumerate(spec.quasi_identifiers):
        array = arrow_column(frame, name)
        coded.append(encode_column(array, name, spec.hierarchies.get(name)))
        report((done + 1) / len(names))
    ranked = [encode_sensitive(arrow_column(frame, n), n) for n in spec.sensitive]
    sensitive = tuple(column for _, column in ranked)
    bits = [item.column.n_values.bit_length() for item in coded]
    bits += [column.n_values.bit_length() for column in sensitive]
    packer = TuplePacker(bits, n_rows)
    for item in coded:
        packer.append(item.codes)
    for codes, _ in ranked:
        packer.append(codes)
    collapsed = packer.collapse()
    table = EncodedTable(
        tuple(item.column for item in coded),
        sensitive,
        collapsed.codes,
        collapsed.counts,
        n_rows,
    )
    values = tuple(item.values for item in coded)
    return Encoded(
        table, values, collapsed.row_tuple, _digest(table, values, sensitive)
    )


def _digest(
    table: EncodedTable,
    values: tuple[pa.Array, ...],
    sensitive: tuple[SensitiveColumn, ...],
) -> str:
    digest = hashlib.sha256()
    for column, labels in zip(table.columns, values, strict=True):
        digest.update(f"{column.name}\0{column.kind}\0".encode())
        if column.kind == "number":
            digest.update(column.values.astype("<f8").tobytes())
        else:
            digest.update("\0".join(labels.to_pylist()).encode())
    for extra in sensitive:
        digest.update(f"{extra.name}\0{extra.n_values}\0".encode())
    digest.update(table.codes.astype("<i4").tobytes())
    digest.update(table.counts.astype("<i8").tobytes())
    return digest.hexdigest()
