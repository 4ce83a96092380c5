"""What comes with the rows, looked at by loops over all of it, and by hand."""

import datetime as dt
from collections.abc import Callable
from itertools import combinations, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core_mondrian import KAnonymity, Spec, anonymize, attack
from core_mondrian.analysis.attacks.candidates import find_candidates
from core_mondrian.analysis.attacks.guessing import guess_tables
from core_mondrian.analysis.attacks.input_digest import digest_input
from core_mondrian.analysis.attacks.parquet_pages import read_pages
from core_mondrian.analysis.attacks.public_order import hash_rows
from core_mondrian.analysis.attacks.split_tuples import _outside
from core_mondrian.api import load_and_encode
from core_mondrian.datasets import census
from core_mondrian.models import DistinctLDiversity
from core_mondrian.runtime.stages import Stages
from core_mondrian.tables.frames import open_frame
from core_mondrian.verification.counting import Coded

TOWNS = Spec(("town",), (KAnonymity(2),))


def test_hash_of_old_releases_stays_what_it_was() -> None:
    columns = [
        pa.array(["a", "Zürich", None, ""]),
        pa.array([1, -5, None, 2**40]),
        pa.array([1.5, 2.0, None, -0.0]),
        pa.array([True, False, None, True]),
        pa.array([dt.date(2020, 1, 1), dt.date(1960, 5, 5), None, dt.date(1970, 1, 1)]),
    ]

    assert hash_rows(columns, 4).tolist() == [
        *(10273263197998299691, 748359075187379857),
        *(8695987549771912286, 8228100171243288258),
    ]
    lists = pa.array([[1], [2], None, [3]])
    assert hash_rows([*columns, lists], 4).tolist() == hash_rows(columns, 4).tolist()


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd", "lz4"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_pages_are_read_as_they_are_stored(
    tmp_path: Path, compression: str, version: str
) -> None:
    draws = np.random.default_rng(5)
    table = pa.table(
        {
            "text": [f"town {i}" for i in draws.permutation(300)],
            "whole": draws.permutation(300),
            "real": draws.permutation(300) / 7,
        }
    )
    file = tmp_path / "table.parquet"
    pq.write_table(
        *(table, file), compression=compression, data_page_version=version,
        row_group_size=100,
    )  # fmt: skip

    pages = list(read_pages(file))

    for name in table.column_names:
        found = [
            value
            for page in pages
            if page.column == name and page.is_dictionary
            for value in page.values().cast(table.schema.field(name).type).to_pylist()
        ]
        assert found == table[name].to_pylist()


TOWN = [f"town {i // 2}" for i in range(8)]
ILLS = [f"illness {i}" for i in range(8)]
ORIGINAL = pd.DataFrame(
    {"town": TOWN, "ill": ILLS, "name": [f"name {i}" for i in range(8)]}
)
KEPT = ORIGINAL.iloc[:6].drop(columns="name")
TABLE = pa.table({name: KEPT[name].tolist() for name in KEPT})
CODES = pa.DictionaryArray.from_arrays(np.arange(6, dtype=np.int32), pa.array(ILLS))


def with_attrs() -> pd.DataFrame:
    released = KEPT.copy()
    released.attrs = {"note": "checked with name 7"}
    return released


def with_field_metadata() -> pa.Table:
    field = TABLE.schema.field("ill").with_metadata({"first": "illness 7"})
    return TABLE.set_column(1, field, TABLE["ill"])


def in_lists() -> pa.Table:
    lists = pa.ListArray.from_arrays(pa.array(range(7), pa.int32()), CODES)
    return TABLE.set_column(1, "ill", lists)


LEAKING: dict[str, Callable[[], Any]] = {
    "categories": lambda: KEPT.assign(ill=pd.Categorical(KEPT["ill"], categories=ILLS)),
    "attrs": with_attrs,
    "index": lambda: KEPT.set_index(pd.Index(ORIGINAL["name"][:6])),
    "enum": lambda: pl.from_pandas(KEPT).with_columns(
        pl.col("ill").cast(pl.Enum(ILLS))
    ),
    "metadata": lambda: TABLE.replace_schema_metadata({"made of": "name 1"}),
    "field metadata": with_field_metadata,
    "dictionary": lambda: TABLE.set_column(1, "ill", CODES),
    "dictionary in lists": in_lists,
    # The buffer still has all of them.
    "slice": lambda: TABLE.set_column(1, "ill", pa.array(ILLS).slice(0, 6)),
}


@pytest.mark.parametrize("kind", LEAKING)
def test_what_no_row_shows_is_found(kind: str) -> None:
    (found,) = attack(LEAKING[kind](), ORIGINAL, TOWNS).named("leftovers")

    assert found.succeeded
    assert "illness" not in found.sentence


CLEAN = {"pandas": KEPT, "polars": pl.from_pandas(KEPT), "arrow": TABLE}


@pytest.mark.parametrize("kind", CLEAN)
def test_clean_release_has_no_leftovers(kind: str) -> None:
    (found,) = attack(CLEAN[kind], ORIGINAL, TOWNS).named("leftovers")

    assert not found.succeeded


def test_categories_in_the_original_order_undo_a_shuffle() -> None:
    draws = np.random.default_rng(8)
    wards = [f"ward {i}" for i in draws.permutation(60)]
    original = pd.DataFrame({"town": ["a"] * 60, "ward": wards})
    mixed = original.iloc[draws.permutation(60)].reset_index(drop=True)
    stored = mixed.assign(ward=pd.Categorical(mixed["ward"], categories=wards))
    clean = mixed.assign(ward=pd.Categorical(mixed["ward"]))

    (found,) = attack(stored, original, TOWNS).named("physical order")

    assert (found.succeeded, found.columns) == (True, ("ward",))
    assert not any(
        one.succeeded for one in attack(clean, original, TOWNS).named("physical order")
    )


def test_possible_tables_are_those_of_a_loop_over_all_assignments() -> None:
    ages = [1, 2, 2, 3, 7, 8, 8]
    ills = list("aabacbb")
    original = pd.DataFrame({"age": ages, "ill": ills})
    shown = ["[1, 3]"] * 4 + ["[7, 8]"] * 3
    released = pd.DataFrame({"age": shown, "ill": ills})
    spec = Spec(("age",), (KAnonymity(2), DistinctLDiversity(2, "ill")))
    tables = {
        tuple(sorted(zip(ages, (*first, *second), strict=True)))
        for first, second in product(
            set(permutations(ills[:4])), set(permutations(ills[4:]))
        )
    }
    before, after = open_frame(original), open_frame(released)
    candidates = find_candidates(after, before, spec, ())
    _, encoded = load_and_encode(original, spec, Stages(None))
    values = Coded(np.array(["abc".index(ill) for ill in ills]), 4)

    digest = digest_input(encoded)
    found = guess_tables(candidates, values, encoded, digest)
    wrong = guess_tables(candidates, values, encoded, "0" * 64)

    assert found is not None
    assert wrong is not None
    assert (found.possible, found.left) == (len(tables), 1)
    assert (wrong.possible, wrong.left) == (len(tables), 0)


# Split tuples


@pytest.mark.parametrize(("n", "m"), [(2, 1), (2, 3), (3, 2), (4, 3), (5, 2)])
def test_chances_of_lent_rows_are_those_of_all_orders(n: int, m: int) -> None:
    counts = np.zeros(m + 1)
    for lent in combinations(range(n + m), m):
        home = sorted(set(range(n + m)) - set(lent))
        counts[sum(one < home[0] or one > home[-1] for one in lent)] += 1

    assert _outside(n, m) == pytest.approx(counts / counts.sum())


def reallocated(
    released: pd.DataFrame, original: pd.DataFrame, spec: Spec, seed: int
) -> pd.DataFrame:
    """Return a release in which chance lends rows, and puts all of them in order.

    People of one tuple are interchangeable: what passes through changes places.
    """
    draws = np.random.default_rng(seed)
    named = [*spec.quasi_identifiers, *spec.sensitive]
    whose = original.set_index("remark").loc[released["remark"], named].astype(str)
    tuples = whose.agg("|".join, axis=1).to_numpy()
    carried = spec.carried(released.columns)
    places = np.arange(len(released))
    for one in np.unique(tuples):
        own = np.flatnonzero(tuples == one)
        places[own] = draws.permutation(own)
    mixed = released.copy()
    mixed[carried] = released[carried].to_numpy()[places]
    return mixed.iloc[draws.permutation(len(mixed))].reset_index(drop=True)


def census_with_remarks(seed: int) -> pd.DataFrame:
    people = census(1500, seed=seed).select(["age", "sex", "race", "income"])
    remarks = [f"remark {i}" for i in np.random.default_rng(seed).permutation(1500)]
    return people.to_pandas().assign(remark=remarks)


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(Spec(("age", "sex"), (KAnonymity(5),)), id="k"),
        pytest.param(
            Spec(("sex", "race"), (KAnonymity(5), DistinctLDiversity(2, "income"))),
            id="l",
        ),
        pytest.param(Spec(("age", "sex", "race"), (KAnonymity(9),)), id="three"),
    ],
)
def test_chance_that_lends_rows_is_taken_for_no_public_order(spec: Spec) -> None:
    right = expected = 0.0
    for seed in range(6):
        original = census_with_remarks(seed)
        released = anonymize(original, spec).data
        mixed = reallocated(released, original, spec, seed)

        for found in attack(mixed, original, spec).named("split tuples"):
            assert not found.succeeded
            right += found.numbers["right"]
            expected += found.numbers["by_chance"]
    assert right <= expected + 4 * np.sqrt(max(expected, 1))
