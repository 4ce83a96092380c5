"""HIPAA's identifiers are recognized by name and by values, and little else is."""

from typing import Any

import pyarrow as pa
import pytest

from core_mondrian.spec.identifier_detection import KINDS, recognize


def kind_of(name: str, values: Any = ("x", "y")) -> int | None:
    array = values if isinstance(values, pa.Array) else pa.array(list(values))
    found = recognize(name, pa.chunked_array([array]))
    return None if found is None else found.kind.number


def test_all_eighteen_kinds_are_there() -> None:
    assert {kind.number for kind in KINDS} == set(range(1, 19))


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("name", 1), ("lastName", 1), ("patient name", 1), ("zip_code", 2),
        ("Street", 2), ("city", 2), ("date_of_visit", 3), ("DOB", 3), ("homePhone", 4),
        ("fax", 5), ("e-mail", 6), ("SSN", 7), ("mrn", 8), ("health_plan_no", 9),
        ("IBAN", 10), ("passport_no", 11), ("license_plate", 11), ("vin", 12),
        ("device_id", 13), ("url", 14), ("ip", 15), ("fingerprint", 16), ("photo", 17),
        ("patient_id", 18), ("id", 18), ("uuid", 18),
    ],
)  # fmt: skip
def test_names_are_recognized(name: str, number: int) -> None:
    assert kind_of(name) == number


@pytest.mark.parametrize(
    "name",
    [
        *("age", "sex", "native-country", "state", "income", "hours-per-week"),
        *("product_name", "region_id", "platelets", "education", "validated"),
        *("telling", "recapitalization", "", "ß"),
    ],
)
def test_other_names_are_not(name: str) -> None:
    assert kind_of(name) is None


@pytest.mark.parametrize(
    ("values", "number"),
    [
        (["a@b.org", "c.d@e.co"], 6),
        (["555-12-3456", "123-45-6789"], 7),
        (["+1 617 555 0123", "(617) 555-0199", "617-555-0101"], 4),
        (["10.0.0.1", "192.168.1.20"], 15),
        (["2001:db8:0:0:0:0:0:1", "fe80:0:0:1::"], 15),
        (["https://x.org/a", "www.example.com"], 14),
        (["1980-02-03", "2001-12-31"], 3),
        (["03/02/1980", "12/31/2001"], 3),
        (["02139", "10001"], 2),
        (["02139-1234", "10001-0001"], 2),
        (["1HGCM82633A004352", "WVWZZZ1JZXW000001"], 12),
        (["00:1a:2b:3c:4d:5e", "ff-ff-ff-ff-ff-00"], 13),
        (["4111 1111 1111 1111", "5500-0000-0000-0004"], 10),
        (["f81d4fae-7dec-11d0-a765-00a0c91e6bf6", f"{0:08}{'-0000' * 3}-{0:012}"], 18),
    ],
)  # fmt: skip
def test_values_are_recognized(values: list[str], number: int) -> None:
    assert kind_of("x", values) == number
    assert kind_of("x", pa.array(values * 3).dictionary_encode()) == number


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(["12345", "23456"], id="quantities"),
        pytest.param(["1.5", "2.25"], id="decimals"),
        pytest.param(["12", "13"], id="small numbers"),
        pytest.param(["a@b.org", "x", "y", "z"], id="few of them"),
        pytest.param(["a@b.org"], id="one value"),
        pytest.param([], id="none"),
        pytest.param([None, None], id="missing"),
    ],
)
def test_other_values_are_not(values: list[Any]) -> None:
    assert kind_of("x", pa.array(values, pa.string())) is None


def test_types_are_recognized_and_other_types_left_alone() -> None:
    assert kind_of("x", pa.array([1, 2], pa.timestamp("us"))) == 3
    assert kind_of("x", pa.array([1, 2], pa.date32()).dictionary_encode()) == 3
    assert kind_of("x", pa.array([[1], [2]])) is None
    assert kind_of("x", pa.array([1, 2])) is None


def test_of_many_values_the_same_are_looked_at_in_any_order() -> None:
    values = [f"{i:05}@example.org" for i in range(3000)] + ["zzz"] * 3000

    assert kind_of("x", values) == kind_of("x", values[::-1]) == 6
