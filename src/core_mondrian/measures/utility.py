"""Utility measures: what a release still shows of the table it came from."""

import dataclasses
import json
import math
from dataclasses import dataclass
from itertools import islice
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core_mondrian.errors import InternalError
from core_mondrian.hierarchies.tree import Hierarchy
from core_mondrian.measures.cells import (
    Cells,
    Grouping,
    cells_of,
    charge,
    divide,
    group_tuples,
    own_penalty,
    penalties,
    relative_spans,
    total_by,
    values_of,
)
from core_mondrian.runtime.array_types import Floats
from core_mondrian.runtime.plain_values import JsonObject
from core_mondrian.runtime.runs import run_starts
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.encoded import EncodedColumn, EncodedTable, ReleasedClasses


@dataclass(frozen=True, slots=True)
class ColumnMeasures:
    """What is left of one quasi-identifier; None: not defined for it."""

    name: str
    kind: Literal["number", "category"]
    rilm: float | None
    """1: nothing lost, 0: as wide as the column; mean over ``rilm_rows`` rows."""
    rilm_rows: int
    """Released rows that RILM is defined for."""
    ncp: float | None
    """Share of certainty lost, by the format the column is released in."""
    weight: float
    """How much that matters in ``Measures.loss``."""
    ncp_flat: float | None
    ncp_tax: float | None
    ncp_set: float | None
    pearson: float | None
    """Numbers: correlation of original and released values, negative ones as 0."""
    nmi_v1: float | None
    """Numbers: share of the original's information that the released value keeps."""
    nmi_v2: float | None
    """Numbers: the same information as a share of the released value's own."""
    nmi_scaled_v1: float | None
    ncp_weighted: float | None = None
    """``ncp`` with each row counted by its weight, where the spec names one."""


@dataclass(frozen=True, slots=True)
class Measures:
    """Everything measured on one release; None: not defined, such as 0 of 0 rows."""

    n_rows: int
    n_released: int
    n_suppressed: int
    share_suppressed: float | None
    n_generalized: int
    """Released rows in which at least one quasi-identifier shows something else."""
    share_generalized: float | None
    n_classes: int
    smallest_class: int | None
    average_class: float | None
    """Released rows per class; not divided by k."""
    dm: int
    """Discernibility: squared class sizes, and all rows for each suppressed row."""
    dm_released: int
    ilm: float | None
    rilm: float | None
    """Mean over all released cells that have one."""
    rilm_mean: float | None
    """Mean over columns."""
    loss: float | None
    """Mean of the columns' ``ncp``, each by its weight."""
    ncp_flat: float | None
    ncp_tax: float | None
    ncp_set: float | None
    columns: tuple[ColumnMeasures, ...]
    loss_weighted: float | None = None
    """``loss`` with each row counted by its weight, where the spec names one."""
    share_suppressed_weighted: float | None = None
    """The suppressed rows' share of all weight, likewise."""

    @property
    def share_released(self) -> float | None:
        """The rows that were not suppressed, as a share of all."""
        return divide(self.n_released, self.n_rows)

    def __str__(self) -> str:
        """Return what matters most, to be read; `to_json` has everything."""
        width = max([len("column"), *(len(one.name) for one in self.columns)])
        rows = f"{self.n_released:,} of {self.n_rows:,} rows"
        lines = [
            f"{rows} in {self.n_classes:,} classes",
            f"{'column':<{width}}  kept (RILM)  lost (NCP)",
        ]
        for name, kept, lost in (
            *((one.name, one.rilm, one.ncp) for one in self.columns),
            ("all", self.rilm, self.loss),
        ):
            lines.append(f"{name:<{width}}  {_spell(kept):>11}  {_spell(lost):>10}")
        return "\n".join(lines)

    def to_json(self) -> JsonObject:
        """Return plain values; what is undefined is None."""
        plain = json.dumps(dataclasses.asdict(self), allow_nan=False)
        result: JsonObject = json.loads(plain)
        return result


class _Pairs(NamedTuple):
    """Distinct pairs of original and released number, and how many rows each."""

    x: NDArray[np.intp]
    y: NDArray[np.intp]
    x_values: Floats
    y_values: Floats
    counts: Floats


class ColumnSums(NamedTuple):
    """What is added up of one quasi-identifier over classes; see `ColumnMeasures`."""

    kept: float
    """RILM, row by row."""
    kept_rows: int
    lost: tuple[float, float, float, float]
    """By any difference, by node, by values, and by the format of the release."""

    def plus(self, other: "ColumnSums") -> "ColumnSums":
        """Return the sums over the classes of both."""
        lost = (x + y for x, y in zip(self.lost, other.lost, strict=True))
        kept, rows = self.kept + other.kept, self.kept_rows + other.kept_rows
        return ColumnSums(kept, rows, tuple(lost))  # type: ignore[arg-type]


class MeasureSums(NamedTuple):
    """What is added up over classes, and so over parts of a release as well."""

    columns: tuple[ColumnSums, ...]
    n_released: int
    n_generalized: int
    n_classes: int
    smallest_class: int | None
    dm_released: int

    def plus(self, other: "MeasureSums") -> "MeasureSums":
        """Return the sums over two parts that share no class."""
        columns = zip(self.columns, other.columns, strict=True)
        sizes = [x for x in (self.smallest_class, other.smallest_class) if x]
        return MeasureSums(
            tuple(one.plus(two) for one, two in columns),
            self.n_released + other.n_released,
            self.n_generalized + other.n_generalized,
            self.n_classes + other.n_classes,
            min(sizes) if sizes else None,
            self.dm_released + other.dm_released,
        )


class Reach(NamedTuple):
    """What classes of a part are compared with: the whole table, column by column."""

    domain: NDArray[np.int32]
    """Distinct codes, rising; missing, if any, is the last."""
    ends: NDArray[np.int32]
    """Codes of released rows, the lowest and highest among them."""


def measure(
    table: EncodedTable,
    classes: ReleasedClasses,
    spec: Spec,
    weights: Floats | None = None,
) -> Measures:
    """Measure what ``classes`` keep of ``table``, one tuple at a time.

    ``weights`` say what the rows of each tuple weigh together.
    Of the spec, the formats of categories and the weights of columns enter the loss.
    Mutual information is exact, from the joint counts of original and released values;
    the paper's authors estimate it from samples. An interval stands for its class mean;
    a class that mixes missing and present numbers stands for a blank.
    """
    grouping = group_tuples(table, classes, weights)
    cells = tuple(cells_of(table, classes, grouping))
    of_classes = finish_measures(_sum_up(cells, grouping, spec), table, spec)
    columns = tuple(
        _with_values(column, one, grouping, spec)
        for column, one in zip(of_classes.columns, cells, strict=True)
    )
    numbers = [one for one in cells if one.column.kind == "number"]
    return dataclasses.replace(
        of_classes,
        columns=columns,
        ilm=_ilm(numbers, grouping),
        loss_weighted=_loss(columns, weighted=True),
        share_suppressed_weighted=_suppressed_weight(grouping),
    )


def sum_part(
    table: EncodedTable,
    classes: ReleasedClasses,
    spec: Spec,
    reaches: tuple[Reach, ...],
) -> MeasureSums:
    """Add up what the classes of a part of a release keep; see `finish_measures`."""
    grouping = group_tuples(table, classes, None)
    cells = (
        one._replace(domain=reach.domain, ends=reach.ends)
        for one, reach in zip(cells_of(table, classes, grouping), reaches, strict=True)
    )
    return _sum_up(tuple(cells), grouping, spec)


def _sum_up(cells: tuple[Cells, ...], grouping: Grouping, spec: Spec) -> MeasureSums:
    rows = grouping.rows
    sizes, times = np.unique(rows, return_counts=True)
    pairs = zip(sizes.tolist(), times.tolist(), strict=True)  # Python's whole numbers
    return MeasureSums(
        tuple(_sum_column(one, grouping, spec) for one in cells),
        grouping.n_released,
        _count_generalized(cells, grouping),
        int(rows.size),
        int(rows.min()) if rows.size else None,
        dm_released=sum(size * size * n for size, n in pairs),
    )


def finish_measures(sums: MeasureSums, table: EncodedTable, spec: Spec) -> Measures:
    """Return the measures that sums over all classes of a release come to.

    Those that compare original and released values pair by pair are not among them.
    """
    n, released = table.n_rows, sums.n_released
    columns = tuple(
        _finish_column(one, column, n, released, spec)
        for one, column in zip(sums.columns, table.columns, strict=True)
    )
    scored = [(c.rilm, c.rilm_rows) for c in columns if c.rilm is not None]
    return Measures(
        n_rows=n,
        n_released=released,
        n_suppressed=n - released,
        share_suppressed=divide(n - released, n),
        n_generalized=sums.n_generalized,
        share_generalized=divide(sums.n_generalized, n),
        n_classes=sums.n_classes,
        smallest_class=sums.smallest_class,
        average_class=divide(released, sums.n_classes),
        dm=sums.dm_released + (n - released) * n,
        dm_released=sums.dm_released,
        ilm=None,
        rilm=divide(math.fsum(r * t for r, t in scored), sum(t for _, t in scored)),
        rilm_mean=_mean([r for r, _ in scored]),
        loss=_loss(columns),
        ncp_flat=_mean([column.ncp_flat for column in columns]),
        ncp_tax=_mean([column.ncp_tax for column in columns]),
        ncp_set=_mean([column.ncp_set for column in columns]),
        columns=columns,
    )


def tree_loss(table: EncodedTable, classes: ReleasedClasses, q: int) -> float | None:
    """Return what category ``q`` of the classes loses by the column's hierarchy."""
    grouping = group_tuples(table, classes, None)
    cells = next(islice(cells_of(table, classes, grouping), q, None))
    return charge(penalties(cells, grouping)[1], grouping)


def scale_nmi(share: float, entropy: float) -> float | None:
    """Return NMI lifted for columns that carry much information (``entropy``, nats)."""
    if share in (0.0, 1.0):  # 1 also for a constant column, whose entropy is 0
        return share
    if entropy == 0.0:
        return None
    excess = -math.expm1(-entropy * math.log(2.0)) / (entropy * math.log(2.0))
    return 1.0 - (1.0 - share) * excess


def _mean(values: list[float | None] | list[float]) -> float | None:
    defined = [value for value in values if value is not None]
    return divide(math.fsum(defined), len(defined))


def _loss(
    columns: tuple[ColumnMeasures, ...], *, weighted: bool = False
) -> float | None:
    heaviest = max(column.weight for column in columns)  # so that no sum overflows
    lost_of = [(c.ncp_weighted if weighted else c.ncp, c.weight) for c in columns]
    charged = [(ncp, weight / heaviest) for ncp, weight in lost_of if ncp is not None]
    lost = math.fsum(ncp * weight for ncp, weight in charged)
    return divide(lost, math.fsum(weight for _, weight in charged))


def _suppressed_weight(grouping: Grouping) -> float | None:
    if grouping.weights is None:
        return None
    *released, whole = grouping.weights.tolist()
    return divide(max(whole - math.fsum(released), 0.0), whole)


def _sum_column(cells: Cells, grouping: Grouping, spec: Spec) -> ColumnSums:
    is_number = cells.column.kind == "number"
    lost = relative_spans(cells, cells.ends) if is_number else _lost_size(cells)
    defined = ~np.isnan(lost)
    scored = grouping.rows[defined]
    kept = float((scored * (1.0 - lost[defined])).sum())
    losses = penalties(cells, grouping)
    every = (*losses, own_penalty(cells, losses, spec))
    sums = (float((grouping.rows * penalty).sum()) for penalty in every)
    return ColumnSums(kept, int(scored.sum()), tuple(sums))  # type: ignore[arg-type]


def _finish_column(
    sums: ColumnSums, column: EncodedColumn, n_rows: int, n_released: int, spec: Spec
) -> ColumnMeasures:
    n_suppressed = n_rows - n_released  # a suppressed row has lost everything
    flat, tax, each, own = (divide(lost + n_suppressed, n_rows) for lost in sums.lost)
    return ColumnMeasures(
        name=column.name,
        kind=column.kind,
        rilm=divide(sums.kept, sums.kept_rows),
        rilm_rows=sums.kept_rows,
        ncp=own,
        weight=spec.weight_of(column.name),
        ncp_flat=flat,
        ncp_tax=tax,
        ncp_set=each,
        pearson=None,
        nmi_v1=None,
        nmi_v2=None,
        nmi_scaled_v1=None,
    )


def _with_values(
    column: ColumnMeasures, cells: Cells, grouping: Grouping, spec: Spec
) -> ColumnMeasures:
    """Add what compares original and released values, and what rows weigh."""
    weighted = None
    if grouping.weights is not None:
        own = own_penalty(cells, penalties(cells, grouping), spec)
        weighted = _charge_weight(own, grouping)
    pairs = _pairs(cells, grouping) if column.kind == "number" else None
    v1, v2, scaled = _nmi(pairs) if pairs else (None, None, None)
    return dataclasses.replace(
        column,
        pearson=_pearson(pairs) if pairs else None,
        nmi_v1=v1,
        nmi_v2=v2,
        nmi_scaled_v1=scaled,
        ncp_weighted=weighted,
    )


def _lost_size(cells: Cells) -> Floats:
    """Return the size of each class's node over that of the root; blank: NaN."""
    nodes, sizes = _nodes(cells), cells.column.tree.sizes
    relative = sizes / sizes[0] if sizes[0] > 0.0 else np.zeros(sizes.size)
    lost: Floats = np.where(nodes < 0, np.nan, relative[nodes])
    return lost


def _nodes(cells: Cells) -> NDArray[np.int32]:
    if cells.nodes is None:
        raise InternalError(f"column {cells.column.name!r} without released nodes")
    return cells.nodes


def _charge_weight(penalties: Floats, grouping: Grouping) -> float | None:
    """Return the mean penalty of all rows by their weight, where there is one."""
    suppressed = _suppressed_weight(grouping)
    if grouping.weights is None or suppressed is None:
        return None
    shares = grouping.weights[:-1] / grouping.weights[-1]
    return math.fsum((shares * penalties).tolist()) + suppressed


def _count_generalized(cells: tuple[Cells, ...], grouping: Grouping) -> int:
    changed = np.zeros(grouping.order.size, dtype=np.bool_)
    for one in cells:
        if one.column.kind == "category":
            tree = one.column.tree
            own = np.append(tree.leaf_nodes[: one.column.n_values], -1)
            shown = _down(tree)[_nodes(one)]
            changed |= own[one.codes] != shown[grouping.owner]
        elif one.representatives is not None:
            original = values_of(one.column)[one.codes]
            number = one.representatives[grouping.owner]
            both_blank = np.isnan(original) & np.isnan(number)
            changed |= (original != number) & ~both_blank
        else:
            changed |= ((one.low != one.high) | one.is_mixed)[grouping.owner]
    return int(grouping.counts[changed].sum())


def _down(tree: Hierarchy) -> NDArray[np.intp]:
    """Return, per node, the lowest node that shows the same; last: blank."""
    down = np.append(np.arange(len(tree.labels)), -1)
    for node in np.flatnonzero(tree.n_children == 1).tolist():
        child = int(tree.first_child[node])
        if tree.labels[child] == tree.labels[node]:  # a path padded to full depth
            down[node] = child
    while (further := down[down] != down).any():  # half the way is left, each time
        down = np.where(further, down[down], down)
    return down


def _ilm(numbers: list[Cells], grouping: Grouping) -> float | None:
    """Return the mean sum of relative ranges of classes by their numbers alone.

    Classes that show the same numbers, and differ in categories only, are one:

        order    [ class 2  class 5 | class 0 | class 1  class 4 ]
        starts     0                  2         3
    """
    if not numbers or grouping.n_released == 0:
        return None
    keys = [key for one in numbers for key in _shown_numbers(one)]
    order = np.lexsort(keys)
    differs = [key[order][1:] != key[order][:-1] for key in keys]
    starts = np.append(0, np.flatnonzero(np.any(differs, axis=0)) + 1)
    rows = np.add.reduceat(grouping.rows[order], starts)
    total = 0.0
    for one in numbers:
        low, high = (
            one.low[order],
            np.where(one.is_empty, np.int32(-1), one.high)[order],
        )
        low, high = (
            np.minimum.reduceat(low, starts),
            np.maximum.reduceat(high, starts),
        )
        high[high < 0] = one.column.missing
        lost = relative_spans(
            one._replace(low=low, high=high), np.concatenate((low, high))
        )
        total += float((rows * np.nan_to_num(lost)).sum())
    return total / grouping.n_released


def _shown_numbers(cells: Cells) -> tuple[NDArray[np.intp], ...]:
    """Return keys that are equal where classes show the same number."""
    if cells.representatives is not None:
        return (np.unique(cells.representatives, return_inverse=True)[1],)
    blank = cells.has_missing
    return (
        np.where(blank, -1, cells.low).astype(np.intp),
        np.where(blank, -1, cells.high).astype(np.intp),
    )


def _released_numbers(cells: Cells, grouping: Grouping) -> Floats:
    """Return the number each class stands for; blank: NaN."""
    if cells.representatives is not None:
        return cells.representatives
    values = values_of(cells.column)
    amounts = values[cells.codes] * grouping.counts
    sums = total_by(grouping.owner, amounts, grouping.rows.size)
    # A missing value makes the whole sum NaN; clipped, a class of one value keeps it.
    means: Floats = np.clip(sums / grouping.rows, values[cells.low], values[cells.high])
    return means


def _pairs(cells: Cells, grouping: Grouping) -> _Pairs | None:
    """Count pairs over released rows with an original; blanks become the mean."""
    present = cells.codes < cells.column.missing
    if not present.any():
        return None
    owner, counts = grouping.owner[present], grouping.counts[present]
    rows = total_by(owner, counts, grouping.rows.size)
    filled = _impute(_released_numbers(cells, grouping), rows)
    shown, y = np.unique(filled, return_inverse=True)
    keys = cells.codes[present] * np.int64(shown.size) + y[owner]
    order = np.argsort(keys)  # ties are added up as whole numbers: any order will do
    ordered = keys[order]
    starts = run_starts(ordered)
    joint = np.add.reduceat(counts[order], starts).astype(float)
    # Tuples of a population have no rows; they are in the class, but not released.
    starts, joint = starts[joint > 0], joint[joint > 0]
    if not joint.size:
        return None
    x, y = np.divmod(ordered[starts], shown.size)
    return _Pairs(x, y, values_of(cells.column)[x], shown[y], joint)


def _impute(shown: Floats, rows: Floats) -> Floats:
    """Put the mean number where it is blank, unless it is blank in all ``rows``."""
    blank = np.isnan(shown)
    seen = ~blank & (rows > 0.0)
    if not blank.any() or not seen.any():
        return shown
    known = shown[seen]
    mean = (known * rows[seen]).sum() / rows[seen].sum()
    return np.where(blank, np.clip(mean, known.min(), known.max()), shown)


def _pearson(pairs: _Pairs) -> float | None:
    """Return the correlation, at least 0; None: the original alone is constant."""
    # NaN compares as false, so a column that is blank throughout counts as constant.
    x_varies = bool(pairs.x_values.min() < pairs.x_values.max())
    y_varies = bool(pairs.y_values.min() < pairs.y_values.max())
    if not y_varies:
        same = pairs.x_values[0] == pairs.y_values[0]
        return float(same and not x_varies)
    if not x_varies:
        return None
    x = _centred(pairs.x_values, pairs.counts)
    y = _centred(pairs.y_values, pairs.counts)
    xy = float((pairs.counts * x * y).sum())
    xx, yy = (float((pairs.counts * one * one).sum()) for one in (x, y))
    return min(1.0, max(0.0, xy / math.sqrt(xx * yy)))


def _centred(values: Floats, counts: Floats) -> Floats:
    """Return differences from the mean, scaled so that squares stay in range."""
    centred = values - (counts * values).sum() / counts.sum()
    scaled: Floats = centred / np.abs(centred).max()
    return scaled


def _nmi(pairs: _Pairs) -> tuple[float | None, float | None, float | None]:
    """Return MI over the entropy of the original, of the released, and the scaled."""
    n = float(pairs.counts.sum())
    in_x, in_y = total_by(pairs.x, pairs.counts), total_by(pairs.y, pairs.counts)
    h_x, h_y = _entropy(in_x, n), _entropy(in_y, n)
    # Equal products of whole numbers round alike: independent columns give exactly 0.
    ratios = (pairs.counts * n) / (in_x[pairs.x] * in_y[pairs.y])
    information = math.fsum((pairs.counts / n * np.log(ratios)).tolist())
    if pairs.counts.size == np.count_nonzero(in_y):  # the released one says all
        information = h_x
    elif pairs.counts.size == np.count_nonzero(in_x):  # and the other way round
        information = h_y
    v1, v2 = _share(information, h_x), _share(information, h_y)
    return v1, v2, None if v1 is None else scale_nmi(v1, h_x)


def _entropy(counts: Floats, n: float) -> float:
    seen = counts[counts > 0.0]
    return math.fsum((seen / n * np.log(n / seen)).tolist())


def _share(information: float, entropy: float) -> float | None:
    if entropy == 0.0:
        return 1.0 if information == 0.0 else None
    return min(1.0, max(0.0, information / entropy))


def _spell(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
