"""The transformer of scikit-learn: its conventions, and what it keeps of ours."""

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

pytest.importorskip("sklearn", minversion="1.6", reason="not installed: the extra")

from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

from core_mondrian import SpecError
from core_mondrian.datasets import census
from core_mondrian.models import DistinctLDiversity
from core_mondrian.sklearn import Anonymizer

COLUMNS = ["age", "hours_per_week", "education"]


def expected_failures(estimator: Anonymizer) -> dict[str, str]:
    if estimator.new_rows == "nodes":
        return {}
    return {
        "check_methods_subset_invariance": "the promise: k of the rows that come "
        "together share what they show, so rows that come alone are blank"
    }


@parametrize_with_checks(
    [Anonymizer(k=2), Anonymizer(k=2, new_rows="nodes")],
    expected_failed_checks=expected_failures,
)
def test_conventions(estimator: Any, check: Any) -> None:
    check(estimator)


def people(n: int = 600, seed: int = 0) -> pd.DataFrame:
    return census(n, seed=seed).to_pandas()[[*COLUMNS, "income"]]


def test_k_rows_share_what_they_show() -> None:
    rows = people()

    shown = Anonymizer(k=7, quasi_identifiers=COLUMNS).fit_transform(rows)

    assert min(Counter(map(tuple, shown[COLUMNS].to_numpy())).values()) >= 7
    assert (shown["income"] == rows["income"]).all()
    assert len(shown) == len(rows)


def test_new_rows_share_with_k_new_rows_or_are_blank() -> None:
    fitted = Anonymizer(k=5, quasi_identifiers=COLUMNS).fit(people())

    shown = fitted.transform(people(60, seed=1))

    assert len(shown) == 60
    filled = shown.dropna()
    assert min(Counter(map(tuple, filled[COLUMNS].to_numpy())).values()) >= 5
    assert fitted.transform(people(3, seed=1)).isna().all(axis=None)


def test_by_nodes_every_row_is_shown_as_if_it_came_alone() -> None:
    rows = people(40, seed=2)
    fitted = Anonymizer(k=5, quasi_identifiers=COLUMNS, new_rows="nodes").fit(people())

    together = fitted.transform(rows)
    each = [fitted.transform(rows[i : i + 1]) for i in range(len(rows))]
    alone = pd.concat(each, ignore_index=True)

    assert not together["age"].isna().any()
    assert together.astype(str).equals(alone.astype(str))


def test_arrays_and_frames_of_polars() -> None:
    rows = people()[["age", "hours_per_week"]]
    array = Anonymizer(k=5).fit_transform(rows.to_numpy())
    frame = Anonymizer(k=5).fit_transform(pl.from_pandas(rows))

    assert isinstance(array, np.ndarray)
    assert isinstance(frame, pl.DataFrame)
    assert (array == frame.to_numpy()).all()
    assert (array == Anonymizer(k=5).fit_transform(rows).to_numpy()).all()


def test_names_and_containers() -> None:
    rows = people()[["age", "hours_per_week"]]
    fitted = Anonymizer(k=5).set_output(transform="pandas").fit(rows)

    assert list(fitted.get_feature_names_out()) == ["age", "hours_per_week"]
    assert isinstance(fitted.transform(rows), pd.DataFrame)
    assert clone(fitted).get_params() == fitted.get_params()


def test_a_grid_over_k_in_a_pipeline() -> None:
    rows = people()
    encode = ColumnTransformer(
        [("labels", OneHotEncoder(handle_unknown="ignore"), ["education"])],
        remainder="passthrough",
    )
    steps = make_pipeline(
        Anonymizer(new_rows="nodes"), encode, LogisticRegression(max_iter=2000)
    )
    search = GridSearchCV(steps, {"anonymizer__k": [2, 50]}, cv=2)

    search.fit(rows[COLUMNS], rows["income"])

    assert set(search.best_params_) == {"anonymizer__k"}
    assert search.best_score_ > 0.5


def test_models_on_sensitive_columns() -> None:
    rows = people()
    model = DistinctLDiversity(2, "income")

    shown = Anonymizer(5, COLUMNS, models=[model]).fit_transform(rows)

    assert (shown.groupby(COLUMNS, observed=True)["income"].nunique() >= 2).all()


@pytest.mark.parametrize("wrong", [{"new_rows": "all"}, {"numbers": "mean"}])
def test_what_it_does_not_know_is_refused(wrong: Any) -> None:
    with pytest.raises(SpecError):
        Anonymizer(**wrong).fit(people())
