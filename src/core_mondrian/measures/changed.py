"""Compare a table with its copy in which sensitive values were changed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from core_mondrian.errors import DataError, InternalError
from core_mondrian.runtime.array_types import Integers
from core_mondrian.tables.frames import OpenFrame, arrow_column
from core_mondrian.verification.counting import (
    Coded,
    class_sizes,
    code_column,
    combine,
    compress,
)

Frame = OpenFrame


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was counted in the copy, and how far it is from the table."""

    n_classes: int
    k: int
    """Rows of the smallest class."""
    p: int
    """Different sensitive values of the class with fewest."""
    n_changed: int
    n_classes_changed: int
    drift: float
    """Total variation distance of the sensitive column, before and after: 0 to 1."""


def compare(
    before: Frame,
    after: Frame,
    quasi_identifiers: Sequence[str],
    sensitive: str,
    *,
    ignores_missing: bool,
) -> Comparison:
    """Count the classes of ``after``, from its cells alone.

    Raises:
        InternalError: anything but values of ``sensitive`` differs, or a class has
            lost one of its values.
    """
    n = len(before)
    if len(after) != n or after.schema != before.schema:
        raise InternalError("rows or types of the table were changed")
    keys = combine([_code_both(before, after, name) for name in quasi_identifiers])
    classes = compress(keys)
    carried = [name for name in before.columns if name not in quasi_identifiers]
    if (classes.codes[:n] != classes.codes[n:]).any() or not all(
        _is_same(before, after, name) for name in carried if name != sensitive
    ):
        raise InternalError("other cells than sensitive ones were changed")
    values = _code_both(before, after, sensitive)
    old, new = values.codes[:n], values.codes[n:]
    is_changed = old != new
    pairs = combine([classes, values]).codes
    if np.setdiff1d(pairs[:n], pairs[n:]).size or values.missing[n:][is_changed].any():
        raise InternalError("a class has lost one of its sensitive values")
    is_compared = ~values.missing[n:] if ignores_missing else np.ones(n, dtype=np.bool_)
    owners = np.unique(pairs[n:][is_compared]) // values.n_codes
    return Comparison(
        n_classes=classes.n_codes,
        k=int(class_sizes(classes.select(slice(n, None))).min()),
        p=int(np.bincount(owners, minlength=classes.n_codes).min()),
        n_changed=int(np.count_nonzero(is_changed)),
        n_classes_changed=int(np.unique(classes.codes[:n][is_changed]).size),
        drift=_drift(old, new, values.n_codes),
    )


def _code_both(before: Frame, after: Frame, name: str) -> Coded:
    """Number the values of a column, rows of ``before`` first."""
    chunks = [*arrow_column(before, name).chunks, *arrow_column(after, name).chunks]
    return code_column(pa.chunked_array(chunks))


def _is_same(before: Frame, after: Frame, name: str) -> bool:
    try:
        old, new = arrow_column(before, name), arrow_column(after, name)
    except DataError:  # objects of several types, carried along as they are
        return before[name].to_list() == after[name].to_list()
    if old.equals(new):
        return True
    codes = _code_both(before, after, name).codes  # where NaN equals NaN
    return bool((codes[: len(old)] == codes[len(old) :]).all())


def _drift(old: Integers, new: Integers, n_codes: int) -> float:
    moved = np.bincount(new, minlength=n_codes) - np.bincount(old, minlength=n_codes)
    return int(np.abs(moved).sum()) / (2 * old.size)
