import json
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core_mondrian import KAnonymity, Spec
from core_mondrian.errors import InternalError
from core_mondrian.hierarchies.tree import Hierarchy, flat, from_paths
from core_mondrian.measures.utility import Measures, measure, scale_nmi
from core_mondrian.tables.encoded import (
    EncodedColumn,
    EncodedTable,
    ReleasedClasses,
    SensitiveColumn,
)

T1 = from_paths(
    [("a", "ab", "*"), ("b", "ab", "*"), ("c", "cd", "*"), ("d", "cd", "*")]
)
T2 = from_paths(
    [("x", "xy", "*"), ("y", "xy", "*"), ("z", "zw", "*"), ("w", "zw", "*")]
)
vars(T2)["sizes"] = np.array([4.0, 3.0, 1.0, 0.0, 0.0, 0.0, 0.0])
PADDED = from_paths([("a", "a", "*"), ("b", "bc", "*"), ("c", "bc", "*")])
TREES = (T1, PADDED, flat(["p", "q", "r"]), flat(["only"]))


@dataclass(frozen=True)
class Numbers:
    """Original numbers row by row; shown ones class by class, or intervals."""

    originals: Sequence[float | None]
    shown: Sequence[float | None] | None = None


@dataclass(frozen=True)
class Labels:
    """Original labels row by row; shown nodes class by class (-1: blank)."""

    tree: Hierarchy
    originals: Sequence[str | None]
    nodes: Sequence[int]


Column = Numbers | Labels
Groups = Sequence[int | None]


def labels(
    tree: Hierarchy, originals: Sequence[str | None], shown: Sequence[str | None]
) -> Labels:
    nodes = [-1 if label is None else tree.labels.index(label) for label in shown]
    return Labels(tree, originals, nodes)


def build(
    columns: Sequence[Column], groups: Groups
) -> tuple[EncodedTable, ReleasedClasses]:
    """Encode rows; a sensitive column keeps equal rows of different classes apart."""
    encoded, codes = [], []
    for q, column in enumerate(columns):
        one, of_row = encode(f"q{q}", column)
        encoded.append(one)
        codes.append(of_row)
    codes.append([-1 if group is None else group for group in groups])
    counts = Counter(zip(*codes, strict=True))
    tuples = sorted(counts)
    n_classes = max((group + 1 for group in groups if group is not None), default=0)
    matrix = np.array(tuples, dtype=np.int32).reshape(len(tuples), len(codes))
    table = EncodedTable(
        tuple(encoded),
        (SensitiveColumn("s", n_classes + 1),),
        matrix,
        np.array([counts[one] for one in tuples], dtype=np.int64),
        len(groups),
    )
    classes = ReleasedClasses(
        matrix[:, -1].copy(),
        np.array([groups.count(c) for c in range(n_classes)], dtype=np.int64),
        tuple(shown_nodes(column, n_classes) for column in columns),
        tuple(shown_numbers(column, n_classes) for column in columns),
    )
    return table, classes


def encode(name: str, column: Column) -> tuple[EncodedColumn, list[int]]:
    present = [value for value in column.originals if value is not None]
    domain: list[object]
    if isinstance(column, Numbers):
        domain = sorted(set(present))
        values = np.array(domain, dtype=float)
        one = EncodedColumn(name, "number", len(domain), values, None)
    else:
        domain = list(column.tree.leaves)
        one = EncodedColumn(name, "category", len(domain), np.empty(0), column.tree)
    code = {value: position for position, value in enumerate(domain)}
    return one, [code.get(value, len(domain)) for value in column.originals]


def shown_nodes(column: Column, n_classes: int) -> np.ndarray | None:
    if isinstance(column, Numbers):
        return None
    return np.array(column.nodes[:n_classes], dtype=np.int32)


def shown_numbers(column: Column, n_classes: int) -> np.ndarray | None:
    if isinstance(column, Labels) or column.shown is None:
        return None
    shown = [math.nan if value is None else value for value in column.shown]
    return np.array(shown[:n_classes], dtype=float)


def spec_of(n_columns: int, **more: Any) -> Spec:
    names = tuple(f"q{q}" for q in range(n_columns))
    return Spec(names, (KAnonymity(2),), **more)


def measured(columns: Sequence[Column], groups: Groups, **more: Any) -> Measures:
    return measure(*build(columns, groups), spec_of(len(columns), **more))


def of_one(column: Column, groups: Groups, **more: Any) -> Measures:
    return measured([column], groups, **more)


@pytest.mark.parametrize(
    ("originals", "groups", "rilm", "ilm"),
    [
        pytest.param(
            [[1, 3], [1, 1], [None, None]], [0, 0], [0, 1, None], 1.0, id="one"
        ),
        pytest.param([[1, 3], [1, 3]], [0, 0], [0, 0], 2.0, id="both"),
        pytest.param([[1, 3], [2, 3]], [0, 1], [1, 1], 0.0, id="unchanged"),
        pytest.param(
            [[1, 1, None, None], [1, 1, 2, 2]], [0, 0, 1, 1], [1, 1], 0.0, id="missing"
        ),
        pytest.param([[1, 3]], [None, None], [None], None, id="nothing released"),
    ],
)
def test_number_rilm_and_ilm(
    originals: list[list[float | None]],
    groups: Groups,
    rilm: list[float | None],
    ilm: float | None,
) -> None:
    result = measured([Numbers(column) for column in originals], groups)

    assert [column.rilm for column in result.columns] == rilm
    assert result.ilm == ilm


@pytest.mark.parametrize(
    ("tree", "shown", "expected"),
    [
        pytest.param(T1, ["ab", "ab"], 1 - 9 / 99, id="to the parent"),
        pytest.param(T1, ["*", "*"], 0.0, id="to the root"),
        pytest.param(T1, ["ab", "ab", "cd", "cd", "a", "b"], 0.939, id="T1 six"),
        pytest.param(T2, ["xy", "xy", "zw", "zw", "x", "y"], 0.667, id="T2 six"),
        pytest.param(T1, ["ab", "ab", "a", "b"], 0.955, id="T1 four"),
        pytest.param(T2, ["xy", "xy", "x", "y"], 0.625, id="T2 four"),
        pytest.param(T1, ["ab", "ab", "*", None, "a"], 0.705, id="T1 blank"),
        pytest.param(T2, ["x", "xy", "zw", None, None], 0.667, id="T2 blank"),
        pytest.param(T1, [None, None], None, id="all blank"),
        pytest.param(flat(["only"]), ["only"], 1.0, id="one leaf"),
    ],
)
def test_category_rilm(
    tree: Hierarchy, shown: list[str | None], expected: float | None
) -> None:
    originals = [tree.leaves[0]] * len(shown)

    result = of_one(labels(tree, originals, shown), list(range(len(shown))))

    assert result.columns[0].rilm == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize(
    ("groups", "dm", "average"),
    [
        pytest.param([0] * 3, 9, 3.0, id="one class"),
        pytest.param([0] * 3 + [1] * 2, 13, 2.5, id="two classes"),
        pytest.param([None] * 4, 16, None, id="all suppressed"),
        pytest.param([0] * 3 + [None] * 2, 19, 3.0, id="some suppressed"),
        pytest.param([0] * 5, 25, 5.0, id="five"),
        pytest.param([0] * 5 + [1] * 6, 61, 5.5, id="eleven in two"),
        pytest.param([], 0, None, id="empty"),
    ],
)
def test_discernibility_and_average_class(
    groups: Groups, dm: int, average: float | None
) -> None:
    result = of_one(Numbers([None] * len(groups)), groups)

    assert (result.dm, result.average_class) == (dm, average)


def test_suppressed_rows_are_a_share_of_all_rows() -> None:
    result = of_one(Numbers([1, 1, 1, 2, 2]), [0, 0, 0, None, None])

    assert (result.share_released, result.share_suppressed) == (0.6, 0.4)
    assert (result.n_rows, result.n_released, result.n_suppressed) == (5, 3, 2)
    assert result.dm_released == 9


@pytest.mark.parametrize(
    ("originals", "shown", "pearson", "v1", "v2"),
    [
        pytest.param([2.5] * 3, [2.5] * 3, 1, 1, 1, id="constant unchanged"),
        pytest.param([2.5] * 3, [3.5] * 3, 0, 1, 1, id="constant changed"),
        pytest.param([1, 2, 3, 4, 5], [5, 4, 3, 2, 1], 0, 1, 1, id="reversed"),
        pytest.param([1, 2, 3, 4, 5], [3] * 5, 0, 0, 1, id="to a constant"),
        pytest.param([1] * 5, [1, 2, 3, 4, 5], None, 1, 0, id="from a constant"),
        pytest.param([1, 2, 3], [None] * 3, 0, 0, 1, id="all blank"),
        pytest.param([2.5] * 3, [None] * 3, 0, 1, 1, id="constant, all blank"),
        pytest.param([1, 2, 3], [1, 2, 3], 1, 1, 1, id="unchanged"),
        pytest.param([0.1, 0.7, 0.3], [0.1, 0.7, 0.3], 1, 1, 1, id="fractions"),
        pytest.param([None, None], [None, None], None, None, None, id="all missing"),
        pytest.param([None, 1], [5, None], 0, 1, 1, id="blank where present"),
        pytest.param([1, 2, 4], [1, None, 4], 0.9819805, 1, 1, id="blank as the mean"),
    ],
)
def test_pearson_and_nmi(
    originals: list[float | None],
    shown: list[float | None],
    pearson: float | None,
    v1: float | None,
    v2: float | None,
) -> None:
    column = of_one(Numbers(originals, shown), list(range(len(shown)))).columns[0]

    assert column.pearson == pytest.approx(pearson)
    assert (column.nmi_v1, column.nmi_v2) == (v1, v2)
    assert column.nmi_scaled_v1 == v1


def test_halves_of_a_column_give_the_published_pearson() -> None:
    result = of_one(Numbers([1] * 5 + [2] * 15), [0] * 10 + [1] * 10)

    assert result.columns[0].pearson == pytest.approx(0.5773503)


def test_a_columns_information_does_not_depend_on_other_columns() -> None:
    first = Numbers([1, 2, 3, 4], [1.5, 1.5, 3.5, 3.5])
    alone = of_one(first, [0, 1, 2, 3]).columns[0]

    beside = measured([first, Numbers([9, 7, None, 5])], [0, 1, 2, 3]).columns[0]

    assert beside == alone


@pytest.mark.parametrize(
    ("share", "entropy", "expected"),
    [
        pytest.param(0.5, 1.0, 0.6393262398, id="one nat"),
        pytest.param(0.5, 2.0, 0.7294946798, id="two nats"),
        pytest.param(0.9, 3.5, 0.9624234969, id="more"),
        pytest.param(0.0, 2.0, 0.0, id="nothing kept"),
        pytest.param(1.0, 0.0, 1.0, id="constant"),
        pytest.param(0.5, 0.0, None, id="no entropy"),
    ],
)
def test_nmi_is_scaled_by_entropy(
    share: float, entropy: float, expected: float | None
) -> None:
    assert scale_nmi(share, entropy) == pytest.approx(expected, abs=1e-10)


def test_independent_columns_share_exactly_nothing() -> None:
    originals = [x for x in range(7) for _ in range(3)]
    shown = [0.1, 0.2, 0.3] * 7

    column = of_one(Numbers(originals, shown), list(range(21))).columns[0]

    assert (column.nmi_v1, column.nmi_v2, column.nmi_scaled_v1) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("n", range(3, 40))
def test_information_that_is_kept_whole_is_exactly_one(n: int) -> None:
    coarse = [float(math.isqrt(row)) for row in range(n)]
    fine = [float(row) for row in range(n)]
    classes = list(range(n))

    told = of_one(Numbers(coarse, fine), classes).columns[0]
    telling = of_one(Numbers(fine, coarse), classes).columns[0]

    assert told.nmi_v1 == 1.0
    assert telling.nmi_v2 == 1.0


def test_ilm_joins_classes_that_show_a_blank() -> None:
    originals = [0, None, 4, None, 8]

    result = of_one(Numbers(originals), [0, 0, 1, 1, 2])

    assert result.ilm == pytest.approx(4 / 5 * 4 / 8)


def test_ncp_compares_with_the_whole_table_and_rilm_with_the_released_rows() -> None:
    result = of_one(Numbers([0, 1, 2, 10]), [0, 0, 1, None]).columns[0]

    assert result.ncp_flat == pytest.approx((2 * 1 / 10 + 0 + 1) / 4)
    assert result.rilm == pytest.approx((2 * 1 / 2 + 1) / 3)


def test_widths_beyond_the_largest_float_are_measured() -> None:
    result = of_one(Numbers([-1.5e308, 0.0, 1.5e308]), [0, 0, 1])

    assert result.columns[0].rilm == pytest.approx(2 / 3)
    assert result.columns[0].pearson is not None
    assert 0.0 < result.columns[0].pearson < 1.0


def test_a_class_of_one_fraction_keeps_it_exactly() -> None:
    result = of_one(Numbers([0.1] * 3 + [0.7] * 7), [0] * 3 + [1] * 7)

    assert result.columns[0].pearson == 1.0
    assert result.n_generalized == 0


def test_an_interval_class_that_mixes_missing_and_present_is_generalized() -> None:
    result = of_one(Numbers([5, None, 7, None]), [0, 0, 1, 2])

    assert (result.n_generalized, result.share_generalized) == (2, 0.5)


def test_a_label_repeated_to_pad_a_path_is_no_generalization() -> None:
    result = of_one(Labels(PADDED, ["a", "b"], [1, 2]), [0, 1])

    assert [PADDED.labels[node] for node in (1, 2)] == ["a", "bc"]
    assert result.n_generalized == 1


def test_squared_sizes_are_exact_whole_numbers() -> None:
    big = 4_000_000_001
    column = EncodedColumn("q", "number", 1, np.array([1.0]), None)
    codes = np.zeros((1, 1), dtype=np.int32)
    table = EncodedTable((column,), (), codes, np.array([big]), big)
    rows = np.array([big], dtype=np.int64)
    zero = np.zeros(1, dtype=np.int32)

    classes = ReleasedClasses(zero, rows, (None,), (None,))

    result = measure(table, classes, spec_of(1))

    assert result.dm == big * big


def test_classes_of_another_table_are_an_internal_error() -> None:
    table, classes = build([Numbers([1, 2])], [0, 0])

    with pytest.raises(InternalError, match="not those of the table"):
        measure(table, classes._replace(rows=classes.rows + 1), spec_of(1))


def test_a_category_needs_its_hierarchy_and_its_nodes() -> None:
    table, classes = build([labels(T1, ["a"], ["a"])], [0])
    bare = replace(table, columns=(replace(table.columns[0], hierarchy=None),))

    with pytest.raises(InternalError, match="without a hierarchy"):
        measure(bare, classes, spec_of(1))
    with pytest.raises(InternalError, match="without released nodes"):
        measure(table, classes._replace(nodes=(None,)), spec_of(1))


LOST_AS_LABELS = (1 / 4, 1 / 2, 1 / 2)
LOST_AS_SETS = (1 / 4, 1 / 3, 1 / 4)


@pytest.mark.parametrize(
    ("asked", "lost", "loss"),
    [
        pytest.param({}, LOST_AS_LABELS, 5 / 12, id="labels"),
        pytest.param({"categories": "set"}, LOST_AS_SETS, 5 / 18, id="sets"),
        pytest.param(
            {"categories_by_column": {"q1": "set"}},
            (1 / 4, 1 / 3, 1 / 2),
            13 / 36,
            id="a set and a label",
        ),
        pytest.param(
            {"weights": {"q0": 3}}, LOST_AS_LABELS, 7 / 20, id="one weighs three"
        ),
        pytest.param(
            {"categories": "set", "weights": {"q1": 0.5, "q2": 2.0}},
            LOST_AS_SETS,
            11 / 42,
            id="weighted sets",
        ),
        pytest.param(
            {"weights": {"q0": 1e308, "q1": 1e308}},
            LOST_AS_LABELS,
            3 / 8,
            id="weights whose sum overflows",
        ),
        pytest.param(
            {"weights": dict.fromkeys(("q0", "q1", "q2"), 7)},
            LOST_AS_LABELS,
            5 / 12,
            id="equal weights",
        ),
    ],
)
def test_loss_is_that_of_each_format_by_weight(
    asked: dict[str, Any], lost: tuple[float, ...], loss: float
) -> None:
    columns = [
        Numbers([0, 2, 4, 4]),
        labels(T1, ["a", "b", "c", "d"], ["ab", "cd"]),
        labels(flat(["p", "q", "r"]), ["p", "q", "r", "r"], ["*", "r"]),
    ]

    result = measured(columns, [0, 0, 1, 1], **asked)

    assert [column.ncp for column in result.columns] == pytest.approx(list(lost))
    assert result.loss == pytest.approx(loss)


def test_suppressed_rows_have_lost_everything_whatever_the_weights() -> None:
    columns = [Numbers([1, 1, 5]), labels(T1, ["a", "a", "b"], ["a"])]

    result = measured(columns, [0, 0, None], weights={"q0": 9}, categories="set")

    assert result.loss == pytest.approx(1 / 3)


def test_json_has_none_for_what_is_undefined() -> None:
    result = measured([Numbers([]), Labels(T1, [], [])], []).to_json()

    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert result["n_rows"] == 0
    assert result["share_suppressed"] is None
    assert result["columns"][0]["name"] == "q0"


def ratio(part: float | Fraction, whole: float | Fraction) -> float | None:
    return float(Fraction(part) / Fraction(whole)) if whole else None


def span(values: Sequence[float]) -> Fraction:
    return Fraction(max(values)) - Fraction(min(values))


class Oracle:
    """Every measure, row by row, from the definitions."""

    def __init__(self, columns: Sequence[Column], groups: Groups, spec: Spec) -> None:
        self.columns, self.groups, self.n = columns, groups, len(groups)
        self.spec = spec
        self.kept = [row for row in range(self.n) if groups[row] is not None]
        self.members: dict[int, list[int]] = defaultdict(list)
        for row in self.kept:
            self.members[self.groups[row]].append(row)

    def present(self, column: Column, rows: Sequence[int]) -> list[Any]:
        found = (column.originals[row] for row in rows)
        return [value for value in found if value is not None]

    def mates(self, row: int) -> list[int]:
        return self.members[self.groups[row]]

    def shown(self, column: Column, row: int) -> object:
        group = self.groups[row]
        if isinstance(column, Labels):
            node = column.nodes[group]
            return None if node < 0 else column.tree.labels[node]
        if column.shown is not None:
            return column.shown[group]
        values = self.present(column, self.mates(row))
        if len(values) < len(self.mates(row)):
            return None
        return (min(values), max(values)) if min(values) < max(values) else values[0]

    def differs(self, column: Column, row: int) -> bool:
        if isinstance(column, Numbers) and column.shown is None:
            return len({column.originals[mate] for mate in self.mates(row)}) > 1
        return self.shown(column, row) != column.originals[row]

    def n_generalized(self) -> int:
        return sum(
            any(self.differs(column, row) for column in self.columns)
            for row in self.kept
        )

    def dm(self) -> int:
        sizes = [len(self.mates(row)) for row in self.kept]
        return sum(sizes) + (self.n - len(self.kept)) * self.n

    def rilm_cells(self, column: Column) -> list[Fraction]:
        cells = []
        for row in self.kept:
            if isinstance(column, Labels):
                node, sizes = column.nodes[self.groups[row]], column.tree.sizes
                if node >= 0:
                    whole = Fraction(sizes[0])
                    lost = Fraction(sizes[node]) / whole if whole else Fraction(0)
                    cells.append(1 - lost)
            elif values := self.present(column, self.mates(row)):
                whole = span(self.present(column, self.kept))
                cells.append(1 - (span(values) / whole if whole else 0))
        return cells

    def ncp(self, column: Column, kind: str) -> float | None:
        total = Fraction(self.n - len(self.kept))
        for row in self.kept:
            values = [column.originals[mate] for mate in self.mates(row)]
            if len(set(values)) > 1:
                total += self.penalty(column, set(values), kind)
        return ratio(total, self.n)

    def penalty(self, column: Column, values: set[Any], kind: str) -> Fraction:
        if isinstance(column, Numbers):
            everything = self.present(column, range(self.n))
            return Fraction(1) if None in values else span(values) / span(everything)
        if kind == "flat":
            return Fraction(1)
        if kind == "set":
            return Fraction(len(values) - 1, len(set(column.originals)) - 1)
        if None in values:
            return Fraction(1)
        tree = column.tree
        leaves = [tree.leaves.index(value) for value in values]
        covering = [
            int(high - low + 1)
            for low, high in zip(tree.low, tree.high, strict=True)
            if low <= min(leaves) and max(leaves) <= high
        ]
        return Fraction(min(covering), len(tree.leaves))

    def ilm(self) -> float | None:
        numbers = [column for column in self.columns if isinstance(column, Numbers)]
        if not numbers or not self.kept:
            return None
        alike = defaultdict(list)
        for row in self.kept:
            alike[tuple(self.shown(column, row) for column in numbers)].append(row)
        total = Fraction(0)
        for column in numbers:
            everything = self.present(column, self.kept)
            if not everything or span(everything) == 0:
                continue
            for rows in alike.values():
                if values := self.present(column, rows):
                    total += len(rows) * span(values) / span(everything)
        return ratio(total, len(self.kept))

    def pairs(self, column: Numbers) -> list[tuple[Fraction, Fraction | None]]:
        rows = [row for row in self.kept if column.originals[row] is not None]
        shown: list[Fraction | None] = []
        for row in rows:
            value: Any = self.shown(column, row)
            if value is not None and column.shown is None:
                values = self.present(column, self.mates(row))
                value = sum(map(Fraction, values)) / len(values)
            shown.append(None if value is None else Fraction(value))
        known = [value for value in shown if value is not None]
        mean = sum(known) / len(known) if known else None
        filled = [mean if value is None else value for value in shown]
        originals = [Fraction(column.originals[row]) for row in rows]
        return list(zip(originals, filled, strict=True))

    def pearson(self, column: Numbers) -> float | None:
        pairs = self.pairs(column)
        xs, ys = {x for x, _ in pairs}, {y for _, y in pairs}
        if not pairs or (len(xs) == 1 and len(ys) > 1):
            return None
        if len(ys) == 1:
            return float(xs == ys)
        n = len(pairs)
        x_mean, y_mean = sum(x for x, _ in pairs) / n, sum(y for _, y in pairs) / n
        xy = sum((x - x_mean) * (y - y_mean) for x, y in pairs)
        xx = sum((x - x_mean) ** 2 for x, _ in pairs)
        yy = sum((y - y_mean) ** 2 for _, y in pairs)
        return max(0.0, float(xy) / math.sqrt(float(xx * yy)))

    def nmi(self, column: Numbers) -> list[float | None]:
        pairs = self.pairs(column)
        if not pairs:
            return [None, None, None]
        n, xs, ys = (
            len(pairs),
            Counter(x for x, _ in pairs),
            Counter(y for _, y in pairs),
        )
        mi = sum(
            c / n * math.log(Fraction(c * n, xs[x] * ys[y]))
            for (x, y), c in Counter(pairs).items()
        )
        h_x, h_y = (-sum(c / n * math.log(c / n) for c in m.values()) for m in (xs, ys))
        v1 = mi / h_x if len(xs) > 1 else 1.0
        v2 = mi / h_y if len(ys) > 1 else 1.0
        if v1 == 0.0 or len(xs) == 1:
            return [v1, v2, v1]
        return [v1, v2, 1 - (1 - v1) * (1 - 2**-h_x) / (h_x * math.log(2))]

    def own_ncp(self, q: int) -> float | None:
        kinds = {"label": "tax", "set": "set"}
        return self.ncp(self.columns[q], kinds[self.spec.categories_by_column[f"q{q}"]])

    def loss(self) -> float | None:
        lost = [self.own_ncp(q) for q in range(len(self.columns))]
        if not self.n:
            return None
        weights = [Fraction(self.spec.weights[f"q{q}"]) for q in range(len(lost))]
        total = sum(w * Fraction(one) for w, one in zip(weights, lost, strict=True))
        return ratio(total, sum(weights))

    def column(self, q: int) -> list[Any]:
        column = self.columns[q]
        cells = self.rilm_cells(column)
        row: list[Any] = [
            f"q{q}",
            "number" if isinstance(column, Numbers) else "category",
        ]
        row += [ratio(sum(cells), len(cells)), len(cells)]
        row += [self.own_ncp(q), self.spec.weights[f"q{q}"]]
        row += [self.ncp(column, kind) for kind in ("flat", "tax", "set")]
        if isinstance(column, Numbers):
            return [*row, self.pearson(column), *self.nmi(column)]
        return [*row, None, None, None, None]


def mean(values: Sequence[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return sum(defined) / len(defined) if defined else None


FORMATS = st.sampled_from(["label", "set"])
WEIGHTS = st.sampled_from([1.0, 0.25, 3, 1e-9, 1e300])


@st.composite
def releases(
    draw: st.DrawFn,
) -> tuple[list[Column], list[int | None], dict[str, Any]]:
    n = draw(st.integers(0, 12))
    raw = draw(st.lists(st.none() | st.integers(0, 3), min_size=n, max_size=n))
    used = sorted({group for group in raw if group is not None})
    groups = [None if group is None else used.index(group) for group in raw]
    columns: list[Column] = []
    # Multiples of 1 … 12, so that the mean of any class is a whole number.
    numbers = st.none() | st.integers(-2, 3).map(lambda x: 27720.0 * x)
    for _ in range(draw(st.integers(1, 3))):
        if draw(st.booleans()):
            some = draw(st.sampled_from([numbers, st.none(), st.just(55440.0)]))
            originals = draw(st.lists(some, min_size=n, max_size=n))
            shown = st.none() | st.lists(numbers, min_size=4, max_size=4)
            columns.append(Numbers(originals, draw(shown)))
        else:
            tree = draw(st.sampled_from(TREES))
            label = st.none() | st.sampled_from(tree.leaves)
            node = st.integers(-1, len(tree.labels) - 1)
            originals = draw(st.lists(label, min_size=n, max_size=n))
            nodes = draw(st.lists(node, min_size=4, max_size=4))
            columns.append(Labels(tree, originals, nodes))
    names = [f"q{q}" for q in range(len(columns))]
    asked: dict[str, Any] = {
        "categories_by_column": dict.fromkeys(names, FORMATS),
        "weights": dict.fromkeys(names, WEIGHTS),
    }
    return columns, groups, {k: draw(st.fixed_dictionaries(asked[k])) for k in asked}


@settings(deadline=None, max_examples=60)
@given(releases())
def test_every_measure_is_what_its_definition_says_row_by_row(
    release: tuple[list[Column], list[int | None], dict[str, Any]],
) -> None:
    columns, groups, asked = release
    oracle = Oracle(columns, groups, spec_of(len(columns), **asked))
    n, kept = len(groups), len(oracle.kept)
    sizes = [len(rows) for rows in oracle.members.values()]

    result = measured(columns, groups, **asked)

    assert (result.n_rows, result.n_released) == (n, kept)
    assert result.n_suppressed == n - kept
    assert result.share_suppressed == ratio(n - kept, n)
    assert result.n_generalized == oracle.n_generalized()
    assert result.share_generalized == ratio(oracle.n_generalized(), n)
    assert result.n_classes == len(sizes)
    assert result.smallest_class == min(sizes, default=None)
    assert result.average_class == ratio(kept, len(sizes))
    assert result.dm == oracle.dm()
    assert result.dm_released == sum(size**2 for size in sizes)
    assert result.ilm == pytest.approx(oracle.ilm())
    cells = [cell for column in columns for cell in oracle.rilm_cells(column)]
    assert result.rilm == pytest.approx(ratio(sum(cells), len(cells)))
    expected = [oracle.column(q) for q in range(len(columns))]
    assert result.rilm_mean == pytest.approx(mean([row[2] for row in expected]))
    assert result.ncp_flat == pytest.approx(mean([row[6] for row in expected]))
    assert result.ncp_tax == pytest.approx(mean([row[7] for row in expected]))
    assert result.ncp_set == pytest.approx(mean([row[8] for row in expected]))
    assert result.loss == pytest.approx(oracle.loss())
    found = [list(column.values()) for column in result.to_json()["columns"]]
    assert [row.pop() for row in found] == [None] * len(columns)  # nothing is weighted
    for found_row, expected_row in zip(found, expected, strict=True):
        assert found_row[:2] == expected_row[:2]
        for one, other in zip(found_row[2:], expected_row[2:], strict=True):
            assert one == pytest.approx(other, abs=1e-9)
