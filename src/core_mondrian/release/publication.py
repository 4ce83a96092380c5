"""Write a release to a file that is read back and recounted before it is published."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from core_mondrian.release.result import Release
from core_mondrian.tables.files.atomic_write import Writer
from core_mondrian.tables.files.write import table_writer
from core_mondrian.verification.read_back import Verified


def release_writer(release: Release[Any], path: Path, source: pa.Schema) -> Writer:
    """Return what writes a release in the form that the suffix of ``path`` asks for.

    ``source`` is the schema of the table that it was made of. The writer raises
    PrivacyViolation if a reader of the file would not read what was verified.
    """
    spec = replace(release.spec, hierarchies=release.hierarchies)
    write = table_writer(release.data, path, source=source, guard=spec.guard_formulas)
    verified = Verified(release.data, spec, release.verification, release.budget)
    return verified.writing(write)
