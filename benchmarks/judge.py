"""Judge a release by what its reader sees: two files, and nothing of the package.

    python -m benchmarks.judge ORIGINAL RELEASED --id COLUMN --qid age --qid sex
        [--k 5] [--sensitive income] [--hierarchies DIR]

Rows are matched by a column that is unique in both tables. The figures are those of
`benchmarks.score`; DIR holds a hierarchy per column, ``value;label;…;*`` a line. Prints
one JSON object, and leaves with 1 if rows appeared or classes are smaller than k.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.score import Tree, match_rows, score


def main() -> None:
    asked = _arguments()
    verdict = judge(
        read(asked.original),
        read(asked.released),
        asked.id,
        asked.qid,
        asked.k,
        asked.sensitive,
        asked.hierarchies,
    )
    print(json.dumps(verdict))
    raise SystemExit(1 if verdict["stray_rows"] or verdict["violations"] else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Judge a release from two files.")
    parser.add_argument("original")
    parser.add_argument("released")
    parser.add_argument("--id", required=True, metavar="COLUMN")
    parser.add_argument("--qid", action="append", required=True, metavar="COLUMN")
    parser.add_argument("--k", type=int, default=1)
    parser.add_argument("--sensitive", action="append", default=[], metavar="COLUMN")
    parser.add_argument("--hierarchies", type=Path, metavar="DIR")
    return parser.parse_args()


def read(path: str) -> pd.DataFrame:
    """Read a CSV or Parquet file."""
    return pd.read_parquet(path) if path.endswith(".parquet") else pd.read_csv(path)


def judge(  # noqa: PLR0913, PLR0917
    original: pd.DataFrame,
    released: pd.DataFrame,
    id_: str,
    qids: Sequence[str],
    k: int = 1,
    sensitive: Sequence[str] = (),
    hierarchies: str | Path | None = None,
) -> dict[str, Any]:
    """Return what can be said of a release next to its original."""
    for name, table in (("original", original), ("released table", released)):
        if table[id_].duplicated().any() or table[id_].isna().any():
            raise SystemExit(f"{id_} does not identify the rows of the {name}")
    is_known = released[id_].isin(original[id_])
    known = released[is_known].reset_index(drop=True)
    folder = None if hierarchies is None else Path(hierarchies)
    trees = {} if folder is None else _read_trees(folder, qids)
    figures = score(original, known, id_, [*qids], k=k, trees=trees)
    lost = figures["suppressed"]
    return {
        "rows_in": len(original),
        "rows_out": len(original) - lost,
        "stray_rows": int((~is_known).sum()),
        "min_class": figures["smallest_class"],
        **figures,
        **{
            f"sensitive:{s}": _sensitive(original, known, id_, qids, s)
            for s in sensitive
        },
    }


def _read_trees(folder: Path, columns: Sequence[str]) -> dict[str, Tree]:
    files = {name: folder / f"{name}.csv" for name in columns}
    return {name: read_tree(file) for name, file in files.items() if file.exists()}


def read_tree(file: Path) -> Tree:
    """Read the labels of each value, itself first and the root last."""
    lines = (line.split(";") for line in file.read_text().splitlines() if line.strip())
    rows = ([cell.strip() for cell in line] for line in lines)
    return {row[0]: row for row in rows}


def _sensitive(
    original: pd.DataFrame,
    released: pd.DataFrame,
    id_: str,
    qids: Sequence[str],
    column: str,
) -> dict[str, float]:
    """Return how few values a class has, and how far it is from all rows at most."""
    kept, shown = match_rows(original, released, id_, [*qids])
    values = kept[column].reset_index(drop=True)
    shown = shown.reset_index(drop=True)
    label = shown.groupby([*qids], sort=False, dropna=False).ngroup()
    counts = pd.crosstab(label, values.astype("object").where(values.notna(), "\0"))
    shares = counts.div(counts.sum(axis=1), axis=0)
    whole = counts.sum() / counts.to_numpy().sum()
    return {
        "min_distinct": int((counts > 0).sum(axis=1).min()),
        "max_equal_distance": round(
            float((shares - whole).abs().sum(axis=1).max() / 2), 6
        ),
    }


if __name__ == "__main__":
    main()
