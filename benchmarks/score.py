"""Score a release by what is in it, the same way for whoever made it.

Runs in both environments of reference.py, so it needs pandas only.
"""

from collections.abc import Mapping
from typing import Any

import pandas as pd

Tree = dict[str, list[str]]
"""From a value to its labels: itself first, the root last."""


def score(
    original: pd.DataFrame,
    released: pd.DataFrame,
    id_: str,
    qids: list[str],
    *,
    k: int = 1,
    trees: Mapping[str, Tree] | None = None,
) -> dict[str, Any]:
    """Return classes, discernibility, RILM and NCP of a release, matched by id.

    A class is one distinct released tuple, a missing value being a value. RILM of a
    number: 1 - range of the class / range of all released rows, on original values.
    RILM of a category without a hierarchy: 1 if the class has one value, else 0. Rows
    in classes without any value of the column do not count in it, and classes that mix
    missing and present values have lost it. ``rilm_mean`` is the mean over columns.

    NCP is the mean over all cells of the original, suppressed ones counting 1. Number:
    range of the class / range of the original. Category, missing being a value:
    ``flat`` 0 for one value, else 1; ``set`` other values / other values there are;
    ``tax`` leaves under the lowest common label / leaves, in columns with a tree.

    A row is suppressed if it is absent, or all blank and was not. ``violations`` are
    released rows in classes smaller than ``k``.
    """
    kept, released = match_rows(original, released, id_, qids)
    kept = kept[qids]
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
        "violations": int(sizes[sizes < k].sum()),
        "dm": squares + lost * len(original),
        "dm_released": squares,
        "rilm_mean": round(sum(defined) / len(defined), 5) if defined else None,
        "rilm": rilm,
        **_ncp(original[qids], kept.reset_index(drop=True), label, trees or {}),
    }


def match_rows(
    original: pd.DataFrame, released: pd.DataFrame, id_: str, qids: list[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows that are released and not suppressed, in both forms."""
    kept = original.set_index(id_).loc[released[id_].to_numpy()]
    shows = released[qids].notna().any(axis=1).to_numpy()
    shows = shows | ~kept[qids].notna().any(axis=1).to_numpy()
    return kept[shows], released[shows]


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


def _ncp(
    original: pd.DataFrame, kept: pd.DataFrame, label: Any, trees: Mapping[str, Tree]
) -> dict[str, float]:
    lost = len(original) - len(kept)
    total = dict.fromkeys(("flat", "set", "tax"), 0.0)
    for name in original.columns:
        whole = original[name]
        if pd.api.types.is_numeric_dtype(whole):
            losses = dict.fromkeys(total, _number_loss(whole, kept[name], label))
        else:
            losses = _category_losses(whole, kept[name], label, trees.get(name))
        for kind, loss in losses.items():
            total[kind] += float(loss.sum()) + lost
    cells = original.size or 1
    return {f"ncp_{kind}": round(value / cells, 5) for kind, value in total.items()}


def _number_loss(whole: pd.Series, kept: pd.Series, label: Any) -> pd.Series:
    """Return the loss of each row; a class that mixes in missing values is lost."""
    width = float(whole.max() - whole.min()) if whole.count() else 0.0
    groups = kept.groupby(label)
    loss = (groups.transform("max") - groups.transform("min")) / (width or 1.0)
    present = groups.transform("count")
    rows = groups.transform("size")
    return loss.fillna(0.0).mask((present > 0) & (present < rows), 1.0)


def _category_losses(
    whole: pd.Series, kept: pd.Series, label: Any, tree: Tree | None
) -> dict[str, pd.Series]:
    others = max(whole.nunique(dropna=False) - 1, 1)
    pairs = pd.DataFrame({"label": label, "value": kept.to_numpy()}).drop_duplicates()
    several = pairs.groupby("label").size() - 1
    flat = (several > 0).astype("float64")
    by_class = {"flat": flat, "set": several / others, "tax": flat}
    if tree is not None:
        mixed = pairs[pairs["label"].map(several) > 0]
        found = {c: _tax(set(v), tree) for c, v in mixed.groupby("label")["value"]}
        by_class["tax"] = pd.Series(found, flat.index, dtype="float64").fillna(0.0)
    return {kind: loss.reindex(label) for kind, loss in by_class.items()}


def _tax(values: set[Any], tree: Tree) -> float:
    """Return the share of leaves under the lowest label that all values have."""
    if not values <= tree.keys():
        return 1.0
    paths = (tree[value] for value in values)
    for level, labels in enumerate(zip(*paths, strict=True)):
        if len(set(labels)) == 1:
            under = sum(path[level] == labels[0] for path in tree.values())
            return float(under / len(tree))
    return 1.0
