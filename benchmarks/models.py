"""Privacy models on Adult: what each loses, what it costs, and the user's own.

    python -m benchmarks.models [--judge FILE] [--hierarchies DIR] > LINES
    python -m benchmarks.models --lines LINES --check      exit 1 if a bar is missed
    python -m benchmarks.models --lines LINES --markdown   tables of docs/models

6 columns, k = 5, policy best, released as labels of the hierarchies in DIR. One JSON
line per case:

models   a model beside 5-anonymity: judged, and counted again here with pandas
persons  k by person: 20,000 made-up persons on Adult, 300,000 on a census of 1M rows
compile  the first use of a measure in a new process, and in the next one

CPU seconds are of one thread, warm: the median of runs in turns, where every turn runs
every case once; ratios are medians of the ratios within a turn.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from benchmarks.cases import ADULT_6, CENSUS_6, adult_folder
from benchmarks.judged import ID, Bench, Timed, add_yardstick, find_wrong
from benchmarks.lines import Line, facts, gather, middle, say, source_digest
from benchmarks.model_bars import (
    CASES,
    CLOSE,
    OWN,
    PERSONS,
    Case,
    K,
    find_missed,
    write_tables,
)

if TYPE_CHECKING:
    from core_mondrian import PrivacyModel, Release, Spec

_OWN_FILE = Path(__file__).with_name("own_model.py")
_VERDICT = (
    *("ncp_flat", "ncp_tax", "ncp_set", "dm", "classes"),
    *("suppressed", "violations", "stray_rows", "min_class"),
)
_REPEATS = {"fast": 7, "strong": 3}
_SEED = 20_261_116
_COMPILE = """
import sys, time
from pathlib import Path
from core_mondrian.models.own_measures import measure_of
from core_mondrian.models.load import model_from_mapping, parse_model
model = model_from_mapping(parse_model(sys.argv[1]), Path(sys.argv[2]))
before = time.process_time()
measure_of(type(model).measure)
print(time.process_time() - before)
"""


def main() -> None:
    asked = _arguments()
    lines = gather(asked, _run(asked))
    if asked.markdown:
        print(write_tables(lines))
    missed = find_missed(lines) if asked.check else []
    for words in missed:
        say(words)
    wrong = [line for line in lines if line.get("wrong")]
    for line in wrong:
        say(f"wrong: {line['model']}: {', '.join(line['wrong'])}")
    raise SystemExit(1 if missed or wrong else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Benchmark privacy models on Adult.")
    add_yardstick(parser)
    parser.add_argument("--lines", type=Path, help="what an earlier run printed")
    parser.add_argument("--check", action="store_true", help="compare with the bars")
    parser.add_argument("--markdown", action="store_true", help="print tables")
    return parser.parse_args()


def _run(asked: argparse.Namespace) -> Iterator[Line]:
    source_digest()  # before the package is loaded
    folder = adult_folder()
    if folder is None:
        raise SystemExit(2)
    from core_mondrian.datasets import adult

    table = adult(folder)
    with tempfile.TemporaryDirectory(prefix="core-mondrian-models-") as name:
        place = Path(name)
        bench = Bench(table, place, asked.judge, asked.hierarchies)
        shutil.copy(_OWN_FILE, place)
        yield from _compiles(place)
        for effort in _REPEATS:
            yield from _models(bench, effort)
        (place / "persons").mkdir()
        table = _with_persons(table, 20_000)
        bench = Bench(table, place / "persons", asked.judge, asked.hierarchies)
        yield from _persons_on_adult(bench)
    yield from _persons_on_census(1_000_000, 300_000)


def _compiles(place: Path) -> Iterator[Line]:
    """Compile the measure of the user's own model; ours come compiled."""
    say(f"compile {OWN}")
    yield {
        "benchmark": "compile",
        **facts(),
        "case": "measure",
        "model": OWN,
        "cpu_seconds": _compile(OWN, place),
    }


def _compile(model: str, place: Path) -> float:
    command = [sys.executable, "-c", _COMPILE, model, str(place)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return round(float(done.stdout), 3)


def _models(bench: Bench, effort: str) -> Iterator[Line]:
    """Judge every model at one effort."""
    cases = [case for case in CASES if case.effort == effort]
    say(f"{len(cases)} cases at effort {effort}")
    specs = {case.model: _spec(bench, case) for case in cases}
    found = bench.in_turns(specs, _REPEATS[effort])
    for case in cases:
        say(f"judging {case.model}, {effort}")
        timed = found[case.model]
        line = _judged(bench, timed, case.model)
        line |= {"effort": effort, "runs": _REPEATS[effort]}
        line |= {"times_k_alone": timed.times(found[K])}
        if case.model == OWN:
            line["times_ours"] = timed.times(found[CLOSE])
        yield line


def _spec(bench: Bench, case: Case, unit: str | None = None) -> "Spec":
    from core_mondrian import BestPolicy, Spec
    from core_mondrian.models.load import model_from_mapping, parse_model

    models = [model_from_mapping(parse_model(m), bench.place) for m in case.models]
    return Spec(
        ADULT_6,
        models=tuple(models),
        unit=unit,
        policy=BestPolicy(effort=case.effort),  # type: ignore[arg-type]
        hierarchies=bench.trees(ADULT_6),
    )


def _judged(bench: Bench, timed: Timed, model: str) -> Line:
    release = timed.release
    verdict = bench.judged(release)
    wrong = find_wrong(verdict, release, "tax")
    by_class = {}
    for name in release.spec.sensitive:
        by_class = _recount(release, name) | verdict[f"sensitive:{name}"]
    wrong += _broken(release.spec.models[-1], by_class)
    return {
        "benchmark": "models",
        **facts(),
        "case": "adult_6",
        "model": model,
        "reached": [round(m.reached, 6) for m in release.verification.models],
        "format": "tax",
        "k": 5,
        "policy": "best",
        "threads": 1,
        "state": "warm",
        **{name: verdict[name] for name in _VERDICT},
        **by_class,
        "loss": verdict["ncp_tax"],
        "beta": release.beta,
        "cpu_seconds": timed.cpu_seconds,
        "partition_cpu_seconds": timed.partition_cpu_seconds,
        "digest": release.digest,
        "wrong": wrong,
    }


def _recount(release: "Release[pa.Table]", sensitive: str) -> dict[str, Any]:
    """Count a released table by class and value with pandas; shares no code with us."""
    shown: pd.DataFrame = release.data.to_pandas()
    classes = shown.groupby(list(ADULT_6), dropna=False).ngroup()
    values = shown[sensitive].astype("string").fillna("missing")
    counts = pd.crosstab(classes, values)
    shares = counts.div(counts.sum(axis=1), axis=0)
    whole = counts.sum() / len(shown)
    return {
        "recounted_distinct": int((counts > 0).sum(axis=1).min()),
        "recounted_distance": float((shares - whole).clip(lower=0).sum(axis=1).max()),
        "recounted_share": float(shares.to_numpy().max()),
    }


def _broken(model: "PrivacyModel", by_class: dict[str, Any]) -> list[str]:
    """Say what the recount found and the model forbids."""
    asked: Any = model
    kind = type(model).__name__
    slack = 1e-9
    if kind == "DistinctLDiversity":
        holds = by_class["recounted_distinct"] >= asked.l
    elif kind == "AlphaKAnonymity":
        holds = by_class["recounted_share"] <= asked.alpha + slack
    elif kind == "Closeness" or getattr(model, "distance", "") == "equal":
        farthest = (by_class["recounted_distance"], by_class["max_equal_distance"])
        holds = max(farthest) <= asked.t + 1e-6  # the judge rounds to six digits
    else:
        holds = True
    return [] if holds else [f"a class is not what {model.name} asks for"]


def _with_persons(table: pa.Table, n_persons: int) -> pa.Table:
    """Say whose rows they are: everybody has one, the others are drawn."""
    lots = np.random.default_rng(_SEED)
    others = lots.integers(n_persons, size=table.num_rows - n_persons)
    persons = lots.permutation(np.concatenate([np.arange(n_persons), others]))
    return table.append_column("person", pa.array(persons))


def _persons_on_adult(bench: Bench) -> Iterator[Line]:
    say("persons on Adult")
    specs = {K: _spec(bench, Case(K)), PERSONS: _spec(bench, Case(K), "person")}
    found = bench.in_turns(specs, _REPEATS["fast"])
    timed = found[PERSONS]
    yield {
        **_judged(bench, timed, PERSONS),
        "benchmark": "persons",
        "persons": 20_000,
        "least_persons": _least_persons(bench.table, timed.release),
        "effort": "fast",
        "runs": _REPEATS["fast"],
        "times_k_alone": timed.times(found[K]),
    }


def _persons_on_census(n_rows: int, n_persons: int) -> Iterator[Line]:
    say(f"{n_persons} persons on {n_rows} rows")
    from core_mondrian import KAnonymity, Spec, anonymize
    from core_mondrian.datasets import census

    table = _with_persons(census(n_rows), n_persons)
    table = table.append_column(ID, pa.array(range(n_rows)))
    cpu: dict[str | None, float] = {}
    for unit in (None, "person"):
        spec = Spec(CENSUS_6, models=(KAnonymity(5),), unit=unit)
        before, started = time.process_time(), time.perf_counter()
        release = anonymize(table, spec, threads=1)
        cpu[unit] = middle([time.process_time() - before])
        wall = time.perf_counter() - started
    yield {
        "benchmark": "persons",
        **facts(),
        "case": "census_1m_6",
        "model": PERSONS,
        "format": "flat",
        "k": 5,
        "policy": "best",
        "effort": "fast",
        "threads": 1,
        "state": "warm",
        "runs": 1,
        "persons": n_persons,
        "least_persons": _least_persons(table, release),
        "loss": round(release.measures().loss or 0.0, 5),
        "classes": release.verification.n_classes,
        "suppressed": release.n_suppressed,
        "cpu_seconds": cpu["person"],
        "wall_seconds": round(wall, 3),
        "times_k_alone": round(cpu["person"] / cpu[None], 3),
        "digest": release.digest,
    }


def _least_persons(original: pa.Table, release: "Release[pa.Table]") -> int:
    """Join persons to released rows by row id, and count them in every class."""
    if "person" in release.data.column_names:
        raise SystemExit("the column of persons is still in the release")
    whose = original.select([ID, "person"]).to_pandas()
    shown: pd.DataFrame = release.data.to_pandas().merge(whose, on=ID)
    names = list(release.spec.quasi_identifiers)
    return int(shown.groupby(names, dropna=False)["person"].nunique().min())


if __name__ == "__main__":
    main()
