"""Dynamic breakout (Core Mondrian §3.3): a column that is good enough is left alone."""

import numpy as np

from core_mondrian.engine.columns import ColumnViews
from core_mondrian.engine.layout import Floats
from core_mondrian.spec.declaration import Spec
from core_mondrian.spec.policies import PaperPolicy
from core_mondrian.spec.thresholds import Thresholds
from core_mondrian.tables.encoded import EncodedColumn, EncodedTable


def is_good_enough(columns: ColumnViews, column: int, score: float) -> bool:
    """Return whether a partition's RILM reaches the column's threshold, or nearly."""
    enough = columns.info[column].breakout
    return score >= enough * (1.0 - 1e-5) - 1e-8


def breakout_thresholds(table: EncodedTable, spec: Spec, policy: PaperPolicy) -> Floats:
    """Return the RILM from which each column is left alone."""
    if policy.breakout_multiplier is None:
        return np.full(len(table.columns), np.inf)
    own = dict(policy.breakout_thresholds)
    base = np.array(
        [
            own.get(column.name, _base_threshold(column, spec.thresholds, spec.exclude))
            for column in table.columns
        ]
    )
    return base + (1.0 - base) * policy.breakout_multiplier


def _base_threshold(
    column: EncodedColumn, thresholds: Thresholds, exclude: tuple[str, ...]
) -> float:
    """Return the RILM that the spec asks for in a column; 1: as much as there is."""
    if column.name in exclude:
        return 1.0
    if column.kind == "category":
        threshold = thresholds.rilm_categorical
    else:
        threshold = thresholds.rilm_numerical
        threshold = thresholds.pearson if threshold is None else threshold
    return 1.0 if threshold is None else threshold
