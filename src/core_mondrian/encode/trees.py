"""The hierarchy of a column, built from its values if the spec says how."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.encode.columns import Ranked, is_ordered
from core_mondrian.errors import SpecError
from core_mondrian.hierarchies.base import Builder
from core_mondrian.hierarchies.learned import MOST_CODES, Learned
from core_mondrian.hierarchy import Hierarchy
from core_mondrian.spec import Spec


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
    """Return a hierarchy learned from the other ``columns``, or those it names."""
    others = builder.columns or tuple(other for other in columns if other != name)
    if absent := sorted(set(others) - set(columns) | set(others) & {name}):
        raise SpecError(
            f"the hierarchy of {name!r} cannot be learned from {absent}",
            hint=f"other columns here: {[other for other in columns if other != name]}",
        )
    own = columns[name]
    profiles = [_count(own, columns[other]) for other in others]
    return builder.build(texts_of(own), profiles)


def _count(own: Ranked, other: Ranked) -> NDArray[np.int64]:
    """Count rows by value (axis 0) and by what the other column has (axis 1)."""
    n = len(own.values)
    groups = _few(other)
    width = int(groups.max(initial=0)) + 1
    pairs = own.codes.astype(np.int64) * width + groups[other.codes]
    counts = np.bincount(pairs, minlength=(n + 1) * width)
    return counts.reshape(n + 1, width)[:n]


def _few(ranked: Ranked) -> NDArray[np.int64]:
    """Return a number below `MOST_CODES` for each code; missing has its own.

    Numbers are grouped by how many rows are below, labels by frequency: the most
    frequent ones are told apart.
    """
    n = len(ranked.values)
    if n < MOST_CODES:
        return np.arange(n + 1)
    rows = np.bincount(ranked.codes, minlength=n + 1)[:n]
    most = MOST_CODES - 1
    if is_ordered(ranked.values.type):
        below = np.cumsum(rows) - rows
        groups = below * most // max(int(rows.sum()), 1)
    else:
        groups = np.full(n, most - 1)
        order = np.argsort(-rows, kind="stable")[: most - 1]
        groups[order] = np.arange(order.size)
    return np.append(groups, most)
