"""What columns that are released as they are may give away.

Nothing is refused for it. A concern holds column names and shares, never a cell.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from core_mondrian.cell_keys import scatter
from core_mondrian.classes import ReleasedClasses
from core_mondrian.encode.table import EncodedTable
from core_mondrian.errors import show_name
from core_mondrian.measure.counting import NEARLY_UNIQUE, Coded, compress
from core_mondrian.measure.sights import Sight
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


@dataclass(frozen=True, slots=True)
class Repeats:
    """How often the values of a column occur."""

    rows: Integers
    """Rising: values that so many rows have …"""
    n_values: Integers
    """… and how many different values that is true of; missing ones are not counted."""

    @property
    def distinct_share(self) -> float:
        """The different values per filled row."""
        n_filled = int((self.rows * self.n_values).sum())
        return round(int(self.n_values.sum()) / max(n_filled, 1), 4)

    @property
    def is_nearly_unique(self) -> bool:
        n_filled = int((self.rows * self.n_values).sum())
        return n_filled > 1 and self.distinct_share >= NEARLY_UNIQUE


@dataclass(frozen=True, slots=True)
class LookedAt:
    """The rows that are looked at: all of a table, or some tuples' (`pick_tuples`)."""

    names: tuple[str, ...]
    """All columns of the table."""
    sight: Sight
    """Of those that `shown_columns` tells."""
    repeats: Callable[[str], Repeats]
    """Counts a column of the *whole* table."""


def shown_columns(spec: Spec, names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that are released as they are."""
    shown = {*spec.carried(names), *spec.sensitive} - {*spec.pseudonyms}
    return tuple(name for name in names if name in shown)


def repeats_of(column: Coded, counts: Integers | None = None) -> Repeats:
    """Count how often the values of a column occur; ``counts``: that of each row."""
    is_present = ~column.missing
    weights = None if counts is None else counts[is_present]
    found = np.bincount(column.codes[is_present], weights).astype(np.int64)
    rows, n_values = np.unique(found[found > 0], return_counts=True)
    return Repeats(rows.astype(np.int64), n_values.astype(np.int64))


def find_concerns(
    looked: LookedAt, spec: Spec, table: EncodedTable, classes: ReleasedClasses
) -> tuple[Concern, ...]:
    """Look at every column that is released as it is, or as pseudonyms."""
    mixed = [_is_mixed(table, classes, i) for i in range(len(table.columns))]
    hidden = _find_hidden(table, mixed, looked.sight.piece)
    shown = set(shown_columns(spec, looked.names))
    found: list[Concern] = []
    for place, name in enumerate(looked.names, start=1):
        title = show_name(name, place)
        if name in spec.pseudonyms:
            repeats = looked.repeats
            more = _links_rows(repeats(name), name, title) if spec.unit is None else []
        elif name in shown:
            more = _look_at(looked, name, title, hidden)
        else:
            continue
        found += [_with_consent(one, spec) for one in more]
    return tuple(found)


def pick_tuples(
    table: EncodedTable, classes: ReleasedClasses, tuple_of: Integers
) -> Flags | None:
    """Return the tuples whose rows to look at; None: all of them.

    Large tables are looked at in part: all rows of tuples that a hash of their number
    picks, which are the same ones whatever the order of rows. Half of them have
    something hidden, as far as there are so many. ``tuple_of`` says which tuple each
    of ``table``, where those in several classes are there once for each, is of.
    """
    n_rows = int(table.counts.sum())
    if n_rows <= _MOST_ROWS:
        return None
    of_piece = np.logical_or.reduce(
        [_is_mixed(table, classes, i) for i in range(len(table.columns))]
    )
    n_tuples = int(tuple_of[-1]) + 1
    rows = np.bincount(tuple_of, table.counts, n_tuples)
    mixed = np.bincount(tuple_of, of_piece, n_tuples) > 0
    keys = scatter(np.arange(n_tuples, dtype=np.uint64))
    picked = np.zeros(n_tuples, dtype=np.bool_)
    for half in (mixed, ~mixed):
        share = max(
            _PICKED_ROWS / 2 / max(int(rows[half].sum()), 1),
            _FEWEST_TUPLES / max(int(np.count_nonzero(half)), 1),
        )
        limit = np.uint64(min(int(share * 2.0**64), 2**64 - 1))
        picked |= half & (keys <= limit)
    return picked


def _with_consent(concern: Concern, spec: Spec) -> Concern:
    if concern.column not in spec.accept:
        return concern
    return Concern(
        *(concern.column, concern.why, concern.text, concern.about, concern.share),
        accepted=True,
    )


def _find_hidden(
    table: EncodedTable, mixed: list[Flags], piece: NDArray[np.int32]
) -> list[_Hidden]:
    """Return the quasi-identifiers of which the release shows less than there was."""
    return [
        _Hidden(
            column.name,
            table.codes[:, place][piece].astype(np.int64),
            column.n_values + 1,
            is_mixed[piece],
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
    looked: LookedAt, name: str, title: str, hidden: list[_Hidden]
) -> list[Concern]:
    sight, found = looked.sight, []
    values = sight.values.get(name)
    # Of objects of several types, only the name can tell.
    looks = recognize_name(name) if values is None else recognize(name, values)
    if looks is not None:
        text = f"{title} looks like {looks}, and is released as it is"
        found.append(Concern(name, "identifier", text))
    coded = sight.coded(name)
    if coded is None:
        return found
    if repeats_of(coded, sight.counts).is_nearly_unique:
        whole = looked.repeats(name)
        if whole.is_nearly_unique:
            share = whole.distinct_share
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
        if (share := told_share(coded, one, sight.counts)) >= TELLS
    ]


def told_share(carried: Coded, hidden: _Hidden, counts: Integers) -> float:
    """Return how much of what is hidden in a quasi-identifier a column tells.

    ``counts`` says how many rows each stands for.

    Take a row in which it is hidden, and any other row with the same carried value: how
    often does that one have the same original value (a)? And any other row at all (b)?
    The share is the sum of a - b over that of 1 - b. A row whose carried value nobody
    else has tells nothing: there is nothing to learn it from.
    """
    keys = carried.codes * hidden.n_codes + hidden.codes
    pairs = compress(Coded(keys, carried.n_codes * hidden.n_codes))
    first = np.zeros(pairs.n_codes, dtype=np.int64)
    first[pairs.codes] = np.arange(keys.size)
    at_stake = np.bincount(pairs.codes, counts * hidden.generalized)
    alike = np.bincount(pairs.codes, counts) - 1  # others with both values
    same_carried = np.bincount(carried.codes, counts)[carried.codes[first]] - 1
    same_hidden = np.bincount(hidden.codes, counts)[hidden.codes[first]] - 1
    base = same_hidden / max(int(counts.sum()) - 1, 1)
    again = np.where(same_carried > 0, alike / np.maximum(same_carried, 1), base)
    # Sorted, because codes are numbered in the order of rows, and sums are rounded.
    gained = float(np.sort(at_stake * (again - base)).sum())
    whole = float(np.sort(at_stake * (1.0 - base)).sum())
    return round(max(gained, 0.0) / whole, 4) if whole > 0.0 else 0.0


def _links_rows(repeats: Repeats, name: str, title: str) -> list[Concern]:
    """Say so if pseudonyms are of persons who have several rows."""
    persons = int(repeats.n_values.sum())
    several = int(repeats.n_values[repeats.rows > 1].sum())
    if not several:
        return []
    share = round(several / persons, 4)
    text = (
        f"{title} links rows: {share:.1%} of its pseudonyms have several, and no unit "
        "is given, so classes count rows and not persons"
    )
    return [Concern(name, "links-rows", text, share=share)]
