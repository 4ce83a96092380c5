"""A classifier trained on either table, and tested on rows of the original."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core_mondrian.analysis.analyst_statistics.answers import (
    Answer,
    Row,
    name_levels,
    unanswered,
)
from core_mondrian.analysis.analyst_statistics.bins import as_category
from core_mondrian.analysis.analyst_statistics.cells import Cells, Column, Tables
from core_mondrian.analysis.analyst_statistics.design import (
    Side,
    find_features,
    lay_out,
)
from core_mondrian.analysis.analyst_statistics.questions import Question
from core_mondrian.errors import SpecError
from core_mondrian.runtime.array_types import Floats, Integers
from core_mondrian.runtime.runs import run_members
from core_mondrian.tables.hashing import splitmix64

HOLDOUT: Final = 0.3
"""The share of rows that a classifier is tested on."""
_TITLES: Final = {
    "accuracy": "accuracy",
    "auc": "AUC",
    "balanced_accuracy": "balanced accuracy",
}


@dataclass(frozen=True, slots=True)
class _Sample:
    features: Floats
    labels: Integers
    weights: Floats


def answer_classifier(question: Question, tables: Tables) -> Answer:
    """Compare what can be predicted by either table, next to always guessing."""
    outcome = _outcome(tables, question)
    known = tables.spec.quasi_identifiers
    names = question.by or tuple(n for n in known if n != question.outcome)
    columns = [tables.column(name) for name in names]
    features = find_features(columns, tables, is_full=True)
    if not features:
        return unanswered(question, "no value of a predictor may be named")

    def lay(side: str) -> tuple[Side, Cells]:
        cells: Cells = getattr(outcome, side)
        by = [getattr(column, side) for column in columns]
        return lay_out(features, by, cells), cells

    groups = _groups(outcome, tables)
    before, after = lay("before"), lay("after")
    if tables.test is None:
        tested = hold_out(before[0].codes, before[0].counts, HOLDOUT)
        test = _sample(before, groups, tested)
        train = _sample(before, groups, before[0].counts - tested)
    else:
        held = lay("test")
        test = _sample(held, groups, held[0].counts)
        train = _sample(before, groups, before[0].counts)
    released = _sample(after, groups, after[0].counts)
    samples = {"training part": train, "held out part": test, "release": released}
    for what, sample in samples.items():
        if np.unique(sample.labels).size < 2:
            return unanswered(question, f"the outcome has one value in the {what}")
    scores = _score(train, test), _score(released, test), _guess(train, test)
    return _answer(question, scores, test, is_leaking=tables.test is None)


def hold_out(codes: Sequence[Integers], counts: Integers, share: float) -> Integers:
    """Return how many rows of each tuple are held out, by what the rows hold.

    Equal rows take turns, so that a frequent tuple is on both sides.
    """
    keys = np.zeros(counts.size, dtype=np.uint64)
    for code in codes:
        keys = splitmix64(keys + code.astype(np.uint64))
    owner = np.repeat(np.arange(counts.size), counts)
    nth = run_members(np.zeros_like(counts), counts)
    chosen = is_held_out(keys[owner] + nth.astype(np.uint64), share)
    return np.bincount(owner[chosen], minlength=counts.size).astype(np.int64)


def is_held_out(keys: NDArray[np.uint64], share: float) -> NDArray[np.bool_]:
    """Return by a key of each row whether it is held out."""
    flags: NDArray[np.bool_] = splitmix64(keys) < np.uint64(share * 2.0**64)
    return flags


def _outcome(tables: Tables, question: Question) -> Column:
    column = tables.column(question.outcome)
    if not column.is_number:
        return column
    filled = column.before.content[~np.isnan(column.before.content)]
    if filled.size > 2:
        raise SpecError(
            f"classifier of {question.outcome!r}, which is a number of {filled.size:,} "
            "values",
            hint="take linear instead, or a column of categories",
        )
    if not filled.size:
        return column
    return as_category(column, float(filled[0]), float(filled[-1]))


def _groups(outcome: Column, tables: Tables) -> Integers:
    """Return the class of each level; those that may not be named are one."""
    named = name_levels(outcome, tables)
    return np.where(named, np.cumsum(named) - 1, int(named.sum())).astype(np.int64)


def _sample(laid: tuple[Side, Cells], groups: Integers, counts: Integers) -> _Sample:
    """Return one row for each row, and each class that its outcome may be."""
    side, cells = laid
    n_classes = int(groups.max(initial=0)) + 1
    merged = np.zeros((len(cells.content), n_classes))
    for level, group in enumerate(groups.tolist()):
        merged[:, group] += cells.content[:, level]
    shares = merged[side.outcome]
    features, labels, weights = [], [], []
    for label in range(n_classes):
        rows = np.repeat(
            np.arange(counts.size), np.where(shares[:, label] > 0, counts, 0)
        )
        features.append(side.features[rows])
        labels.append(np.full(rows.size, label, dtype=np.int64))
        weights.append(shares[rows, label])
    return _Sample(*(np.concatenate(part) for part in (features, labels, weights)))


def _score(train: _Sample, test: _Sample) -> dict[str, float | None]:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    # Small trees, so that small tables are not learnt by heart; no early stopping,
    # which would draw rows by their order.
    model = HistGradientBoostingClassifier(
        max_leaf_nodes=8, early_stopping=False, random_state=0
    )
    # Its threads wait for one another: 7 times slower where others use the cores too.
    with threadpool_limits(1, user_api="openmp"):
        model.fit(train.features, train.labels, sample_weight=train.weights)
        chances = model.predict_proba(test.features)
    return _metrics(test, model.classes_, chances)


def _guess(train: _Sample, test: _Sample) -> dict[str, float | None]:
    counts = np.bincount(train.labels, train.weights)
    chances = np.zeros((len(test.labels), counts.size))
    chances[:, counts.argmax()] = 1.0
    return _metrics(test, np.arange(counts.size), chances)


def _metrics(
    test: _Sample,
    classes: Any,  # noqa: ANN401  # scikit-learn's
    chances: Floats,
) -> dict[str, float | None]:
    guessed = np.asarray(classes)[chances.argmax(axis=1)]
    right = (guessed == test.labels) * test.weights
    present = np.unique(test.labels)
    recalls = [
        right[test.labels == label].sum() / test.weights[test.labels == label].sum()
        for label in present
    ]
    return {
        "accuracy": float(right.sum() / test.weights.sum()),
        "auc": _auc(test, np.asarray(classes), chances),
        "balanced_accuracy": float(np.mean(recalls)),
    }


def _auc(test: _Sample, classes: NDArray[Any], chances: Floats) -> float | None:
    """Return the area under the curve, over the classes of the test averaged."""
    from sklearn.metrics import roc_auc_score

    areas = []
    present = np.unique(test.labels)
    if present.size == 2:
        present = present[1:]
    for label in present:
        is_it = test.labels == label
        column = np.flatnonzero(classes == label)
        chance = chances[:, column[0]] if column.size else np.zeros(is_it.size)
        areas.append(roc_auc_score(is_it, chance, sample_weight=test.weights))
    return float(np.mean(areas))


def _answer(
    question: Question,
    scores: tuple[dict[str, float | None], ...],
    test: _Sample,
    *,
    is_leaking: bool,
) -> Answer:
    before, after, guess = scores
    rows = tuple(
        Row(title, before[name], after[name], guess=guess[name])
        for name, title in _TITLES.items()
    )
    n_test = round(float(test.weights.sum()))
    possible = (before["auc"] or 0.0) - 0.5
    score = ((after["auc"] or 0.0) - 0.5) / possible if possible > 1e-9 else 1.0
    score = min(max(score, 0.0), 1.0)
    accuracies = [f"{100 * (one['accuracy'] or 0.0):.1f} %" for one in scores]
    leak = ""
    if is_leaking:
        leak = " This flatters the release, which was made from these rows too."
    sentence = (
        f"Trained on the release, a classifier is right for {accuracies[1]} of "
        f"{n_test:,} rows of the original; trained on the original's other rows, for "
        f"{accuracies[0]}; always guessing the most frequent value is right for "
        f"{accuracies[2]}.{leak}"
    )
    figures = {"n_test": n_test, "is_leaking": int(is_leaking)}
    return Answer(
        question=question,
        what="scores",
        rows=rows,
        score=None if is_leaking else score,
        sentence=sentence,
        figures=figures,
    )
