"""The chart of commands that release nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from core_mondrian.cli.options import OUTPUT, Overwrite
from core_mondrian.errors import SpecError


@dataclass(frozen=True, slots=True)
class DrawingOptions:
    """Where a chart goes."""

    PANEL: ClassVar = OUTPUT
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", metavar="FILE", help="Draw it: FILE.svg, FILE.png or FILE.html."
        ),
    ] = None
    overwrite: Overwrite = False

    @property
    def written(self) -> str:
        """What to say of the file when it is written."""
        return "" if self.plot is None else f", wrote {self.plot}"

    def check(self, *sources: Path) -> None:
        """Refuse a file that cannot be written, before the work."""
        plot = self.plot
        if plot is None:
            return
        from core_mondrian.release.report_file import require_report
        from core_mondrian.report.charts import KINDS
        from core_mondrian.tables.files.atomic_write import (
            check_place,
            require_distinct,
        )

        require_report("a chart")
        if plot.suffix.lower() not in KINDS:
            kinds = ", ".join(KINDS)
            raise SpecError(
                f"{plot}: unknown kind of picture", hint=f"take one of {kinds}"
            )
        for source in sources:
            require_distinct("source and --plot", (plot, source))
        check_place(plot, overwrite=self.overwrite)

    def write(self, draw: Callable[[], Any]) -> None:
        """Write the chart, if one is asked for."""
        if self.plot is None:
            return
        from core_mondrian.report.charts import render
        from core_mondrian.tables.files.atomic_write import write_files

        picture = render(draw(), self.plot.suffix.lower())
        write_files({self.plot: picture}, overwrite=self.overwrite)
