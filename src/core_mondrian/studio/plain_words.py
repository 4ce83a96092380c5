"""What becomes of each column of these data, in plain words with an example."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.measures.cells import values_of
from core_mondrian.release.result import AnyRelease
from core_mondrian.report.views import View, views_of
from core_mondrian.report.wording import count, percent
from core_mondrian.studio.rows import Rows

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ColumnWords:
    """What a reader of the release sees of a column."""

    name: str
    says: str
    before: str = ""
    """A cell of the example row, as it came in; the user's own."""
    after: str = ""
    loss: float | None = None
    """None: nothing was made coarser, or the loss is not defined."""


@dataclass(frozen=True, slots=True)
class ReleaseWords:
    """All columns, those that were made coarser first."""

    columns: tuple[ColumnWords, ...]
    example: int | None
    """The number of the example row; None: it is not known what became of a row."""


def describe_release(release: AnyRelease, rows: Rows) -> ReleaseWords:
    """Say what becomes of every column, with the first released row as an example."""
    number, cells = _find_example(rows)
    losses = {one.name: one.ncp for one in release.measures().columns}
    says = {view.name: _describe_view(view) for view in views_of(release)}
    says |= dict(_describe_others(rows))
    differences = [
        ColumnWords(name, words, *cells.get(name, ("", "")), losses.get(name))
        for name, words in says.items()
    ]
    return ReleaseWords(tuple(differences), number)


def _find_example(rows: Rows) -> tuple[int | None, dict[str, tuple[str, str]]]:
    """Return the first row that was released, before and after."""
    for line in rows.page(0, only_out=False) if rows.is_aligned else ():
        if line.is_out:
            continue
        before: dict[str, str] = {}
        after: dict[str, str] = {}
        for head, cell in zip(rows.heads, line.cells, strict=True):
            if head.before is not None and (head.after is None or head.is_once):
                before[head.before] = cell.text
            if head.after is not None:
                after[head.after] = cell.text
        both = {name: (text, after.get(name, "")) for name, text in before.items()}
        return line.number, both
    return None, {}


def _describe_others(rows: Rows) -> Iterator[tuple[str, str]]:
    """Yield what becomes of the columns that are not made coarser."""
    spec = rows.spec
    for name in rows.before.column_names:
        if name in spec.quasi_identifiers:
            continue
        if name in spec.pseudonyms:
            yield name, "Replaced by pseudonyms."
        elif name in spec.removed:
            yield name, "Removed."
        elif name in spec.sensitive:
            yield name, "Kept as it was: sensitive, and protected by the groups."
        else:
            yield name, "Kept as it was."


def _describe_view(view: View) -> str:
    """Say how precise the released values of a column are."""
    blank, rows = view.index < 0, view.rows
    exact = _exact(view) & ~blank
    coarse = ~exact & ~blank
    n = int(rows.sum())
    if not n:
        return "Nothing is released."
    if int(rows[exact].sum()) == n:
        return "Every row keeps its exact value."
    said = []
    if exact.any():
        said.append(f"{_part(rows, exact)} of the rows keep their value")
    if coarse.any():
        said.append(_describe_coarse(view, coarse))
    if blank.any():
        said.append(f"{_part(rows, blank)} are blank")
    words = "; ".join(said)
    return f"{words[0].upper()}{words[1:]}."


def _describe_coarse(view: View, coarse: Flags) -> str:
    """Say what rows show that do not keep their value: the middle one, or the usual."""
    places, rows, texts = np.flatnonzero(coarse), view.rows, view.labels.texts
    if view.cells.column.kind == "number" and np.unique(view.index[coarse]).size > 1:
        at = _middle(places, _widths(view), rows)
        shown = texts[int(view.index[at])].as_py()
        whose = "rows" if coarse.all() else "others"
        return f"half of the {whose} show {shown} or something narrower"
    shown_by = np.bincount(view.index[coarse], weights=rows[coarse])
    usual = int(np.argmax(shown_by))
    said = f"{percent(shown_by[usual] / rows.sum())} show {texts[usual].as_py()}"
    n_others = int(np.count_nonzero(shown_by)) - 1
    if n_others:
        rest = (shown_by.sum() - shown_by[usual]) / rows.sum()
        said += f", {percent(rest)} one of {count(n_others, 'other group')} of values"
    return said


def _part(rows: NDArray[np.int64], chosen: Flags) -> str:
    return percent(int(rows[chosen].sum()) / int(rows.sum()))


def _exact(view: View) -> Flags:
    """Return which classes show the one value that they have."""
    one: Flags = view.cells.low == view.cells.high
    if view.labels.ends is not None:
        low, high = view.labels.ends
        is_point = np.append(np.asarray(_equal(low, high)), False)
        one &= is_point[view.index]
    return one


def _equal(low: pa.Array, high: pa.Array) -> list[bool]:
    return [a == b for a, b in zip(low.to_pylist(), high.to_pylist(), strict=True)]


def _widths(view: View) -> NDArray[np.float64]:
    """Return from where to where each class of a number reaches."""
    numbers = np.append(values_of(view.cells.column), 0.0)
    widths: NDArray[np.float64] = numbers[view.cells.high] - numbers[view.cells.low]
    return widths


def _middle(
    places: NDArray[np.intp], widths: NDArray[np.float64], rows: NDArray[np.int64]
) -> int:
    """Return the class of the middle row, from the most precise to the least."""
    ordered = places[np.argsort(widths[places], kind="stable")]
    reached = np.cumsum(rows[ordered])
    # rows  3 5 2 -> reached 3 8 10: the fifth of ten rows is in the second class
    return int(ordered[np.searchsorted(reached, reached[-1] / 2)])
