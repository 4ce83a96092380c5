"""What a released cell says, read back from its text or its ends."""

import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from benchmarks.fuzz.definitions import Paths
from core_mondrian.hierarchies.base import Builder
from core_mondrian.hierarchies.codes import Redact
from core_mondrian.hierarchies.learned import Learned
from core_mondrian.hierarchies.ranges import Ranges


def plain(cell: Any) -> Any:
    """Return a cell as a plain value; every kind of missing is None."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return None
    if cell != cell:  # noqa: PLR0124
        return None
    if isinstance(cell, dict):
        return tuple(plain(part) for part in cell.values())
    if hasattr(cell, "to_pydatetime"):
        return cell.to_pydatetime()
    return cell


def read_frame(frame: Any) -> dict[str, list[Any]]:
    """Return the cells of a frame of any library."""
    if isinstance(frame, pa.Table):
        return {
            name: [plain(cell) for cell in column.to_pylist()]
            for name, column in zip(frame.column_names, frame.columns, strict=True)
        }
    return {
        str(name): [plain(cell) for cell in frame[name].to_list()]
        for name in frame.columns
    }


def as_library(table: pa.Table, library: str) -> Any:
    """Return the table as a frame of a library."""
    if library == "arrow":
        return table
    if library == "polars":
        import polars as pl

        return pl.from_arrow(table)
    import pandas as pd

    # NumPy has no missing whole numbers: they would come in as floats. And a column of
    # objects without any value has no type: it would come in as text.
    keeps_types = all(
        column.null_count < len(column)
        and (not column.null_count or not pa.types.is_integer(column.type))
        for column in table.columns
    )
    if keeps_types:
        return table.to_pandas()
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def read_set(text: str) -> list[str | None]:
    """Return the members of a released value set, letter by letter; None: missing."""
    if not text.startswith("{"):
        return [text]
    members: list[str | None] = []
    at = 0
    while text[at] != "}":
        at += 1 if at == 0 else len(", ")
        if text[at] == '"':
            member, at = json.JSONDecoder().raw_decode(text, at)
            members.append(member)
            continue
        start = at
        while text[at] not in ",}":
            at += 1
        word = text[start:at]
        members.append(None if word == "null" else word)
    if at != len(text) - 1:
        raise ValueError("a set goes on after its end")
    return members


def _moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def _side(text: str) -> bool:
    return {"false": False, "true": True}[text]


_READERS: dict[str, Callable[[str], Any]] = {
    "days": dt.date.fromisoformat,
    "moments": _moment,
    "sides": _side,
    "money": Decimal,
    **dict.fromkeys(("small", "bytes", "large", "unsigned", "ages", "nothing"), int),
    **dict.fromkeys(("floats", "wild", "single"), float),
}


def ends_of(cell: Any, kind: str) -> tuple[Any, Any]:
    """Return the smallest and the largest value that a range allows."""
    if not isinstance(cell, str):
        low, high = cell
        return low, high
    read = _READERS[kind]
    if not cell.startswith("["):
        return read(cell), read(cell)
    low, high = cell.removeprefix("[").removesuffix("]").split(", ")
    return read(low), read(high)


def category_covers(
    cell: str, value: Any, ways: Paths | None, builder: Builder | None
) -> bool:
    """Tell whether a label may stand for a value."""
    text = str(value)
    if cell in ("*", text):
        return True
    if ways is not None:
        return cell in ways.get(text, ())
    if builder is None:
        return False
    if isinstance(builder, Ranges):
        return _range_covers(cell, value)
    if isinstance(builder, Learned):
        return cell.endswith(" more") or text in read_set(cell)
    # What is redacted is as long as it was.
    is_long = not isinstance(builder, Redact) or len(text) == len(cell)
    return is_long and text.startswith(cell.rstrip("*"))


def _range_covers(cell: str, value: float) -> bool:
    if cell.startswith("≥ "):
        return value >= float(cell[2:])
    if cell.startswith("< "):
        return value < float(cell[2:])
    if not cell.startswith("["):
        return False  # another value
    low, high = cell.removeprefix("[").removesuffix(")").split(", ")
    return float(low) <= value < float(high)
