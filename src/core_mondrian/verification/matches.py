"""Whom of a population the cells of a released row fit, read from the cells alone."""

import json
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core_mondrian.errors import SpecError
from core_mondrian.hierarchies.load import tree_over
from core_mondrian.hierarchies.tree import Hierarchy
from core_mondrian.runtime.array_types import ArrowArray, ArrowType, Flags, Integers
from core_mondrian.spec.declaration import Spec
from core_mondrian.spec.population import open_population
from core_mondrian.tables.arrow_types import is_text
from core_mondrian.tables.files.cells import without_nulls
from core_mondrian.tables.frames import OpenFrame, arrow_column
from core_mondrian.verification.counting import (
    class_sizes,
    code_column,
    combine,
    first_rows,
)

ANYTHING = "*"
"""The label over all values of a column without a hierarchy."""


def read_cells(
    frame: OpenFrame, names: Sequence[str], rows: Integers
) -> list[str | None]:
    """Return what some rows show in a column, or in two that are bounds, as text."""
    columns = [arrow_column(frame, name).take(pa.array(rows)) for name in names]
    if pa.types.is_struct(columns[0].type):
        columns = columns[0].flatten()
    texts = [plain_column(column).cast(pa.string()).to_pylist() for column in columns]
    if len(texts) == 1:
        return list(texts[0])
    pairs = zip(*texts, strict=True)
    return [None if None in pair else f"[{pair[0]}, {pair[1]}]" for pair in pairs]


def count_outside(
    shown: Mapping[str, Sequence[str | None]], rows: Integers, spec: Spec
) -> Integers:
    """Count the population that fits each class and is not in the table.

    ``shown`` has the cells of each class by column, ``rows`` how many rows it has.
    """
    others = open_population(spec.population, spec.quasi_identifiers, spec.null_values)
    cells, fits, people = [], [], []
    for name in spec.quasi_identifiers:
        texts = shown[name]
        distinct = [*sorted({text for text in texts if text is not None}), None]
        number = {text: i for i, text in enumerate(distinct)}
        cells.append(np.array([number[text] for text in texts], dtype=np.int64))
        known_texts = without_nulls(arrow_column(others, name), spec.null_values)
        column = plain_column(known_texts)
        coded = code_column(column, ordered=True)
        domain = pa.array(coded.labels, column.type)
        tree = column_tree(name, domain, spec)
        has_sets = spec.categories_of(name) == "set"
        fits.append(fitting(distinct, domain, tree, has_sets=has_sets))
        people.append(coded)
    keys = combine(people)
    one = first_rows(keys)
    counts = class_sizes(keys)
    distinct_people = np.stack([coded.codes[one] for coded in people], axis=1)
    n_fitting = count_fitting(cells, fits, distinct_people, counts)
    return n_fitting - rows


def column_tree(name: str, values: ArrowArray, spec: Spec) -> Hierarchy | None:
    """Return the hierarchy of a column with these values, if it has one."""
    entry = spec.hierarchies.get(name)
    if entry is None:
        return None
    return tree_over(
        entry, values.cast(pa.string()).to_pylist(), spec.uncovered_of(name)
    )


def plain_column(column: ArrowArray) -> ArrowArray:
    """Return a column without a dictionary."""
    kind = column.type
    return column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column


def fitting(
    cells: Sequence[str | None],
    values: ArrowArray,
    hierarchy: Hierarchy | None,
    *,
    has_sets: bool,
) -> Flags:
    """Return which value (axis 1; missing as the last) each cell (axis 0) fits.

    A blank says nothing, so everybody fits it. ``values`` are the distinct values of
    the population in the column's own type. Without sets, braces belong to a label.

    Raises:
        SpecError: a cell is no interval, label or set of such values.
    """
    fits = np.zeros((len(cells), len(values) + 1), dtype=np.bool_)
    is_label = is_text(values.type)
    labels = values.cast(pa.string())
    for i, cell in enumerate(cells):
        if cell is None:
            fits[i] = True
        elif has_sets and cell.startswith("{") and cell.endswith("}"):
            _fit_set(fits[i], cell, labels)
        elif is_label or hierarchy is not None:
            fits[i, :-1] = _fit_label(cell, labels, hierarchy)
        else:
            fits[i, :-1] = _fit_interval(cell, values)
    return fits


def split_interval(cell: str) -> tuple[str, str]:
    """Return both bounds of a released number as texts; one value is its own two."""
    if cell.startswith("[") and cell.endswith("]"):
        low, _, high = cell[1:-1].partition(", ")
        return low, high
    return cell, cell


def read_ends(cell: str, kind: ArrowType) -> ArrowArray:
    """Return both bounds of a released number in the type it had.

    Raises:
        SpecError: it is no interval of such numbers.
    """
    ends = pa.array(split_interval(cell), pa.string())
    try:
        if pa.types.is_time(kind):  # which Arrow reads with a date only
            moments = pc.binary_join_element_wise("1970-01-01", ends, " ")
            return moments.cast(pa.timestamp(kind.unit)).cast(kind)
        if pa.types.is_duration(kind):
            return ends.cast(pa.int64()).cast(kind)
        return ends.cast(kind)
    except pa.ArrowException:
        raise SpecError(
            "a released number is no interval of the original's or population's",
            hint="numbers need to be released as intervals, and by this spec",
        ) from None


def _fit_interval(cell: str, values: ArrowArray) -> Flags:
    ends = read_ends(cell, values.type)
    return np.asarray(
        pc.and_(
            pc.greater_equal(values, ends[0]), pc.less_equal(values, ends[1])
        ).to_numpy(zero_copy_only=False)
    )


def _fit_label(cell: str, labels: ArrowArray, hierarchy: Hierarchy | None) -> Flags:
    texts = labels.to_pylist()
    if hierarchy is None:
        if cell == ANYTHING:
            return np.ones(len(texts), dtype=np.bool_)
        return np.array([text == cell for text in texts], dtype=np.bool_)
    covered = {
        leaf
        for node, label in enumerate(hierarchy.labels)
        if label == cell
        for leaf in hierarchy.leaves[hierarchy.low[node] : hierarchy.high[node] + 1]
    }
    return np.array([text in covered for text in texts], dtype=np.bool_)


def _fit_set(fits: Flags, cell: str, labels: ArrowArray) -> None:
    members = _read_set(cell)
    texts = labels.to_pylist()
    fits[:-1] = [text in members for text in texts]
    fits[-1] = None in members


def _read_set(cell: str) -> set[str | None]:
    """Return the members of a set: texts, quoted as in JSON where needed, or null.

    Raises:
        SpecError: it is no set that was released.
    """
    members: set[str | None] = set()
    decoder = json.JSONDecoder()
    rest = cell[1:-1]
    while rest:
        if rest.startswith('"'):
            try:
                member, end = decoder.raw_decode(rest)
            except ValueError:
                raise SpecError(
                    "a released set has a quote that does not end",
                    hint="sets need to be as they were released: see categories",
                ) from None
            members.add(member)
            rest = rest[end:].removeprefix(", ")
        else:
            plain, _, rest = rest.partition(", ")
            members.add(None if plain == "null" else plain)
    return members


def count_fitting(
    classes: Sequence[Integers],
    fits: Sequence[Flags],
    people: Integers,
    counts: Integers,
) -> Integers:
    """Count the people whom all cells of each class fit.

    ``classes`` has the cell of each class in each column, ``people`` the distinct
    tuples of values (axis 0), ``counts`` how many have them.
    """
    n_classes = classes[0].size
    fitting = np.empty(n_classes, dtype=np.int64)
    step = max(1, (1 << 24) // max(1, counts.size))
    for start in range(0, n_classes, step):
        chosen = np.ones((min(step, n_classes - start), counts.size), dtype=np.bool_)
        for i, fit in enumerate(fits):
            cells = classes[i][start : start + step]
            chosen &= fit[cells[:, np.newaxis], people[np.newaxis, :, i]]
        fitting[start : start + step] = chosen @ counts
    return fitting
