"""Run compiled modules as the plain Python they are written in.

CORE_MONDRIAN_PLAIN=1 in the environment asks for it; the module has to be imported
before any of the package. What the engine computes must not depend on the compiler.
"""

import math
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

IS_PLAIN = os.environ.get("CORE_MONDRIAN_PLAIN", "0") != "0"

IN_SUBPROCESS = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
import support.plain_engine
"""
"""What a script begins with that has to run either way."""


_C_IMPORTS = "cython.cimports."


class Twin(Loader):
    """Loads what Python has in the place of a C declaration file."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        name = spec.name.removeprefix(_C_IMPORTS)
        twin = ModuleType(spec.name)
        # Names that only C has, such as its structs: plain Python never uses them.
        twin.__getattr__ = lambda _: None  # type: ignore[method-assign]
        if name.startswith("core_mondrian"):
            known = vars(import_module(name)).items()
            vars(twin).update((x, y) for x, y in known if not x.startswith("__"))
        if name == "libc.math":
            vars(twin).update(vars(math), INFINITY=math.inf, NAN=math.nan, rint=round)
        return twin

    def exec_module(self, module: ModuleType) -> None:
        """Leave it as it is."""


class TwinFinder(MetaPathFinder):
    """Finds what Python has in the place of C declarations."""

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        if not name.startswith(_C_IMPORTS):
            return None
        return ModuleSpec(name, Twin(), is_package=True)


class PlainFinder(MetaPathFinder):
    """Finds the .py beside a compiled module of ours."""

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if not name.startswith("core_mondrian."):
            return None
        found = PathFinder.find_spec(name, path, target)
        if found is None or found.origin is None or found.origin.endswith(".py"):
            return found
        source = Path(found.origin).parent / (name.rpartition(".")[2] + ".py")
        return spec_from_file_location(name, source)


def as_plain(name: str) -> Any:
    """Return a compiled module as plain Python: its C functions can then be called."""
    found = PlainFinder().find_spec(name, sys.modules[name.rpartition(".")[0]].__path__)
    if found is None or found.loader is None:
        raise ImportError(name)
    module = module_from_spec(found)
    found.loader.exec_module(module)
    return module


def _install() -> None:
    import cython  # noqa: F401

    # What Cython has there is no package that modules could be imported from.
    for known in [x for x in sys.modules if x.startswith(_C_IMPORTS)]:
        del sys.modules[known]
    sys.modules["cython.cimports"] = package = ModuleType("cython.cimports")
    package.__spec__ = ModuleSpec("cython.cimports", None, is_package=True)
    package.__path__ = []
    sys.meta_path.insert(0, TwinFinder())
    if IS_PLAIN:
        sys.meta_path.insert(0, PlainFinder())


_install()
