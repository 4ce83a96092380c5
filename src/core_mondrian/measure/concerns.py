"""What released columns may give away, and whether classes hold enough persons.

Nothing is refused for it. A concern holds column names and counts, never a cell.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from core_mondrian.cell_keys import scatter
from core_mondrian.classes import ReleasedClasses
from core_mondrian.encode.table import EncodedTable
from core_mondrian.errors import show_name
from core_mondrian.measure.counting import Coded, combine, compress, first_rows
from core_mondrian.measure.sights import MOST_CELLS, Sight
from core_mondrian.recognize import Recognized, recognize, recognize_name
from core_mondrian.spec import Spec

Why: TypeAlias = Literal["identifier", "singles-out", "tells", "persons"]
Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

TELLS: Final = 0.5
"""Share of what was hidden in a quasi-identifier that another column may tell."""
SINGLES_OUT: Final = 0.05
"""Share of the filled rows (persons) that a column may single out by itself …"""
SINGLES_OUT_IN_CLASS: Final = 0.5
"""… and within their classes."""
_MOST_ROWS: Final = 1 << 16
"""Rows of tables that are looked at whole."""
_PICKED_ROWS: Final = 1 << 15
"""Rows looked at of larger ones, about: 1M rows of census take .1 s of CPU time."""
_FEWEST_CLASSES: Final = 16


@dataclass(frozen=True, slots=True)
class Concern:
    """What a released column may give away, or an identifier says of classes."""

    column: str
    why: Why
    text: str
    """One sentence, with the column's name, for whoever made the release."""
    about: str | None = None
    """The quasi-identifier it tells."""
    share: float | None = None
    """How far it goes, from 0 to 1; rounded."""
    accepted: bool = False
    """The spec says that this is known."""

    def __str__(self) -> str:
        return self.text

    def to_json(self) -> dict[str, Any]:
        """Return plain values: for the owner, as figures depend on hidden cells."""
        return {
            "column": self.column,
            "why": self.why,
            "about": self.about,
            "share": self.share,
            "accepted": self.accepted,
            "text": self.text,
        }


@dataclass(frozen=True, slots=True)
class Hidden:
    """One quasi-identifier of the rows looked at, and where the release hides it."""

    name: str
    codes: Integers
    n_codes: int
    generalized: Flags


@dataclass(frozen=True, slots=True)
class Repeats:
    """How far the values of a column repeat, among rows or, with a unit, persons."""

    n_filled: int
    """Rows (persons) that have a value."""
    n_values: int
    """Different values; missing ones are not counted."""
    n_alone: int
    """Rows (persons) with a value that no other row (person) has."""

    @property
    def share_alone(self) -> float:
        return self.n_alone / max(self.n_filled, 1)


@dataclass(frozen=True, slots=True)
class LookedAt:
    """The rows that are looked at: all of a release, or some classes'."""

    names: tuple[str, ...]
    """All columns of the table."""
    sight: Sight
    """Of those that `seen_columns` names."""
    repeats: Callable[[str], Repeats]
    """Counts a column of *all* released rows; one that is removed, of all rows."""


def shown_columns(spec: Spec, names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that are released as they are."""
    shown = {*spec.carried(names), *spec.sensitive} - {*spec.pseudonyms}
    return tuple(name for name in names if name in shown)


def seen_columns(spec: Spec, names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that are looked at: those that are shown, and identifiers."""
    seen = {*shown_columns(spec, names), *spec.removed, *spec.pseudonyms}
    return tuple(name for name in names if name in seen)


def count_repeats(
    column: Coded, unit: Coded | None = None, counts: Integers | None = None
) -> Repeats:
    """Count how far values repeat; ``counts`` says how many rows each stands for.

    ``unit`` says whose row it is: rows of nobody are one person's.
    """
    filled = np.flatnonzero(~column.missing)
    codes = column.codes[filled]
    if unit is None:
        weights = None if counts is None else counts[filled]
        found = np.bincount(codes, weights)
        n_values, n_alone = (int(np.count_nonzero(x)) for x in (found, found == 1))
        return Repeats(int(found.sum()), n_values, n_alone)
    persons = unit.codes[filled]
    pairs = combine([Coded(codes, column.n_codes), Coded(persons, unit.n_codes)])
    first = first_rows(pairs)
    codes, persons = codes[first], persons[first]
    n_persons = np.bincount(codes)
    alone = persons[n_persons[codes] == 1]
    n_filled, n_alone = (int(np.unique(x).size) for x in (persons, alone))
    return Repeats(n_filled, int(np.count_nonzero(n_persons)), n_alone)


@dataclass(frozen=True, slots=True)
class _Whole:
    """The classes of which all rows are looked at, and those rows."""

    rows: Integers
    """Places of the rows among those looked at."""
    of_row: Coded
    """The class of each of them."""
    weights: Floats
    """How many classes of the release each stands for."""
    n_classes: int
    """Classes of the release."""

    @property
    def is_everything(self) -> bool:
        return self.of_row.n_codes == self.n_classes

    @classmethod
    def of(cls, sight: Sight, classes: ReleasedClasses, shares: Floats) -> "_Whole":
        owner = classes.of_tuple[sight.piece].astype(np.int64)
        inside = np.flatnonzero(owner >= 0)
        n = classes.n_classes
        seen = np.bincount(owner[inside], sight.counts[inside], n).astype(np.int64)
        is_whole = (seen == classes.rows) & (seen > 0) & _are_picked(shares)
        rows = inside[is_whole[owner[inside]]]
        numbers = np.cumsum(is_whole) - 1
        of_row = Coded(numbers[owner[rows]], int(np.count_nonzero(is_whole)))
        n_classes = int(np.count_nonzero(classes.rows))
        return cls(rows, of_row, 1.0 / shares[is_whole], n_classes)

    def count_small(self, column: Coded, least: int) -> int:
        """Count the classes with fewer different values, or estimate their number."""
        pairs = combine([self.of_row, column.select(self.rows)])
        owner = self.of_row.codes[first_rows(pairs)]
        is_small = np.bincount(owner, minlength=self.of_row.n_codes) < least
        if self.is_everything:
            return int(np.count_nonzero(is_small))
        share = float(self.weights[is_small].sum() / self.weights.sum())
        return round(share * self.n_classes)

    def find_alone(
        self, column: Coded, unit: Coded | None, counts: Integers
    ) -> tuple[int, float]:
        """Return who is alone with a value in their class: how many, and their share.

        The share is an estimate unless all classes are looked at, and of those who
        have a value.
        """
        rows = self.rows[~column.missing[self.rows]]
        owner = self.of_row.codes[~column.missing[self.rows]]
        if unit is None:
            who, n = rows, counts[rows]
        else:
            # One row of each person, value and class.
            every = [Coded(owner, self.of_row.n_codes), column.select(rows)]
            first = first_rows(combine([*every, unit.select(rows)]))
            rows, owner = rows[first], owner[first]
            who, n = unit.codes[rows], np.ones(rows.size, dtype=np.int64)
        keys = compress(
            combine([Coded(owner, self.of_row.n_codes), column.select(rows)])
        ).codes
        is_alone = np.bincount(keys, n)[keys] == 1
        alone, filled = (
            float((self.weights[owner] * n)[chosen].sum())
            for chosen in (is_alone, slice(None))
        )
        return int(np.unique(who[is_alone]).size), alone / max(filled, 1.0)


def find_concerns(
    looked: LookedAt, spec: Spec, table: EncodedTable, classes: ReleasedClasses
) -> tuple[Concern, ...]:
    """Look at every column that is released as it is, and at every identifier."""
    mixed = [_is_mixed(table, classes, i) for i in range(len(table.columns))]
    shares = _shares(table, classes, len(seen_columns(spec, looked.names)))
    look = _Look(
        looked,
        spec,
        _Whole.of(looked.sight, classes, shares),
        _find_hidden(table, mixed, looked.sight.piece),
    )
    shown = set(shown_columns(spec, looked.names))
    found: list[Concern] = []
    for place, name in enumerate(looked.names, start=1):
        title = show_name(name, place)
        if name in shown:
            found += look.at_shown(name, title)
        elif name in spec.identifiers or name in spec.pseudonyms:
            found += look.at_persons(name, title)
    return tuple(_with_consent(one, spec) for one in found)


@dataclass(frozen=True, slots=True)
class _Look:
    """One look at a release."""

    looked: LookedAt
    spec: Spec
    whole: _Whole
    hidden: list[Hidden]

    def at_shown(self, name: str, title: str) -> list[Concern]:
        """Look at a column that is released as it is."""
        sight, found = self.looked.sight, []
        looks = self._recognize(name)
        if looks is not None:
            text = f"{title} looks like {looks}, and is released as it is"
            found.append(Concern(name, "identifier", text))
            if looks.kind.role == "identifier":
                found += self.at_persons(name, title)
        coded = sight.coded(name)
        if coded is None:
            return found
        found += self._singles_out(name, title, coded)
        return found + [
            Concern(
                name,
                "tells",
                f"{title} is released as it is, and tells {share:.1%} of what is "
                f"hidden in {one.name!r}",
                one.name,
                share,
            )
            for one in self.hidden
            if (share := told_share(coded, one, sight.counts)) >= TELLS
        ]

    def _recognize(self, name: str) -> Recognized | None:
        values = self.looked.sight.values.get(name)
        # Of objects of several types, only the name can tell.
        return recognize_name(name) if values is None else recognize(name, values)

    def _unit(self) -> Coded | None:
        unit = self.spec.unit
        return None if unit is None else self.looked.sight.coded(unit)

    def _singles_out(self, name: str, title: str, coded: Coded) -> list[Concern]:
        """Say how many rows (persons) a column singles out, if they are many."""
        sight, unit = self.looked.sight, self._unit()
        n_inside, inside = self.whole.find_alone(coded, unit, sight.counts)
        by_class = n_inside > 1 and inside >= SINGLES_OUT_IN_CLASS
        # Who is alone in a table is alone in a part of it, too.
        part = count_repeats(coded, unit, sight.counts)
        if part.share_alone < SINGLES_OUT and not by_class:
            return []
        repeats = self.looked.repeats(name)
        by_itself = repeats.n_filled > 1 and repeats.share_alone >= SINGLES_OUT
        if not (by_itself or by_class):
            return []
        who = "rows" if self.spec.unit is None else "persons"
        is_everything = self.whole.is_everything
        together = f"{n_inside:,}" if is_everything else f"about {inside:.0%}"
        with_them = "together with the released quasi-identifiers"
        start = f"{title} is released as it is and singles out"
        alone = f"{repeats.n_alone:,} of {repeats.n_filled:,} {who} by itself"
        return [
            Concern(
                name,
                "singles-out",
                f"{start} {alone}, {together} {with_them}",
                share=round(repeats.share_alone if by_itself else inside, 4),
            )
        ]

    def at_persons(self, name: str, title: str) -> list[Concern]:
        """Say so if an identifier has several rows of a value, and nobody counts it."""
        if self.spec.unit is not None or self.looked.sight.coded(name) is None:
            return []
        looks = recognize_name(name)
        if looks is not None and looks.kind.role != "identifier":
            return []  # such as a place: many persons share it
        repeats = self.looked.repeats(name)
        several = repeats.n_values - repeats.n_alone
        if not several:
            return []
        advice = (
            f"unit = {name!r} counts persons"
            if title == repr(name)
            else ("name it as the unit to count persons")
        )
        several_rows = (
            f"repeats: {several:,} of its {repeats.n_values:,} values have several rows"
        )
        text = (
            f"{title} {several_rows}, and no unit is set, so classes count rows; "
            f"{self._say_small(name)}{advice}"
        )
        share = round(several / repeats.n_values, 4)
        return [Concern(name, "persons", text, share=share)]

    def _say_small(self, name: str) -> str:
        coded, whole = self.looked.sight.coded(name), self.whole
        if coded is None or not whole.of_row.n_codes:  # no class is there, or whole
            return ""
        least = max(self.spec.min_rows, 2)
        about = "" if whole.is_everything else "about "
        few = f"{about}{whole.count_small(coded, least):,} of {whole.n_classes:,}"
        return f"by its values, {few} classes hold fewer than {least} persons; "


def pick_leaves(
    table: EncodedTable,
    classes: ReleasedClasses,
    class_of_leaf: Integers,
    n_columns: int,
) -> Flags | None:
    """Return the leaves whose rows to look at; None: all of them.

    Large tables are looked at in part: all rows of classes that a hash of their number
    picks, which are the same ones whatever the order of rows. ``n_columns`` are looked
    at.
    """
    shares = _shares(table, classes, n_columns)
    if (shares >= 1.0).all():
        return None
    picked: Flags = _are_picked(shares)[class_of_leaf]
    return picked


def _are_picked(shares: Floats) -> Flags:
    keys = scatter(np.arange(shares.size, dtype=np.uint64))
    limits = np.minimum(shares * 2.0**64, np.nextafter(2.0**64, 0)).astype(np.uint64)
    picked: Flags = (keys <= limits) | (shares >= 1.0)
    return picked


def _shares(table: EncodedTable, classes: ReleasedClasses, n_columns: int) -> Floats:
    """Return the chance of each class to be looked at.

    Some have something hidden, in each of the quasi-identifiers, and some nothing.
    """
    most = min(_MOST_ROWS, MOST_CELLS // max(n_columns, 1))
    if int(table.counts.sum()) <= most:
        return np.ones(classes.n_classes)
    kinds = []
    for i in range(len(table.columns)):
        mixed = np.zeros(classes.n_classes, dtype=np.bool_)
        mixed[classes.of_tuple[_is_mixed(table, classes, i)]] = True
        kinds.append(mixed)
    kinds.append(~np.logical_or.reduce(kinds))
    wanted = min(_PICKED_ROWS, most // 2)
    shares = np.zeros(classes.n_classes)
    for kind in kinds:
        n_rows, n = int(classes.rows[kind].sum()), int(np.count_nonzero(kind))
        by_rows = wanted / len(kinds) / max(n_rows, 1)
        share = min(max(by_rows, _FEWEST_CLASSES / max(n, 1)), 1.0)
        shares[kind] = np.maximum(shares[kind], share)
    return shares


def _with_consent(concern: Concern, spec: Spec) -> Concern:
    return replace(concern, accepted=concern.column in spec.accept)


def _find_hidden(
    table: EncodedTable, mixed: list[Flags], piece: NDArray[np.int32]
) -> list[Hidden]:
    """Return the quasi-identifiers of which the release shows less than there was."""
    return [
        Hidden(
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


def told_share(carried: Coded, hidden: Hidden, counts: Integers) -> float:
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
