"""core-mondrian explain: what a release is, for a person at a terminal."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

import typer

from core_mondrian.cli.bars import bar
from core_mondrian.cli.options import (
    OUTPUT,
    AsJson,
    RecordFile,
    RecountOptions,
    TableFile,
)
from core_mondrian.cli.reply import Reply
from core_mondrian.cli.requests import command
from core_mondrian.cli.summary import escape_controls
from core_mondrian.cli.verify import READ_AND_COUNT, EvidenceOptions
from core_mondrian.errors import SpecError, not_there
from core_mondrian.runtime.progress import Steps, show_progress
from core_mondrian.tables.files.staging import manifest_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text
    from rich.tree import Tree

    from core_mondrian.release.explanation import Explanation, ModelFinding
    from core_mondrian.release.manifests import Counts, Manifest
    from core_mondrian.release.release_tree import Branch, SizeBin

_BAR: Final = 12
_GUIDE: Final = 4
"""What a level of the tree is indented by."""
_NARROWEST: Final = 8
"""A cell of the release is not cut to less than that."""
_STYLES: Final = {True: "green", False: "bold red", None: "yellow"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainRequest:
    """What `explain` is asked."""

    PANEL: ClassVar = OUTPUT
    release: TableFile
    manifest_file: Annotated[
        Path | None,
        typer.Option(
            "--manifest",
            metavar="FILE",
            help="The manifest of RELEASE. [default: beside it]",
            rich_help_panel=EvidenceOptions.PANEL,
        ),
    ] = None
    record_file: RecordFile = None
    asked: RecountOptions
    depth: Annotated[
        int, typer.Option("--depth", min=0, help="Levels of the tree.")
    ] = 3
    width: Annotated[
        int, typer.Option("--width", min=1, help="Branches that are listed at each.")
    ] = 3
    columns: Annotated[
        bool, typer.Option("--columns", help="Show the funnel of every column.")
    ] = False
    as_json: AsJson = False


@command(ExplainRequest)
def explain_file(request: ExplainRequest) -> None:
    """Show what RELEASE is: recounted, compared with its manifest, and as a tree.

    Without a manifest, say what to recount as for `verify`. The original is not
    needed. The tree shows released cells, and only of a table that passes. If a class
    fails, or table and manifest do not belong together, the exit code is 5.
    """
    explanation = _explain(request)
    show = partial(_show, explanation, request.release, by_column=request.columns)
    reply = Reply(explanation.to_json, show, check=explanation.check)
    reply.print(as_json=request.as_json)


def _explain(request: ExplainRequest) -> "Explanation":
    from core_mondrian.release.explanation import explain
    from core_mondrian.release.owner_record import find_record
    from core_mondrian.verification.read_back import read_release

    release = request.release
    if not release.exists():
        raise not_there(release)
    manifest = _find_manifest(release, request.manifest_file)
    spec = request.asked.spec() if request.asked.is_given else None
    asked = manifest.spec if spec is None and manifest is not None else spec
    if asked is None:
        raise SpecError(
            "there is no manifest beside the release",
            hint="name it by --manifest, or say what to recount: --qid and --k, --spec",
        )
    record = None if manifest is None else find_record(release, request.record_file)
    depth, width = request.depth, request.width
    with show_progress(as_json=request.as_json) as progress:
        end = Steps(progress, "recounting", READ_AND_COUNT).end
        data = end(read_release(release, asked))
        return end(
            explain(data, spec, manifest, record=record, depth=depth, width=width)
        )


def _find_manifest(release: Path, file: Path | None) -> "Manifest | None":
    from core_mondrian.release.manifests import read_manifest

    beside = manifest_of(release) if file is None else file
    return read_manifest(beside) if file is not None or beside.exists() else None


def _show(explanation: "Explanation", release: Path, *, by_column: bool) -> None:
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False)
    is_plain = console.options.ascii_only
    console.print(_summary(explanation, release, is_plain=is_plain))
    if explanation.sizes:
        console.print()
        console.print(_size_table(explanation.sizes, is_plain=is_plain))
    if explanation.record is not None:
        console.print()
        parts = explanation.record.funnel["columns" if by_column else "kinds"]
        console.print(_funnel(parts, is_plain=is_plain))
    if explanation.tree is not None and explanation.n_classes:
        console.print()
        console.print("how the released rows divide")
        console.print(_tree(explanation.tree, console))


def _summary(explanation: "Explanation", release: Path, *, is_plain: bool) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, min_width=10)
    table.add_column(overflow="fold")
    for label, text, style in _lines(explanation, release):
        table.add_row(
            label, Text(escape_controls(text, is_plain=is_plain), style=style)
        )
    return table


def _lines(explanation: "Explanation", release: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the lines of the summary: what it is about, text, style."""
    manifest = explanation.manifest
    yield "release", str(release), ""
    if manifest is not None and manifest.notice is not None:
        yield "notice", manifest.notice, "bold"
    yield "asked", _request_text(explanation), ""
    for model in explanation.models:
        yield "recounted", _model_text(model), _STYLES[model.passed]
    yield "rows", _rows_text(explanation), ""
    if explanation.record is not None and explanation.record.n_blanked:
        yield "blanked", f"{explanation.record.n_blanked:,} cells", ""
    yield "classes", _classes_text(explanation), ""
    yield from _digest_lines(explanation)
    for problem in explanation.problems:
        yield "PROBLEM", problem, "bold red"
    for note in explanation.notes:
        yield "note", note, ""
    if explanation.tree is None:
        yield "note", "the recount does not pass, so no cell is shown: no tree", ""


def _request_text(explanation: "Explanation") -> str:
    names = ", ".join(model.name for model in explanation.models) or "no model"
    columns = ", ".join(explanation.spec.quasi_identifiers)
    policy = None if explanation.manifest is None else explanation.manifest.policy
    return f"{names}, by {columns}" + (f"; policy {policy}" if policy else "")


def _model_text(model: "ModelFinding") -> str:
    if model.passed is None:
        stated = "nothing" if model.told is None else f"{model.told:.9g}"
        return f"{model.name}: not recounted (the manifest says it reached {stated})"
    if not model.passed:
        return f"{model.name}: FAILS"
    reached = "vacuously" if model.reached is None else f"{model.reached:.9g}"
    return f"{model.name}: passes (reaches {reached})"


def _rows_text(explanation: "Explanation") -> str:
    rows = explanation.record
    blank = f", {explanation.n_blank:,} of them blank" if explanation.n_blank else ""
    here = f"{explanation.n_rows:,} in the table{blank}"
    if rows is None:
        return here
    text = (
        f"{rows.n_in:,} in, {rows.n_released:,} released, {rows.n_suppressed:,} "
        f"suppressed (budget {rows.budget:,})"
    )
    is_complete = rows.n_released == explanation.n_rows and not blank
    return text if is_complete else f"{text}; {here}"


def _classes_text(explanation: "Explanation") -> str:
    if not explanation.n_classes:
        return "none"
    average = (explanation.n_rows - explanation.n_blank) / explanation.n_classes
    return (
        f"{explanation.n_classes:,} of {explanation.smallest_class:,} to "
        f"{explanation.largest_class:,} rows, {average:.1f} on average"
    )


def _digest_lines(explanation: "Explanation") -> Iterator[tuple[str, str, str]]:
    texts = {
        "matches": "matches the manifest (it covers the quasi-identifiers only)",
        "differs": "does NOT match the manifest",
        "unknown": "nothing to compare with",
    }
    passed = {"matches": True, "differs": False}.get(explanation.digest_match)
    style = "" if passed is None else _STYLES[passed]
    yield "digest", texts[explanation.digest_match], style
    yield "", explanation.digest, ""
    if passed is False and explanation.manifest is not None:
        yield "", f"the manifest's: {explanation.manifest.digest}", ""


def _size_table(sizes: "tuple[SizeBin, ...]", *, is_plain: bool) -> "Table":
    table = _table("rows a class", "classes", "")
    most = max(one.n_classes for one in sizes)
    for one in sizes:
        length = bar(one.n_classes, most, _BAR, is_plain=is_plain)
        table.add_row(f"{one.low:,}-{one.high:,}", f"{one.n_classes:,}", length)
    return table


def _funnel(parts: "Counts", *, is_plain: bool) -> "Table":
    """Return the funnel, a line per stage and a bar next to it."""
    from core_mondrian.engine.funnel_counts import STAGES

    names = {"number": "numbers", "category": "categories"}
    table = _table("the cut funnel", "", "cuts", " ")
    table.columns[0].justify = "left"
    table.columns[0].overflow = "fold"
    table.columns[3].justify = "left"
    most = max((n for one in parts.values() for n in one.values()), default=0)
    for name in sorted(parts, key=lambda name: name == "category"):
        shown = escape_controls(names.get(name, name), is_plain=is_plain)
        for stage in STAGES:
            n = parts[name][stage]
            if n or stage != "abandoned":
                length = bar(n, most, _BAR, is_plain=is_plain)
                table.add_row(shown, stage, f"{n:,}", length)
                shown = ""
    return table


def _table(*titles: str) -> "Table":
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in titles:
        table.add_column(title, justify="right" if title else "left")
    return table


def _tree(root: "Branch", console: "Console") -> "Tree":
    from rich.tree import Tree

    tree = Tree(_root_text(root, console), guide_style="dim")
    _hang(tree, root, console, 1)
    return tree


def _hang(tree: "Tree", branch: "Branch", console: "Console", level: int) -> None:
    """Hang what ``branch`` divides into under its node."""
    room = console.width - _GUIDE * level
    is_plain = console.options.ascii_only
    for one in branch.branches:
        node = tree.add(_branch_text(one, room, is_plain=is_plain))
        _hang(node, one, console, level + 1)
    if branch.n_others:
        more = "..." if is_plain else "…"
        rest = f"{branch.n_others:,} more, {_rows(branch.other_rows)}"
        tree.add(_cut("", f"{more} {rest}", room, is_plain=is_plain))


def _root_text(root: "Branch", console: "Console") -> "Text":
    tail = _counts(root.n_rows, root.n_classes) + _by(
        root, is_plain=console.options.ascii_only
    )
    return _cut("", tail, console.width)


def _branch_text(branch: "Branch", room: int, *, is_plain: bool) -> "Text":
    shows = "(blank)" if branch.shows is None else branch.shows
    tail = (
        f"  {_counts(branch.n_rows, branch.n_classes)}{_by(branch, is_plain=is_plain)}"
    )
    return _cut(
        escape_controls(shows, is_plain=is_plain), tail, room, is_plain=is_plain
    )


def _by(branch: "Branch", *, is_plain: bool) -> str:
    if branch.column is None:
        return ""
    return f", by {escape_controls(branch.column, is_plain=is_plain)}"


def _counts(n_rows: int, n_classes: int) -> str:
    return f"{_rows(n_rows)}, {n_classes:,} class{'' if n_classes == 1 else 'es'}"


def _rows(n: int) -> str:
    return f"{n:,} row{'' if n == 1 else 's'}"


def _cut(head: str, tail: str, room: int, *, is_plain: bool = False) -> "Text":
    """Return one line; what is too long is cut from ``head``, then at the end."""
    from rich.cells import cell_len, set_cell_size
    from rich.text import Text

    mark = "..." if is_plain else "…"
    left = max(room - cell_len(tail), _NARROWEST)
    if cell_len(head) > left:
        head = set_cell_size(head, left - len(mark)) + mark
    line = f"{head}{tail}"
    if cell_len(line) > room:
        line = set_cell_size(line, max(room - len(mark), 1)) + mark
    return Text(line, no_wrap=True)
