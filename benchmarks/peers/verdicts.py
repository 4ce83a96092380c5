"""Look at a release: what its cells say, what is in its classes, what is wrong."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd

from benchmarks.peers.cells import (
    Anything,
    Cell,
    Column,
    Mean,
    Range,
    Read,
    Unreadable,
    Values,
    covers,
)
from benchmarks.score import Tree, score

ID = "row_id"
_SHARED = (
    *("suppressed", "classes", "violations", "dm", "dm_released"),
    *("ncp_flat", "ncp_set", "ncp_tax"),
)


@dataclass(frozen=True, slots=True)
class Terms:
    """What a tool was asked for."""

    qids: tuple[str, ...]
    k: int
    may_lose: int
    """How many rows it was allowed to leave out."""
    trees: Mapping[str, Tree] = field(default_factory=dict)
    """For NCP tax."""
    folder: Path | None = None
    """Where the trees are, as files of the columns' names."""


def read_csv(path: Path) -> pd.DataFrame:
    """Read a table as the tools get it."""
    return pd.read_csv(path, keep_default_na=False, na_values=[""])


def read_released(path: Path) -> pd.DataFrame:
    """Read what a tool wrote, as text; an empty field is missing."""
    if not path.read_text(encoding="utf-8").strip():
        return pd.DataFrame()
    return pd.read_csv(path, dtype="str", keep_default_na=False, na_values=[""])


def judge_release(
    original: pd.DataFrame,
    released: pd.DataFrame,
    read: Read,
    terms: Terms,
) -> dict[str, Any]:
    """Return the figures of a release, and under ``wrong`` what it must not have."""
    qids = list(terms.qids)
    if released.empty:
        return {"wrong": ["an empty table"]}
    if absent := [name for name in (ID, *qids) if name not in released.columns]:
        return {"wrong": [f"{count(len(absent), 'column')} lost"]}
    released = released.assign(**{ID: pd.to_numeric(released[ID], errors="coerce")})
    is_known = released[ID].isin(original[ID]) & ~released[ID].duplicated()
    known = released[is_known].astype({ID: "int64"}).reset_index(drop=True)
    plain, counts = _plain(original, known, read, qids)
    figures = score(original, plain, ID, qids, k=terms.k, trees=terms.trees)
    extra = [name for name in released.columns if name not in original.columns]
    counts |= {
        "rows_lost": max(figures["suppressed"] - terms.may_lose, 0),
        "rows_added": len(released) - len(known),
        "extra_columns": extra,
        "row_numbers": [name for name in extra if _is_number_of_row(known, name)],
    }
    return {**figures, **counts, "wrong": _wrong(figures, counts), "plain": plain}


def _plain(
    original: pd.DataFrame, released: pd.DataFrame, read: Read, qids: list[str]
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Spell all cells in one way, and count those that are not true or not clear."""
    owners = original.set_index(ID).loc[released[ID].to_numpy()]
    plain = {ID: released[ID]}
    untrue = unreadable = 0
    for name in qids:
        column = describe(original[name])
        shown = released[name]
        cells = {text: read(text, column) for text in shown.dropna().unique()}
        plain[name] = shown.map({text: spell(cell) for text, cell in cells.items()})
        lies = ~_true(shown, owners[name], cells)
        untrue += int(lies.sum())
        unclear = [text for text, c in cells.items() if isinstance(c, Unreadable)]
        unreadable += int(shown.isin(unclear).sum())
    return pd.DataFrame(plain), {"untrue_cells": untrue, "unreadable_cells": unreadable}


def describe(column: "pd.Series[Any]") -> Column:
    """Return what an adapter may know of a column."""
    if pd.api.types.is_numeric_dtype(column):
        return Column(str(column.name), is_number=True)
    values = frozenset(column.dropna().astype("str"))
    return Column(str(column.name), is_number=False, values=values)


def spell(cell: Cell) -> str | None:
    """Return one text a meaning; None: blank."""
    match cell:
        case Range(low, high, closed):
            return f"[{low}, {high}{']' if closed else ')'}"
        case Mean(value):
            return f"~{value}"
        case Values(values):
            members = sorted(values)
            return None if members == ["\0missing"] else "{" + "\0".join(members) + "}"
        case Anything():
            return "*"
        case Unreadable(text):
            return f"?{text}"


def _true(
    shown: "pd.Series[Any]", owned: "pd.Series[Any]", cells: Mapping[str, Cell]
) -> "pd.Series[bool]":
    """Tell for each row whether its cell covers its value; a blank covers missing."""
    pairs = pd.DataFrame({"shown": shown.to_numpy(), "value": owned.to_numpy()})
    distinct = pairs.drop_duplicates()
    truth = {}
    for text, value in distinct.itertuples(index=False):
        known = None if pd.isna(value) else value
        key = (None if pd.isna(text) else text, known)
        # A blank among present values is a suppressed cell: it says nothing.
        truth[key] = pd.isna(text) or covers(cells[text], known)
    keys = pairs.astype("object").where(pairs.notna(), None)
    return pd.Series(
        [truth[key] for key in keys.itertuples(index=False, name=None)], dtype="bool"
    )


def _is_number_of_row(released: pd.DataFrame, name: str) -> bool:
    """Tell whether a column nobody asked for says which row of the original it was."""
    numbers = pd.to_numeric(released[name], errors="coerce")
    apart = numbers - released[ID]
    steady = numbers.notna().all() and apart.nunique() == 1
    return bool(len(released) > 1 and steady)


def _wrong(figures: dict[str, Any], counts: dict[str, Any]) -> list[str]:
    """Say what is wrong, in words; nothing: all is well."""
    numbered = counts["row_numbers"]
    tests = {
        f"k broken in {count(figures['violations'], 'row')}": figures["violations"],
        f"{count(counts['rows_lost'], 'row')} lost": counts["rows_lost"],
        f"{count(counts['rows_added'], 'row')} added": counts["rows_added"],
        f"{count(counts['untrue_cells'], 'cell')} untrue": counts["untrue_cells"],
        f"{count(counts['unreadable_cells'], 'cell')} unreadable": counts[
            "unreadable_cells"
        ],
        f"original row numbers in column {', '.join(numbered)}": numbered,
    }
    return [words for words, found in tests.items() if found]


def count(number: int, noun: str) -> str:
    """Return ``1 row``, ``2 rows``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def differences(
    judge: ModuleType,
    original: pd.DataFrame,
    found: dict[str, Any],
    terms: Terms,
) -> list[str]:
    """Return in which figures an external judge differs from ours; none: it agrees."""
    folder = None if terms.folder is None else str(terms.folder)
    verdict = judge.judge(
        *(original, found["plain"], ID, list(terms.qids), terms.k, [], folder)
    )
    return [
        f"{name}: {found[name]} here, {verdict[name]} there"
        for name in _SHARED
        if abs(found[name] - verdict[name]) > 1e-5
    ]
