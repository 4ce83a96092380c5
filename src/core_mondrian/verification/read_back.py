"""Read a release as its readers do, and check what was written before it is published.

A file may not keep what the table in memory distinguishes: a CSV file has one way to
write a missing value and no types. So what is verified is what a reader reads back.
"""

import math
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from core_mondrian.errors import DataError, PrivacyViolation, SpecError
from core_mondrian.runtime.array_types import Frame
from core_mondrian.spec.declaration import Spec, bound_names
from core_mondrian.tables.files.dialect import WRITTEN, Dialect
from core_mondrian.tables.files.kinds import kind_of, parts_of
from core_mondrian.tables.files.read import read_table
from core_mondrian.verification.verify import Verification, verified_columns, verify

_HINT = (
    "nothing was published: rename values that the file cannot distinguish from "
    "missing ones (see null_values), or write Parquet"
)


def read_release(
    file: Path,
    spec: Spec,
    columns: Collection[str] | None = None,
    dialect: Dialect | None = None,
) -> pa.Table:
    """Read a release, or all its parts; cells of CSV stay the texts they are.

    ``columns`` are those that are needed; None: all. ``dialect`` is `WRITTEN` of files
    that were made here: cells may look like another one.
    """
    parts = parts_of(file) if file.is_dir() else []
    _check_hidden(file)
    # Spark writes files without a row, and without the names of columns.
    parts = [part for part in parts if part.is_dir() or part.stat().st_size] or parts
    if parts:
        tables = [read_release(part, spec, columns, dialect) for part in parts]
        try:
            return pa.concat_tables(tables, promote_options="permissive")
        except pa.ArrowException:
            raise DataError(
                f"{file}: a column is of one type in some parts, and of another in "
                "others",
                hint="name one release: its parts have columns of the same types",
            ) from None
    return read_table(
        file,
        typed=[  # the others are as they came
            shown
            for name in spec.quasi_identifiers
            for shown in (name, *bound_names(name))
        ],
        null_values=spec.null_values,
        infer=False,
        guarded=spec.guard_formulas,
        columns=columns,
        dialect=dialect,
    )


def _check_hidden(folder: Path) -> None:
    """Refuse a folder with a table that is taken for notes, and so not looked at."""
    names = folder.iterdir() if folder.is_dir() else ()
    notes = [x for x in names if x.name.startswith((".", "_"))]
    below = [x for note in notes if note.is_dir() for x in note.rglob("*")]
    if hidden := sorted(x for x in (*notes, *below) if kind_of(x)):
        raise DataError(
            f"{hidden[0]}: a table that is no part of the release, by its name, and "
            "would go with it",
            hint="remove it, or rename it or its folder without the first sign",
        )


class Verified(NamedTuple):
    """A release in memory, and what its verification found."""

    data: Frame
    """The released table."""
    spec: Spec
    verification: Verification
    budget: int

    def check(self, path: Path) -> None:
        """Recount a file that the release was written to.

        Raises:
            PrivacyViolation: a reader does not read the release that was verified.
        """
        spec, expected = self.spec, self.verification
        if spec.unit is not None and spec.unit in spec.removed:
            # Persons are not in the file; their classes are, row by row.
            spec = replace(spec, unit=None)
            expected = verify(self.data, spec, budget=self.budget)
        names = [
            name for name in verified_columns(self.data, spec) if name != spec.unit
        ]
        if spec.unit is not None:
            names.append(spec.unit)
        try:
            data = read_release(path, spec, names, WRITTEN)
            again = verify(data, spec, budget=self.budget)
        except (PrivacyViolation, SpecError, DataError) as error:
            raise PrivacyViolation(
                f"{path.name}: what was written fails: {error.message}", hint=_HINT
            ) from None
        if not _is_same(expected, again):
            raise PrivacyViolation(
                f"{path.name}: what was written is read back as "
                f"{again.n_rows:,} rows in {again.n_classes:,} classes, and verified "
                f"were {expected.n_rows:,} rows in {expected.n_classes:,} classes",
                hint=_HINT,
            )


def _is_same(one: Verification, other: Verification) -> bool:
    """Return whether two recounts found the same classes and the same models."""
    sizes = [
        (x.n_rows, x.n_classes, x.n_suppressed_blank, x.smallest_class)
        for x in (one, other)
    ]
    reached = zip(one.models, other.models, strict=True)
    return sizes[0] == sizes[1] and all(
        math.isclose(a.reached, b.reached, rel_tol=1e-9, abs_tol=1e-9)
        for a, b in reached
    )
