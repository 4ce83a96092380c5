"""What the counted values are: CSV has none but texts until all have been seen.

Where a column has to be numbers and holds words as well, rows that have these are bad.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core_mondrian.errors import DataError
from core_mondrian.sources.files.batches import NO_LIMIT
from core_mondrian.sources.files.counting import Counts
from core_mondrian.sources.files.csv_blocks import (
    BadRows,
    Block,
    parse_block,
    read_blocks,
    read_names,
    scan,
)
from core_mondrian.sources.files.source import Part, Source
from core_mondrian.sources.tuple_counts import Codes, Integers
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.arrow_types import is_text
from core_mondrian.tables.files.csv_text import infer_type, missing_texts, type_texts

Flags = NDArray[np.bool_]
_NUMBER: Final = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"


@dataclass(frozen=True, slots=True)
class Words:
    """Values of a column that are no numbers."""

    column: str
    texts: pa.Array
    is_word: NDArray[np.bool_]
    """By code of the tally."""


@dataclass(frozen=True)
class TypedTuples:
    """Counted tuples in the types that `read_table` gives; see `CodedTuples`."""

    counts: Counts
    meanings: Mapping[str, pa.Array]
    rows: Mapping[str, Integers]
    """Those of bad rows left out."""
    bad: Sequence[Flags | None]
    """By column: codes of words in place of numbers, which make a row bad."""

    @property
    def columns(self) -> Sequence[str]:
        return self.counts.columns

    @property
    def n_counted(self) -> int:
        return self.counts.n_counted

    def chunks(self) -> Iterator[tuple[Codes, Integers]]:
        for codes, rows in self.counts.chunks():
            is_good = np.ones(rows.size, dtype=np.bool_)
            for place, flags in enumerate(self.bad):
                if flags is not None:
                    is_good &= ~flags[codes[:, place]]
            yield (codes, rows) if is_good.all() else (codes[is_good], rows[is_good])


def type_values(
    source: Source, spec: Spec, counts: Counts, words: Sequence[Words]
) -> TypedTuples:
    """Give the counted values the types of their columns."""
    by_column = {one.column: one.is_word for one in words}
    bad = [by_column.get(name) for name in counts.columns]
    rows = [np.zeros(len(values) + 1, dtype=np.int64) for values in counts.values]
    for codes, n in TypedTuples(counts, {}, {}, bad).chunks():
        for place in range(len(rows)):
            found = np.bincount(codes[:, place], n, rows[place].size)
            rows[place] += found.astype(np.int64)
    meanings = {}
    for name, values, own in zip(counts.columns, counts.values, rows, strict=True):
        if source.kind == "csv":
            meanings[name] = _meaning(name, values, own[1:] > 0, spec)
        else:
            meanings[name] = _prepend_missing(values, source.schema.field(name).type)
    of_column = dict(zip(counts.columns, rows, strict=True))
    return TypedTuples(counts, meanings, of_column, bad)


def _meaning(name: str, texts: pa.Array, known: Flags, spec: Spec) -> pa.Array:
    """Return what codes 0, 1, … mean: missing, and the texts as their types say.

    Texts of bad rows alone mean nothing.
    """
    is_typed = name in spec.quasi_identifiers
    null_values = spec.null_values if is_typed else ("",)
    places, values = type_texts(
        texts.filter(pa.array(known)), null_values, infer=is_typed
    )
    number = (np.cumsum(known) - 1).astype(np.int32)
    at = places.take(pa.array(number, mask=~known))
    return values.take(pa.concat_arrays([pa.nulls(1, at.type), at]))


def _prepend_missing(values: pa.Array, kind: pa.DataType) -> pa.Array:
    own = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.concat_arrays([pa.nulls(1, own), values.cast(own)])


def number_columns(spec: Spec) -> tuple[str, ...]:
    """Return the quasi-identifiers of which the spec says how numbers are shown."""
    named = {**spec.numbers_by_column, **spec.nice_by_column}
    return tuple(name for name in spec.quasi_identifiers if name in named)


def find_words(spec: Spec, counts: Counts) -> list[Words]:
    """Return the words in columns that the spec wants to be numbers.

    Raises:
        DataError: such a column has no numbers at all.
    """
    found = []
    for name in number_columns(spec):
        if name in spec.hierarchies:
            continue
        values = counts.values[counts.columns.index(name)]
        words = _words(name, values, spec.null_values)
        if words is not None and not len(words.texts):
            raise DataError(
                f"column {name!r} is text, and the spec says how its numbers are shown",
                hint="drop numbers and nice for it, or make it numbers",
            )
        if words is not None:
            found.append(words)
    return found


def _words(name: str, texts: pa.Array, null_values: Sequence[str]) -> Words | None:
    """Return what is no number in a column; None: it is no text.

    All of it may be text, without any number but codes; then there are no words.
    """
    is_null = missing_texts(texts, null_values)
    present = texts.filter(pc.invert(is_null))
    if not len(present) or not is_text(infer_type(present).type):
        return None
    is_number = pc.match_substring_regex(texts, _NUMBER)
    numbers = texts.filter(pc.and_(is_number, pc.invert(is_null)))
    is_word = pc.and_not(pc.invert(is_number), is_null)
    if not len(numbers) or is_text(infer_type(numbers).type):
        is_word = pc.and_(is_word, pa.scalar(value=False))
    flags = np.append(False, is_word.to_numpy(zero_copy_only=False))
    return Words(name, texts.filter(is_word), flags)


def refuse_words(source: Source, found: Sequence[Words], bad: BadRows) -> None:
    """Count the rows that have words, one by one, until there are too many.

    Raises:
        DataError: there are; it says where.
    """
    by_column = {words.column: words.texts for words in found}
    for part in source.parts:
        names = read_names(part.path, part.dialect)
        ignored = BadRows(NO_LIMIT)
        for block in read_blocks(part.path, part.dialect, ignored):
            _note(part, names, block, by_column, bad)


def _note(
    part: Part,
    names: Sequence[str],
    block: Block,
    by_column: Mapping[str, pa.Array],
    bad: BadRows,
) -> None:
    here = {name: pa.string() for name in by_column if name in names}
    table = parse_block(block.text, names, here, part.dialect)
    wrong = np.full(table.num_rows, -1)
    for place, name in enumerate(here):
        found = pc.is_in(table.column(name), value_set=by_column[name])
        wrong[found.to_numpy() & (wrong < 0)] = place
    rows = np.flatnonzero(wrong >= 0)
    if not rows.size:
        return
    lines = np.empty((block.n_rows, 4), dtype=np.int64)
    text = np.frombuffer(block.text, np.uint8)
    whole = {"is_last": True, "all_rows": True}
    scan(text, len(names), lines, dialect=part.dialect, **whole)
    columns = list(here)
    for row in rows.tolist():
        line = block.first_line + int(lines[row, 2])
        what = f"column {columns[wrong[row]]!r} holds no number"
        bad.note(part.path, line, what)
