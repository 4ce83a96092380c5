"""The options of `anonymize` about its report."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core_mondrian.errors import SpecError

if TYPE_CHECKING:
    from core_mondrian.release.report_file import ReportFile
    from core_mondrian.spec.declaration import Spec

Report = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="FILE",
        help="Write a report to FILE: one HTML page, for people.",
    ),
]
Painting = Annotated[
    tuple[str, str] | None,
    typer.Option(
        "--painting",
        metavar="COLUMN COLUMN",
        help="The two columns whose partition the report paints.",
    ),
]
Timings = Annotated[
    bool,
    typer.Option(
        "--timings",
        help="Tell in the report what each stage took. Its bytes then differ "
        "from run to run.",
    ),
]


ReportFor = Annotated[
    str,
    typer.Option(
        "--report-for",
        metavar="owner|readers",
        help="Whom the report is for. Readers get what they can compute from the "
        "release.",
    ),
]


def report_of(options: Mapping[str, Any], spec: "Spec") -> "ReportFile | None":
    """Return the report that the options ask for, checked before any work.

    Raises:
        SpecError: it cannot be made, or none is asked for.
    """
    path, painting = options["report"], options["painting"]
    if path is None:
        if painting is not None or options["timings"]:
            raise SpecError(
                "--painting and --timings are for a report",
                hint="add --report FILE.html",
            )
        return None
    from core_mondrian.release.report_file import ReportFile

    report = ReportFile(path, painting, options["timings"], options["report_for"])
    report.check(spec)
    return report
