"""Tuples on disk are counted, divided and solved as those in memory are."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.partition_store import (
    SPECS,
    MemoryStore,
    classes_of,
    tables,
    whole,
    without_tuples,
)

from core_mondrian import Spec
from core_mondrian.encoding.collapse import TuplePacker
from core_mondrian.encoding.encoder import collapse, encode, encode_values
from core_mondrian.engine.grow import grow
from core_mondrian.engine.grow_parts import grow_parts
from core_mondrian.errors import InfeasibleError
from core_mondrian.runtime.stages import Stages
from core_mondrian.sources.tuple_relation import TupleShape
from core_mondrian.sources.tuple_store import LocalStore, StoreLimits
from core_mondrian.tables.encoded import EncodedTable
from core_mondrian.tables.frames import open_frame


@contextmanager
def opened(table: EncodedTable, task_tuples: int) -> Iterator[LocalStore]:
    """Put a table's tuples into a store, in several batches and mixed up."""
    folder = Path(tempfile.mkdtemp())
    limits = StoreLimits(memory=256 << 20, task_tuples=task_tuples, threads=2)
    store = LocalStore(folder, limits, Stages(None))
    try:
        store.open(TupleShape(without_tuples(table)))
        sizes = store.shape.sizes
        packer = TuplePacker([size.bit_length() for size in sizes], table.n_tuples)
        for codes in table.codes.T:
            packer.append(np.ascontiguousarray(codes))
        for rows in (table.counts // 2, table.counts - table.counts // 2):
            store.add(packer.words[::-1], rows[::-1])
        assert store.finish() == table.n_tuples
        yield store
    finally:
        store.close()
        shutil.rmtree(folder)


def encoded(table: pa.Table, spec: Spec) -> EncodedTable:
    return collapse(encode(open_frame(table), spec)).table


@pytest.mark.parametrize("spec", SPECS)
@settings(max_examples=5)
@given(table=tables())
def test_figures_of_values_are_those_of_tuples(spec: Spec, table: pa.Table) -> None:
    counted = {name: table[name].value_counts() for name in table.column_names}
    values = {name: found.field("values") for name, found in counted.items()}
    rows = {name: found.field("counts").to_numpy() for name, found in counted.items()}
    expected = without_tuples(encoded(table, spec))

    found = encode_values(values, rows, spec).with_tuples(expected.n_tuples)

    assert_same(found.table.figures, expected.figures)


@pytest.mark.parametrize("spec", SPECS)
@settings(max_examples=5)
@given(table=tables())
def test_counts_are_those_of_the_oracle(spec: Spec, table: pa.Table) -> None:
    coded = encoded(table, spec)
    oracle = MemoryStore(coded, spec, 1)
    columns = range(len(coded.columns))
    with opened(coded, 1) as store:
        assert_same(store.count(), oracle.count())
        for one in (store, oracle):
            one.plant(None)
        for one, two in zip(
            store.marginals([0], columns), oracle.marginals([0], columns), strict=True
        ):
            assert_same(one, two)
        for column in columns:
            assert_same(store.moments([0], column), oracle.moments([0], column))
            others = [x for x in columns if x != column]
            found = store.pairs([0], column, others)
            expected = oracle.pairs([0], column, others)
            for one, two in zip(found, expected, strict=True):
                assert_same(one, two)


def assert_same(found: Any, expected: Any) -> None:
    for one, two in zip(found, expected, strict=True):
        if isinstance(one, tuple):
            assert_same(one, two)
        elif isinstance(one, np.ndarray):
            assert np.array_equal(one, two)
        else:
            assert one == two


@pytest.mark.parametrize("spec", SPECS)
@settings(max_examples=5)
@given(table=tables(), task_tuples=st.integers(1, 30))
def test_parts_on_disk_hold_the_same_classes(
    spec: Spec, table: pa.Table, task_tuples: int
) -> None:
    coded = encoded(table, spec)
    with opened(coded, task_tuples) as store:
        try:
            expected = grow(coded, spec, threads=1)
        except InfeasibleError:
            with pytest.raises(InfeasibleError):
                grow_parts(store, without_tuples(coded), spec)
            return
        grown = grow_parts(store, without_tuples(coded), spec)

        def look(_: int, arrays: Any) -> Any:
            records = arrays["records"]
            return {}, classes_of(arrays["nodes"], records, records[:, -1])

        found = [one for part in store.run(look, grown.stage) for one in part]
        assert sorted(found) == whole(expected)
        kept = {x.name for x in store.folder.iterdir() if x.is_dir()} - {"spill"}
        assert kept == {grown.stage}
