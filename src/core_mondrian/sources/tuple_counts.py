"""TupleCounts: all that a source of rows has to tell the engine."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.encoding.collapse import TuplePacker
from core_mondrian.encoding.columns import rank_column
from core_mondrian.errors import DataError, InternalError, list_names
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.files.atomic_write import write_files
from core_mondrian.tables.files.kinds import unreadable

ROWS = "core_mondrian:rows"
"""The column of a file that says how often a tuple occurs."""


def counted_columns(spec: Spec) -> tuple[str, ...]:
    """Return the columns that rows are counted by."""
    more = [name for name in (spec.unit, spec.weight) if name is not None]
    return tuple(dict.fromkeys((*spec.quasi_identifiers, *spec.counted, *more)))


@dataclass(frozen=True, slots=True)
class TupleCounts:
    """How many rows have each tuple of values.

    ``values`` has the counted columns, in the types they have in the source. A tuple
    may be there more than once: what counts is the sum.
    """

    values: pa.Table
    rows: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.values.num_rows != self.rows.size:
            raise InternalError("tuples and counts differ in number")

    @property
    def n_rows(self) -> int:
        return int(self.rows.sum())

    def plus(self, other: "TupleCounts") -> "TupleCounts":
        """Return the counts of both tables together.

        Raises:
            DataError: their columns differ.
        """
        mine, others = self.values.schema, other.values.schema
        if set(mine.names) != set(others.names):
            raise DataError(
                f"counts of {list_names(others.names)} do not add to those of "
                f"{list_names(mine.names)}",
                hint="count both tables with the same spec",
            )
        tables = [self.values, other.values.select(mine.names)]
        try:
            both = pa.concat_tables([_plain(table) for table in tables])
        except pa.ArrowException:
            raise DataError(
                "the columns of both counts have different types",
                hint="count both tables from the same kind of source",
            ) from None
        return TupleCounts(both, np.concatenate([self.rows, other.rows])).merged()

    def merged(self) -> "TupleCounts":
        """Return every tuple once."""
        ranks = [
            rank_column(column, name)
            for name, column in zip(
                self.values.column_names, self.values.columns, strict=True
            )
        ]
        bits = [len(rank.values).bit_length() for rank in ranks]
        packer = TuplePacker(bits, self.rows.size)
        for rank in ranks:
            packer.append(rank.codes)
        found = packer.collapse(self.rows)
        first = np.zeros(found.counts.size, dtype=np.int64)
        first[found.row_tuple[::-1]] = np.arange(self.rows.size)[::-1]
        return TupleCounts(self.values.take(pa.array(first)), found.counts)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the counts to an Arrow file, whole or not at all.

        They hold values of the table, as they are: keep the file as safe as the table.

        Raises:
            SpecError: the file exists.
            OutputError: it cannot be written.
        """
        table = self.values.append_column(ROWS, pa.array(self.rows))

        def write(file: Path) -> None:
            options = pa.ipc.IpcWriteOptions(unify_dictionaries=True)
            with (
                pa.OSFile(str(file), "wb") as sink,
                pa.ipc.new_file(sink, table.schema, options=options) as writer,
            ):
                writer.write_table(table)

        file = Path(path)
        write_files({file: write}, overwrite=overwrite, private=[file])

    @staticmethod
    def load(path: str | Path) -> "TupleCounts":
        """Read counts that `save` wrote.

        Raises:
            DataError: the file cannot be read, or holds something else.
        """
        try:
            with pa.OSFile(str(path), "rb") as file:
                table = pa.ipc.open_file(file).read_all()
            table.validate(full=True)
        except OSError as error:
            raise unreadable(path, error) from None
        except pa.ArrowException:
            raise DataError(
                f"{path}: no file of counts, or damaged", hint="count again"
            ) from None
        if table.column_names[-1:] != [ROWS] or table.num_columns < 2:
            raise DataError(f"{path}: no file of counts", hint="see --save-counts")
        rows = table.column(ROWS)
        if rows.type != pa.int64() or rows.null_count:
            raise DataError(
                f"{path}: no file of counts, or damaged", hint="count again"
            )
        counts = rows.to_numpy()
        if (counts < 0).any():
            raise DataError(
                f"{path}: no file of counts, or damaged", hint="count again"
            )
        return TupleCounts(table.drop_columns([ROWS]), counts)


def _plain(table: pa.Table) -> pa.Table:
    """Return a table without dictionaries, which may be kept differently."""
    columns = [
        column.cast(column.type.value_type)
        if pa.types.is_dictionary(column.type)
        else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)
