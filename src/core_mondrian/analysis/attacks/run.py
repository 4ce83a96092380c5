"""attack(): every attack on a release, with the people who are in it."""

from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Sequence,
)
from functools import partial
from pathlib import Path
from typing import Any, Final

from narwhals.typing import IntoDataFrame

from core_mondrian.analysis.attacks.beside_rows import (
    Given,
    attack_beside_rows,
)
from core_mondrian.analysis.attacks.bounds import reconstruct
from core_mondrian.analysis.attacks.candidates import Candidates, find_candidates
from core_mondrian.analysis.attacks.columns import code_together, is_matched
from core_mondrian.analysis.attacks.downcoding import downcode
from core_mondrian.analysis.attacks.findings import (
    Attacks,
    Finding,
    strange_notes,
)
from core_mondrian.analysis.attacks.intersection import intersect
from core_mondrian.analysis.attacks.linkage import link, partial_knowledge
from core_mondrian.analysis.attacks.membership import membership_attack
from core_mondrian.analysis.attacks.order import compare_order
from core_mondrian.analysis.attacks.sensitive import attack_values
from core_mondrian.errors import SpecError, drops_context, list_names
from core_mondrian.release.result import AnyRelease, Release
from core_mondrian.runtime.array_types import ArrowArray
from core_mondrian.runtime.plain_values import JsonMapping
from core_mondrian.runtime.progress import Progress, Steps, watched
from core_mondrian.spec.declaration import Spec, as_spec
from core_mondrian.tables.files.cells import unified_texts
from core_mondrian.tables.frames import OpenFrame, check_columns, open_frame
from core_mondrian.verification.counting import Coded, code_series, combine

Frame = OpenFrame


@drops_context
@watched
def attack(  # noqa: PLR0913  # a keyword for each thing that an attacker may have
    release: IntoDataFrame | AnyRelease,
    original: IntoDataFrame,
    spec: Spec | str | Iterable[str] | None = None,
    *,
    known: Sequence[str] | None = None,
    sensitive: Sequence[str] = (),
    also: "IntoDataFrame | tuple[IntoDataFrame, Spec] | None" = None,
    unit: str | None = None,
    file: Path | None = None,
    manifest: JsonMapping | None = None,
    progress: Progress | None = None,
    **keys: Any,  # noqa: ANN401
) -> Attacks:
    """Attack a release with the table that it was made of.

    People are matched by what the cells show, not by class: a range, a label or a set
    that holds their value. Nothing that is returned contains a cell.

    Args:
        release: A frame, as it was released; or what `anonymize` returned.
        original: The frame with the people who are in it.
        spec: That of the release, or its quasi-identifiers with ``keys`` such as
            ``k=5``; what `anonymize` returned knows its own.
        known: Columns that the attacker knows; None: the quasi-identifiers. Others
            are matched where they are released as they are.
        sensitive: Columns that the attacker is after, besides those of the models.
        also: Another release of the same people, and its spec if it has another.
        unit: Column of the original that says whose row it is; None: that of the spec,
            or an identifier that repeats.
        file: Where the release is stored; None: it is looked at as it is in memory.
        manifest: What was published with it, as plain values.
        progress: Called with how much is done; True shows a bar.
        **keys: Keys of a spec.

    Raises:
        SpecError: a column is not in the tables.
        MemoryLimitError: a column has too many values to be matched.
    """
    frame, spec = _released(release, spec, keys)
    before, after = open_frame(original), open_frame(frame)
    aims = tuple(dict.fromkeys((*spec.sensitive, *sensitive)))
    check_columns(after, aims)
    names = tuple(dict.fromkeys(spec.quasi_identifiers if known is None else known))
    if not names:
        raise SpecError("nothing is known of the people", hint="name a column")
    carried = _carried(names, before, after, spec)
    check_columns(before, spec.quasi_identifiers)
    knowledge, k = list(_knowledge(names, spec)), _fewest(spec)
    end = Steps(progress, "attacking", _shares(knowledge, aims, also)).end
    everything = end(find_candidates(after, before, spec, carried))
    findings = [end(link(everything, columns, k)) for columns in knowledge]
    for name in aims:
        columns = [one.name for one in everything.columns if one.name != name]
        values = code_series(after[name], read=_reading(spec))
        findings += end(attack_values(everything.knowing(columns), name, values))
    public = everything.knowing(spec.quasi_identifiers)
    results = [end(membership_attack(public))]
    if also is not None:
        results.append(end(_intersect(public, (after, before), also, spec, aims)))
    results += [end(reconstruct(public)), end(downcode(public))]
    results.append(end(compare_order(_ways(everything, (after, before), spec, aims))))
    given = Given(after, before, spec, public, k)
    results += end(attack_beside_rows(given, unit, file, manifest))
    findings += [one for one in results if one is not None]
    tried = {one.name for one in findings}
    strange = public.strange_rows()
    notes = (*strange_notes(strange, len(after)), *_notes(before, spec, tried))
    n = public.n_people
    return Attacks(k, n, len(after), tuple(findings), notes, public.who, strange)


def _shares(
    knowledge: Sequence[object], aims: Sequence[str], also: object
) -> list[float]:
    """Return how the time divides: seconds of 200,000 census rows on one machine."""
    linkage = [2.5, *(0.02 for _ in knowledge[1:])]
    values = [2.4 for _ in aims]
    intersection = [] if also is None else [4.0]
    return [0.5, *linkage, *values, 4.0, *intersection, 2.0, 10.4, 1.5, 6.9]


def _released(
    release: Any,  # noqa: ANN401
    asked: Spec | str | Iterable[str] | None,
    keys: JsonMapping,
) -> tuple[Any, Spec]:
    """Return the frame of a release, and the spec that it was made by."""
    made = release if isinstance(release, Release) else None
    if asked is None and not keys:
        asked = None if made is None else made.spec
    if asked is None and not keys:
        raise SpecError(
            "an attack needs the spec of the release",
            hint="attack(release, original) with what anonymize returned, or "
            "attack(frame, original, ['age', 'sex'], k=5)",
        )
    return release if made is None else made.data, as_spec(asked, keys)


def _fewest(spec: Spec) -> int:
    """Return how many rows a person should fit, whatever the models ask for."""
    return max(spec.min_rows, 2)  # who fits one row alone is found


def _carried(
    names: Sequence[str], before: Frame, after: Frame, spec: Spec
) -> tuple[str, ...]:
    """Return the known columns that are no quasi-identifiers."""
    others = tuple(name for name in names if name not in spec.quasi_identifiers)
    check_columns(before, others)
    if gone := [name for name in others if name not in after.columns]:
        raise SpecError(
            f"not in the release: {list_names(gone)}",
            hint="what is not released helps nobody who knows it",
        )
    return others


def _knowledge(names: Sequence[str], spec: Spec) -> Iterator[tuple[str, ...]]:
    """Yield what is tried: all quasi-identifiers, and all or some of ``names``."""
    every = tuple(spec.quasi_identifiers)
    yield every
    for columns in partial_knowledge(names):
        if set(columns) != set(every):
            yield columns


def _ways(
    everything: Candidates,
    tables: tuple[Frame, Frame],
    spec: Spec,
    aims: Sequence[str],
) -> list[Candidates]:
    """Return how rows are compared: by what is known, and by what is learnt too."""
    known = {one.name for one in everything.columns}
    more = [name for name in aims if name in tables[1].columns and name not in known]
    if not more:
        return [everything]
    carried = [name for name in known if name not in spec.quasi_identifiers]
    return [everything, find_candidates(*tables, spec, [*sorted(carried), *more])]


def _intersect(
    first: Candidates,
    tables: tuple[Frame, Frame],
    also: object,  # a frame, or one with its spec
    spec: Spec,
    aims: Sequence[str],
) -> Finding:
    after, before = tables
    other, others_spec = also if isinstance(also, tuple) else (also, spec)
    frame = open_frame(other)
    check_columns(frame, aims)
    check_columns(before, others_spec.quasi_identifiers)
    second = find_candidates(frame, before, others_spec, ())
    k = min(_fewest(spec), _fewest(others_spec))
    shared = _shared_values(after, frame, aims, _reading(spec))
    return intersect(first, second, shared, k)


def _reading(spec: Spec) -> Callable[[ArrowArray], ArrowArray]:
    """Return what tells the values of sensitive columns, as the models count them."""
    return partial(unified_texts, null_values=spec.null_values)


def _shared_values(
    first: Frame,
    second: Frame,
    names: Sequence[str],
    read: Callable[[ArrowArray], ArrowArray],
) -> tuple[Coded, Coded] | None:
    """Return the sensitive values of both releases, numbered alike."""
    if not names:
        return None
    both = combine([code_together((first, second), name, read) for name in names])
    n = len(first)
    return both.select(slice(None, n)), both.select(slice(n, None))


_UNTRIED: Final = {
    "homogeneity": "no sensitive column is named: homogeneity, background knowledge "
    "and skewness were not tried",
    "intersection": "one release is given: intersection was not tried",
    "membership": "everybody is like somebody in the table: membership was not tried",
    "reconstruction": "no number is released as a range: reconstruction was not tried",
    "split tuples": "no class holds lent rows and few others: split tuples were not "
    "tried",
    "manifest": "no manifest is given, or the original has not all columns of the "
    "spec: guesses against its fields were not tried",
}
"""By attack: why it was not tried."""


def _notes(before: Frame, spec: Spec, tried: Collection[str]) -> Iterator[str]:
    yield from (note for name, note in _UNTRIED.items() if name not in tried)
    vague = [
        name for name in spec.quasi_identifiers if not is_matched(before, name, spec)
    ]
    if vague:
        yield (
            f"{list_names(vague)} are released as single numbers, by which nobody "
            "was matched"
        )
    if spec.unit is not None and spec.unit not in before.columns:
        yield (
            f"the original has no column {spec.unit!r}: rows were counted, not persons"
        )
    if spec.unit is None:
        yield "no unit is named: rows were counted, and a person may have several"
