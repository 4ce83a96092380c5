"""Anonymizer: a fitted recoding as a transformer of scikit-learn (extra: sklearn)."""

from collections.abc import Sequence
from typing import Any, Final, Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from core_mondrian.models.base import PrivacyModel
from core_mondrian.models.k_anonymity import KAnonymity
from core_mondrian.runtime.array_types import Frame
from core_mondrian.runtime.plain_values import JsonMapping
from core_mondrian.series.cohorts import TooSmall
from core_mondrian.series.recoding import Recoding, fit
from core_mondrian.spec.declaration import Spec, check_choice

NewRows = Literal["cohorts", "nodes"]
NEW_ROWS: Final = get_args(NewRows)


class Anonymizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Generalize quasi-identifiers until every class has ``k`` rows.

    Numbers become the middle of what their class spans, categories its label; both are
    what a model is trained on. Rows come back in their places. New rows are shown by
    the classes of the fit.

    Args:
        k: Rows of a class, at least.
        quasi_identifiers: Columns to generalize, by name; None: all of them.
        models: Further privacy models on sensitive columns of X.
        hierarchies: Generalization trees of categories, by column.
        numbers: ``midpoint``, or ``interval`` for ranges as text.
        too_small: What becomes of new rows that are too few where they stop.
        new_rows: ``cohorts``: `transform` gives a release, in which k new rows share
            what they show; who is too few is blank. ``nodes``: every row is shown as
            the tree places it, however few they are. Good to score rows by a model
            that was trained on anonymized ones; not to be given away.
    """

    def __init__(  # noqa: PLR0913  # scikit-learn wants them one by one
        self,
        k: int = 5,
        quasi_identifiers: Sequence[str] | None = None,
        *,
        models: Sequence[PrivacyModel] = (),
        hierarchies: JsonMapping | None = None,
        numbers: Literal["midpoint", "interval"] = "midpoint",
        too_small: TooSmall = "ancestor",
        new_rows: NewRows = "cohorts",
    ) -> None:
        self.k = k
        self.quasi_identifiers = quasi_identifiers
        self.models = models
        self.hierarchies = hierarchies
        self.numbers = numbers
        self.too_small = too_small
        self.new_rows = new_rows

    def fit(self, X: Frame, y: object = None) -> "Anonymizer":  # noqa: ARG002, N803
        """Cut the table, and keep the cuts; ``y`` is not looked at."""
        check_choice("new_rows", self.new_rows, NEW_ROWS)
        check_choice("numbers", self.numbers, ("midpoint", "interval"))
        frame = self._frame(X, reset=True)
        spec = Spec(
            tuple(self.quasi_identifiers or _names(frame)),
            (KAnonymity(self.k), *self.models),
            hierarchies=self.hierarchies or {},
            numbers=self.numbers,
            suppressed="blank",
        )
        self.recoding_: Recoding = fit(frame, spec, too_small=self.too_small)
        return self

    def transform(self, X: Frame) -> Frame:  # noqa: N803
        """Return rows as the fitted classes show them, as many as came in."""
        check_is_fitted(self)
        frame = self._frame(X, reset=False)
        if self.new_rows == "nodes":
            shown = self.recoding_.place(frame)
        else:
            shown = self.recoding_.apply(frame).data
        return shown if _is_frame(X) else _as_array(shown)

    def _frame(self, data: Frame, *, reset: bool) -> Frame:
        """Return a frame as it is, and an array as an Arrow table."""
        if _is_frame(data):
            validate_data(self, data, reset=reset, skip_check_array=True)
            return data
        array = check_array(
            data,
            dtype=None,
            ensure_all_finite="allow-nan",
            ensure_min_samples=self.k if reset else 1,
            estimator=self,
            input_name="X",
        )
        if np.iscomplexobj(array):
            raise ValueError("Complex data not supported")
        validate_data(self, array, reset=reset, skip_check_array=True)
        columns = {
            f"x{i}": pa.array(column.tolist()) for i, column in enumerate(array.T)
        }
        return pa.table(columns)

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _is_frame(data: object) -> bool:
    return hasattr(data, "columns")


def _names(frame: Frame) -> list[str]:
    return list(frame.column_names if isinstance(frame, pa.Table) else frame.columns)


def _as_array(shown: pa.Table) -> NDArray[Any]:
    columns = [_cells(column) for column in shown.columns]
    return np.stack(columns, axis=1)


def _cells(column: pa.ChunkedArray) -> NDArray[Any]:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_integer(column.type) and not column.null_count:
        return np.asarray(column.to_numpy())
    if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
        return np.asarray(column.cast(pa.float64()).to_numpy())
    return np.array(column.to_pylist(), dtype=object)
