"""What is declared of a key, once: readers, schema, flags, docs and pages follow it."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from operator import index
from typing import Any, Final, NamedTuple

from core_mondrian.errors import SpecError
from core_mondrian.runtime.plain_values import JsonMapping, JsonObject


def _read_texts(value: Any, key: str) -> tuple[str, ...]:  # noqa: ANN401
    if isinstance(value, str):
        return (value,)
    is_list = isinstance(value, Iterable) and not isinstance(value, Mapping | bytes)
    texts = tuple(value) if is_list else (None,)
    if any(not isinstance(text, str) for text in texts):
        raise SpecError(
            f"{key} is a list of texts", hint=f"such as {key} = ['age', 'sex']"
        )
    return texts


def _read_text(value: object, key: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise wrong_kind(value, key, "a text")


def _read_bool(value: object, key: str) -> bool:
    if isinstance(value, bool):
        return value
    raise wrong_kind(value, key, "true or false")


def read_whole(value: Any, key: str) -> int | None:  # noqa: ANN401
    """Return a whole number of any type; None stays."""
    if value is None:
        return None
    try:
        if not isinstance(value, bool):
            return index(value)
    except TypeError:
        pass
    raise wrong_kind(value, key, "a whole number")


def _read_table(value: object, key: str) -> JsonObject:
    if isinstance(value, Mapping):
        return dict(value)
    raise wrong_kind(value, key, "a table by column")


def wrong_kind(value: object, key: str, wanted: str) -> SpecError:
    """Return what is wrong with a value of the wrong type, without the value."""
    kind = type(value).__name__
    return SpecError(
        f"{key} has the wrong kind: {kind}", hint=f"it is {wanted}", key=(key,)
    )


class Kind(NamedTuple):
    """What the plain values of a key are."""

    schema: JsonMapping
    read: Callable[[Any, str], Any] | None = None
    """None: `reading` reads it together with other keys."""
    option: Any = list[str]
    """What typer takes for a flag; a list is repeated."""


TEXT: Final = Kind({"type": "string"}, _read_text, str)
TEXTS: Final = Kind({"type": "array", "items": {"type": "string"}}, _read_texts)
TRUTH: Final = Kind({"type": "boolean"}, _read_bool, bool)
WHOLE: Final = Kind({"type": "integer"}, read_whole, int)
TABLE: Final = Kind({"type": "object", "additionalProperties": {}}, _read_table)
OTHER: Final = Kind({})
"""Of a policy or a model: its type says what it may be."""


PROTECTION: Final = "What is protected"
COLUMNS: Final = "Other columns"
SEARCH: Final = "How classes are made"
SHOWN: Final = "What the release shows"
ABSENT: Final = "Missing values"


class Flag(NamedTuple):
    """What a key is called on the command line."""

    name: str
    panel: str
    metavar: str | None = None
    """None: the choices."""
    help: str = ""
    """Where the key's meaning is too long, or means the file."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What is declared of a key besides its name, its type and its default."""

    meaning: str
    """One sentence for editors, `help()`, `--help` and the docs."""
    kind: Kind = OTHER
    choices: tuple[str, ...] = ()
    flag: Flag | None = None
    shown_default: str | None = None
    """The default as the docs have it, if it is not a plain value."""
    docs: str = ""
    """What the docs say more, in Markdown."""
    accepts: str | None = None
    """What `Spec(...)` takes, if that is not what the kind says."""
    is_of_release: bool = False
    """Whether a release is recounted by it: `verify` and `explain` have it as well."""
    is_new: bool = False
    """Whether manifests of format 2 lack it that are older: its default held then."""


def declare(meaning: str, default: Any = ..., **more: Any) -> Any:  # noqa: ANN401
    """Return a field of a dataclass that is a key; ``...``: it has no default.

    A default that is a function makes it, as for a mapping.
    """
    given = {"default": default}
    if default is ...:
        given = {}
    elif callable(default):
        given = {"default_factory": default}
    metadata = {"key": Key(meaning=meaning, **more)}
    return dataclasses.field(**given, metadata=metadata)


def keys_of(declaration: Any) -> dict[str, Key]:  # noqa: ANN401  # a dataclass
    """Return the keys that a dataclass declares, in its order, short forms included."""
    items = declaration.__dataclass_fields__.items()
    return {
        name: item.metadata["key"] for name, item in items if "key" in item.metadata
    }
