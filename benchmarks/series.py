"""Adult in twelve monthly releases, with people who come and go.

    python -m benchmarks.series > LINES
    python -m benchmarks.series --apply > LINES     new rows through a fitted recoding
    python -m benchmarks.series --train > LINES     a model trained on anonymized rows
    python -m benchmarks.series --live > LINES      what a live view remembers, in bytes

A twelfth of the people come every month, and 5 % of those who are there leave. One JSON
line per way to release and month: rows of the table that are shown, what they lose,
rows that linger though they are gone, and how many of all who were ever shown a reader
of all releases so far can tell from all but k - 1 others or fewer. The reader knows who
is in the table when, and everybody's quasi-identifiers. ``attack`` is what
`attack_together` finds in all twelve at once, given whose each row is.
"""

import argparse
import resource
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np
import pyarrow as pa

from benchmarks.cases import ADULT_6, adult_folder
from benchmarks.lines import Line, emit, facts, say, source_digest

MONTHS: Final = 12
GONE: Final = 0.05
K: Final = 5
RUNS: Final = 7
NUMBERS: Final = ("age", "hours-per-week")
WAYS: Final[dict[str, dict[str, Any] | None]] = {
    "independent": None,
    "series": {},
    "series, cohorts of 10": {"cohort_size": 10},
    "series, cohorts of 20": {"cohort_size": 20},
    "series, first tree": {"cuts": "first"},
    "series, by lot": {"departures": "by lot"},
    "series, by lot, cohorts of 20": {"departures": "by lot", "cohort_size": 20},
    "series, by lot, cohorts of 50": {"departures": "by lot", "cohort_size": 50},
    "series, by lot, cohorts of 100": {"departures": "by lot", "cohort_size": 100},
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Releases of a table that changes.")
    parser.add_argument("--apply", action="store_true", help="1M rows, CPU seconds")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--train", action="store_true", help="train and score")
    parser.add_argument("--live", action="store_true", help="a live view's bytes")
    parser.add_argument("--database", help="--live: an address, not a file of its own")
    asked = parser.parse_args()
    source_digest()  # before the package is loaded
    lines: Callable[[], Iterator[Line]] = _run
    for is_asked, other in (
        (asked.apply, partial(_apply, asked.rows)),
        (asked.train, _train),
        (asked.live, partial(_live, asked.database)),
    ):
        lines = other if is_asked else lines
    for line in lines():
        emit({"benchmark": "series", **facts(), **line})


def months(table: pa.Table) -> Iterator[pa.Table]:
    """Yield the table as it is in each month."""
    dice = np.random.default_rng(1)
    order = dice.permutation(len(table))
    here = np.zeros(0, dtype=np.int64)
    for batch in np.array_split(order, MONTHS):
        here = np.append(here[dice.random(here.size) >= GONE], batch)
        yield table.take(pa.array(np.sort(here)))


def _run() -> Iterator[Line]:
    folder = adult_folder()
    if folder is None:
        raise SystemExit(2)
    from core_mondrian.datasets import adult

    table = adult(folder)
    table = table.append_column("id", pa.array(range(len(table))))
    spans = _spans(table)
    for name, options in WAYS.items():
        say(name)
        seen: list[dict[int, tuple[Any, ...]]] = []
        tables: list[pa.Table] = []
        for month, now in enumerate(months(table), start=1):
            since = time.process_time()
            if month == 1:
                release = _releases(options)
            shown, more = release(now)
            cpu = time.process_time() - since
            seen.append(shown)
            tables.append(_as_release(shown))
            here = set(now["id"].to_pylist())
            present = [cells for person, cells in shown.items() if person in here]
            yield {
                "way": name,
                "month": month,
                "rows": len(now),
                "shown": len(present),
                **more,
                "loss_shown": round(_loss(present, spans), 4),
                "loss_all": round(
                    1 - len(present) / len(now) * (1 - _loss(present, spans)), 4
                ),
                "ever_shown": len({x for one in seen for x in one}),
                "below_k": _below_k(seen),
                "attack": _attacked(tables),
                "cpu_seconds": round(cpu, 2),
            }


def _releases(options: dict[str, Any] | None) -> Any:
    """Return what releases a table, and gives back what is shown by person."""
    from core_mondrian import KAnonymity, Series, Spec, anonymize

    spec = Spec(ADULT_6, (KAnonymity(K),))
    if options is None:

        def independent(now: pa.Table) -> tuple[dict[int, tuple[Any, ...]], Line]:
            found = anonymize(now, spec)
            return _by_person(found.data), {}

        return independent
    folder = Path(tempfile.mkdtemp()) / "series"
    # A second copy of the key is released, so that it says who is shown how.
    series = Series.create(folder, spec, row_key="key", **options)

    def released(now: pa.Table) -> tuple[dict[int, tuple[Any, ...]], Line]:
        found = series.release(now.append_column("key", now["id"]))
        counts = found.counts.to_json()
        names = ("waiting", "withdrawn", "new", "gone", "lingering")
        return _by_person(found.data), {name: counts[name] for name in names}

    return released


def _by_person(data: pa.Table) -> dict[int, tuple[Any, ...]]:
    names = [name for name in (*ADULT_6, "cohort") if name in data.column_names]
    cells = [data[name].to_pylist() for name in names]
    rows = zip(*cells, strict=True)
    return dict(zip(data["id"].to_pylist(), rows, strict=True))


def _below_k(seen: Sequence[dict[int, tuple[Any, ...]]]) -> int:
    """Count people who share all that was ever shown of them with too few."""
    history: dict[int, list[Any]] = defaultdict(lambda: [None] * len(seen))
    for month, shown in enumerate(seen):
        for person, cells in shown.items():
            history[person][month] = cells
    counted = Counter(tuple(x) for x in history.values())
    return sum(n for n in counted.values() if n < K)


def _as_release(shown: dict[int, tuple[Any, ...]]) -> pa.Table:
    """Return a release whose reader knows whose each row is: by a pseudonym."""
    cells = zip(*shown.values(), strict=True)
    n = len(next(iter(shown.values())))
    names = (*ADULT_6, "cohort")[:n]
    columns = dict(zip(names, map(list, cells), strict=True))
    return pa.table({"who": [*map(str, shown)], **columns})


def _attacked(tables: Sequence[pa.Table]) -> int | None:
    """Return whom `attack` finds below k in all releases at once; None: too few yet."""
    from core_mondrian import KAnonymity, Spec, attack_together

    if len(tables) < MONTHS:  # once, when all are there
        return None
    more = "cohort" if "cohort" in tables[0].column_names else None
    spec = Spec(ADULT_6, (KAnonymity(K),), pseudonyms=("who",), class_id=more)
    releases = {f"month {i}": (x, spec) for i, x in enumerate(tables, start=1)}
    (found,) = attack_together(releases).at_once
    return int(found.numbers["fewer"])


def _spans(table: pa.Table) -> dict[str, float]:
    columns = {name: table[name].to_numpy() for name in NUMBERS}
    return {name: float(x.max() - x.min()) for name, x in columns.items()}


def _loss(rows: Any, spans: dict[str, float]) -> float:
    """Return the mean share of a column's domain that a cell covers."""
    lost = 0.0
    for cells, n in Counter(rows).items():
        for name, cell in zip(ADULT_6, cells, strict=False):
            lost += n * _share(name, cell, spans)
    return lost / max(1, len(rows) * len(ADULT_6))


def _share(name: str, cell: str | None, spans: dict[str, float]) -> float:
    if cell is None or cell == "*":
        return 1.0
    if name not in NUMBERS:
        return 0.0
    ends = [float(end) for end in cell.strip("[]").split(", ")]
    return (ends[-1] - ends[0]) / spans[name]


def _apply(n_rows: int) -> Iterator[Line]:
    """Yield the CPU seconds of new rows through a recoding, and of anonymizing them.

    One way after the other: memory that one frees is expensive for the next to take.
    """
    from core_mondrian import KAnonymity, Spec, anonymize, fit
    from core_mondrian.datasets import census

    columns = ("age", "sex", "education", "occupation", "hours_per_week")
    spec = Spec(columns, (KAnonymity(K),), identifiers=("person_id",))
    recoding = fit(census(100_000), spec)
    new = census(n_rows, seed=7)
    yield {"rows": n_rows, "shown": recoding.apply(new).n_shown}
    ways: dict[str, Callable[[pa.Table], Any]] = {
        "apply": recoding.apply,
        "anonymize": partial(anonymize, spec=recoding.spec),
    }
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in ways}
    for name, make in ways.items():
        for run in range(RUNS + 1):
            spent = _stages(make, new)
            if run:  # the first one loads what later ones have
                runs[name].append(spent)
                yield {"way": name, "run": run} | {
                    stage: round(x, 3) for stage, x in spent.items()
                }
    stages = ("recode", "write")
    for title in (stages, ("encode", "collapse", *stages)):
        usual = median(_sum(spent, title) for spent in runs["anonymize"])
        found = sorted(_sum(x, (*title, "place")) / usual for x in runs["apply"])
        told = {"median": median(found), "least": found[0], "most": found[-1]}
        yield {"ratio": title} | {name: round(x, 2) for name, x in told.items()}


def _stages(make: Callable[[pa.Table], Any], new: pa.Table) -> dict[str, float]:
    """Return the CPU seconds of each stage, and of writing what it makes."""
    from core_mondrian.tables.files.write import write_table

    found = make(new)
    is_applied = hasattr(found, "spent")
    spent = {name: x.seconds for name, x in found.spent.items()} if is_applied else {}
    spent |= {} if is_applied else found.seconds
    with tempfile.TemporaryDirectory() as folder:
        since = _cpu()
        write_table(found.data, Path(folder) / "a.parquet")
        return {**spent, "write": _cpu() - since}


def _sum(spent: dict[str, float], stages: Sequence[str]) -> float:
    return sum(spent.get(stage, 0.0) for stage in stages)


def _live(database: str | None) -> Iterator[Line]:
    """Yield what a live view of so many rows remembers, before and after a refresh."""
    from core_mondrian import KAnonymity, LiveView, Spec
    from core_mondrian.datasets import census

    for n_rows in (100_000, 400_000):
        with tempfile.TemporaryDirectory() as folder:
            place = database or str(Path(folder) / "live.duckdb")
            _load(place, census(n_rows))
            spec = Spec(("age", "sex", "education"), (KAnonymity(K),))
            since = _cpu()
            live, _ = LiveView.create(
                place, "people", "shown", spec, row_key="person_id", cohort_size=30
            )
            made, sizes = _cpu(), [_state_bytes(place)]
            live.refresh()
            again, sizes = _cpu(), [*sizes, _state_bytes(place)]
            live.drop()
            yield {
                "database": "PostgreSQL" if database else "DuckDB",
                "rows": n_rows,
                "state_bytes": sizes,
                "bytes_a_row": round(sizes[0] / n_rows, 1),
                "cpu_create": round(made - since, 2),
                "cpu_refresh": round(again - made, 2),
            }


def _load(place: str, people: pa.Table) -> None:
    with closing(_connect(place)) as connection, closing(connection.cursor()) as cursor:
        if "://" in place:
            cursor.adbc_ingest("people", people, mode="replace")
            connection.commit()
        else:
            connection.register("these", people)
            connection.execute("CREATE TABLE people AS SELECT * FROM these")


def _state_bytes(place: str) -> int:
    with closing(_connect(place)) as connection, closing(connection.cursor()) as cursor:
        cursor.execute(
            "SELECT sum(octet_length(content)) FROM shown_core_mondrian_state"
        )
        return int(cursor.fetchone()[0])


def _connect(place: str) -> Any:
    if "://" in place:
        import adbc_driver_postgresql.dbapi

        return adbc_driver_postgresql.dbapi.connect(place)
    import duckdb

    return duckdb.connect(place)


def _train() -> Iterator[Line]:
    """Yield how well income is told by models trained on anonymized rows."""
    folder = adult_folder()
    if folder is None:
        raise SystemExit(2)
    from core_mondrian.datasets import adult
    from core_mondrian.sklearn import Anonymizer

    table = adult(folder).to_pandas()
    dice = np.random.default_rng(1)
    is_train = dice.random(len(table)) < 0.5
    income = table["income"].astype(str).to_numpy() == ">50K"
    rows = table[list(ADULT_6)]
    halves = rows[is_train], rows[~is_train]
    yield {"k": 1, "trained": "originals", "scored": "originals"} | _scored(
        *halves, income[is_train], income[~is_train]
    )
    for k in (5, 25, 100):
        for new_rows in ("nodes", "cohorts"):
            fitted = Anonymizer(k, new_rows=new_rows).fit(halves[0])
            train, test = fitted.transform(halves[0]), fitted.transform(halves[1])
            shown = ~test.isna().all(axis=1).to_numpy()
            scores = _scored(
                train, test[shown], income[is_train], income[~is_train][shown]
            )
            yield {"k": k, "trained": "anonymized", "scored": new_rows} | scores


def _scored(train: Any, test: Any, known: Any, true: Any) -> Line:
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = [name for name in train.columns if name in NUMBERS]
    labels = [name for name in train.columns if name not in NUMBERS]
    encode = ColumnTransformer(
        [
            ("numbers", StandardScaler(), numbers),
            ("labels", OneHotEncoder(handle_unknown="ignore"), labels),
        ]
    )
    model = make_pipeline(encode, LogisticRegression(max_iter=1000))
    both = [frame.astype(dict.fromkeys(labels, str)) for frame in (train, test)]
    model.fit(both[0], known)
    chance = model.predict_proba(both[1])[:, 1]
    return {
        "rows": len(test),
        "accuracy": round(float(((chance > 0.5) == true).mean()), 4),
        "auc": round(float(roc_auc_score(true, chance)), 4),
    }


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
