"""anjana: global recoding, the column with most values first."""

from typing import Any

import pandas as pd

from benchmarks.peers.cells import Cell, Column, read_number, read_value

REQUIREMENTS = ("anjana==1.2.3", "pandas==2.3.3", "numpy==2.0.2")
SUPPRESSES = True


def release(table: pd.DataFrame, job: dict[str, Any]) -> pd.DataFrame:
    from anjana.anonymity import k_anonymity  # type: ignore[import-not-found]

    trees = {name: _levels(table[name], job) for name in job["qids"]}
    percent = 100 * job["suppress"]
    released = k_anonymity(table, [], job["qids"], job["k"], percent, trees)
    return pd.DataFrame(released)


def _levels(column: "pd.Series[Any]", job: dict[str, Any]) -> dict[int, Any]:
    """Return a flat hierarchy; of a number with steps, the tool's own intervals too."""
    from anjana.anonymity.utils import (  # type: ignore[import-not-found]
        generate_intervals,
    )

    values = column.unique()
    levels: list[Any] = [values]
    for step in job["steps"].get(column.name, ()):
        low = int(values.min() // step * step)
        high = int(values.max() // step * step + step)
        levels.append(generate_intervals(values, low, high, step))
    levels.append(["*"] * len(values))
    return dict(enumerate(levels))


def read(text: str, column: Column) -> Cell:
    return read_number(text, column) if column.is_number else read_value(text, column)
