"""spec_schema(): what a spec file may say, as JSON Schema for editors."""

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Final, Literal

from core_mondrian.hierarchies.tree import Hierarchy
from core_mondrian.models import MODELS
from core_mondrian.models.parameters import PARAMETERS
from core_mondrian.runtime.plain_values import JsonObject
from core_mondrian.spec.keys import BY_COLUMN, KEYS, TABLES
from core_mondrian.spec.metadata import Key, keys_of

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_PLAIN: Final[dict[object, str]] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
}

_SHARE: Final = {"type": "number", "minimum": 0, "maximum": 1}
_OWN_CLASS: Final = r"\.py:\w+"
"""The name of a class in a user's file."""


def spec_schema() -> JsonObject:
    """Return the JSON Schema (draft 2020-12) of a spec file.

    Nothing is required, because flags may say what a file does not.
    """
    properties = {
        name: {"description": key.meaning, **_of_key(name, key)}
        for name, key in KEYS.items()
    }
    # A policy of your own has fields of its own beside those of what it builds on.
    tables = {name: properties[name] for name in ("paper", "original")}
    own = {"additionalProperties": {"type": ["number", "boolean", "string"]}}
    return {
        "$schema": _DIALECT,
        "title": "core-mondrian spec",
        "type": "object",
        "properties": properties | {name: x | own for name, x in tables.items()},
        "additionalProperties": False,
        "if": {
            "properties": {"policy": {"pattern": _OWN_CLASS}},
            "required": ["policy"],
        },
        "else": {"properties": tables},
    }


def _of_key(name: str, key: Key) -> JsonObject:
    if name in TABLES:
        return _of_table(name, TABLES[name])
    if name == "models":
        return {"type": "array", "items": {"anyOf": _models()}}
    schema = {"enum": list(key.choices)} if key.choices else dict(key.kind.schema)
    return {"anyOf": [schema, _table(schema)]} if name in BY_COLUMN else schema


def _table(values: JsonObject) -> JsonObject:
    return {"type": "object", "additionalProperties": values}


def _of_table(name: str, kind: type) -> JsonObject:
    """Return the schema of a TOML table of a policy, or that of thresholds."""
    meanings = {field: key.meaning for field, key in keys_of(kind).items()}
    schema = _of_fields(kind, meanings)
    if name == "thresholds":
        for one in schema["properties"].values():
            del one["type"]
            one["anyOf"] = [_SHARE, {"const": "off"}]
    elif name == "paper":
        more = {
            "rilm_epsilon": {"anyOf": [{"type": "number"}, {"const": "always"}]},
            "breakout_thresholds": _table(
                {"type": "number", "minimum": 0, "maximum": 1}
            ),
        }
        for field, own in more.items():
            schema["properties"][field] = {"description": meanings[field], **own}
    return schema


def _of_fields(kind: type, meanings: Mapping[str, str]) -> JsonObject:
    """Return the schema of a TOML table that becomes a dataclass."""
    hints = typing.get_type_hints(kind)
    properties = {
        item.name: {"description": meanings[item.name], **_of_hint(hints[item.name])}
        for item in dataclasses.fields(kind)
    }
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }


def _models() -> list[JsonObject]:
    """Return a schema for each of our models, and one for the user's own."""
    ours = []
    for name, kind in MODELS.items():
        schema = _of_fields(kind, PARAMETERS)
        if "population" in schema["properties"]:  # in a file it is one
            parameter = {"description": PARAMETERS["population"], "type": "string"}
            schema["properties"]["population"] = parameter
        needed = [
            item.name
            for item in dataclasses.fields(kind)  # type: ignore[arg-type]
            if item.default is dataclasses.MISSING
            and item.default_factory is dataclasses.MISSING
        ]
        named = {"description": PARAMETERS["name"], "const": name}
        properties = {"name": named, **schema["properties"]}
        required = ["name", *needed]
        ours.append({**schema, "properties": properties, "required": required})
    own = {
        "description": PARAMETERS["name"],
        "type": "string",
        "pattern": r"\.py:\w+$",
    }
    return [
        *ours,
        {"type": "object", "properties": {"name": own}, "required": ["name"]},
    ]


def _of_hint(hint: object) -> JsonObject:
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
