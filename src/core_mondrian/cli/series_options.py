"""What the commands of series share: a folder, or a view in a database."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from core_mondrian.cli.reply import Reply
from core_mondrian.cli.summary import echo
from core_mondrian.spec.metadata import PROTECTION

if TYPE_CHECKING:
    from core_mondrian.series.release_step import RowCounts
    from core_mondrian.spec.declaration import Spec

TooSmallRows = Annotated[
    str,
    typer.Option(
        "--too-small",
        metavar="ancestor|wait|withhold",
        help="What becomes of new rows that are too few for a class.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowOptions:
    """What is followed from release to release, and what it is protected by."""

    PANEL: ClassVar = PROTECTION
    spec_file: Annotated[
        Path, typer.Option("--spec", metavar="FILE", help="What to protect, as TOML.")
    ]
    row_key: Annotated[
        list[str],
        typer.Option(
            "--row-key",
            metavar="COLUMN",
            help="Says which row is which; not released. Repeat for more.",
        ),
    ]
    cohort: Annotated[
        str,
        typer.Option("--cohort", metavar="COLUMN", help="Says who is shown together."),
    ] = "cohort"
    cohort_size: Annotated[
        int | None,
        typer.Option(
            "--cohort-size",
            metavar="N",
            help="Persons a cohort begins with: more survive more deletions.",
        ),
    ] = None

    def spec(self) -> "Spec":
        """Return the spec in the file."""
        from core_mondrian.spec.toml_file import load_spec

        return load_spec(self.spec_file)


def rows_text(rows: Mapping[str, int]) -> str:
    """Return what became of how many rows, as a line."""
    return "rows        " + list_counts(rows)


def list_counts(rows: Mapping[str, int]) -> str:
    """Return counts of rows as text: how many came in and are shown, and others."""
    shown = {name: n for name, n in rows.items() if n or name in ("in", "shown")}
    return ", ".join(f"{n:,} {name}" for name, n in shown.items())


def previewed(counts: "RowCounts") -> Reply:
    """Return what would become of rows."""
    rows = counts.to_json()
    return Reply(
        lambda: {"preview": True, "rows": rows},
        print_notes=lambda: echo(rows_text(rows)),
    )
