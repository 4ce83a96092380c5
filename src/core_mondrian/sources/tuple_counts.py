"""What a source of rows has to tell the engine: tuples, and how many rows have each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.errors import InternalError
from core_mondrian.spec.declaration import Spec

Codes = NDArray[np.int32]
Integers = NDArray[np.int64]


def counted_columns(spec: Spec) -> tuple[str, ...]:
    """Return the columns that rows are counted by."""
    more = [name for name in (spec.unit, spec.weight) if name is not None]
    return tuple(
        dict.fromkeys((*spec.quasi_identifiers, *spec.sensitive_and_equity, *more))
    )


class CodedTuples(Protocol):
    """Counted tuples as codes of their values, wherever they are."""

    @property
    def columns(self) -> Sequence[str]:
        """The counted ones."""

    @property
    def meanings(self) -> Mapping[str, pa.Array]:
        """By column: what code 0, missing, and codes 1 … mean."""

    @property
    def rows(self) -> Mapping[str, Integers]:
        """By column: how many rows have each code."""

    @property
    def n_counted(self) -> int:
        """Tuples that `chunks` yields, at most."""

    def chunks(self) -> Iterator[tuple[Codes, Integers]]:
        """Yield codes and rows of some tuples; one may be there several times."""


@dataclass(frozen=True, slots=True)
class TupleCounts:
    """How many rows have each tuple of values.

    ``values`` has the counted columns, in the types they have in the source. A tuple
    may be there more than once: what counts is the sum.
    """

    values: pa.Table
    rows: Integers

    def __post_init__(self) -> None:
        if self.values.num_rows != self.rows.size:
            raise InternalError("tuples and counts differ in number")

    @classmethod
    def of(cls, tuples: CodedTuples, codes: Codes, rows: Integers) -> "TupleCounts":
        """Return tuples that are in memory with their values."""
        columns = {
            name: _take(tuples.meanings[name], codes[:, place])
            for place, name in enumerate(tuples.columns)
        }
        return cls(pa.table(columns), rows)

    @property
    def n_rows(self) -> int:
        return int(self.rows.sum())


def gather(tuples: CodedTuples) -> tuple[Codes, Integers]:
    """Return all tuples at once."""
    chunks = [*tuples.chunks()]
    if len(chunks) == 1:
        return chunks[0]
    none = np.zeros((0, len(tuples.columns)), dtype=np.int32)
    codes = np.concatenate([none, *(codes for codes, _ in chunks)])
    return codes, np.concatenate([np.zeros(0, np.int64), *(rows for _, rows in chunks)])


def _take(meant: pa.Array, codes: Codes) -> pa.Array:
    """Return a column of tuples; text as codes of distinct values."""
    if not pa.types.is_string(meant.type):
        return meant.take(pa.array(codes))
    coded = meant.dictionary_encode()
    return pa.DictionaryArray.from_arrays(
        coded.indices.take(pa.array(codes)), coded.dictionary
    )
