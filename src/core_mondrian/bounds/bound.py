"""find_bound(): what no release of a table can lose less than."""

import math
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

import numpy as np

from core_mondrian.bounds.boxes import build_tree
from core_mondrian.bounds.confidence import lower_mean
from core_mondrian.bounds.prices import Pricing
from core_mondrian.bounds.tuples import TupleTree
from core_mondrian.engine.layout import Codes, Counts, Floats
from core_mondrian.engine.search.loss_weights import build_objective
from core_mondrian.runtime.plain_values import JsonObject
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.encoded import EncodedTable

# More tuples are not all looked at, but a sample of the rows is.
_MOST_TUPLES = 1 << 16
_SAMPLE = 5000
_CONFIDENCE = 0.99


@dataclass(frozen=True, slots=True)
class Prices:
    """What each row of each distinct tuple has to lose, in weights of columns."""

    codes: Codes
    rows: Counts
    persons: Counts
    price: Floats


@dataclass(frozen=True, slots=True)
class Bound:
    """What no release of the table can lose less than, as ``Measures.loss`` counts it.

    It is for whoever has the table: like every figure of hidden cells, it is no part of
    what is published.
    """

    loss: float
    least: int
    """Rows that every class has at least, as the models ask; or persons."""
    counts: Literal["rows", "persons"]
    method: Literal["prices", "rows", "sample"]
    """By prices of all rows; by the cheapest class around each row; or by that of a
    sample of the rows."""
    confidence: float | None = None
    """With a sample: how sure it is."""
    n_sampled: int | None = None
    looser_for: tuple[str, ...] = ()
    """Models that ask for more than ``least``, which the bound does not count on."""
    prices: Prices | None = field(default=None, repr=False, compare=False)
    """What proves it, see `certify`; None: it is from a sample."""

    def to_json(self) -> JsonObject:
        """Return plain values, without the prices."""
        plain = asdict(self)
        del plain["prices"]
        return plain

    def __str__(self) -> str:
        sure = "" if self.confidence is None else f" ({self.confidence:.0%} confidence)"
        classes = f"classes of {self.least} {self.counts}"
        return f"no release in {classes} can lose less than {self.loss:.4f}{sure}"


def find_bound(table: EncodedTable, spec: Spec, budget: int) -> Bound:
    """Return what any release loses that suppresses at most ``budget`` rows.

    Of the models only the rows count that they ask for in each class.
    """
    # What is lost is measured without what the search alone goes by.
    plain = replace(table, column_weights=None)
    tree, objective = build_tree(plain), build_objective(plain, spec)
    most = float(objective.info["weight"].sum())
    least = spec.min_rows
    pricing = Pricing(tree, objective, least)
    counts: Literal["rows", "persons"] = "rows" if spec.unit is None else "persons"
    loose = tuple(
        model.name
        for model in spec.models
        if model.measure is not None or model.enough_rows is not None
    )
    if tree.n_tuples > _MOST_TUPLES:
        shares = _sample_prices(tree, pricing) / most
        loss = lower_mean(np.minimum(shares, 1.0), _CONFIDENCE)
        return Bound(
            loss, least, counts, "sample", _CONFIDENCE, shares.size, looser_for=loose
        )
    near = [pricing.price_rows(i) for i in range(tree.n_tuples)]
    if table.present is None:
        # A suppressed row loses all it has, whatever is near it, and no more.
        pricing.raise_prices(near, most if budget else math.inf)
    price = np.minimum(pricing.prices, most) if budget else pricing.prices
    lost = math.fsum((tree.row_array * price).tolist())
    return Bound(
        lost / (most * table.n_rows),
        least,
        counts,
        "prices" if table.present is None else "rows",
        looser_for=loose,
        prices=Prices(tree.code_array, tree.row_array, tree.person_array, price),
    )


def _sample_prices(tree: TupleTree, pricing: Pricing) -> Floats:
    """Return what some rows have to lose, drawn one by one: a row may be there twice.

    They are the same ones for the same table.
    """
    ends = np.cumsum(tree.row_array)
    rows = np.random.default_rng(0).integers(int(ends[-1]), size=_SAMPLE)
    tuples, places = np.unique(
        np.searchsorted(ends, rows, side="right"), return_inverse=True
    )
    for number in tuples.tolist():
        pricing.price_rows(number)
    return pricing.prices[tuples][places]
