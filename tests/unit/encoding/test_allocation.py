"""Which of several equal rows is in which class: by lot; a reader cannot redo it."""

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support.keys import KEY, key_of

from core_mondrian import BestPolicy, KAnonymity, Spec, anonymize
from core_mondrian.encoding.allocation import draw_lots, order_rows
from core_mondrian.models.distinct import DistinctLDiversity

GUESSED_KEYS = (bytes(32), bytes(16), b"0" * 32, b"core-mondrian!!!")


def lone_table(number: int, rows: int = 251) -> tuple[pa.Table, int]:
    """250 people in one department, one in another; who that is, by its row."""
    random = np.random.default_rng(number)
    lone = int(random.integers(rows))
    department = ["Sales"] * rows
    department[lone] = "Legal"
    table = pa.table(
        {
            "department": department,
            "badge": [f"b{x}" for x in random.permutation(rows)],
            "salary": random.integers(1000, 9999, rows),
            "ill": random.choice(["no", "yes"], rows),
        }
    )
    return table, lone


SPECS = {
    "k": Spec(("department",), (KAnonymity(5),)),
    "l": Spec(("department",), (KAnonymity(5), DistinctLDiversity(2, "ill"))),
}


def guess(shown: pa.Table, spec: Spec) -> int:
    """Name the lone row as a reader would who knows the code and tries keys.

    Under the right key, the four rows that were lent come out again, and the fifth
    row of the mixed class is the lone one.
    """
    mixed = {i for i, x in enumerate(shown["department"].to_pylist()) if x == "*"}
    for key in GUESSED_KEYS:
        for who in sorted(mixed):
            department = ["Legal" if i == who else "Sales" for i in range(len(shown))]
            table = shown.set_column(0, "department", pa.array(department))
            again = anonymize(table, spec, key=key).data["department"].to_pylist()
            if {i for i, x in enumerate(again) if x == "*"} == mixed:
                return who
    return min(mixed)


@pytest.mark.usefixtures("random_keys")
@pytest.mark.parametrize(
    ("name", "n"),
    [("k", 50), ("l", 50), pytest.param("k", 200, marks=pytest.mark.slow)],
)
@pytest.mark.long
def test_a_reader_with_our_code_names_the_lone_row_by_chance_only(
    name: str, n: int
) -> None:
    right = chance = 0.0
    for number in range(n):
        table, lone = lone_table(number)
        data = anonymize(table, SPECS[name]).data
        mixed = data["department"].to_pylist().count("*")
        right += guess(data, SPECS[name]) == lone
        chance += 1 / mixed

    sigma = math.sqrt(n * 0.2 * 0.8)
    assert right <= chance + 3 * sigma


def test_the_same_reader_finds_it_with_the_key() -> None:
    """The attack is no straw man: under a key it has, it names the lone row."""
    found = []
    for number in range(10):
        table, lone = lone_table(number)
        data = anonymize(table, SPECS["k"], key=GUESSED_KEYS[0]).data
        found.append(guess(data, SPECS["k"]) == lone)

    assert sum(found) >= 9


def classes(release: Any) -> list[str]:
    shown: list[str] = release.data["department"].to_pylist()
    return shown


@pytest.mark.usefixtures("random_keys")
def test_without_a_key_two_runs_differ_in_who_is_where_alone() -> None:
    table, _ = lone_table(1)

    runs = [anonymize(table, SPECS["k"]) for _ in range(4)]

    assert len({run.digest for run in runs}) == 1
    assert len({run.tree.digest for run in runs}) == 1
    assert len({tuple(classes(run)) for run in runs}) > 1


def test_with_a_key_the_release_is_the_same_in_any_order_and_library() -> None:
    table, _ = lone_table(2)
    order = np.random.default_rng(3).permutation(table.num_rows)
    wanted = sorted(map(str, anonymize(table, SPECS["k"], key=KEY).data.to_pylist()))

    for other in (table.take(pa.array(order)), table.to_pandas(), pa_polars(table)):
        for threads in (1, 2):
            data = anonymize(other, SPECS["k"], key=KEY, threads=threads).data
            rows = data.to_pylist() if isinstance(data, pa.Table) else as_rows(data)
            assert sorted(map(str, rows)) == wanted


def pa_polars(table: pa.Table) -> Any:
    import polars as pl

    return pl.from_arrow(table)


def as_rows(data: Any) -> list[dict[str, Any]]:
    return data.to_dicts() if hasattr(data, "to_dicts") else data.to_dict("records")


@pytest.mark.parametrize(
    "other",
    [
        pytest.param([[i, i + 1] for i in range(60)], id="lists"),
        pytest.param([{"a": i} for i in range(60)], id="structs"),
        pytest.param([[{"a": [i]}] for i in range(60)], id="lists of structs"),
        pytest.param(
            pa.array(
                [[(str(i), i)] for i in range(60)], pa.map_(pa.string(), pa.int8())
            ),
            id="maps",
        ),
        pytest.param([i if i % 2 else f"x{i}" for i in range(60)], id="mixed objects"),
        pytest.param([{i, "x"} for i in range(60)], id="sets"),
    ],
)
def test_columns_of_any_kind_decide_and_row_order_does_not(other: Any) -> None:
    import pandas as pd

    cells = other.to_pylist() if isinstance(other, pa.Array) else other
    frame = pd.DataFrame({"q": ["A"] * 57 + ["B"] * 3})
    frame["other"] = pd.Series(cells, dtype=object)
    spec = Spec(("q",), (KAnonymity(5),), policy=BestPolicy())

    def found(rows: Any) -> list[str]:
        data = anonymize(rows, spec, key=KEY).data
        return sorted(str(x) for x in data.loc[data["q"] == "*", "other"])

    assert len(found(frame)) == 5
    assert found(frame) == found(frame.iloc[::-1])


class Opaque:
    """Nothing tells one from another."""


def test_objects_without_content_are_refused_where_tuples_are_split() -> None:
    import pandas as pd

    from core_mondrian import SpecError

    frame = pd.DataFrame({"q": ["A"] * 57 + ["B"] * 3})
    frame["other"] = pd.Series([Opaque() for _ in range(60)], dtype=object)

    with pytest.raises(SpecError, match="column 'other' holds Opaque objects"):
        anonymize(frame, Spec(("q",), (KAnonymity(5),)))
    disjoint = Spec(("q",), (KAnonymity(5),), policy=BestPolicy(disjoint=True))
    assert len(anonymize(frame, disjoint).data) == 60


def test_lots_of_one_tuple_say_nothing_about_those_of_another() -> None:
    """The same contents in two tuples are not drawn in the same order."""
    contents = np.arange(50, dtype=np.uint64)
    tuples = np.zeros(50, dtype=np.int32)

    first, second = (
        np.argsort(draw_lots(tuples, np.full(50, word, np.uint64), contents, KEY))
        for word in (1, 2)
    )

    assert first.tolist() != second.tolist()


def test_every_row_is_equally_likely_to_be_lent() -> None:
    tuples = np.zeros(8, dtype=np.int32)
    contents = np.array([3, 3, 3, 4, 5, 5, 6, 7], dtype=np.uint64)
    hashes, first = np.ones(8, np.uint64), np.zeros(8)

    for number in range(4000):
        lots = draw_lots(tuples, hashes, contents, key_of(number))
        first[order_rows(tuples, lots)[:2]] += 1

    # Each is among the first two with a chance of 1/4; rows that are equal count alike.
    by_content = np.array([first[contents == x].mean() for x in np.unique(contents)])
    assert np.abs(by_content / 4000 - 0.25).max() < 4 * math.sqrt(0.25 * 0.75 / 4000)
