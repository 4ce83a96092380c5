"""core-mondrian advise: what each k would cost, before one is chosen."""

import inspect
import json
import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer

from core_mondrian.cli.anonymize import anonymize_file
from core_mondrian.cli.bars import bar
from core_mondrian.cli.options import spec_of
from core_mondrian.cli.summary import echo
from core_mondrian.errors import SpecError
from core_mondrian.runtime.progress import show_progress

if TYPE_CHECKING:
    from rich.table import Table

    from core_mondrian.analysis.advise import Figures, Sweep
    from core_mondrian.spec.declaration import Spec

CommandT = TypeVar("CommandT", bound=Callable[..., None])

_DEFAULT_K: Final = (2, 5, 10, 20, 50, 100)
OF_RELEASES: Final = (
    *("overwrite", "as_json", "measures", "suppressed_file", "key_file"),
    "sign_key",
    *("database", "view", "manifest"),
)
"""Options of `anonymize` that mean nothing where no release is written."""
_BAR: Final = 10
_WIDTH: Final = 120
_PRACTICE: Final = (
    "practice    5 is common inside an organisation; for what is published CMS shows\n"
    "            no cell from 1 to 10, and EMA suggests a risk of at most 9 %"
)


def with_options_of(
    other: Callable[..., None], *, but: tuple[str, ...]
) -> Callable[[CommandT], CommandT]:
    """Give a command the options of another too; they arrive as its last argument.

    So an option that is added there is understood here. Typer reads signatures.
    """

    def extend(command: CommandT) -> CommandT:
        own = [
            parameter
            for parameter in inspect.signature(command).parameters.values()
            if parameter.kind is not parameter.VAR_KEYWORD
        ]
        shared = [
            parameter
            for parameter in inspect.signature(other).parameters.values()
            if parameter.kind is parameter.KEYWORD_ONLY and parameter.name not in but
        ]
        both = [*own, *shared]
        command.__signature__ = inspect.Signature(both)  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in both}
        return command

    return extend


@with_options_of(anonymize_file, but=("k", *OF_RELEASES))
def advise_file(
    source: Annotated[Path, typer.Argument(help="CSV, Parquet or Arrow IPC.")],
    *,
    k: Annotated[
        str | None,
        typer.Option(
            "--k", metavar="K,K,…", help="Values of k: 2,5,10,20,50,100 by default."
        ),
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="NAME=V,V,…",
            help="Values of another parameter of the models. Repeat for more.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", metavar="FILE", help="Draw it: FILE.svg, FILE.png or FILE.html."
        ),
    ] = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="One JSON line per combination."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace these files if they exist.")
    ] = False,
    **options: Any,  # noqa: ANN401  # those of anonymize
) -> None:
    """Show what each k would cost and protect, for SOURCE as `anonymize` would cut it.

    Nothing is released. `anonymize` with the values you choose gives exactly the
    figures shown here. No value of the table is ever printed.
    """
    started = time.perf_counter()
    asked = _read_vary(k, vary or [])
    files = [file for file in (plot, json_file) if file is not None]
    check_files(source, plot, files, overwrite=overwrite)
    spec = _base_spec(options, varies_k="k" in asked)
    found = _sweep(source, spec, asked, options["threads"])
    found.check_feasible()
    _show(found)
    _write(found, plot, json_file, overwrite=overwrite)
    seconds = time.perf_counter() - started
    wrote = f", wrote {' and '.join(map(str, files))}" if files else ""
    echo(f"released nothing{wrote} in {seconds:.1f} s")


def _read_vary(k: str | None, vary: list[str]) -> dict[str, list[float]]:
    """Return the values of each parameter, k first; none for k: the default.

    Where other parameters are varied, k is only if it is asked for.
    """
    asked: dict[str, list[float]] = {"k": []} if k is not None or not vary else {}
    for text in ([f"k={k}"] if k is not None else []) + vary:
        name, equals, values = text.partition("=")
        if not equals:
            raise SpecError("--vary takes NAME=V,V,…", hint="such as --vary l=2,3,4")
        if asked.get(name):
            raise SpecError(
                f"{name!r} is varied twice",
                hint=f"name all values at once, such as {name}=2,5,10",
            )
        asked[name] = [_number(value, name) for value in values.split(",")]
    return asked


def _number(text: str, name: str) -> float:
    try:
        value = int(text) if text.strip().lstrip("+-").isdigit() else float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise SpecError(
            f"the values of {name!r} are numbers with commas between",
            hint=f"such as {name}=2,5,10",
        )
    return value


def _base_spec(options: Mapping[str, Any], *, varies_k: bool) -> "Spec":
    """Return the spec; a k that is varied anyway need not be in it."""
    from core_mondrian.spec.toml_file import read_spec_file

    file = options["spec_file"]
    asked = {} if file is None else read_spec_file(file).asked
    has_models = bool(options["models"] or asked.get("models"))
    needs_k = "k" not in asked and (varies_k or not has_models)
    return spec_of({**options, "k": _DEFAULT_K[0] if needs_k else None})


def check_files(
    source: Path, plot: Path | None, files: list[Path], *, overwrite: bool
) -> None:
    """Refuse files that cannot be written, before the work."""
    from core_mondrian.release.report_file import require_report
    from core_mondrian.report.charts import KINDS
    from core_mondrian.tables.files.atomic_write import check_place, require_distinct

    if plot is not None:
        require_report("a chart")
        if plot.suffix.lower() not in KINDS:
            kinds = ", ".join(KINDS)
            raise SpecError(
                f"{plot}: unknown kind of picture", hint=f"take one of {kinds}"
            )
    require_distinct("source, --plot and --json", (*files, source))
    for file in files:
        check_place(file, overwrite=overwrite)


def _sweep(
    source: Path, spec: "Spec", asked: Mapping[str, list[float]], threads: int | None
) -> "Sweep":
    from core_mondrian.tables.files.read import read_table

    table = read_table(
        source, typed=spec.quasi_identifiers, null_values=spec.null_values
    )
    from core_mondrian.analysis.advise import sweep

    # Of the default, at least one value stays, to say why it is not feasible.
    default = [k for k in _DEFAULT_K if k <= table.num_rows] or [_DEFAULT_K[0]]
    vary = {name: values or default for name, values in asked.items()}
    with show_progress() as progress:
        return sweep(table, spec, vary, threads=threads, progress=progress)


def _write(
    found: "Sweep", plot: Path | None, json_file: Path | None, *, overwrite: bool
) -> None:
    from core_mondrian.tables.files.atomic_write import write_files

    files: dict[Path, bytes] = {}
    if plot is not None:
        from core_mondrian.report.charts import draw_trade_off, render

        files[plot] = render(draw_trade_off(found), plot.suffix.lower())
    if json_file is not None:
        lines = [json.dumps(row, ensure_ascii=False) for row in found.to_rows()]
        files[json_file] = "".join(f"{line}\n" for line in lines).encode()
    write_files(files, overwrite=overwrite)


def _show(found: "Sweep") -> None:
    """Print the table, and say on stderr how to read it."""
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False)
    # Lines that a narrow terminal breaks are easier to read than broken cells.
    console.width = max(console.width, _WIDTH)
    console.print(_figures_table(found, is_plain=console.options.ascii_only))
    for point in found.points:
        if point.problem is not None:
            echo(f"none        {point}: {point.problem}")
    for knee in found.knees:
        echo(f"knee        {knee}; a suggestion, not a decision")
    echo(_PRACTICE)


def _figures_table(found: "Sweep", *, is_plain: bool) -> "Table":
    from rich.table import Table

    columns = _columns(found)
    table = Table(box=None, pad_edge=False)
    for title in (*found.points[0].parameters, "loss", "", *columns, ""):
        table.add_column(title, justify="right" if title else "left")
    known = [point.figures for point in found.points if point.figures is not None]
    most = max(figures.loss or 0.0 for figures in known)
    knees = found.knees
    for point in found.points:
        texts = [f"{value:g}" for value in point.parameters.values()]
        if point.figures is None:
            table.add_row(*texts, "-", "none")
            continue
        loss = point.figures.loss or 0.0
        texts += [
            _percent(point.figures.loss),
            bar(loss, most, _BAR, is_plain=is_plain),
        ]
        texts += [read(point.figures) for read in columns.values()]
        table.add_row(*texts, "< knee" if point in knees else "")
    return table


def _columns(found: "Sweep") -> dict[str, Callable[["Figures"], str]]:
    """Return what is shown besides the loss, without what would say nothing."""
    known = [point.figures for point in found.points if point.figures is not None]
    columns: dict[str, Callable[[Figures], str]] = {
        "classes": lambda one: str(one.n_classes),
        "smallest\nclass": lambda one: str(one.smallest_class or "-"),
        "highest\nrisk": lambda one: _percent(one.highest_risk),
        "average\nrisk": lambda one: _percent(one.average_risk),
    }
    if any(one.n_suppressed for one in known):
        columns["suppressed"] = lambda one: str(one.n_suppressed)
    if any(one.n_blanked for one in known):
        columns["cells\nblanked"] = lambda one: str(one.n_blanked)
    if any(
        model.reached != one.smallest_class for one in known for model in one.models
    ):
        columns["models\nreached"] = lambda one: ", ".join(
            f"{model.reached:.4g}" for model in one.models
        )
    return columns


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"
