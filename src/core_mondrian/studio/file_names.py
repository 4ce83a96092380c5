"""What files of a run are called: as the command line calls those beside TARGET."""

import shlex
from pathlib import Path

from core_mondrian.tables.files.kinds import kind_of, suffix_of
from core_mondrian.tables.files.staging import manifest_of, record_of

KEY_FILE = "key.txt"
"""The key of pseudonyms, as it is saved."""


def stem_of(title: str) -> str:
    """Return what the user calls a table, without its suffix."""
    return title[: len(title) - len(suffix_of(Path(title)))] or title


def file_names(title: str, *, is_flat: bool = True) -> dict[str, str]:
    """Return per kind of file what it is called, the release itself first.

    The release is of the kind that came in, if it can be: a CSV file has no structs.
    """
    stem = stem_of(title)
    kinds = ["csv", "parquet"] if kind_of(Path(title)) == "csv" else ["parquet", "csv"]
    if not is_flat:
        kinds = ["parquet"]
    releases = {f"release.{kind}": f"{stem}.release.{kind}" for kind in kinds}
    target = Path(next(iter(releases.values())))
    return {
        **releases,
        "manifest.json": manifest_of(target).name,
        "report.html": f"{stem}.report.html",
        "spec.toml": f"{stem}.spec.toml",
        "owner.json": record_of(target).name,
    }


def command(
    title: str, groups: str | None, *, has_key: bool, suppressed: str = "drop"
) -> str:
    """Return the command line that does the same."""
    names = file_names(title)
    words = ["core-mondrian", "anonymize", title, next(iter(names.values()))]
    words += ["--spec", names["spec.toml"]]
    if has_key:
        words += ["--key-file", KEY_FILE]
    if groups is not None:
        words += ["--by", groups]
    if suppressed == "separate":
        words += ["--suppressed-file", f"{stem_of(title)}.left-out.csv"]
    return shlex.join(words)
