"""What a builder is: parameters that become a hierarchy once the values are known."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any, ClassVar

from core_mondrian.errors import SpecError
from core_mondrian.hierarchies.tree import ROOT, Hierarchy, flat, from_columns
from core_mondrian.runtime.plain_values import JsonObject


class Builder(ABC):
    """A frozen value that says how to make a hierarchy of a column's values.

    What it cannot place (a text among numbers) is left out of the tree; the spec's
    ``uncovered`` says what becomes of it.
    """

    kind: ClassVar[str]

    @abstractmethod
    def build(self, values: Iterable[object]) -> Hierarchy:
        """Return the tree over the distinct values of a column, in the order given."""

    def to_json(self) -> JsonObject:
        """Return the plain parameters."""
        plain: JsonObject = {"kind": self.kind}
        for item in fields(self):  # type: ignore[arg-type]
            value = getattr(self, item.name)
            if value not in (None, ()):
                plain[item.name] = value
        return plain


def texts_of(values: Iterable[object]) -> list[str]:
    """Return the distinct values as a table shows them."""
    return list(dict.fromkeys(as_text(value) for value in values))


def as_text(value: object) -> str:
    """Return a value as a hierarchy's leaf names it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def from_levels(texts: Sequence[str], levels: Sequence[Sequence[str]]) -> Hierarchy:
    """Return the tree with ``texts`` as leaves and the ``levels`` over them, root last.

    A level that says the same as the one below it is left out.
    """
    columns = [texts]
    for level in levels:
        if list(level) != list(columns[-1]):
            columns.append(level)
    if not texts:
        return flat([])
    return from_columns([*columns, [ROOT] * len(texts)])


def as_tuple(given: object) -> tuple[Any, ...]:
    """Return one value, or a list of them, as a builder holds it."""
    return tuple(given) if isinstance(given, list | tuple) else (given,)


def check_numbers(kind: str, key: str, values: Sequence[object]) -> None:
    """Refuse what are not whole numbers of at least 1, one or more."""
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise SpecError(f"{kind}: {key} are whole numbers of at least 1")
    if not values:
        raise SpecError(f"{kind}: {key} has no number")
