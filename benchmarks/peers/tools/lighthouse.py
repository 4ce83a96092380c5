"""project-lighthouse-anonymize, the code that the paper's authors published."""

import logging
from typing import Any

import pandas as pd

from benchmarks.peers.cells import Cell, Column, Mean, read_number, read_value

REQUIREMENTS = ("project-lighthouse-anonymize==1.0.0",)
SUPPRESSES = True


def release(table: pd.DataFrame, job: dict[str, Any]) -> pd.DataFrame:
    import project_lighthouse_anonymize as tool  # type: ignore[import-not-found]

    logger = logging.getLogger("peer")
    logger.setLevel(logging.CRITICAL)
    from project_lighthouse_anonymize.wrappers.shared import (  # type: ignore[import-not-found]
        default_dq_metric_to_minimum_dq as defaults,
    )

    least = defaults() | {"pct_non_suppressed": 1 - job["suppress"]}
    released, _, _ = tool.k_anonymize(
        *(logger, table, job["qids"], job["k"], {}, "row_id"),
        dq_metric_to_minimum_dq=least,
        parallelism=None,
    )
    return pd.DataFrame(released)


def read(text: str, column: Column) -> Cell:
    if not column.is_number:
        return read_value(text, column)
    cell = read_number(text, column)
    return Mean(cell.low) if hasattr(cell, "low") else cell
