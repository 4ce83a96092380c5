"""Policy `paper` on Adult: what each way to spend the budget keeps (§3.6).

    python -m benchmarks.spending [--sets 4 6] [--ks 5 50] [--markdown]

One JSON line per set of columns and k, or the table of docs/benchmarks.md. Nothing is
timed, and every run prints the same.
"""

import argparse
from typing import Any

from benchmarks.cases import adult_folder
from benchmarks.lines import emit, facts, say

KS = (5, 10, 25, 50, 100, 200, 500, 1000)
SETS = ("4", "6", "8", "numeric")


def main() -> None:
    from core_mondrian.datasets import adult
    from core_mondrian.spec.policies import SPENDING

    parser = argparse.ArgumentParser(description="Compare ways to spend the budget.")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--ks", nargs="+", type=int, default=KS)
    parser.add_argument("--markdown", action="store_true")
    asked = parser.parse_args()
    folder = adult_folder()
    if folder is None:
        return
    table = adult(folder)
    if asked.markdown:
        print("| columns | k | " + " | ".join(f"`{how}`" for how in SPENDING) + " |")
        print("|---|---|---|---|")
    for name in asked.sets:
        for k in asked.ks:
            say(f"{name} columns, k = {k}")
            found: dict[str, Any] = {
                how: _measure(table, name, k, how) for how in SPENDING
            }
            if asked.markdown:
                cells = " | ".join(_cell(found[how]) for how in SPENDING)
                print(f"| {name} | {k} | {cells} |", flush=True)
            else:
                line = {"benchmark": "spending", **facts(), "columns": name, "k": k}
                emit({**line, **found})


def _measure(table: Any, name: str, k: int, how: Any) -> dict[str, Any]:
    from core_mondrian import KAnonymity, PaperPolicy, Spec, anonymize
    from core_mondrian.datasets import ADULT_SETS

    policy = PaperPolicy(spend=how)
    spec = Spec(ADULT_SETS[name], models=(KAnonymity(k),), policy=policy)
    release = anonymize(table, spec)
    found = release.measures()
    return {
        "rilm": found.rilm_mean,
        "dm": found.dm,
        "suppressed": found.n_suppressed,
        "digest": release.digest,
    }


def _cell(found: dict[str, Any]) -> str:
    rilm = f"{found['rilm']:.4f}".lstrip("0")
    return f"{rilm}, {found['dm'] / 1e6:.2f}m, {found['suppressed']}"


if __name__ == "__main__":
    main()
