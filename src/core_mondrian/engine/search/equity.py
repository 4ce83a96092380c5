"""Equity: search again with the rows of the groups that lose most worth more.

Multiplicative weights: a group that loses twice as much as the table on average counts
twice as much the next time. The group that loses most then loses less, and the others
a little more; which of the rounds is taken depends on the bound.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from core_mondrian.engine import layout
from core_mondrian.engine.layout import Codes, Floats
from core_mondrian.engine.search.best import BestSearch, Searched, losses_of
from core_mondrian.errors import DataError, SpecError
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.encoded import EncodedTable

_MOST_GROUPS = 100
_ROUNDS = 6
# Searches in a row after which no more is gained.
_MOST_IN_VAIN = 2
# Smaller groups have few classes of their own to gain by. They are one group together,
# and if that is too small as well it is left alone.
_CLASSES_PER_GROUP = 10
# What a row is worth, next to 1 for the average: more, and the others hardly count.
_LEAST, _MOST = 1 / 16, 32.0
# Whole numbers: sums do not depend on their order. All rows are worth up to 2**30.
_UNIT, _LARGEST = 1024, 2**30

ResultT = TypeVar("ResultT")
Attempt = Callable[[Codes | None, float, float], tuple[ResultT, Floats]]
"""``attempt(worth of each tuple, share done, share of this one)``: what was found, and
what all rows of each group lose."""


class Groups(NamedTuple):
    """The groups that should lose alike."""

    column: str
    of_tuple: Codes
    rows: NDArray[np.int64]
    """Rows of each group."""
    n_bounded: int
    """How many of them are large enough to be looked at; they come first."""


@dataclass(frozen=True, slots=True)
class Balance:
    """How much groups lose, as shares: 1 is a group that shows nothing."""

    column: str
    bound: float | None
    """What the worst group may lose, as a multiple of ``loss_before``."""
    n_groups: int
    rounds: int
    """Searches it took; 1: nothing had to be changed."""
    worst_before: float
    worst: float
    """What the group loses that loses most, without and with equity."""
    loss_before: float
    loss: float
    """What all rows lose on average: the difference is what equity costs."""

    @property
    def is_reached(self) -> bool:
        """Whether no group loses more than the bound allows."""
        return self.bound is None or self.worst <= self.bound * self.loss_before

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {**asdict(self), "is_reached": self.is_reached}


def find_groups(table: EncodedTable, spec: Spec) -> Groups | None:
    """Return the groups of the column that the spec names; None: it names none.

    Raises:
        SpecError: the column has too many values for groups.
    """
    name = spec.equity
    if name is None:
        return None
    names = [*table.names]
    names += [column.name for column in table.sensitive]
    at = names.index(name)
    codes = table.codes[:, at]
    rows = np.bincount(codes, weights=table.counts).astype(np.int64)
    if np.count_nonzero(rows) > _MOST_GROUPS:
        raise SpecError(
            f"best.equity: column {name!r} has more than {_MOST_GROUPS} values",
            hint="name a column of groups, such as sex or an age group",
            key=("best", "equity"),
        )
    if table.n_rows * 4 > _LARGEST:
        raise DataError(
            f"best.equity: at most {_LARGEST // 4} rows",
            hint="release the table in parts, or without equity",
        )
    large = rows >= _CLASSES_PER_GROUP * spec.min_rows
    number = np.where(large, np.cumsum(large) - 1, np.count_nonzero(large))
    of_tuple = number[codes].astype(np.int32)
    sizes = np.bincount(of_tuple, weights=table.counts).astype(np.int64)
    n_bounded = int(np.count_nonzero(sizes >= _CLASSES_PER_GROUP * spec.min_rows))
    return Groups(name, of_tuple, sizes, n_bounded)


def losses_by_group(search: BestSearch, found: Searched, groups: Groups) -> Floats:
    """Return what all rows of each group lose together; a suppressed row loses all."""
    leaves = found.nodes[found.nodes["kind"] != layout.CUT]
    leaves = leaves[np.argsort(leaves["start"], kind="stable")]
    most = float(search.objective.info["weight"].sum())
    lost = np.full(leaves.size, most)
    is_class = leaves["kind"] == layout.CLASS
    lost[is_class] = losses_of(search, found.records, leaves[is_class])
    each = (
        np.repeat(lost / most, leaves["stop"] - leaves["start"]) * found.records[:, -2]
    )
    owner = groups.of_tuple[found.records[:, -1]]
    losses = np.bincount(owner, weights=each, minlength=groups.rows.size)
    return losses.astype(np.float64)


def balance_groups(
    groups: Groups, bound: float | None, attempt: Attempt[ResultT]
) -> tuple[ResultT, Balance]:
    """Search until the worst group loses at most ``bound`` times what all rows did.

    If that is not reached, or there is no bound, the last search is taken in which the
    worst group gained at least the share that all rows together lost.
    """
    weights = np.ones(groups.rows.size)
    found, lost = attempt(None, 0.0, 1 / _ROUNDS)
    first = taken = _Losses(lost, groups)
    most = -1.0 if bound is None else bound * first.mean
    turn, lowest = 1, first.worst
    n_vain = 0
    while turn < _ROUNDS and n_vain < _MOST_IN_VAIN and lowest > max(most, 0.0):
        weights = _reweigh(weights, lost, groups)
        worth = _whole(weights, groups)[groups.of_tuple]
        tried, lost = attempt(worth, turn / _ROUNDS, 1 / _ROUNDS)
        turn += 1
        new = _Losses(lost, groups)
        if new.worst <= most or new.worst * new.mean < taken.worst * taken.mean:
            found, taken = tried, new
        n_vain = 0 if new.worst < lowest else n_vain + 1
        lowest = min(lowest, new.worst)
    return found, Balance(
        column=groups.column,
        bound=bound,
        n_groups=groups.n_bounded,
        rounds=turn,
        worst_before=first.worst,
        worst=taken.worst,
        loss_before=first.mean,
        loss=taken.mean,
    )


class _Losses:
    """What the worst group loses, and all rows on average."""

    def __init__(self, lost: Floats, groups: Groups) -> None:
        self.mean = float(lost.sum()) / int(groups.rows.sum())
        each = (lost / groups.rows)[: groups.n_bounded]
        self.worst = float(each.max(initial=0.0))


def _reweigh(weights: Floats, lost: Floats, groups: Groups) -> Floats:
    """Let groups count more by how much more than the average they lose."""
    n_rows = int(groups.rows.sum())
    ratio = lost / groups.rows * (n_rows / lost.sum())
    ratio[groups.n_bounded :] = 1.0
    weights = weights * np.maximum(ratio, _LEAST)
    weights = weights * (n_rows / (weights @ groups.rows))
    return np.clip(weights, _LEAST, _MOST)


def _whole(weights: Floats, groups: Groups) -> Codes:
    """Return weights as whole numbers that, added up over all rows, fit."""
    unit = min(_UNIT, _LARGEST // int(np.ceil(weights @ groups.rows)))
    return np.maximum(np.rint(weights * unit), 1.0).astype(np.int32)
