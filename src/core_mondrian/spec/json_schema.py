"""spec_schema(): what a spec file may say, as JSON Schema for editors."""

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, Final, Literal

from core_mondrian.hierarchies.tree import Hierarchy
from core_mondrian.models import MODELS
from core_mondrian.spec.declaration import CHOICES, Thresholds
from core_mondrian.spec.policies import POLICIES
from core_mondrian.spec.toml_file import KEYS

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_PLAIN: Final[dict[object, str]] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
}

DESCRIPTIONS: Final = {
    "quasi_identifiers": "Columns others may know of a person; ties go to the first.",
    "identifiers": "Columns removed from the release.",
    "unit": "The column that says whose row it is: sizes of classes count persons.",
    "pseudonyms": "Columns replaced by keyed pseudonyms; needs a key outside the spec.",
    "pseudonym_domains": "Column to a domain; pseudonyms of one domain can be joined.",
    "weight": "The column that says how many people a row stands for; measures use it.",
    "accept": "Columns that pass through and whose warnings are known.",
    "k": "Rows a class needs, at least 2.",
    "models": "Privacy models that every class has to pass, next to k.",
    "policy": "How cuts are chosen: lowest loss, Core Mondrian's funnel, the classic.",
    "missing": "Missing values: one more value, or kept apart by pattern.",
    "small_patterns": "Missing patterns that fail: repaired by blanks, or suppressed.",
    "suppress": 'Rows that may be left out: a share such as "1%", or a number.',
    "suppress_multiplier": "Safety margin factor on a share, also above 1.",
    "suppressed": "Rows that are left out: dropped, blank, or given back apart.",
    "numbers": "How numbers are released: one word, or a table by column.",
    "nice": "Put the bounds of ranges on a grid: true, or a table by column.",
    "class_id": "A column to add, with the number of each row's class.",
    "shuffle": "A seed: rows in an order of their own, not that of the source.",
    "guard_formulas": "CSV: an apostrophe before text that a spreadsheet would run.",
    "categories": "How categories are released: one word, or a table by column.",
    "weights": "How much a loss in a column matters, next to 1 for the others.",
    "inline_below": "Partitions with fewer rows are solved in place.",
    "exclude": "Quasi-identifiers left out of the minima of thresholds.",
    "null_values": "Texts that stand for a missing value, next to the empty one.",
    "hierarchies": "Column to a file, relative to the spec, or how to make a tree.",
    "uncovered": "Values that a hierarchy lacks: error, own branch, or suppress.",
    "thresholds": "The quality a release should reach.",
    "best": "Options of policy best.",
    "paper": "Options of policy paper.",
    "original": "Options of policy original.",
    "thresholds.pct_non_suppressed": "Share of rows released.",
    "thresholds.rilm_categorical": "Smallest RILM of a category.",
    "thresholds.rilm_numerical": "Smallest RILM of a number.",
    "thresholds.pearson": "Smallest correlation of a number with its original.",
    "thresholds.nmi": "Smallest scaled mutual information of a number.",
    "best.effort": "How long is searched; longer loses less.",
    "best.disjoint": "Keep the boxes of classes disjoint.",
    "best.beta": "Weight of impurity next to loss, 0 to 1000; else the data chooses.",
    "best.price": "What a suppressed cell costs, where 1 is a cell that shows nothing.",
    "best.equity": "Column whose groups should lose about as much as each other.",
    "best.equity_bound": "How much the worst group may lose, as a multiple of all.",
    "paper.cut_points": "Where numbers may be cut.",
    "paper.spend": "Whether partitions solved in place suppress rows, too.",
    "paper.bin_edges_above": "Bin edges from this share of all rows on.",
    "paper.max_bin_edges": "Edges proposed per histogram.",
    "paper.min_bin_values": "Distinct values a histogram needs.",
    "paper.tails": "Percent cut off both ends, in any order, 0 among them.",
    "paper.rilm_epsilon": 'Columns this close in RILM compete; "always": all do.',
    "paper.compete_above": "Columns compete from this share of all rows on.",
    "paper.breakout_multiplier": "How far above its threshold a column is left alone.",
    "paper.breakout_thresholds": "RILM threshold of single columns, 0 to 1.",
    "original.variant": "Whether the next-widest column is tried.",
    "models.name": "Which model: one of ours, or FILE.py:CLASS.",
    "models.k": "Rows a class needs; for k-map, persons of the population.",
    "models.sensitive": "The sensitive column.",
    "models.missing": "A missing value is a value, or does not count.",
    "models.l": "Sensitive values a class needs.",
    "models.p": "Different sensitive values a class needs.",
    "models.c": "How much more frequent the most frequent value may be.",
    "models.alpha": "Largest share of a sensitive value in a class.",
    "models.values": "Only these values are sensitive.",
    "models.t": "Largest distance from the whole table, 0 to 1.",
    "models.distance": "How far apart two sensitive values are.",
    "models.hierarchy": "File with the hierarchy of the sensitive column.",
    "models.delta": "Largest difference, in logarithms, from the whole table.",
    "models.absent": "Whether a class may lack a sensitive value.",
    "models.beta": "Largest relative gain of a value's share.",
    "models.kind": "enhanced also limits the gain of frequent values.",
    "models.risk": "Largest chance of being picked out, below 1.",
    "models.population": "File with the population, one row a person.",
    "models.low": "Smallest chance of being in the table.",
    "models.high": "Largest chance of being in the table.",
}
"""A sentence for every key; the tests ask for it."""


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
