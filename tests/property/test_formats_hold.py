"""Whatever the format: classes of k rows, originals inside, nothing but the content."""

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pandas as pd
import pyarrow as pa
from best_oracle import cells, keys
from conftest import as_arrow, frame_kinds
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle import Sample, samples

from core_mondrian import (
    BestPolicy,
    InfeasibleError,
    KAnonymity,
    PaperPolicy,
    Release,
    Spec,
    Suppression,
    anonymize,
    verify,
)

FORMATS = ("interval", "bounds", "struct", "mean", "median", "midpoint", "sample")


@st.composite
def shapes(draw: Any, sample: Sample) -> Spec:
    """A spec with every choice that gives a release its shape."""
    numbers = st.sampled_from(FORMATS)
    return Spec(
        sample.names,
        (KAnonymity(draw(st.integers(2, 6))),),
        hierarchies=sample.hierarchies,
        policy=draw(st.sampled_from([BestPolicy(), PaperPolicy()])),
        missing=draw(st.sampled_from(["pattern", "value"])),
        suppress=Suppression(rows=draw(st.integers(0, 5))),
        suppressed=draw(st.sampled_from(["drop", "blank", "separate"])),
        numbers=draw(numbers),
        numbers_by_column=draw(st.dictionaries(st.sampled_from(sample.names), numbers)),
        nice=draw(st.booleans()),
        class_id=draw(st.sampled_from([None, "class"])),
        shuffle=draw(st.none() | st.integers(0, 3)),
        inline_below=draw(st.sampled_from([0, 100])),
    )


def with_ids(sample: Sample) -> pa.Table:
    return sample.arrow().append_column("id", pa.array(range(sample.n_rows)))


def released(table: Any, spec: Spec, n_rows: int) -> Release[Any]:
    try:
        return anonymize(table, spec)
    except InfeasibleError:
        assert n_rows < spec.min_rows
        assume(False)  # noqa: FBT003
        raise


def names_in(frame: Any) -> list[str]:
    return list(frame.column_names if isinstance(frame, pa.Table) else frame.columns)


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(plain(value[key]) for key in value)
    return None if value is None or value is pd.NA or value != value else value  # noqa: PLR0124


def shown_in(frame: Any, name: str, spec: Spec) -> list[Any]:
    """What a quasi-identifier shows, row by row; bounds as pairs."""
    if name in names_in(frame):
        return [plain(value) for value in cells(frame, name)]
    ends = [cells(frame, end) for end in spec.bounds_of(name)]
    pairs = [tuple(map(plain, pair)) for pair in zip(*ends, strict=True)]
    return [None if pair == (None, None) else pair for pair in pairs]


@given(st.data())
def test_every_class_of_a_release_has_k_rows_in_every_shape(
    data: st.DataObject,
) -> None:
    sample = data.draw(samples(max_rows=40))
    spec = data.draw(shapes(sample))
    kind = data.draw(frame_kinds())

    release = released(kind(with_ids(sample)), spec, sample.n_rows)

    columns = [shown_in(release.data, name, spec) for name in spec.quasi_identifiers]
    rows = list(zip(*columns, strict=True))
    sizes = Counter(rows)
    if spec.suppressed == "blank":
        sizes[(None,) * len(columns)] -= release.n_suppressed
    assert all(n == 0 or n >= spec.min_rows for n in sizes.values())
    assert verify(release.data, spec, budget=release.budget) == release.verification
    if spec.class_id is not None:
        numbers = [plain(number) for number in cells(release.data, "class")]
        numbered = {
            pair for pair in zip(rows, numbers, strict=True) if pair[1] is not None
        }
        assert len({number for _, number in numbered}) == len(numbered)
        assert len({row for row, _ in numbered}) == len(numbered)
    if spec.suppressed == "separate":
        left = {*cells(release.suppressed, "id"), *cells(release.data, "id")}
        assert left == set(range(sample.n_rows))


@given(st.data())
def test_every_range_contains_the_original(data: st.DataObject) -> None:
    sample = data.draw(samples(max_rows=40))
    spec = data.draw(shapes(sample))
    numbers = data.draw(st.sampled_from(["interval", "bounds", "struct"]))
    spec = replace(spec, numbers=numbers, numbers_by_column={})
    kind = data.draw(frame_kinds())

    release = released(kind(with_ids(sample)), spec, sample.n_rows)

    ids = cells(release.data, "id")
    for name in spec.quasi_identifiers:
        if name.startswith("c"):
            continue
        for i, cell in zip(ids, shown_in(release.data, name, spec), strict=True):
            if cell is not None:
                low, high = ends_of(cell)
                assert low <= sample.columns[name][i] <= high


def ends_of(cell: Any) -> tuple[float, float]:
    if isinstance(cell, str):
        low, _, high = cell.strip("[]").partition(", ")
        return float(low), float(high or low)
    low, high = cell
    return low, high


@given(st.data(), st.integers(0, 5))
def test_row_order_changes_nothing_in_any_shape(data: st.DataObject, seed: int) -> None:
    sample = data.draw(samples(max_rows=40))
    spec = data.draw(shapes(sample))
    table = with_ids(sample)
    order = list(range(sample.n_rows))
    random.Random(seed).shuffle(order)  # noqa: S311

    first = released(table, spec, sample.n_rows)
    second = anonymize(table.take(order), spec)

    assert first.digest == second.digest
    if spec.shuffle is not None:
        assert first.data.equals(second.data)
    names = tuple(first.data.column_names)
    plain_rows = (keys(run.data, names) for run in (first, second))
    one, other = (sorted(map(repr, rows)) for rows in plain_rows)
    assert one == other


@given(st.data())
def test_frames_and_threads_change_nothing_in_any_shape(data: st.DataObject) -> None:
    sample = data.draw(samples(max_rows=40))
    spec = data.draw(shapes(sample))
    kind = data.draw(frame_kinds())

    first = released(as_arrow(with_ids(sample)), spec, sample.n_rows)
    second = anonymize(kind(with_ids(sample)), spec, threads=3)

    assert first.digest == second.digest
    assert cells(first.data, "id") == cells(second.data, "id")
