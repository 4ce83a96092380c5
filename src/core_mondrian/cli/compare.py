"""core-mondrian compare: what analysts find in a table and in its release."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from core_mondrian.cli.advise import OF_RELEASES, check_files, with_options_of
from core_mondrian.cli.anonymize import anonymize_file, manifest_of
from core_mondrian.cli.options import spec_of
from core_mondrian.cli.summary import echo, printable
from core_mondrian.errors import SpecError
from core_mondrian.runtime.progress import show_progress

if TYPE_CHECKING:
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


def _asked(name: str, text: str) -> Any:  # noqa: ANN401  # a typer option
    return typer.Option(f"--{name}", metavar="COLUMN:BY,…", help=text)


@with_options_of(anonymize_file, but=OF_RELEASES)
def compare_file(
    original: Annotated[Path, typer.Argument(help="CSV, Parquet or Arrow IPC.")],
    release: Annotated[
        Path | None,
        typer.Argument(
            help="Its release. Without one, a part of ORIGINAL is released."
        ),
    ] = None,
    *,
    means: Annotated[
        list[str] | None,
        _asked("means", "Means of a number, or shares of a value, by groups. Repeat."),
    ] = None,
    table: Annotated[
        list[str] | None,
        _asked("table", "Shares of all combinations of values. Repeat for more."),
    ] = None,
    linear: Annotated[
        list[str] | None, _asked("linear", "A linear regression. Repeat for more.")
    ] = None,
    logistic: Annotated[
        list[str] | None,
        _asked("logistic", "A logistic regression. Repeat for more."),
    ] = None,
    classifier: Annotated[
        list[str] | None,
        _asked("classifier", "A classifier; by all quasi-identifiers. Repeat."),
    ] = None,
    holdout: Annotated[
        float | None,
        typer.Option(
            "--holdout",
            metavar="SHARE",
            help="Without RELEASE: rows that are kept to test classifiers: 0.3.",
        ),
    ] = None,
    chart: Annotated[
        Path | None,
        typer.Option(
            "--chart", metavar="FILE", help="Draw it: FILE.svg, FILE.png or FILE.html."
        ),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="All of it as JSON.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace these files if they exist.")
    ] = False,
    **options: Any,  # noqa: ANN401  # those of anonymize
) -> None:
    """Compute the same statistics of ORIGINAL and of RELEASE, and show the difference.

    The spec is that of the release: options, --spec, or else the manifest beside it.
    Groups are named only if k or more rows of both tables show them.
    """
    started = time.perf_counter()
    texts = {
        "means": means,
        "table": table,
        "linear": linear,
        "logistic": logistic,
        "classifier": classifier,
    }
    questions = _read_questions(texts)
    files = [file for file in (chart, json_file) if file is not None]
    for source in (original, *([] if release is None else [release])):
        check_files(source, chart, files, overwrite=overwrite)
    if release is not None and holdout is not None:
        raise SpecError(
            "--holdout is for a release that is made here",
            hint="leave RELEASE out, or --holdout",
        )
    spec = _find_spec(options, release)
    if release is None:
        found = _evaluate(original, spec, questions, holdout, options["threads"])
    else:
        found = _compare(original, release, spec, questions)
    _show(found, asked=questions is not None)
    _write(found, chart, json_file, overwrite=overwrite)
    seconds = time.perf_counter() - started
    wrote = f", wrote {' and '.join(map(str, files))}" if files else ""
    n = len(found.answers)
    asked = f"asked {n} question{'s' * (n > 1)}"
    echo(f"{asked}{wrote} in {seconds:.1f} s")


def _read_questions(
    texts: Mapping[str, list[str] | None],
) -> "tuple[Question, ...] | None":
    """Return what is asked; None: nothing in particular."""
    from core_mondrian.analysis.analyst_statistics.questions import (
        KINDS,
        parse_question,
    )

    asked = tuple(
        parse_question(kind, text) for kind in KINDS for text in texts[kind] or []
    )
    return asked or None


def _find_spec(options: Mapping[str, Any], release: Path | None) -> "Spec":
    """Return the spec that is asked for, or that of the manifest beside a release."""
    is_told = options["spec_file"] is not None or options["quasi_identifiers"]
    if is_told or release is None or not manifest_of(release).is_file():
        return spec_of(options)
    return manifest_spec(release)


def manifest_spec(release: Path) -> "Spec":
    """Return the spec in the manifest beside a release.

    Raises:
        SpecError: there is none, or it does not tell all of the spec.
    """
    from core_mondrian.release.manifests import read_manifest

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
    original: Path,
    release: Path,
    spec: "Spec",
    questions: "tuple[Question, ...] | None",
) -> "Comparison":
    from core_mondrian.analysis.analyst_statistics import compare
    from core_mondrian.tables.files.read import read_table

    null_values = spec.null_values
    before = read_table(original, null_values=null_values)
    # Released cells are read as text, whatever they look like.
    guarded = spec.guard_formulas
    after = read_table(release, null_values=null_values, infer=False, guarded=guarded)
    return compare(before, after, spec, questions)


def _evaluate(
    original: Path,
    spec: "Spec",
    questions: "tuple[Question, ...] | None",
    holdout: float | None,
    threads: int | None,
) -> "Comparison":
    from core_mondrian.analysis.analyst_statistics import evaluate
    from core_mondrian.analysis.analyst_statistics.classifier import HOLDOUT
    from core_mondrian.tables.files.read import read_table

    table = read_table(original, null_values=spec.null_values)
    with show_progress() as progress:
        return evaluate(
            *(table, spec, questions),
            holdout=HOLDOUT if holdout is None else holdout,
            threads=threads,
            progress=progress,
        )


def _show(found: "Comparison", *, asked: bool) -> None:
    from rich.console import Console

    from core_mondrian.analysis.analyst_statistics.regressions import has_sklearn

    console = Console(markup=False, highlight=False, emoji=False)
    # Lines that a narrow terminal breaks are easier to read than broken cells.
    console.width = _WIDTH
    for answer in found.answers:
        console.print(printable(answer.title), style="bold")
        if answer.rows:
            console.print(_rows_table(answer))
        console.print(printable(answer.sentence))
        if any(answer.left_out):
            before, after = answer.left_out
            console.print(
                f"Left out for blanks: {before} rows of the original, {after:g} of the "
                "release."
            )
        console.print()
    console.print(printable(f"score       {found.sentence}"))
    if not asked and not has_sklearn():
        echo(
            "note: regressions and classifiers need scikit-learn: "
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
        first = [str(row.n_before)] if has_counts else []
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


def _write(
    found: "Comparison", chart: Path | None, json_file: Path | None, *, overwrite: bool
) -> None:
    from core_mondrian.tables.files.atomic_write import write_files

    files: dict[Path, bytes] = {}
    if chart is not None:
        from core_mondrian.report.charts import draw_comparison, render

        files[chart] = render(draw_comparison(found), chart.suffix.lower())
    if json_file is not None:
        text = json.dumps(found.to_json(), ensure_ascii=False, indent=2)
        files[json_file] = f"{text}\n".encode()
    write_files(files, overwrite=overwrite)
