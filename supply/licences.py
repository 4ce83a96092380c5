"""Check the licences of what core-mondrian stands on.

    python -m supply.licences

Every licence that a package names must be on the list, also where it offers a choice.
What a package says of itself counts: its licence expression, else its licence field,
else its classifiers.
"""

import re
import sys
from collections.abc import Mapping
from importlib.metadata import Distribution
from typing import Any, Final

from supply.closure import needed

ALLOWED: Final = frozenset(
    {
        *("0BSD", "BSD-2-Clause", "BSD-3-Clause", "BSD", "ISC", "MIT", "MIT-0", "Zlib"),
        *("Apache-2.0", "CC0-1.0", "PSF-2.0", "LLVM-exception"),
        # Weak copyleft by file: we import these packages and change none of them.
        "MPL-2.0",
    }
)
EXCEPTIONS: Final[Mapping[str, str]] = {
    "docutils": "public domain and BSD; under the GPL is one file for the editor "
    "Emacs, which is not in what is installed",
}
_SAME: Final[Mapping[str, str]] = {
    "2-clause BSD": "BSD-2-Clause",
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "ISC License": "ISC",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
"""What packages write instead of the identifier."""
_IDENTIFIER: Final = re.compile(r"[A-Za-z0-9.+-]+")
_LONGEST = 40
"""A licence field longer than this is the licence's text."""


def licences_of(metadata: Any) -> set[str]:
    """Return the licences that a package's metadata names, if any."""
    expression = metadata.get("License-Expression")
    if expression:
        words = _IDENTIFIER.findall(expression)
        return {word for word in words if word not in {"AND", "OR", "WITH"}}
    field = (metadata.get("License") or "").strip()
    if field and len(field) <= _LONGEST and "\n" not in field:
        return {_SAME.get(field, field)}
    classifiers = metadata.get_all("Classifier") or []
    texts = [text for text in classifiers if text.startswith("License :: ")]
    names = {text.split(" :: ")[-1] for text in texts} - {"OSI Approved"}
    return {_SAME.get(name, name) for name in names}


def refused(packages: Mapping[str, Distribution]) -> dict[str, str]:
    """Return what is wrong with the licence of each package, exceptions left out."""
    wrong = {}
    for name, package in packages.items():
        found = licences_of(package.metadata)
        others = sorted(found - ALLOWED)
        if name not in EXCEPTIONS and (others or not found):
            wrong[name] = ", ".join(others) or "names no licence"
    return wrong


def main() -> int:
    packages = needed()
    for name, package in packages.items():
        licences = " ".join(sorted(licences_of(package.metadata)))
        print(f"{name:28} {licences or '-'}")
    for name in sorted(EXCEPTIONS.keys() & packages.keys()):
        print(f"exception: {name}: {EXCEPTIONS[name]}")
    wrong = refused(packages)
    for name, reason in wrong.items():
        print(f"refused: {name}: {reason}", file=sys.stderr)
    print(f"{len(packages)} packages, {len(wrong)} refused")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
