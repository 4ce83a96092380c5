"""polarfrost: Mondrian on polars."""

from typing import Any

import pandas as pd

from benchmarks.peers.cells import Cell, Column, read_list, read_number

# Without pyspark its local functions are not there either.
REQUIREMENTS = (
    *("polarfrost==0.2.1", "polars==1.30.0", "pyspark==3.5.5"),
    *("pandas==2.3.3", "numpy==2.2.6"),
)


def release(table: pd.DataFrame, job: dict[str, Any]) -> pd.DataFrame:
    import polars as pl
    from polarfrost import (  # type: ignore[import-not-found]
        mondrian_k_anonymity,
    )

    # Not from pandas: that would need pyarrow, and turn missing numbers into NaN.
    columns = {
        name: [None if pd.isna(value) else value for value in table[name].tolist()]
        for name in table.columns
    }
    texts = [name for name in job["qids"] if name not in job["numbers"]]
    found = mondrian_k_anonymity(
        pl.DataFrame(columns), job["qids"], "row_id", job["k"], categorical=texts
    )
    # One row a class, its row numbers in one cell.
    classes = pd.DataFrame(found.to_dicts())
    rows = classes.assign(row_id=classes["row_id"].str.split(",")).explode("row_id")
    return rows.assign(row_id=rows["row_id"].astype("int64"))


def read(text: str, column: Column) -> Cell:
    if column.is_number:
        return read_number(text, column)
    return read_list(text, column, missing="None")
