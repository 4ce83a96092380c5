"""The population a table was drawn from: a frame, or a file of its own."""

from collections.abc import Sequence
from pathlib import Path

from core_mondrian.runtime.array_types import Frame
from core_mondrian.tables.files.read import read_table
from core_mondrian.tables.frames import OpenFrame, check_columns, open_frame


def open_population(
    population: Frame | Path,
    quasi_identifiers: Sequence[str],
    null_values: Sequence[str],
) -> OpenFrame:
    """Return the population as a frame with the table's quasi-identifiers.

    Raises:
        SpecError: it is no table, or lacks a quasi-identifier.
        DataError: the file cannot be read.
    """
    if isinstance(population, Path):
        population = read_table(
            population, typed=quasi_identifiers, null_values=null_values
        )
    frame = open_frame(population)
    check_columns(frame, quasi_identifiers)
    return frame
