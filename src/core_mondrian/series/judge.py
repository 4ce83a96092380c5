"""Do sets of rows pass the models, compared with the table of the fit?"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core_mondrian.models.base import ClassCounts, PrivacyModel
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.encoded import SensitiveColumn

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

_COMPARED: Final = frozenset({"TCloseness", "DeltaDisclosure", "BetaLikeness"})
# Counts by value that are laid out at a time: 128 MiB.
_MOST_CELLS: Final = 1 << 24


def is_compared(model: PrivacyModel) -> bool:
    """Return whether a model compares a class with a table: with that of the fit, here.

    Of somebody's own nobody knows, so it is taken to do so.
    """
    kind = type(model)
    is_ours = kind.__module__.startswith("core_mondrian.models.")
    return model.column is not None and (not is_ours or kind.__name__ in _COMPARED)


class Members(NamedTuple):
    """Rows, or tuples that stand for several, as the models see them."""

    rows: Integers
    """How many rows each one stands for."""
    values: NDArray[np.int32]
    """Codes of the sensitive columns (row, column)."""
    person: Integers | None
    """The person each one is of; None: each row is a person."""

    def take(self, chosen: Integers | Flags) -> "Members":
        """Return some of them."""
        person = None if self.person is None else self.person[chosen]
        return Members(self.rows[chosen], self.values[chosen], person)


class Judge(NamedTuple):
    """What every set that is shown together has to satisfy."""

    spec: Spec
    sensitive: tuple[SensitiveColumn, ...]
    known: tuple[Integers, ...]
    """Rows of the fit by value, per sensitive column."""

    @property
    def least(self) -> int:
        """Persons below which no set passes."""
        enough = (model.enough_rows or 0 for model in self.spec.models)
        return max(self.spec.min_rows, *enough)

    def sizes(self, members: Members, group: Integers, n_groups: int) -> Integers:
        """Return the persons of each group; a group of -1 is none."""
        kept = group >= 0
        if members.person is None:
            rows = np.bincount(group[kept], members.rows[kept], n_groups)
            return rows.astype(np.int64)
        width = int(members.person.max(initial=0)) + 1
        pairs = np.unique(group[kept] * width + members.person[kept])
        return np.bincount(pairs // width, minlength=n_groups).astype(np.int64)

    def passing(self, members: Members, group: Integers, n_groups: int) -> Flags:
        """Return which groups pass every model; a group of -1 is none."""
        sizes = self.sizes(members, group, n_groups)
        passes: Flags = sizes >= self.least
        for model in self.spec.models:
            if model.column is not None or type(model).measure is not None:
                left = np.flatnonzero(passes)
                passes[left] = self._judge(model, members, group, left, sizes)
        return passes

    def _judge(
        self,
        model: PrivacyModel,
        members: Members,
        group: Integers,
        chosen: Integers,
        sizes: Integers,
    ) -> Flags:
        """Return which of the chosen groups pass one model."""
        number = np.full(sizes.size + 1, -1, dtype=np.int64)
        number[chosen] = np.arange(chosen.size)
        among = number[group]  # a group of -1 finds the last one: none
        kept = among >= 0
        at = self._place(model)
        parts = _counted(members.take(kept), among[kept], chosen.size, at, self)
        flags = [np.zeros(0, dtype=np.bool_)]
        done = 0
        for rows, by_value in parts:
            own = chosen[done : done + rows.size]
            done += rows.size
            known = self.known[at]
            persons = None if members.person is None else sizes[own]
            labels = self.sensitive[at].labels
            counts = ClassCounts(rows, by_value, labels, persons, known)
            passes = model.passes(counts)
            if is_compared(model):
                passes &= ~by_value[:, known == 0].any(axis=1)
            flags.append(passes)
        return np.concatenate(flags)

    def _place(self, model: PrivacyModel) -> int:
        names = [column.name for column in self.sensitive]
        return names.index(str(model.column))


def _counted(
    members: Members, group: Integers, n_groups: int, at: int, judge: Judge
) -> Iterator[tuple[Integers, Integers]]:
    """Yield rows, and rows by value, of so many groups at a time as fit."""
    n_values = judge.sensitive[at].n_values
    step = max(1, _MOST_CELLS // n_values)
    order = np.argsort(group, kind="stable")
    rising = group[order]
    for start in range(0, n_groups, step):
        n = min(step, n_groups - start)
        here = order[slice(*np.searchsorted(rising, (start, start + n)))]
        cells = (group[here] - start) * n_values + members.values[here, at]
        counted = np.bincount(cells, members.rows[here], n * n_values)
        by_value = counted.astype(np.int64).reshape(n, n_values)
        yield by_value.sum(axis=1), by_value
