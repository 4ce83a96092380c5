"""ARX, from a jar that the user has: global recoding, and local recoding on top of it.

Nothing is installed. The jar is the library of ARX 3.9 (``libarx``), named by --arx or
by the variable CORE_MONDRIAN_ARX; the driver runs from its source, with Java 11 or
newer. Numbers get nested intervals, as users of ARX give them; categories are flat, as
for everybody else.
"""

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.peers.cells import BLANK, Cell, Column, read_number, read_value

JAR = "CORE_MONDRIAN_ARX"
REQUIREMENTS: tuple[str, ...] = ()
SUPPRESSES = True
VARIANTS = {
    "ARX, global recoding": {"how": "global"},
    "ARX, local recoding": {"how": "local"},
}
_MISSING = "NULL"
_DRIVER = Path(__file__).with_name("ArxDriver.java")


def release(table: pd.DataFrame, job: dict[str, Any]) -> pd.DataFrame:
    with tempfile.TemporaryDirectory(prefix="core-mondrian-arx-") as place:
        folder = Path(place)
        texts = table.map(_text)
        _write(folder / "table.tsv", [list(texts.columns), *texts.to_numpy().tolist()])
        for name in job["qids"]:
            file = folder / f"{list(texts.columns).index(name)}.tsv"
            _write(file, levels(texts[name], job["steps"].get(name, ())))
        words = (job["options"]["how"], str(job["k"]), str(job["suppress"]), place)
        subprocess.run(
            ["java", "-cp", os.environ[JAR], str(_DRIVER), *words], check=True
        )
        made = folder / "released.tsv"
        if not made.exists():
            return pd.DataFrame()
        lines = made.read_text(encoding="utf-8").splitlines()
    names, *rows = (line.split("\t") for line in lines)
    return pd.DataFrame(rows, columns=names)


def _text(value: Any) -> str:
    if pd.isna(value):
        return _MISSING
    text = str(int(value) if isinstance(value, float) and value.is_integer() else value)
    if any(letter in text for letter in "\t\r\n"):
        raise ValueError("a tab or a line break in a cell")
    return text


def levels(column: "pd.Series[str]", steps: tuple[int, ...]) -> list[list[str]]:
    """Return each value with what it becomes, level by level, up to ``*``.

    An interval has to lie within one of the next level: steps that are no multiples
    of the step before are left out.
    """
    nested: list[int] = []
    for step in sorted(steps):
        if not nested or step % nested[-1] == 0:
            nested.append(step)
    rows = []
    for value in sorted(set(column)):
        wider = [_interval(value, step) for step in nested]
        rows.append([value, *wider, "*"])
    return rows


def _interval(value: str, step: int) -> str:
    if value == _MISSING:
        return _MISSING
    low = int(float(value) // step * step)
    return f"[{low}, {low + step})"


def _write(file: Path, rows: list[list[str]]) -> None:
    file.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")


def read(text: str, column: Column) -> Cell:
    if text == _MISSING and text not in column.values:
        return BLANK
    return read_number(text, column) if column.is_number else read_value(text, column)
