"""Rows of CSV text and hashes of texts, next to a reader that splits by hand."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_mondrian.tables.files.csv_rows import scan_rows
from core_mondrian.tables.text_hashing import hash_texts

cells = st.text(st.sampled_from('ab",;\n \u00e9'), max_size=4)


@pytest.mark.twin("tables.files.csv_rows")
@given(
    rows=st.lists(st.lists(cells, min_size=2, max_size=4), max_size=6),
    line_end=st.sampled_from(["\n", "\r\n", "\r"]),
    delimiter=st.sampled_from([",", ";"]),
    ends=st.booleans(),
)
def test_rows_begin_and_end_where_the_standard_library_wrote_them(
    rows: list[list[str]], line_end: str, delimiter: str, *, ends: bool
) -> None:
    texts = []
    # With a line end of its own it leaves the usual ones unquoted.
    how = csv.QUOTE_ALL if line_end == "\r" else csv.QUOTE_MINIMAL
    for row in rows:
        out = io.StringIO()
        csv.writer(
            out, delimiter=delimiter, lineterminator=line_end, quoting=how
        ).writerow(row)
        texts.append(out.getvalue().encode())
    whole = b"".join(texts)
    if not ends and rows:
        whole = whole.removesuffix(line_end.encode())
    found = np.zeros((len(rows) + 1, 4), dtype=np.int64)
    signs = (ord(delimiter), ord('"'))

    end, n_rows, _, n_found, _ = scan_rows(
        np.frombuffer(whole, np.uint8),
        n_fields=3,
        is_last=True,
        all_rows=True,
        into=found,
        signs=signs,
    )

    edges = np.minimum(np.cumsum([0, *map(len, texts)]), len(whole)).tolist()
    assert (end, n_rows, n_found) == (len(whole), len(rows), len(rows))
    assert found[:n_found, 0].tolist() == edges[:-1]
    assert found[:n_found, 1].tolist() == edges[1:]
    assert found[:n_found, 3].tolist() == [len(row) for row in rows]
    _, _, _, n_odd, _ = scan_rows(
        np.frombuffer(whole, np.uint8),
        n_fields=3,
        is_last=True,
        all_rows=False,
        into=found,
        signs=signs,
    )
    odd = [edges[i] for i, row in enumerate(rows) if len(row) != 3]
    assert found[:n_odd, 0].tolist() == odd


@pytest.mark.twin("tables.files.csv_rows")
@given(st.lists(st.lists(cells, min_size=2, max_size=4), max_size=4), st.data())
def test_a_text_cut_off_anywhere_ends_with_its_last_whole_row(
    rows: list[list[str]], draw: st.DataObject
) -> None:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    whole = out.getvalue().encode()
    cut = draw.draw(st.integers(0, len(whole)))
    found = np.zeros((len(rows) + 1, 4), dtype=np.int64)
    text = np.frombuffer(whole[:cut], np.uint8)

    end, n_rows, *_ = scan_rows(
        text, 2, is_last=False, all_rows=True, into=found, signs=(44, 34)
    )

    lengths, reader = [0], io.StringIO()
    for row in rows:
        csv.writer(reader, lineterminator="\n").writerow(row)
        lengths.append(len(reader.getvalue().encode()))
    complete = [length for length in lengths if length <= cut]
    assert (end, n_rows) == (complete[-1], len(complete) - 1)


@pytest.mark.twin("tables.text_hashing")
@given(st.lists(st.binary(max_size=9), max_size=8))
def test_texts_hash_as_the_definition_of_fnv_1a_says(texts: list[bytes]) -> None:
    data = np.frombuffer(b"".join(texts) + b"?", np.uint8)
    offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    keys = np.zeros(len(texts), dtype=np.uint64)

    hash_texts(data, offsets, keys)

    expected = []
    for text in texts:
        state = 14695981039346656037
        for byte in text:
            state = (state ^ byte) * 1099511628211 % 2**64
        expected.append(state)
    assert keys.tolist() == expected


@pytest.mark.twin("tables.text_hashing")
def test_published_hashes_of_fnv_1a() -> None:
    """Test vectors of the algorithm's authors."""
    keys = np.zeros(2, dtype=np.uint64)

    hash_texts(np.frombuffer(b"foobar", np.uint8), np.array([0, 0, 6]), keys)

    assert [hex(key) for key in keys.tolist()] == [
        "0xcbf29ce484222325",
        "0x85944171f73967e8",
    ]
