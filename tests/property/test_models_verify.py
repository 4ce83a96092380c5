"""The verifier and the definitions agree, on any table and on every changed cell."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from conftest import Frame
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from models_oracle import Value, accepts, sensitive_models, sized_models

from core_mondrian import (
    InfeasibleError,
    OriginalPolicy,
    PaperPolicy,
    PrivacyViolation,
    Spec,
    anonymize,
    verify,
)
from core_mondrian.models import AlphaKAnonymity, PrivacyModel, TCloseness

Columns = dict[str, list[Any]]

FEWER = settings(max_examples=settings.default.max_examples // 2)

KINDS = [
    pytest.param(sized_models(3), "s", id="sizes"),
    pytest.param(sensitive_models("s", has_tree=True), "s", id="letters"),
    pytest.param(sensitive_models("v", has_tree=False), "v", id="numbers"),
]


def column_of(values: list[Value], n: int) -> st.SearchStrategy[list[Value]]:
    return st.lists(st.sampled_from(values), min_size=n, max_size=n)


@st.composite
def tables(draw: Any, max_rows: int) -> Columns:
    n = draw(st.integers(1, max_rows))
    return {
        "q": draw(column_of(["x", "y", None], n)),
        "r": draw(column_of([1, 1, 1, 2], n)),
        "s": draw(column_of(["a", "b", "d", None], n)),
        "v": draw(column_of([1, 2, 5, None], n)),
    }


def arrow(columns: Columns) -> pa.Table:
    kinds = {"q": pa.string(), "r": pa.string(), "s": pa.string(), "v": pa.int64()}
    texts = {**columns, "r": [None if x is None else str(x) for x in columns["r"]]}
    return pa.table({name: pa.array(texts[name], kinds[name]) for name in texts})


def is_accepted(columns: Columns, model: PrivacyModel) -> bool:
    groups = defaultdict(list)
    values = columns[model.column or "s"]
    for *key, value in zip(columns["q"], columns["r"], values, strict=True):
        groups[tuple(key)].append(value)
    return accepts(model, list(groups.values()))


@pytest.mark.parametrize(("models", "_column"), KINDS)
@given(data=st.data())
def test_a_table_is_accepted_just_if_the_definition_does(
    frame_kind: Frame, models: Any, _column: str, data: st.DataObject
) -> None:
    columns, model = data.draw(tables(14)), data.draw(models)
    frame, spec = frame_kind(arrow(columns)), Spec(("q", "r"), (model,))

    if is_accepted(columns, model):
        assert verify(frame, spec).n_rows == len(columns["q"])
    else:
        with pytest.raises(PrivacyViolation):
            verify(frame, spec)


def changes(columns: Columns, column: str) -> Iterator[Columns]:
    """All tables that differ in one cell."""
    for name, values in (("q", ["other"]), (column, sorted_values(columns[column]))):
        for i, was in enumerate(columns[name]):
            for value in values:
                if value != was:
                    cells = [*columns[name]]
                    cells[i] = value
                    yield {**columns, name: cells}


def sorted_values(values: list[Value]) -> list[Value]:
    return sorted(set(values), key=str)


@pytest.mark.parametrize(("models", "column"), KINDS)
@FEWER
@given(data=st.data())
def test_one_changed_cell_is_noticed_if_it_breaks_the_definition(
    models: Any, column: str, data: st.DataObject
) -> None:
    columns, model = data.draw(tables(20)), data.draw(models)
    policy = data.draw(st.sampled_from([PaperPolicy(), OriginalPolicy()]))
    spec = Spec(("q", "r"), (model,), policy=policy, missing="value")
    try:
        table = anonymize(arrow(columns), spec).data
    except InfeasibleError:
        assume(False)  # noqa: FBT003
    shown: Columns = {name: table[name].to_pylist() for name in columns}
    broken = [x for x in changes(shown, column) if not is_accepted(x, model)]
    assume(broken)
    tampered = data.draw(st.sampled_from(broken))

    verify(table, spec)

    with pytest.raises(PrivacyViolation):
        verify(arrow(tampered), spec)


# Cases


@pytest.mark.parametrize(
    "kind",
    [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary("int8", "string")],
    ids=str,
)
def test_texts_rank_the_same_however_they_are_kept(kind: pa.DataType) -> None:
    # By rank, 9 is in the middle; as they come, or as texts, it would be at an end.
    values = pa.array([9, 8, 8, 8, 10, 10, 10, 9]).cast(pa.string())
    if pa.types.is_dictionary(kind):
        values = values.dictionary_encode()
    else:
        values = values.cast(kind)
    table = pa.table({"q": list("xxxxyyyy"), "s": values})

    found = verify(table, Spec(("q",), (TCloseness(0.4, "s", "ordered"),)))

    assert found.models[0].reached == 0.375
    with pytest.raises(PrivacyViolation):
        verify(table, Spec(("q",), (TCloseness(0.3, "s", "ordered"),)))


@pytest.mark.parametrize("value", [1, "1", 1.0], ids=repr)
@pytest.mark.parametrize("kind", [pa.string(), pa.int64(), pa.float64()], ids=str)
def test_a_value_named_as_number_or_text_is_the_same_value(
    value: object, kind: pa.DataType
) -> None:
    # All cells of a CSV file that is not generalized are texts.
    table = pa.table({"q": list("xxxx"), "s": pa.array([1, 1, 1, 2]).cast(kind)})
    model = AlphaKAnonymity(0.5, 2, "s", (value,))

    with pytest.raises(PrivacyViolation):
        verify(table, Spec(("q",), (model,)))
    with pytest.raises(InfeasibleError):
        anonymize(table, Spec(("q",), (model,)))
