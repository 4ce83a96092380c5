"""The synthesizer against definitions written out with NumPy and plain Python."""

from collections import Counter
from itertools import combinations, product
from math import log

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from core_mondrian.datasets import census
from core_mondrian.errors import DataError, SpecError
from experiments.synthesizer import BINS, _find_bins, fit

COLUMNS = ["age", "sex", "marital_status", "occupation", "workclass", "capital_gain"]
ROWS = 6000


@pytest.fixture(scope="module")
def people() -> pa.Table:
    return census(ROWS).select(COLUMNS)


@pytest.fixture(scope="module")
def made(people: pa.Table) -> pa.Table:
    return fit(people).sample(4 * ROWS, seed=3)


def shares(table: pa.Table, *names: str) -> dict[tuple[object, ...], float]:
    cells = zip(*(table[name].to_pylist() for name in names), strict=True)
    return {key: n / table.num_rows for key, n in Counter(cells).items()}


def tvd(one: pa.Table, other: pa.Table, *names: str) -> float:
    a, b = shares(one, *names), shares(other, *names)
    return sum(abs(a.get(key, 0.0) - b.get(key, 0.0)) for key in a.keys() | b) / 2


def bootstrap(table: pa.Table, rows: int) -> pa.Table:
    return table.take(np.random.default_rng(5).integers(0, table.num_rows, rows))


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_as_near_as_a_sample_of_the_original(
    people: pa.Table, made: pa.Table, name: str
) -> None:
    floor = tvd(people, bootstrap(people, made.num_rows), name)

    assert tvd(people, made, name) <= 2 * floor + 0.002


def test_pairs_of_the_tree_are_as_near_as_a_sample_of_the_original(
    people: pa.Table, made: pa.Table
) -> None:
    edges = [(a, b) for a, b in fit(people).tree.items() if b is not None]
    few = [
        (a, b) for a, b in edges if "capital_gain" not in (a, b) and "age" not in (a, b)
    ]
    again = bootstrap(people, made.num_rows)

    assert len(edges) == len(COLUMNS) - 1
    assert few
    for pair in few:  # those of categories, which are not binned
        assert tvd(people, made, *pair) <= 2 * tvd(people, again, *pair) + 0.002


def test_dependence_within_a_binned_pair_is_kept(
    people: pa.Table, made: pa.Table
) -> None:
    def never_married(table: pa.Table, low: int, high: int) -> float:
        ages = table["age"]
        inside = pc.and_(pc.greater_equal(ages, low), pc.less(ages, high))
        found = table.filter(inside)["marital_status"]
        return pc.mean(pc.equal(found, "Never-married").cast(pa.float64())).as_py()

    for low, high in ((17, 22), (30, 40), (60, 75)):
        assert never_married(made, low, high) == pytest.approx(
            never_married(people, low, high), abs=0.05
        )


def test_the_tree_is_the_best_of_all_trees() -> None:
    table = census(1500).select(["sex", "race", "education", "income", "workclass"])
    names = table.schema.names

    def entropy(*columns: str) -> tuple[float, int]:
        found = shares(table, *columns)
        return -sum(p * log(p) for p in found.values()), len(found)

    def information(a: str, b: str) -> float:
        (x, nx), (y, ny), (xy, nxy) = entropy(a), entropy(b), entropy(a, b)
        return x + y - xy - (nxy - nx - ny + 1) / (2 * table.num_rows)

    known = {frozenset(pair): information(*pair) for pair in combinations(names, 2)}
    trees = [
        [
            known[frozenset(names[i] for i in edge)]
            for edge in edges_of(code, len(names))
        ]
        for code in product(range(len(names)), repeat=len(names) - 2)
    ]

    ours = [frozenset((a, b)) for a, b in fit(table).tree.items() if b is not None]

    assert len(trees) == 125
    assert sum(known[edge] for edge in ours) == pytest.approx(max(map(sum, trees)))


def edges_of(code: tuple[int, ...], n: int) -> list[tuple[int, int]]:
    """Return the tree of a Pruefer code."""
    degree = [1 + code.count(node) for node in range(n)]
    edges = []
    for node in code:
        leaf = degree.index(1)
        edges.append((leaf, node))
        degree[leaf] -= 1
        degree[node] -= 1
    last = [node for node in range(n) if degree[node] == 1]
    return [*edges, (last[0], last[1])]


def test_fewer_rows_are_the_first_of_more(people: pa.Table) -> None:
    learnt = fit(people)

    few, many = learnt.sample(700, seed=1), learnt.sample(300_000, seed=1)

    assert many.slice(0, 700).combine_chunks() == few
    assert learnt.sample(0, seed=1).num_rows == 0


def test_a_sample_depends_on_the_seed_and_not_on_the_order_of_rows(
    people: pa.Table,
) -> None:
    mixed = people.take(np.random.default_rng(0).permutation(people.num_rows))

    first = fit(people).sample(500, seed=7)

    assert fit(people).sample(500, seed=7) == first
    assert fit(mixed).sample(500, seed=7) == first
    assert fit(people).sample(500, seed=8) != first


def test_combinations_are_new_and_values_are_not(
    people: pa.Table, made: pa.Table
) -> None:
    assert shares(made, *COLUMNS).keys() - shares(people, *COLUMNS).keys()
    for name in COLUMNS:
        assert shares(made, name).keys() <= shares(people, name).keys()


def test_missing_is_a_value_like_others(people: pa.Table, made: pa.Table) -> None:
    for name in ("occupation", "workclass"):
        original = people[name].null_count / people.num_rows
        assert made[name].null_count / made.num_rows == pytest.approx(original, rel=0.1)
    # In the census hardly anybody without an occupation has a class of worker.
    both = pc.and_(pc.is_null(made["occupation"]), pc.is_null(made["workclass"]))
    assert pc.sum(both).as_py() > 0.9 * made["occupation"].null_count


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        pytest.param([4, 4, 4, 4], pa.int64(), id="a constant"),
        pytest.param([None, None, None, None], pa.string(), id="all missing"),
        pytest.param([0.5, float("nan"), None, 0.5], pa.float64(), id="floats"),
        pytest.param([True, False, None, True], pa.bool_(), id="booleans"),
        pytest.param([1, 2, 3, 4], pa.date32(), id="dates"),
    ],
)
def test_any_column_comes_back_in_its_type(cells: list[object], kind: object) -> None:
    table = pa.table({"x": pa.array(cells, kind), "y": pa.array(["a", "b", "a", "b"])})

    made = fit(table).sample(200, seed=0)

    assert made.schema == table.schema
    texts = {str(value) for value in made["x"].to_pylist()}
    assert texts <= {str(value) for value in table["x"].to_pylist()}


def test_one_row_is_repeated() -> None:
    table = pa.table({"x": [7], "y": ["a"], "z": pa.array([None], pa.int64())})

    made = fit(table).sample(3, seed=0)

    assert made.to_pylist() == [{"x": 7, "y": "a", "z": None}] * 3


def test_a_column_alone_and_chunks_and_dictionaries_are_understood() -> None:
    words = pa.chunked_array([["a", "b"], ["b", None]])
    table = pa.table({"x": words.dictionary_encode()})

    made = fit(table).sample(1000, seed=0)

    assert made.schema == table.schema
    assert set(made["x"].to_pylist()) == {"a", "b", None}


def test_nothing_cannot_be_learnt_from() -> None:
    with pytest.raises(DataError, match="at least one row"):
        fit(pa.table({"x": pa.array([], pa.int64())}))
    with pytest.raises(SpecError, match="at least 0"):
        fit(pa.table({"x": [1]})).sample(-1, seed=0)


def test_frequent_values_have_a_bin_of_their_own_and_no_bin_is_large() -> None:
    counts = np.ones(1000, dtype=np.int64)
    counts[500] = 3000  # as the zeros of a capital gain

    bins = _find_bins(counts, is_number=True)

    sizes = np.bincount(bins, weights=counts)
    assert np.count_nonzero(bins == bins[500]) == 1
    assert np.all(np.diff(bins) >= 0)
    assert BINS / 2 <= sizes.size <= 2 * BINS
    assert np.delete(sizes, bins[500]).max() <= 2 * 1000 / BINS
    assert _find_bins(np.ones(BINS, dtype=np.int64), is_number=True).max() == BINS - 1


def test_rare_words_share_bins_with_words_as_rare() -> None:
    counts = np.array([1, 50] * 100)

    bins = _find_bins(counts, is_number=False)

    rare, common = set(bins[::2].tolist()), set(bins[1::2].tolist())
    assert len(rare & common) <= 1
