"""What explain says of a release is what pandas counts in it, in every shape and file.

The release is also found to be the one of its manifest, whatever file it went through.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from conftest import IS_PLAIN
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import samples
from test_formats_hold import released, shapes, with_ids

from core_mondrian import Release, Spec
from core_mondrian.release.explanation import Explanation, explain
from core_mondrian.release.manifests import parse_manifest
from core_mondrian.release.release_tree import Branch
from core_mondrian.tables.files.write import write_table
from core_mondrian.verification.read_back import read_release

pytestmark = pytest.mark.skipif(IS_PLAIN, reason="not about the engine")


def through_json(release: Release[Any]) -> Any:
    return parse_manifest(json.loads(json.dumps(release.manifest())))


def as_texts(table: pa.Table, spec: Spec) -> pd.DataFrame:
    """What each quasi-identifier shows, as text; None where it is blank."""
    columns = {}
    for name in spec.quasi_identifiers:
        names = [name] if name in table.column_names else list(spec.bounds_of(name))
        ends = [table[one].combine_chunks() for one in names]
        if pa.types.is_struct(ends[0].type):
            ends = ends[0].flatten()
        texts = [pc.cast(end, pa.string()).to_pylist() for end in ends]
        columns[name] = [
            None
            if None in cell
            else cell[0]
            if len(cell) == 1
            else "[{}, {}]".format(*cell)
            for cell in zip(*texts, strict=True)
        ]
    return pd.DataFrame(columns, dtype=object)


def check_branch(branch: Branch, rows: pd.DataFrame, width: int, depth: int) -> None:
    """Compare a branch with the rows that show what it shows."""
    assert branch.n_rows == len(rows)
    assert branch.n_classes == rows.drop_duplicates().shape[0]
    dividing = {
        name: score(rows, name, width) for name in rows if n_values(rows, name) > 1
    }
    if depth == 0 or not dividing:
        assert branch.column is None
        return
    assert branch.column == min(dividing, key=dividing.__getitem__)  # the first of ties
    parts = dict(parts_of(rows, branch.column))
    n_listed = len(parts) if len(parts) <= width + 1 else width
    assert len(branch.branches) == n_listed
    sizes = [one.n_rows for one in branch.branches]
    assert (
        sizes == sorted((len(part) for part in parts.values()), reverse=True)[:n_listed]
    )
    assert branch.n_others == len(parts) - n_listed
    assert branch.n_rows == sum(sizes) + branch.other_rows
    assert branch.n_classes == branch.other_classes + sum(
        one.n_classes for one in branch.branches
    )
    assert len({one.shows for one in branch.branches}) == n_listed
    for one in branch.branches:
        check_branch(one, parts[one.shows], width, depth - 1)


def n_values(rows: pd.DataFrame, name: str) -> int:
    return int(rows[name].nunique(dropna=False))


def parts_of(
    rows: pd.DataFrame, name: str
) -> Iterator[tuple[str | None, pd.DataFrame]]:
    for value, part in rows.groupby(name, dropna=False):
        yield (value if isinstance(value, str) else None), part


def score(rows: pd.DataFrame, name: str, width: int) -> int:
    """Classes that each row may still be in, summed; of unlisted rows, all of them."""
    parts = sorted(
        (len(p), p.drop_duplicates().shape[0]) for _, p in parts_of(rows, name)
    )
    parts = parts[::-1]
    n_listed = len(parts) if len(parts) <= width + 1 else width
    all_classes = rows.drop_duplicates().shape[0]
    return sum(n * m for n, m in parts[:n_listed]) + sum(
        n * all_classes for n, _ in parts[n_listed:]
    )


def check(found: Explanation, release: Release[Any], depth: int, width: int) -> None:
    rows = as_texts(release.data, release.spec)
    blank = rows.isna().all(axis=1)
    if release.verification.n_suppressed_blank:
        rows = rows[~blank]
    sizes = rows.groupby(list(rows), dropna=False).size()
    assert found.problems == ()
    assert found.digest_match == "matches"
    assert found.digest == release.digest
    assert found.n_classes == len(sizes)
    assert found.smallest_class == (sizes.min() if len(sizes) else 0)
    assert found.largest_class == (sizes.max() if len(sizes) else 0)
    assert found.n_rows - found.n_blank == len(rows)
    for one in found.sizes:
        inside = sizes[(sizes >= one.low) & (sizes <= one.high)]
        assert (one.n_classes, one.n_rows) == (len(inside), inside.sum())
    assert sum(one.n_classes for one in found.sizes) == len(sizes)
    assert found.tree is not None
    check_branch(found.tree, rows, width, depth)


@given(st.data(), st.integers(0, 3), st.integers(1, 4))
def test_every_number_of_a_tree_is_what_pandas_counts(
    data: st.DataObject, depth: int, width: int
) -> None:
    sample = data.draw(samples(max_rows=40))
    spec = data.draw(shapes(sample))
    release = released(with_ids(sample), spec, sample.n_rows)

    found = explain(release.data, None, through_json(release), depth=depth, width=width)

    check(found, release, depth, width)


@settings(max_examples=40)
@given(st.data())
def test_every_kind_of_file_is_found_to_be_the_release_of_its_manifest(
    data: st.DataObject,
) -> None:
    sample = data.draw(samples(max_rows=40))
    spec = data.draw(shapes(sample))
    release = released(with_ids(sample), spec, sample.n_rows)
    has_structs = any(pa.types.is_struct(field.type) for field in release.data.schema)
    suffixes = [".parquet", ".arrow", *([] if has_structs else [".csv"])]

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"out{data.draw(st.sampled_from(suffixes))}"
        write_table(release.data, path)
        manifest = through_json(release)
        table = read_release(path, manifest.spec)
        found = explain(table, None, manifest)

    assert found.problems == ()
    assert found.digest_match == "matches"
    assert found.n_classes == release.verification.n_classes


@settings(max_examples=40)
@given(st.data())
def test_a_row_less_or_twice_is_never_found_to_be_the_release(
    data: st.DataObject,
) -> None:
    sample = data.draw(samples(max_rows=40))
    spec = data.draw(shapes(sample))
    release = released(with_ids(sample), spec, sample.n_rows)
    n_rows = release.data.num_rows
    if not n_rows:
        return
    row = data.draw(st.integers(0, n_rows - 1))
    twice = data.draw(st.booleans())
    rows = [*range(n_rows), row] if twice else [i for i in range(n_rows) if i != row]

    found = explain(release.data.take(rows), None, through_json(release))

    assert not found.passed
    assert any("rows" in problem for problem in found.problems)
