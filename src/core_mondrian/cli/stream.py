"""anonymize for files that do not fit into memory: its options, and when it runs."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from core_mondrian.cli.summary import echo
from core_mondrian.errors import SpecError, is_interrupt
from core_mondrian.runtime.progress import show_progress

if TYPE_CHECKING:
    from core_mondrian.release.result import Release
    from core_mondrian.spec.declaration import Spec

Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Never take more than that, such as 2GB: rows are streamed.",
    ),
]
Stream = Annotated[
    bool,
    typer.Option("--stream", help="Read SOURCE in batches, even if it would fit."),
]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Go on with the counts of an interrupted run."),
]
BadRowsOption = Annotated[
    str | None,
    typer.Option(
        "--bad-rows",
        metavar="error|ROWS",
        help="Rows of CSV that cannot be read: an error, or so many are left out.",
    ),
]
SaveCounts = Annotated[
    Path | None,
    typer.Option(
        "--save-counts",
        metavar="FILE",
        help="Keep the counts of tuples. They hold values of SOURCE: keep them safe.",
    ),
]
AddCounts = Annotated[
    Path | None,
    typer.Option(
        "--add-counts",
        metavar="FILE",
        help="Counts kept before: their parts of SOURCE are not counted again.",
    ),
]
_FITS = 4
"""Tables of more than this part of the memory are streamed without being asked."""


_FILES = ("stream", "resume", "bad_rows", "save_counts", "add_counts")
"""Options that need files which are read here."""


def check_streamed(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Refuse options of streams where rows are not in files read here; return all."""
    is_local = options["engine"] == "local"
    needed = _FILES if is_local else (*_FILES, "memory")
    given = [name for name in needed if options[name] not in (None, False)]
    if given and (options["database"] is not None or not is_local):
        raise SpecError(
            f"--{given[0].replace('_', '-')} is for files that are read here",
            hint="leave it out, or --database and --engine",
        )
    return options


def check_guarded(spec: "Spec") -> None:
    """Refuse to guard formulas, where others than us write the release."""
    if spec.guard_formulas:
        raise SpecError(
            "guard_formulas is for CSV files that are written here",
            hint="leave it out, or --database and --engine",
        )


class Streamed(NamedTuple):
    """What the command line says about streaming."""

    memory: str | None
    stream: bool
    resume: bool
    bad_rows: str | None
    save_counts: Path | None
    add_counts: Path | None

    def is_asked(self, source: Path, target: Path, spec: "Spec") -> bool:
        """Tell whether rows are streamed: as asked, or since they have to be."""
        from core_mondrian.tables.files.kinds import kind_of
        from core_mondrian.tables.files.sizes import machine_memory, size_of

        asked = (self.memory, self.bad_rows, self.save_counts, self.add_counts)
        if any(option is not None for option in asked) or self.stream or self.resume:
            return True
        if not source.is_file() or target.is_dir():
            # What is not there is said the same way as ever, unless it is a glob.
            return source.exists() or any(letter in str(source) for letter in "*?[")
        is_large = size_of(source) > machine_memory() // _FITS
        can = kind_of(source) in ("csv", "parquet") and spec.shuffle is None
        return is_large and can

    def anonymize(
        self,
        source: Path,
        target: Path,
        spec: "Spec",
        *,
        as_json: bool,
        **options: Any,  # noqa: ANN401
    ) -> "Release[Path]":
        """Make the release, and say how to go on after an interrupt."""
        from core_mondrian.sources.files.run import anonymize_files
        from core_mondrian.tables.files.staging import workspace_of

        n_bad = self._n_bad()
        try:
            with show_progress(as_json=as_json) as progress:
                return anonymize_files(
                    *(source, target, spec),
                    memory=self.memory,
                    resume=self.resume,
                    bad_rows=n_bad,
                    save_counts=self.save_counts,
                    add_counts=self.add_counts,
                    progress=progress,
                    **options,
                )
        except BaseException as error:
            if is_interrupt(error) and workspace_of(target).exists():
                echo("what was counted is kept: --resume goes on")
            raise

    def _n_bad(self) -> int:
        text = self.bad_rows
        if text is None or text == "error":
            return 0
        if not text.isdecimal():
            raise SpecError("--bad-rows takes 'error' or a number of rows")
        return int(text)
