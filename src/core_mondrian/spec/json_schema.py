"""spec_schema(): what a spec file may say, as JSON Schema for editors."""

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, Final, Literal

from core_mondrian.hierarchies.tree import Hierarchy
from core_mondrian.models import MODELS
from core_mondrian.spec.declaration import CHOICES
from core_mondrian.spec.descriptions import DESCRIPTIONS
from core_mondrian.spec.policies import POLICIES
from core_mondrian.spec.reading import KEYS
from core_mondrian.spec.thresholds import Thresholds

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_PLAIN: Final[dict[object, str]] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
}

_OWN_CLASS: Final = r"\.py:\w+"
"""The name of a class in a user's file."""


def spec_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a spec file.

    Nothing is required, because flags may say what a file does not.
    """
    properties = {key: _told(key, _of_key(key)) for key in KEYS}
    # A policy of one's own has fields of its own beside those of what it builds on.
    tables = {key: properties[key] for key in ("paper", "original")}
    own = {"additionalProperties": {"type": ["number", "boolean", "string"]}}
    return {
        "$schema": _DIALECT,
        "title": "core-mondrian spec",
        "type": "object",
        "properties": properties | {key: x | own for key, x in tables.items()},
        "additionalProperties": False,
        "if": {
            "properties": {"policy": {"pattern": _OWN_CLASS}},
            "required": ["policy"],
        },
        "else": {"properties": tables},
    }


def _told(key: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": DESCRIPTIONS.get(key, ""), **schema}


def _of_key(key: str) -> dict[str, Any]:
    if key in POLICIES:
        return _of_fields(POLICIES[key], key)
    special: dict[str, dict[str, Any]] = {
        "k": {"type": "integer", "minimum": 2},
        "policy": {
            "anyOf": [
                {"enum": list(POLICIES)},
                {"type": "string", "pattern": _OWN_CLASS},
            ]
        },
        "models": {"type": "array", "items": {"anyOf": _models()}},
        "thresholds": _of_fields(Thresholds, "thresholds"),
        "weights": _table({"type": "number", "exclusiveMinimum": 0}),
        "hierarchies": _table({"type": ["string", "object"]}),
        "suppress_multiplier": {"type": "number", "minimum": 0},
    }
    if key in special:
        return special[key]
    kinds = KEYS[key]
    schemas = [
        _of_kind(key, one) for one in (kinds if isinstance(kinds, tuple) else (kinds,))
    ]
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _of_kind(key: str, kind: type) -> dict[str, Any]:
    if kind is list:
        return {"type": "array", "items": {"type": "string"}}
    choices = {"enum": list(CHOICES[key])} if key in CHOICES else None
    if kind is dict:
        return _table(choices or {})
    return choices if kind is str and choices else {"type": _PLAIN[kind]}


def _table(values: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


def _of_fields(kind: type, table: str) -> dict[str, Any]:
    """Return the schema of a TOML table that becomes a dataclass."""
    hints = typing.get_type_hints(kind)
    properties = {}
    for item in dataclasses.fields(kind):
        schema = _of_hint(hints[item.name])
        if table == "thresholds":
            bounds = {"type": "number", "minimum": 0, "maximum": 1}
            schema = {"anyOf": [bounds, {"const": "off"}]}
        elif item.name == "rilm_epsilon":
            schema = {"anyOf": [{"type": "number"}, {"const": "always"}]}
        elif item.name == "breakout_thresholds":
            schema = _table({"type": "number", "minimum": 0, "maximum": 1})
        elif item.name == "population":  # in a file it is one
            schema = {"type": "string"}
        properties[item.name] = _told(f"{table}.{item.name}", schema)
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }


def _models() -> list[dict[str, Any]]:
    """Return a schema for each of our models, and one for the user's own."""
    ours = []
    for name, kind in MODELS.items():
        schema = _of_fields(kind, "models")
        needed = [
            item.name
            for item in dataclasses.fields(kind)  # type: ignore[arg-type]
            if item.default is dataclasses.MISSING
            and item.default_factory is dataclasses.MISSING
        ]
        named = _told("models.name", {"const": name})
        properties = {"name": named, **schema["properties"]}
        required = ["name", *needed]
        ours.append({**schema, "properties": properties, "required": required})
    own = _told("models.name", {"type": "string", "pattern": r"\.py:\w+$"})
    return [
        *ours,
        {"type": "object", "properties": {"name": own}, "required": ["name"]},
    ]


def _of_hint(hint: object) -> dict[str, Any]:
    """Return the schema of what TOML may have for a field of this type."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return {"enum": list(parts)}
    if origin in (typing.Union, types.UnionType):
        schemas = [_of_hint(part) for part in parts if part is not type(None)]
        return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    if origin is tuple:
        return {"type": "array", "items": _of_hint(parts[0])}
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return _table(_of_hint(parts[-1]))
    if hint is Hierarchy:
        return {"type": "string"}
    return {"type": _PLAIN[hint]} if hint in _PLAIN else {}
