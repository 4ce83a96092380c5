"""Privacy models by name: ours, and the user's own from a file."""

import dataclasses
import difflib
import shlex
from collections.abc import Mapping
from functools import cache
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from pathlib import Path
from types import CodeType
from typing import Any

from core_mondrian.errors import SpecError
from core_mondrian.hierarchies.read import read_hierarchy
from core_mondrian.models import MODELS
from core_mondrian.models.base import PrivacyModel
from core_mondrian.toml_lines import read_toml


def parse_model(text: str) -> dict[str, Any]:
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
    asked: dict[str, Any] = {"name": name}
    for item in given:
        key, separator, value = item.partition("=")
        if not separator or not key or key in asked:
            raise SpecError(
                f"the model {name!r} has something else than one key=value a key",
                hint="for example --model 't-closeness t=0.2 sensitive=income'",
            )
        asked[key] = _plain_value(value)
    return asked


def _plain_value(text: str) -> object:
    """Return a value as TOML would read it; what it would not is a text."""
    try:
        return read_toml(f"value = {text}")["value"]
    except ValueError:
        return text


def model_from_mapping(asked: Mapping[str, Any], folder: Path = Path()) -> PrivacyModel:
    """Build a model from TOML's plain values; files are relative to ``folder``.

    Its name is one of ours, or ``file.py:Class`` for one of the user's.

    Raises:
        SpecError: no such model, or a parameter it does not have or cannot be.
    """
    name = asked.get("name")
    if not isinstance(name, str):
        raise SpecError("a model has no name", hint=f"ours are {sorted(MODELS)}")
    kind = _find(name, folder)
    fields = {item.name: item for item in dataclasses.fields(kind)}
    given = {key: value for key, value in asked.items() if key != "name"}
    for key in given:
        if key not in fields:
            raise SpecError(
                f"the model {name!r} has no {key!r}",
                hint=f"it has {sorted(fields)}",
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
            if item.default is dataclasses.MISSING
            and item.default_factory is dataclasses.MISSING
        ]
        raise SpecError(
            f"the model {name!r} needs {needed}", hint="give each of them a value"
        ) from None
    _check_numbers(model, name)
    return model


def _check_numbers(model: PrivacyModel, name: str) -> None:
    """Refuse what is no number where one is needed; not every model checks itself."""
    try:
        low, high = model.limits().edges
        _ = low <= high, model.parameters, model.min_rows + 0, model.name
    except (TypeError, ValueError, ArithmeticError):
        raise SpecError(f"the model {name!r} has a value of the wrong kind") from None


def has_field(name: str, field: str, folder: Path = Path()) -> bool:
    """Tell whether a model has a parameter of this name."""
    return field in {item.name for item in dataclasses.fields(_find(name, folder))}


def _find(name: str, folder: Path) -> Any:  # noqa: ANN401  # a dataclass, too
    file, separator, member = name.rpartition(":")
    if not separator:
        if name not in MODELS:
            close = difflib.get_close_matches(name, MODELS)
            raise SpecError(
                f"no model {name!r}",
                hint=f"did you mean {close[0]!r}?" if close else f"ours: {[*MODELS]}",
                key=("name",),
            )
        return MODELS[name]
    found = getattr(_load((folder / file).resolve()), member, None)
    if not (isinstance(found, type) and issubclass(found, PrivacyModel)):
        raise SpecError(
            f"{file} has no privacy model {member!r}",
            hint="a model is a class that inherits from core_mondrian.PrivacyModel",
        )
    if not dataclasses.is_dataclass(found):
        raise SpecError(
            f"the model {name!r} is not a dataclass",
            hint="write @dataclass(frozen=True) above the class",
        )
    return found


class _TextLoader(SourceFileLoader):
    """Runs what the file says, never the bytecode beside it, and writes none."""

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002
        code: CodeType = self.source_to_code(self.get_data(self.path), self.path)
        return code


@cache
def _load(path: Path) -> object:
    """Import a file that the user named."""
    if not path.is_file():
        raise SpecError(f"no file {path.name!r} with models", hint="check the path")
    is_source = path.suffix == ".py"  # and not what others have compiled
    if not is_source:
        raise SpecError(
            f"{path.name} is not a Python file", hint="a file with models ends in .py"
        )
    loader = _TextLoader(path.stem, str(path))
    loaded = module_from_spec(ModuleSpec(path.stem, loader, origin=str(path)))
    loaded.__file__ = str(path)
    try:
        loader.exec_module(loaded)
    except (Exception, SystemExit) as error:
        kind = type(error).__name__
        raise SpecError(
            f"{path.name} cannot be imported: {kind}",
            hint="run it with python to see why",
        ) from error
    return loaded


def _open(key: str, value: Any, folder: Path) -> Any:  # noqa: ANN401
    """Return a parameter as the model takes it: lists are frozen, paths whole."""
    if key == "hierarchy" and isinstance(value, str):
        return read_hierarchy(folder / value)
    if key == "population" and isinstance(value, str):
        return (folder / value).resolve()
    return tuple(value) if isinstance(value, list) else value
