"""Us next to what people use today, in one run, by one yardstick.

    python -m benchmarks.peers [--sets 6] [--ks 5] [--rows N] [--hostile]
        [--hierarchies DIR] [--judge FILE] [--tools ours anonypy ...] [--limit 600]
        [--arx JAR] [--adapter FILE ...] [--released TITLE=FILE ...] [--table FILE]
    python -m benchmarks.peers --lines LINES --markdown [--update PAGE ...]

Every tool gets the table as it is, with its missing values. One that does not cope
gets it again with missing categories written as `?`. Each runs in a process and an
environment of its own, with one thread where that can be said. CPU seconds are those
of the whole process, and of the call alone; kernels of ours are compiled before.

--released scores a file that something else made of the table that --table writes:
row_id and the quasi-identifiers; numbers as 3, [3, 5], [3, 5) or 3-5, categories as a
value, `*` or {A, B}.
"""

import argparse
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from benchmarks.adult_hierarchies import read_rows
from benchmarks.cases import CENSUS_6, adult_folder
from benchmarks.judge_sweep import load_judge
from benchmarks.judged import complete_tree
from benchmarks.lines import Line, facts, gather, say, source_digest
from benchmarks.markdown import update_page
from benchmarks.peers import hostile
from benchmarks.peers.runs import NAMES, TOOLS, Ran, Task, Tool, find_tools, run_tool
from benchmarks.peers.tables import write_short, write_tables
from benchmarks.peers.tools import arx
from benchmarks.peers.tools.ours import read as read_ours
from benchmarks.peers.verdicts import (
    ID,
    Terms,
    differences,
    judge_release,
    read_csv,
    read_released,
)
from core_mondrian.datasets import ADULT_SETS

if TYPE_CHECKING:
    import pyarrow as pa

_FILL = "?"
_SUPPRESS = 0.01
"""What the paper, its code and the examples of the others allow."""


def main() -> None:
    asked = _arguments()
    lines = gather(asked, _run(asked))
    if asked.markdown:
        print(write_tables(lines))
    texts = {"peers": write_tables(lines), "peers: short": write_short(lines)}
    for page in asked.update:
        update_page(page, texts)
    raise SystemExit(1 if any(line.get("judge_differs") for line in lines) else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run tools of others next to ours.")
    parser.add_argument("--tools", nargs="+", choices=NAMES, default=[*NAMES])
    parser.add_argument("--sets", nargs="*", choices=ADULT_SETS, default=["6"])
    parser.add_argument("--ks", nargs="+", type=int, default=[5], metavar="K")
    parser.add_argument("--rows", type=int, help="also a made-up census of N rows")
    parser.add_argument("--limit", type=int, default=600, help="CPU seconds a run")
    parser.add_argument("--hostile", action="store_true", help="small, nasty tables")
    parser.add_argument(
        "--hierarchies", type=Path, metavar="DIR", help="in place of our own for Adult"
    )
    parser.add_argument("--judge", type=Path, metavar="FILE", help="cross-check by it")
    parser.add_argument("--arx", type=Path, metavar="JAR", help="also ARX, by its jar")
    parser.add_argument("--adapter", type=Path, nargs="+", default=[], metavar="FILE")
    parser.add_argument("--released", nargs="+", default=[], metavar="TITLE=FILE")
    parser.add_argument(
        "--table", type=Path, metavar="FILE", help="keep the last table"
    )
    parser.add_argument("--lines", type=Path, help="what an earlier run printed")
    parser.add_argument("--markdown", action="store_true", help="print tables")
    parser.add_argument("--update", type=Path, nargs="+", default=[], metavar="PAGE")
    return parser.parse_args()


def _run(asked: argparse.Namespace) -> Iterator[Line]:
    source_digest()  # before the package is loaded
    adapters = [*asked.adapter]
    if asked.arx:
        if not asked.arx.is_file():
            raise SystemExit(f"--arx: {asked.arx} is no file")
        os.environ[arx.JAR] = str(asked.arx.resolve())
        adapters.append(TOOLS / "arx.py")
    tools = find_tools(asked.tools, adapters)
    with tempfile.TemporaryDirectory(prefix="core-mondrian-peers-") as folder:
        yield from _every(asked, tools, Path(folder))


def _every(asked: argparse.Namespace, tools: list[Tool], place: Path) -> Iterator[Line]:
    for bench in _benches(asked, place):
        for k in asked.ks:
            for tool in tools:
                yield from bench.lines(tool, k)
            for text in asked.released:
                yield bench.line_of_file(text, k)
    if asked.hostile:
        for line in hostile.spring(tools, place):
            say(f"{line['case']}: {line['tool']}: {line['words']}")
            yield {"benchmark": "peers_hostile", **facts(), **line}


def _benches(asked: argparse.Namespace, place: Path) -> Iterator["Bench"]:
    from core_mondrian.datasets import adult, census

    folder = adult_folder() if asked.sets else None
    if folder is not None:
        table = adult(folder)
        for name in asked.sets:
            kind = "numbers" if name == "numeric" else "columns"
            title = f"Adult, {len(ADULT_SETS[name])} {kind}"
            yield Bench(title, table, ADULT_SETS[name], place, asked)
    if asked.rows:
        yield Bench("census, 6 columns", census(asked.rows), CENSUS_6, place, asked)


def find_steps(column: "pd.Series[Any]") -> tuple[int, ...]:
    """Return about a 16th, an 8th, a 4th and half of the range, as people write it."""
    width = float(column.max() - column.min())
    nice = [digit * 10**power for power in range(18) for digit in (1, 2, 4, 5)]
    wanted = [width / parts for parts in (16, 8, 4, 2)]
    steps = [min(nice, key=lambda step: (abs(step - x), step)) for x in wanted]
    return tuple(dict.fromkeys(steps))


class Bench:
    """One table, given to one tool after the other."""

    def __init__(
        self,
        title: str,
        table: "pa.Table",
        qids: tuple[str, ...],
        place: Path,
        asked: argparse.Namespace,
    ) -> None:
        self._title, self._qids, self._place, self._asked = title, qids, place, asked
        self._trees = self._write_trees(table)
        frame = table.select(list(qids)).to_pandas()
        frame[ID] = range(len(frame))
        self._numbers = tuple(
            name for name in qids if pd.api.types.is_numeric_dtype(frame[name])
        )
        self._steps = {name: find_steps(frame[name]) for name in self._numbers}
        texts = [name for name in qids if name not in self._numbers]
        self._files = {"as it is": place / "table.csv"}
        frame.to_csv(self._files["as it is"], index=False)
        if frame[texts].isna().any(axis=None):
            self._files["filled"] = place / "filled.csv"
            filled = frame.fillna(dict.fromkeys(texts, _FILL))
            filled.to_csv(self._files["filled"], index=False)
        if asked.table:
            frame.to_csv(asked.table, index=False)

    def _write_trees(self, table: "pa.Table") -> dict[str, dict[str, list[str]]]:
        """Complete the hierarchies there are, and keep them where the judge looks."""
        trees = {}
        known = read_rows(self._asked.hierarchies)
        for name in self._qids:
            tree = known.get(name.replace("_", "-"))
            if tree is not None and str(table[name].type) == "string":
                rows, _ = complete_tree(table[name], tree)
                trees[name] = {row[0]: row for row in rows}
                text = "".join(";".join(row) + "\n" for row in rows)
                (self._place / f"{name}.csv").write_text(text)
        return trees

    def lines(self, tool: Tool, k: int) -> Iterator[Line]:
        """Run a tool; again with missing values filled in if it does not cope."""
        for missing in self._files:
            say(f"{self._title}, k = {k}: {tool.title}, missing values {missing}")
            task = Task(
                *(self._files[missing], self._qids, self._numbers, k, _SUPPRESS),
                steps=self._steps,
            )
            if not tool.requirements:  # ours: the first run may have to compile
                run_tool(tool, task, self._place, self._asked.limit)
            ran = run_tool(tool, task, self._place, self._asked.limit)
            line = self._line(tool.title, missing, k, ran)
            if ran.released is not None:
                may_lose = _SUPPRESS if tool.suppresses else 0.0
                line |= self._judged(ran.released, tool.read, missing, k, may_lose)
            yield line
            if not line["wrong"] or ran.outcome in ("timed out", "no environment"):
                break

    def line_of_file(self, text: str, k: int) -> Line:
        """Score a file that something else made of the same table."""
        title, _, file = text.partition("=")
        ran = Ran("released", "", Path(file), {})
        line = self._line(title, "as it is", k, ran)
        return line | self._judged(Path(file), read_ours, "as it is", k, 1.0)

    def _line(self, title: str, missing: str, k: int, ran: Ran) -> Line:
        original = self._files[missing]
        bad = [] if ran.released else [f"{ran.outcome}: {ran.why}"]
        return {
            "benchmark": "peers",
            **facts(),
            "case_title": self._title,
            "tool": title,
            "k": k,
            "columns": len(self._qids),
            "rows": sum(1 for _ in original.open()) - 1,
            "missing": missing,
            "threads": 1,
            "outcome": ran.outcome,
            **ran.figures,
            "has_trees": bool(self._trees),
            "wrong": bad,
        }

    def _judged(
        self, released: Path, read: Any, missing: str, k: int, may_lose: float
    ) -> Line:
        original = read_csv(self._files[missing])
        terms = Terms(
            qids=self._qids,
            k=k,
            may_lose=int(may_lose * len(original)),
            trees=self._trees,
            folder=self._place if self._trees else None,
        )
        found = judge_release(original, read_released(released), read, terms)
        if self._asked.judge and "plain" in found:
            judge = load_judge(self._asked.judge)
            found["judge_differs"] = differences(judge, original, found, terms)
            for words in found["judge_differs"]:
                say(f"the judge differs: {words}")
        found.pop("plain", None)
        return found


if __name__ == "__main__":
    main()
