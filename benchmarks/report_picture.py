"""Take the picture of a report's top for the docs; needs a chromium on the PATH.

    python -m benchmarks.report_picture

The table is the tutorial's. How letters look depends on the fonts of the machine.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from core_mondrian import KAnonymity, Spec, anonymize
from core_mondrian.datasets import census

TARGET = Path(__file__).parents[1] / "docs" / "pictures" / "report.png"
COLUMNS = ("age", "sex", "marital_status", "occupation", "native_country")
SIZE = "1000,1760"


def main() -> int:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        print("no chromium on the PATH")
        return 1
    spec = Spec(COLUMNS, (KAnonymity(5),), identifiers=("person_id", "zip_code"))
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        anonymize(census(5_000, seed=1), spec).report(page)
        flags = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars")
        profile = f"--user-data-dir={folder}/profile"
        shot = (f"--screenshot={TARGET}", f"--window-size={SIZE}")
        subprocess.run([browser, *flags, profile, *shot, page.as_uri()], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
