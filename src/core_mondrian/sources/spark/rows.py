"""A Spark table under names that Spark cannot misread, and its tuples' keys."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from core_mondrian.errors import DataError, SpecError, list_names, quote_names
from core_mondrian.sources.spark.failures import working
from core_mondrian.sources.tuple_counts import counted_columns
from core_mondrian.spec.declaration import Spec, check_look_alikes

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Reading: TypeAlias = Callable[[pa.Table], pa.Table]
"""What distinct tuples as Spark has them stand for: texts of a CSV file, numbers."""


@dataclass(frozen=True)
class Rows:
    """The caller's table: columns ``c0 …`` as they came, ``k0 …`` as they are counted.

    Names may hold dots, backticks and spaces, or differ in case only. Spark would take
    them for something else, so columns go by number until the release is laid out.
    """

    frame: "DataFrame"
    names: tuple[str, ...]
    """The caller's names."""
    counted: tuple[str, ...]
    """The columns that tuples are counted by; theirs are the keys."""
    read: Reading

    @property
    def keys(self) -> list[str]:
        """The keys' names."""
        return numbered("k", self.counted)

    def place(self, name: str) -> str:
        """Return what one of the caller's columns is called here."""
        return f"c{self.names.index(name)}"


def numbered(letter: str, items: Sequence[object]) -> list[str]:
    """Return names for columns that Spark cannot misread."""
    return [f"{letter}{i}" for i in range(len(items))]


def open_rows(frame: "DataFrame", spec: Spec, read: Reading | None = None) -> Rows:
    """Take the caller's table, with the keys of its tuples.

    Raises:
        SpecError: the spec names columns that it does not have.
        DataError: it has columns of one name, or of a type that cannot be counted.
    """
    with working("read the table"):
        names = tuple(frame.columns)
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise DataError(
            f"several columns have one name: {list_names(twice, names)}",
            hint="rename them first",
        )
    if missing := sorted(set(spec.columns).difference(names)):
        raise SpecError(
            f"not in the data: {quote_names(missing)}",
            hint=f"it has {list_names(names)}",
        )
    check_look_alikes(spec, names)
    counted = counted_columns(spec)
    plain = frame.toDF(*numbered("c", names))
    places = [names.index(name) for name in counted]
    fields = [plain.schema.fields[place] for place in places]
    keys = {
        f"k{i}": key_of(plain[field.name], field.dataType, name)
        for i, (name, field) in enumerate(zip(counted, fields, strict=True))
    }
    return Rows(plain.withColumns(keys), names, counted, read or _as_they_are)


def key_of(column: "Column", kind: object, name: str) -> "Column":
    """Return a column as tuples are told apart by it: NaN is missing, -0.0 is 0.0.

    Raises:
        DataError: values of its type cannot be counted.
    """
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql import types as T  # noqa: N812

    if isinstance(kind, T.MapType | T.VariantType):
        raise DataError(
            f"column {name!r} has type {kind.simpleString()}, which has neither an "
            "order nor labels",
            hint="numbers, dates, times, booleans and text can be quasi-identifiers",
        )
    if isinstance(kind, T.FloatType | T.DoubleType):
        zero = F.lit(0.0).cast(kind)
        return F.when(~F.isnan(column), column + zero)
    # Text is compared as it is written: no collation, no padding; and no void.
    if isinstance(kind, T.StringType | T.NullType):
        return column.cast("string")
    return column


def _as_they_are(tuples: pa.Table) -> pa.Table:
    return tuples
