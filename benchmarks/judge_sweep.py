"""Let the judge look at releases of Adult: every set, policy and k.

    python -m benchmarks.judge_sweep [--sets 4 6 8 numeric] [--ks 2 5 ...]
        [--judge PATH] [--missing pattern value] [--refusals-fail]

The judge is a script with `read(path)` and `judge(original, released, id, qids, k,
sensitive, hierarchies)`; it sees two Parquet files and shares no code with the package.
One line per case and one with totals. Leaves with 1 if anything is wrong. A refusal
(InfeasibleError) releases nothing and so breaks no promise: it is counted on its own,
and wrong only with --refusals-fail.
"""

import argparse
import importlib.util
import math
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa

from benchmarks.cases import adult_folder
from benchmarks.judged import JUDGE
from benchmarks.lines import emit, facts, say, source_digest
from core_mondrian.datasets import ADULT_SETS

ID = "row_id"
KS = (2, 5, 10, 50, 200, 1000)
_KEPT = (
    *("rows_in", "rows_out", "suppressed", "stray_rows", "violations"),
    *("classes", "min_class", "dm", "dm_released", "ncp_flat", "ncp_set"),
)


@dataclass(frozen=True, slots=True)
class Setting:
    """How a release is asked for."""

    policy: str
    suppress: int | None
    """Rows; None: the policy's default."""

    def budget(self, n_rows: int) -> int:
        """Return the rows that may be lost, worked out without the package."""
        if self.suppress is not None:
            return self.suppress
        return n_rows - math.ceil(99 * n_rows / 100) if self.policy == "paper" else 0


SETTINGS = (Setting("paper", None), Setting("paper", 0), Setting("original", None))


def main() -> None:
    asked = _arguments()
    source_digest()
    folder = adult_folder()
    if folder is None:
        raise SystemExit(2)
    from core_mondrian.datasets import adult

    table = adult(folder)
    table = table.append_column(ID, pa.array(range(table.num_rows)))
    judge = load_judge(asked.judge)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="core-mondrian-judge-") as place:
        lines = []
        for line in _sweep(table, judge, Path(place), asked):
            emit(line)
            _comment(line)
            lines.append(line)
    totals = _totals(lines)
    say(f"{len(lines)} cases in {time.perf_counter() - started:.0f} s")
    emit({"benchmark": "judge_sweep", **facts(), "case": "total", **totals})
    raise SystemExit(1 if totals["wrong"] else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Have releases of Adult judged.")
    parser.add_argument("--judge", type=Path, default=JUDGE, metavar="PATH")
    parser.add_argument("--sets", nargs="+", choices=ADULT_SETS, default=[*ADULT_SETS])
    parser.add_argument("--ks", nargs="+", type=int, default=[*KS], metavar="K")
    parser.add_argument(
        "--missing", nargs="+", choices=("pattern", "value"), default=["pattern"]
    )
    parser.add_argument("--refusals-fail", action="store_true")
    return parser.parse_args()


def load_judge(path: Path) -> ModuleType:
    """Return the judge, a program of its own, as a module."""
    spec = importlib.util.spec_from_file_location("external_judge", path)
    if spec is None or spec.loader is None:
        raise SystemExit("--judge takes a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _sweep(
    table: pa.Table, judge: ModuleType, place: Path, asked: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    from core_mondrian.tables.files.write import write_table

    original = place / "original.parquet"
    write_table(table, original)
    seen = judge.read(str(original))
    asked_for = product(asked.sets, SETTINGS, asked.missing, asked.ks)
    for name, setting, missing, k in asked_for:
        spec = _spec(ADULT_SETS[name], setting, k, missing)
        found = _judged(table, seen, judge, spec, place / "released.parquet")
        budget = setting.budget(table.num_rows)
        yield {
            "benchmark": "judge_sweep",
            "case": f"adult_{name}",
            "policy": setting.policy,
            "missing": missing,
            "suppress": setting.suppress,
            "k": k,
            "budget": budget,
            **found,
            "wrong": _wrong(found, table.num_rows, budget, asked.refusals_fail),
        }


def _spec(qids: tuple[str, ...], setting: Setting, k: int, missing: Any) -> Any:
    from core_mondrian import KAnonymity, Spec, Suppression
    from core_mondrian.spec.policies import POLICIES

    rows = setting.suppress
    return Spec(
        qids,
        models=(KAnonymity(k),),
        policy=POLICIES[setting.policy](),
        missing=missing,
        suppress=None if rows is None else Suppression(rows=rows),
    )


def _judged(
    table: pa.Table, seen: Any, judge: ModuleType, spec: Any, path: Path
) -> dict[str, Any]:
    """Release, write, and return what the judge finds in the file."""
    from core_mondrian import InfeasibleError, anonymize
    from core_mondrian.tables.files.write import write_table

    try:
        release = anonymize(table, spec)
    except InfeasibleError as error:  # its message holds counts, never a cell
        return {"refused": error.message}
    write_table(release.data, path, source=table.schema, overwrite=True)
    released = judge.read(str(path))
    k = spec.min_rows
    verdict = judge.judge(seen, released, ID, list(spec.quasi_identifiers), k, [], None)
    return {
        **{name: verdict[name] for name in _KEPT},
        "rows_in_file": len(released),
        "suppressed_as_told": release.n_suppressed,
        "cells_blanked": release.n_blanked,
        "digest": release.digest,
    }


def _wrong(
    found: dict[str, Any], n_rows: int, budget: int, refusals_fail: object
) -> list[str]:
    """Say what is wrong with a case, in words; nothing: all is well."""
    if "refused" in found:
        return ["refused"] if refusals_fail else []
    lost = found["suppressed"]
    tests = {
        "violations": found["violations"] > 0,
        "stray rows": found["stray_rows"] > 0,
        "rows do not add up": not (
            found["rows_in"] == n_rows == found["rows_out"] + lost
            and found["rows_in_file"] == found["rows_out"]
            and found["suppressed_as_told"] == lost
        ),
        "over the budget": lost > budget,
    }
    return [name for name, failed in tests.items() if failed]


def _comment(line: dict[str, Any]) -> None:
    """Point out what somebody should look at."""
    name = f"{line['case']}, {line['policy']}, suppress {line['suppress']}"
    name += f", missing {line['missing']}, k = {line['k']}"
    if "refused" in line:
        say(f"refused: {name}: {line['refused']}")
    if line["wrong"]:
        say(f"wrong: {name}: {', '.join(line['wrong'])}")


def _totals(lines: list[dict[str, Any]]) -> dict[str, Any]:
    added = ("violations", "stray_rows", "rows_in", "rows_out", "suppressed")
    return {
        "cases": len(lines),
        "refused": sum("refused" in line for line in lines),
        **{name: sum(line.get(name, 0) for line in lines) for name in added},
        "wrong": sum(bool(line["wrong"]) for line in lines),
    }


if __name__ == "__main__":
    main()
