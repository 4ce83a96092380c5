"""Recount a series of releases from its files alone: nobody stands out by comparing.

Whatever unions, differences and intersections of the releases are formed, the result is
made of parts: rows of one cohort that are in the same releases. So it is enough that
every part passes the models. A cohort appears once, loses rows, and never gets
any (a cohort is called by the release it appears in, so none comes back); hence parts
are what leaves a cohort from one release to the next, and what stays:

    release 1   a a a a a a a a a a a a
    release 2   a a a a a a a . . . . .      5 left, 7 stayed
    release 3   . . . . . . .                7 left
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core_mondrian.errors import PrivacyViolation, SpecError
from core_mondrian.models.base import PrivacyModel
from core_mondrian.runtime.array_types import Integers
from core_mondrian.spec.declaration import Spec
from core_mondrian.verification.counting import Coded, code_column, combine, compress
from core_mondrian.verification.counting import first_rows as first_rows_of
from core_mondrian.verification.verify import (
    ModelResult,
    Verification,
    open_release,
    verify,
    verify_beside,
    verify_counts,
)

_KEEP: Final = "do not give this release away"
_NAME: Final = re.compile(r"r([1-9]\d{0,17})c[1-9]\d{0,17}")
_PART: Final = "core_mondrian:part"
_OWN: Final = tuple(f"core_mondrian:{name}" for name in ("row", "person", "cohort"))
_ROW, _PERSON, _COHORT = _OWN
_NOWHERE: Final = "nowhere"
_HERE: Final = "here"
_COMPARED: Final = frozenset({"TCloseness", "DeltaDisclosure", "BetaLikeness"})


class Numbered(NamedTuple):
    """A release of a series."""

    number: int
    table: pa.Table
    n_blank: int = 0
    """Rows without any cell that were taken out: those of who has left."""

    def without_blank(self, spec: Spec) -> "Numbered":
        """Return the same without such rows, if the spec says that there may be any."""
        if spec.suppressed != "blank" or not self.table.num_columns:
            return self
        columns = (np.asarray(column.is_null()) for column in self.table.columns)
        is_blank = np.logical_and.reduce(list(columns))
        table = self.table.filter(pa.array(~is_blank))
        return Numbered(self.number, table, self.n_blank + int(is_blank.sum()))


@dataclass(frozen=True, slots=True)
class SeriesVerification:
    """What a recount of a series found."""

    n_releases: int
    n_rows: int
    """Rows of all releases together."""
    n_cohorts: int
    n_parts: int
    """Sets of rows that a reader of all releases can
    distinguish from others."""
    smallest_part: int
    """Rows of the smallest of them; 0 if there is none."""
    models: tuple[ModelResult, ...]

    def to_json(self) -> dict[str, object]:
        """Return plain values; an empty series reaches nothing (None)."""
        return {
            "n_releases": self.n_releases,
            "n_rows": self.n_rows,
            "n_cohorts": self.n_cohorts,
            "n_parts": self.n_parts,
            "smallest_part": self.smallest_part,
            "models": [
                {
                    "name": x.name,
                    "reached": x.reached if np.isfinite(x.reached) else None,
                }
                for x in self.models
            ],
        }


def verify_series(
    releases: Iterable[Numbered], spec: Spec, cohort: str
) -> SeriesVerification:
    """Check all releases of a series, which come in their order.

    Classes are compared with the first release where a model compares them. Persons
    are not in the files, so rows are counted.

    Raises:
        PrivacyViolation: some rows are narrowed down to fewer than the models ask.
        SpecError: the first release is missing and a model needs it; or columns are.
    """
    verifications: list[Verification] = []
    seen: set[str] = set()
    before: Numbered | None = None
    known: Mapping[str, tuple[pa.Table, Integers]] = {}
    n_rows = n_releases = 0
    for release in releases:
        n_rows += len(release.table)
        release = release.without_blank(spec)  # noqa: PLW2901
        if before is None:
            known = _first_values(release, spec)
        seen |= _new_cohorts(before, release, cohort)
        verifications.append(verify_next(before, release, spec, cohort, known))
        n_releases += 1
        before = release
    return _joined(verifications, spec, (n_releases, n_rows, len(seen)))


def verify_next(
    before: Numbered | None,
    after: Numbered,
    spec: Spec,
    cohort: str,
    known: Mapping[str, tuple[pa.Table, Integers]],
) -> Verification:
    """Check one release against the one before it: what leaves, stays and comes.

    ``known`` has the values of the first release, where a model compares with them.

    Raises:
        PrivacyViolation: a part fails, or the releases are not of one series.
    """
    if any(map(_NAME.fullmatch, spec.null_values)):
        raise SpecError(
            "null_values has names of cohorts, which would count as one",
            hint="a cohort is called r, its release, c, and a number",
        )
    after = after.without_blank(spec)
    before = None if before is None else before.without_blank(spec)
    _new_cohorts(before, after, cohort)
    both = after.table if before is None else _beside(before.table, after.table)
    n_before = 0 if before is None else len(before.table)
    columns = [both[name] for name in both.column_names]
    coded = [*map(code_column, columns), *_spellings(columns)]
    keys = compress(combine(coded))
    n_then = np.bincount(keys.codes[:n_before], minlength=keys.n_codes)
    n_now = np.bincount(keys.codes[n_before:], minlength=keys.n_codes)
    rows = both.take(pa.array(first_rows_of(keys)))
    _check_cells(rows, spec, cohort)
    old = pa.array([]) if before is None else before.table[cohort].unique()
    is_old = np.asarray(pc.is_in(rows[cohort], value_set=pc.cast(old, pa.string())))
    if (n_now > n_then)[is_old].any():
        raise PrivacyViolation(
            f"rows of release {after.number} came into cohorts of an earlier one, or "
            "have changed there",
            hint=_KEEP,
        )
    left = np.where(is_old, n_then - n_now, 0)
    _check_blank(before, after, int(left.sum()))
    counted = _part_table(rows, {"left": left, "shown": n_now})
    return _verify_parts(*counted, _part_spec(spec, cohort), known)


def _spellings(columns: Iterable[pa.ChunkedArray]) -> Iterable[Coded]:
    """Yield how cells are written that `code_column` does not distinguish.

    A row that is written anew stands out among those that are as they were.
    """
    for column in columns:
        if pa.types.is_nested(column.type):  # of floats, maybe
            texts = pa.array([repr(cell) for cell in column.to_pylist()], pa.string())
            yield code_column(pa.chunked_array([texts]))
        if not pa.types.is_floating(column.type):
            continue
        numbers = column.to_numpy()
        is_nan = np.isnan(numbers) & ~np.asarray(column.is_null())
        is_minus = (numbers == 0) & np.signbit(numbers)
        codes = is_nan + 2 * is_minus.astype(np.int64)
        if codes.any():
            yield Coded(codes, 3)


def verify_moves(
    before: pa.Table | None,
    after: pa.Table,
    spec: Spec,
    known: Mapping[str, tuple[pa.Table, Integers]],
) -> None:
    """Check what files do not show: who left for where, and whose rows they are.

    Both tables say which row of which person is in which cohort, with which values.
    Rows that leave a cohort for good, or for each new one, are a part of their own, as
    they were shown before; persons are counted in what is shown, too.

    Raises:
        PrivacyViolation: rows of too few persons leave, stay or come.
    """
    before = after.slice(0, 0) if before is None else before
    keys = combine([code_column(both) for both in _columns(before, after)]).codes
    n = len(before)
    left = before.filter(pa.array(~np.isin(keys[:n], keys[n:])))
    place = pc.index_in(left[_ROW], value_set=after[_ROW])
    whither = pc.fill_null(after[_COHORT].take(place), _NOWHERE)
    parts = [left.append_column(_PART, whither)]
    if spec.unit is not None:
        here = pa.array([_HERE] * len(after), pa.string())
        parts.append(after.append_column(_PART, here))
    table = pa.concat_tables(parts)
    if not len(table):
        return
    unit = None if spec.unit is None else _PERSON
    wanted = Spec((_COHORT, _PART), spec.models, unit=unit)
    if known:
        verify_beside(table, wanted, known, budget=0)
    else:
        verify(table, wanted, budget=0)


def _columns(before: pa.Table, after: pa.Table) -> Iterable[pa.ChunkedArray]:
    for name in (_ROW, _COHORT):
        kind = after[name].type
        yield pa.chunked_array([*before[name].chunks, *after[name].chunks], kind)


def _beside(before: pa.Table, after: pa.Table) -> pa.Table:
    if set(before.column_names) != set(after.column_names):
        raise SpecError(
            "the releases have different columns", hint="name files of one series"
        )
    tables = [_plain(before), _plain(after.select(before.column_names))]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException:
        raise SpecError(
            "a column is of another type in the release before",
            hint="name files of one series, all as they were written",
        ) from None


def _plain(table: pa.Table) -> pa.Table:
    """Return a table without dictionaries, which differ from file to file."""
    for place, item in enumerate(table.schema):
        if pa.types.is_dictionary(item.type):
            column = table.column(place).cast(item.type.value_type)
            table = table.set_column(place, item.name, column)
    return table


def _new_cohorts(before: Numbered | None, after: Numbered, cohort: str) -> set[str]:
    """Return the cohorts that the release before does not have; their names say so."""
    names = _cohorts(after, cohort)
    old = set() if before is None else _cohorts(before, cohort)
    first = 0 if before is None else before.number
    for name in names - old:
        match = _NAME.fullmatch(name)
        if match is None or not first < int(match[1]) <= after.number:
            raise PrivacyViolation(
                f"release {after.number} has a cohort that the one before lacks, and "
                "that is not named after a release in between",
                hint=_KEEP,
            )
    return names - old


def _cohorts(release: Numbered, cohort: str) -> set[str]:
    if cohort not in release.table.column_names:
        raise SpecError(
            f"release {release.number} has no column {cohort!r}",
            hint="name releases of a series, as they were written",
        )
    names = release.table[cohort].unique().to_pylist()
    if not all(isinstance(name, str) for name in names):
        raise PrivacyViolation(
            f"rows of release {release.number} are in no cohort", hint=_KEEP
        )
    return set(names)


def _check_cells(rows: pa.Table, spec: Spec, cohort: str) -> None:
    """Refuse cohorts that show different things, now or over time."""
    _, shown = open_release(rows, spec)
    names = [cohort, *(name for each in shown.values() for name in each)]
    columns = [code_column(rows[name]) for name in names]
    n_shown = compress(combine(columns)).n_codes
    if n_shown != compress(Coded(columns[0].codes, columns[0].n_codes)).n_codes:
        raise PrivacyViolation(
            "rows of one cohort show different quasi-identifiers", hint=_KEEP
        )


def _check_blank(before: Numbered | None, after: Numbered, n_left: int) -> None:
    """Refuse blank rows that nobody has left: they would be of rows never shown."""
    if before is None and after.number > 1:
        return
    n_more = after.n_blank - (0 if before is None else before.n_blank)
    is_next = before is None or after.number == before.number + 1
    if n_more < 0 or (is_next and n_more > n_left):
        raise PrivacyViolation(
            f"release {after.number} has other blank rows than those of who left",
            hint=_KEEP,
        )


def _part_table(
    rows: pa.Table, parts: Mapping[str, Integers]
) -> tuple[pa.Table, Integers]:
    """Return distinct rows with the part they are in, and how often each occurs."""
    tables, counts = [], []
    for number, n_rows in enumerate(parts.values()):
        held = np.flatnonzero(n_rows)
        some = rows.take(pa.array(held))
        # A number: a text could be one of the spec's null values, as any other.
        which = pa.array(np.full(held.size, number))
        tables.append(some.append_column(_PART, which))
        counts.append(n_rows[held])
    return pa.concat_tables(tables), np.concatenate(counts).astype(np.int64)


def _part_spec(spec: Spec, cohort: str) -> Spec:
    return Spec((cohort, _PART), spec.models, null_values=spec.null_values)


def _verify_parts(
    table: pa.Table,
    counts: Integers,
    spec: Spec,
    known: Mapping[str, tuple[pa.Table, Integers]],
) -> Verification:
    if known:
        return verify_beside(table, spec, known, budget=0, counts=counts)
    return verify_counts(table, counts, spec, budget=0)


def first_values(table: pa.Table, spec: Spec) -> dict[str, tuple[pa.Table, Integers]]:
    """Return the values of the first release that models compare classes with."""
    columns = {str(model.column) for model in spec.models if _is_compared(model)}
    values = {}
    for name in columns:
        counted = (
            _plain(table.select([name])).group_by(name).aggregate([([], "count_all")])
        )
        rows = counted.column("count_all").to_numpy().astype(np.int64)
        values[name] = counted.select([name]), rows
    return values


def _first_values(
    release: Numbered, spec: Spec
) -> Mapping[str, tuple[pa.Table, Integers]]:
    if release.number != 1 and any(map(_is_compared, spec.models)):
        raise SpecError(
            "classes are compared with the first release, which is not here",
            hint="name it as well",
        )
    return first_values(release.table, spec)


def _is_compared(model: PrivacyModel) -> bool:
    """Return whether a model compares a class with a table; one's own may."""
    kind = type(model)
    is_ours = kind.__module__.startswith("core_mondrian.models.")
    return model.column is not None and (not is_ours or kind.__name__ in _COMPARED)


def _joined(
    by_bucket: Sequence[Verification], spec: Spec, counted: tuple[int, int, int]
) -> SeriesVerification:
    held = [one for one in by_bucket if one.n_classes]
    models = []
    for place, model in enumerate(spec.models):
        worst = min if model.limits().at_least > -np.inf else max
        reached = [one.models[place].reached for one in held or by_bucket]
        models.append(ModelResult(model.title, worst(reached, default=np.inf)))
    return SeriesVerification(
        *counted,
        n_parts=sum(one.n_classes for one in held),
        smallest_part=min((one.smallest_class for one in held), default=0),
        models=tuple(models),
    )
