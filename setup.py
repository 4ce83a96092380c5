"""Compile the modules that have a .pxd beside them; the rest is in pyproject.toml.

CORE_MONDRIAN_BUILD=checked    every index is checked, for tests
CORE_MONDRIAN_BUILD=sanitized  AddressSanitizer and UBSan, for tests; with gcc or clang
CORE_MONDRIAN_BUILD=later      nothing yet: `make` compiles what has changed by itself
"""

import os
import re
import shutil
import sys
import tomllib
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CCompilerError, PlatformError

SOURCE = Path("src")
KIND = os.environ.get("CORE_MONDRIAN_BUILD", "")
# Inlined by others, or C declarations only: nothing to compile.
HEADERS = {"layout", "records", "objective"}
# Cython's own helpers, once instead of in every module: half the time to build.
SHARED = "core_mondrian._cython_helpers"

DIRECTIVES = {
    "language_level": "3",
    # C types are in the .pxd; what the .py says is for readers and type checkers.
    "annotation_typing": False,
    "infer_types": True,
    "cdivision": True,
    "wraparound": False,
    "boundscheck": KIND == "checked",
    "initializedcheck": KIND == "checked",
}

# A release depends on data and spec alone, not on the machine: nothing may regroup sums
# (-ffast-math, /fp:fast) or fuse a product into one (-ffp-contract), which changed cuts
# in four of six configurations.
if sys.platform == "win32":
    FLAGS = ["/O2", "/fp:precise"]
else:
    FLAGS = ["-O3", "-ffp-contract=off", "-fno-math-errno", "-g0"]
LINK = []
if KIND == "checked" and sys.platform != "win32":
    FLAGS = ["-O1", "-ffp-contract=off", "-g0"]
if KIND == "sanitized":
    FLAGS = ["-O1", "-g", "-ffp-contract=off", "-fno-omit-frame-pointer"]
    LINK = ["-fsanitize=address,undefined"]
    FLAGS += [*LINK, "-fno-sanitize-recover=undefined"]


def extensions() -> list[Extension]:
    """Return a library for each module with declarations, and one for helpers."""
    if KIND == "later":
        return []
    files = sorted(SOURCE.rglob("*.pxd"))
    compiled = [file.with_suffix(".py") for file in files if file.stem not in HEADERS]
    names = {".".join(file.with_suffix("").parts[1:]): [str(file)] for file in compiled}
    return [
        Extension(name, sources, extra_compile_args=FLAGS, extra_link_args=LINK)
        for name, sources in {SHARED: [], **names}.items()
    ]


class Build(build_ext):
    """Builds on all cores, and says what is missing where there is no compiler."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()

    def build_extensions(self) -> None:
        self._find_compiler()
        try:
            super().build_extensions()
        except (CCompilerError, PlatformError) as error:
            raise SystemExit(
                f"core-mondrian is compiled when it is installed from source, and "
                f"that failed: {error}\nIt needs a C compiler and Python's headers: "
                "on Debian and Ubuntu `apt install gcc python3-dev`, on macOS "
                "`xcode-select --install`, on Windows the Visual Studio Build Tools; "
                "or, without any of these, `pip install ziglang` in the same "
                "environment (and pip's --no-build-isolation)."
            ) from None

    def _find_compiler(self) -> None:
        """Take the compiler of the package ziglang where the system has none."""
        command = getattr(self.compiler, "compiler_so", None)
        if not command or shutil.which(command[0]):
            return
        try:
            import ziglang  # noqa: F401
        except ImportError:
            return
        zig = [sys.executable, "-m", "ziglang", "cc"]
        flags = [flag for flag in command[1:] if flag.startswith(("-I", "-f", "-D"))]
        self.compiler.set_executables(
            compiler=[*zig, *flags], compiler_so=[*zig, *flags],
            linker_so=[*zig, "-shared"],
        )  # fmt: skip


def description() -> str:
    """Return README.md with links that lead somewhere from a package index, too."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    home = project["project"]["urls"]["Source"]

    def moved(link: re.Match[str]) -> str:
        is_picture = link[2].endswith((".svg", ".png"))
        return f"{link[1]}{home}/{'raw' if is_picture else 'blob'}/main/{link[2]}"

    text = Path("README.md").read_text(encoding="utf-8")
    return re.sub(r"(\]\()(?!https?:|#)([^)\s]+)", moved, text)


setup(
    long_description=description(),
    long_description_content_type="text/markdown",
    ext_modules=cythonize(
        extensions(),
        compiler_directives=DIRECTIVES,
        include_path=[str(SOURCE)],
        build_dir=f"build/cython{KIND and '-'}{KIND}",
        shared_utility_qualified_name=SHARED,
        nthreads=os.cpu_count() or 1,
        quiet=True,
    ),
    cmdclass={"build_ext": Build},
)
