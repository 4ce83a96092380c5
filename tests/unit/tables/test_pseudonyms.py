"""Pseudonyms: the same for the same value everywhere, and nothing tells the key."""

import datetime as dt
import hashlib
import hmac
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from conftest import Frame

from core_mondrian import (
    DataError,
    KAnonymity,
    MondrianError,
    PrivacyViolation,
    Spec,
    SpecError,
    Suppression,
    anonymize,
    verify,
)
from core_mondrian.tables.files.read import read_table
from core_mondrian.tables.pseudonyms import pseudonymize

KEY = b"CANARY-KEY-9f2c-0123"
ID = "CANARY-ID-5511"


def key_of_domain(domain: str, key: bytes = KEY) -> bytes:
    """What the key of a domain is, written out."""
    person = b"core-mondrian"
    root = hashlib.blake2b(key, digest_size=32, person=person).digest()
    told = b"".join(
        len(part).to_bytes(8, "little") + part
        for part in (b"pseudonyms", domain.encode())
    )
    return hashlib.blake2b(told, digest_size=32, key=root, person=person).digest()


def expected(text: str, key: bytes | None = None) -> str:
    """HMAC as RFC 2104 has it, written out; of the column ``id`` if no key is given."""
    key = key_of_domain("id") if key is None else key
    block = key.ljust(64, b"\0")
    inner = hashlib.sha256(bytes(b ^ 0x36 for b in block) + text.encode()).digest()
    return hashlib.sha256(bytes(b ^ 0x5C for b in block) + inner).hexdigest()[:32]


def hide(values: Any, key: bytes = KEY) -> list[str | None]:
    column = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array(values)
    hidden: list[str | None] = pseudonymize(column, "id", key).to_pylist()
    return hidden


def test_a_pseudonym_is_the_first_half_of_the_hmac() -> None:
    plain = hmac.new(KEY, b"A-17", "sha256").hexdigest()[:32]

    assert hide([["A-17"]]) == [plain] == [expected("A-17", KEY)]


@pytest.mark.parametrize(
    ("array", "texts"),
    [
        pytest.param(pa.array([5, -3]), ["5", "-3"], id="int"),
        pytest.param(pa.array([5], pa.uint8()), ["5"], id="small int"),
        pytest.param(pa.array([2**63], pa.uint64()), [str(2**63)], id="large int"),
        pytest.param(pa.array(["5", "05", " 5"]), ["5", "05", " 5"], id="text"),
        pytest.param(pa.array(["5.0"]), ["5.0"], id="text is never a number"),
        pytest.param(pa.array(["é"], pa.large_string()), ["é"], id="large text"),
        pytest.param(pa.array(["5"], pa.string_view()), ["5"], id="view"),
        pytest.param(pa.array([5.0, None, -0.0]), ["5", None, "0"], id="float"),
        pytest.param(pa.array([float("nan"), 1.5]), [None, "1.5"], id="nan"),
        pytest.param(pa.array([0.1], pa.float32()), ["0.1"], id="float32"),
        pytest.param(pa.array([Decimal("5.00")]), ["5"], id="decimal"),
        pytest.param(pa.array([Decimal("-1.50")]), ["-1.5"], id="part decimal"),
        pytest.param(pa.array([Decimal(500)]), ["500"], id="whole decimal"),
        pytest.param(pa.array([dt.date(2024, 1, 31)]), ["2024-01-31"], id="date"),
        pytest.param(pa.nulls(2), [None, None], id="nothing"),
        pytest.param(
            pa.array([7, None, 7]).dictionary_encode(), ["7", None, "7"], id="coded"
        ),
    ],
)
def test_equal_values_have_one_text(array: Any, texts: list[str | None]) -> None:
    wanted = [None if text is None else expected(text, KEY) for text in texts]

    assert hide([array]) == wanted


def test_chunks_with_dictionaries_of_their_own_agree() -> None:
    chunks = [pa.array([x]).dictionary_encode() for x in ("a", "b", "a")]

    first, other, again = hide(chunks)

    assert first == again != other


@pytest.mark.parametrize(
    "array",
    [
        pytest.param(pa.array([2.0**53]), id="rounded float"),
        pytest.param(pa.array([float("inf")]), id="infinite"),
        pytest.param(pa.array([True]), id="boolean"),
        pytest.param(pa.array([dt.datetime(2024, 1, 1)]), id="time"),
        pytest.param(pa.array([b"x"]), id="bytes"),
        pytest.param(pa.array([[1]]), id="list"),
    ],
)
def test_what_has_no_text_of_its_own_is_refused(array: Any) -> None:
    with pytest.raises(DataError, match="column 'id'"):
        hide([array])


def people(ids: Any = None) -> pa.Table:
    ids = [f"{ID}-{i}" for i in range(12)] if ids is None else ids
    return pa.table(
        {"id": ids, "age": [20 + i // 3 for i in range(12)], "x": ["y"] * 12}
    )


def spec(**more: Any) -> Spec:
    return Spec(("age",), (KAnonymity(3),), **{"pseudonyms": ("id",), **more})


def column(data: Any, name: str) -> list[Any]:
    values = data[name]
    return values.to_pylist() if isinstance(values, pa.ChunkedArray) else list(values)


def test_every_frame_gets_the_same_pseudonyms(frame_kind: Frame) -> None:
    release = anonymize(frame_kind(people()), spec(), key=KEY)

    assert column(release.data, "id") == [expected(f"{ID}-{i}") for i in range(12)]
    assert list(release.data["x"]) == list(frame_kind(people())["x"])
    assert verify(release.data, spec())


def test_every_file_gets_the_same_pseudonyms(tmp_path: Path) -> None:
    table = people(pa.array([*range(11), None]))
    pq.write_table(table, tmp_path / "t.parquet")
    pa_csv.write_csv(table, tmp_path / "t.csv")
    wanted = [*(expected(str(i)) for i in range(11)), None]

    for name in ("t.parquet", "t.csv"):
        read = read_table(tmp_path / name, typed=("age",))
        assert column(anonymize(read, spec(), key=KEY).data, "id") == wanted
    # pandas holds whole numbers with a gap as floats
    frame = table.to_pandas()
    assert frame["id"].dtype == np.float64
    hidden = anonymize(frame, spec(), key=KEY).data["id"]
    assert [None if pd.isna(x) else x for x in hidden] == wanted


@pytest.mark.parametrize("library", [pd, pl])
def test_categories_are_replaced_too(library: Any) -> None:
    ids = [f"{ID}-{i}" for i in range(12)]
    frame = library.DataFrame({"id": ids, "age": [20] * 12})
    kind = "category" if library is pd else pl.Categorical
    if library is pd:
        frame["id"] = frame["id"].astype(kind)
    else:
        frame = frame.with_columns(pl.col("id").cast(kind))

    release = anonymize(frame, spec(), key=KEY)

    assert [str(x) for x in release.data["id"]] == [expected(x) for x in ids]


def test_another_key_gives_other_pseudonyms_and_the_same_classes() -> None:
    first = anonymize(people(), spec(), key=KEY)
    other = anonymize(people(), spec(), key=KEY + b"!")

    assert not set(column(first.data, "id")) & set(column(other.data, "id"))
    assert first.manifest() == other.manifest()


@pytest.mark.parametrize(
    ("key", "pseudonyms", "told"),
    [
        pytest.param(None, ("id",), "need a key", id="no key"),
        pytest.param(b"short", ("id",), "has 5 bytes, fewer than 16", id="short"),
        pytest.param("x" * 20, ("id",), "the key is bytes, got str", id="text"),
    ],
)
def test_keys_are_checked_before_any_work(
    key: Any, pseudonyms: tuple[str, ...], told: str
) -> None:
    with pytest.raises(SpecError, match=told):
        anonymize("not even a table", spec(pseudonyms=pseudonyms), key=key)


def test_a_unit_may_be_released_as_a_pseudonym() -> None:
    ids = [f"{ID}-{i % 6}" for i in range(12)]
    both = spec(unit="id")

    release = anonymize(people(ids), both, key=KEY)

    assert column(release.data, "id") == [expected(x) for x in ids]
    assert verify(release.data, both).models[0].reached >= 3
    assert [c.why for c in release.warnings] == []


def joined(**more: Any) -> set[str]:
    """Pseudonyms that two columns with the same values share."""
    ids = [f"{ID}-{i}" for i in range(12)]
    table = people(ids).append_column("referrer", pa.array(ids[::-1]))
    data = anonymize(table, spec(pseudonyms=("id", "referrer"), **more), key=KEY).data
    return set(column(data, "id")) & set(column(data, "referrer"))


def test_pseudonyms_of_two_columns_cannot_be_looked_up_in_each_other() -> None:
    assert not joined()
    assert len(joined(pseudonym_domains={"referrer": "id"})) == 12
    assert len(joined(pseudonym_domains={"referrer": "p", "id": "p"})) == 12


def test_only_columns_with_pseudonyms_have_domains() -> None:
    with pytest.raises(SpecError, match="gets no pseudonyms"):
        spec(pseudonym_domains={"age": "x"})
    with pytest.raises(SpecError, match="a domain of pseudonyms is a text"):
        spec(pseudonym_domains={"id": ""})


def test_a_unit_alone_is_removed() -> None:
    release = anonymize(people(), spec(unit="id", pseudonyms=()))

    assert release.data.column_names == ["age", "x"]


def test_persons_with_several_rows_are_warned_about_without_a_unit() -> None:
    ids = [f"{ID}-{min(i, 9)}" for i in range(12)]

    release = anonymize(people(ids), spec(), key=KEY)

    (concern,) = release.warnings
    assert (concern.column, concern.why, concern.share) == ("id", "persons", 0.1)


def test_suppressed_rows_lose_their_pseudonyms() -> None:
    table = people().set_column(1, "age", pa.array([1] * 6 + [2] * 5 + [90]))
    for how in ("drop", "blank"):
        asked = spec(suppress=Suppression(rows=1), suppressed=how)

        release = anonymize(table, asked, key=KEY)

        assert release.n_suppressed == 1
        hidden = column(release.data, "id")
        kept = [expected(f"{ID}-{i}") for i in range(11)]
        assert hidden == kept + ([None] if how == "blank" else [])


def test_the_verifier_wants_pseudonyms_where_they_are_asked_for() -> None:
    released = anonymize(people(), spec(), key=KEY).data
    for raw in (people(), people(list(range(12))), people([[1]] * 12)):
        with pytest.raises(PrivacyViolation, match="other things than pseudonyms"):
            verify(raw.set_column(1, "age", released["age"]), spec())

    assert verify(released.drop_columns(["id"]), spec())
    assert verify(released.set_column(0, "id", pa.nulls(12)), spec())
    with pytest.raises(PrivacyViolation, match="identifiers are still"):
        verify(released, spec(pseudonyms=(), identifiers=("id",)))


def test_neither_key_nor_identifiers_are_told() -> None:
    release = anonymize(people(), spec(accept=("x",)), key=KEY)
    told = json.dumps(release.manifest()) + repr(release) + repr(release.spec)
    told += repr(vars(release)) + str(release.warnings)
    for broken, key in (
        (people([2.0**60] * 12), KEY),
        (people([[ID]] * 12), KEY),
        (people(), KEY[:15]),
        (people(), KEY.decode()),
    ):
        with pytest.raises(MondrianError) as caught:
            anonymize(broken, spec(), key=key)  # type: ignore[arg-type]
        told += str(caught.value) + repr(caught.value)
        told += str(caught.value.__cause__)

    assert "CANARY-KEY" not in told
    assert KEY.hex() not in told
    assert "CANARY-ID" not in told.replace(repr(release.data), "")
