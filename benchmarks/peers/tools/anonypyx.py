"""anonypyx, a successor of anonypy."""

from typing import Any

import pandas as pd

from benchmarks.peers.tools.anonypy import as_categories, read

__all__ = ["REQUIREMENTS", "read", "release"]

REQUIREMENTS = ("anonypyx==0.2.11", "pandas==3.1.1", "numpy==2.4.6")


def release(table: pd.DataFrame, job: dict[str, Any]) -> pd.DataFrame:
    import anonypyx  # type: ignore[import-not-found]

    tool = anonypyx.Anonymiser(
        as_categories(table, job),
        k=job["k"],
        algorithm="Mondrian",
        feature_columns=job["qids"],
        generalisation_strategy="human-readable",
    )
    return pd.DataFrame(tool.anonymise())
