"""Privacy models by name: ours, and the user's own from a file."""

import dataclasses
import difflib
import shlex
from pathlib import Path
from typing import Any

from core_mondrian.errors import SpecError, quote_names
from core_mondrian.hierarchies.read import read_hierarchy
from core_mondrian.models import MODELS
from core_mondrian.models.base import PrivacyModel
from core_mondrian.models.own_files import load_class
from core_mondrian.runtime.plain_values import JsonMapping, JsonObject
from core_mondrian.runtime.toml_positions import read_toml


def parse_model(text: str) -> JsonObject:
    """Read ``name key=value …`` as a spec file has it: a table with a name.

    >>> parse_model("t-closeness t=0.2 sensitive=income")
    {'name': 't-closeness', 't': 0.2, 'sensitive': 'income'}

    Raises:
        SpecError: there is no name, or something else than ``key=value``.
    """
    try:
        name, *given = shlex.split(text)
    except ValueError:
        raise SpecError(
            "a model is its name, then key=value",
            hint="for example --model 't-closeness t=0.2 sensitive=income'",
        ) from None
    plain: JsonObject = {"name": name}
    for item in given:
        key, separator, value = item.partition("=")
        if not separator or not key or key in plain:
            raise SpecError(
                f"the model {name!r} has something else than one key=value a key",
                hint="for example --model 't-closeness t=0.2 sensitive=income'",
            )
        plain[key] = _plain_value(value)
    return plain


def _plain_value(text: str) -> object:
    """Return a value as TOML would read it; what it would not is a text."""
    try:
        return read_toml(f"value = {text}")["value"]
    except ValueError:
        return text


def model_from_mapping(plain: JsonMapping, folder: Path = Path()) -> PrivacyModel:
    """Build a model from TOML's plain values; files are relative to ``folder``.

    Its name is one of ours, or ``file.py:Class`` for one of the user's.

    Raises:
        SpecError: no such model, or a parameter it does not have or cannot be.
    """
    name = plain.get("name")
    if not isinstance(name, str):
        raise SpecError(
            "a model has no name", hint=f"ours are {quote_names(sorted(MODELS))}"
        )
    kind = _find(name, folder)
    fields = {item.name: item for item in dataclasses.fields(kind)}
    given = {key: value for key, value in plain.items() if key != "name"}
    for key in given:
        if key not in fields:
            raise SpecError(
                f"the model {name!r} has no {key!r}",
                hint=f"it has {quote_names(sorted(fields))}",
                key=(key,),
            )
    try:
        model: PrivacyModel = kind(
            **{key: _open(key, x, folder) for key, x in given.items()}
        )
    except TypeError:
        needed = [
            key
            for key, item in fields.items()
            if key not in given
            and item.default is dataclasses.MISSING
            and item.default_factory is dataclasses.MISSING
        ]
        raise SpecError(
            f"the model {name!r} needs {quote_names(needed)}",
            hint=f"add {' '.join(f'{key}={_example(key)}' for key in needed)}",
        ) from None
    _check_numbers(model, name)
    return model


def _check_numbers(model: PrivacyModel, name: str) -> None:
    """Refuse what is not a number where one is needed; few models check themselves."""
    try:
        low, high = model.limits().edges
        _ = low <= high, model.parameters, model.min_rows + 0, model.name
    except (TypeError, ValueError, ArithmeticError):
        raise SpecError(f"the model {name!r} has a value of the wrong kind") from None


def has_field(name: str, field: str, folder: Path = Path()) -> bool:
    """Return whether a model has a parameter of this name."""
    return field in {item.name for item in dataclasses.fields(_find(name, folder))}


def _find(name: str, folder: Path) -> Any:  # noqa: ANN401  # a dataclass, too
    if ":" not in name:
        if name not in MODELS:
            raise SpecError(f"no model {name!r}", hint=_hint_for(name), key=("name",))
        return MODELS[name]
    return load_class(name, folder, PrivacyModel, "privacy model")


def _hint_for(name: str) -> str:
    """Return what to write instead of a name that no shipped model has."""
    if name.endswith(".py"):
        return f"name its class, too: {name}:CLASS"
    longer = [known for known in MODELS if known.endswith(name)]
    if len(longer) > 1:
        return f"there are {quote_names(longer)}"
    close = difflib.get_close_matches(name, MODELS, n=1)
    return f"did you mean {close[0]!r}?" if close else f"ours: {quote_names(MODELS)}"


def _example(key: str) -> str:
    return "COLUMN" if key == "sensitive" else "VALUE"


def _open(key: str, value: object, folder: Path) -> object:
    """Return a parameter as the model takes it: lists are frozen, paths whole."""
    if key == "hierarchy" and isinstance(value, str):
        return read_hierarchy(folder / value)
    if key == "population" and isinstance(value, str):
        return (folder / value).resolve()
    return tuple(value) if isinstance(value, list) else value
