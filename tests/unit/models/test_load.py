"""Models from a user's file."""

import os
import py_compile
import subprocess
import sys
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from core_mondrian.errors import SpecError
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
from core_mondrian.models.own_measures import measure_of
from core_mondrian.models.load import model_from_mapping
model = model_from_mapping({ASKED}, Path(sys.argv[1]))
measure_of(type(model).measure)
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


@pytest.mark.long
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


def test_what_was_compiled_beside_a_model_is_not_loaded(tmp_path: Path) -> None:
    # Numba's cache is made of pickles, which run what they like when they are loaded.
    (tmp_path / "max_share.py").write_text(MODEL)
    place = tmp_path / "__pycache__"

    assert use(tmp_path) == "0.5"
    assert not place.exists()


def test_a_file_without_the_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "max_share.py").write_text("")

    with pytest.raises(SpecError, match="has no privacy model 'MaxShare'"):
        model_from_mapping(ASKED, tmp_path)
