"""The distinct tuples of a table in a tree of boxes, and those near one of them."""

import numpy as np
from numpy.typing import NDArray

from core_mondrian.engine.layout import Codes, Counts, Objective
from core_mondrian.engine.search.workspace import ObjectiveViews


class TupleTree:
    """Tuples of quasi-identifiers, so ordered that those of a node are neighbours.

    codes         of each tuple
    rows          how many rows it has
    persons       how many of those that a class has to have: rows, different persons,
                  or rows of a population; counted twice where they are in two tuples
    spans         where the tuples of a node begin and end, and its first side, or -1
    low, high     their box
    """

    def __init__(self, codes: Codes, rows: Counts, persons: Counts) -> None:
        self.code_array, self.row_array, self.person_array = codes, rows, persons
        self.codes, self.persons = codes, persons
        self.n_tuples = rows.size

    def take_boxes(self, spans: Codes, low: Codes, high: Codes) -> None:
        """Find tuples by these boxes."""
        self.spans, self.low, self.high = spans, low, high

    def take_objective(self, objective: Objective) -> None:
        """Measure losses as the release is measured."""
        self.objective = ObjectiveViews(objective)


class NearTuples:
    """The tuples nearest to one of them, and how far away all others are at least."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.number_array = np.empty(most, dtype=np.int32)
        self.numbers = self.number_array
        self.loss_array = np.empty(most)
        self.losses = self.loss_array
        self.n = 0
        self.radius = 0.0

    def closest(self) -> tuple[Codes, NDArray[np.float64]]:
        """Return those that lose less than the radius, the nearest first."""
        losses = self.loss_array[: self.n]
        order = np.lexsort((self.number_array[: self.n], losses))
        order = order[losses[order] < self.radius]
        return self.number_array[order], losses[order]
