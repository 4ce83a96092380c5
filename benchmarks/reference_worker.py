"""One side of reference.py: takes a job per line on stdin, answers on stdout.

    python reference_worker.py ours|reference TABLE.csv

A job has the keys qids, k, numbers, rows (only the first ones; null: all), times and
score. CPU seconds are those of this process. The reference has its own environment, so
this file imports only what both have, and the package of its own side late.
"""

import json
import logging
import resource
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parent))  # run as a file, not a module
from score import score  # type: ignore[import-not-found]

Job = dict[str, Any]
Result = tuple[pd.DataFrame, dict[str, float], dict[str, Any]]
"""What is released, the seconds it took, and what else there is to tell."""
ID = "row_id"


def main() -> None:
    side, file = sys.argv[1:]
    table = pd.read_csv(file, keep_default_na=False, na_values=[""])
    answers = sys.stdout
    sys.stdout = sys.stderr  # nobody else may write where the answers go
    run = {"ours": _ours, "reference": _reference}[side]
    for text in sys.stdin:
        job = json.loads(text)
        some = table if job["rows"] is None else table.head(job["rows"])
        released, seconds, told = run(some, job)
        more = [run(some, job)[1] for _ in range(job["times"] - 1)]
        answer: dict[str, Any] = {"seconds": [seconds, *more], **told}
        answer["max_rss"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if job["score"]:
            answer["score"] = score(some, released, ID, job["qids"])
        print(json.dumps(answer), file=answers, flush=True)


def _ours(table: pd.DataFrame, job: Job) -> Result:
    """Frame to frame, verified; measures are computed only when asked for."""
    from core_mondrian import KAnonymity, PaperPolicy, Spec, anonymize

    models = (KAnonymity(job["k"]),)
    spec = Spec(
        tuple(job["qids"]),
        models=models,
        numbers=job["numbers"],
        policy=PaperPolicy(),
    )
    wall, cpu = time.perf_counter(), time.process_time()
    release = anonymize(table, spec, threads=1)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    told = {
        "rows": release.n_rows,
        "distinct_tuples": release.n_tuples,
        "digest": release.digest,
    }
    return release.data, {"cpu": cpu, "wall": wall}, told


def _reference(table: pd.DataFrame, job: Job) -> Result:
    """One serial call; its own hooks tell where the engine begins and ends."""
    import project_lighthouse_anonymize as reference  # type: ignore[import-not-found]
    from project_lighthouse_anonymize.utils import (  # type: ignore[import-not-found]
        AnonymizeCallbacks,
    )

    marks: dict[str, float] = {}

    class Clock(AnonymizeCallbacks):  # type: ignore[misc]
        def anonymize_bm(self) -> None:
            super().anonymize_bm()
            marks["start"] = time.process_time()

        def anonymize_am(self) -> None:
            super().anonymize_am()
            marks["stop"] = time.process_time()

    logger = logging.getLogger("reference")
    logger.setLevel(logging.ERROR)
    wall, cpu = time.perf_counter(), time.process_time()
    released, _, _ = reference.k_anonymize(
        *(logger, table, job["qids"], job["k"], {}, ID),
        parallelism=None,
        anonymize_callbacks=Clock(),
    )
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    engine = marks["stop"] - marks["start"]
    return released, {"engine_cpu": engine, "cpu": cpu, "wall": wall}, {}


if __name__ == "__main__":
    main()
