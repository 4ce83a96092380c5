"""The hierarchy of a column, built from its values if the spec says how."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.encoding.columns import Ranked, is_ordered
from core_mondrian.errors import SpecError
from core_mondrian.hierarchies.base import Builder
from core_mondrian.hierarchies.learned import MOST_CODES, Learned
from core_mondrian.hierarchies.tree import Hierarchy
from core_mondrian.runtime.array_types import IntegerArray as Codes
from core_mondrian.spec.declaration import Spec


def build_tree(
    name: str, columns: Mapping[str, Ranked], spec: Spec
) -> Hierarchy | None:
    """Return the hierarchy of one of the ``columns``; None: it has none.

    Raises:
        SpecError: it is learned from a column that is not there.
    """
    entry = spec.hierarchies.get(name)
    if isinstance(entry, Learned):
        return learn_tree(entry, name, columns)
    if isinstance(entry, Builder):
        return entry.build(texts_of(columns[name]))
    return entry


def texts_of(ranked: Ranked) -> list[str]:
    """Return the distinct values as a hierarchy names them."""
    texts: list[str] = ranked.values.cast(pa.string()).to_pylist()
    return texts


def learn_tree(builder: Learned, name: str, columns: Mapping[str, Ranked]) -> Hierarchy:
    """Return a hierarchy learned from the other ``columns``, or those it names.

    Raises:
        SpecError: it is to be learned from a column that is not there.
    """
    others = builder.columns or tuple(other for other in columns if other != name)
    if absent := sorted(set(others) - set(columns) | set(others) & {name}):
        raise SpecError(
            f"the hierarchy of {name!r} cannot be learned from {absent}",
            hint=f"other columns here: {[other for other in columns if other != name]}",
        )
    own = columns[name]
    profiles = [
        count_profile(
            own.codes,
            len(own.values),
            few_codes(
                other.codes, len(other.values), is_number=is_ordered(other.values.type)
            ),
        )
        for other in (columns[other] for other in others)
    ]
    return builder.build(texts_of(own), profiles)


def count_profile(
    own: Codes, n: int, other: Codes, rows: Codes | None = None
) -> NDArray[np.int64]:
    """Count rows by value (axis 0) and by what the other column has (axis 1).

    ``rows``: how many each pair of codes stands for; None: one.
    """
    width = int(other.max(initial=0)) + 1
    pairs = own.astype(np.int64) * width + other
    counts = np.bincount(pairs, rows, minlength=(n + 1) * width).astype(np.int64)
    return counts.reshape(n + 1, width)[:n]


def few_codes(
    codes: Codes, n: int, rows: Codes | None = None, *, is_number: bool
) -> NDArray[np.int64]:
    """Return a column as numbers below `MOST_CODES`; code ``n``, missing, has its own.

    Numbers are grouped by how many rows are below, labels by frequency: the most
    frequent ones are distinguished.
    """
    if n < MOST_CODES:
        return codes.astype(np.int64)
    counts = np.bincount(codes, rows, minlength=n + 1).astype(np.int64)[:n]
    most = MOST_CODES - 1
    if is_number:
        below = np.cumsum(counts) - counts
        groups = below * most // max(int(counts.sum()), 1)
    else:
        groups = np.full(n, most - 1)
        order = np.argsort(-counts, kind="stable")[: most - 1]
        groups[order] = np.arange(order.size)
    number: NDArray[np.int64] = np.append(groups, most)[codes]
    return number
