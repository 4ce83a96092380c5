"""Models from a user's file."""

import subprocess
import sys
from pathlib import Path

import pytest

from core_mondrian.errors import SpecError
from core_mondrian.kernels.jit import IS_PLAIN
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
START = """
import sys
from pathlib import Path
"""
BY_NAME = f"""
from core_mondrian.models.load import model_from_mapping
kind = type(model_from_mapping({ASKED}, Path(sys.argv[1])))
"""
BY_IMPORT = """
sys.path.append(sys.argv[1])
from max_share import MaxShare as kind
"""
COMPILE = """
from core_mondrian.kernels.rules import compile_measure
print(sum(compile_measure(kind.measure).stats.cache_hits.values()))
"""


@pytest.mark.skipif(IS_PLAIN, reason="nothing is compiled")
def test_what_was_compiled_of_a_file_is_found_again_however_it_is_loaded(
    tmp_path: Path,
) -> None:
    (tmp_path / "max_share.py").write_text(MODEL)

    hits = [
        subprocess.run(  # noqa: S603
            [sys.executable, "-c", f"{START}{load}{COMPILE}", str(tmp_path)],
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        ).stdout.strip()
        for load in (BY_NAME, BY_NAME, BY_IMPORT)
    ]

    assert hits == ["0", "1", "1"]


def test_a_file_without_the_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "max_share.py").write_text("")

    with pytest.raises(SpecError, match="has no privacy model 'MaxShare'"):
        model_from_mapping(ASKED, tmp_path)
