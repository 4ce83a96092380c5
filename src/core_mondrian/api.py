"""anonymize(): the stages, in order, on one screen."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core_mondrian.budget import Suppression
from core_mondrian.encode.encoder import (
    Encoded,
    collapse,
    divide,
    encode,
    weigh_tuples,
    without_population,
)
from core_mondrian.encode.table import EncodedTable
from core_mondrian.errors import (
    InternalError,
    PrivacyViolation,
    SpecError,
    list_names,
)
from core_mondrian.frames import (
    arrow_column,
    blank_cells,
    check_columns,
    drop_column,
    filter_rows,
    open_frame,
    replace_columns,
    row_keys,
    row_weights,
)
from core_mondrian.measure.concerns import find_concerns
from core_mondrian.measure.groups import count_groups
from core_mondrian.measure.verify import verify
from core_mondrian.models.k_anonymity import KAnonymity
from core_mondrian.partition.engine import Grown, grow
from core_mondrian.progress import Progress, watched
from core_mondrian.pseudonyms import check_key, pseudonymize
from core_mondrian.recode import Recoded, recode
from core_mondrian.release import Release
from core_mondrian.shuffle import shuffle_rows
from core_mondrian.spec import Spec

FrameT = TypeVar("FrameT")


class Stages:
    """Reports progress and keeps the CPU seconds of each stage."""

    def __init__(self, progress: Progress | bool | None) -> None:  # noqa: FBT001
        self._progress: Progress = lambda _stage, _done: None
        if callable(progress):
            self._progress = progress
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


@watched
def anonymize(
    data: FrameT,
    spec: Spec,
    *,
    key: bytes | None = None,
    by: Sequence[str] = (),
    threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Release[FrameT]:
    """Return ``data`` generalized until every class satisfies ``spec.models``.

    ``threads`` and the dataframe library change speed and type, never a cell. ``key``
    is the secret of the spec's pseudonyms; nothing that is returned holds it. ``by``
    names columns for `Release.by_group`. ``progress=True`` shows bars in a terminal
    or a notebook; a function is called with each stage and how much of it is done.

    Raises:
        SpecError: the spec names columns the data does not have, or needs a key.
        DataError: a column cannot be encoded.
        InfeasibleError: no release satisfies the models within the budget.
        PrivacyViolation: the finished release failed its own verification.
    """
    check_threads(threads)
    check_key(key, spec.pseudonyms)
    stages = Stages(progress)
    frame, encoded = take_in(data, spec, stages, threads)
    _check_names(frame, encoded, spec, by)
    hidden = _hide(frame, spec, key)
    weights = None if spec.weight is None else row_weights(frame, spec.weight)
    grown = grow(
        encoded.table, spec, threads=threads, report=stages.report("partition")
    )
    stages.end("partition")
    stages.report("recode")
    divided = without_population(_divide_rows(frame, encoded, grown, spec))
    recoded = recode(divided, grown, spec, threads)
    released = _release_rows(frame, recoded, hidden, spec)
    stages.end("recode")
    stages.report("verify")
    try:
        verification = verify(
            *(released, built(spec, encoded)), budget=grown.budget, threads=threads
        )
    except PrivacyViolation:
        stricter = _ask_again(spec, encoded.table, grown, recoded)
        if stricter is None:
            raise
        again = anonymize(
            data, stricter, key=key, by=by, threads=threads, progress=progress
        )
        return _as_asked(again, spec, grown.budget)
    if spec.unit is not None and spec.unit in spec.removed:
        released = drop_column(released, spec.unit)
    _check_rows(encoded.table.n_rows, verification.n_rows, grown, spec)
    stages.end("verify")
    stages.report("warn")
    concerns = find_concerns(frame, spec, divided, recoded.classes)
    stages.end("warn")
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
        n_suppressed=grown.tree.n_suppressed,
        n_blanked=encoded.n_blanked + grown.n_blanked,
        budget=grown.budget,
        seconds=stages.seconds,
        beta=grown.beta,
        balance=grown.balance,
        warnings=concerns,
        # What is as long as the table is let go.
        _encoded=replace(encoded, row_tuple=encoded.row_tuple[:0].copy()),
        _pieces=divided.table,
        _weights=None if weights is None else weigh_tuples(divided, weights),
        _groups={
            name: count_groups(frame, name, divided.row_tuple, spec)
            for name in _grouped_by(spec, by)
        },
        _recoded=replace(recoded, columns={}, suppressed=recoded.suppressed[:0].copy()),
    )


def _grouped_by(spec: Spec, by: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that losses are measured by."""
    asked = [by] if isinstance(by, str) else by
    equity = [] if spec.equity is None else [spec.equity]
    return tuple(dict.fromkeys((*asked, *equity)))


def _check_groups(frame: nw.DataFrame[Any], spec: Spec, by: Sequence[str]) -> None:
    named = _grouped_by(spec, by)
    check_columns(frame, named)
    if gone := sorted({*spec.removed, *spec.pseudonyms} & set(named)):
        raise SpecError(
            f"losses by {list_names(gone)}, which are not released as they are",
            hint="name a column of groups, such as sex",
        )


def check_threads(threads: int | None) -> None:
    """Refuse to work on no thread."""
    if threads is not None and threads < 1:
        raise SpecError(f"threads is at least 1, got {threads}")


def take_in(
    data: object, spec: Spec, stages: Stages, threads: int | None = None
) -> tuple[nw.DataFrame[Any], Encoded]:
    """Return the caller's frame, and the columns the spec names as counted tuples."""
    frame = open_frame(data)
    check_columns(frame, spec.columns)
    coded = encode(frame, spec, stages.report("encode"), threads)
    stages.end("encode")
    stages.report("collapse")
    encoded = collapse(coded)
    stages.end("collapse")
    return frame, encoded


def built(spec: Spec, encoded: Encoded) -> Spec:
    """Return the spec with the hierarchies that the table was encoded with."""
    trees = {column.name: column.hierarchy for column in encoded.table.columns}
    found = {name: tree for name in spec.hierarchies if (tree := trees[name])}
    return replace(spec, hierarchies=found)


def _check_rows(n_read: int, n_released: int, grown: Grown, spec: Spec) -> None:
    gone = grown.tree.n_suppressed if spec.leaves_out else 0
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
    others = spec.carried(frame.columns)
    return divide(
        *(encoded, pieces.tuple_of, pieces.rows),
        lambda rows: row_keys(frame, others, rows),
    )


def _hide(
    frame: nw.DataFrame[Any], spec: Spec, key: bytes | None
) -> dict[str, pa.Array]:
    """Return the pseudonyms of every row."""
    if key is None:
        return {}
    return {
        name: pseudonymize(arrow_column(frame, name), name, key)
        for name in spec.pseudonyms
    }


def _check_names(
    frame: nw.DataFrame[Any], encoded: Encoded, spec: Spec, by: Sequence[str]
) -> None:
    """Refuse new columns that are called like others, before the long work."""
    _check_groups(frame, spec, by)
    numbers = [item.name for item in encoded.table.columns if item.kind == "number"]
    added = [new for name in numbers for new in spec.bounds_of(name)]
    added += [] if spec.class_id is None else [spec.class_id]
    counted = Counter([*frame.columns, *added])
    if twice := sorted(name for name in set(added) if counted[name] > 1):
        raise SpecError(
            f"the release would have several columns of one name: {list_names(twice)}",
            hint="rename them, or choose another format or class_id",
        )


def _release_rows(
    frame: nw.DataFrame[Any], recoded: Recoded, hidden: dict[str, pa.Array], spec: Spec
) -> Any:  # noqa: ANN401
    """Return the caller's frame as it is released, suppressed rows dropped or blank."""
    keep, suppressed = None, recoded.suppressed
    if suppressed.any():
        if spec.leaves_out:
            keep = ~suppressed
            kept = pa.array(keep)
            hidden = {name: array.filter(kept) for name, array in hidden.items()}
        else:
            frame = blank_cells(frame, spec.sensitive, suppressed)
            # A pseudonym would lead from a blank row to the others of its person.
            gone = pa.array(suppressed)
            hidden = {
                name: pc.if_else(gone, None, array) for name, array in hidden.items()
            }
    columns = {
        **recoded.columns,
        **{name: {name: array} for name, array in hidden.items()},
    }
    released = replace_columns(frame, columns, spec.identifiers, keep)
    if spec.shuffle is None:
        return released
    is_hidden = spec.unit is not None and spec.unit in spec.removed
    return shuffle_rows(released, spec.shuffle, hidden=spec.unit if is_hidden else None)
