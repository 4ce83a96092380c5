"""What becomes of cohorts when some of their rows are gone or have changed.

A cohort is divided into parts: rows that go on being shown, rows that are shown anew
together, and rows of which nothing is shown any more. Each part has to pass the models
as the rows were shown last, for that is what a reader sees who compares releases. If
too few would leave, there are two ways (`Departures`):

    shown before    a b c d e f g h i j k l          k = 5; a and g are gone
    together        a b c d e f g h i j k l          they wait until three more go
    by lot          . b . d e . . h i . k l          three go along: c, f, j

Together: rows are shown as they were until enough leave with them; nobody who is still
there has to go, unless too few would stay behind. By lot: no reader can tell who is
gone from who went along; where that does not pass, the whole cohort leaves.

Who has left is never shown again: else those who are gone would be the ones that did
not come back.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Final, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from core_mondrian.recoding.labels import number_distinct
from core_mondrian.series.judge import Judge, Members

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

Departures = Literal["together", "by lot"]
DEPARTURES: Final = get_args(Departures)

GONE, SAME, OTHER = range(3)
"""What became of a row that was shown: it is gone, as it was, or it has changed."""
KEPT: Final = -1
"""The row goes on being shown as it was."""
NOTHING: Final = -2
"""Nothing is shown of the row from now on."""
_TRIES: Final = (1, 2)
"""How many times the smallest size may leave by lot, to satisfy all models."""


class Histories(NamedTuple):
    """Rows that were shown, and what has become of each."""

    cohort: Integers
    fate: NDArray[np.int8]
    """`GONE`, `SAME` or `OTHER`."""
    entering: Integers
    """The new cohort that a changed row could be shown in; -1: none."""
    lot: NDArray[np.uint64]
    """Drawn for the row's person."""
    person: Integers
    members: Members

    def take(self, chosen: Integers) -> "Histories":
        """Return some of them."""
        return Histories(
            self.cohort[chosen],
            self.fate[chosen],
            self.entering[chosen],
            self.lot[chosen],
            self.person[chosen],
            self.members.take(chosen),
        )


def settle(rows: Histories, judge: Judge, departures: Departures) -> Integers:
    """Return what is shown of each row: `KEPT`, `NOTHING`, or the new cohort.

    Cohorts of which all rows are the same are kept as they are.
    """
    shown = np.full(rows.cohort.size, KEPT, dtype=np.int64)
    left = np.flatnonzero(_anything_of(rows.cohort, rows.fate != SAME))
    is_by_lot = departures == "by lot"
    for plan_of in _plans_by_lot(judge) if is_by_lot else _plans_together(judge):
        here = rows.take(left)
        plan = plan_of(here)
        done = _are_sound(here, plan, judge) & _anything_of(here.cohort, plan != KEPT)
        shown[left[done]] = plan[done]
        left = left[~done]
    shown[left] = NOTHING if is_by_lot else KEPT
    return shown


def _plans_by_lot(judge: Judge) -> Iterator[Callable[[Histories], Integers]]:
    for enters, least in product((True, False), (*_TRIES, 0)):
        yield partial(_plan, least=least * judge.least, enters=enters)


def _plans_together(judge: Judge) -> Iterator[Callable[[Histories], Integers]]:
    """Yield what may become of a cohort; if nothing passes, it stays as it is."""
    for enters, leaves in ((True, True), (True, False), (False, True)):
        yield partial(_plan_together, enters=enters, leaves=leaves)
    yield partial(_plan_dissolved, judge=judge)


def _plan_together(rows: Histories, *, enters: bool, leaves: bool) -> Integers:
    """Return what would be shown: who cannot leave is shown as before."""
    is_same = rows.fate == SAME
    plan = np.where(is_same, KEPT, NOTHING if leaves else KEPT)
    if enters:
        plan = np.where(~is_same & (rows.entering >= 0), rows.entering, plan)
    return plan


def _plan_dissolved(rows: Histories, judge: Judge) -> Integers:
    """Return nothing, where those who are gone are enough to leave by themselves.

    By then too few would stay behind, or values of either part do not pass. Persons are
    counted, and no more: if values of those who are gone decided whether the others
    go with them, the cohort's staying would tell of values of those who are gone.
    """
    cohorts, cohort = number_distinct(rows.cohort)
    gone = np.where(rows.fate == GONE, cohort, -1)
    is_enough = judge.sizes(rows.members, gone, cohorts.size) >= judge.least
    return np.where(is_enough[cohort], NOTHING, KEPT)


def _anything_of(cohort: Integers, is_so: Flags) -> Flags:
    """Return of each row whether something is so of any row of its cohort."""
    is_there = np.zeros(int(cohort.max(initial=-1)) + 1, dtype=np.bool_)
    is_there[cohort[is_so]] = True
    return is_there[cohort]


def _plan(rows: Histories, least: int, *, enters: bool) -> Integers:
    """Return what would be shown; 0 as ``least``: of unchanged rows nothing."""
    plan = np.full(rows.cohort.size, NOTHING, dtype=np.int64)
    if enters:
        is_other = rows.fate == OTHER
        plan[is_other] = np.where(rows.entering < 0, NOTHING, rows.entering)[is_other]
    if least:
        plan[rows.fate == SAME] = KEPT
        plan[_going_along(rows, plan, least)] = NOTHING
    return plan


def _going_along(rows: Histories, plan: Integers, least: int) -> Flags:
    """Choose by lot who goes along, where those of whom nothing is shown are too few.

    Persons are drawn, with all their rows; as many as are needed, and no more.
    """
    cohorts, cohort = number_distinct(rows.cohort)
    width = int(rows.person.max(initial=0)) + 1
    pair = cohort * width + rows.person
    hidden = np.unique(pair[plan == NOTHING])
    n_hidden = np.bincount(hidden // width, minlength=cohorts.size)
    needed = np.where(n_hidden > 0, np.maximum(least - n_hidden, 0), 0)
    free = np.flatnonzero((plan == KEPT) & ~np.isin(pair, hidden))
    order = free[np.lexsort((pair[free], rows.lot[free], cohort[free]))]
    is_new = np.ones(order.size, dtype=np.bool_)
    is_new[1:] = pair[order][1:] != pair[order][:-1]
    # The place of each person among those of the cohort: 0 for the lowest lot.
    nth = np.cumsum(is_new) - 1
    first = np.searchsorted(cohort[order], np.arange(cohorts.size))
    place = nth - np.append(nth, 0)[first][cohort[order]]
    chosen = np.zeros(rows.cohort.size, dtype=np.bool_)
    chosen[order[place < needed[cohort[order]]]] = True
    return chosen


def _are_sound(rows: Histories, plan: Integers, judge: Judge) -> Flags:
    """Return of each row whether all parts of its cohort pass."""
    cohorts, cohort = number_distinct(rows.cohort)
    width = int(plan.max(initial=0)) + 3
    parts, part = number_distinct(cohort * width + plan + 2)
    passes = judge.passing(rows.members, part, parts.size)
    is_sound = np.ones(cohorts.size, dtype=np.bool_)
    is_sound[cohort[~passes[part]]] = False
    return is_sound[cohort]
