"""Models by name and parameters, as spec files and the command line give them."""

import py_compile
from pathlib import Path
from typing import Any

import pytest

from core_mondrian.errors import SpecError
from core_mondrian.models import (
    AlphaKAnonymity,
    DistinctLDiversity,
    KAnonymity,
    KMap,
    TCloseness,
)
from core_mondrian.models.load import has_field, model_from_mapping, parse_model

OWN = """
from dataclasses import dataclass, field
from core_mondrian import Limits, PrivacyModel

class Bare(PrivacyModel):
    pass

@dataclass(frozen=True)
class Own(PrivacyModel):
    share: float
    sensitive: str
    names: tuple = field(default_factory=tuple)
    rows: int = 1

    @property
    def min_rows(self):
        return self.rows

    def limits(self):
        return Limits(at_most=self.share)

NUMBER = 3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "table"),
    [
        pytest.param("k-anonymity k=5", {"name": "k-anonymity", "k": 5}, id="whole"),
        pytest.param("m t=0.2", {"name": "m", "t": 0.2}, id="fraction"),
        pytest.param("m a=true b=false", {"name": "m", "a": True, "b": False}, id="is"),
        pytest.param("m s=income", {"name": "m", "s": "income"}, id="word"),
        pytest.param("m 's=two words'", {"name": "m", "s": "two words"}, id="words"),
        pytest.param("m s=a=b", {"name": "m", "s": "a=b"}, id="the first sign counts"),
        pytest.param("m s=", {"name": "m", "s": ""}, id="nothing"),
        pytest.param("m v=[1,2]", {"name": "m", "v": [1, 2]}, id="list"),
        pytest.param("m", {"name": "m"}, id="name alone"),
    ],
)
def test_a_model_as_text(text: str, table: dict[str, Any]) -> None:
    assert parse_model(text) == table


@pytest.mark.parametrize("text", ["", "  ", "m 'k=5"], ids=["no", "spaces", "quote"])
def test_a_text_without_a_name(text: str) -> None:
    with pytest.raises(SpecError, match="a model is its name, then key=value"):
        parse_model(text)


@pytest.mark.parametrize(
    "text", ["m k", "m =5", "m k=5 k=6", "m k=5 l", "m name=other"]
)
def test_a_text_with_something_else(text: str) -> None:
    with pytest.raises(SpecError, match="'m' has something else than one key=value"):
        parse_model(text)


def test_parameters_are_built_as_the_model_takes_them(folder: Path) -> None:
    (folder / "tree.csv").write_text("a;*\nb;*\n")
    alpha: Any = {"alpha": 0.5, "k": 2, "sensitive": "s", "values": ["a", "b"]}
    close: Any = {"t": 0.2, "sensitive": "s", "distance": "hierarchical"}

    by_values = model_from_mapping({"name": "alpha-k-anonymity", **alpha})
    by_tree = model_from_mapping(
        {"name": "t-closeness", **close, "hierarchy": "tree.csv"}, folder
    )
    mapped = model_from_mapping(
        {"name": "k-map", "k": 3, "population": "p.csv"}, folder
    )

    assert by_values == AlphaKAnonymity(0.5, 2, "s", ("a", "b"))
    assert isinstance(by_tree, TCloseness)
    assert by_tree.hierarchy is not None
    assert [*by_tree.hierarchy.leaves] == ["a", "b"]
    assert isinstance(mapped, KMap)
    assert mapped.population == (folder / "p.csv").resolve()
    table = object()
    mapped = model_from_mapping({"name": "k-map", "k": 3, "population": table})
    assert isinstance(mapped, KMap)
    assert mapped.population is table


def test_a_model_of_ones_own(folder: Path) -> None:
    asked = {"name": "own.py:Own", "share": 0.5, "sensitive": "s", "names": ["a"]}

    model: Any = model_from_mapping(asked, folder)

    assert (model.share, model.sensitive, model.names) == (0.5, "s", ("a",))
    assert type(model) is type(model_from_mapping(asked, folder))  # loaded once


@pytest.mark.parametrize(
    ("asked", "message", "hint"),
    [
        pytest.param({}, "a model has no name", "ours are 'alpha", id="no name"),
        pytest.param({"name": 5}, "a model has no name", "ours are", id="no text"),
        pytest.param(
            {"name": "k-anonimity", "k": 5},
            "no model 'k-anonimity'",
            "did you mean 'k-anonymity'?",
            id="nearly",
        ),
        pytest.param({"name": "x"}, "no model 'x'", "ours: 'k-an", id="other"),
        pytest.param(
            {"name": "k-anonymity", "l": 5},
            "the model 'k-anonymity' has no 'l'",
            "it has 'k'",
            id="key",
        ),
        pytest.param(
            {"name": "own.py:Own", "rows": 2},
            "the model 'own.py:Own' needs 'share', 'sensitive'",
            None,
            id="needs",
        ),
        pytest.param(
            {"name": "own.py:Bare"}, "'own.py:Bare' is not a dataclass", None, id="bare"
        ),
        pytest.param(
            {"name": "own.py:NUMBER"},
            "has no privacy model 'NUMBER'",
            "a privacy model",
            id="3",
        ),
        pytest.param(
            {"name": "own.py:field"},
            "no privacy model 'field'",
            "a privacy model",
            id="field",
        ),
        pytest.param(
            {"name": "own.py:Path"},
            "no privacy model 'Path'",
            "a privacy model",
            id="none",
        ),
        pytest.param({"name": "gone.py:Own"}, "no file 'gone.py'", None, id="gone"),
        pytest.param(
            {"name": "own.txt:Own"}, "own.txt is not a Python file", None, id="text"
        ),
        pytest.param(
            {"name": "bad.py:Own"}, "bad.py cannot be imported: Ze", None, id="error"
        ),
        pytest.param(
            {"name": "end.py:Own"}, "end.py cannot be imported: Sy", None, id="exit"
        ),
    ],
)
def test_what_is_refused(
    folder: Path, asked: dict[str, Any], message: str, hint: str | None
) -> None:
    (folder / "own.txt").write_text(OWN)
    (folder / "bad.py").write_text("1 / 0")
    (folder / "end.py").write_text("raise SystemExit(3)")

    with pytest.raises(SpecError) as caught:
        model_from_mapping(asked, folder)

    assert message in caught.value.message
    assert (caught.value.hint or "").startswith(hint or "")


@pytest.mark.parametrize("wrong", [{"share": "much"}, {"rows": "two"}, {"rows": None}])
def test_a_value_of_the_wrong_kind(folder: Path, wrong: dict[str, Any]) -> None:
    asked = {"name": "own.py:Own", "share": 0.5, "sensitive": "s", **wrong}

    with pytest.raises(SpecError, match=r"'own\.py:Own' has a value of the wrong kind"):
        model_from_mapping(asked, folder)


def test_errors_name_the_key() -> None:
    for asked, key in (
        ({"name": "nothing"}, ("name",)),
        ({"name": "k-anonymity", "l": 2}, ("l",)),
        ({"name": "k-anonymity", "k": 1}, ("k",)),
    ):
        with pytest.raises(SpecError) as caught:
            model_from_mapping(asked)
        assert caught.value.key == key


def test_which_models_have_a_field(folder: Path) -> None:
    assert has_field("distinct-l-diversity", "sensitive")
    assert not has_field("k-anonymity", "sensitive")
    assert has_field("own.py:Own", "share", folder)
    assert model_from_mapping({"name": "k-anonymity", "k": 3}) == KAnonymity(3)
    built = model_from_mapping(parse_model("distinct-l-diversity l=2 sensitive=s"))
    assert built == DistinctLDiversity(2, "s")


def test_what_others_have_compiled_is_not_imported(folder: Path) -> None:
    py_compile.compile(str(folder / "own.py"), cfile=str(folder / "other.pyc"))

    with pytest.raises(SpecError, match=r"^other\.pyc is not a Python file"):
        model_from_mapping({"name": "other.pyc:Own"}, folder)
