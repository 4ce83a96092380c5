"""Split tuples: whether the rule that split equal people gives a lone one away.

Policy `best` lends some of many equal people to the class of a few others. Who can
recompute which rows were lent knows that the rest of that class are the others.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from core_mondrian.analysis.attacks.candidates import Candidates
from core_mondrian.analysis.attacks.findings import Finding, counted, share_of
from core_mondrian.analysis.attacks.public_order import Keys, RowOrder, public_orders
from core_mondrian.runtime.array_types import ArrowArray, Flags, Integers
from core_mondrian.runtime.runs import run_members
from core_mondrian.verification.counting import Coded

CONFIRMED_BELOW: Final = 0.001
"""How likely a random order fits as well, at most."""
_MOST_PAIRS: Final = 1 << 24
_MOST_GUESSES: Final = 2000
_MOST_CLASSES: Final = 50
_MOST_ROWS: Final = 5000
_MOST_ENDS: Final = 20_000


@dataclass(frozen=True)
class Released:
    """The released rows, as far as this attack looks at them."""

    carried: Mapping[str, ArrowArray]
    """Columns that pass through, in their order."""
    sensitive: Coded
    """The sensitive values of each row together."""
    owner: Integers
    """The original row of each; -1: not known. By it guesses are judged."""


@dataclass(frozen=True)
class Split:
    """Classes that lent people may be in, next to people who have no other class."""

    home: Integers
    """By tuple: the class that nobody else fits; -1: there is none."""
    strangers: Integers
    """By class: the people who fit it and have no home."""
    n_fits: Integers
    """By tuple: how many classes it fits."""
    pair_tuple: Integers
    pair_class: Integers
    """Tuples with a home, and the mixed classes that they fit as well."""

    @classmethod
    def of(cls, candidates: Candidates, k: int) -> "Split":
        """Find the classes whose strangers are fewer than k."""
        pairs = [pair for _, _, pair in candidates.pairs()]
        tuples = np.concatenate([one[0] for one in pairs])
        classes = np.concatenate([one[1] for one in pairs])
        n_classes, n_tuples = candidates.rows.size, candidates.first.size
        is_alone = (np.bincount(classes, minlength=n_classes) == 1)[classes]
        home = np.full(n_tuples, -1, dtype=np.int64)
        # The largest comes last, and stays.
        own = np.flatnonzero(is_alone & (candidates.rows[classes] > 0))
        own = own[np.argsort(candidates.rows[classes[own]], kind="stable")]
        home[tuples[own]] = classes[own]
        has_home = home[tuples] >= 0
        strangers = np.bincount(
            classes[~has_home], candidates.people[tuples[~has_home]], n_classes
        ).astype(np.int64)
        is_mixed = (strangers > 0) & (strangers < k) & (candidates.rows > 0)
        chosen = has_home & is_mixed[classes]
        n_fits = np.bincount(tuples, minlength=n_tuples)
        return cls(home, strangers, n_fits, tuples[chosen], classes[chosen])


@dataclass(frozen=True)
class _Guess:
    """What one order of rows comes to."""

    order: str
    rows: Integers
    """Those that only strangers can be."""
    classes: Integers
    luck: float
    """How likely rows stand where the order has them if another one decided, at most.
    """


def name_lone_rows(
    candidates: Candidates, released: Released, k: int
) -> Finding | None:
    """Try every public order of rows, and count the rows that only strangers can be.

    None: no class holds lent people next to fewer than k others.
    """
    if not candidates.rows.size or not candidates.first.size:
        return None
    split = Split.of(candidates, k)
    if not split.pair_tuple.size:
        return None
    guesses = [_by_place(candidates, split, side) for side in ("first", "last")]
    for order in public_orders(released.carried, candidates.class_of.size):
        guesses.append(_eliminate(candidates, split, released, order))
        guesses.append(_suppose(candidates, split, released, order))
    judged = [_judge(candidates, split, released, one) for one in guesses]
    best = max(judged, key=lambda one: (one.succeeded, one.excess, -one.guess.luck))
    return _finding(candidates, split, best, k)


@dataclass(frozen=True)
class _Judged:
    """A guess, next to the truth."""

    guess: _Guess
    n: int
    """Rows whose owner is known."""
    right: int
    by_chance: float
    spread: float
    """The standard deviation of as many guesses by chance."""

    @property
    def excess(self) -> float:
        return self.right - self.by_chance

    @property
    def succeeded(self) -> bool:
        """Whether its order is confirmed, or too many are right for chance."""
        # Few guesses that come out right by luck are not enough.
        is_clear = self.right >= 5 and self.excess > 5 * max(self.spread, 0.5)
        is_confirmed = self.guess.luck < CONFIRMED_BELOW and self.excess > 0
        return is_confirmed or is_clear


def _judge(
    candidates: Candidates, split: Split, released: Released, guess: _Guess
) -> _Judged:
    owner = np.append(candidates.person, -1)[released.owner]
    is_stranger = (split.home[owner] < 0) & (released.owner >= 0)
    inside = candidates.class_of >= 0
    in_class = np.bincount(
        candidates.class_of[inside], is_stranger[inside], candidates.rows.size
    )
    known = released.owner[guess.rows] >= 0
    chances = (in_class / np.maximum(candidates.rows, 1))[guess.classes[known]]
    return _Judged(
        guess,
        int(np.count_nonzero(known)),
        int(np.count_nonzero(is_stranger[guess.rows])),
        float(chances.sum()),
        float(np.sqrt((chances * (1 - chances)).sum())),
    )


def _finding(candidates: Candidates, split: Split, best: _Judged, k: int) -> Finding:
    n_mixed = int(np.unique(split.pair_class).size)
    n = best.guess.rows.size
    return Finding(
        name="split tuples",
        succeeded=best.succeeded,
        numbers={
            "classes": n_mixed,
            "singled_out": n,
            "judged": best.n,
            "right": best.right,
            "by_chance": best.by_chance,
            "luck": best.guess.luck,
            "share": share_of(n, int(candidates.rows.sum())),
        },
        sentence=(
            f"{counted(n_mixed, 'class holds', 'classes hold')} lent rows beside "
            f"fewer than {k} rows of their own. By the {best.guess.order}, "
            f"{counted(n, 'row', 'rows')} can only be theirs: "
            f"{best.right:,} of {counted(best.n, 'guess is', 'guesses are')} right, "
            f"and {best.by_chance:.1f} would be by chance."
        ),
        remedy="make it again: a secret key now decides which rows are lent; or "
        "disjoint = true, which splits nothing",
    )


def _by_place(
    candidates: Candidates, split: Split, side: Literal["first", "last"]
) -> _Guess:
    """Take the first rows of a class for the strangers', if the others are in one run.

    Databases used to append lent rows tuple by tuple to all others.
    """
    n = candidates.class_of.size
    by_class = np.argsort(candidates.class_of, kind="stable")
    classes, n_lent = np.unique(split.pair_class, return_counts=True)
    starts = np.searchsorted(candidates.class_of[by_class], classes)
    in_order: list[int] = []
    chance, n_found = 1.0, 0
    for number, start, runs in zip(
        classes.tolist(), starts.tolist(), n_lent.tolist(), strict=True
    ):
        n_strangers = int(split.strangers[number])
        rows = by_class[start : start + int(candidates.rows[number])]
        ordered = rows if side == "first" else rows[::-1]
        strangers, lent = ordered[:n_strangers], ordered[n_strangers:]
        n_steps = int(np.count_nonzero(np.abs(np.diff(lent)) == 1))
        n_asked = lent.size - runs
        if n_asked >= 1 and n_steps >= n_asked:
            # As many neighbours, of rows in a random order.
            luck = comb(max(lent.size - 1, 0), n_steps) * (lent.size / n) ** n_steps
            chance *= min(1.0, luck)
            n_found += 1
            in_order += strangers.tolist()
    chance = min(1.0, chance * comb(classes.size, n_found))
    chosen = np.array(in_order, dtype=np.int64)
    name = f"place in the release, {side} of their class"
    return _Guess(name, chosen, candidates.class_of[chosen], chance)


@dataclass(frozen=True)
class _Homes:
    """Rows at home by class and sensitive values: how far they reach in an order."""

    group: Integers
    """Rising."""
    low: Keys
    high: Keys
    n: Integers

    @classmethod
    def of(cls, groups: Integers, values: Keys) -> "_Homes":
        order = np.argsort(groups, kind="stable")
        group, starts, n = np.unique(
            groups[order], return_index=True, return_counts=True
        )
        if not group.size:
            return cls(group, values[:0], values[:0], n)
        ordered = values[order]
        low = np.minimum.reduceat(ordered, starts)
        return cls(group, low, np.maximum.reduceat(ordered, starts), n)

    def places(self, groups: Integers) -> Integers:
        """Return where each group is; -1: nobody of it is at home."""
        at = np.minimum(np.searchsorted(self.group, groups), self.group.size - 1)
        if not self.group.size:
            return np.full(groups.size, -1, dtype=np.int64)
        return np.where(self.group[at] == groups, at, -1)


def _eliminate(
    candidates: Candidates, split: Split, released: Released, order: RowOrder
) -> _Guess:
    """Find rows that stand between those at home: they were not lent.

    What is lent of a tuple comes before or after what stays at home.
    """
    width = released.sensitive.n_codes
    own = candidates.class_of * width + released.sensitive.codes
    is_home = np.zeros(candidates.rows.size + 1, dtype=np.bool_)
    is_home[split.home[split.home >= 0]] = True
    at_home = np.flatnonzero(is_home[candidates.class_of] & order.decides)
    homes = _Homes.of(own[at_home], order.values[at_home])
    rows, tuples = _expand(candidates, split)
    place = homes.places(split.home[tuples] * width + released.sensitive.codes[rows])
    asked = np.flatnonzero((place >= 0) & order.decides[rows])
    values, at = order.values[rows[asked]], place[asked]
    is_gone = (values > homes.low[at]) & (values < homes.high[at])
    luck = _luck(is_gone, at, homes.n)
    n_left = np.bincount(rows, minlength=candidates.class_of.size)
    n_left -= np.bincount(rows[asked[is_gone]], minlength=candidates.class_of.size)
    is_mixed = np.zeros(candidates.rows.size + 1, dtype=np.bool_)
    is_mixed[split.pair_class] = True
    alone = np.flatnonzero((n_left == 0) & is_mixed[candidates.class_of])
    classes = candidates.class_of[alone]
    # More rows than there are strangers: the order was another one.
    n_alone = np.bincount(classes, minlength=candidates.rows.size)
    is_sound = (n_alone <= split.strangers)[classes]
    return _Guess(order.name, alone[is_sound], classes[is_sound], luck)


def _expand(candidates: Candidates, split: Split) -> tuple[Integers, Integers]:
    """Return the rows of mixed classes, each with every tuple that may be lent there.

    The smallest classes come first, as far as there is room.
    """
    n_rows = candidates.rows[split.pair_class]
    order = np.argsort(n_rows, kind="stable")
    order = order[: int(np.searchsorted(np.cumsum(n_rows[order]), _MOST_PAIRS)) + 1]
    classes, sizes = split.pair_class[order], n_rows[order]
    by_class = np.argsort(candidates.class_of, kind="stable")
    starts = np.searchsorted(candidates.class_of[by_class], classes)
    return by_class[run_members(starts, sizes)], np.repeat(
        split.pair_tuple[order], sizes
    )


def _luck(is_gone: Flags, at: Integers, n_home: Integers) -> float:
    """Return how likely as many rows may be lent, or more, in a random order.

    Of n rows at home and m others in a random order, r of the others stand outside in
    (r + 1) C(m - r + n - 2, n - 2) of C(m + n, m) ways. Rows at home in different
    groups are independent of each other.
    """
    groups, m = np.unique(at, return_counts=True)
    ends = np.ones(1)
    n_sure = 0
    for n, others in zip(n_home[groups].tolist(), m.tolist(), strict=True):
        if n < 2:
            n_sure += others
        elif ends.size + others <= _MOST_ENDS:
            ends = np.convolve(ends, _outside(n, others))
        else:
            return _bound_luck(is_gone, n_home[groups], m)
    n_outside = int(np.count_nonzero(~is_gone)) - n_sure
    return min(1.0, float(ends[max(n_outside, 0) :].sum()))


def _outside(n: int, m: int) -> NDArray[np.float64]:
    """Return the chances that 0, 1, … m rows stand before or after n others."""
    ways = [(r + 1) * comb(m - r + n - 2, n - 2) for r in range(m + 1)]
    whole = comb(m + n, m)
    return np.array([one / whole for one in ways])


def _bound_luck(is_gone: Flags, n_home: Integers, m: Integers) -> float:
    """Bound the same by its mean and variance, for a large number of rows (Cantelli).

    Each row stands outside with a chance of 2 / (n + 1), and two of them both do with
    one of 6 / ((n + 1) (n + 2)).
    """
    n = n_home.astype(np.float64)
    one = np.minimum(2 / (n + 1), 1.0)
    two = np.minimum(6 / ((n + 1) * (n + 2)), 1.0)
    mean = float((m * one).sum())
    variance = float((m * one * (1 - one) + m * (m - 1) * (two - one * one)).sum())
    excess = float(np.count_nonzero(~is_gone)) - mean
    return variance / (variance + excess**2) if excess > 0 else 1.0


def _suppose(
    candidates: Candidates, split: Split, released: Released, order: RowOrder
) -> _Guess:
    """Suppose rows to be the strangers', and see whether the others are in order.

    That is for orders that depend on which rows are in a tuple, and needs classes with
    one tuple of lent rows, all of whose other rows are at home.
    """
    rows: list[int] = []
    chance = 1.0
    for own, lent in islice(_simple_classes(candidates, split), _MOST_CLASSES):
        n_strangers = int(split.strangers[candidates.class_of[lent[0]]])
        if comb(lent.size, n_strangers) > _MOST_GUESSES or own.size > _MOST_ROWS:
            continue
        in_order = [
            outside
            for outside in combinations(lent.tolist(), n_strangers)
            if _is_in_order(own, np.setdiff1d(lent, outside), released, order)
        ]
        if not in_order:
            return _Guess(order.name, lent[:0], lent[:0], 1.0)
        n_lent = lent.size - n_strangers
        luck = min(1.0, 2 / comb(own.size + n_lent, n_lent))
        chance *= min(1.0, luck * comb(lent.size, n_strangers))
        rows += in_order[0] if len(in_order) == 1 else ()
    chosen = np.array(rows, dtype=np.int64)
    return _Guess(order.name, chosen, candidates.class_of[chosen], chance)


def _simple_classes(
    candidates: Candidates, split: Split
) -> Iterator[tuple[Integers, Integers]]:
    """Yield rows at home, and those of the one mixed class that their tuple fits."""
    n_tuples = np.bincount(split.pair_class, minlength=candidates.rows.size)
    simple = (split.n_fits[split.pair_tuple] == 2) & (n_tuples[split.pair_class] == 1)
    simple &= candidates.rows[split.pair_class] > split.strangers[split.pair_class]
    for one in np.flatnonzero(simple).tolist():
        home = split.home[split.pair_tuple[one]]
        yield (
            np.flatnonzero(candidates.class_of == home),
            np.flatnonzero(candidates.class_of == split.pair_class[one]),
        )


def _is_in_order(
    own: Integers, lent: Integers, released: Released, order: RowOrder
) -> bool:
    """Return whether lent rows come before or after all others of their tuple."""
    rows = np.union1d(own, lent)
    is_lent = np.isin(rows, lent)
    kinds = released.sensitive.codes[rows]
    values = order.within(rows, kinds)
    for kind in np.unique(kinds[is_lent]).tolist():
        a = values[is_lent & (kinds == kind)]
        b = values[~is_lent & (kinds == kind)]
        if b.size and not (a.min() > b.max() or a.max() < b.min()):
            return False
    return True
