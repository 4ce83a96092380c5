"""A row order that depends on what the rows show, and on nothing else."""

import datetime as dt
import hashlib
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

import narwhals as nw
import numpy as np
import pyarrow as pa

from core_mondrian.cell_keys import Keys, cell_keys, scatter
from core_mondrian.errors import DataError, SpecError
from core_mondrian.frames import arrow_column, open_frame, order_rows

_PLAIN: Final = (
    *(bool, int, float, str, bytes, Decimal, UUID),
    *(dt.date, dt.time, dt.timedelta),
)


def shuffle_rows(data: Any, seed: int, *, hidden: str | None = None) -> Any:  # noqa: ANN401
    """Return the caller's kind of frame in an order made from its cells and a seed.

    The order the rows came in has no say: rows that are equal in all columns but
    ``hidden``, which is not released, are interchangeable.

    Raises:
        SpecError: a column holds objects that cannot be told apart by content.
    """
    frame = open_frame(data)
    keys: Keys = np.full(len(frame), seed % 2**64, dtype=np.uint64)
    for name in frame.columns:
        if name != hidden:
            keys = scatter(keys + _column_keys(frame, name))
    return order_rows(data, np.argsort(keys, kind="stable"))


def _column_keys(frame: nw.DataFrame[Any], name: str) -> Keys:
    """Return a number per cell, the same for the same content in any row order."""
    try:
        column = arrow_column(frame, name)
    except DataError:  # objects of several types
        return _object_keys(frame.get_column(name).to_list(), name)
    try:
        return cell_keys(column)
    except pa.ArrowException:  # lists and the like
        return _object_keys(column.to_pylist(), name)


def _object_keys(cells: list[Any], name: str) -> Keys:
    keys = np.empty(len(cells), dtype=np.uint64)
    for i, cell in enumerate(cells):
        text = repr(_plain(cell, name)).encode()
        digest = hashlib.blake2b(text, digest_size=8).digest()
        keys[i] = int.from_bytes(digest, "little")
    return keys


def _plain(cell: Any, name: str) -> Any:  # noqa: ANN401
    """Return a cell as values whose text says all there is to say."""
    if isinstance(cell, np.ndarray | np.generic):
        cell = cell.tolist()
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(cell, list | tuple):
        return [_plain(item, name) for item in cell]
    if isinstance(cell, dict):
        return [(_plain(key, name), _plain(cell[key], name)) for key in cell]
    if isinstance(cell, _PLAIN):
        return cell
    raise SpecError(
        f"rows cannot be shuffled: column {name!r} holds {type(cell).__name__} objects",
        hint="drop shuffle, or make the column text, numbers or an identifier",
    )
