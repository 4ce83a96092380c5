"""Protections: the privacy models as the page offers them.

What a model needs is read off its fields, so that a new one appears by itself.
"""

import dataclasses
import types
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, Literal, TypeAlias, Union, get_args, get_origin
from typing import get_type_hints as hints_of

from core_mondrian.errors import SpecError
from core_mondrian.hierarchies.tree import Hierarchy
from core_mondrian.models import MODELS
from core_mondrian.models.base import PrivacyModel
from core_mondrian.runtime.plain_values import JsonMapping, JsonObject

Kind: TypeAlias = Literal["whole", "number", "choice", "values", "file"]

NONE: Final = "none"
_KINDS: Final[dict[object, Kind]] = {
    int: "whole",
    float: "number",
    tuple: "values",
    Hierarchy: "file",
    object: "file",  # a population: any table
}
_FIRST: Final = {
    "k": 5,
    "l": 2,
    "p": 2,
    "c": 3.0,
    "t": 0.2,
    "alpha": 0.5,
    "risk": 0.1,
    "low": 0.0,
    "high": 0.5,
}
"""What to begin with, where the model has no default."""
_TRIED: Final = (2, 0.5, 1.0, 0.1)
"""The same for a parameter that is not known here: the first that is accepted."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A field of a model that is filled in on the page."""

    name: str
    kind: Kind
    options: tuple[str, ...] = ()
    """Of a choice."""
    default: object = None
    """Left out of the spec where it is chosen; None: there is none."""


def find_parameters(model: str) -> tuple[Parameter, ...]:
    """Return what is to be filled in for a model, its sensitive column aside."""
    kind: Any = MODELS[model]
    hints = hints_of(kind)
    return tuple(
        _parameter(item.name, hints[item.name], item.default)
        for item in dataclasses.fields(kind)
        if item.name != "sensitive"
    )


def _parameter(name: str, hint: object, default: object) -> Parameter:
    default = None if default is dataclasses.MISSING else default
    if get_origin(hint) is Literal:
        return Parameter(name, "choice", get_args(hint), default)
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(one for one in get_args(hint) if one is not type(None))
    return Parameter(name, _KINDS[get_origin(hint) or hint], default=default)


def of_columns() -> list[str]:
    """Return the models that protect a sensitive column."""
    return [name for name in MODELS if _is_of_column(name)]


def of_tables() -> list[str]:
    """Return the models that protect the table as a whole, k-anonymity aside."""
    return [
        name for name in MODELS if not _is_of_column(name) and name != "k-anonymity"
    ]


def _is_of_column(name: str) -> bool:
    return "sensitive" in hints_of(MODELS[name])


def first_values(model: str) -> JsonObject:
    """Return values to begin with, which the model accepts; of files there are none."""
    values: JsonObject = {}
    unknown = []
    for one in find_parameters(model):
        if one.default is not None:
            values[one.name] = one.default
        elif one.name in _FIRST:
            values[one.name] = _FIRST[one.name]
        elif one.kind in ("whole", "number"):
            unknown.append(one.name)
    fixed = {"sensitive": "x"} if _is_of_column(model) else {}
    for tried in product(_TRIED, repeat=len(unknown)):
        filled = values | dict(zip(unknown, tried, strict=True))
        if not unknown or _accepts(MODELS[model], fixed | filled):
            return filled
    return values


def _accepts(kind: type[PrivacyModel], given: JsonMapping) -> bool:
    try:
        kind(**given)
    except (SpecError, TypeError):
        return False
    return True


def requested_model(model: str, values: JsonMapping) -> JsonObject:
    """Return a model as a spec file has it, without what is so by default."""
    asked: JsonObject = {"name": model}
    for one in find_parameters(model):
        value = values.get(one.name)
        if value is not None and value not in (one.default, ""):
            asked[one.name] = list(value) if one.kind == "values" else value
    return asked


def parse(kind: Kind, typed: Any) -> Any:  # noqa: ANN401  # what a field of a page holds
    """Return what was filled in as the model takes it; None: nothing of use."""
    if kind == "values":
        return parse_list(typed or "")
    if typed is None or kind in ("choice", "file"):
        return typed
    return int(typed) if kind == "whole" else float(typed)


def parse_list(text: str) -> tuple[str, ...]:
    """Return texts that were typed with commas between them."""
    return tuple(part.strip() for part in text.split(",") if part.strip())
