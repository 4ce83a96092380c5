"""attack(): every attack on a release, with the people who are in it."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import narwhals as nw
from narwhals.typing import IntoDataFrame

from core_mondrian.analysis.attacks.beside_rows import (
    Given,
    attack_beside_rows,
    code_both,
)
from core_mondrian.analysis.attacks.bounds import reconstruct
from core_mondrian.analysis.attacks.candidates import Candidates, find_candidates
from core_mondrian.analysis.attacks.columns import is_matched
from core_mondrian.analysis.attacks.downcoding import downcode
from core_mondrian.analysis.attacks.findings import Attacks, Finding
from core_mondrian.analysis.attacks.intersection import intersect
from core_mondrian.analysis.attacks.linkage import link, partial_knowledge
from core_mondrian.analysis.attacks.membership import membership_attack
from core_mondrian.analysis.attacks.order import compare_order
from core_mondrian.analysis.attacks.sensitive import attack_values
from core_mondrian.errors import SpecError, drops_context, list_names
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.files.cells import unified_texts
from core_mondrian.tables.frames import check_columns, open_frame
from core_mondrian.verification.counting import Coded, code_series, combine

Frame = nw.DataFrame[Any]


@drops_context
def attack(  # noqa: PLR0913  # a keyword for each thing that an attacker may have
    release: IntoDataFrame,
    original: IntoDataFrame,
    spec: Spec,
    *,
    known: Sequence[str] | None = None,
    sensitive: Sequence[str] = (),
    also: "IntoDataFrame | tuple[IntoDataFrame, Spec] | None" = None,
    unit: str | None = None,
    file: Path | None = None,
    manifest: Mapping[str, Any] | None = None,
) -> Attacks:
    """Attack a release with the table that it was made of.

    People are matched by what the cells show, not by class: a range, a label or a set
    that holds their value. Nothing that is returned contains a cell.

    Args:
        release: A frame, as it was released.
        original: The frame with the people who are in it.
        spec: That of the release.
        known: Columns that the attacker knows; None: the quasi-identifiers. Others
            are matched where they are released as they are.
        sensitive: Columns that the attacker is after, next to those of the models.
        also: Another release of the same people, and its spec if it has another.
        unit: Column of the original that says whose row it is; None: that of the spec,
            or an identifier that repeats.
        file: Where the release is stored; None: it is looked at as it is in memory.
        manifest: What was published with it, as plain values.

    Raises:
        SpecError: a column is not in the tables.
        MemoryLimitError: a column has too many values to be matched.
    """
    before, after = open_frame(original), open_frame(release)
    aims = tuple(dict.fromkeys((*spec.sensitive, *sensitive)))
    check_columns(after, aims)
    names = tuple(dict.fromkeys(spec.quasi_identifiers if known is None else known))
    if not names:
        raise SpecError("nothing is known of the people", hint="name a column")
    carried = _carried(names, before, after, spec)
    check_columns(before, spec.quasi_identifiers)
    everything = find_candidates(after, before, spec, carried)
    k = _fewest(spec)
    findings = [link(everything, columns, k) for columns in _knowledge(names, spec)]
    for name in aims:
        columns = [one.name for one in everything.columns if one.name != name]
        values = code_series(after[name], read=_reading(spec))
        findings += attack_values(everything.knowing(columns), name, values)
    public = everything.knowing(spec.quasi_identifiers)
    found = [membership_attack(public)]
    if also is not None:
        found.append(_intersect(public, (after, before), also, spec, aims))
    found += [reconstruct(public), downcode(public)]
    found.append(compare_order(_ways(everything, (after, before), spec, aims)))
    given = Given(after, before, spec, public, k)
    found += attack_beside_rows(given, unit, file, manifest)
    findings += [one for one in found if one is not None]
    tried = {one.name for one in findings}
    notes = tuple(_notes(before, spec, tried))
    n = public.n_people
    return Attacks(k, n, len(after), tuple(findings), notes, public.who)


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
    also: Any,  # noqa: ANN401  # a frame, or one with its spec
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


def _reading(spec: Spec) -> Callable[[Any], Any]:
    """Return what tells the values of sensitive columns, as the models count them."""
    return partial(unified_texts, null_values=spec.null_values)


def _shared_values(
    first: Frame,
    second: Frame,
    names: Sequence[str],
    read: Callable[[Any], Any],
) -> tuple[Coded, Coded] | None:
    """Return the sensitive values of both releases, numbered alike."""
    if not names:
        return None
    both = combine([code_both(first, second, name, read) for name in names])
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
