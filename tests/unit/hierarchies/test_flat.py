"""Flat: numbers and dates that are names; the release of the same column as text."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core_mondrian import KAnonymity, PaperPolicy, Spec, anonymize, verify
from core_mondrian.datasets import census
from core_mondrian.hierarchies.codes import Flat
from core_mondrian.models.population import KMap
from core_mondrian.release.manifests import parse_manifest, whole_spec
from core_mondrian.report.partition_plot import paint
from core_mondrian.spec.declaration import spec_from_mapping

POLICIES = {"best": {}, "paper": {"policy": PaperPolicy()}}
QIDS = ("age", "sex", "code")


@pytest.fixture(scope="module")
def people() -> pa.Table:
    """Codes from 3 on to beyond 100, a few missing, so that text ranks otherwise."""
    table = census(700).select(["age", "sex", "income"])
    codes = [None if i % 40 == 0 else 3 + 7 * (i * i % 17) for i in range(700)]
    return table.append_column("code", pa.array(codes, pa.int64()))


def as_text(table: pa.Table, width: int = 1) -> pa.Table:
    """The table with the code as text, filled up with zeros."""
    texts = pc.utf8_lpad(table["code"].cast(pa.string()), width, "0")
    return table.set_column(table.column_names.index("code"), "code", texts)


def without_zeros(cells: Any) -> list[str | None]:
    plain = pc.replace_substring_regex(
        cells.cast(pa.string()), r"(^|[{ ])0+(\d)", r"\1\2"
    )
    return list(plain.to_pylist())


def spec_of(**more: Any) -> Spec:
    return Spec(QIDS, (KAnonymity(5),), **more)


def flat_spec(**more: Any) -> Spec:
    return spec_of(hierarchies={"code": Flat()}, **more)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("categories", ["label", "set"])
def test_release_is_that_of_the_codes_as_text(
    people: pa.Table, policy: str, categories: Any
) -> None:
    more = {**POLICIES[policy], "categories": categories}

    found = anonymize(people, flat_spec(**more))

    known = anonymize(as_text(people, width=3), spec_of(**more))  # ranks by value
    codes = found.data["code"].to_pylist(), without_zeros(known.data["code"])
    assert sorted(map(str, codes[0])) == sorted(map(str, codes[1]))
    assert found.measures() == known.measures()
    if policy == "best":
        return  # lots are drawn by values, and 7 is another than 007
    for name in ("age", "sex", "income"):
        assert found.data[name].equals(known.data[name])
    assert codes[0] == codes[1]
    assert found.savings() == known.savings() or categories == "set"
    assert verify(found.data, flat_spec(**more)).n_rows == 700
    assert found.hierarchies["code"].leaves == tuple(
        str(code) for code in sorted({*people["code"].to_pylist()} - {None})
    )


def test_text_is_flat_anyway(people: pa.Table) -> None:
    table = as_text(people)

    found, known = anonymize(table, flat_spec()), anonymize(table, spec_of())

    assert found.digest == known.digest
    assert found.data.equals(known.data)
    assert found.savings() == known.savings()
    assert paint(found, "code", "age") == paint(known, "code", "age")


def test_row_order_has_no_say(people: pa.Table) -> None:
    turned = people.take(list(range(699, -1, -1)))

    found = anonymize(turned, flat_spec())

    assert found.data["code"].to_pylist()[::-1] == (
        anonymize(people, flat_spec()).data["code"].to_pylist()
    )


DAYS = [dt.date(2020, 1, 1), dt.date(2020, 1, 2), dt.date(2020, 11, 3)]
KINDS = {
    "whole": pa.array([2, 10, -3]),
    "fractions": pa.array([0.25, 1e-7, 30.0]),
    "decimals": pa.array([Decimal("1.10"), Decimal("2.00"), Decimal("10.00")]),
    "dates": pa.array(DAYS),
    "moments": pa.array([dt.datetime.combine(d, dt.time(7)) for d in DAYS]),
    "times": pa.array([dt.time(1), dt.time(2), dt.time(3)]),
    "spans": pa.array([dt.timedelta(1), dt.timedelta(2), dt.timedelta(3)]),
    "truth": pa.array([True, False, True]),
    "dictionary": pa.array([10, 9, 1]).dictionary_encode(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_type_has_names(kind: str) -> None:
    values = KINDS[kind]
    rows = pa.concat_arrays([values] * 6 + [values[:1]] * 2)

    release = anonymize(
        pa.table({"code": rows}),
        Spec(("code",), (KAnonymity(5),), hierarchies={"code": Flat()}),
    )

    plain = values.dictionary_decode() if kind == "dictionary" else values
    ordered = plain.unique().take(pc.sort_indices(plain.unique()))
    assert release.hierarchies["code"].leaves == tuple(
        ordered.cast(pa.string()).to_pylist()
    )
    assert release.data["code"].to_pylist()[:3] == (plain.cast(pa.string()).to_pylist())


@settings(max_examples=25, deadline=None)
@given(st.lists(st.one_of(st.none(), st.integers(0, 120)), min_size=4, max_size=40))
def test_any_codes_are_released_as_text_is(codes: list[int | None]) -> None:
    table = pa.table({"code": pa.array(codes, pa.int64())})

    found = anonymize(
        table, Spec(("code",), (KAnonymity(2),), hierarchies={"code": Flat()})
    )

    known = anonymize(as_text(table, width=3), Spec(("code",), (KAnonymity(2),)))
    assert found.data["code"].to_pylist() == without_zeros(known.data["code"])


def test_the_values_of_a_population_are_names_too() -> None:
    table = pa.table({"code": [1, 2, 10] * 4})
    others = pa.table({"code": [1, 2, 10, 33] * 8})
    models = (KAnonymity(2), KMap(4, others))

    release = anonymize(table, Spec(("code",), models, hierarchies={"code": Flat()}))

    assert release.hierarchies["code"].leaves == ("1", "2", "10", "33")


def test_a_spec_file_and_a_manifest_say_so(people: pa.Table) -> None:
    asked = {"quasi_identifiers": list(QIDS), "k": 5}
    spec = spec_from_mapping({**asked, "hierarchies": {"code": {"kind": "flat"}}})

    manifest = anonymize(people, spec).manifest()

    assert spec.hierarchies == {"code": Flat()}
    assert spec.is_flat("code")
    assert manifest["spec"]["hierarchies"] == {"code": {"kind": "flat"}}
    assert whole_spec(manifest, parse_manifest(manifest)).to_json() == spec.to_json()
