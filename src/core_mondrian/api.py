"""anonymize(): the stages, in order, on one screen."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core_mondrian.encoding.encoder import Encoded, collapse, encode, weigh_tuples
from core_mondrian.errors import (
    InternalError,
    PrivacyViolation,
    SpecError,
    drops_context,
    list_names,
)
from core_mondrian.measures.disclosure_warnings import (
    DisclosureWarning,
    Generalized,
    Repeats,
    RowSample,
    count_cells,
    count_repeats,
    find_concerns,
    sample_leaves,
    seen_columns,
)
from core_mondrian.measures.row_sample import distinct_rows_of_frame
from core_mondrian.recoding.plan import (
    Plan,
    build_plan,
    tightened_spec,
    with_resolved_hierarchies,
)
from core_mondrian.recoding.recode import Recoded, broadcast_labels
from core_mondrian.release.from_plan import release_from
from core_mondrian.release.result import Release
from core_mondrian.runtime.array_types import Frame
from core_mondrian.runtime.progress import Progress, watched
from core_mondrian.runtime.stages import Stages
from core_mondrian.runtime.threads import started, useful_threads
from core_mondrian.spec.declaration import Spec, as_spec, check_look_alikes
from core_mondrian.tables.cleaning import clean_frame
from core_mondrian.tables.files.cells import unified_texts
from core_mondrian.tables.frames import (
    OpenFrame,
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
from core_mondrian.tables.keys import Key, key_for
from core_mondrian.tables.pseudonyms import pseudonymize
from core_mondrian.verification.counting import code_series
from core_mondrian.verification.verify import Verification, verify

if TYPE_CHECKING:
    from core_mondrian.measures.groups import GroupCounts

FrameT = TypeVar("FrameT")


@drops_context
@watched
def anonymize(
    data: FrameT,
    spec: Spec | str | Iterable[str] | None = None,
    *,
    key: bytes | None = None,
    by: Sequence[str] = (),
    threads: int | None = None,
    progress: Progress | bool | None = None,
    **keys: Any,  # noqa: ANN401
) -> Release[FrameT]:
    """Return ``data`` generalized until every class satisfies ``spec.models``.

    ``anonymize(people, ["age", "sex"], k=5)`` is short for
    ``anonymize(people, Spec(["age", "sex"], k=5))``.

    ``threads`` and the dataframe library change speed and type, never a cell. ``key``
    is a secret of 16 bytes or more: it makes pseudonyms, and decides which of several
    equal rows is in which class. With the same key the release is the same, row by
    row; without one, 32 random bytes serve, and classes, counts and digest are still
    the same. ``by`` names columns for `Release.by_group`. ``progress=True`` shows bars
    in a terminal or a notebook; a function is called with each stage and how much of
    it is done.

    Raises:
        SpecError: the spec names columns the data does not have, or needs a key.
        DataError: a column cannot be encoded.
        InfeasibleError: no release satisfies the models within the budget.
        PrivacyViolation: the finished release failed its own verification.
    """
    spec = as_spec(spec, keys)
    check_threads(threads)
    secret = key_for(key, spec.pseudonyms)
    stages = Stages(progress)
    frame, encoded = load_and_encode(data, spec, stages, threads)
    _check_names(frame, encoded, spec, by)
    hidden = make_pseudonyms(frame, spec, secret)
    weights = None if spec.weight is None else row_weights(frame, spec.weight)
    encoded = _weigh_for_target(frame, encoded, spec)
    plan = build_plan(
        encoded, spec, secret, threads=threads, report=stages.report("partition")
    )
    stages.end("partition")
    stages.report("recode")
    piece = _place_rows(frame, plan, threads)
    leaf = plan.leaf_of_piece[piece]
    n_threads = useful_threads(threads, leaf.size)
    beside = threads if n_threads < 2 else n_threads // 2
    look = partial(_find_concerns, frame, plan, (piece, leaf), beside)
    with started(look, n_threads) as concerns_found:
        try:
            released, verification = _release_verified(
                frame, plan, leaf, hidden, stages, threads
            )
        except PrivacyViolation:
            stricter = tightened_spec(plan)
            if stricter is None:
                raise
            again = anonymize(
                data, stricter, key=key, by=by, threads=threads, progress=progress
            )
            return with_requested_spec(again, spec, plan.budget)
        stages.report("warn")
        warnings = concerns_found()
        stages.end("warn")
    placed = replace(encoded, table=plan.pieces, row_tuple=piece)
    return release_from(
        plan,
        released,
        verification,
        suppressed=filter_rows(frame, leaf < 0)
        if spec.suppressed == "separate"
        else None,
        carried=tuple(spec.carried(frame.columns)),
        spent=stages.spent,
        warnings=warnings,
        _weights=None if weights is None else weigh_tuples(placed, weights),
        _groups=_count_groups(frame, grouped_by(spec, by), piece, spec),
        _suppressed_rows=np.flatnonzero(leaf < 0),
    )


def grouped_by(spec: Spec, by: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that losses are measured by, as asked and for equity."""
    asked = [by] if isinstance(by, str) else by
    equity = [] if spec.equity is None else [spec.equity]
    return tuple(dict.fromkeys((*asked, *equity)))


def _count_groups(
    frame: OpenFrame,
    names: Sequence[str],
    piece: NDArray[np.int32],
    spec: Spec,
) -> "dict[str, GroupCounts]":
    if not names:
        return {}
    from core_mondrian.measures.groups import count_groups

    return {name: count_groups(frame, name, piece, spec) for name in names}


def _check_groups(frame: OpenFrame, spec: Spec, by: Sequence[str]) -> None:
    named = grouped_by(spec, by)
    check_columns(frame, named)
    if gone := sorted({*spec.removed, *spec.pseudonyms} & set(named)):
        raise SpecError(
            f"losses by {list_names(gone)}, which are not released as they are",
            hint="name a column of groups, such as sex",
        )


def check_threads(threads: int | None) -> None:
    """Refuse to work on no thread."""
    if threads is None:
        return
    if isinstance(threads, bool) or not isinstance(threads, int):
        raise SpecError(
            f"threads is a whole number, got {type(threads).__name__}",
            hint="leave it out to use all cores",
        )
    if threads < 1:
        raise SpecError(
            f"threads is at least 1, got {threads}",
            hint="leave it out to use all cores",
        )


def load_and_encode(
    data: object, spec: Spec, stages: Stages, threads: int | None = None
) -> tuple[OpenFrame, Encoded]:
    """Return the caller's frame, and the columns the spec names as counted tuples."""
    frame = open_frame(data)
    check_columns(frame, spec.columns)
    coded = encode(frame, spec, stages.report("encode"), threads)
    stages.end("encode")
    stages.report("collapse")
    encoded = collapse(coded, threads)
    stages.end("collapse")
    return frame, encoded


def _weigh_for_target(frame: OpenFrame, encoded: Encoded, spec: Spec) -> Encoded:
    """Weigh the quasi-identifiers by what they reveal about the target, if any.

    Which is why the rows have to be here.
    """
    if spec.target is None:
        return encoded
    from core_mondrian.measures.target_weights import read_outcome, weigh_columns

    table = encoded.table
    cells = unified_texts(arrow_column(frame, spec.target), spec.null_values)
    outcome = read_outcome(cells, spec.target, encoded)
    weights = weigh_columns(table, outcome)
    return replace(encoded, table=replace(table, column_weights=weights))


def _release_verified(
    frame: OpenFrame,
    plan: Plan,
    leaf: NDArray[np.int32],
    hidden: dict[str, pa.Array],
    stages: Stages,
    threads: int | None,
) -> tuple[Frame, Verification]:
    """Return the caller's frame as it is released, and what its recount found."""
    released = release_rows(frame, plan.spec, plan.recoded, leaf, hidden, threads)
    stages.end("recode")
    stages.report("verify")
    spec, budget = plan.spec, plan.budget
    verification = verify(
        released,
        with_resolved_hierarchies(spec, plan.encoded),
        budget=budget,
        threads=threads,
    )
    if spec.unit is not None and spec.is_unit_removed:
        released = drop_column(released, spec.unit)
    gone = plan.n_suppressed if spec.leaves_out else 0
    if verification.n_rows + gone != plan.n_rows:
        raise InternalError("rows released and suppressed do not add up to rows read")
    stages.end("verify")
    return released, verification


def with_requested_spec(
    release: Release[FrameT], spec: Spec, budget: int
) -> Release[FrameT]:
    """Return a release of a stricter spec as one of ``spec``."""
    verification = release.verification
    verification = replace(verification, models=verification.models[: len(spec.models)])
    return replace(release, spec=spec, budget=budget, verification=verification)


def _place_rows(frame: OpenFrame, plan: Plan, threads: int | None) -> NDArray[np.int32]:
    """Say which rows of a tuple are in which of its classes, by lot."""
    others = plan.spec.carried(frame.columns)
    return plan.place_rows(
        plan.encoded.row_tuple, lambda rows: row_keys(frame, others, rows, threads)
    )


def _find_concerns(
    frame: OpenFrame,
    plan: Plan,
    placed: tuple[NDArray[np.int32], NDArray[np.int32]],
    threads: int | None,
) -> tuple[DisclosureWarning, ...]:
    """Look at released rows, and say what they give away.

    ``placed`` has the piece and the leaf of every row.
    """
    spec, (piece, leaf) = plan.spec, placed
    names = seen_columns(spec, frame.columns)
    generalized = Generalized.of(plan.pieces, plan.recoded.classes)
    is_seen = sample_leaves(plan, generalized, len(names))[leaf]
    seen = None if is_seen.all() else np.flatnonzero(is_seen)
    pieces = piece if seen is None else piece[seen]
    is_shown = leaf >= 0

    @cache
    def repeats(name: str) -> Repeats:
        is_blanked = name in (*spec.sensitive, *spec.pseudonyms)
        is_whole = name in spec.removed or not (spec.leaves_out or is_blanked)
        rows = None if is_whole or is_shown.all() else is_shown
        if spec.unit is None or name in spec.removed:
            return count_cells(frame[name], rows)
        persons = code_series(frame[spec.unit])
        every = slice(None) if rows is None else rows
        column = code_series(frame[name])
        return count_repeats(column.select(every), persons.select(every))

    sight = distinct_rows_of_frame(frame, names, pieces, seen, threads)
    looked = RowSample(tuple(frame.columns), sight, repeats)
    return find_concerns(looked, spec, generalized, threads)


def make_pseudonyms(frame: OpenFrame, spec: Spec, key: Key) -> dict[str, pa.Array]:
    """Return the pseudonyms of every row."""
    return {
        name: pseudonymize(arrow_column(frame, name), name, spec.domain_key(name, key))
        for name in spec.pseudonyms
    }


def _check_names(
    frame: OpenFrame, encoded: Encoded, spec: Spec, by: Sequence[str]
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
    check_look_alikes(spec, frame.columns)


def _shown_cells(frame: OpenFrame, spec: Spec) -> list[str]:
    """Return columns that would show something of a row that is suppressed."""
    replaced = {*spec.quasi_identifiers, *spec.pseudonyms, *spec.removed}
    return [name for name in frame.columns if name not in replaced]


def release_rows(
    frame: OpenFrame,
    spec: Spec,
    recoded: Recoded,
    leaf: NDArray[np.int32],
    hidden: dict[str, pa.Array],
    threads: int | None,
) -> Frame:
    """Return the caller's frame as it is released, suppressed rows dropped or blank.

    ``leaf`` is the class of each row among those ``recoded``, -1: it is suppressed;
    ``hidden`` has the pseudonyms. The unit is still there, to count persons by.
    """
    keep, suppressed = None, leaf < 0
    if suppressed.any():
        if spec.leaves_out:
            keep = ~suppressed
            leaf = leaf[keep]
            kept = pa.array(keep)
            hidden = {name: array.filter(kept) for name, array in hidden.items()}
        else:
            frame = blank_cells(frame, _shown_cells(frame, spec), suppressed)
            # A pseudonym would lead from a blank row to the others of its person.
            gone = pa.array(suppressed)
            hidden = {
                name: pc.if_else(gone, None, array) for name, array in hidden.items()
            }
    columns = {
        **broadcast_labels(recoded, leaf, spec, threads),
        **{name: {name: array} for name, array in hidden.items()},
    }
    # Persons are counted before the unit is taken out.
    gone = [name for name in spec.identifiers if name != spec.unit]
    released = replace_columns(frame, columns, gone, keep, threads)
    if spec.shuffle is not None:
        from core_mondrian.tables.shuffle import shuffle_rows

        hidden_unit = spec.unit if spec.is_unit_removed else None
        released = shuffle_rows(released, spec.shuffle, hidden=hidden_unit)
    made = [x for new in columns.values() for x in new]
    return clean_frame(released, made, threads)
