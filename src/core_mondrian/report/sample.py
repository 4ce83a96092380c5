"""A sample of what a release shows: ten of its rows, taken at equal steps."""

from dataclasses import dataclass

import numpy as np

from core_mondrian.recoding.recode import is_seen
from core_mondrian.release.release_tree import ReleasedTable
from core_mondrian.release.result import AnyRelease
from core_mondrian.report.plain import DASH

_MOST = 10


@dataclass(frozen=True, slots=True)
class SampleRow:
    """What one released row shows in the quasi-identifiers."""

    cells: tuple[str, ...]
    rows: int
    """Rows that show the same, this one included."""


def sample_rows(table: ReleasedTable) -> tuple[SampleRow, ...]:
    """Return rows in the order of what they show, which any reader can compute."""
    n_rows = int(table.rows.sum())
    if not n_rows:
        return ()
    # The first column decides first; ties have the same cells and as many rows.
    order = np.lexsort((table.rows, *table.codes.T[::-1]))
    #   rows of the classes   | 5 | 7 | 5 | 9  |      taken at equal steps
    #   their ends              5  12  17   26        6   13   19
    n = min(_MOST, n_rows)
    steps = (np.arange(n) * n_rows + n_rows // 2) // n
    ends = np.cumsum(table.rows[order])
    taken = order[np.searchsorted(ends, steps, side="right")]
    return tuple(
        SampleRow(_cells(table, one), int(table.rows[one]))
        for one in dict.fromkeys(taken.tolist())
    )


def _cells(table: ReleasedTable, one: int) -> tuple[str, ...]:
    shown = (
        texts[code] for texts, code in zip(table.texts, table.codes[one], strict=True)
    )
    return tuple(DASH if text is None else text for text in shown)


def released_table(release: AnyRelease) -> ReleasedTable:
    """Return the classes of a release that a reader can tell from suppressed rows."""
    recoded, names = release._recoded, release.spec.quasi_identifiers  # noqa: SLF001
    # How many blank rows are a class, and how many are suppressed, is not for readers.
    seen = is_seen(recoded, release.spec) & (recoded.classes.rows > 0)
    leaf = recoded.leaf_of_class[seen]
    labels = [recoded.labels[name].without_unused().sorted() for name in names]
    texts = [(*label.texts.to_pylist(), None) for label in labels]
    codes = [
        np.where(label.index[leaf] < 0, len(text) - 1, label.index[leaf])
        for label, text in zip(labels, texts, strict=True)
    ]
    return ReleasedTable(
        names,
        np.stack(codes, axis=1).astype(np.int64),
        tuple(texts),
        recoded.classes.rows[seen],
    )
