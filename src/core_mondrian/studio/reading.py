"""Reading: a spec file becomes what is chosen on the page, and nothing of it is lost.

What the page has a control for goes into the draft's fields, all else into its rest.
"""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Final

from core_mondrian.errors import MondrianError, SpecError, list_names
from core_mondrian.models import MODELS
from core_mondrian.runtime.plain_values import JsonMapping, JsonObject
from core_mondrian.spec.declaration import Spec, spec_from_mapping
from core_mondrian.spec.keys import FORMATS
from core_mondrian.spec.toml_file import SpecFile, read_spec_file
from core_mondrian.studio.draft import OF_K, OF_TABLE, Chosen, Draft, Protection, Slot
from core_mondrian.studio.protections import NONE, of_columns, parse_list
from core_mondrian.studio.trees import MOST_DRAGGED
from core_mondrian.tables.files.kinds import unreadable

BY_COLUMN: Final = {
    "numbers": "numbers_of",
    "categories": "categories_of",
    "weights": "weights",
}
"""The draft's field for what a key says by column; without one it is the rest's."""
_DEFAULTS: Final = {"numbers": "numbers", "categories": "categories", "nice": "is_nice"}
"""The draft's field for what such a key says of all other columns."""
_FIELDS: Final = {
    "policy": "policy",
    "missing": "missing",
    "suppressed": "suppressed",
    "guard_formulas": "guards_formulas",
}
_KINDS: Final = ("flat", "prefix", "ranges", "dates", "learned")
"""Builders of hierarchies that the page shows, next to groups and files."""
_OF_ROLES: Final = ("quasi_identifiers", "identifiers", "pseudonyms", "unit", "weight")
_FILES: Final = ("hierarchy", "population")
"""Parameters of models that name files."""


@dataclass(frozen=True, slots=True)
class Named:
    """A spec file whose files are to stand in one folder, under their bare names."""

    file: SpecFile
    files: dict[str, str]
    """Per bare name, what the file itself calls it."""

    @property
    def has_code(self) -> bool:
        return any(name.endswith(".py") for name in self.files)

    def missing_in(self, folder: Path) -> list[str]:
        """Return the files that are not in the folder yet."""
        return [name for name in self.files if not (folder / name).is_file()]

    def copy_files(self, folder: Path) -> None:
        """Copy its files from where it stands, so that no other place is read later.

        Raises:
            DataError: one of them cannot be read.
        """
        folder.mkdir(exist_ok=True)
        for name, called in self.files.items():
            source = self.file.path.parent / called
            try:
                shutil.copyfile(source, folder / name)
            except OSError as error:
                raise unreadable(called, error) from None

    def to_draft(self, names: Sequence[str], folder: Path) -> Draft:
        """Return the choices that it stands for; its files are in the folder.

        Raises:
            SpecError: it asks for what does not exist, or for columns other than
                ``names``; the message has the line.
            DataError: a file cannot be read.
        """
        try:
            with self.file.located():
                return read_draft(self.file.values, names, folder)
        except MondrianError as error:  # files stand here in a folder of our own
            message = error.message.replace(f"{folder}/", "")
            raise type(error)(message, hint=error.hint) from None


def open_spec(path: Path, title: str) -> Named:
    """Read a spec file that its user calls ``title``.

    Raises:
        SpecError: it is no TOML, or two of its files have one name.
    """
    try:
        file = read_spec_file(path)
    except SpecError as error:  # the file stands here under another name
        message = error.message.replace(str(path), title)
        raise SpecError(message, hint=error.hint) from None
    return name_files(file._replace(path=Path(title)))


def name_files(file: SpecFile) -> Named:
    """Return the file with the bare names of the files that it names.

    Raises:
        SpecError: two of them have one name.
    """
    files: dict[str, str] = {}

    def bare(called: str) -> str:
        name = PurePath(called).name
        if name in ("", ".."):
            return called  # no file, as reading it will tell
        if files.setdefault(name, called) != called:
            raise SpecError(
                f"the spec names two files that are called {name}",
                hint="give each a name of its own",
            )
        return name

    asked = dict(file.values)
    if isinstance(trees := asked.get("hierarchies"), dict):
        asked["hierarchies"] = {name: _tree(one, bare) for name, one in trees.items()}
    if isinstance(models := asked.get("models"), list):
        asked["models"] = [_model(one, bare) for one in models]
    return Named(file._replace(values=asked), files)


def _tree(entry: Any, bare: Callable[[str], str]) -> Any:  # noqa: ANN401  # plain values
    if isinstance(entry, str):
        return {"file": bare(entry)}
    if isinstance(entry, dict) and isinstance(entry.get("file"), str):
        return entry | {"file": bare(entry["file"])}
    return entry


def _model(model: Any, bare: Callable[[str], str]) -> Any:  # noqa: ANN401  # plain values
    if not isinstance(model, dict):
        return model
    plain = dict(model)
    for key in _FILES:
        if isinstance(model.get(key), str):
            plain[key] = bare(model[key])
    file, colon, member = str(model.get("name", "")).rpartition(":")
    return plain | ({"name": f"{bare(file)}:{member}"} if colon else {})


def read_draft(asked: JsonMapping, names: Sequence[str], folder: Path) -> Draft:
    """Return the choices that a spec file's plain values stand for, for a table.

    The draft's own file has the same `Spec`.

    Raises:
        SpecError: they are no spec, or name columns that the table does not have.
        DataError: a file that they name cannot be read.
    """
    spec = spec_from_mapping(asked, folder)
    if lacking := [name for name in spec.columns if name not in names]:
        raise SpecError(
            f"the spec names columns that the table does not have: "
            f"{list_names(lacking)}",
            hint="take the table that it was made for, or change the names in the spec",
        )
    draft = Draft(_roles(spec, names), folder=folder)
    for key, value in asked.items():
        if key not in _OF_ROLES:
            _TAKE.get(key, _keep)(draft, key, value)
    _take_models(draft, spec, asked)
    if spec.unit in spec.pseudonyms and spec.unit is not None:
        draft.rest["unit"] = spec.unit
    return draft


def _roles(spec: Spec, names: Sequence[str]) -> dict[str, Chosen]:
    """Return the role of every column, those that the spec names first."""
    lists: dict[Chosen, Sequence[str | None]] = {
        "quasi-identifier": spec.quasi_identifiers,
        "sensitive": spec.sensitive,
        "pseudonym": spec.pseudonyms,
        "unit": (spec.unit,),
        "identifier": spec.identifiers,
        "weight": (spec.weight,),
    }
    roles: dict[str, Chosen] = {}
    for role, columns in lists.items():
        for name in columns:
            if name is not None:
                # A unit may have pseudonyms (see rest), or be an identifier.
                roles.setdefault(name, role)
    return roles | {name: "carried" for name in names if name not in roles}


def _keep(draft: Draft, key: str, value: Any) -> None:  # noqa: ANN401  # plain values
    draft.rest[key] = value


def _set(draft: Draft, key: str, value: Any) -> None:  # noqa: ANN401  # plain values
    setattr(draft, _FIELDS[key], value)


def _take_suppress(draft: Draft, _key: str, value: str | int) -> None:
    draft.suppress = str(value)


def _take_format(draft: Draft, key: str, value: Any) -> None:  # noqa: ANN401  # plain values
    by_column = dict(value) if isinstance(value, dict) else {"default": value}
    if "default" in by_column:
        setattr(draft, _DEFAULTS[key], by_column.pop("default"))
    _take_by_column(draft, key, by_column)


def _take_by_column(draft: Draft, key: str, value: JsonObject) -> None:
    if key in BY_COLUMN:
        setattr(draft, BY_COLUMN[key], value)
    elif value:
        draft.rest[key] = value


def _take_nulls(draft: Draft, key: str, value: list[str]) -> None:
    """Take texts that can be typed with commas between them; keep others."""
    text = ", ".join(value)
    if value and parse_list(text) == tuple(value):
        draft.null_values = text
    else:
        draft.rest[key] = value


def _take_best(draft: Draft, key: str, value: JsonObject) -> None:
    options = dict(value)
    draft.effort = options.pop("effort", draft.effort)
    if (equity := options.pop("equity", None)) is not None:
        draft.groups, draft.is_equal = equity, True
    if options:
        draft.rest[key] = options


def _take_trees(draft: Draft, key: str, value: JsonObject) -> None:
    for name, entry in value.items():
        table = {"file": entry} if isinstance(entry, str) else entry
        if _is_shown(table):
            draft.hierarchies[name] = table
        else:
            draft.rest.setdefault(key, {})[name] = table


def _is_shown(entry: JsonObject) -> bool:
    """Tell whether the page can show and change how a column becomes coarser."""
    kind = entry.get("kind", "file")
    if kind != "grouping":
        return kind == "file" or kind in _KINDS
    groups = list(entry["groups"].values())
    is_flat = all(isinstance(group, list) for group in groups)
    values = [value for group in groups for value in group] if is_flat else []
    are_texts = all(isinstance(value, str) for value in values)
    return is_flat and are_texts and len(values) <= MOST_DRAGGED


def _take_models(draft: Draft, spec: Spec, asked: JsonMapping) -> None:
    """Give the first model of a column, and of the table, to its control."""
    draft.guards = {name: Protection(NONE, {}) for name in spec.sensitive}
    draft.k = asked.get("k", 1)
    order: list[Slot] = [OF_K] if "k" in asked else []
    more: list[JsonObject] = []
    for model in asked.get("models", ()):
        slot = _slot_of(model)
        if slot is None or slot in order:
            slot = ("rest", len(more))
            more.append(model)
        else:
            _take_model(draft, slot, model)
        order.append(slot)
    draft.order = tuple(order)
    if more:
        draft.rest["models"] = more


def _slot_of(model: JsonMapping) -> Slot | None:
    name = model["name"]
    if name == "k-anonymity":
        return OF_K
    if name in of_columns():
        return ("column", model["sensitive"])
    return OF_TABLE if name in MODELS else None


def _take_model(draft: Draft, slot: Slot, model: JsonMapping) -> None:
    values = {k: x for k, x in model.items() if k not in ("name", "sensitive")}
    if slot == OF_K:
        draft.k = values["k"]
    elif slot == OF_TABLE:
        draft.further = Protection(model["name"], values)
    else:
        draft.guards[model["sensitive"]] = Protection(model["name"], values)


_TAKE: Final[dict[str, Callable[[Draft, str, Any], None]]] = {
    **dict.fromkeys(_FIELDS, _set),
    **dict.fromkeys((*FORMATS, "nice"), _take_format),
    "weights": _take_by_column,
    "suppress": _take_suppress,
    "null_values": _take_nulls,
    "best": _take_best,
    "hierarchies": _take_trees,
    "k": lambda *_: None,  # among the models
    "models": lambda *_: None,
}
