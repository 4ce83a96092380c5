"""Draft: what the page asks for, and the spec file that says the same.

The page never builds a `Spec` of its own: it writes TOML and reads it back, so that the
command line, given the file, cannot do anything else.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from core_mondrian.analysis.suggest import MOST_QUASI_IDENTIFIERS, Guess, Role, quoted
from core_mondrian.errors import MondrianError, SpecError
from core_mondrian.runtime.plain_values import JsonObject
from core_mondrian.spec.declaration import Spec, spec_from_mapping
from core_mondrian.studio.protections import (
    NONE,
    first_values,
    parse_list,
    requested_model,
)
from core_mondrian.studio.unsupported_keys import put_back

Chosen: TypeAlias = Role | Literal["pseudonym"]
"""A role; nothing tells from a table that a column should get pseudonyms."""

ROLES: Final[dict[Chosen, str]] = {
    "quasi-identifier": "others may know it",
    "sensitive": "sensitive",
    "identifier": "remove it",
    "pseudonym": "replace it by a pseudonym",
    "unit": "whose row it is",
    "weight": "survey weight",
    "carried": "keep as it is",
}
"""What each role is called on the page."""
AS_POLICY: Final = "policy"
"""What is left to the policy, and not in the spec."""
DEFAULT: Final = "default"
"""The key of a table by column that all other columns go by."""
SINGLE: Final[tuple[Chosen, ...]] = ("unit", "weight")
"""Roles that one column has at most."""
Slot: TypeAlias = tuple[str, str | int]
"""Which model: that of k, of the table, of a column, or which of the rest."""
OF_K: Final[Slot] = ("k", "")
OF_TABLE: Final[Slot] = ("table", "")


@dataclass(slots=True)
class Protection:
    """A privacy model and its parameters; `NONE`: no protection."""

    model: str = "distinct-l-diversity"
    values: JsonObject = field(default_factory=lambda: {"l": 2})

    def take(self, model: str) -> None:
        """Ask for another model, with what it begins with."""
        self.model = model
        self.values = {} if model == NONE else first_values(model)

    def requested_models(self) -> Iterator[JsonObject]:
        """Yield the model as a spec file has it, if there is one."""
        if self.model != NONE:
            yield requested_model(self.model, self.values)


@dataclass(slots=True)
class Draft:
    """Everything that is chosen on the page, as plain values."""

    roles: dict[str, Chosen] = field(default_factory=dict)
    """Of every column; those of a role in the order in which the spec names them."""
    k: int = 5
    guards: dict[str, Protection] = field(default_factory=dict)
    """Of sensitive columns."""
    further: Protection = field(default_factory=lambda: Protection(NONE, {}))
    """Of the whole table, beside k."""
    policy: str = "best"
    effort: str = "auto"
    groups: str | None = None
    """The column whose groups' losses are shown."""
    is_equal: bool = False
    """Whether the worst of these groups should lose about as much as the others."""
    suppress: str = ""
    """Rows that may be left out, such as 1% or 20; empty: as the policy has it."""
    suppressed: str = "drop"
    missing: str = AS_POLICY
    null_values: str = ""
    """Texts that mean nothing is known, with commas between them."""
    numbers: str = "interval"
    numbers_of: dict[str, str] = field(default_factory=dict)
    """How single columns are released, where that is not as `numbers` says."""
    categories: str = "label"
    categories_of: dict[str, str] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    """How much a loss in a column matters, where that is not 1."""
    is_nice: bool = False
    guards_formulas: bool = False
    """Whether text of a CSV release is kept from being a formula in a spreadsheet."""
    hierarchies: dict[str, JsonObject] = field(default_factory=dict)
    """Per quasi-identifier the table of a builder, as a spec file has it."""
    rest: JsonObject = field(default_factory=dict)
    """What a file that was opened says and the page has no control for."""
    order: tuple[Slot, ...] = ()
    """How the models of that file stand; none: there was no file."""
    folder: Path = field(default=Path(), repr=False)
    """Where files that the spec names stand."""

    def columns_of(self, role: Chosen) -> list[str]:
        """Return the columns of a role, in the spec's order."""
        return [name for name, has in self.roles.items() if has == role]

    def assign(self, name: str, role: Chosen) -> None:
        """Give a column a role; of some roles there is one, and the last wins."""
        if role in SINGLE:
            for other in self.columns_of(role):
                self.roles[other] = "carried"
        self.roles[name] = role

    def guard(self, name: str) -> Protection:
        """Return how a sensitive column is protected, by default with two values."""
        return self.guards.setdefault(name, Protection())

    def to_toml(self) -> str:
        """Return the spec file."""
        return "".join(f"{line}\n" for line in self._lines())

    def to_spec(self) -> Spec:
        """Return what the spec file asks for.

        Raises:
            SpecError: there is no quasi-identifier, or a choice is refused.
            DataError: a file cannot be read.
        """
        if not self.columns_of("quasi-identifier"):
            raise SpecError(
                "no column is marked as one that others may know",
                hint="mark at least one, such as age or sex",
            )
        try:
            return spec_from_mapping(tomllib.loads(self.to_toml()), self.folder)
        except MondrianError as error:  # files stand here in a folder of our own
            message = error.message.replace(f"{self.folder}/", "")
            raise type(error)(message, hint=error.hint) from None

    def _lines(self) -> Iterator[str]:
        asked = put_back(self._keys(), self.rest)
        if not self._begins_with_k():
            asked.pop("k")
        for key, value in asked.items():
            if not isinstance(value, Mapping):
                yield f"{key} = {toml_value(value)}"
        for key, value in asked.items():
            if isinstance(value, Mapping):
                yield ""
                yield f"[{key}]"
                yield from (f"{_key(k)} = {toml_value(v)}" for k, v in value.items())
        for model in self.models():
            yield ""
            yield "[[models]]"
            yield from (f"{key} = {toml_value(value)}" for key, value in model.items())

    def _keys(self) -> JsonObject:
        """Return the keys of the spec but for its models; defaults are left out."""
        known = self.columns_of("quasi-identifier")
        asked = {"quasi_identifiers": known, "k": self.k, **self._role_keys()}
        asked["policy"] = self.policy
        asked |= self._row_keys()
        asked |= self._format_keys(known)
        if self.is_nice:
            asked["nice"] = True
        if self.guards_formulas:
            asked["guard_formulas"] = True
        if self.policy == "best":
            asked["best"] = {"effort": self.effort}
            if self.is_equal and self.groups is not None:
                asked["best"]["equity"] = self.groups
        trees = {name: self.hierarchies[name] for name in known if self._has_tree(name)}
        weights = {name: self.weights[name] for name in known if name in self.weights}
        if weights:
            asked["weights"] = weights
        return asked | ({"hierarchies": trees} if trees else {})

    def _format_keys(self, known: Sequence[str]) -> JsonObject:
        """Return how columns are released: one word, or a table by column."""
        return {
            "numbers": _by_column(self.numbers, self.numbers_of, known),
            "categories": _by_column(self.categories, self.categories_of, known),
        }

    def _role_keys(self) -> JsonObject:
        lists = {
            "identifiers": self.columns_of("identifier"),
            "pseudonyms": self.columns_of("pseudonym"),
        }
        asked: JsonObject = {key: names for key, names in lists.items() if names}
        for role in SINGLE:
            asked |= {str(role): name for name in self.columns_of(role)}
        return asked

    def _row_keys(self) -> JsonObject:
        """Return what becomes of rows that are left out, and of missing values."""
        asked: JsonObject = {}
        if text := self.suppress.strip():
            asked["suppress"] = text
        if self.suppressed != "drop":
            asked["suppressed"] = self.suppressed
        if self.missing != AS_POLICY:
            asked["missing"] = self.missing
        if nulls := parse_list(self.null_values):
            asked["null_values"] = list(nulls)
        return asked

    def _has_tree(self, name: str) -> bool:
        return bool(self.hierarchies.get(name))

    def models(self) -> list[JsonObject]:
        """Return the models as a spec file lists them; k has a key of its own."""
        begins = self._begins_with_k()
        return [model for slot, model in self._placed() if slot != OF_K or not begins]

    def given(self) -> Iterator[JsonObject]:
        """Yield the parameters of every model that is asked for, to be changed."""
        guards = (self.guard(name) for name in self.columns_of("sensitive"))
        for guard in (self.further, *guards):
            if guard.model != NONE:
                yield guard.values
        yield from self.rest.get("models", ())

    def _begins_with_k(self) -> bool:
        placed = self._placed()
        return bool(placed) and placed[0][0] == OF_K

    def _placed(self) -> list[tuple[Slot, JsonObject]]:
        """Return the models in the order of the file; k first, others after it."""
        by_slot = dict(self._slots())
        is_in_file = not self.order or OF_K in self.order
        if self.k > 1 or is_in_file or not by_slot:
            by_slot = {OF_K: {"name": "k-anonymity", "k": self.k}, **by_slot}
        places = {OF_K: -1} | {slot: i for i, slot in enumerate(self.order)}
        last = len(self.order)
        return sorted(by_slot.items(), key=lambda one: places.get(one[0], last))

    def _slots(self) -> Iterator[tuple[Slot, JsonObject]]:
        for model in self.further.requested_models():
            yield OF_TABLE, model
        sensitive = self.columns_of("sensitive")
        for name in sensitive:
            for asked in self.guard(name).requested_models():
                yield ("column", name), asked | {"sensitive": name}
        for i, model in enumerate(self.rest.get("models", ())):
            if model.get("sensitive") in (None, *sensitive):
                yield ("rest", i), model


def _by_column(
    usual: str, own: Mapping[str, str], names: Sequence[str]
) -> str | dict[str, str]:
    """Return one word for all columns, or a table if some have their own."""
    # A spec file has no other place for all columns than a column of that name.
    others = {name: own[name] for name in names if name in own and name != DEFAULT}
    return {DEFAULT: usual, **others} if others else usual


def draft_of(guesses: Sequence[Guess]) -> Draft:
    """Return a first draft; as in `init`, only the most telling columns are taken.

    Postal codes have groups from the start: without, nothing would be left of them.
    """
    ranked = sorted(
        (guess for guess in guesses if guess.role == "quasi-identifier"),
        key=lambda guess: guess.rank,
    )
    late = {guess.name for guess in ranked[MOST_QUASI_IDENTIFIERS:]}
    draft = Draft({guess.name: "carried" for guess in guesses})
    for guess in guesses:
        is_taken = guess.role in SINGLE and draft.columns_of(guess.role)
        if guess.name not in late and not is_taken:
            draft.assign(guess.name, guess.role)
            if guess.is_code:
                draft.hierarchies[guess.name] = {"kind": "prefix"}
    return draft


def toml_value(value: Any) -> str:  # noqa: ANN401  # anything TOML knows
    """Return a plain value as TOML writes it on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Mapping):
        pairs = (f"{_key(key)} = {toml_value(item)}" for key, item in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    return repr(value)


def _key(name: str) -> str:
    """Return a key, in quotes where it needs them."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else quoted(name)
