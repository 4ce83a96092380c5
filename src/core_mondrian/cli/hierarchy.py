"""core-mondrian hierarchy: make one from a column, or check a file against it."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from core_mondrian.cli.csv_files import Csv, read_source
from core_mondrian.cli.options import OUTPUT, NullValues, Overwrite, TableFile
from core_mondrian.cli.requests import command
from core_mondrian.cli.summary import echo, printable
from core_mondrian.errors import SpecError
from core_mondrian.runtime.plain_values import JsonObject
from core_mondrian.runtime.progress import Steps, show_progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.tree import Tree

    from core_mondrian.encoding.columns import Ranked
    from core_mondrian.hierarchies.tree import Hierarchy

_WAYS = ("flat", "prefix", "ranges", "dates", "redact", "lookup", "learned", "from")


@dataclass(frozen=True)
class _Covered:
    """How much of a column a hierarchy covers."""

    rows: "NDArray[np.int64]"
    """Rows of each leaf."""
    n_values: int
    n_rows: int
    n_missing: int
    uncovered: "NDArray[np.int64]"
    """Rows whose value the hierarchy lacks."""
    n_uncovered: int
    """Values it lacks."""


@dataclass(frozen=True, slots=True)
class WayOptions:
    """Ways to make a hierarchy, of which one is taken."""

    PANEL: ClassVar = "How it is made"
    flat: Annotated[
        bool, typer.Option("--flat", help="Values as names, with * over all of them.")
    ] = False
    prefix: Annotated[
        str | None,
        typer.Option(metavar="2|2,3", help="Codes: characters cut at each level."),
    ] = None
    ranges: Annotated[
        str | None, typer.Option(metavar="5,10,20", help="Numbers: width by level.")
    ] = None
    below: Annotated[
        float | None, typer.Option(help="Numbers: everything below is one node.")
    ] = None
    above: Annotated[
        float | None, typer.Option(help="Numbers: everything from here on is one.")
    ] = None
    dates: Annotated[
        str | None,
        typer.Option(
            metavar="month,year", help="Some of day, month, quarter, year, decade."
        ),
    ] = None
    redact: Annotated[
        bool, typer.Option("--redact", help="Characters replaced by *, from the right.")
    ] = False
    lookup: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Rows 'value;group;…'.")
    ] = None
    learned: Annotated[
        bool, typer.Option("--learned", help="Values alike in the columns --alike-in.")
    ] = False
    with_columns: Annotated[
        str | None,
        typer.Option("--alike-in", metavar="A,B,…", help="Other quasi-identifiers."),
    ] = None
    from_file: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="A hierarchy to be checked."),
    ] = None

    def given(self, way: str) -> Any:  # noqa: ANN401  # of several types
        """Return what is said of a way; None: nothing."""
        value = getattr(self, "from_file" if way == "from" else way)
        return None if value is False else value


@dataclass(frozen=True, slots=True, kw_only=True)
class HierarchyRequest:
    """What `hierarchy` is asked."""

    PANEL: ClassVar = OUTPUT
    table: TableFile
    column: Annotated[str, typer.Argument(help="The column it is for.")]
    ways: WayOptions
    write: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write FILE.csv, FILE.json or FILE.toml."),
    ] = None
    nodes: Annotated[
        int, typer.Option(min=1, metavar="N", help="Nodes that are drawn: 50.")
    ] = 50
    null_values: NullValues = None
    csv: Csv = None
    overwrite: Overwrite = False


@command(HierarchyRequest)
def hierarchy_file(request: HierarchyRequest) -> None:
    """Make a hierarchy from the values of COLUMN in TABLE, or check a file.

    It is drawn as a tree, with rows. A hierarchy SHOWS THE VALUES of the column: this
    command, unlike the others, is for the eyes of those who may see TABLE.
    """
    asked = _requested_builder(request.ways)
    column, write = request.column, request.write
    if write is not None:
        from core_mondrian.tables.files.atomic_write import check_place

        check_place(write, overwrite=request.overwrite)
    others = request.ways.with_columns
    names = [column, *(others.split(",") if others else [])]
    with show_progress() as progress:
        end = Steps(progress, "reading", (3.0, 1.0)).end
        columns = end(_read(request.table, names, request.null_values, request.csv))
        tree = _make(asked, column, columns)
        covered = end(_cover(tree, columns[column]))
    _print_tree(column, tree, covered, request.nodes)
    if write is not None:
        from core_mondrian.spec.hierarchy_files import write_hierarchy

        write_hierarchy(tree, write, overwrite=request.overwrite)
        echo(f"wrote {write}")


def _requested_builder(options: WayOptions) -> JsonObject:
    """Return what to make as a spec has it; one thing only."""
    from core_mondrian.hierarchies.load import parse_short

    ways = [way for way in _WAYS if options.given(way) is not None]
    if len(ways) != 1:
        raise SpecError(
            f"one way to make a hierarchy is needed, {len(ways)} are given",
            hint=f"one of {', '.join(f'--{way}' for way in _WAYS)}",
        )
    way = ways[0]
    if (way == "learned") != (options.with_columns is not None):
        raise SpecError(
            "--learned and --alike-in go together",
            hint="name the other quasi-identifiers: --alike-in age,sex",
        )
    both = {"below": options.below, "above": options.above}
    ends = {key: value for key, value in both.items() if value is not None}
    if ends and way != "ranges":
        raise SpecError(
            "--below and --above go with --ranges",
            hint="add --ranges WIDTHS, or leave them out",
        )
    if way == "from":
        return {"file": str(options.from_file)}
    if way in ("flat", "redact", "learned"):
        rest = options.with_columns or ""
        return parse_short(f"{way}:{rest}") or {}
    return (parse_short(f"{way}:{options.given(way)}") or {}) | ends


def _read(
    table: Path, names: list[str], null_values: list[str] | None, csv: list[str] | None
) -> dict[str, "Ranked"]:
    from core_mondrian.encoding.columns import rank_column
    from core_mondrian.tables.frames import arrow_column, check_columns, open_frame

    nulls = tuple(null_values or ("",))
    frame = open_frame(read_source(table, csv, typed=names, null_values=nulls))
    check_columns(frame, names)
    return {name: rank_column(arrow_column(frame, name), name) for name in names}


def _make(asked: JsonObject, column: str, columns: dict[str, "Ranked"]) -> "Hierarchy":
    from core_mondrian.encoding.trees import learn_tree, texts_of
    from core_mondrian.hierarchies.base import Builder
    from core_mondrian.hierarchies.learned import Learned
    from core_mondrian.hierarchies.load import load_hierarchies

    entry = load_hierarchies({column: asked}, Path())[0][column]
    if isinstance(entry, Learned):
        return learn_tree(entry, column, columns)
    if isinstance(entry, Builder):
        return entry.build(texts_of(columns[column]))
    return entry


def _cover(tree: "Hierarchy", ranked: "Ranked") -> _Covered:
    import numpy as np

    from core_mondrian.encoding.trees import texts_of

    number = {label: leaf for leaf, label in enumerate(tree.leaves)}
    leaf = np.array([number.get(text, -1) for text in texts_of(ranked)], dtype=np.int64)
    n = leaf.size
    rows = np.bincount(ranked.codes, minlength=n + 1)
    below = np.zeros(tree.n_leaves, dtype=np.int64)
    below[leaf[leaf >= 0]] = rows[:n][leaf >= 0]
    lacking = np.append(leaf < 0, False)
    return _Covered(
        rows=below,
        n_values=n,
        n_rows=int(rows.sum()),
        n_missing=int(rows[n]),
        uncovered=np.flatnonzero(lacking[ranked.codes]),
        n_uncovered=int(np.count_nonzero(leaf < 0)),
    )


def _print_tree(column: str, tree: "Hierarchy", covered: _Covered, most: int) -> None:
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False)
    console.print(_drawn(tree, covered, most))
    err = Console(stderr=True, markup=False, highlight=False, emoji=False)
    err.print(
        f"{printable(column)}: {covered.n_values:,} values in {covered.n_rows:,} rows, "
        f"{covered.n_missing:,} of them missing"
    )
    n_rows = covered.n_rows - covered.n_missing
    n_covered = covered.n_values - covered.n_uncovered
    err.print(
        f"covered: {n_covered:,} of {covered.n_values:,} values, "
        f"{n_rows - covered.uncovered.size:,} of {n_rows:,} rows"
    )
    if covered.uncovered.size:
        first = ", ".join(map(str, covered.uncovered[:5].tolist()))
        more = ", …" if covered.uncovered.size > 5 else ""
        err.print(
            f"not covered: rows {first}{more} (from 0 on); a release refuses them "
            "unless uncovered = 'own branch' or 'suppress'"
        )


def _drawn(tree: "Hierarchy", covered: _Covered, most: int) -> "Tree":
    """Return the upper nodes as a tree, each with the rows below it."""
    import numpy as np
    from rich.text import Text
    from rich.tree import Tree

    before = np.append(0, np.cumsum(covered.rows))
    rows = before[tree.high + 1] - before[tree.low]

    def node_text(node: int) -> Text:
        n = int(tree.high[node] - tree.low[node] + 1)
        values = f"{n:,} value{'s' * (n != 1)}, " if tree.n_children[node] else ""
        text: Text = printable(tree.labels[node])
        return text + Text(f"  {values}{rows[node]:,} rows", style="dim")

    shown = min(most, len(tree.labels))
    drawn = {0: Tree(node_text(0))}
    for node in range(1, shown):
        over = int(tree.parents[node])
        is_repeated = (
            tree.n_children[over] == 1 and tree.labels[over] == tree.labels[node]
        )
        drawn[node] = drawn[over] if is_repeated else drawn[over].add(node_text(node))
    for node in range(shown):
        below = int(tree.first_child[node] + tree.n_children[node])
        hidden = min(below - shown, int(tree.n_children[node]))
        if tree.n_children[node] and hidden > 0:
            drawn[node].add(Text(f"… {hidden} more", style="dim"))
    return drawn[0]
