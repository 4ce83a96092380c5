"""Check a bill of materials against the schema of CycloneDX; runs in .venv-supply.

python supply/validate.py SBOM.json
"""

import sys
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator


def main(file: str) -> int:
    validator = JsonStrictValidator(SchemaVersion.V1_6)
    wrong = validator.validate_str(Path(file).read_text("utf-8"))
    if wrong is not None:
        print(f"{file} does not follow CycloneDX 1.6: {wrong}", file=sys.stderr)
    return 1 if wrong is not None else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
