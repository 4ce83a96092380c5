"""What columns that are released as they are may give away.

Nothing is refused for it. A concern holds column names and shares, never a cell.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.classes import ReleasedClasses
from core_mondrian.encode.encoder import Encoded
from core_mondrian.encode.table import EncodedTable
from core_mondrian.errors import DataError, show_name
from core_mondrian.frames import arrow_column, scatter
from core_mondrian.measure.counting import (
    NEARLY_UNIQUE,
    Coded,
    code_column,
    code_series,
    compress,
)
from core_mondrian.recognize import recognize, recognize_name
from core_mondrian.spec import Spec

Why: TypeAlias = Literal["nearly-unique", "tells", "identifier", "links-rows"]
Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

TELLS: Final = 0.5
"""Share of what was hidden in a quasi-identifier that another column may tell."""
_MOST_ROWS: Final = 1 << 16
"""Rows of tables that are looked at whole."""
_PICKED_ROWS: Final = 1 << 15
"""Rows looked at of larger ones, about: 1M rows of census take .1 s of CPU time."""
_FEWEST_TUPLES: Final = 64


@dataclass(frozen=True, slots=True)
class Concern:
    """What a released column may give away."""

    column: str
    why: Why
    text: str
    """One sentence, with the column's name."""
    about: str | None = None
    """The quasi-identifier it tells."""
    share: float | None = None
    """How far it goes, from 0 to 1; rounded."""
    accepted: bool = False
    """The spec says that this is known."""

    def __str__(self) -> str:
        return self.text

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "column": self.column,
            "why": self.why,
            "about": self.about,
            "share": self.share,
            "accepted": self.accepted,
            "text": self.text,
        }


@dataclass(frozen=True, slots=True)
class _Hidden:
    """One quasi-identifier of the rows looked at, and where the release hides it."""

    name: str
    codes: Integers
    n_codes: int
    generalized: Flags


def find_concerns(
    frame: nw.DataFrame[Any], spec: Spec, encoded: Encoded, classes: ReleasedClasses
) -> tuple[Concern, ...]:
    """Look at every column that is released as it is, or as pseudonyms.

    Large tables are looked at in part: all rows of tuples that a hash of their number
    picks, which are the same ones whatever the order of rows.
    """
    table = encoded.table
    mixed = [_is_mixed(table, classes, i) for i in range(len(table.columns))]
    rows = _pick_rows(encoded, np.logical_or.reduce(mixed))
    hidden = _find_hidden(encoded, mixed, rows)
    shown = {*spec.carried(frame.columns), *spec.sensitive}
    found: list[Concern] = []
    for place, name in enumerate(frame.columns, start=1):
        title = show_name(name, place)
        if name in spec.pseudonyms:
            more = _links_rows(frame, name, title) if spec.unit is None else []
        elif name in shown:
            more = _look_at(frame, name, title, rows, hidden)
        else:
            continue
        found += [_with_consent(one, spec) for one in more]
    return tuple(found)


def _with_consent(concern: Concern, spec: Spec) -> Concern:
    if concern.column not in spec.accept:
        return concern
    return Concern(
        *(concern.column, concern.why, concern.text, concern.about, concern.share),
        accepted=True,
    )


def _pick_rows(encoded: Encoded, mixed: Flags) -> NDArray[np.intp] | None:
    """Return the rows to look at; None: all of them.

    Half of them have something hidden, as far as there are so many.
    """
    table = encoded.table
    if encoded.row_tuple.size <= _MOST_ROWS:
        return None
    keys = scatter(np.arange(table.n_tuples, dtype=np.uint64))
    picked = np.zeros(table.n_tuples, dtype=np.bool_)
    for half in (mixed, ~mixed):
        n_rows, n_tuples = int(table.counts[half].sum()), int(np.count_nonzero(half))
        share = max(
            _PICKED_ROWS / 2 / max(n_rows, 1), _FEWEST_TUPLES / max(n_tuples, 1)
        )
        limit = np.uint64(min(int(share * 2.0**64), 2**64 - 1))
        picked |= half & (keys <= limit)
    return np.flatnonzero(picked[encoded.row_tuple])


def _find_hidden(
    encoded: Encoded, mixed: list[Flags], rows: NDArray[np.intp] | None
) -> list[_Hidden]:
    """Return the quasi-identifiers of which the release shows less than there was."""
    table = encoded.table
    row_tuple = encoded.row_tuple if rows is None else encoded.row_tuple[rows]
    return [
        _Hidden(
            column.name,
            table.codes[:, place][row_tuple].astype(np.int64),
            column.n_values + 1,
            is_mixed[row_tuple],
        )
        for place, (column, is_mixed) in enumerate(
            zip(table.columns, mixed, strict=True)
        )
        if is_mixed.any()
    ]


def _is_mixed(table: EncodedTable, classes: ReleasedClasses, place: int) -> Flags:
    """Tell of each tuple whether its class has several values in a column."""
    inside = np.flatnonzero(classes.of_tuple >= 0)
    owner, codes = classes.of_tuple[inside], table.codes[inside, place]
    low = np.full(classes.n_classes, np.iinfo(np.int32).max, dtype=np.int32)
    high = np.full(classes.n_classes, -1, dtype=np.int32)
    np.minimum.at(low, owner, codes)
    np.maximum.at(high, owner, codes)
    mixed = np.zeros(table.n_tuples, dtype=np.bool_)
    mixed[inside] = (low < high)[owner]
    return mixed


def _look_at(
    frame: nw.DataFrame[Any],
    name: str,
    title: str,
    rows: NDArray[np.intp] | None,
    hidden: list[_Hidden],
) -> list[Concern]:
    column = _take(frame, name, rows)
    found = []
    # Of objects of several types, only the name can tell.
    looks = recognize_name(name) if column is None else recognize(name, column)
    if looks is not None:
        text = f"{title} looks like {looks}, and is released as it is"
        found.append(Concern(name, "identifier", text))
    if column is None or pa.types.is_nested(column.type):
        return found
    coded = code_column(column)
    if _is_nearly_unique(coded):
        whole = coded if rows is None else code_series(frame[name])
        if _is_nearly_unique(whole):
            share = _distinct_share(whole)
            text = f"{title} is released as it is, and {share:.1%} of it is distinct"
            found.append(Concern(name, "nearly-unique", text, share=share))
    return found + [
        Concern(
            name,
            "tells",
            f"{title} is released as it is, and tells {share:.1%} of what is hidden "
            f"in {one.name!r}",
            one.name,
            share,
        )
        for one in hidden
        if (share := told_share(coded, one)) >= TELLS
    ]


def _take(
    frame: nw.DataFrame[Any], name: str, rows: NDArray[np.intp] | None
) -> pa.ChunkedArray | None:
    try:
        column = arrow_column(frame, name)
    except DataError:
        return None
    if pa.types.is_string_view(column.type):  # which Arrow cannot take from
        column = column.cast(pa.string())
    return column if rows is None else column.take(pa.array(rows))


def _is_nearly_unique(column: Coded) -> bool:
    n_filled = int(np.count_nonzero(~column.missing))
    return n_filled > 1 and _distinct_share(column) >= NEARLY_UNIQUE


def _distinct_share(column: Coded) -> float:
    """Return the different values per filled row."""
    present = column.codes[~column.missing]
    n_distinct = np.count_nonzero(np.bincount(present)) if present.size else 0
    return round(n_distinct / max(present.size, 1), 4)


def told_share(carried: Coded, hidden: _Hidden) -> float:
    """Return how much of what is hidden in a quasi-identifier a column tells.

    Take a row in which it is hidden, and any other row with the same carried value: how
    often does that one have the same original value (a)? And any other row at all (b)?
    The share is the sum of a - b over that of 1 - b. A row whose carried value nobody
    else has tells nothing: there is nothing to learn it from.
    """
    keys = carried.codes * hidden.n_codes + hidden.codes
    pairs = compress(Coded(keys, carried.n_codes * hidden.n_codes))
    first = np.zeros(pairs.n_codes, dtype=np.int64)
    first[pairs.codes] = np.arange(keys.size)
    at_stake = np.bincount(pairs.codes[hidden.generalized], minlength=pairs.n_codes)
    alike = np.bincount(pairs.codes) - 1  # others with both values
    same_carried = np.bincount(carried.codes)[carried.codes[first]] - 1
    same_hidden = np.bincount(hidden.codes)[hidden.codes[first]] - 1
    base = same_hidden / max(keys.size - 1, 1)
    again = np.where(same_carried > 0, alike / np.maximum(same_carried, 1), base)
    # Sorted, because codes are numbered in the order of rows, and sums are rounded.
    gained = float(np.sort(at_stake * (again - base)).sum())
    whole = float(np.sort(at_stake * (1.0 - base)).sum())
    return round(max(gained, 0.0) / whole, 4) if whole > 0.0 else 0.0


def _links_rows(frame: nw.DataFrame[Any], name: str, title: str) -> list[Concern]:
    """Say so if pseudonyms are of persons who have several rows."""
    units = code_series(frame[name])
    rows = np.bincount(units.codes[~units.missing])
    persons = int(np.count_nonzero(rows))
    several = int(np.count_nonzero(rows > 1))
    if not several:
        return []
    share = round(several / persons, 4)
    text = (
        f"{title} links rows: {share:.1%} of its pseudonyms have several, and no unit "
        "is given, so classes count rows and not persons"
    )
    return [Concern(name, "links-rows", text, share=share)]
