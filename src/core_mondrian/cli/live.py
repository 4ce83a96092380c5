"""core-mondrian series live-…: views in a database that follow a table."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

import typer

from core_mondrian.cli.options import OUTPUT, AsJson, Preview, SpecFile, load_if_given
from core_mondrian.cli.reply import Reply
from core_mondrian.cli.requests import command
from core_mondrian.cli.series_options import (
    FollowOptions,
    TooSmallRows,
    previewed,
    rows_text,
)
from core_mondrian.cli.summary import (
    echo,
    escape_controls,
    print_verification,
    written_stays,
)

if TYPE_CHECKING:
    from core_mondrian.sources.sql.live import LiveRefresh, LiveStatus, LiveView

Place = Annotated[
    str, typer.Argument(metavar="FILE|URL", help="A DuckDB file, or postgresql://…")
]


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """A live view that there is."""

    database: Place
    view: Annotated[str, typer.Argument(metavar="VIEW", help="A live view in it.")]

    def open(self, spec_file: Path | None = None) -> "LiveView":
        """Return the view; of a policy of one's own it needs the spec."""
        from core_mondrian.sources.sql.live import LiveView

        return LiveView(self.database, self.view, load_if_given(spec_file))


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveCreateRequest:
    """What `series live-create` is asked."""

    database: Place
    source: Annotated[
        str, typer.Argument(help="The table, view or query that is followed.")
    ]
    target: Annotated[str, typer.Argument(metavar="VIEW", help="A new view.")]
    follow: FollowOptions
    too_small: TooSmallRows = "wait"
    as_json: AsJson = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRefreshRequest:
    """What `series live-refresh` is asked."""

    PANEL: ClassVar = OUTPUT
    live: ViewOptions
    spec_file: SpecFile = None
    preview: Preview = False
    as_json: AsJson = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveStatusRequest:
    """What `series live-status` is asked."""

    live: ViewOptions
    spec_file: SpecFile = None
    as_json: AsJson = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveDropRequest:
    """What `series live-drop` is asked."""

    live: ViewOptions


@command(LiveCreateRequest)
def create_live(request: LiveCreateRequest) -> None:
    """Make VIEW in a database, which shows SOURCE anonymized, and can be refreshed."""
    from core_mondrian.sources.sql.live import LiveView

    follow = request.follow
    with written_stays():
        _, step = LiveView.create(
            request.database,
            request.source,
            request.target,
            follow.spec(),
            row_key=follow.row_key,
            too_small=request.too_small,  # type: ignore[arg-type]  # checked there
            cohort=follow.cohort,
            cohort_size=follow.cohort_size,
        )
        _refreshed(step).print(as_json=request.as_json)
        echo(f"made view {request.target}")


@command(LiveRefreshRequest)
def refresh_live(request: LiveRefreshRequest) -> None:
    """Let VIEW show what can be shown of its source as it is now.

    In one transaction: whoever reads sees the old state or the new one.
    """
    view = request.live.open(request.spec_file)
    with written_stays():
        reply = (
            previewed(view.preview()) if request.preview else _refreshed(view.refresh())
        )
        reply.print(as_json=request.as_json)


@command(LiveStatusRequest)
def show_live(request: LiveStatusRequest) -> None:
    """Say what VIEW follows, and what became of rows at its last refresh."""
    status = request.live.open(request.spec_file).status()
    _status(status).print(as_json=request.as_json)


@command(LiveDropRequest)
def drop_live(request: LiveDropRequest) -> None:
    """Remove VIEW and all that it remembers; its source stays."""
    request.live.open().drop()
    echo(f"dropped view {request.live.view}")


def _refreshed(refresh: "LiveRefresh") -> Reply:
    rows = refresh.counts.to_json()

    def print_notes() -> None:
        echo(f"refresh     {refresh.number}")
        echo(rows_text(rows))
        print_verification(refresh.verification)

    return Reply(
        lambda: {"refresh": refresh.number, "rows": rows}, print_notes=print_notes
    )


def _status(status: "LiveStatus") -> Reply:
    models = [model.title for model in status.spec.models]

    def plain() -> object:
        about = {"source": status.source, "number": status.number}
        return {**about, "models": models, "rows": status.rows}

    def show() -> None:
        typer.echo(f"follows     {escape_controls(status.source)}")
        typer.echo(f"models      {', '.join(models)}")
        typer.echo(f"refreshed   {status.number} times, with the first")
        typer.echo(rows_text(status.rows))

    return Reply(plain, show)


COMMANDS: Final = {
    "live-create": create_live,
    "live-refresh": refresh_live,
    "live-status": show_live,
    "live-drop": drop_live,
}
"""What can be done with a live view."""
