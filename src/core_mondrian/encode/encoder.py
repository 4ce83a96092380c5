"""encode() and collapse(): the only readers of user data."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.cell_keys import scatter
from core_mondrian.encode.collapse import TuplePacker
from core_mondrian.encode.columns import (
    Ranked,
    encode_ranked,
    encode_sensitive,
    rank_column,
)
from core_mondrian.encode.population import add_population, join_columns
from core_mondrian.encode.table import (
    EncodedColumn,
    EncodedTable,
    SensitiveColumn,
)
from core_mondrian.encode.trees import build_tree
from core_mondrian.errors import DataError
from core_mondrian.files.cells import spelled, without_nulls
from core_mondrian.frames import arrow_column
from core_mondrian.population import open_population
from core_mondrian.spec import Spec
from core_mondrian.threads import map_columns

_MOST_ROWS: Final = 2**31 - 1
"""Records hold numbers of rows in 32 bits."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """The table as the engine sees it, and the way back to the caller's rows."""

    table: EncodedTable
    values: tuple[pa.Array, ...]
    """Per quasi-identifier: what each code stands for, in the caller's type."""
    row_tuple: NDArray[np.int32]
    n_blanked: int = 0
    """Cells that count as missing because their hierarchy does not cover them."""


@dataclass(frozen=True, slots=True)
class Coded:
    """The columns the spec names as codes, one per row."""

    columns: tuple[EncodedColumn, ...]
    sensitive: tuple[SensitiveColumn, ...]
    codes: list[NDArray[np.int32]]
    """Quasi-identifiers, sensitive columns, the unit; ``collapse`` empties the list."""
    values: tuple[pa.Array, ...]
    n_rows: int
    n_units: int | None
    """Persons, if the spec names the column that tells them apart."""
    population: NDArray[np.int32] | None = None
    """The quasi-identifiers' codes of the population, one row a person."""
    n_blanked: int = 0
    """Cells that count as missing because their hierarchy does not cover them."""
    counts: NDArray[np.int64] | None = None
    """How many rows each row stands for; None: for itself."""


def encode(
    frame: nw.DataFrame[Any],
    spec: Spec,
    report: Callable[[float], None] = lambda _: None,
    threads: int | None = None,
    counts: NDArray[np.int64] | None = None,
) -> Coded:
    """Turn the columns the spec names into codes.

    ``counts`` says how many rows of a larger table each row of ``frame`` stands for.

    Raises:
        DataError: a column cannot be encoded.
    """
    n_rows = len(frame)
    _check_rows(n_rows, counts)
    others = None
    if spec.population is not None:
        others = open_population(
            spec.population, spec.quasi_identifiers, spec.null_values
        )

    def rank(name: str) -> Ranked:
        array = without_nulls(arrow_column(frame, name), spec.null_values)
        if others is not None:
            known = without_nulls(arrow_column(others, name), spec.null_values)
            array = join_columns(name, array, known)
        return rank_column(array, name)

    def spell(name: str) -> pa.ChunkedArray:
        return spelled(arrow_column(frame, name), spec.null_values)

    names = spec.quasi_identifiers
    ranks = map_columns(rank, names, n_rows, threads, report)
    columns = dict(zip(names, ranks, strict=True))
    coded = [
        encode_ranked(
            *(ranked, name, build_tree(name, columns, spec), spec.uncovered_of(name)),
            counts,
        )
        for name, ranked in columns.items()
    ]
    blanked = [x.is_blanked[:n_rows] for x in coded if x.is_blanked is not None]
    counted = [encode_sensitive(spell(name), name) for name in spec.counted]
    codes = [item.codes[:n_rows] for item in coded] + [codes for codes, _ in counted]
    population = None
    if others is not None:
        population = np.stack([item.codes[n_rows:] for item in coded], axis=1)
    n_units = None
    if spec.unit is not None:
        units = rank_column(spell(spec.unit), spec.unit)
        codes.append(units.codes)
        n_units = len(units.values) + 1  # rows of nobody count as one person's
    return Coded(
        tuple(item.column for item in coded),
        tuple(column for _, column in counted),
        codes,
        tuple(item.values for item in coded),
        n_rows,
        n_units,
        population,
        sum(_count(rows, counts) for rows in blanked),
        counts,
    )


def _check_rows(n_rows: int, counts: NDArray[np.int64] | None) -> None:
    """Refuse more rows than the engine counts in 32 bits."""
    if counts is not None:
        # The largest may be too many already, and the sum of such too large a number.
        most = int(counts.max(initial=0))
        n_rows = int(counts.sum()) if most < _MOST_ROWS else most
    if n_rows > _MOST_ROWS:
        raise DataError(
            f"more than {_MOST_ROWS:,} rows do not fit in one table",
            hint="divide it by a quasi-identifier, such as a region, and release each",
        )


def _count(rows: NDArray[np.bool_], counts: NDArray[np.int64] | None) -> int:
    return int(np.count_nonzero(rows) if counts is None else counts[rows].sum())


def collapse(coded: Coded) -> Encoded:
    """Group equal rows to distinct tuples with counts."""
    sizes = [column.n_values for column in coded.columns]
    sizes += [column.n_values for column in coded.sensitive]
    sizes += [] if coded.n_units is None else [coded.n_units]
    packer = TuplePacker([size.bit_length() for size in sizes], coded.n_rows)
    for _ in sizes:
        packer.append(coded.codes.pop(0))  # its memory is free before the next pass
    tuples = packer.collapse(coded.counts)
    table = EncodedTable(
        *(coded.columns, coded.sensitive, tuples.codes, tuples.counts),
        *(int(tuples.counts.sum()), coded.n_units),
    )
    row_tuple = tuples.row_tuple
    if coded.population is not None:
        table, row_tuple = add_population(table, row_tuple, coded.population)
    return Encoded(table, coded.values, row_tuple, coded.n_blanked)


def divide(
    table: EncodedTable, tuple_of: NDArray[np.int64], rows: NDArray[np.int64]
) -> EncodedTable:
    """Return the table with some tuples in several pieces.

    ``tuple_of`` and ``rows`` say which piece is of which tuple, rising, and how many
    rows it has.
    """
    return replace(table, codes=table.codes[tuple_of], counts=rows)


def weigh_tuples(
    encoded: Encoded,
    weights: NDArray[np.float64],
    counts: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    """Add up the rows' weights by tuple, as shares of the heaviest row.

    Equal weights are counted and the others added from light to heavy, so that neither
    the order of rows nor how they were counted decides anything.
    """
    heaviest = weights.max(initial=0.0) or 1.0
    order = np.lexsort((weights, encoded.row_tuple))
    owner, each = encoded.row_tuple[order], weights[order] / heaviest
    is_new = np.ones(order.size, dtype=np.bool_)
    is_new[1:] = (owner[1:] != owner[:-1]) | (each[1:] != each[:-1])
    first = np.flatnonzero(is_new)
    ones = np.ones(order.size, np.int64) if counts is None else counts[order]
    rows = np.add.reduceat(ones, first) if first.size else ones
    totals = np.bincount(
        owner[first],
        weights=rows * each[first],
        minlength=encoded.table.n_tuples,
    )
    return totals.astype(np.float64)


def without_population(table: EncodedTable) -> EncodedTable:
    """Return the same tuples with no rows where they are of the population only."""
    if table.present is None:
        return table
    return replace(table, counts=np.where(table.inside, table.counts, 0))


def deal_rows(tuples: NDArray[np.int32], keys: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Return an order of the rows, tuple by tuple, by keys that scatter equal rows.

    Rows of one key are equal in all their cells; side by side they would fill a class
    with one sensitive value. Which of them is first makes no difference.
    """
    order = np.lexsort((keys, tuples))
    ordered, owners = keys[order], tuples[order]
    is_new = np.ones(order.size, dtype=np.bool_)
    is_new[1:] = (ordered[1:] != ordered[:-1]) | (owners[1:] != owners[:-1])
    place = np.arange(order.size)
    nth = place - np.maximum.accumulate(np.where(is_new, place, 0))
    dealt = scatter(ordered + nth.astype(np.uint64))
    dealt_order: NDArray[np.intp] = order[np.lexsort((dealt, owners))]
    return dealt_order


def input_digest(encoded: Encoded) -> str:
    """Return a SHA-256 of the multiset of quasi-identifier and sensitive values."""
    table = encoded.table
    digest = hashlib.sha256()
    for column, labels in zip(table.columns, encoded.values, strict=True):
        digest.update(f"{column.name}\0{column.kind}\0".encode())
        if column.kind == "number":
            digest.update(column.values.astype("<f8").tobytes())
        else:
            digest.update("\0".join(labels.to_pylist()).encode())
    for extra in table.sensitive:
        digest.update(f"{extra.name}\0{extra.n_values}\0".encode())
    digest.update(table.codes.astype("<i4").tobytes())
    digest.update(table.counts.astype("<i8").tobytes())
    return digest.hexdigest()
