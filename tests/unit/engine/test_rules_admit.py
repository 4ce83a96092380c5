"""Kernels admit the classes that the models let pass, and no others."""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.compiled import compiled, inside

from core_mondrian import KAnonymity, Spec
from core_mondrian.encoding.encoder import collapse, encode
from core_mondrian.engine.constraints import first_constraints
from core_mondrian.engine.inputs import build_models, build_tuples
from core_mondrian.engine.layout import Counts, Models
from core_mondrian.models import (
    AlphaKAnonymity,
    ClassCounts,
    DistinctLDiversity,
    EntropyLDiversity,
    PrivacyModel,
    RecursiveCLDiversity,
    TCloseness,
)
from core_mondrian.tables.frames import open_frame

model_rules = compiled("engine.model_rules")
pytestmark = pytest.mark.twin("engine.model_rules")

N_COLUMNS = 1
Row = tuple[str | None, str | None, int]
MODELS: dict[str, tuple[PrivacyModel, ...]] = {
    "sizes": (KAnonymity(3),),
    "values": (KAnonymity(2), DistinctLDiversity(2, "s"), DistinctLDiversity(2, "t")),
    "known values": (DistinctLDiversity(2, "s", "ignored"), KAnonymity(2)),
    "shares": (AlphaKAnonymity(0.5, 2, "t"), EntropyLDiversity(1.5, "s", "ignored")),
    "parameters": (
        TCloseness(0.4, "t", "ordered"),
        RecursiveCLDiversity(3.0, 2, "s"),
        AlphaKAnonymity(0.6, 2, "t", ("1",)),
    ),
    "the table": (TCloseness(0.3, "t", missing="ignored"), TCloseness(0.4, "s")),
}


def rules_of(models: Models) -> Any:
    return model_rules.Rules(models, N_COLUMNS)


def admitted(
    models: Models, records: Any, counts: Any, chosen: Counts, rows: int
) -> bool:
    rules = rules_of(models)
    model_rules.clear(counts)
    for at in chosen:
        model_rules.add_record(counts, rules, records[at])
    return bool(model_rules.rules_admit(rules, rows, counts))


def both_admitted(
    models: Models,
    records: Any,
    three: tuple[Any, Any, Any],
    chosen: Counts,
    rows: tuple[int, int],
) -> bool:
    rules = rules_of(models)
    whole, side, rest = three
    model_rules.clear(whole)
    model_rules.clear(side)
    for record in records:
        model_rules.add_record(whole, rules, record)
    for at in chosen:
        model_rules.add_to_side(side, whole, rules, records[at])
    return bool(model_rules.admits_sides(rules, rows[0], rows[1], whole, side, rest))


def admits(models: Models, rows: int, counts: Any) -> bool:
    return bool(model_rules.rules_admit(rules_of(models), rows, counts))


class Case:
    """A table, what it is held to, and sets of its tuples."""

    def __init__(self, rows: list[Row], spec: Spec) -> None:
        names = ("s", "t", "who")
        kinds = (pa.string(), pa.string(), pa.int64())
        columns = {
            name: pa.array(column, kind)
            for name, column, kind in zip(
                names, zip(*rows, strict=True), kinds, strict=True
            )
        }
        data = pa.table({"q": [1] * len(rows), **columns})
        self.spec = spec
        self.table = collapse(encode(open_frame(data), spec)).table
        order = np.arange(self.table.n_tuples)
        self.records = build_tuples(self.table.codes, self.table.counts, order).records
        constraints = first_constraints(self.table, spec)
        self.models = build_models(self.table, spec, constraints)
        self.whole = constraints.table

    def counts(self) -> Any:
        return model_rules.SetCounts(self.models.n_counts, self.models.n_persons)

    def rows(self, chosen: list[int]) -> int:
        return int(self.table.counts[chosen].sum())

    def passes(self, chosen: list[int]) -> bool:
        """Ask the models themselves, one class at a time."""
        codes, counts = self.table.codes[chosen], self.table.counts[chosen]
        persons = None
        if self.spec.unit is not None:
            persons = np.array([len({*codes[:, -1].tolist()})])
        for model in self.spec.models:
            by_value, labels = np.zeros((1, 0), np.int64), ()
            whole = None
            for at, sensitive in enumerate(self.table.sensitive):
                if sensitive.name == model.column:
                    found: Counter[int] = Counter()
                    for code, n in zip(codes[:, N_COLUMNS + at], counts, strict=True):
                        found[int(code)] += int(n)
                    cells = [found[value] for value in range(sensitive.n_values)]
                    by_value, whole = np.array([cells]), self.whole[at]
                    labels = sensitive.labels  # type: ignore[assignment]
            rows = np.array([int(counts.sum())])
            classes = ClassCounts(rows, by_value, labels, persons, whole)
            if not model.passes(classes)[0] or (
                int((rows if persons is None else persons)[0]) < self.spec.min_rows
            ):
                return False
        return True


@st.composite
def cases(draw: Any, models: tuple[PrivacyModel, ...]) -> Case:
    row = st.tuples(
        st.sampled_from(["a", "b", None]),
        st.sampled_from(["1", "2", "3", None]),
        st.integers(1, 3),
    )
    rows = draw(st.lists(row, min_size=1, max_size=10))
    unit = draw(st.sampled_from([None, "who"]))
    return Case(rows, Spec(("q",), models, unit=unit))


@pytest.mark.parametrize("models", MODELS.values(), ids=MODELS)
@given(data=st.data())
def test_a_class_is_admitted_if_every_model_lets_it_pass(
    models: tuple[PrivacyModel, ...], data: st.DataObject
) -> None:
    case = data.draw(cases(models))
    counts = case.counts()
    every = range(case.table.n_tuples)
    for _ in range(6):
        chosen = sorted(data.draw(st.sets(st.sampled_from(every), min_size=1)))
        rows = case.rows(chosen)

        found = admitted(case.models, case.records, counts, np.array(chosen), rows)

        assert found is case.passes(chosen)


@pytest.mark.parametrize("models", MODELS.values(), ids=MODELS)
@given(data=st.data())
def test_a_cut_is_admitted_if_both_sides_are(
    models: tuple[PrivacyModel, ...], data: st.DataObject
) -> None:
    case = data.draw(cases(models))
    n = case.table.n_tuples
    three = case.counts(), case.counts(), case.counts()
    for _ in range(6):
        chosen = sorted(data.draw(st.sets(st.sampled_from(range(n)), min_size=1)))
        rest = [at for at in range(n) if at not in chosen]
        if not rest:
            continue
        rows = case.rows(list(range(n))), case.rows(chosen)

        found = both_admitted(case.models, case.records, three, np.array(chosen), rows)

        assert found is (case.passes(chosen) and case.passes(rest))


def test_min_rows_are_enough_and_one_less_is_not() -> None:
    case = Case([("a", "1", 1)] * 3, Spec(("q",), (KAnonymity(3),)))

    assert admits(case.models, 3, case.counts()) is True
    assert admits(case.models, 2, case.counts()) is False


def test_persons_have_to_be_as_many_as_rows() -> None:
    rows: list[Row] = [("a", "1", 1), ("a", "1", 2), ("b", "1", 2)]
    case = Case(rows, Spec(("q",), (KAnonymity(2),), unit="who"))
    counts = case.counts()
    everything = np.arange(case.table.n_tuples)

    assert admitted(case.models, case.records, counts, everything, 3)
    # The second person has two rows, which are enough rows.
    assert case.rows([1]) == 2
    assert admitted(case.models, case.records, counts, np.array([1]), 2) is False


def test_persons_of_the_rest_are_those_who_are_not_whole_on_the_side() -> None:
    # Five persons with two rows each: three of them on the side, two left.
    rows: list[Row] = [(value, "1", who) for who in range(5) for value in "ab"]
    models = (KAnonymity(3), DistinctLDiversity(2, "s"))
    case = Case(rows, Spec(("q",), models, unit="who"))
    three = case.counts(), case.counts(), case.counts()
    side = np.flatnonzero(case.table.codes[:, -1] < 3)

    assert not both_admitted(case.models, case.records, three, side, (10, 6))
    whole, here, rest = (inside(counts).n_persons for counts in three)
    assert (whole, here, rest) == (5, 3, 2)


def test_of_a_population_only_the_rows_inside_the_table_are_a_class() -> None:
    case = Case([("a", "1", 1)] * 3, Spec(("q",), (DistinctLDiversity(3, "s"),)))
    empty = case.models._replace(rules=case.models.rules[:0])
    counts = case.counts()
    by_value = np.array([9, 3, 0])
    inside(counts).by_value = by_value

    assert admits(empty._replace(present=1), 1, counts)
    assert admits(empty._replace(present=0), 1, counts)
    assert not admits(empty._replace(present=2), 9, counts)
    assert not admits(empty._replace(present=-1), 2, counts)


@pytest.mark.parametrize("at", ["low", "high"])
def test_limits_are_admitted(at: str) -> None:
    rows: list[Row] = [("a", "1", 1), ("b", "1", 1)]
    model = DistinctLDiversity(2, "s") if at == "low" else AlphaKAnonymity(0.5, 2, "s")
    case = Case(rows, Spec(("q",), (model,)))

    assert admitted(case.models, case.records, case.counts(), np.array([0, 1]), 2)
    one = case.models.rules.copy()
    value = 2.0 if at == "low" else 0.5
    for least, most, expected in (
        *((value, value, True), (value, 9.0, True), (-9.0, value, True)),
        *((value + 1e-9, 9.0, False), (-9.0, value - 1e-9, False)),
    ):
        one["least"][0], one["most"][0] = least, most
        models = case.models._replace(rules=one)
        chosen = np.array([0, 1])
        found = admitted(models, case.records, case.counts(), chosen, 2)
        assert found is expected
