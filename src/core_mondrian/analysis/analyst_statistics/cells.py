"""Read both tables' columns: numbers as numbers, categories as shares of their values.

A released cell may allow several values. A number is then the middle of its range, and
a category is each of its values in part: in proportion to how often they are in the
released column, where cells that are shared count in these same parts. That is the most
likely distribution of the values, found by expectation and maximization in turns.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core_mondrian.api import load_and_encode
from core_mondrian.encoding.columns import (
    Ranked,
    as_floats,
    comparable,
    is_ordered,
    rank_column,
)
from core_mondrian.errors import DataError, SpecError
from core_mondrian.hierarchies.base import Builder
from core_mondrian.hierarchies.tree import Hierarchy
from core_mondrian.recoding.plan import with_resolved_hierarchies
from core_mondrian.runtime.array_types import Flags, Floats, IntegerArray, Integers
from core_mondrian.runtime.stages import Stages
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.frames import (
    OpenFrame,
    arrow_column,
    check_columns,
    open_frame,
)
from core_mondrian.verification.counting import (
    Coded,
    class_sizes,
    code_series,
    combine,
    compress,
    first_rows,
)
from core_mondrian.verification.matches import fitting, read_cells, split_interval

Texts = list[str | None]
MOST_LEVELS: Final = 1000
"""Values of a category that statistics are made of."""
_MOST_ROUNDS: Final = 200
_SAME: Final = 1e-9  # of a row


@dataclass(frozen=True, slots=True)
class Cells:
    """A column of one table: its distinct cells, and which of them each row has."""

    codes: Integers
    content: Floats
    """Numbers: that of each cell; NaN is blank. Categories: the share of each level
    (axis 1) in each cell; no share at all is blank."""
    exact: Flags
    """Which cells show one value as it is."""

    def count(self) -> Integers:
        """Count the rows of each cell."""
        return np.bincount(self.codes, minlength=len(self.content)).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the original, of the release and, if there is one, of the test."""

    name: str
    type: pa.DataType
    """What the original's values are."""
    levels: tuple[str, ...]
    """Of a category: its values as text, in order; of a number: none."""
    before: Cells
    after: Cells
    test: Cells | None

    @property
    def is_number(self) -> bool:
        return is_ordered(self.type)


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables that are compared, with their columns read once."""

    original: OpenFrame
    released: OpenFrame
    test: OpenFrame | None
    spec: Spec
    """With hierarchies that are built."""
    _read: dict[str, Column] = field(default_factory=dict, repr=False)

    def shown(self, name: str) -> tuple[str, ...]:
        """Return the columns of the release in which one is shown."""
        if name in self.released.columns:
            return (name,)
        return self.spec.bounds_of(name) or (name,)

    def is_released(self, name: str) -> bool:
        """Return whether the release has a column."""
        return set(self.shown(name)) <= set(self.released.columns)

    def left_out(self, before: Floats, after: Floats) -> tuple[int, float]:
        """Return how many rows are not among those that were counted."""
        rest = round(len(self.released) - float(after.sum()), 6)
        return len(self.original) - round(float(before.sum())), max(rest, 0.0)

    def count_people(
        self, cells: Sequence[Cells], known: Flags | None = None
    ) -> tuple[Integers, Integers]:
        """Count rows and people of the original by combination of levels.

        Rows with a blank, and those that are not ``known``, are not counted. People are
        rows; where the spec names a unit, they are the persons who have all their rows
        in one combination: those add up, and are never more than there are.
        """
        shape = [one.content.shape[1] for one in cells]
        n_groups = int(np.prod(shape, dtype=np.int64))
        group = np.zeros(len(self.original), dtype=np.int64)
        if not n_groups:
            return group[:0], group[:0]
        counted = np.ones(group.size, dtype=np.bool_) if known is None else known
        for one, n_levels in zip(cells, shape, strict=True):
            counted = counted & (one.content.sum(axis=1) > 0)[one.codes]
            group = group * n_levels + one.content.argmax(axis=1)[one.codes]
        group = group[counted]
        rows = np.bincount(group, minlength=n_groups).astype(np.int64)
        if self.spec.unit is not None:
            units = code_series(self.original[self.spec.unit])
            first = np.full(units.n_codes, n_groups)
            last = np.full(units.n_codes, -1)
            np.minimum.at(first, units.codes[counted], group)
            np.maximum.at(last, units.codes[counted], group)
            group = first[first == last]
        return rows, np.bincount(group, minlength=n_groups).astype(np.int64)

    def column(self, name: str) -> Column:
        """Return a column of all tables.

        Raises:
            DataError: it has no statistics, or a cell of the release cannot be read.
        """
        if name not in self._read:
            self._read[name] = _read_column(self, name)
        return self._read[name]


def open_tables(
    original: object, released: object, spec: Spec, test: object = None
) -> Tables:
    """Return the tables with the trees that the release was made with.

    Raises:
        SpecError: one is no table in memory, or lacks quasi-identifiers.
        DataError: one has no rows, or two columns of one name.
    """
    before, after = open_frame(original), open_frame(released)
    units = () if spec.unit is None else (spec.unit,)
    check_columns(before, (*spec.quasi_identifiers, *units))
    for frame, what in ((before, "original"), (after, "release")):
        if not len(frame):
            raise DataError(
                f"the {what} has no rows: there is nothing to compare",
                hint="take a table with rows",
            )
    if any(isinstance(entry, Builder) for entry in spec.hierarchies.values()):
        _, encoded = load_and_encode(original, spec, Stages(None))
        spec = with_resolved_hierarchies(spec, encoded)
    held_out = None if test is None else open_frame(test)
    tables = Tables(before, after, held_out, spec)
    check_columns(after, (x for q in spec.quasi_identifiers for x in tables.shown(q)))
    return tables


def collapse(cells: Sequence[Cells]) -> tuple[list[Integers], Integers]:
    """Return the distinct combinations of cells, column by column, and their rows.

    They come in the order of the cells: what is summed up over them does not depend on
    the order of rows.
    """
    keys = combine([Coded(one.codes, len(one.content)) for one in cells])
    first = first_rows(keys)
    return [one.codes[first] for one in cells], class_sizes(keys)


def _read_column(tables: Tables, name: str) -> Column:
    own = rank_column(arrow_column(tables.original, name), name)
    codes, texts = _released_texts(tables, name)
    test = None
    if tables.test is not None:
        test = rank_column(arrow_column(tables.test, name), name)
    if is_ordered(own.values.type):
        after = _read_numbers(tables, own, name, codes, texts)
        before = _sorted_numbers(own.codes, as_floats(own.values))
        last = None if test is None else as_floats(test.values)
        held = None if test is None else _sorted_numbers(test.codes, last)  # type: ignore[arg-type]
        return Column(name, own.values.type, (), before, after, held)
    is_same = name not in tables.spec.quasi_identifiers
    present = {*_texts_of(own), *(_texts_of(test) if test is not None else ())}
    levels = sorted(
        present | ({x for x in texts if x is not None} if is_same else set())
    )
    if len(levels) > MOST_LEVELS:
        raise DataError(
            f"column {name!r} has {len(levels)} values; statistics take at most "
            f"{MOST_LEVELS}",
            hint="leave it out, or group its values first",
        )
    after = _read_labels(tables, name, levels, codes, texts)
    held = None if test is None else _exact_labels(test, levels)
    before = _exact_labels(own, levels)
    return Column(name, own.values.type, tuple(levels), before, after, held)


def _texts_of(ranked: Ranked) -> list[str]:
    try:
        return list(comparable(ranked.values).cast(pa.string()).to_pylist())
    except pa.ArrowException:
        raise DataError(
            f"values of type {ranked.values.type} have no text",
            hint="convert the column to text first",
        ) from None


def _released_texts(tables: Tables, name: str) -> tuple[Integers, Texts]:
    """Return which distinct cell each released row has, and the cells' texts.

    The cells come in the order of their texts, a blank last.
    """
    frame, names = tables.released, tables.shown(name)
    if name in tables.spec.quasi_identifiers:
        keys = combine([code_series(frame[column]) for column in names])
        codes = compress(keys).codes
        try:
            texts = read_cells(frame, names, first_rows(keys))
        except pa.ArrowException:
            raise DataError(
                f"released column {name!r} cannot be read",
                hint="is it a release of this table, made with this spec?",
            ) from None
    else:
        ranked = rank_column(arrow_column(frame, name), name)
        codes, texts = ranked.codes.astype(np.int64), [*_texts_of(ranked), None]
    order = sorted(range(len(texts)), key=lambda i: (texts[i] is None, texts[i] or ""))
    place = np.empty(len(texts), dtype=np.int64)
    place[order] = np.arange(len(texts))
    return place[codes], [texts[i] for i in order]


# Numbers


def _sorted_numbers(codes: IntegerArray, numbers: Floats) -> Cells:
    """Return cells in the order of their numbers; those without one come last."""
    padded = np.append(numbers, np.nan)
    distinct, place = np.unique(padded, return_inverse=True)
    exact = np.ones(distinct.size, dtype=np.bool_)
    return Cells(place.ravel()[codes].astype(np.int64), distinct, exact)


def _read_numbers(
    tables: Tables, own: Ranked, name: str, codes: Integers, texts: Texts
) -> Cells:
    filled = [text for text in texts if text is not None]
    numbers = np.full(len(texts), np.nan)
    tree = tables.spec.hierarchies.get(name)
    if tree is not None:
        cells = _read_labels(tables, name, _texts_of(own), codes, texts)
        total = cells.content.sum(axis=1)
        inside = total > 0
        numbers = np.full(total.size, np.nan)
        numbers[inside] = (cells.content @ as_floats(own.values))[inside]
        numbers[inside] /= total[inside]
        codes = cells.codes
    elif filled:
        ends = np.array([split_interval(text) for text in filled]).T
        low, high = (_parse(list(end), own.values.type, name) for end in ends)
        numbers[: len(filled)] = low + (high - low) / 2
    return _sorted_numbers(codes, numbers)


def _parse(texts: list[str], kind: pa.DataType, name: str) -> Floats:
    """Return released numbers as floats, dates and times as the original counts."""
    array = pa.array(texts, pa.string())
    try:
        if pa.types.is_time(kind):  # which Arrow reads with a date only
            moments = pc.binary_join_element_wise("1970-01-01", array, " ")
            return as_floats(moments.cast(pa.timestamp(kind.unit)))
        if pa.types.is_boolean(kind) or pa.types.is_date(kind):
            return as_floats(array.cast(kind))
        if pa.types.is_timestamp(kind):
            return as_floats(array.cast(kind))
    except pa.ArrowException:  # a mean of booleans, maybe
        pass
    try:
        return as_floats(array.cast(pa.float64()))
    except pa.ArrowException:  # which quotes the cell
        raise DataError(
            f"released column {name!r} has cells that are not numbers of type {kind}",
            hint="is it a release of this table, made with this spec?",
        ) from None


# Categories


def _exact_labels(ranked: Ranked, levels: list[str]) -> Cells:
    place = {level: i for i, level in enumerate(levels)}
    at = np.array([place[text] for text in _texts_of(ranked)], dtype=np.int64)
    blank = len(levels)
    codes = np.append(at, blank)[ranked.codes]
    exact = np.ones(blank + 1, dtype=np.bool_)
    return Cells(codes, np.eye(blank + 1, blank), exact)


def _read_labels(
    tables: Tables, name: str, levels: list[str], codes: Integers, texts: Texts
) -> Cells:
    tree = tables.spec.hierarchies.get(name)
    if isinstance(tree, Builder):
        raise SpecError(f"the hierarchy of {name!r} is not built")
    counts = np.bincount(codes, minlength=len(texts))
    is_generalized = name in tables.spec.quasi_identifiers
    has_sets = is_generalized and tables.spec.categories_of(name) == "set"
    fits, exact = _find_fits(texts, levels, tree, has_sets=has_sets)
    if is_generalized and not fits[counts > 0].any(axis=1).all():
        raise DataError(
            f"released column {name!r} has cells that allow no value of the original",
            hint="is it a release of this table, made with this spec?",
        )
    return Cells(codes, _share_out(fits, counts)[:, :-1], exact)


def _share_out(fits: Floats, counts: Integers) -> Floats:
    """Return the share of each value (axis 1) in each cell, given which ones it allows.

    It begins with equal parts, and stays there for values that always go together.
    """
    shares = fits
    often = np.ones(fits.shape[1])
    for _ in range(_MOST_ROUNDS):
        weights = fits * often
        total = weights.sum(axis=1, keepdims=True)
        shares = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
        before, often = often, counts @ shares
        if np.abs(often - before).max(initial=0.0) < _SAME:
            break
    return shares


def _find_fits(
    texts: Texts, levels: list[str], tree: Hierarchy | None, *, has_sets: bool
) -> tuple[Floats, Flags]:
    """Return which levels, and missing, each cell allows, and which are exact."""
    place = {level: i for i, level in enumerate(levels)}
    fits = np.zeros((len(texts), len(levels) + 1))
    exact = np.zeros(len(texts), dtype=np.bool_)
    unread: list[int] = []
    for i, text in enumerate(texts):
        if text is None:
            fits[i, -1], exact[i] = 1.0, True
        elif tree is None and text in place and not (has_sets and text.startswith("{")):
            fits[i, place[text]], exact[i] = 1.0, True
        else:
            unread.append(i)
    if unread:
        cells = [texts[i] for i in unread]
        fits[unread] = fitting(
            cells, pa.array(levels, pa.string()), tree, has_sets=True
        )
        for i in unread:
            text = texts[i] or ""
            is_one = fits[i].sum() == 1.0
            # A label over one value does not show that value.
            exact[i] = is_one and (
                text.startswith("{") or fits[i, place.get(text, -1)] == 1.0
            )
    return fits, exact
