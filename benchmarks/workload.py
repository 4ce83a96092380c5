"""How good models are that are trained on releases of Adult, made for that or not.

    python -m benchmarks.workload [--sets 6 10] [--ks 5 10 25 50] > LINES
    python -m benchmarks.workload --lines LINES --markdown   tables of docs/target.md

Three tenths of the rows, chosen by what they hold, are put aside to test on. Of the
others releases are made: plain, with weights by hand, and with `target`. Learners see
the mean of a class for a number, and the label of a category; what they are tested on
are rows as they were. One JSON line per release, with the figures of each learner.
"""

import argparse
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.cases import ADULT_6, ADULT_8, ADULT_10, adult_folder
from benchmarks.lines import Line, facts, gather, say, source_digest
from benchmarks.markdown import cells

if TYPE_CHECKING:
    import pandas as pd

SETS = {"6": ADULT_6, "8": ADULT_8, "10": ADULT_10}
# What somebody who knows the table would say who has not measured it.
BY_HAND = {"marital-status": 4, "education": 4, "capital-gain": 4, "occupation": 2}
_TARGET = "income"
_LEARNERS = ("logistic regression", "boosted trees", "random forest")


def main() -> None:
    parser = argparse.ArgumentParser(description="Models trained on releases.")
    parser.add_argument("--lines", type=Path, help="what an earlier run printed")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=["6", "10"])
    parser.add_argument("--ks", nargs="+", type=int, default=[5, 10, 25, 50])
    parser.add_argument("--markdown", action="store_true", help="print a table")
    asked = parser.parse_args()
    lines = gather(asked, _run(asked))
    if asked.markdown:
        print("\n".join(write_table(lines)))


def _run(asked: argparse.Namespace) -> Iterator[Line]:
    source_digest()  # before the package is loaded
    folder = adult_folder()
    if folder is None:
        raise SystemExit(2)
    import pandas as pd

    from core_mondrian.datasets import adult

    table = adult(folder).to_pandas()
    lots = pd.util.hash_pandas_object(table, index=False)
    # Equal rows take turns, so that a frequent one is on both sides.
    is_test = (lots + table.groupby(lots).cumcount().astype("uint64")) % 10 < 3
    train, test = (
        table[chosen].reset_index(drop=True) for chosen in (~is_test, is_test)
    )
    for name in asked.sets:
        columns = SETS[name]
        yield _line(name, "raw table", None, {}, _scores(columns, train, test))
        for k in asked.ks:
            for how, keys in _ways(columns).items():
                say(f"{name} columns, k = {k}, {how}")
                yield _measure((train, test), name, (how, keys), k)


def _ways(columns: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    by_hand = {name: w for name, w in BY_HAND.items() if name in columns}
    return {
        "best": {},
        "weights by hand": {"weights": by_hand},
        "--for income": {"target": _TARGET},
    }


def _measure(
    tables: "tuple[pd.DataFrame, pd.DataFrame]",
    name: str,
    way: tuple[str, dict[str, Any]],
    k: int,
) -> Line:
    from core_mondrian import Spec, anonymize

    (train, test), columns, (how, keys) = tables, SETS[name], way
    spec = Spec(columns, k=k, numbers="mean", accept=_TARGET, **keys)
    since = time.process_time()
    release = anonymize(train[[*columns, _TARGET]], spec, threads=1)
    seconds = time.process_time() - since
    kept = [one.ncp or 0.0 for one in release.measures().columns]
    more = {
        "digest": release.digest,
        "weights": release.column_weights,
        "loss": round(sum(kept) / len(kept), 4),
        "cpu_seconds": round(seconds, 2),
    }
    return _line(name, how, k, more, _scores(columns, release.data, test))


def _line(
    name: str, how: str, k: int | None, more: Mapping[str, Any], scores: Any
) -> Line:
    case = {"case": f"adult_{name}", "columns": name, "way": how, "k": k}
    return {"benchmark": "workload", **facts(), **case, **more, "scores": scores}


def _scores(
    columns: tuple[str, ...], train: "pd.DataFrame", test: "pd.DataFrame"
) -> dict[str, dict[str, float]]:
    """Return the AUC and the log loss of each learner."""
    from sklearn.metrics import log_loss, roc_auc_score

    truth = test[_TARGET].astype(str) == ">50K"
    numbers = [name for name in columns if test[name].dtype.kind in "iuf"]
    others = [name for name in columns if name not in numbers]
    found = {}
    for name, learner in _learners(numbers, others).items():
        learner.fit(
            _features(train, numbers, others), train[_TARGET].astype(str) == ">50K"
        )
        chances = learner.predict_proba(_features(test, numbers, others))[:, 1]
        found[name] = {
            "auc": round(float(roc_auc_score(truth, chances)), 4),
            "log_loss": round(float(log_loss(truth, chances)), 4),
        }
    return found


def _features(
    table: "pd.DataFrame", numbers: list[str], others: list[str]
) -> "pd.DataFrame":
    texts = table[others].astype(object)
    return (
        table[numbers].astype(float).join(texts.where(texts.notna(), "?").astype(str))
    )


def _learners(numbers: list[str], others: list[str]) -> dict[str, Any]:
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    models = (
        LogisticRegression(max_iter=300),
        HistGradientBoostingClassifier(
            max_leaf_nodes=15, early_stopping=False, random_state=0
        ),
        RandomForestClassifier(100, min_samples_leaf=5, random_state=0),
    )
    found = {}
    for name, model in zip(_LEARNERS, models, strict=True):
        coded = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        laid = ColumnTransformer(
            [("numbers", StandardScaler(), numbers), ("others", coded, others)]
        )
        found[name] = make_pipeline(laid, model)
    return found


def write_table(lines: list[Line]) -> Iterator[str]:
    """Yield AUC and log loss by release and learner as Markdown."""
    yield cells("columns", "k", "release", *_LEARNERS, "loss")
    yield f"|--:|--:|---|{'--:|' * (len(_LEARNERS) + 1)}"
    for line in lines:
        scores = [line["scores"][name] for name in _LEARNERS]
        texts = [f"{one['auc']:.4f} / {one['log_loss']:.4f}" for one in scores]
        loss = f"{line['loss']:.4f}".removeprefix("0") if "loss" in line else "0"
        k = "-" if line["k"] is None else str(line["k"])
        yield cells(line["columns"], k, line["way"], *texts, loss)


if __name__ == "__main__":
    main()
