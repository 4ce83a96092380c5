"""Distinct tuples and how often they occur: of a batch, and of all so far."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.encoding.collapse import TuplePacker
from core_mondrian.sources.row_coder import Codes, number_values


@dataclass(frozen=True)
class Tally:
    """How many rows each distinct tuple has."""

    values: tuple[pa.Array, ...]
    """By column: its distinct values."""
    codes: Codes
    """By tuple and column: 0 is missing, 1 the first of the values."""
    rows: NDArray[np.int64]

    @property
    def n_rows(self) -> int:
        """Rows that were counted."""
        return int(self.rows.sum())

    @property
    def n_tuples(self) -> int:
        """Distinct tuples."""
        return self.rows.size


def tally_columns(columns: Sequence[Any], n_rows: int) -> Tally:
    """Count the distinct tuples of some rows."""
    numbered = [number_values(column) for column in columns]
    values = tuple(values for _, values in numbered)
    packer = _packer(values, n_rows)
    for codes, _ in numbered:
        packer.append(codes)
    found = packer.collapse()
    return Tally(values, found.codes, found.counts)


def merge(tallies: Sequence[Tally]) -> Tally:
    """Add up several tallies of the same columns; values of the first keep places."""
    if len(tallies) == 1:
        return tallies[0]
    n_tuples = sum(tally.n_tuples for tally in tallies)
    merged, moved = [], []
    for parts in zip(*(tally.values for tally in tallies), strict=True):
        known = [part for part in parts if len(part)] or list(parts[:1])
        whole = pa.concat_arrays(known).dictionary_encode()
        merged.append(whole.dictionary)
        moved.append(whole.indices.to_numpy(zero_copy_only=False) + 1)
    packer = _packer(merged, n_tuples)
    for place, number in enumerate(moved):
        packer.append(_renumbered(tallies, place, number))
    found = packer.collapse(np.concatenate([tally.rows for tally in tallies]))
    return Tally(tuple(merged), found.codes, found.counts)


def _renumbered(
    tallies: Sequence[Tally], place: int, number: NDArray[np.int32]
) -> Codes:
    codes, at = [], 0
    for tally in tallies:
        n_values = len(tally.values[place])
        own = np.append(0, number[at : at + n_values]).astype(np.int32)
        codes.append(own[tally.codes[:, place]])
        at += n_values
    return np.concatenate(codes)


def _packer(values: Sequence[pa.Array], n_rows: int) -> TuplePacker:
    return TuplePacker([max(len(one).bit_length(), 1) for one in values], n_rows)
