"""What released columns may reveal, and whether classes hold enough persons.

Nothing is refused for it. A concern holds column names and counts, never a cell.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from core_mondrian.errors import show_name
from core_mondrian.measures.leakage import Hidden, HiddenCounts
from core_mondrian.measures.row_sample import MOST_CELLS, DistinctRows, EveryRow
from core_mondrian.runtime.array_types import Flags, Floats, IntegerArray, Integers
from core_mondrian.runtime.plain_values import JsonObject
from core_mondrian.runtime.threads import map_columns
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.encoded import EncodedTable, ReleasedClasses
from core_mondrian.tables.frames import OpenColumn
from core_mondrian.tables.hashing import splitmix64
from core_mondrian.verification.counting import (
    Coded,
    combine,
    first_rows,
    group,
    value_counts,
)

if TYPE_CHECKING:
    from core_mondrian.recoding.plan import Plan
    from core_mondrian.spec.identifier_detection import Recognized

Why: TypeAlias = Literal[
    "identifier", "singles-out", "tells", "persons", "text", "lost"
]

TELLS: Final = 0.5
"""Share of what was hidden in a quasi-identifier that another column may reveal."""
SINGLES_OUT: Final = 0.05
"""Share of the filled rows (persons) that a column may single out by itself …"""
SINGLES_OUT_IN_CLASS: Final = 0.5
"""… and within their classes."""
_MOST_ROWS: Final = 1 << 16
"""Rows of tables that are looked at whole."""
_PICKED_ROWS: Final = 1 << 15
"""Rows looked at of larger ones, about: 1M rows of census take .1 s of CPU time."""
_FEWEST_CLASSES: Final = 16
_FREE_PAIRS: Final = 8
"""Pairs of a class and a value, by row, that are counted whether they occur or not."""
_BLOCK: Final = 1 << 16
"""Tuples that are compared at a time."""


@dataclass(frozen=True, slots=True)
class DisclosureWarning:
    """What a released column may reveal, or what its owner should know of it."""

    column: str
    why: Why
    text: str
    """One sentence, with the column's name, for whoever made the release."""
    about: str | None = None
    """The quasi-identifier it reveals."""
    share: float | None = None
    """How far it goes, from 0 to 1; rounded."""
    accepted: bool = False
    """The spec says that this is known."""

    def __str__(self) -> str:
        return self.text

    def to_json(self) -> JsonObject:
        """Return plain values: for the owner, as figures depend on hidden cells."""
        return {
            "column": self.column,
            "why": self.why,
            "about": self.about,
            "share": self.share,
            "accepted": self.accepted,
            "text": self.text,
        }


class Repeats(NamedTuple):
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


class RowSample(NamedTuple):
    """The rows that are looked at: all of a release, or some classes'."""

    names: tuple[str, ...]
    """All columns of the table."""
    sight: DistinctRows | EveryRow
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
    if unit is None:
        repeats = np.bincount(column.codes, counts, column.n_codes)[:-1]
        return _as_repeats(repeats[repeats > 0])
    filled = np.flatnonzero(~column.missing)
    codes = column.codes[filled]
    persons = unit.codes[filled]
    pairs = combine([Coded(codes, column.n_codes), Coded(persons, unit.n_codes)])
    first = first_rows(pairs)
    codes, persons = codes[first], persons[first]
    n_persons = np.bincount(codes)
    alone = persons[n_persons[codes] == 1]
    n_filled, n_alone = (int(np.unique(x).size) for x in (persons, alone))
    return Repeats(n_filled, int(np.count_nonzero(n_persons)), n_alone)


def count_cells(series: OpenColumn, rows: Flags | None = None) -> Repeats:
    """Count how far the values of a frame's column repeat, in all rows or some."""
    return _as_repeats(value_counts(series, rows))


def _as_repeats(counts: IntegerArray) -> Repeats:
    n_alone = int(np.count_nonzero(counts == 1))
    return Repeats(int(counts.sum()), int(counts.size), n_alone)


class KindCounts(NamedTuple):
    """Classes by what they hide: something in a quasi-identifier; last, nothing.

    A class is of several kinds if it hides something in several columns.
    """

    rows: Integers
    classes: Integers
    n_rows: int
    """Rows of the whole table."""
    n_classes: int

    def plus(self, other: "KindCounts") -> "KindCounts":
        """Return the counts of both parts of a release."""
        return KindCounts(
            self.rows + other.rows,
            self.classes + other.classes,
            self.n_rows + other.n_rows,
            self.n_classes + other.n_classes,
        )

    def shares(self, is_mixed: Flags, n_columns: int) -> Floats:
        """Return the chance of each class to be looked at, ``n_columns`` of it.

        Some have something hidden, in each of the quasi-identifiers, and some nothing.
        """
        most = min(_MOST_ROWS, MOST_CELLS // max(n_columns, 1))
        if self.n_rows <= most:
            return np.ones(is_mixed.shape[1])
        wanted = min(_PICKED_ROWS, most // 2)
        shares = np.zeros(is_mixed.shape[1])
        for kind, n_rows, n in zip(
            [*is_mixed, ~is_mixed.any(axis=0)],
            self.rows.tolist(),
            self.classes.tolist(),
            strict=True,
        ):
            by_rows = wanted / self.rows.size / max(n_rows, 1)
            share = min(max(by_rows, _FEWEST_CLASSES / max(n, 1)), 1.0)
            shares[kind] = np.maximum(shares[kind], share)
        return shares


class Generalized(NamedTuple):
    """Classes of a release, and the columns in which they hide something."""

    table: EncodedTable
    classes: ReleasedClasses
    is_mixed: Flags
    """By quasi-identifier (axis 0) and class (axis 1): there are several values."""
    chance: Floats | None = None
    """If these are some classes of a release, picked at random: the chance each had."""
    n_classes: int | None = None
    """And how many there are in all."""

    @classmethod
    def of(cls, table: EncodedTable, classes: ReleasedClasses) -> "Generalized":
        """Compare each tuple of a class with one of them, the same one for all."""
        inside = np.flatnonzero(classes.of_tuple >= 0)
        one = np.zeros(classes.n_classes, dtype=np.int64)
        one[classes.of_tuple[inside]] = inside
        n_columns = len(table.columns)
        codes = table.codes[:, :n_columns]
        n_words = -(-n_columns // 8)
        # A byte says whether a column is mixed, and eight of them are a word.
        mixed = np.zeros((classes.n_classes, n_words), dtype=np.uint64)
        for start in range(0, inside.size, _BLOCK):
            tuples = inside[start : start + _BLOCK]
            owner = classes.of_tuple[tuples]
            differs = np.zeros((tuples.size, 8 * n_words), dtype=np.bool_)
            picked = codes.take(one[owner], axis=0)
            own = codes.take(tuples, axis=0)
            np.not_equal(own, picked, out=differs[:, :n_columns])
            _add_words(mixed, owner, differs.view(np.uint64))
        flags = mixed.view(np.bool_)[:, :n_columns]
        return cls(table, classes, np.ascontiguousarray(flags.T))

    def kinds(self) -> KindCounts:
        """Count the classes of each kind, and their rows."""
        kinds = [*self.is_mixed, ~self.is_mixed.any(axis=0)]
        rows = self.classes.rows
        return KindCounts(
            np.array([rows[kind].sum() for kind in kinds], dtype=np.int64),
            np.array([np.count_nonzero(kind) for kind in kinds], dtype=np.int64),
            int(self.table.counts.sum()),
            self.classes.n_classes,
        )

    def shares(self, n_columns: int) -> Floats:
        """Return the chance of each class to be looked at, ``n_columns`` of it."""
        if self.chance is not None:
            return self.chance
        return self.kinds().shares(self.is_mixed, n_columns)

    def hidden(self, piece: NDArray[np.int32]) -> list[Hidden]:
        """Return the quasi-identifiers of which rows show less than there was."""
        owner = self.classes.of_tuple[piece]
        codes = self.table.codes.take(piece, axis=0)
        return [
            Hidden(
                column.name,
                codes[:, place].astype(np.int64),
                column.n_values + 1,
                np.append(is_mixed, False)[owner],
            )
            for place, (column, is_mixed) in enumerate(
                zip(self.table.columns, self.is_mixed, strict=True)
            )
            if is_mixed.any()
        ]


def _add_words(
    into: NDArray[np.uint64], owner: NDArray[np.int32], words: NDArray[np.uint64]
) -> None:
    """Set the bits of ``words`` in those of their owners.

    Of the words of one owner the last is set, and then those that still lack a bit.
    """
    while owner.size:
        words = words & ~into.take(owner, axis=0)
        rest = np.flatnonzero(np.bitwise_or.reduce(words, axis=1))
        owner, words = owner[rest], words.take(rest, axis=0)
        into[owner] = into.take(owner, axis=0) | words


class _Whole(NamedTuple):
    """The classes of which all rows are looked at, and those rows."""

    rows: Integers
    """Places of the rows among those looked at."""
    of_row: Coded
    """The class of each of them."""
    sizes: Integers
    """How many of them each class has."""
    weights: Floats
    """How many classes of the release each stands for."""
    n_classes: int
    """Classes of the release."""

    @property
    def is_everything(self) -> bool:
        return self.of_row.n_codes == self.n_classes

    @classmethod
    def of(
        cls, sight: DistinctRows | EveryRow, release: Generalized, shares: Floats
    ) -> "_Whole":
        classes = release.classes
        owner = classes.of_tuple[sight.piece].astype(np.int64)
        inside = np.flatnonzero(owner >= 0)
        n, counts = classes.n_classes, sight.counts
        weights = None if counts is None else counts[inside]
        seen = np.bincount(owner[inside], weights, n).astype(np.int64)
        is_whole = (seen == classes.rows) & (seen > 0)
        if release.chance is None:
            is_whole &= are_picked(shares)
        rows = inside[is_whole[owner[inside]]]
        numbers = np.cumsum(is_whole) - 1
        of_row = Coded(numbers[owner[rows]], int(np.count_nonzero(is_whole)))
        n_classes = release.n_classes or int(np.count_nonzero(classes.rows))
        sizes = np.bincount(of_row.codes, minlength=of_row.n_codes)
        return cls(rows, of_row, sizes, 1.0 / shares[is_whole], n_classes)

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
        self, column: Coded, unit: Coded | None, counts: Integers | None
    ) -> tuple[int, float]:
        """Return who is alone with a value in their class: how many, and their share.

        The share is an estimate unless all classes are looked at, and of those who
        have a value.

            class    0  0  0 | 1  1          value   a  a  b | a  c
            alone              the third row, and both of class 1
        """
        if self.rows.size == column.codes.size:
            codes, rows = column.codes, self.rows
        else:
            codes, rows = column.codes[self.rows], self.rows
        owner, n_owners = self.of_row.codes, self.of_row.n_codes
        filled = np.flatnonzero(codes < column.n_codes - 1)
        if filled.size < codes.size:
            codes, rows, owner = codes[filled], rows[filled], owner[filled]
        n = None if counts is None else counts[rows]
        if unit is not None:
            # One row of each person, value and class.
            every = [Coded(owner, n_owners), Coded(codes, column.n_codes)]
            first = first_rows(combine([*every, unit.select(rows)]))
            rows, owner, codes, n = rows[first], owner[first], codes[first], None
        pairs = Coded(owner * column.n_codes + codes, n_owners * column.n_codes)
        if unit is None and pairs.n_codes <= _FREE_PAIRS * max(codes.size, 1):
            table = np.bincount(pairs.codes, n, pairs.n_codes)
            table = table.reshape(n_owners, column.n_codes)
            alone, everybody = (table == 1).sum(axis=1), table.sum(axis=1)
        else:
            keys = group(pairs).codes
            is_alone = np.bincount(keys, n)[keys] == 1
            alone = np.bincount(owner[is_alone], minlength=n_owners)
            everybody = np.bincount(owner, n, n_owners)
        n_alone = int(alone.sum())
        if unit is not None:
            n_alone = int(np.unique(unit.codes[rows[is_alone]]).size)
        # Class by class: the order of rows rounds no sum.
        lone, whole = (float((x * self.weights).sum()) for x in (alone, everybody))
        return n_alone, lone / max(whole, 1.0)

    def may_be_alone(
        self, column: Coded, unit: Coded | None, counts: Integers | None
    ) -> bool:
        """Return whether `find_alone` can find as many as it takes to be said.

        In a class, no more rows are alone than there are values, or rows. With a
        value, no more rows are alone than have it, or than there are classes.
        """
        if unit is not None or counts is not None or not self.is_everything:
            return True
        times = np.bincount(column.codes, minlength=column.n_codes)
        if times[-1]:
            return True
        by_class = np.minimum(self.sizes, column.n_codes - 1).sum()
        by_value = np.minimum(times, self.n_classes).sum()
        most = min(int(by_class), int(by_value))
        return most >= SINGLES_OUT_IN_CLASS * int(self.sizes.sum())


def find_concerns(
    looked: RowSample, spec: Spec, release: Generalized, threads: int | None = None
) -> tuple[DisclosureWarning, ...]:
    """Look at every column that is released as it is, and at every identifier."""
    sight = looked.sight
    shares = release.shares(len(seen_columns(spec, looked.names)))
    look = _Look(
        looked,
        spec,
        _Whole.of(sight, release, shares),
        [HiddenCounts.of(one, sight.counts) for one in release.hidden(sight.piece)],
        None if spec.unit is None else sight.coded(spec.unit),
    )
    shown = set(shown_columns(spec, looked.names))

    def find(place: int) -> list[DisclosureWarning]:
        name = looked.names[place]
        title = show_name(name, place + 1)
        if name in shown:
            return look.at_shown(name, title)
        if name in spec.identifiers or name in spec.pseudonyms:
            return look.at_persons(name, title)
        return []

    n_rows = int(release.table.counts.sum())
    by_column = map_columns(find, range(len(looked.names)), n_rows, threads)
    return tuple(_with_consent(one, spec) for each in by_column for one in each)


class _Look(NamedTuple):
    """One look at a release."""

    looked: RowSample
    spec: Spec
    whole: _Whole
    at_stake: list[HiddenCounts]
    unit: Coded | None

    def at_shown(self, name: str, title: str) -> list[DisclosureWarning]:
        """Look at a column that is released as it is."""
        sight, warnings = self.looked.sight, []
        looks = self._recognize(name)
        if looks is not None:
            text = f"{title} looks like {looks}, and is released as it is"
            warnings.append(DisclosureWarning(name, "identifier", text))
            if looks.kind.role == "identifier":
                warnings += self.at_persons(name, title)
        coded = sight.coded(name)
        if coded is None:
            return warnings
        warnings += self._singles_out(name, title, coded)
        return warnings + [
            DisclosureWarning(
                name,
                "tells",
                f"{title} is released as it is, and reveals {share:.1%} of what is "
                f"hidden in {one.hidden.name!r}",
                one.hidden.name,
                share,
            )
            for one in self.at_stake
            if (share := one.share_leaked_by(coded, TELLS)) >= TELLS
        ]

    def _recognize(self, name: str) -> "Recognized | None":
        from core_mondrian.spec.identifier_detection import (
            recognize_name,
            recognize_values,
        )

        looks = recognize_name(name)
        if looks is not None:
            return looks
        values = self.looked.sight.some_values(name)
        # Of objects of several types, only the name is left to go by.
        return None if values is None else recognize_values(values)

    def _singles_out(
        self, name: str, title: str, coded: Coded
    ) -> list[DisclosureWarning]:
        """Say how many rows (persons) a column singles out, if they are many."""
        unit, counts = self.unit, self.looked.sight.counts
        # Who is alone in a table is alone in a part of it, too.
        is_rare = count_repeats(coded, unit, counts).share_alone >= SINGLES_OUT
        if not is_rare and not self.whole.may_be_alone(coded, unit, counts):
            return []
        n_inside, inside = self.whole.find_alone(coded, unit, counts)
        by_class = n_inside > 1 and inside >= SINGLES_OUT_IN_CLASS
        if not is_rare and not by_class:
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
            DisclosureWarning(
                name,
                "singles-out",
                f"{start} {alone}, {together} {with_them}",
                share=round(repeats.share_alone if by_itself else inside, 4),
            )
        ]

    def at_persons(self, name: str, title: str) -> list[DisclosureWarning]:
        """Say so if an identifier has several rows of a value, and nobody counts it."""
        if self.spec.unit is not None or self.looked.sight.coded(name) is None:
            return []
        from core_mondrian.spec.identifier_detection import recognize_name

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
        return [DisclosureWarning(name, "persons", text, share=share)]

    def _say_small(self, name: str) -> str:
        coded, whole = self.looked.sight.coded(name), self.whole
        if coded is None or not whole.of_row.n_codes:  # no class is there, or whole
            return ""
        least = max(self.spec.min_rows, 2)
        about = "" if whole.is_everything else "about "
        few = f"{about}{whole.count_small(coded, least):,} of {whole.n_classes:,}"
        return f"by its values, {few} classes hold fewer than {least} persons; "


def sample_leaves(plan: "Plan", release: Generalized, n_columns: int) -> Flags:
    """Return by leaf whether its rows are looked at for what they reveal.

    The last entry is that of rows that are suppressed. Large tables are looked at in
    part: all rows of classes that a hash of their number picks, which are the same ones
    whatever the order of rows. ``n_columns`` are looked at.
    """
    of_leaf, shares = plan.recoded.class_of_leaf, release.shares(n_columns)
    if (shares >= 1.0).all():
        return np.append(np.ones(of_leaf.size, np.bool_), not plan.spec.leaves_out)
    return np.append(are_picked(shares)[of_leaf], False)


def are_picked(shares: Floats, first: int = 0) -> Flags:
    """Pick classes at random, with these chances; ``first`` is the first number."""
    keys = splitmix64(np.arange(first, first + shares.size, dtype=np.uint64))
    limits = np.minimum(shares * 2.0**64, np.nextafter(2.0**64, 0)).astype(np.uint64)
    picked: Flags = (keys <= limits) | (shares >= 1.0)
    return picked


def _with_consent(concern: DisclosureWarning, spec: Spec) -> DisclosureWarning:
    return replace(concern, accepted=concern.column in spec.accept)
