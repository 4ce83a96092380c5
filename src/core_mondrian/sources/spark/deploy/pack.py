"""Pack what executors need into one archive, from what is installed here.

    python -m core_mondrian.sources.spark.deploy.pack TARGET.tar.gz [--no-deps]

It is for executors with the same Python version and kind of machine. With --no-deps it
holds core-mondrian alone, for those that have numpy, pyarrow and narwhals already.
"""

import argparse
import tarfile
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path, PurePath
from typing import Final

import core_mondrian

NEEDED: Final = ("numpy", "pyarrow", "narwhals")
"""What core-mondrian imports on an executor."""
_SKIPPED: Final = ("__pycache__", "tests", "include")


def main() -> None:
    """Write the archive that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", type=Path, metavar="TARGET.tar.gz")
    parser.add_argument("--no-deps", action="store_true", help="core-mondrian alone")
    asked = parser.parse_args()
    with tarfile.open(asked.target, "w:gz") as archive:
        for file, name in _files(() if asked.no_deps else NEEDED):
            archive.add(file, name)


def _files(needed: tuple[str, ...]) -> Iterator[tuple[Path, str]]:
    """Yield files, and where they are below the folder that Python looks in."""
    own = Path(core_mondrian.__file__).parent
    for file in sorted(own.rglob("*")):
        below = file.relative_to(own.parent)
        if file.is_file() and not _is_skipped(below):
            yield file, below.as_posix()
    for name in needed:
        for entry in distribution(name).files or ():
            file = Path(str(entry.locate()))
            # Programs are in other folders, above.
            if file.is_file() and ".." not in entry.parts and not _is_skipped(entry):
                yield file, entry.as_posix()


def _is_skipped(below: PurePath) -> bool:
    return any(part in _SKIPPED for part in below.parts)


if __name__ == "__main__":
    main()
