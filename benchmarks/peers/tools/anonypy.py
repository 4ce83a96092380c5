"""anonypy: Mondrian by medians and halves of the values, on pandas."""

from typing import Any

import pandas as pd

from benchmarks.peers.cells import Cell, Column, read_list, read_number

# It asks for nothing, and needs pandas.
REQUIREMENTS = ("anonypy==0.2.1", "pandas==3.1.1", "numpy==2.4.6")


def release(table: pd.DataFrame, job: dict[str, Any]) -> pd.DataFrame:
    import anonypy  # type: ignore[import-not-found]

    frame = as_categories(table, job)
    # It counts rows by class and sensitive value; with the row's number as that value
    # every row comes back, and the classes are the same.
    preserver = anonypy.Preserver(frame, job["qids"], "row_id")
    released = pd.DataFrame(preserver.anonymize_k_anonymity(k=job["k"]))
    # Each cell is a list of one text.
    return released.assign(**{name: released[name].str[0] for name in job["qids"]})


def as_categories(table: pd.DataFrame, job: dict[str, Any]) -> pd.DataFrame:
    """Mark the categories the way that anonypy and anonypyx ask for."""
    texts = [name for name in job["qids"] if name not in job["numbers"]]
    return table.astype(dict.fromkeys(texts, "category"))


def read(text: str, column: Column) -> Cell:
    if column.is_number:
        return read_number(text, column)
    return read_list(text, column, missing="nan")
