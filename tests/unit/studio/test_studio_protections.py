"""Every model of the package can be asked for on the page, a new one by itself."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from core_mondrian.errors import DataError, SpecError
from core_mondrian.models import MODELS, Limits, PrivacyModel
from core_mondrian.models.load import model_from_mapping
from core_mondrian.studio.draft import Draft, Protection
from core_mondrian.studio.protections import (
    Parameter,
    find_parameters,
    first_values,
    of_columns,
    of_tables,
    parse,
    requested_model,
)

FILES = {"population", "hierarchy"}


def test_no_model_is_forgotten() -> None:
    assert {*of_columns(), *of_tables(), "k-anonymity"} == set(MODELS)
    assert set(of_columns()).isdisjoint(of_tables())


@pytest.mark.parametrize("name", MODELS)
def test_every_model_begins_with_what_it_accepts(name: str) -> None:
    values = first_values(name)
    asked = requested_model(name, values)
    if name in of_columns():
        asked["sensitive"] = "income"
    lacking = {one.name for one in find_parameters(name)} & FILES - {"hierarchy"}

    if lacking:  # a population is a file, which the user has to choose
        with pytest.raises(SpecError):
            model_from_mapping(asked)
    else:
        assert isinstance(model_from_mapping(asked), MODELS[name])


@dataclass(frozen=True, slots=True)
class Odd(PrivacyModel):
    """A model that nobody has heard of."""

    share: float
    rows: int
    sensitive: str
    side: Literal["left", "right"] = "left"
    values: tuple[object, ...] = ()

    def __post_init__(self) -> None:
        if not 0 < self.share <= 0.5 or self.rows < 2:
            raise SpecError("share or rows")

    def limits(self) -> Limits:
        return Limits(at_most=self.share)


@pytest.fixture
def odd(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setitem(MODELS, "odd", Odd)
    return iter(["odd"])


def test_a_new_model_appears_by_itself(odd: Iterator[str]) -> None:
    name = next(odd)

    assert name in of_columns()
    assert find_parameters(name) == (
        Parameter("share", "number"),
        Parameter("rows", "whole"),
        Parameter("side", "choice", ("left", "right"), "left"),
        Parameter("values", "values", default=()),
    )
    assert first_values(name) == {"share": 0.5, "rows": 2, "side": "left", "values": ()}
    draft = Draft({"age": "quasi-identifier", "job": "sensitive"})
    draft.guard("job").take(name)
    draft.guard("job").values |= {"values": parse("values", "a, b,"), "side": "right"}
    assert draft.to_spec().models[-1] == Odd(0.5, 2, "job", "right", ("a", "b"))


def test_all_that_a_spec_can_say_of_rows_and_models_is_in_the_file() -> None:
    draft = Draft(
        {"age": "quasi-identifier", "card": "pseudonym", "job": "sensitive"},
        guards={"job": Protection("recursive-cl-diversity", {"c": 2.0, "l": 3})},
        further=Protection("maximum-risk", {"risk": 0.05}),
        suppressed="blank",
        missing="value",
        null_values=" ?, NA ,",
    )

    spec = draft.to_spec()

    assert spec.pseudonyms == ("card",)
    assert (spec.suppressed, spec.missing_rule) == ("blank", "value")
    assert spec.null_values == ("?", "NA")
    titles = [model.title for model in spec.models]
    assert "recursive (2.0, 3)-diversity of job" in titles
    assert len(titles) == 3
    assert "key" not in draft.to_toml()


def test_a_file_is_read_from_the_folder_and_the_folder_is_not_told(
    tmp_path: Path,
) -> None:
    hierarchies = {"job": {"file": "jobs.csv"}}
    draft = Draft({"job": "quasi-identifier"}, hierarchies=hierarchies, folder=tmp_path)

    with pytest.raises(DataError, match=r"jobs\.csv") as caught:
        draft.to_spec()
    assert str(tmp_path) not in str(caught.value)
    (tmp_path / "jobs.csv").write_text("baker;food;*\ncook;food;*\nsmith;metal;*\n")
    tree = draft.to_spec().hierarchies["job"]
    assert tree.leaves == ("baker", "cook", "smith")  # type: ignore[union-attr]
    assert str(tmp_path) not in draft.to_toml()
