"""Classes in a user's own file, named as ``file.py:Class``."""

import hashlib
import sys
from functools import cache
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from pathlib import Path
from types import CodeType
from typing import Any

from core_mondrian.errors import SpecError, similar_file


def load_class(name: str, folder: Path, base: type, what: str) -> Any:  # noqa: ANN401
    """Return the dataclass that ``file.py:Class`` names; ``base`` is what it inherits.

    ``what`` is what such a class is called.

    Raises:
        SpecError: there is no such file or class, or it is another kind of class.
    """
    file, _, member = name.rpartition(":")
    chosen = getattr(_load((folder / file).resolve()), member, None)
    if not (isinstance(chosen, type) and issubclass(chosen, base)):
        raise SpecError(
            f"{Path(file).name} has no {what} {member!r}",
            hint=f"a {what} is a class that inherits from "
            f"core_mondrian.{base.__name__}",
        )
    if "__dataclass_fields__" not in vars(chosen):
        raise SpecError(
            f"the {what} '{Path(file).name}:{member}' is not a dataclass",
            hint="write @dataclass(frozen=True) above the class",
        )
    return chosen


class _TextLoader(SourceFileLoader):
    """Runs what the file says, never the bytecode beside it, and writes none."""

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002
        code: CodeType = self.source_to_code(self.get_data(self.path), self.path)
        return code


def _load(path: Path) -> object:
    """Import a file that the user named; again if it has changed."""
    if not path.is_file():
        raise SpecError(f"no file {path.name!r}", hint=similar_file(path))
    is_source = path.suffix == ".py"  # and not what others have compiled
    if not is_source:
        raise SpecError(
            f"{path.name} is not a Python file",
            hint="a file with classes of your own ends in .py",
        )
    return _run(path, hashlib.sha256(path.read_bytes()).hexdigest())


@cache
def _run(path: Path, digest: str) -> object:
    name = f"{path.stem}_{digest[:12]}"
    loader = _TextLoader(name, str(path))
    loaded = module_from_spec(ModuleSpec(name, loader, origin=str(path)))
    loaded.__file__ = str(path)
    # Dataclasses look their module up. Where it is not, classes are pickled by value.
    sys.modules[name] = loaded
    try:
        loader.exec_module(loaded)
    except (Exception, SystemExit) as error:
        kind = type(error).__name__
        raise SpecError(
            f"{path.name} cannot be imported: {kind}",
            hint="run it with python to see why",
        ) from error
    finally:
        del sys.modules[name]
    return loaded
