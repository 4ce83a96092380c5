"""encode() and collapse(): the only readers of user data."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.encoding.collapse import TuplePacker
from core_mondrian.encoding.columns import (
    CodedColumn,
    Ranked,
    encode_ranked,
    encode_sensitive,
    rank_column,
)
from core_mondrian.encoding.trees import build_tree
from core_mondrian.errors import DataError, SpecError
from core_mondrian.hierarchies.learned import Learned
from core_mondrian.runtime.threads import map_columns
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.cell_keys import (
    cell_keys,
    combine_keys,
    moment_words,
    object_keys,
)
from core_mondrian.tables.encoded import (
    EncodedColumn,
    EncodedTable,
    SensitiveColumn,
    TableFigures,
)
from core_mondrian.tables.files.cells import unified_texts, without_nulls
from core_mondrian.tables.frames import OpenFrame, arrow_column

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


class Coded(NamedTuple):
    """The columns the spec names as codes, one per row."""

    columns: tuple[EncodedColumn, ...]
    sensitive: tuple[SensitiveColumn, ...]
    codes: list[NDArray[np.int32]]
    """Quasi-identifiers, sensitive columns, the unit; ``collapse`` empties the list."""
    values: tuple[pa.Array, ...]
    n_rows: int
    n_units: int | None
    """Persons, if the spec names the column that identifies them."""
    population: NDArray[np.int32] | None = None
    """The quasi-identifiers' codes of the population, one row a person."""
    n_blanked: int = 0
    """Cells that count as missing because their hierarchy does not cover them."""
    counts: NDArray[np.int64] | None = None
    """How many rows each row stands for; None: for itself."""


def encode(
    frame: OpenFrame,
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
        from core_mondrian.spec.population import open_population

        others = open_population(
            spec.population, spec.quasi_identifiers, spec.null_values
        )

    def spell(name: str) -> pa.ChunkedArray:
        return unified_texts(arrow_column(frame, name), spec.null_values)

    names = spec.quasi_identifiers
    rank = partial(_rank, frame=frame, others=others, null_values=spec.null_values)
    ranks = map_columns(rank, names, n_rows, threads, report)
    columns = dict(zip(names, ranks, strict=True))

    def code(name: str) -> CodedColumn:
        tree = build_tree(name, columns, spec)
        how = spec.uncovered_of(name)
        return encode_ranked(columns[name], name, tree, how, counts)

    coded = map_columns(code, names, n_rows, threads)
    blanked = [x.is_blanked[:n_rows] for x in coded if x.is_blanked is not None]
    counted = map_columns(
        lambda name: encode_sensitive(spell(name), name),
        spec.sensitive_and_equity,
        n_rows,
        threads,
    )
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


def _rank(
    name: str,
    frame: OpenFrame,
    others: OpenFrame | None,
    null_values: Sequence[str],
) -> Ranked:
    """Rank the values of a column, together with those of the population if any."""
    array = without_nulls(arrow_column(frame, name), null_values)
    if others is not None:
        from core_mondrian.encoding.population import join_columns

        more = without_nulls(arrow_column(others, name), null_values)
        array = join_columns(name, array, more)
    return rank_column(array, name)


class ValueCodes(NamedTuple):
    """What the distinct values of each column are coded as; tuples are elsewhere."""

    encoded: Encoded
    """The columns, without tuples."""
    codes: tuple[NDArray[np.int32], ...]
    """By `tuple_columns`: the code of each distinct value."""
    rows: tuple[NDArray[np.int64], ...]
    """And how many rows have it."""

    def with_tuples(self, n_tuples: int) -> Encoded:
        """Return the columns of so many tuples, with their figures."""
        table = self.encoded.table
        sizes = [column.n_values + 1 for column in table.columns]
        sizes += [column.n_values for column in table.sensitive]
        by_code = tuple(
            np.bincount(codes, rows, size).astype(np.int64)
            for codes, rows, size in zip(self.codes, self.rows, sizes, strict=False)
        )
        n_persons = None
        if table.n_units is not None:
            n_persons = np.unique(self.codes[-1][self.rows[-1] > 0]).size
        figures = TableFigures(n_tuples, by_code, n_persons)
        return replace(self.encoded, table=replace(table, figures=figures))


def encode_values(
    values: Mapping[str, pa.Array], rows: Mapping[str, NDArray[np.int64]], spec: Spec
) -> ValueCodes:
    """Turn the distinct values of the columns the spec names into codes.

    ``rows`` says how many rows have each value. As `encode` does, where tuples are too
    many to be here.

    Raises:
        SpecError: a hierarchy is learned from other columns, which takes tuples.
        DataError: a column cannot be encoded.
    """
    n_rows = int(next(iter(rows.values())).sum())
    _check_rows(0, np.array([n_rows]))
    for name in spec.quasi_identifiers:
        if isinstance(spec.hierarchies.get(name), Learned):
            raise SpecError(
                f"to learn the hierarchy of {name!r} needs all distinct tuples in "
                "memory at once, and here they are too many",
                hint="learn it from a sample (core-mondrian hierarchy), and give it as "
                "a file",
            )

    def column(name: str) -> pa.ChunkedArray:
        return pa.chunked_array([values[name]])

    ranks = {
        name: rank_column(without_nulls(column(name), spec.null_values), name)
        for name in spec.quasi_identifiers
    }
    quasi_identifiers = [
        encode_ranked(
            ranked=ranks[name],
            name=name,
            hierarchy=build_tree(name, ranks, spec),
            uncovered=spec.uncovered_of(name),
            counts=rows[name],
        )
        for name in spec.quasi_identifiers
    ]
    sensitive = [
        encode_sensitive(unified_texts(column(name), spec.null_values), name)
        for name in spec.sensitive_and_equity
    ]
    maps = [
        *(item.codes for item in quasi_identifiers),
        *(codes for codes, _ in sensitive),
    ]
    n_units = None
    if spec.unit is not None:
        units = rank_column(
            unified_texts(column(spec.unit), spec.null_values), spec.unit
        )
        maps.append(units.codes)
        n_units = len(units.values) + 1  # rows of nobody count as one person's
    table = EncodedTable(
        tuple(item.column for item in quasi_identifiers),
        tuple(extra for _, extra in sensitive),
        np.zeros((0, len(maps)), dtype=np.int32),
        np.zeros(0, dtype=np.int64),
        n_rows,
        n_units,
    )
    n_blanked = sum(
        _count(item.is_blanked, rows[item.column.name])
        for item in quasi_identifiers
        if item.is_blanked is not None
    )
    none = np.zeros(0, dtype=np.int32)
    own = tuple(item.values for item in quasi_identifiers)
    return ValueCodes(
        Encoded(table, own, none, n_blanked),
        tuple(maps),
        tuple(rows[name] for name in tuple_columns(spec)),
    )


def tuple_columns(spec: Spec) -> tuple[str, ...]:
    """Return the columns whose codes are a tuple, in their order."""
    unit = () if spec.unit is None else (spec.unit,)
    return (*spec.quasi_identifiers, *spec.sensitive_and_equity, *unit)


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


def collapse(coded: Coded, threads: int | None = 1) -> Encoded:
    """Group equal rows to distinct tuples with counts."""
    sizes = [column.n_values for column in coded.columns]
    sizes += [column.n_values for column in coded.sensitive]
    sizes += [] if coded.n_units is None else [coded.n_units]
    packer = TuplePacker([size.bit_length() for size in sizes], coded.n_rows)
    packer.append_all(coded.codes, threads)
    tuples = packer.collapse(coded.counts, threads)
    table = EncodedTable(
        columns=coded.columns,
        sensitive=coded.sensitive,
        codes=tuples.codes,
        counts=tuples.counts,
        n_rows=int(tuples.counts.sum()),
        n_units=coded.n_units,
    )
    row_tuple = tuples.row_tuple
    if coded.population is not None:
        from core_mondrian.encoding.population import add_population

        table, row_tuple = add_population(table, row_tuple, coded.population)
    return Encoded(table, coded.values, row_tuple, coded.n_blanked)


def with_persons_exchanged(encoded: Encoded, key: bytes) -> Encoded:
    """Exchange the tuples of persons who look the same, at random."""
    table = encoded.table
    if table.n_units is None or not table.n_tuples:
        return encoded
    from core_mondrian.encoding.persons import exchange_persons

    others, person = table.codes[:, :-1], table.codes[:, -1].astype(np.int64)
    # Tuples that differ in the person alone stand side by side.
    is_new = (others[1:] != others[:-1]).any(axis=1)
    base = np.concatenate([[0], np.cumsum(is_new)])
    # Rows of nobody are not a person's: no profile is like theirs.
    is_nobody = person == table.n_units - 1
    counts = np.where(is_nobody, -table.counts, table.counts)
    target = exchange_persons(base, person, counts, key).astype(np.int32)
    return replace(encoded, row_tuple=target[encoded.row_tuple])


def hash_tuples(encoded: Encoded, tuples: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return a public hash of some tuples, by value: persons have no say in it."""
    table = encoded.table
    hashes = [cell_keys(values) for values in encoded.values]
    hashes += [object_keys(column.labels) for column in table.sensitive]
    columns = (
        np.append(values, np.uint64(0))[np.minimum(table.codes[tuples, i], values.size)]
        for i, values in enumerate(hashes)
    )
    return combine_keys(columns, tuples.size)


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


def input_digest(encoded: Encoded, salt: bytes) -> str:
    """Return a digest of the exact values that came in, as a multiset of tuples.

    Who lacks the salt cannot try guesses against it. Labels of sensitive values are
    part of it, and numbers are taken as they are, not as floats.
    """
    table = encoded.table
    codes = [table.codes.astype("<i4").tobytes()]
    counts = [table.counts.astype("<i8").tobytes()]
    return digest_input(encoded, salt, codes, counts)


def digest_input(
    encoded: Encoded, salt: bytes, codes: Iterable[bytes], counts: Iterable[bytes]
) -> str:
    """Return the same where codes and counts of tuples come some at a time."""
    table = encoded.table
    digest = hashlib.blake2b(key=salt, digest_size=32)
    for column, values in zip(table.columns, encoded.values, strict=True):
        digest.update(_framed(f"{column.name}\0{column.kind}".encode()))
        digest.update(canonical_bytes(values))
    for extra in table.sensitive:
        digest.update(_framed(f"{extra.name}\0{extra.n_values}".encode()))
        digest.update(canonical_bytes(_as_array(extra.labels)))
    for some in chain(codes, counts):
        digest.update(some)
    return digest.hexdigest()


def _as_array(labels: Sequence[object]) -> pa.Array:
    try:
        return pa.array(labels)
    except pa.ArrowException:
        return pa.array([repr(label) for label in labels])


def canonical_bytes(values: pa.Array) -> bytes:
    """Return values as bytes, the same whatever library holds them; none is missing.

    Whole numbers are 64-bit integers, also where they are held as floats; a moment is
    its seconds and nanoseconds; everything else is text with its lengths.
    """
    kind = values.type
    if pa.types.is_boolean(kind):
        values, kind = values.cast(pa.int8()), pa.int8()
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        return b"i" + np.asarray(values).astype("<i8").tobytes()
    if pa.types.is_floating(kind):
        return _float_bytes(np.asarray(values.cast(pa.float64())) + 0.0)
    if pa.types.is_temporal(kind):
        return b"t" + moment_words(values).astype("<i8").tobytes()
    if not pa.types.is_binary(kind):
        values = values.cast(pa.string())
    cells = [cell or b"" for cell in values.cast(pa.large_binary()).to_pylist()]
    lengths = np.array([len(cell) for cell in cells], "<i8").tobytes()
    return b"s" + lengths + b"".join(cells)


def _float_bytes(numbers: NDArray[np.float64]) -> bytes:
    is_whole = (np.abs(numbers) < 2.0**53) & (np.floor(numbers) == numbers)
    if is_whole.all():
        return b"i" + numbers.astype("<i8").tobytes()
    return b"f" + numbers.astype("<f8").tobytes()


def _framed(raw: bytes) -> bytes:
    return len(raw).to_bytes(8, "little") + raw
