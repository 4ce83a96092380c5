"""Models from a user's file."""

import os
import pickle
import py_compile
import subprocess
import sys
from importlib.util import (
    cache_from_source,
    module_from_spec,
    spec_from_file_location,
)
from pathlib import Path

import numba
import pytest

from core_mondrian.errors import SpecError
from core_mondrian.kernels.jit import IS_PLAIN
from core_mondrian.kernels.rules import SIGNATURE
from core_mondrian.models.load import model_from_mapping

MODEL = """
from dataclasses import dataclass
from core_mondrian import Limits, PrivacyModel

@dataclass(frozen=True)
class MaxShare(PrivacyModel):
    share: float
    sensitive: str

    @staticmethod
    def measure(rows, counts, table, parameters):
        return counts.max() / rows

    def limits(self):
        return Limits(at_most=self.share)
"""
ASKED = {"name": "max_share.py:MaxShare", "share": 0.5, "sensitive": "income"}
USE = f"""
import sys
from pathlib import Path
from core_mondrian.kernels.rules import compile_measure
from core_mondrian.models.load import model_from_mapping
model = model_from_mapping({ASKED}, Path(sys.argv[1]))
compile_measure(type(model).measure)
print(model.limits().at_most)
"""
OTHER_BYTECODE = MODEL.replace("at_most=self.share", "at_most=1.0")
"""What a stranger would rather have run: it asks for nothing."""


def use(folder: Path) -> str:
    """Return the limit that the model in a folder sets, in a process of its own."""
    command = [sys.executable, "-c", USE, str(folder)]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    return subprocess.run(  # noqa: S603
        command, stdout=subprocess.PIPE, check=True, text=True, env=environment
    ).stdout.strip()


def test_bytecode_beside_a_model_is_neither_run_nor_written(tmp_path: Path) -> None:
    file = tmp_path / "max_share.py"
    file.write_text(MODEL)
    assert use(tmp_path) == "0.5"
    assert [path.name for path in tmp_path.iterdir()] == ["max_share.py"]

    other = tmp_path / "other.py"
    other.write_text(OTHER_BYTECODE)
    py_compile.compile(
        str(other),
        cfile=cache_from_source(str(file)),
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )

    assert use(tmp_path) == "0.5"


@pytest.mark.skipif(IS_PLAIN, reason="nothing is compiled")
def test_what_was_compiled_beside_a_model_is_not_loaded(tmp_path: Path) -> None:
    # Numba's cache is made of pickles, which run what they like when they are loaded.
    file = tmp_path / "max_share.py"
    file.write_text(MODEL)
    spec = spec_from_file_location("core_mondrian.kernels.rules", file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    numba.njit(SIGNATURE, nogil=True, cache=True, fastmath=False, error_model="numpy")(
        module.MaxShare.measure
    )
    kept = list((tmp_path / "__pycache__").glob("*.nbi"))
    assert kept

    class Trap:
        def __reduce__(self) -> tuple[object, ...]:
            return os.mkdir, (str(tmp_path / "sprung"),)

    for index in kept:
        index.write_bytes(pickle.dumps(Trap()))

    assert use(tmp_path) == "0.5"
    assert not (tmp_path / "sprung").exists()


def test_a_file_without_the_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "max_share.py").write_text("")

    with pytest.raises(SpecError, match="has no privacy model 'MaxShare'"):
        model_from_mapping(ASKED, tmp_path)
