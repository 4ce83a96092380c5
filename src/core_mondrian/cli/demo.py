"""core-mondrian demo: anonymize a made-up census and look at what happened."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from core_mondrian.cli.bars import bar
from core_mondrian.cli.requests import command
from core_mondrian.cli.summary import echo, policy_text
from core_mondrian.runtime.progress import Progress

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray
    from rich.console import RenderableType
    from rich.table import Table

    from core_mondrian.release.release_tree import SizeBin
    from core_mondrian.release.result import AnyRelease

_WIDTH: Final = 100
_SHOWN_PEOPLE: Final = 4
_ROW: Final = "row"
"""A column that rides along, so that rows can be shown before and after."""
_STAGES: Final = {
    "encode": "encode: values to codes",
    "collapse": "collapse: count distinct combinations",
    "partition": "partition: cut them into classes",
    "recode": "recode: what each class may show",
    "verify": "verify: count again",
}
_FUNNEL: Final = {
    "examined": "columns with values to cut between",
    "considered": "of them, with a cut that leaves classes",
    "proposed": "of them, with one that loses less",
    "final": "cuts tried: the one that loses least",
    "accepted": "cuts carried out",
}
_SCALES: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_SVG: Final = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{
  font-family: "Fira Code", "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: {char_height}px;
  line-height: {line_height}px;
}}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})"
   clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""Rich's own frame loads a font from the network; a picture should not."""


@dataclass(frozen=True, slots=True)
class _Demo:
    """The census, its release, and how many rows share each row's six values."""

    table: "pa.Table"
    release: "AnyRelease"
    columns: tuple[str, ...]
    k: int
    before: "NDArray[np.int64]"
    after: "NDArray[np.int64]"
    """0: the row is suppressed."""


@dataclass(frozen=True, slots=True)
class DemoRequest:
    """What `demo` is asked."""

    rows: Annotated[
        int, typer.Option("--rows", metavar="N", help="People to make up.")
    ] = 20_000
    k: Annotated[
        int, typer.Option("--k", "-k", metavar="K", help="People who must look alike.")
    ] = 5
    seed: Annotated[int, typer.Option("--seed", help="Makes other people up.")] = 0
    svg: Annotated[
        Path | None,
        typer.Option(
            "--svg", metavar="FILE", help="Save the screen as a picture, too."
        ),
    ] = None


@command(DemoRequest)
def show_demo(request: DemoRequest) -> None:
    """Anonymize a made-up census, and show the result.

    The people do not exist, so their cells may be shown; no other command shows any.
    """
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=False)
    # A pipe has no width of its own, and wider lines than this are hard to read.
    console.width = min(console.width, _WIDTH) if console.is_terminal else _WIDTH
    introduction = _introduction(request.rows, request.k)
    console.print(introduction)
    with _progress(request.rows) as progress:
        demo = _run(request, progress)
    for part in (*_story(demo, console.width), _times(demo), _next_steps()):
        console.print(part)
    if request.svg is not None:
        from core_mondrian.tables.files.atomic_write import write_files

        picture = _draw([introduction, *_story(demo, _WIDTH), _next_steps()])
        write_files({request.svg: picture.encode()}, overwrite=True)
        echo(f"wrote {request.svg}")


def _run(request: DemoRequest, progress: Progress) -> _Demo:
    import numpy as np
    import pyarrow as pa

    from core_mondrian.api import anonymize
    from core_mondrian.datasets import CENSUS_QUASI_IDENTIFIERS, census
    from core_mondrian.models.k_anonymity import KAnonymity
    from core_mondrian.spec.declaration import Spec

    rows, k = request.rows, request.k
    table = census(rows, request.seed)
    columns = CENSUS_QUASI_IDENTIFIERS
    spec = Spec(columns, models=(KAnonymity(k),), identifiers=("person_id",))
    numbered = table.append_column(_ROW, pa.array(np.arange(rows)))
    release = anonymize(numbered, spec, progress=progress)
    after = np.zeros(rows, dtype=np.int64)
    after[release.data[_ROW].to_numpy()] = _rows_alike(release.data, columns)
    return _Demo(table, release, columns, k, _rows_alike(table, columns), after)


def _rows_alike(table: "pa.Table", columns: tuple[str, ...]) -> "NDArray[np.int64]":
    """Return for each row how many rows have the same values in ``columns``."""
    import numpy as np

    from core_mondrian.verification.counting import code_column, combine, compress

    keys = compress(combine([code_column(table[name]) for name in columns]))
    sizes: NDArray[np.int64] = np.bincount(keys.codes, minlength=keys.n_codes)
    return sizes[keys.codes]


@contextmanager
def _progress(rows: int) -> Iterator[Progress]:
    """Show a bar per stage, or one line if nobody is watching."""
    from rich.console import Console
    from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        typer.echo(f"anonymizing {rows:,} rows ...", err=True)
        yield lambda _stage, _done: None
        return
    tasks: dict[str, TaskID] = {}
    parts = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bars(*parts, console=console, transient=True) as bars:

        def show(stage: str, done: float) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(_STAGES.get(stage, stage), total=None)
            # Without a total the bar moves.
            bars.update(tasks[stage], total=1.0 if done else None, completed=done)

        yield show


def _story(demo: _Demo, width: int) -> list["RenderableType"]:
    """Return what there is to see, without anything that differs from run to run."""
    from rich.table import Table

    from core_mondrian.release.release_tree import size_bins

    bins = size_bins(demo.release.class_sizes)
    height = max(len(demo.columns), len(bins)) + 4 if width >= _WIDTH else None
    loss, sizes = _loss(demo, height), _sizes(bins, height)
    if height is None:
        return [_people(demo), _risk(demo), loss, sizes, _funnel(demo), _proof(demo)]
    pair = Table.grid(expand=True)
    pair.add_column(ratio=11)
    pair.add_column(ratio=9)
    pair.add_row(loss, sizes)
    return [_people(demo), _risk(demo), pair, _funnel(demo), _proof(demo)]


def _panel(
    content: "RenderableType", title: str, height: int | None = None
) -> "RenderableType":
    from rich.panel import Panel

    return Panel(
        content,
        title=f"[bold]{title}[/]",
        title_align="left",
        border_style="blue",
        height=height,
        padding=(0, 1),
    )


def _table(*titles: str, right: tuple[str, ...] = (), gap: int = 2) -> "Table":
    from rich.table import Table

    table = Table(
        caption_justify="left",
        box=None,
        padding=(0, gap, 0, 0),
        header_style="dim",
        pad_edge=False,
    )
    for title in titles:
        justify: Any = "right" if title in right else "left"
        table.add_column(title, justify=justify)
    return table


def _bar(share: float, style: str, width: int) -> "RenderableType":
    """Return a bar that is visible as soon as there is anything."""
    from rich.text import Text

    return Text(bar(share, 1.0, width), style=style, no_wrap=True)


def _introduction(rows: int, k: int) -> "RenderableType":
    others = "one other" if k == 2 else f"{k - 1} others"
    text = (
        f"[bold]{rows:,}[/] people from a census. They are made up, so here we may "
        "look at them. Six things about them are easily known to others: age, marital "
        "status, occupation, native country, sex and class of work. Whoever knows "
        "them may find the one row they fit, and read the income in it.\n"
        "[bold]core-mondrian[/] cuts the table into small classes in which everybody "
        f"has at least [bold]{others}[/] beside them. Each class shows what its people "
        "have in common: a range for a number, * for a category that differs. Then it "
        "counts again, from the release alone."
    )
    return _panel(text, "core-mondrian demo")


def _people(demo: _Demo) -> "RenderableType":
    from rich.text import Text

    names = (name.replace("_", " ") for name in demo.columns)
    table = _table("", *names, "alike", right=("alike",), gap=1)
    for row, old, new in _interesting(demo):
        if table.row_count:
            table.add_row()
        styles = (
            "" if a == b else "bold yellow" for a, b in zip(old, new, strict=True)
        )
        after = (Text(b, style=s) for b, s in zip(new, styles, strict=True))
        n_before, n_after = str(demo.before[row]), str(demo.after[row])
        table.add_row("[dim]before", *old, Text(n_before, style="bold red"))
        table.add_row("[dim]after", *after, Text(n_after, style="bold green"))
    return _panel(table, "a few people before and after, and how many look alike")


def _interesting(demo: _Demo) -> Iterator[tuple[int, list[str], list[str]]]:
    """Yield the first people who stood alone, blurred in different columns each."""
    data = demo.release.data
    seen: set[tuple[bool, ...]] = set()
    for place, row in enumerate(data[_ROW].to_pylist()):
        if demo.before[row] > 1:
            continue
        old = _cells(demo.table, demo.columns, row)
        new = _cells(data, demo.columns, place)
        changed = tuple(a != b for a, b in zip(old, new, strict=True))
        if changed not in seen:
            seen.add(changed)
            yield row, old, new
        if len(seen) == _SHOWN_PEOPLE:
            return


def _cells(table: "pa.Table", columns: tuple[str, ...], row: int) -> list[str]:
    values = (table[name][row].as_py() for name in columns)
    return ["-" if value is None else str(value) for value in values]


def _risk(demo: _Demo) -> "RenderableType":
    table = _table("", "before", "", "after", " ", right=("before", "after"))
    texts = (
        "rows that stand alone",
        f"rows that fewer than {demo.k} share",
        "largest risk (1 / smallest group)",
    )
    pairs = zip(
        _singled_out(demo.before, demo.k),
        _singled_out(demo.after[demo.after > 0], demo.k),
        strict=True,
    )
    for text, (before, after) in zip(texts, pairs, strict=True):
        table.add_row(
            text,
            f"[bold red]{before:.1%}",
            _bar(before, "red", 20),
            f"[bold green]{after:.1%}",
            _bar(after, "green", 20),
        )
    return _panel(table, "who can be singled out by someone who knows all six")


def _singled_out(alike: "NDArray[np.int64]", k: int) -> tuple[float, float, float]:
    """Return the share of unique rows, of rows in small groups, and the risk."""
    alone, few = int((alike == 1).sum()), int((alike < k).sum())
    return alone / alike.size, few / alike.size, 1 / int(alike.min())


def _loss(demo: _Demo, height: int | None) -> "RenderableType":
    measures = demo.release.measures()
    losses = {column.name: column.ncp or 0.0 for column in measures.columns}
    most = next(scale for scale in _SCALES if max(losses.values()) <= scale)
    title = f"lost, 0 to {most:.0%}"
    table = _table("column", "", title, right=("",))
    for name, lost in losses.items():
        style = "green" if lost < 0.05 else "yellow" if lost < 0.2 else "red"
        length = _bar(lost / most, style, 22)
        table.add_row(name.replace("_", " "), f"{lost:.1%}", length)
    table.caption = "width of ranges; rows that show *"
    return _panel(table, "what was lost (NCP)", height)


def _sizes(bins: "tuple[SizeBin, ...]", height: int | None) -> "RenderableType":
    table = _table("rows", "classes", "", right=("rows", "classes"))
    most = max(one.n_classes for one in bins)
    for one in bins:
        length = _bar(one.n_classes / most, "cyan", 14)
        table.add_row(f"{one.low}-{one.high}", f"{one.n_classes:,}", length)
    n_rows = sum(one.n_rows for one in bins)
    average = n_rows / sum(one.n_classes for one in bins)
    table.caption = f"{average:.1f} rows on average"
    return _panel(table, "how large the classes are", height)


def _funnel(demo: _Demo) -> "RenderableType":
    numbers = demo.release.funnel.by_kind("number")
    categories = demo.release.funnel.by_kind("category")
    most = max(1, *numbers.values(), *categories.values())
    table = _table("stage", "", "number", "numbers", "category", "categories")
    for title in (2, 4):
        table.columns[title].justify = "right"
        table.columns[title].header = ""
    for stage, text in _FUNNEL.items():
        table.add_row(
            f"[bold]{stage}",
            f"[dim]{text}",
            f"{numbers[stage]:,}",
            _bar(numbers[stage] / most, "magenta", 12),
            f"{categories[stage]:,}",
            _bar(categories[stage] / most, "dark_orange", 12),
        )
    return _panel(table, "the cut funnel: how the cuts were found")


def _proof(demo: _Demo) -> "RenderableType":
    release = demo.release
    reached = ", ".join(model.name for model in release.verification.models)
    smallest = release.verification.smallest_class
    table = _table("", "")
    table.show_header = False
    for name, text in {
        "classes": f"{release.verification.n_classes:,}",
        "policy": policy_text(release),
        "suppressed": f"{_many(release.n_suppressed, 'row')} "
        f"(budget {release.budget:,}); all others are released",
        "verified": f"{reached}; the smallest class has {smallest} rows",
        "digest": release.digest,
    }.items():
        table.add_row(f"[bold]{name}", text)
    return _panel(table, "the release")


def _many(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _times(demo: _Demo) -> "RenderableType":
    seconds = demo.release.seconds
    parts = (f"{stage} {spent:.2f}" for stage, spent in seconds.items())
    text = f"{' · '.join(parts)} · all {sum(seconds.values()):.2f}"
    return _panel(text, "CPU seconds per stage")


def _next_steps() -> "RenderableType":
    text = (
        "[dim]# which columns make people unique? No value is shown.[/]\n"
        "core-mondrian inspect people.csv\n"
        "[dim]# a release in which nobody stands in fewer than 5, its manifest and a "
        "page on it[/]\n"
        "core-mondrian anonymize people.csv release.csv --qid age --qid sex --k 5 "
        "--report page.html\n"
        "[dim]# the same on a page in your browser; nothing leaves this machine[/]\n"
        "core-mondrian studio people.csv"
    )
    return _panel(text, "try it on your own table")


def _draw(parts: list["RenderableType"]) -> str:
    """Return ``parts`` as a picture that is the same on every machine."""
    from rich.console import Console

    console = Console(
        record=True,
        file=StringIO(),
        width=_WIDTH,
        highlight=False,
        force_terminal=True,
        color_system="truecolor",
        no_color=False,
        legacy_windows=False,
        _environ={},
    )
    for part in parts:
        console.print(part)
    picture: str = console.export_svg(
        title="core-mondrian demo", code_format=_SVG, unique_id="demo"
    )
    return picture
