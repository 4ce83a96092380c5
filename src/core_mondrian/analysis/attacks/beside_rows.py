"""What comes with the rows: our code, storage, the manifest, and whose they are."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from core_mondrian.analysis.attacks.candidates import Candidates
from core_mondrian.analysis.attacks.columns import code_together
from core_mondrian.analysis.attacks.findings import Finding
from core_mondrian.analysis.attacks.leftovers import find_leftovers
from core_mondrian.analysis.attacks.owners import find_owners
from core_mondrian.analysis.attacks.persons import count_persons
from core_mondrian.analysis.attacks.physical_order import follow_storage
from core_mondrian.analysis.attacks.split_tuples import Released, name_lone_rows
from core_mondrian.analysis.attacks.stored import stored_in_file, stored_in_frame
from core_mondrian.errors import DataError
from core_mondrian.runtime.array_types import Integers
from core_mondrian.runtime.plain_values import JsonMapping
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.frames import (
    OpenColumn,
    OpenFrame,
    arrow_column,
    check_columns,
)
from core_mondrian.verification.counting import Coded, code_series, combine, compress

Frame = OpenFrame


@dataclass(frozen=True)
class Given:
    """Both tables, and how people match."""

    after: Frame
    before: Frame
    spec: Spec
    public: Candidates
    """By the quasi-identifiers alone."""
    k: int

    @property
    def shared(self) -> list[str]:
        """The columns that both tables have as they are."""
        spec = self.spec
        changed = {*spec.quasi_identifiers, *spec.pseudonyms, spec.class_id}
        kept = [name for name in self.after.columns if name not in changed]
        return [name for name in kept if name in self.before.columns]


def attack_beside_rows(
    given: Given,
    unit: str | None,
    file: Path | None,
    manifest: JsonMapping | None,
) -> list[Finding | None]:
    """Try what needs more than the cells of the released rows; see `attack`."""
    owner = find_owners(given.after, given.before, given.public, given.shared)
    findings = [
        _count_persons(given, owner, unit or _find_unit(given.before, given.spec)),
        _name_lone_rows(given, owner),
        *_attack_storage(given, file),
    ]
    if manifest is not None:
        findings.append(_confirm_guesses(given, owner, manifest))
    return findings


def _find_unit(before: Frame, spec: Spec) -> str | None:
    """Return the column that says whose row it is: named as such, or repeating."""
    if spec.unit is not None:
        return spec.unit if spec.unit in before.columns else None
    names = (*spec.identifiers, *spec.pseudonyms)
    return next((n for n in names if n in before.columns and _repeats(before[n])), None)


def _repeats(column: OpenColumn) -> bool:
    coded = code_series(column)
    codes = coded.codes[~coded.missing]
    return np.unique(codes).size < codes.size


def _count_persons(given: Given, owner: Integers, name: str | None) -> Finding | None:
    if name is None:
        return None
    check_columns(given.before, [name])
    persons = compress(code_series(given.before[name]))
    return count_persons(given.public, persons, owner, given.k, name)


def _name_lone_rows(given: Given, owner: Integers) -> Finding | None:
    after, spec = given.after, given.spec
    carried = [name for name in spec.carried(after.columns) if name != spec.class_id]
    values = [code_series(after[name]) for name in spec.sensitive]
    nothing = Coded(np.zeros(len(after), dtype=np.int64), 1)
    rows = Released(
        carried=dict(_readable(after, carried)),
        sensitive=compress(combine(values)) if values else nothing,
        owner=owner,
    )
    return name_lone_rows(given.public, rows, given.k)


def _readable(frame: Frame, names: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Yield the columns that Arrow can hold."""
    for name in names:
        with suppress(DataError):
            yield name, arrow_column(frame, name)


def _attack_storage(given: Given, file: Path | None) -> Iterator[Finding | None]:
    after, before = given.after, given.before
    stored = stored_in_frame(after) if file is None else stored_in_file(file)
    carried = [name for name, _ in _readable(before, given.shared)]
    yield follow_storage(stored, after, before, carried)
    yield find_leftovers(stored, after, before)


def _confirm_guesses(
    given: Given, owner: Integers, manifest: JsonMapping
) -> Finding | None:
    # It makes releases, and loads the compiler: the other attacks get by without.
    from core_mondrian.analysis.attacks.published import Tables, confirm_guesses

    after, before, spec = given.after, given.before, given.spec
    left_out = np.zeros(0, dtype=np.int64)
    if (owner[given.public.class_of >= 0] >= 0).all():
        left_out = np.setdiff1d(np.arange(len(before)), owner)
    if not set(spec.sensitive) <= {*before.columns}:
        return None
    values = {name: code_together((after, before), name) for name in spec.sensitive}
    tables = Tables(before, spec, given.public, values, left_out)
    return confirm_guesses(tables, manifest)
