"""The tables: Adult or a made-up census with the same columns, and larger ones."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

import pyarrow as pa
import pyarrow.compute as pc

from core_mondrian.datasets import adult, census
from core_mondrian.errors import DataError, SpecError
from experiments.synthesizer import fit

TableName = Literal["adult", "census"]
SynthesizerName = Literal["tree", "ctgan"]
Synthesizers = Literal["tree", "ctgan", "both"]
"""What may be asked for: with both, figures on larger tables are made for each."""
Sampler = Callable[[int], pa.Table]
"""``sample(n_rows)``: so many rows like those of the table."""

_CTGAN: Final = "experiments.ctgan"
_LOSS_DIVISOR: Final = 23
"""Adult's greatest capital loss is that much smaller than its greatest gain."""


def load_adult(folder: Path | None) -> pa.Table:
    """Return UCI Adult, from a folder or from the user's cache.

    Raises:
        DataError: it cannot be had; the hint says what can be done without it.
    """
    try:
        return adult(folder)
    except DataError as error:
        hint = "--adult names the folder of UCI's files; --table census needs none"
        raise DataError(error.message, hint=hint) from None


def make_census(rows: int, seed: int) -> pa.Table:
    """Return a made-up census that has every column the figures ask Adult for."""
    table = census(rows, seed).drop_columns(["person_id", "zip_code"])
    table = table.rename_columns(
        [name.replace("_", "-") for name in table.schema.names]
    )
    # The census knows no losses: other people's gains, for those without a gain.
    others = census(rows, seed + 1)["capital_gain"]
    losses = pc.divide(others, _LOSS_DIVISOR)
    has_gain = pc.greater(table["capital-gain"], 0)
    return table.append_column("capital-loss", pc.if_else(has_gain, 0, losses))


def sampler(
    table: pa.Table, name: SynthesizerName, *, seed: int, epochs: int
) -> Sampler:
    """Return what makes larger tables of this one.

    Raises:
        SpecError: CTGAN is asked for and not there.
    """
    if name == "tree":
        learnt = fit(table)
        return lambda n_rows: learnt.sample(n_rows, seed)
    try:
        ctgan = importlib.import_module(_CTGAN)
    except ModuleNotFoundError as error:
        if error.name != _CTGAN:
            raise
        raise SpecError(
            "this version has no CTGAN", hint="take --synthesizer tree"
        ) from None

    def sample(n_rows: int) -> pa.Table:
        made: pa.Table = ctgan.sample(table, n_rows, seed, epochs)
        return made

    return sample
