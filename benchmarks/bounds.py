"""Lower bounds of the loss on Adult: how high, how long, and proved if asked.

    python -m benchmarks.bounds [--hierarchies DIR] [--sets 6 8] [--ks 5] [--prove]

One line of a Markdown table per case.
"""

import argparse
import tempfile
import time
from itertools import product
from pathlib import Path

from benchmarks.best import FORMATS, SETS
from benchmarks.cases import adult_folder
from benchmarks.judged import Bench, add_yardstick
from benchmarks.markdown import write_loss


def main() -> None:
    parser = argparse.ArgumentParser(description="Find lower bounds on Adult.")
    add_yardstick(parser)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=["6", "8", "10"])
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=[*FORMATS])
    parser.add_argument("--ks", nargs="+", type=int, default=[5], metavar="K")
    parser.add_argument("--prove", action="store_true", help="takes minutes")
    asked = parser.parse_args()
    folder = adult_folder()
    if folder is None:
        raise SystemExit(2)
    from core_mondrian.datasets import adult

    print("| columns | format | k | bound | this release | CPU s |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="core-mondrian-bounds-") as place:
        bench = Bench(adult(folder), Path(place), asked.judge, asked.hierarchies)
        for columns, format_, k in product(asked.sets, asked.formats, asked.ks):
            _measure(bench, columns, format_, k, proves=asked.prove)


def _measure(bench: Bench, columns: str, format_: str, k: int, *, proves: bool) -> None:
    from core_mondrian import KAnonymity, Spec, anonymize
    from core_mondrian.spec.policies import BestPolicy

    spec = Spec(
        SETS[columns],
        models=(KAnonymity(k),),
        policy=BestPolicy(),
        hierarchies=bench.trees(SETS[columns]) if format_ == "tax" else {},
        categories="set" if format_ == "set" else "label",
    )
    release = anonymize(bench.table, spec, threads=1)
    before = time.process_time()
    bound = release.bound()
    seconds = time.process_time() - before
    loss = release.measures().loss or 0.0
    print(
        f"| {columns} | {format_} | {k} | {write_loss(bound.loss)} | "
        f"{write_loss(loss)} | {seconds:.1f} |",
        flush=True,
    )
    if proves:
        _prove(release.certificate(), bound.loss)


def _prove(certificate: dict[str, object], loss: float) -> None:
    from core_mondrian.bounds.check import prove

    if abs(prove(certificate) - loss) > 1e-12:
        raise SystemExit("the certificate proves another bound")


if __name__ == "__main__":
    main()
