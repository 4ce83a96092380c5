"""core-mondrian compare: what analysts find in a table and in its release."""

import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final

import typer

from core_mondrian.cli.csv_files import Csv, read_source
from core_mondrian.cli.drawing import DrawingOptions
from core_mondrian.cli.options import AsJson, SpecOptions, TableFile, Threads
from core_mondrian.cli.reply import Reply
from core_mondrian.cli.requests import command
from core_mondrian.cli.summary import echo, printable
from core_mondrian.errors import SpecError, not_there
from core_mondrian.runtime.progress import Progress, Steps, show_progress
from core_mondrian.tables.files.staging import manifest_of

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.table import Table

    from core_mondrian.analysis.analyst_statistics import (
        Answer,
        Comparison,
        Question,
        Row,
    )
    from core_mondrian.spec.declaration import Spec

_MOST_ROWS: Final = 20
_WIDTH: Final = 100


def _question_option(name: str, text: str) -> Any:  # noqa: ANN401  # a typer option
    return typer.Option(f"--{name}", metavar="COLUMN:BY,…", help=text)


@dataclass(frozen=True, slots=True)
class QuestionOptions:
    """What is asked of both tables."""

    PANEL: ClassVar = "Questions"
    means: Annotated[
        list[str] | None,
        _question_option(
            "means", "Means of a number, or shares of a value, by groups. Repeat."
        ),
    ] = None
    table: Annotated[
        list[str] | None,
        _question_option(
            "table", "Shares of all combinations of values. Repeat for more."
        ),
    ] = None
    linear: Annotated[
        list[str] | None,
        _question_option("linear", "A linear regression. Repeat for more."),
    ] = None
    logistic: Annotated[
        list[str] | None,
        _question_option("logistic", "A logistic regression. Repeat for more."),
    ] = None
    classifier: Annotated[
        list[str] | None,
        _question_option(
            "classifier", "A classifier; by all quasi-identifiers. Repeat."
        ),
    ] = None
    holdout: Annotated[
        float | None,
        typer.Option(
            "--holdout",
            metavar="SHARE",
            help="Without RELEASE: rows that are kept to test classifiers: 0.3.",
        ),
    ] = None

    def parse(self) -> "tuple[Question, ...] | None":
        """Return what is asked; None: nothing in particular."""
        from core_mondrian.analysis.analyst_statistics.questions import (
            KINDS,
            parse_question,
        )

        texts = ((kind, getattr(self, kind) or []) for kind in KINDS)
        asked = tuple(
            parse_question(kind, x) for kind, several in texts for x in several
        )
        return asked or None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareRequest:
    """What `compare` is asked."""

    original: TableFile
    release: Annotated[
        Path | None,
        typer.Argument(
            help="Its release. Without one, a part of ORIGINAL is released."
        ),
    ] = None
    questions: QuestionOptions
    asked: SpecOptions
    drawing: DrawingOptions
    as_json: AsJson = False
    threads: Threads = None
    csv: Csv = None


@command(CompareRequest)
def compare_file(request: CompareRequest) -> None:
    """Compute the same statistics of ORIGINAL and of RELEASE, and show the difference.

    The spec is that of the release: options, --spec, or else the manifest beside it.
    Groups are named only if k or more rows of both tables show them.
    """
    started = time.perf_counter()
    questions = request.questions.parse()
    comparison = _compare_tables(request, questions)
    _write(comparison, request.drawing)

    def print_notes() -> None:
        seconds, n = time.perf_counter() - started, len(comparison.answers)
        asked = f"asked {n} question{'s' * (n > 1)}"
        if questions is None:
            _note_missing_packages()
        echo(f"{asked}{request.drawing.written} in {seconds:.1f} s")

    Reply(comparison.to_json, partial(_show, comparison), print_notes).print(
        as_json=request.as_json
    )


def _compare_tables(
    request: CompareRequest, questions: "tuple[Question, ...] | None"
) -> "Comparison":
    """Ask both tables, or release a part of one to have another."""
    original, release = request.original, request.release
    request.drawing.check(original, *([] if release is None else [release]))
    if release is not None and request.questions.holdout is not None:
        raise SpecError(
            "--holdout is for a release that is made here",
            hint="leave RELEASE out, or --holdout",
        )
    _check_order(original, release)
    spec = _find_spec(request.asked, release)
    before = read_source(original, request.csv, null_values=spec.null_values)
    with show_progress(as_json=request.as_json) as progress:
        if release is None:
            return _evaluate(before, spec, questions, request, progress)
        return _compare(before, release, spec, questions, progress)


def _check_order(original: Path, release: Path | None) -> None:
    """Refuse a release that is named first, by the manifest beside it.

    Raises:
        SpecError: it is the original that has a manifest.
    """
    if release is None or manifest_of(release).is_file():
        return
    if manifest_of(original).is_file():
        raise SpecError(
            f"{original} has a manifest, so it is the release",
            hint="name the original first, then the release",
        )


def _find_spec(options: SpecOptions, release: Path | None) -> "Spec":
    """Return the spec that is asked for, or that of the manifest beside a release."""
    if release is not None and not release.exists():
        raise not_there(release)
    is_told = options.file is not None or options.flags["quasi_identifiers"]
    if is_told or release is None or not manifest_of(release).is_file():
        return options.spec()
    if options.is_given:
        raise SpecError(
            "the spec is that of the manifest beside the release, or all options",
            hint="add --qid COLUMN for each column, or leave these options out",
        )
    return manifest_spec(release)


def manifest_spec(release: Path) -> "Spec":
    """Return the spec in the manifest beside a release.

    Raises:
        DataError: there is no such release.
        SpecError: there is none, or it does not tell all of the spec.
    """
    from core_mondrian.release.manifests import read_manifest

    if not release.exists():
        raise not_there(release)
    file = manifest_of(release)
    if not file.is_file():
        raise SpecError(
            f"{release}: no manifest stands beside it",
            hint="give the spec: --spec FILE",
        )
    manifest = read_manifest(file)
    if manifest.unknown or manifest.untold:
        raise SpecError(
            f"{file}: does not hold all of the spec", hint="give it: --spec FILE"
        )
    return manifest.spec


def _compare(
    before: "pa.Table",
    release: Path,
    spec: "Spec",
    questions: "tuple[Question, ...] | None",
    progress: Progress | None,
) -> "Comparison":
    from core_mondrian.analysis.analyst_statistics import compare
    from core_mondrian.tables.files.read import read_table

    null_values = spec.null_values
    # Released cells are read as text, whatever they look like.
    guarded = spec.guard_formulas
    end = Steps(progress, "reading the release", (1.0,)).end
    after = end(
        read_table(release, null_values=null_values, infer=False, guarded=guarded)
    )
    return compare(before, after, spec, questions, progress=progress)


def _evaluate(
    table: "pa.Table",
    spec: "Spec",
    questions: "tuple[Question, ...] | None",
    request: CompareRequest,
    progress: Progress | None,
) -> "Comparison":
    from core_mondrian.analysis.analyst_statistics import evaluate
    from core_mondrian.analysis.analyst_statistics.classifier import HOLDOUT

    holdout = request.questions.holdout
    return evaluate(
        table,
        spec,
        questions,
        holdout=HOLDOUT if holdout is None else holdout,
        threads=request.threads,
        progress=progress,
    )


def _show(comparison: "Comparison") -> None:
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False)
    # Lines that a narrow terminal breaks are easier to read than broken cells.
    console.width = _WIDTH
    for answer in comparison.answers:
        console.print(printable(answer.title), style="bold")
        if answer.rows:
            console.print(_rows_table(answer))
        console.print(printable(answer.sentence))
        if any(answer.left_out):
            before, after = answer.left_out
            console.print(
                f"Left out for blanks: {before:,} rows of the original, {after:,g} "
                "of the release."
            )
        console.print()
    console.print(printable(f"score       {comparison.sentence}"))


def _note_missing_packages() -> None:
    """Say what was not asked, where nothing in particular was, for want of packages."""
    from core_mondrian.analysis.analyst_statistics.packages import fitted_kinds

    if not {"linear", "classifier"} <= fitted_kinds():
        echo(
            "note: regressions and classifiers need more packages: "
            "pip install 'core-mondrian[statistics]'"
        )


def _rows_table(answer: "Answer") -> "Table":
    from rich.table import Table

    from core_mondrian.analysis.analyst_statistics.answers import (
        difference_text,
        most_off,
        number_text,
    )

    has_counts = answer.rows[0].n_before is not None
    has_overlap = answer.rows[0].overlap is not None
    is_share = answer.is_share or answer.question.kind == "classifier"
    last = (
        "guessing" if answer.question.kind == "classifier" else "standard\nerrors off"
    )
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    rows = "rows" if has_counts else "overlap" if has_overlap else ""
    for title in (*([rows] if rows else []), "original", "release", "difference", last):
        table.add_column(title, justify="right")
    shown = most_off(answer.rows, _MOST_ROWS)
    for row in shown:
        first = [f"{row.n_before:,}"] if has_counts else []
        first += [f"{100 * (row.overlap or 0.0):.0f} %"] if has_overlap else []
        table.add_row(
            printable(row.name),
            *first,
            *(number_text(x, is_share=is_share) for x in (row.before, row.after)),
            difference_text(row.difference, is_share=is_share),
            _last(row),
        )
    if more := len(answer.rows) - len(shown):
        table.add_row(f"… and {more} that are less off")
    return table


def _last(row: "Row") -> str:
    from core_mondrian.analysis.analyst_statistics.answers import number_text

    if row.guess is not None:
        return number_text(row.guess, is_share=True)
    return "-" if row.errors_off is None else f"{abs(row.errors_off):.1f}"


def _write(comparison: "Comparison", drawing: DrawingOptions) -> None:
    def draw() -> Any:  # noqa: ANN401  # a chart of Altair's
        from core_mondrian.report.charts import draw_comparison

        return draw_comparison(comparison)

    drawing.write(draw)
