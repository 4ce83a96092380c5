"""What Spark reads and writes: folders of files, tables of its catalog."""

import re
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from core_mondrian.errors import DataError, OutputError, SpecError
from core_mondrian.sources.spark.failures import working
from core_mondrian.sources.spark.rows import Reading
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.files.atomic_write import OVERWRITE, check_place
from core_mondrian.tables.files.csv_text import typed_texts
from core_mondrian.tables.files.kinds import check_names
from core_mondrian.tables.files.staging import draft_folder

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

KINDS: Final = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".orc": "orc",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
}
_PACKED: Final = (".gz", ".bz2", ".zst")
_NAME: Final = re.compile(r"(\w+|`[^`]+`)(\.(\w+|`[^`]+`))*")
_MOMENT: Final = "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS]"
# As CSV is written elsewhere: quotes are doubled, spaces count, a row that is too
# short or too long is an error. Spark's own choices are others.
_CSV: Final = {
    "header": "true",
    "escape": '"',
    "multiLine": "true",
    "mode": "FAILFAST",
    "columnPruning": "false",
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
}
# Spark would cut moments off at milliseconds.
_MOMENTS: Final = {
    "timestampFormat": f"{_MOMENT}[XXX]",
    "timestampNTZFormat": _MOMENT,
}
_OPTIONS: Final[dict[str, dict[str, str]]] = {
    "csv": _CSV | _MOMENTS,
    "json": {"mode": "FAILFAST", "ignoreNullFields": "false"} | _MOMENTS,
}


@dataclass(frozen=True)
class Folder:
    """A file, or a folder of files of one kind."""

    text: str
    kind: str

    @property
    def path(self) -> Path:
        return Path(self.text)

    def read(self, session: "SparkSession") -> "DataFrame":
        with working(f"read {self.text}"):
            return self._reader(session).load(self.text)

    def _reader(self, session: "SparkSession") -> "DataFrameReader":
        return session.read.format(self.kind).options(**_OPTIONS.get(self.kind, {}))

    def write(self, frame: "DataFrame") -> None:
        options = _OPTIONS.get(self.kind, {})
        with working(f"write {self.text}", OutputError):
            frame.write.format(self.kind).options(**options).save(self.text)
        if not self.path.exists():
            raise OutputError(
                f"{self.text}: was written where this machine does not see it",
                hint="name a folder that the driver and all executors share, or a "
                "table of the catalog",
            )

    def read_back(self, session: "SparkSession", like: "DataFrame") -> "DataFrame":
        """Return the table that was written of ``like``, in its types."""
        with working(f"read {self.text}"):
            return self._reader(session).schema(like.schema).load(self.text)

    def exists(self, session: "SparkSession") -> bool:  # noqa: ARG002
        return self.path.exists()

    @contextmanager
    def beside(self) -> Iterator[tuple["Spot", "Spot"]]:
        """Yield two new places next to this one, for what is not finished."""
        with draft_folder(self.path.resolve().parent, private=True) as held:
            own = held.resolve()  # by its name: Spark is another process
            new, old = (Folder(str(own / name), self.kind) for name in ("new", "old"))
            yield new, old

    def make_private(self) -> None:
        """Let no other user read what is here, if that is for us to say."""
        for file in self.path.rglob("*"):
            file.chmod(0o700 if file.is_dir() else 0o600)
        self.path.chmod(0o700 if self.path.is_dir() else 0o600)

    def move(self, session: "SparkSession", to: "Spot") -> None:  # noqa: ARG002
        """Put what is here in another place of its kind, where nothing is."""
        self.path.rename(to.text)

    def remove(self, session: "SparkSession") -> None:  # noqa: ARG002
        if self.path.is_dir():
            shutil.rmtree(self.path)
        else:
            self.path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Table:
    """A table of Spark's catalog, or a view to read."""

    text: str

    def read(self, session: "SparkSession") -> "DataFrame":
        with working(f"read table {self.text}"):
            return session.read.table(self.text)

    def write(self, frame: "DataFrame") -> None:
        with working(f"write table {self.text}", OutputError):
            frame.write.saveAsTable(self.text)

    def read_back(self, session: "SparkSession", like: "DataFrame") -> "DataFrame":  # noqa: ARG002
        return self.read(session)

    def exists(self, session: "SparkSession") -> bool:
        with working(f"find table {self.text}"):
            return session.catalog.tableExists(self.text)

    @contextmanager
    def beside(self) -> Iterator[tuple["Spot", "Spot"]]:
        yield self._new(), self._new()

    def _new(self) -> "Table":
        above = self.text.rpartition(".")[0]
        name = f"core_mondrian_{secrets.token_hex(8)}"
        return Table(f"{above}.{name}" if above else name)

    def make_private(self) -> None:
        """Do nothing: the catalog has rights of its own."""

    def move(self, session: "SparkSession", to: "Spot") -> None:
        with working(f"name table {to.text}", OutputError):
            session.sql(f"ALTER TABLE {self.text} RENAME TO {to.text}")

    def remove(self, session: "SparkSession") -> None:
        with working(f"remove table {self.text}", OutputError):
            session.sql(f"DROP TABLE IF EXISTS {self.text}")


Spot: TypeAlias = Folder | Table
"""Where a table is, or will be."""


def spot_of(text: str) -> Spot:
    """Return what a name on the command line stands for.

    A suffix says what kind of files; so do the files of a folder that is there. What
    is a plain name is a table.

    Raises:
        DataError: it is none of these.
    """
    path = Path(text)
    # Executors, and Connect servers, are in other folders.
    there = text if "://" in text else str(path.absolute())
    kind = _kind_of(path)
    if kind is None and path.is_dir():
        inside = (_kind_of(file) for file in sorted(path.rglob("*")) if file.is_file())
        kind = next((found for found in inside if found is not None), None)
    if kind is not None:
        return Folder(there, kind)
    if _NAME.fullmatch(text) and not path.exists():
        return Table(text)
    raise DataError(
        f"{text}: unknown kind of table",
        hint=f"the suffix is one of {', '.join(KINDS)}; a table's name has none",
    )


def _kind_of(path: Path) -> str | None:
    if path.name.startswith((".", "_")):
        return None
    plain = path.with_suffix("") if path.suffix.lower() in _PACKED else path
    return KINDS.get(plain.suffix.lower())


def check_spot(spot: Spot, session: "SparkSession", *, overwrite: bool) -> None:
    """Refuse a place where nothing can be put, before the long work.

    Raises:
        SpecError: something is there, or it is not on a file system.
        OutputError: its folder is missing or cannot be written to.
    """
    if isinstance(spot, Folder) and "://" in spot.text:
        raise SpecError(
            f"{spot.text}: a release is renamed when it is verified, which needs a "
            "file system",
            hint="name a folder that all machines share, or a table of the catalog",
        )
    if spot.exists(session) and not overwrite:
        raise SpecError(
            f"{spot.text}: exists already", hint=f"take another name, or {OVERWRITE}"
        )
    if isinstance(spot, Folder) and not spot.exists(session):
        check_place(spot.path, overwrite=overwrite)


def open_table(
    spot: Spot, session: "SparkSession", spec: Spec
) -> "tuple[DataFrame, Reading | None]":
    """Return a table, and what its values stand for if they are texts.

    Raises:
        DataError: it cannot be read.
    """
    if isinstance(spot, Folder) and spot.kind == "csv":
        return _open_csv(spot, session, spec)
    return spot.read(session), None


def _open_csv(
    spot: Folder, session: "SparkSession", spec: Spec
) -> "tuple[DataFrame, Reading]":
    """Read CSV as texts; those of quasi-identifiers are typed when all are known.

    So they become what `read_table` makes of them: a type that all values have.
    """
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql import types as T  # noqa: N812

    names = _header(spot, session)
    schema = T.StructType([T.StructField(name, T.StringType()) for name in names])
    with working(f"read {spot.text}"):
        reader = session.read.format("csv").options(**_CSV, enforceSchema="false")
        plain = reader.schema(schema).load(spot.text)
        texts = plain.toDF(*(f"t{i}" for i in range(len(names))))
    columns = []
    for i, name in enumerate(names):
        text = F.col(f"t{i}")
        is_typed = name in spec.quasi_identifiers
        column = F.coalesce(text, F.lit("")) if is_typed else F.nullif(text, F.lit(""))
        columns.append(column.alias(name))

    def read(tuples: "pa.Table") -> "pa.Table":
        for place, name in enumerate(tuples.column_names):
            if name in spec.quasi_identifiers:
                found = typed_texts(tuples.column(place), spec.null_values)
                tuples = tuples.set_column(place, name, found)
        return tuples

    return texts.select(columns), read


def _header(spot: Folder, session: "SparkSession") -> list[str]:
    """Return the first row: Spark itself would rename columns of one name."""
    options = _CSV | {"header": "false"}
    with working(f"read {spot.text}"):
        first: Sequence[Any] | None = (
            session.read.format("csv").options(**options).load(spot.text).first()
        )
    if first is None:
        raise DataError(f"{spot.text}: the file is empty", hint="write it again")
    names = ["" if name is None else str(name) for name in first]
    check_names(Path(spot.text), names)
    if len(names) == 1 and any(sign in names[0] for sign in ";\t|"):
        raise DataError(
            f"{spot.text}: has no commas between its values, which Spark is to find",
            hint="write it with commas or as Parquet, or read it without Spark",
        )
    if len(names) == 1:
        raise DataError(
            f"{spot.text}: Spark loses empty rows of a CSV file of one column",
            hint="read it without Spark, or write it as Parquet",
        )
    return names
