"""Split tuples: whether the rule that split equal people gives a lone one away.

Policy `best` lends some of many equal people to the class of a few others. Who can
recompute which rows were lent knows that the rest of that class are the others.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb
from typing import Final

import numpy as np

from core_mondrian.attacks.candidates import Candidates
from core_mondrian.attacks.findings import Finding, counted, share_of
from core_mondrian.attacks.public_order import Keys, RowOrder, public_orders
from core_mondrian.measure.counting import Array, Coded, Codes, Flags

CONFIRMED_FROM: Final = 10.0
"""Standard deviations above chance: less likely than 1 in 100, however distributed."""
_MOST_PAIRS: Final = 1 << 24
_MOST_GUESSES: Final = 2000
_MOST_CLASSES: Final = 50
_MOST_ROWS: Final = 5000


@dataclass(frozen=True)
class Released:
    """The released rows, as far as this attack looks at them."""

    carried: Mapping[str, Array]
    """Columns that pass through, in their order."""
    sensitive: Coded
    """The sensitive values of each row together."""
    owner: Codes
    """The original row of each; -1: not known. By it guesses are judged."""


@dataclass(frozen=True)
class Split:
    """Classes that lent people may be in, next to people who have no other class."""

    home: Codes
    """By tuple: the class that nobody else fits; -1: there is none."""
    strangers: Codes
    """By class: the people who fit it and have no home."""
    n_fits: Codes
    """By tuple: how many classes it fits."""
    pair_tuple: Codes
    pair_class: Codes
    """Tuples with a home, and the mixed classes that they fit as well."""

    @classmethod
    def of(cls, candidates: Candidates, k: int) -> "Split":
        """Find the classes whose strangers are fewer than k."""
        pairs = [found for _, _, found in candidates.pairs()]
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
    rows: Codes
    """Those that only strangers can be."""
    classes: Codes
    score: float
    """Standard deviations above chance by which rows stand where the order has them."""


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
    guesses = [
        guess
        for order in public_orders(released.carried, candidates.class_of.size)
        for guess in (
            _eliminate(candidates, split, released, order),
            _suppose(candidates, split, released, order),
        )
    ]
    best = max(guesses, key=lambda one: (one.score, one.rows.size))
    return _finding(candidates, split, released, best, k)


def _finding(
    candidates: Candidates, split: Split, released: Released, best: _Guess, k: int
) -> Finding:
    owner = np.append(candidates.person, -1)[released.owner]
    is_stranger = (split.home[owner] < 0) & (released.owner >= 0)
    known = released.owner[best.rows] >= 0
    right = int(np.count_nonzero(is_stranger[best.rows]))
    inside = candidates.class_of >= 0
    in_class = np.bincount(
        candidates.class_of[inside], is_stranger[inside], candidates.rows.size
    )
    chances = in_class / np.maximum(candidates.rows, 1)
    expected = float(chances[best.classes[known]].sum())
    n_judged = int(np.count_nonzero(known))
    confirmed = best.score >= CONFIRMED_FROM
    spread = float(np.sqrt((chances * (1 - chances))[best.classes[known]].sum()))
    # Few guesses that come out right by luck are not enough: five of them at least.
    beats_chance = right >= 5 and right > expected + 5 * max(spread, 0.5)
    n = best.rows.size
    n_mixed = int(np.unique(split.pair_class).size)
    return Finding(
        name="split tuples",
        succeeded=n > 0 and (confirmed or beats_chance),
        numbers={
            "classes": n_mixed,
            "singled_out": n,
            "judged": n_judged,
            "right": right,
            "by_chance": expected,
            "score": best.score,
            "share": share_of(n, int(candidates.rows.sum())),
        },
        sentence=(
            f"{counted(n_mixed, 'class holds', 'classes hold')} lent rows next to "
            f"fewer than {k} people of their own. By the {best.order}, "
            f"{counted(n, 'row', 'rows')} can only be theirs: "
            f"{right} of {n_judged} guesses are right, and {expected:.1f} would be by "
            f"chance."
        ),
        remedy="make it again: a secret key now decides which rows are lent; or "
        "disjoint = true, which splits nothing",
    )


@dataclass(frozen=True)
class _Homes:
    """Rows at home by class and sensitive values: how far they reach in an order."""

    group: Codes
    """Rising."""
    low: Keys
    high: Keys
    n: Codes

    @classmethod
    def of(cls, groups: Codes, values: Keys) -> "_Homes":
        order = np.argsort(groups, kind="stable")
        group, starts, n = np.unique(
            groups[order], return_index=True, return_counts=True
        )
        if not group.size:
            return cls(group, values[:0], values[:0], n)
        ordered = values[order]
        low = np.minimum.reduceat(ordered, starts)
        return cls(group, low, np.maximum.reduceat(ordered, starts), n)

    def places(self, groups: Codes) -> Codes:
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
    score = _score(is_gone, at, own[rows[asked]], homes.n)
    n_left = np.bincount(rows, minlength=candidates.class_of.size)
    n_left -= np.bincount(rows[asked[is_gone]], minlength=candidates.class_of.size)
    is_mixed = np.zeros(candidates.rows.size + 1, dtype=np.bool_)
    is_mixed[split.pair_class] = True
    alone = np.flatnonzero((n_left == 0) & is_mixed[candidates.class_of])
    classes = candidates.class_of[alone]
    # More rows than there are strangers: the order was another one.
    n_alone = np.bincount(classes, minlength=candidates.rows.size)
    is_sound = (n_alone <= split.strangers)[classes]
    return _Guess(order.name, alone[is_sound], classes[is_sound], score)


def _expand(candidates: Candidates, split: Split) -> tuple[Codes, Codes]:
    """Return the rows of mixed classes, each with every tuple that may be lent there.

    The smallest classes come first, as far as there is room.
    """
    n_rows = candidates.rows[split.pair_class]
    order = np.argsort(n_rows, kind="stable")
    order = order[: int(np.searchsorted(np.cumsum(n_rows[order]), _MOST_PAIRS)) + 1]
    classes, sizes = split.pair_class[order], n_rows[order]
    by_class = np.argsort(candidates.class_of, kind="stable")
    starts = np.searchsorted(candidates.class_of[by_class], classes)
    within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    rows = by_class[np.repeat(starts, sizes) + within]
    return rows, np.repeat(split.pair_tuple[order], sizes)


def _score(is_gone: Flags, at: Codes, own: Codes, n_home: Codes) -> float:
    """Compare how many rows may be lent with as many in a random order.

    Of n + 1 rows in a random order each is an end one with a chance of 2 / (n + 1), and
    of n + 2 rows two are, given the n others, with one of 6 / ((n + 1) (n + 2)).
    """
    if not at.size:
        return 0.0
    # One group for each class, and each tuple that may be lent to it.
    _, first, m = np.unique(
        np.stack([at, own], axis=1), axis=0, return_index=True, return_counts=True
    )
    n = n_home[at[first]].astype(np.float64)
    one = np.minimum(2 / (n + 1), 1.0)
    two = np.minimum(6 / ((n + 1) * (n + 2)), 1.0)
    mean = float((m * one).sum())
    variance = float((m * one * (1 - one) + m * (m - 1) * (two - one * one)).sum())
    if variance <= 0:
        return 0.0
    return float((np.count_nonzero(~is_gone) - mean) / np.sqrt(variance))


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
        found = [
            outside
            for outside in combinations(lent.tolist(), n_strangers)
            if _is_in_order(own, np.setdiff1d(lent, outside), released, order)
        ]
        if not found:
            return _Guess(order.name, lent[:0], lent[:0], 0.0)
        n_lent = lent.size - n_strangers
        luck = min(1.0, 2 / comb(own.size + n_lent, n_lent))
        chance *= min(1.0, luck * comb(lent.size, n_strangers))
        rows += found[0] if len(found) == 1 else ()
    chosen = np.array(rows, dtype=np.int64)
    # As unlikely as that many standard deviations at most (Cantelli).
    score = float(np.sqrt(1 / max(chance, 1e-300) - 1))
    return _Guess(order.name, chosen, candidates.class_of[chosen], score)


def _simple_classes(
    candidates: Candidates, split: Split
) -> Iterator[tuple[Codes, Codes]]:
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


def _is_in_order(own: Codes, lent: Codes, released: Released, order: RowOrder) -> bool:
    """Tell whether lent rows come before or after all others of their tuple."""
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
