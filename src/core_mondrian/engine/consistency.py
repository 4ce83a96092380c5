"""Grow again until every model is met in comparison with the table that is *released*.

What is suppressed changes the table that classes are compared with, and is known only
afterwards. And some models look at all classes at once.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

from core_mondrian.engine.constraints import Constraints
from core_mondrian.models.base import PrivacyModel
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.encoded import EncodedTable

# How often the table is grown again because suppression changed what it is compared
# with; one time was enough wherever it was enough at all.
_MOST_RUNS = 4


class Attempt(Protocol):
    """A grown tree, and what the models have to know of it."""

    @property
    def n_suppressed(self) -> int: ...

    def released(self, constraints: Constraints) -> Constraints:
        """Return the constraints with the released rows as the table."""

    def passes(self, constraints: Constraints) -> bool:
        """Return whether every class passes."""

    def holds(self, models: Sequence[PrivacyModel]) -> bool:
        """Return whether models that look at all classes at once are met."""


AttemptT = TypeVar("AttemptT", bound=Attempt)
Grow = Callable[[Constraints, int], AttemptT]
"""Grows the tree under constraints and a budget."""


def grow_until_consistent(
    grow: Grow[AttemptT], table: EncodedTable, spec: Spec, constraints: Constraints
) -> AttemptT:
    """Grow until every model is met."""
    wide = [model for model in spec.models if model.enough_rows is not None]
    attempt = partial(_match_released_table, grow, table, spec)
    grown = attempt(constraints)
    if not wide or grown.holds(wide):
        return grown
    return _bisect_min_rows(attempt, table, wide, constraints)


def _match_released_table(
    grow: Grow[AttemptT], table: EncodedTable, spec: Spec, constraints: Constraints
) -> AttemptT:
    """Grow until every class passes in comparison with the released table.

    The released rows become the table, and the tree is grown again; if that does not
    come to an end, nothing is suppressed.
    """
    budget = spec.budget(table.n_rows)
    compares = any(type(model).measure is not None for model in spec.models)
    limits = constraints
    for _ in range(_MOST_RUNS):
        grown = grow(limits, budget)
        if not compares or (grown.n_suppressed == 0 and limits is constraints):
            return grown
        limits = grown.released(constraints)
        if grown.passes(limits):
            return grown
    return grow(constraints, 0)


def _bisect_min_rows(
    attempt: Callable[[Constraints], AttemptT],
    table: EncodedTable,
    wide: Sequence[PrivacyModel],
    constraints: Constraints,
) -> AttemptT:
    """Return the tree with the smallest classes, by bisection, that pass."""
    low = constraints.min_rows
    high = max(model.enough_rows or 1 for model in wide)
    most = table.n_rows if table.n_persons is None else table.n_persons
    high = min(max(high, low), most)
    grown = attempt(constraints._replace(min_rows=high))
    while high - low > 1:
        middle = (low + high) // 2
        finer = attempt(constraints._replace(min_rows=middle))
        if finer.holds(wide):
            grown, high = finer, middle
        else:
            low = middle
    return grown
