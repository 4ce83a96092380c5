"""anonymize(): the stages, in order, on one screen."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import narwhals as nw

from core_mondrian.encode.encoder import (
    Encoded,
    collapse,
    divide,
    encode,
    without_population,
)
from core_mondrian.errors import InternalError, SpecError, list_names
from core_mondrian.frames import (
    blank_cells,
    check_columns,
    drop_column,
    filter_rows,
    open_frame,
    replace_columns,
    row_keys,
)
from core_mondrian.measure.verify import verify
from core_mondrian.partition.engine import Grown, grow
from core_mondrian.recode import Recoded, recode
from core_mondrian.release import Release
from core_mondrian.shuffle import shuffle_rows
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
    _check_names(frame, encoded, spec)
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
    verification = verify(released, spec, budget=grown.budget)
    if spec.unit is not None:
        released = drop_column(released, spec.unit)
    n_suppressed = grown.tree.n_suppressed
    gone = n_suppressed if spec.leaves_out else 0
    if verification.n_rows + gone != encoded.table.n_rows:
        raise InternalError("rows released and suppressed do not add up to rows read")
    stages.end("verify")
    return Release(
        data=released,
        suppressed=filter_rows(frame, recoded.suppressed)
        if spec.suppressed == "apart"
        else None,
        spec=spec,
        tree=grown.tree,
        funnel=grown.funnel,
        verification=verification,
        n_rows=encoded.table.n_rows,
        n_suppressed=n_suppressed,
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


def _check_names(frame: nw.DataFrame[Any], encoded: Encoded, spec: Spec) -> None:
    """Refuse new columns that are called like others, before the long work."""
    numbers = [item.name for item in encoded.table.columns if item.kind == "number"]
    added = [new for name in numbers for new in spec.bounds_of(name)]
    added += [] if spec.class_id is None else [spec.class_id]
    counted = Counter([*frame.columns, *added])
    if twice := sorted(name for name in set(added) if counted[name] > 1):
        raise SpecError(
            f"the release would have several columns of one name: {list_names(twice)}",
            hint="rename them, or choose another format or class_id",
        )


def _release_rows(frame: nw.DataFrame[Any], recoded: Recoded, spec: Spec) -> Any:  # noqa: ANN401
    """Return the caller's frame as it is released, suppressed rows dropped or blank."""
    keep = None
    if recoded.suppressed.any():
        if spec.leaves_out:
            keep = ~recoded.suppressed
        else:
            frame = blank_cells(frame, spec.sensitive, recoded.suppressed)
    released = replace_columns(frame, recoded.columns, spec.identifiers, keep)
    if spec.shuffle is None:
        return released
    return shuffle_rows(released, spec.shuffle, hidden=spec.unit)
