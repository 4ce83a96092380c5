"""Run a command on a cluster, through spark-submit.

    python -m core_mondrian.sources.spark.deploy.submit MASTER ARCHIVE COMMAND …

COMMAND is such as `anonymize SOURCE TARGET --k 5`, ARCHIVE is what `pack` made. More
options of spark-submit go into SPARK_SUBMIT_OPTIONS. The driver runs here, with this
Python, which has core-mondrian[spark] installed.
"""

import os
import shlex
import sys
from pathlib import Path
from typing import NoReturn

_FEWEST = 3


def main() -> NoReturn:
    """Become spark-submit."""
    if len(sys.argv) <= _FEWEST:
        sys.exit(__doc__)
    _, master, archive, command, *rest = sys.argv
    import pyspark

    here = Path(__file__).parent
    home = os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    program = str(Path(home) / "bin" / "spark-submit")
    options = [
        *("--master", master, "--archives", f"{archive}#core_mondrian_packed"),
        *("--conf", "spark.executorEnv.PYTHONPATH=./core_mondrian_packed"),
        *shlex.split(os.environ.get("SPARK_SUBMIT_OPTIONS", "")),
    ]
    asked = [str(here / "main.py"), command, "--engine", "spark", *rest]
    os.execv(program, [program, *options, *asked])  # noqa: S606


if __name__ == "__main__":
    main()
