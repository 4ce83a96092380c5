"""Score a release by what is in it, the same way for whoever made it.

Runs in both environments of reference.py, so it needs pandas only.
"""

from typing import Any

import pandas as pd


def score(
    original: pd.DataFrame, released: pd.DataFrame, id_: str, qids: list[str]
) -> dict[str, Any]:
    """Return classes, discernibility and RILM of a release; rows are matched by id.

    A class is one distinct released tuple, a missing value being a value. RILM of a
    number: 1 - range of the class / range of all released rows, on original values.
    RILM of a category without a hierarchy: 1 if the class has one value, else 0. Rows
    in classes without any value of the column do not count in it, and classes that mix
    missing and present values have lost it. ``rilm_mean`` is the mean over columns.
    """
    kept = original.set_index(id_).loc[released[id_].to_numpy(), qids]
    shown = released[qids].reset_index(drop=True)
    label = shown.groupby(qids, sort=False, dropna=False).ngroup().to_numpy()
    sizes = pd.Series(label).value_counts().sort_index()
    lost = len(original) - len(released)
    squares = int((sizes.astype("int64") ** 2).sum())
    rilm = {name: _rilm(kept[name].reset_index(drop=True), label) for name in qids}
    defined = [value for value in rilm.values() if value is not None]
    return {
        "suppressed": lost,
        "classes": len(sizes),
        "smallest_class": int(sizes.min()) if len(sizes) else 0,
        "dm": squares + lost * len(original),
        "dm_released": squares,
        "rilm_mean": round(sum(defined) / len(defined), 5) if defined else None,
        "rilm": rilm,
    }


def _rilm(column: pd.Series, label: Any) -> float | None:
    groups = column.groupby(label)
    present, rows = groups.count(), groups.size()
    if pd.api.types.is_numeric_dtype(column):
        width = float(column.max() - column.min())
        loss = (groups.max() - groups.min()) / (width or 1.0)
    else:
        loss = (groups.nunique() > 1).astype("float64")
    loss = loss.mask(present < rows, 1.0)[present > 0]
    counted = rows[present > 0]
    if not counted.sum():
        return None
    return round(float(((1.0 - loss) * counted).sum() / counted.sum()), 5)
