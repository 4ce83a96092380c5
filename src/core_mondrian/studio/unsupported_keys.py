"""Rest: what a spec file says that the page has no control for, put back into it.

What belongs to columns is put back as long as they have the role that it needs.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from core_mondrian.runtime.plain_values import JsonMapping, JsonObject
from core_mondrian.spec.policies import POLICIES

Asked: TypeAlias = JsonObject


def put_back(asked: JsonMapping, rest: JsonMapping) -> Asked:
    """Return what the page asks for, and the rest of the file that was opened."""
    keys = dict(asked)
    for key, value in rest.items():
        if key in POLICIES:
            _put_policy(keys, key, value)
        elif key in _PUT:
            _PUT[key](keys, key, value)
        elif key != "models":  # they are put in by their places
            keys.setdefault(key, value)
    return keys


def names_of(rest: JsonMapping) -> list[str]:
    """Return what the rest consists of, as the spec calls it."""
    names: list[str] = []
    for key, value in rest.items():
        if key == "models":
            names += [f"model {model['name']}" for model in value]
        elif isinstance(value, Mapping) and key != "thresholds":
            names += [f"{key}.{name}" for name in value]
        else:
            names.append(key)
    return names


def _put_policy(keys: Asked, key: str, value: JsonMapping) -> None:
    if keys["policy"] == key:
        keys[key] = {**value, **keys.get(key, {})}
        if "equity" not in keys[key]:
            keys[key].pop("equity_bound", None)
        if "breakout_thresholds" in keys[key]:
            own = _of_known(keys, keys[key]["breakout_thresholds"])
            keys[key]["breakout_thresholds"] = own


def _put_format(keys: Asked, key: str, value: JsonMapping) -> None:
    """Put formats of columns beside what is so for all others."""
    if of_columns := _of_known(keys, value):
        keys[key] = {"default": keys.get(key, False), **of_columns}


def _put_table(keys: Asked, key: str, value: JsonMapping) -> None:
    """Put what is told by column; what the page says of a column goes first."""
    if table := {**_of_known(keys, value), **keys.get(key, {})}:
        keys[key] = table


def _of_known(keys: Asked, value: JsonMapping) -> Asked:
    known = keys["quasi_identifiers"]
    return {name: item for name, item in value.items() if name in known}


def _put_excluded(keys: Asked, key: str, value: list[str]) -> None:
    keys[key] = [name for name in value if name in keys["quasi_identifiers"]]


def _put_accepted(keys: Asked, key: str, value: list[str]) -> None:
    """Put columns of which there may be a warning: all but quasi-identifiers."""
    keys[key] = [name for name in value if name not in keys["quasi_identifiers"]]


def _put_unit(keys: Asked, key: str, value: str) -> None:
    """Put a unit that gets pseudonyms; the page knows one role of a column."""
    if value in keys.get("pseudonyms", ()):
        keys.setdefault(key, value)


def _put_domains(keys: Asked, key: str, value: Mapping[str, str]) -> None:
    known = keys.get("pseudonyms", ())
    keys[key] = {name: domain for name, domain in value.items() if name in known}


def _put_patterns(keys: Asked, key: str, value: str) -> None:
    """Put what becomes of small patterns, where there are patterns."""
    usual = "value" if keys["policy"] == "best" else "pattern"
    if keys.get("missing", usual) == "pattern":
        keys[key] = value


def _put_nulls(keys: Asked, key: str, value: list[str]) -> None:
    keys[key] = [*value, *keys.get(key, ())]


_PUT: Final[dict[str, Callable[[Asked, str, Any], None]]] = {
    "numbers": _put_format,
    "categories": _put_format,
    "nice": _put_format,
    "weights": _put_table,
    "hierarchies": _put_table,
    "exclude": _put_excluded,
    "accept": _put_accepted,
    "unit": _put_unit,
    "pseudonym_domains": _put_domains,
    "null_values": _put_nulls,
    "small_patterns": _put_patterns,
}
