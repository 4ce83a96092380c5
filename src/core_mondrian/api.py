"""anonymize(): the stages, in order, on one screen."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import narwhals as nw
import numpy as np

from core_mondrian.budget import Suppression
from core_mondrian.encode.encoder import (
    Encoded,
    collapse,
    divide,
    encode,
    without_population,
)
from core_mondrian.encode.table import EncodedTable
from core_mondrian.errors import InternalError, PrivacyViolation, SpecError
from core_mondrian.frames import (
    blank_cells,
    check_columns,
    drop_column,
    open_frame,
    replace_columns,
    row_keys,
)
from core_mondrian.measure.verify import verify
from core_mondrian.models.k_anonymity import KAnonymity
from core_mondrian.partition.engine import Grown, grow
from core_mondrian.recode import Recoded, recode
from core_mondrian.release import Release
from core_mondrian.spec import Spec

FrameT = TypeVar("FrameT")
Progress = Callable[[str, float], None]
"""``progress(stage, done)``: how much of a stage is done, from 0 to 1."""


class Stages:
    """Reports progress and keeps the CPU seconds of each stage."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress or (lambda _stage, _done: None)
        self._since = time.process_time()
        self.seconds: dict[str, float] = {}

    def report(self, stage: str) -> Callable[[float], None]:
        self._progress(stage, 0.0)
        return lambda done: self._progress(stage, done)

    def end(self, stage: str) -> None:
        now = time.process_time()
        self.seconds[stage] = now - self._since
        self._since = now
        self._progress(stage, 1.0)


def anonymize(
    data: FrameT,
    spec: Spec,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Release[FrameT]:
    """Return ``data`` generalized until every class satisfies ``spec.models``.

    ``threads`` and the dataframe library change speed and type, never a cell.

    Raises:
        SpecError: the spec names columns the data does not have.
        DataError: a column cannot be encoded.
        InfeasibleError: no release satisfies the models within the budget.
        PrivacyViolation: the finished release failed its own verification.
    """
    check_threads(threads)
    stages = Stages(progress)
    frame, encoded = take_in(data, spec, stages)
    grown = grow(
        encoded.table, spec, threads=threads, report=stages.report("partition")
    )
    stages.end("partition")
    stages.report("recode")
    divided = without_population(_divide_rows(frame, encoded, grown, spec))
    recoded = recode(divided, grown, spec)
    released = _release_rows(frame, recoded, spec)
    stages.end("recode")
    stages.report("verify")
    try:
        verification = verify(released, spec, budget=grown.budget)
    except PrivacyViolation:
        stricter = _ask_again(spec, encoded.table, grown, recoded)
        if stricter is None:
            raise
        again = anonymize(data, stricter, threads=threads, progress=progress)
        return _as_asked(again, spec, grown.budget)
    if spec.unit is not None:
        released = drop_column(released, spec.unit)
    _check_rows(encoded.table.n_rows, verification.n_rows, grown, spec)
    stages.end("verify")
    return Release(
        data=released,
        spec=spec,
        tree=grown.tree,
        funnel=grown.funnel,
        verification=verification,
        n_rows=encoded.table.n_rows,
        n_suppressed=grown.tree.n_suppressed,
        n_blanked=grown.n_blanked,
        budget=grown.budget,
        seconds=stages.seconds,
        beta=grown.beta,
        # What is as long as the table is let go.
        _encoded=replace(encoded, row_tuple=encoded.row_tuple[:0].copy()),
        _pieces=divided.table,
        _recoded=replace(recoded, columns={}, suppressed=recoded.suppressed[:0].copy()),
    )


def check_threads(threads: int | None) -> None:
    """Refuse to work on no thread."""
    if threads is not None and threads < 1:
        raise SpecError(f"threads is at least 1, got {threads}")


def take_in(
    data: object, spec: Spec, stages: Stages
) -> tuple[nw.DataFrame[Any], Encoded]:
    """Return the caller's frame, and the columns the spec names as counted tuples."""
    frame = open_frame(data)
    check_columns(frame, spec.columns)
    coded = encode(frame, spec, stages.report("encode"))
    stages.end("encode")
    stages.report("collapse")
    encoded = collapse(coded)
    stages.end("collapse")
    return frame, encoded


def _check_rows(n_read: int, n_released: int, grown: Grown, spec: Spec) -> None:
    gone = grown.tree.n_suppressed if spec.suppressed == "drop" else 0
    if n_released + gone != n_read:
        raise InternalError("rows released and suppressed do not add up to rows read")


def _ask_again(
    spec: Spec, table: EncodedTable, grown: Grown, recoded: Recoded
) -> Spec | None:
    """Return a stricter spec, for a release that fails only as a reader sees it.

    Classes that look alike are one class to a reader, and so are suppressed rows that
    stay as blanks and a class that shows nothing. Each may pass, and both together
    fail. The last resort is the whole table as one class. None: there is none left, or
    it fails for another reason, which would be a fault of ours.
    """
    is_blank = spec.suppressed == "blank" and grown.tree.n_suppressed > 0
    if not is_blank and recoded.classes.n_classes == grown.tree.n_classes:
        return None
    if grown.tree.n_suppressed:
        return replace(spec, suppress=Suppression(rows=0))
    most = table.n_rows
    if table.n_units is not None:
        most = np.unique(table.codes[:, -1]).size
    if spec.min_rows >= most:
        return None
    larger = KAnonymity(min(2 * spec.min_rows, most))
    return replace(spec, models=(*spec.models, larger))


def _as_asked(release: Release[FrameT], spec: Spec, budget: int) -> Release[FrameT]:
    """Return a release of a stricter spec as one of ``spec``."""
    found = release.verification
    found = replace(found, models=found.models[: len(spec.models)])
    return replace(release, spec=spec, budget=budget, verification=found)


def _divide_rows(
    frame: nw.DataFrame[Any], encoded: Encoded, grown: Grown, spec: Spec
) -> Encoded:
    """Say which rows of a tuple are in which of its classes, by their other cells."""
    pieces = grown.pieces
    if pieces is None:
        return encoded
    others = [name for name in frame.columns if name not in spec.columns]
    return divide(
        *(encoded, pieces.tuple_of, pieces.rows),
        lambda rows: row_keys(frame, others, rows),
    )


def _release_rows(frame: nw.DataFrame[Any], recoded: Recoded, spec: Spec) -> Any:  # noqa: ANN401
    """Return the caller's frame as it is released, suppressed rows dropped or blank."""
    columns = dict(recoded.columns)
    if not recoded.suppressed.any():
        return replace_columns(frame, columns, spec.identifiers, None)
    if spec.suppressed == "drop":
        return replace_columns(frame, columns, spec.identifiers, ~recoded.suppressed)
    for name in spec.sensitive:
        columns[name] = blank_cells(frame, name, recoded.suppressed)
    return replace_columns(frame, columns, spec.identifiers, None)
