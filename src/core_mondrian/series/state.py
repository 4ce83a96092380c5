"""What a series remembers: the recoding, the cohorts, and who is in which of them."""

from dataclasses import dataclass, field, replace
from typing import Final, Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.errors import SpecError
from core_mondrian.models.k_anonymity import KAnonymity
from core_mondrian.series.cohorts import TOO_SMALL, TooSmall
from core_mondrian.series.events import DEPARTURES, Departures
from core_mondrian.series.recoding import Recoding, fitting_spec
from core_mondrian.series.row_hashes import RowHashes
from core_mondrian.spec.declaration import Spec, check_choice
from core_mondrian.tables.keys import Key

Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]
Words = NDArray[np.uint64]


Cuts = Literal["afresh", "first"]
CUTS: Final = get_args(Cuts)


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for a series besides its spec."""

    row_key: tuple[str, ...]
    """The columns that say which row it is; they are not released."""
    cuts: Cuts = "afresh"
    """New rows are cut by themselves, or go down the tree of the first release."""
    departures: Departures = "together"
    """Who leaves waits for enough others, or takes others along at once."""
    too_small: TooSmall = "ancestor"
    """What becomes of new rows that are too few where they stop."""
    cohort: str = "cohort"
    """The column that says in which cohort a row is."""
    cohort_size: int | None = None
    """Persons that a cohort begins with, at least; None: as many as the models need.
    Larger ones survive more deletions, and show less."""
    suffix: str = ".parquet"
    """Of the files that are released."""

    def __post_init__(self) -> None:
        check_choice("cuts", self.cuts, CUTS)
        check_choice("departures", self.departures, DEPARTURES)
        check_choice("too_small", self.too_small, TOO_SMALL)
        names = (*self.row_key, self.cohort)
        if not self.row_key or not all(isinstance(x, str) and x for x in names):
            raise SpecError(
                "row_key names the columns that identify a row, cohort a new column",
                hint="such as row_key='person_id'",
            )
        size = self.cohort_size
        is_whole = isinstance(size, int) and not isinstance(size, bool)
        if size is not None and not (is_whole and size >= 2):
            raise SpecError("cohort_size is a number of persons, 2 or more")


class Records(NamedTuple):
    """Rows that are shown, one entry for each; in any order."""

    hashes: RowHashes
    """As they are shown."""
    values: Codes
    """Sensitive values as they are shown (row, column): places in the recoding's."""
    cohort: Integers

    def take(self, chosen: Integers | Flags) -> "Records":
        """Return some of them."""
        hashes = self.hashes.take(chosen)
        return Records(hashes, self.values[chosen], self.cohort[chosen])

    def plus(self, other: "Records") -> "Records":
        """Return both."""
        hashes = zip(self.hashes, other.hashes, strict=True)
        return Records(
            RowHashes(*(np.concatenate(pair) for pair in hashes)),
            np.concatenate([self.values, other.values]),
            np.concatenate([self.cohort, other.cohort]),
        )


class Cohorts(NamedTuple):
    """What cohorts show, and which values they can hold without showing others."""

    release: Integers
    """Since which release each of them is shown."""
    number: Integers
    """The number among those of its release, from 1 on."""
    cells: tuple[pa.Array, ...]
    """What each of them shows, by quasi-identifier."""
    low: Codes
    high: Codes
    """The box (cohort, column) in fitted codes; -1: nothing but missing values."""
    has_missing: Flags

    @property
    def n_cohorts(self) -> int:
        return int(self.release.size)

    @property
    def names(self) -> pa.Array:
        """What cohorts are called: by release and number."""
        pairs = zip(self.release.tolist(), self.number.tolist(), strict=True)
        return pa.array([f"r{r}c{n}" for r, n in pairs], pa.string())

    def take(self, chosen: Integers) -> "Cohorts":
        """Return some of them."""
        return Cohorts(
            self.release[chosen],
            self.number[chosen],
            tuple(cells.take(pa.array(chosen)) for cells in self.cells),
            self.low[chosen],
            self.high[chosen],
            self.has_missing[chosen],
        )

    def plus(self, other: "Cohorts") -> "Cohorts":
        """Return both."""
        pairs = zip(self.cells, other.cells, strict=True)
        return Cohorts(
            np.append(self.release, other.release),
            np.append(self.number, other.number),
            tuple(_joined(*pair) for pair in pairs),
            np.concatenate([self.low, other.low]),
            np.concatenate([self.high, other.high]),
            np.concatenate([self.has_missing, other.has_missing]),
        )


def _joined(first: pa.Array, second: pa.Array) -> pa.Array:
    """Return both; one without a cell may have no type as yet."""
    held = [cells for cells in (first, second) if len(cells)] or [second]
    return pa.concat_arrays(held)


class Chain(NamedTuple):
    """What ties a release to the one before."""

    number: int = 0
    """Of the last release; 0: there is none yet."""
    manifest: str | None = None
    record: str | None = None
    """SHA-256 of what was told of the last release, in public and to the owner."""


class Shown(NamedTuple):
    """What has been shown, from the first release on."""

    recoding: Recoding
    records: Records
    released: pa.Table
    """The last release, a row for each of the records; without the unit."""
    cohorts: Cohorts
    withdrawn: Words
    """Keys of rows that were shown and are never shown again, but may be blank."""
    withheld: Words
    """Keys of rows that are never shown at all."""
    key_values: Words
    """Keys of all these rows by value, rising: 7.0 and 7 are alike, as texts too."""
    columns: tuple[tuple[str, str], ...]
    """Names and kinds of the table's columns; the same for every release."""


@dataclass(frozen=True)
class State:
    """All that a series remembers."""

    name: str
    """A random name, by which releases of one series are known."""
    spec: Spec
    rules: Rules
    key: Key = field(repr=False)
    chain: Chain = field(default_factory=Chain)
    shown: Shown | None = field(default=None, repr=False)

    @property
    def forming_spec(self) -> Spec:
        """The spec that cohorts have to satisfy when they are formed."""
        # Rows that left are blank in releases; no row is left out of a cohort.
        spec = replace(self.spec, suppressed="drop")
        size = self.rules.cohort_size
        if size is None or size <= spec.min_rows:
            return spec
        return replace(spec, models=(*spec.models, KAnonymity(size)))


def series_spec(spec: Spec, rules: Rules) -> Spec:
    """Return the spec as a series is made by it; row keys are identifiers.

    Raises:
        SpecError: it asks for what a series cannot do.
    """
    wanted = fitting_spec(spec)
    wrong = {
        "suppressed = 'separate'": wanted.suppressed == "separate",
        "class_id: the cohort is one": wanted.class_id is not None,
        "shuffle with a fixed seed": wanted.shuffle is not None,
        "best.equity": wanted.equity is not None,
    }
    for what, is_wrong in wrong.items():
        if is_wrong:
            raise SpecError(f"a series does not go with {what}", hint="leave it out")
    shown = [
        x for x in rules.row_key if x in (*spec.quasi_identifiers, *spec.sensitive)
    ]
    if shown:
        raise SpecError(
            f"{shown} cannot identify rows: they are released",
            hint="name a column that only you know, such as a record number",
        )
    wanted = replace(wanted, policy=spec.policy)  # the first tree alone is disjoint
    hidden = {*wanted.removed, *wanted.pseudonyms}
    added = tuple(name for name in rules.row_key if name not in hidden)
    return replace(wanted, identifiers=(*wanted.identifiers, *added))


def no_records(n_values: int) -> Records:
    """Return the records of a series that has shown nothing."""
    none = np.zeros(0, dtype=np.uint64)
    return Records(
        RowHashes(none, none, none, none),
        np.zeros((0, n_values), dtype=np.int32),
        np.zeros(0, dtype=np.int64),
    )


def no_cohorts(kinds: tuple[pa.DataType, ...]) -> Cohorts:
    """Return the cohorts of a series that has shown nothing."""
    none = np.zeros(0, dtype=np.int64)
    empty = np.zeros((0, len(kinds)), dtype=np.int32)
    cells = tuple(pa.array([], kind) for kind in kinds)
    return Cohorts(none, none, cells, empty, empty, empty.astype(np.bool_))
