"""What a bound says of itself, its certificate, and a sample of a large table."""

import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from conftest import IS_PLAIN

from core_mondrian import KAnonymity, Spec, SpecError, Suppression, anonymize
from core_mondrian.bounds.check import prove
from core_mondrian.datasets import census
from core_mondrian.models import DistinctLDiversity
from core_mondrian.spec.policies import BestPolicy

COLUMNS = ("age", "sex", "occupation", "hours_per_week")
N_ROWS = 120 if IS_PLAIN else 1500


def spec_of(**more: Any) -> Spec:
    return Spec(COLUMNS, models=(KAnonymity(5),), policy=BestPolicy(), **more)


def test_a_bound_is_below_the_loss_and_proved() -> None:
    release = anonymize(census(N_ROWS), spec_of())

    bound = release.bound()

    loss = release.measures().loss
    assert loss is not None
    assert 0.5 * loss < bound.loss < loss
    assert (bound.method, bound.counts, bound.least) == ("prices", "rows", 5)
    assert str(bound) == (
        f"no release in classes of 5 rows can lose less than {bound.loss:.4f}"
    )
    plain = json.loads(json.dumps(release.certificate()))
    assert prove(plain) == pytest.approx(bound.loss, rel=1e-12)


def test_the_rows_of_a_certificate_are_those_of_the_table() -> None:
    table = census(N_ROWS)

    certificate = anonymize(table, spec_of()).certificate()

    (age,) = [x["cells"] for x in certificate["columns"] if x["name"] == "age"]
    counted: dict[float, int] = {}
    for value, rows in zip(age, certificate["rows"], strict=True):
        counted[value] = counted.get(value, 0) + rows
    assert sum(counted.values()) == N_ROWS
    for value in set(table["age"].to_pylist()):
        assert counted[value] == table["age"].to_pylist().count(value)


def test_a_price_that_is_too_high_is_found() -> None:
    certificate = anonymize(census(200), spec_of()).certificate()
    for i, price in enumerate(certificate["prices"]):
        if price > 0.0:
            certificate["prices"][i] = 1.01 * price
            break

    with pytest.raises(ValueError, match="5 rows have prices"):
        prove(certificate)


def test_a_negative_price_proves_nothing() -> None:
    certificate = anonymize(census(50), spec_of()).certificate()
    certificate["prices"][0] = -1.0

    with pytest.raises(ValueError, match="negative"):
        prove(certificate)


def test_a_budget_lowers_the_bound() -> None:
    """One row far off: kept, it takes others along; suppressed, it is lost alone."""
    table = pa.table({"n": [0.0] * 20 + [1.0], "m": [0.0] * 20 + [1.0]})
    spec = Spec(("n", "m"), models=(KAnonymity(5),), policy=BestPolicy())

    kept = anonymize(table, spec).bound()
    lost = anonymize(table, replace(spec, suppress=Suppression(rows=1))).bound()

    assert kept.loss == pytest.approx(5 / 21)
    assert lost.loss == pytest.approx(1 / 21)


def test_models_that_ask_for_more_are_named() -> None:
    models = (KAnonymity(5), DistinctLDiversity(2, sensitive="income"))
    spec = replace(spec_of(), models=models)

    release = anonymize(census(N_ROWS), spec)

    bound = release.bound()
    loss = release.measures().loss
    assert loss is not None
    assert bound.looser_for == (models[1].name,)
    assert bound.loss < loss


def test_a_large_table_is_bounded_by_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    release = anonymize(census(N_ROWS), spec_of())
    whole = release.bound()
    monkeypatch.setattr("core_mondrian.bounds.bound._MOST_TUPLES", 10)
    release = anonymize(census(N_ROWS), spec_of())

    bound = release.bound()

    assert (bound.method, bound.confidence, bound.n_sampled) == ("sample", 0.99, 5000)
    assert 0.0 < bound.loss < whole.loss
    assert str(bound).endswith("(99% confidence)")
    with pytest.raises(SpecError, match="sample"):
        release.certificate()


def test_the_bound_is_in_the_record_of_the_owner_alone() -> None:
    release = anonymize(census(200), spec_of())
    assert "bound" not in release.figures()

    bound = release.bound()

    assert release.figures()["bound"] == bound.to_json()
    assert release.record()["bound"]["loss"] == bound.loss
    assert "bound" not in release.manifest()
    assert str(bound.loss) not in json.dumps(release.manifest())
