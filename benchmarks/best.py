"""Policy `best` on Adult, scored by a judge of its own, next to bars and peers.

    python -m benchmarks.best [--sets 6 8] [--ks 5] [--formats flat tax set]
        [--policies best] [--efforts auto fast] [--judge FILE] [--hierarchies DIR]
    python -m benchmarks.best --every > LINES
    python -m benchmarks.best --lines LINES --check      exit 1 if a bar is missed
    python -m benchmarks.best --lines LINES --markdown   the tables of docs/best.md

One JSON line per case. The format is what is released and therefore minimized: `flat`
labels without a hierarchy, `tax` labels of the hierarchies in DIR, `set` sets of
values; numbers are ranges. The judge is a program of its own that sees two files. CPU
seconds are of one thread, warm: the median of three runs of anonymize() after one that
is not counted; `max` runs once. Without --lines, --check runs the cases with a bar.
"""

import argparse
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.bars import BARRED, Case, case_of, find_missed, write_tables
from benchmarks.cases import (
    ADULT_6,
    ADULT_8,
    ADULT_10,
    ADULT_NUMERIC,
    adult_folder,
)
from benchmarks.judged import Bench, add_yardstick, find_wrong
from benchmarks.lines import Line, facts, gather, say, source_digest

if TYPE_CHECKING:
    from core_mondrian import Spec

SETS = {"6": ADULT_6, "8": ADULT_8, "10": ADULT_10, "numeric": ADULT_NUMERIC}
FORMATS = ("flat", "tax", "set")
EFFORTS = ("auto", "fast", "light", "strong", "thorough", "max")
POLICIES = ("best", "paper", "original")
_VERDICT = (
    *("ncp_flat", "ncp_tax", "ncp_set", "dm", "dm_released", "classes"),
    *("suppressed", "violations", "stray_rows", "min_class"),
)


def main() -> None:
    asked = _arguments()
    lines = gather(asked, _run(asked))
    found = {case_of(line): line for line in lines}
    if asked.markdown:
        print(write_tables(found))
    missed = find_missed(found) if asked.check else []
    for words in missed:
        say(words)
    wrong = [line for line in lines if line["wrong"]]
    for line in wrong:
        say(f"wrong: {case_of(line)}: {', '.join(line['wrong'])}")
    raise SystemExit(1 if missed or wrong else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Have policy best judged on Adult.")
    add_yardstick(parser)
    parser.add_argument("--lines", type=Path, help="what an earlier run printed")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=["6", "8"])
    parser.add_argument("--ks", nargs="+", type=int, default=[5], metavar="K")
    parser.add_argument("--policies", nargs="+", choices=POLICIES, default=["best"])
    parser.add_argument("--efforts", nargs="+", choices=EFFORTS, default=[*EFFORTS])
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=[*FORMATS])
    parser.add_argument("--disjoint", action="store_true")
    parser.add_argument(
        "--repeats",
        type=int,
        default=3,
        help="warm runs that are timed; 0: the first one",
    )
    parser.add_argument("--every", action="store_true", help="all cases of the page")
    parser.add_argument("--check", action="store_true", help="compare with the bars")
    parser.add_argument("--markdown", action="store_true", help="print tables")
    return parser.parse_args()


def plan(asked: argparse.Namespace) -> list[Case]:
    """Return the cases that are asked for, each of them once."""
    if asked.every:
        cases = _every()
    elif asked.check:
        cases = list(BARRED)
    else:
        cases = list(
            _cases(asked.sets, asked.formats, asked.ks, asked.policies, asked.efforts)
        )
        if asked.disjoint:
            cases = [case._replace(disjoint=case.policy == "best") for case in cases]
    return list(dict.fromkeys(cases))


def _every() -> list[Case]:
    cases = [
        *_cases(("6", "8", "10"), FORMATS, (5,), POLICIES, EFFORTS),
        *_cases(("numeric",), FORMATS, (5, 50, 200), POLICIES, EFFORTS),
        *_cases(("6",), ("tax",), (2, 5, 10, 25, 50, 100), ("best",), EFFORTS),
    ]
    disjoint = _cases(("6", "8"), FORMATS, (5,), ("best",), ("fast", "strong", "max"))
    cases += [case._replace(disjoint=True) for case in disjoint]
    return [*cases, *BARRED]


def _cases(
    sets: Any, formats: Any, ks: Any, policies: Any, efforts: Any
) -> Iterator[Case]:
    for name, format_, k, policy in product(sets, formats, ks, policies):
        # Numbers are ranges, whatever the format of categories.
        shown = "flat" if name == "numeric" else format_
        for effort in efforts if policy == "best" else ("",):
            yield Case(name, shown, k, policy, effort)


def _run(asked: argparse.Namespace) -> Iterator[Line]:
    source_digest()  # before the package is loaded
    folder = adult_folder()
    if folder is None:
        raise SystemExit(2)
    from core_mondrian.datasets import adult

    with tempfile.TemporaryDirectory(prefix="core-mondrian-best-") as place:
        bench = Bench(adult(folder), Path(place), asked.judge, asked.hierarchies)
        for case in plan(asked):
            say(" ".join(str(part) for part in case if part not in ("", False)))
            # Minutes are not much longer or shorter in a second run.
            repeats = 0 if case.effort == "max" else asked.repeats
            yield _measure(bench, case, repeats)


def _measure(bench: Bench, case: Case, repeats: int) -> Line:
    """Release, time and judge one case."""
    timed = bench.in_turns({"": _spec(bench, case)}, repeats)[""]
    release = timed.release
    verdict = bench.judged(release)
    ours = release.measures()
    return {
        "benchmark": "best",
        **facts(),
        "case": f"adult_{case.columns}",
        **case._asdict(),
        "values_added_to_hierarchies": bench.added,
        "threads": 1,
        "state": "warm" if repeats else "cold",
        "runs": max(1, repeats),
        **{name: verdict[name] for name in _VERDICT},
        "loss": verdict[f"ncp_{case.format}"],
        "our_loss": round(ours.loss or 0.0, 5),
        "our_dm": ours.dm,
        "taken": release.effort,
        "beta": release.beta,
        "cpu_seconds": timed.cpu_seconds,
        "partition_cpu_seconds": timed.partition_cpu_seconds,
        "digest": release.digest,
        "wrong": find_wrong(verdict, release, case.format),
    }


def _spec(bench: Bench, case: Case) -> "Spec":
    from core_mondrian import KAnonymity, Spec
    from core_mondrian.spec.policies import POLICIES, BestPolicy

    policy = POLICIES[case.policy]()
    if case.policy == "best":
        policy = BestPolicy(effort=case.effort, disjoint=case.disjoint)  # type: ignore[arg-type]
    columns = SETS[case.columns]
    return Spec(
        columns,
        models=(KAnonymity(case.k),),
        policy=policy,
        hierarchies=bench.trees(columns) if case.format == "tax" else {},
        categories="set" if case.format == "set" else "label",
    )


if __name__ == "__main__":
    main()
