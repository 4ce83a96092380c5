"""The rows of one more release of a series, as they are shown."""

from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.api import make_pseudonyms, release_rows
from core_mondrian.recoding.classes import ReleasedClasses
from core_mondrian.recoding.labels import Labels
from core_mondrian.recoding.recode import Recoded, number_classes
from core_mondrian.series.release_step import Step
from core_mondrian.series.shown_cells import labels_of
from core_mondrian.series.state import Shown, State


def step_rows(
    state: State, step: Step, frame: nw.DataFrame[Any], threads: int | None
) -> tuple[Any, Recoded]:
    """Return the caller's frame as it is released, with cohorts, and what they show.

    The unit is still there, to count persons by.
    """
    cohorts, cohort = step.shown.cohorts, step.cohort
    names = (column.name for column in step.shown.recoding.columns)
    cells = dict(zip(names, cohorts.cells, strict=True))
    recoded = _recode({name: labels_of(x) for name, x in cells.items()}, cohort)
    hidden = make_pseudonyms(frame, state.spec, state.key)
    place = pa.array(np.maximum(cohort, 0), mask=cohort < 0)
    hidden[state.rules.cohort] = cohorts.names.take(place)
    leaf = cohort.astype(np.int32)
    return release_rows(frame, state.spec, recoded, leaf, hidden, threads), recoded


def _recode(labels: dict[str, Labels], cohort: NDArray[np.int64]) -> Recoded:
    """Return what cohorts show; those that look alike are one class."""
    every = list(labels.values())
    class_of_cohort = number_classes(every)
    n_classes = int(class_of_cohort.max(initial=-1)) + 1
    rows = np.bincount(class_of_cohort[cohort[cohort >= 0]], minlength=n_classes)
    none = tuple(None for _ in every)
    classes = ReleasedClasses(cohort.astype(np.int32), rows, none, none)
    return Recoded(classes, labels, class_of_cohort)


def persons_of(shown: Shown) -> pa.Table:
    """Return which row of whom is shown in which cohort, with which values."""
    records = shown.records
    own = {
        "row": records.hashes.key,
        "person": records.hashes.person,
        "cohort": shown.cohorts.names.take(pa.array(records.cohort)),
    }
    columns = {f"core_mondrian:{name}": cells for name, cells in own.items()}
    for i, item in enumerate(shown.recoding.values):
        labels = pa.concat_arrays([item.labels, pa.nulls(1, item.labels.type)])
        columns[item.name] = labels.take(pa.array(records.values[:, i]))
    return pa.table(columns)
