"""A kernel on disk is not used once any kernel file has changed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from core_mondrian.kernels import jit

CALLER = """
from toy.{jit} import entry_kernel
from toy.callee import step

@entry_kernel
def walk(n):
    total = 0
    for _ in range(n):
        total += step()
    return total
"""
CALLEE = """
from toy.{jit} import kernel

@kernel
def step():
    return {length}
"""
PLAIN_JIT = """
import numba

def kernel(function):
    return numba.njit(cache=True)(function)

entry_kernel = kernel
"""


def toy_package(folder: Path, jit_source: str) -> Path:
    package = folder / "toy"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "jit.py").write_text(jit_source)
    (package / "caller.py").write_text(CALLER.format(jit="jit"))
    return package


def walk_five(folder: Path, length: int) -> int:
    """Let a fresh process walk five steps of the given length."""
    package = folder / "toy"
    (package / "callee.py").write_text(CALLEE.format(jit="jit", length=length))
    done = subprocess.run(
        [sys.executable, "-c", "from toy.caller import walk; print(walk(5))"],
        cwd=folder,
        env={
            **os.environ,
            "NUMBA_CACHE_DIR": str(folder / "cache"),
            "NUMBA_DISABLE_JIT": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.slow
def test_numba_alone_keeps_a_caller_whose_callee_changed(tmp_path: Path) -> None:
    # If this ever fails, Numba has learnt it and our own stamp may go.
    toy_package(tmp_path, PLAIN_JIT)

    lengths = [walk_five(tmp_path, 1), walk_five(tmp_path, 20)]

    assert lengths == [5, 5]


def test_our_stamp_notices_a_changed_callee(tmp_path: Path) -> None:
    toy_package(tmp_path, Path(jit.__file__).read_text())

    lengths = [walk_five(tmp_path, 1), walk_five(tmp_path, 20)]

    assert lengths == [5, 100]


@pytest.mark.slow
def test_our_stamp_leaves_the_cache_alone_when_nothing_changed(tmp_path: Path) -> None:
    toy_package(tmp_path, Path(jit.__file__).read_text())
    walk_five(tmp_path, 1)
    cache = {
        file: file.stat().st_mtime_ns for file in (tmp_path / "cache").rglob("*.nb*")
    }

    walk_five(tmp_path, 1)

    assert cache
    again = {
        file: file.stat().st_mtime_ns for file in (tmp_path / "cache").rglob("*.nb*")
    }
    assert again == cache


@pytest.mark.skipif(jit.IS_PLAIN, reason="nothing is compiled")
def test_every_kernel_carries_the_stamp() -> None:
    from core_mondrian.kernels import boxes, choices, funnel, group, grow, proposals

    digest = jit.sources_digest()
    kernels = [
        value
        for module in (boxes, choices, funnel, group, grow, proposals)
        for value in vars(module).values()
        if hasattr(value, "py_func")
    ]

    stamps = {kernel._cache._cache_file._source_stamp for kernel in kernels}

    assert len(kernels) > 30
    assert stamps == {digest}
