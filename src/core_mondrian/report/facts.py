"""Facts: every figure that a report of a release shows, as one plain value.

They hold counts, shares and what the release itself shows. A value of the original is
in them only if the release shows it in as many rows as a class needs, or if it is the
name of a group that was asked for.
"""

import inspect
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import combinations

import numpy as np

from core_mondrian.measures.groups import GroupMeasures
from core_mondrian.measures.quality import Shortfall
from core_mondrian.measures.risk import (
    Records,
    Risk,
    Uniqueness,
    measure_risk,
    measure_uniqueness,
    pick,
    table_records,
    units_of,
)
from core_mondrian.models.base import PrivacyModel
from core_mondrian.release.manifests import finite
from core_mondrian.release.release_tree import SizeBin, size_bins
from core_mondrian.release.result import AnyRelease
from core_mondrian.report.axes import Axis, axis_of, count_steps, is_exact
from core_mondrian.report.cuts import TreeFacts, describe_tree
from core_mondrian.report.relations import MOST_COLUMNS, Relation, find_relations
from core_mondrian.report.views import Integers, View, views_of
from core_mondrian.runtime.plain_values import JsonObject
from core_mondrian.verification.counting import Coded

_MOST_PAIRED = 8
"""Columns that are tried together for who is unique: those with most values."""
_MOST_TRIED = 2_000_000
"""Records that are counted for larger sets of them, over all sets that are tried."""
_DIGITS = 4
"""Shares are rounded, so that the last bits of a sum change no byte of a report."""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A privacy model that was asked for, and what was found by recounting."""

    name: str
    meaning: str
    """One plain sentence."""
    reached: float | None
    """The strongest parameter that holds; None: there is no class that could fail."""


@dataclass(frozen=True, slots=True)
class Step:
    """Rows that were generalized so far in a column."""

    text: str
    rows: int
    share: float


@dataclass(frozen=True, slots=True)
class Bin:
    """Shares of rows with some values, before and after."""

    text: str
    before: float
    exact: float
    """Of the released rows: those that show one value."""
    general: float
    """Those that count for it because they show a range, a label or a set."""
    rows: int
    """Of the original; 0: fewer than a class needs."""
    suppressed: int
    """Those of them that are suppressed; 0: fewer than a class needs."""


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """What became of one quasi-identifier."""

    name: str
    kind: str
    released_as: str
    rilm: float | None
    ncp: float | None
    weight: float
    steps: tuple[Step, ...]
    """How far it was generalized, over all rows; suppressed ones last."""
    bins: tuple[Bin, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """All figures of a report."""

    n_rows: int
    n_released: int
    n_suppressed: int
    n_blanked: int
    budget: int
    k: int
    """Rows (persons) that a class needs."""
    counts_persons: bool
    has_population: bool
    policy: str
    models: tuple[ModelFacts, ...]
    before: Risk
    after: Risk
    uniqueness: tuple[Uniqueness, ...]
    """Of each column, of pairs, of larger sets, of all together."""
    warnings: tuple[JsonObject, ...]
    groups: dict[str, tuple[GroupMeasures, ...]]
    balance: JsonObject | None
    loss: float | None
    bound: float | None
    """What no release of the table can lose less than, if that was asked for."""
    measures: JsonObject
    shortfalls: tuple[Shortfall, ...]
    columns: tuple[ColumnFacts, ...]
    sizes: tuple[SizeBin, ...]
    relations: tuple[Relation, ...]
    funnel: JsonObject
    tree: TreeFacts
    manifest: JsonObject

    def to_json(self) -> JsonObject:
        """Return plain values; what is undefined is None."""
        plain: JsonObject = finite(asdict(self))
        return plain


def collect_facts(release: AnyRelease) -> Facts:
    """Compute every figure of the report; nothing here depends on a clock."""
    views = list(views_of(release))
    before, after = table_records(release._encoded.table), _released(release, views)  # noqa: SLF001
    spec, k = release.spec, release.spec.min_rows
    measures = release.measures().to_json()
    balance = release.balance
    axes: dict[str, Axis] = {}
    columns = tuple(_column_facts(release, views, axes))
    risks = measure_risk(before, k), measure_risk(after, k)
    return Facts(
        n_rows=release.n_rows,
        n_released=release.n_rows - release.n_suppressed,
        n_suppressed=release.n_suppressed,
        n_blanked=release.n_blanked,
        budget=release.budget,
        k=k,
        counts_persons=spec.unit is not None,
        has_population=spec.population is not None,
        policy=spec.policy.name,
        models=tuple(_model_facts(release)),
        before=risks[0],
        after=risks[1],
        uniqueness=(
            *_find_unique(before, after, spec.quasi_identifiers, k),
            Uniqueness.of_all(spec.quasi_identifiers, *risks),
        ),
        warnings=tuple(one.to_json() for one in release.warnings),
        groups={name: release.by_group(name) for name in release._groups},  # noqa: SLF001
        balance=None if balance is None else balance.to_json(),
        loss=release.measures().loss,
        bound=None if (known := release.known_bound) is None else known.loss,
        measures=measures,
        shortfalls=release.shortfalls(),
        columns=columns,
        sizes=size_bins(release.class_sizes),
        relations=find_relations(release, views, axes),
        funnel=release.funnel.to_json(),
        tree=describe_tree(release, views),
        manifest=release.manifest(),
    )


def released_risk(release: AnyRelease) -> Risk:
    """Return how likely people are to be found in a release."""
    views = list(views_of(release))
    return measure_risk(_released(release, views), release.spec.min_rows)


def _released(release: AnyRelease, views: list[View]) -> Records:
    """Return the released rows by what they show."""
    pieces, classes = release._pieces, release._recoded.classes  # noqa: SLF001
    columns = [
        Coded(view.index.astype(np.int64) + 1, len(view.labels.shown) + 1)
        for view in views
    ]
    population = _fitting(release)
    units = units_of(pieces)
    if units is None:
        return Records(tuple(columns), classes.rows, None, population)
    there = classes.of_tuple >= 0
    owner = classes.of_tuple[there]
    spread = tuple(Coded(c.codes[owner], c.n_codes) for c in columns)
    return Records(spread, pieces.counts[there], units.select(there))


def _fitting(release: AnyRelease) -> Integers | None:
    """Return how many of the population are in each class; None: it is unknown.

    They are those whose tuple is in the class. That others fit as well is possible, so
    the risk is this or less.
    """
    table, classes = release._encoded.table, release._recoded.classes  # noqa: SLF001
    if table.present is None or table.n_tuples != classes.of_tuple.size:
        return None
    there = classes.of_tuple >= 0
    counted = np.bincount(
        classes.of_tuple[there],
        weights=table.counts[there],
        minlength=classes.n_classes,
    )
    return counted.astype(np.int64)


def _model_facts(release: AnyRelease) -> Iterator[ModelFacts]:
    for model, result in zip(
        release.spec.models, release.verification.models, strict=True
    ):
        yield ModelFacts(result.name, meaning_of(model), finite(float(result.reached)))


def meaning_of(model: PrivacyModel) -> str:
    """Return the first sentence of what a model says of itself, with its parameters."""
    text = inspect.getdoc(type(model)) or ""
    text = " ".join(text.split("\n\n", 1)[0].split())
    for name in getattr(model, "__dataclass_fields__", {}):
        value = getattr(model, name)
        if isinstance(value, int | float | str):
            text = text.replace(f"``{name}``", str(value))
    return text.replace("``", "")


def _find_unique(
    before: Records, after: Records, names: tuple[str, ...], k: int
) -> Iterator[Uniqueness]:
    """Yield whom columns, pairs and larger sets single out; not all together."""

    def uniqueness_of(chosen: tuple[int, ...]) -> Uniqueness:
        columns = [names[i] for i in chosen]
        return measure_uniqueness(pick(before, chosen), pick(after, chosen), columns, k)

    by_values = sorted(range(len(names)), key=lambda i: -before.columns[i].n_codes)
    tried = sorted(by_values[:_MOST_PAIRED])
    for i in range(len(names) if len(names) > 1 else 0):
        yield uniqueness_of((i,))
    pairs = [uniqueness_of(two) for two in combinations(tried, 2) if len(names) > 2]
    yield from pairs
    if len(names) > 3:
        best = max(pairs, key=lambda one: (one.unique_before, one.small_before))
        first = tuple(names.index(name) for name in best.columns)
        yield from map(uniqueness_of, _grow_set(before, first, tried))


def _grow_set(
    before: Records, first: tuple[int, ...], tried: list[int]
) -> Iterator[tuple[int, ...]]:
    """Yield sets that take in, one by one, the column that singles out most."""
    n = len(tried)
    if before.rows.size * (n - 1) * (n - 2) // 2 > _MOST_TRIED:
        return
    chosen = first
    while len(chosen) < min(n, len(before.columns) - 1):
        unique = {
            i: int(np.count_nonzero(before.sizes((*chosen, i)) == 1))
            for i in tried
            if i not in chosen
        }
        chosen = tuple(sorted((*chosen, max(unique, key=lambda i: unique[i]))))
        yield chosen


def _column_facts(
    release: AnyRelease, views: list[View], axes: dict[str, Axis]
) -> Iterator[ColumnFacts]:
    """Yield what became of each column; ``axes`` keeps those that are to be related.

    An axis is as long as there are classes, so that not all of them are kept.
    """
    spec = release.spec
    for view, measured in zip(views, release.measures().columns, strict=True):
        name, axis = view.name, axis_of(view)
        if len(axes) < MOST_COLUMNS:
            axes[name] = axis
        is_number = measured.kind == "number"
        steps = list(count_steps(view))
        if release.n_suppressed:
            steps.append(("suppressed", release.n_suppressed))
        whole = max(release.n_rows, 1)
        yield ColumnFacts(
            name=name,
            kind=measured.kind,
            released_as=spec.format_of(name) if is_number else spec.categories_of(name),
            rilm=measured.rilm,
            ncp=measured.ncp,
            weight=measured.weight,
            steps=tuple(Step(text, n, n / whole) for text, n in steps),
            bins=tuple(_fill_bins(view, axis)),
        )


def _fill_bins(view: View, axis: Axis) -> Iterator[Bin]:
    counted, lost = (_count_bins(view, axis, n) for n in (view.before, view.suppressed))
    exact = is_exact(view) | ((view.index < 0) & view.cells.is_empty)
    released = max(int(view.rows.sum()), 1)
    sides = [
        counted / max(int(view.before.sum()), 1),
        (view.rows * exact) @ axis.weights / released,
        (view.rows * ~exact) @ axis.weights / released,
    ]
    for i, text in enumerate(axis.texts):
        before, exactly, general = (round(float(side[i]), _DIGITS) for side in sides)
        if before or exactly or general:
            yield Bin(text, before, exactly, general, int(counted[i]), int(lost[i]))


def _count_bins(view: View, axis: Axis, rows: Integers) -> Integers:
    """Return the rows in each bin; a few are not told from none."""
    counted = np.bincount(axis.of_code, weights=rows, minlength=len(axis.texts))
    counted[counted < view.least_rows] = 0
    return counted.astype(np.int64)
