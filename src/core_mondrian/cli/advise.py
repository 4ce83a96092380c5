"""core-mondrian advise: what each k would cost, before one is chosen."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final

import typer

from core_mondrian.cli.bars import bar
from core_mondrian.cli.csv_files import Csv, read_source
from core_mondrian.cli.drawing import DrawingOptions
from core_mondrian.cli.options import AsJson, SpecOptions, TableFile, Threads
from core_mondrian.cli.reply import Reply
from core_mondrian.cli.requests import command
from core_mondrian.cli.summary import echo
from core_mondrian.errors import SpecError
from core_mondrian.runtime.progress import show_progress
from core_mondrian.spec.metadata import PROTECTION

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.table import Table

    from core_mondrian.analysis.advise import Figures, Sweep
    from core_mondrian.spec.declaration import Spec

_DEFAULT_K: Final = (2, 5, 10, 20, 50, 100)
_BAR: Final = 10
_WIDTH: Final = 120
_PRACTICE: Final = (
    "practice    5 is common inside an organisation; for what is published CMS shows\n"
    "            no cell from 1 to 10, and EMA suggests a risk of at most 9 %"
)


class SweepOptions(SpecOptions):
    """What a command line says of a spec, but for a k that is varied."""

    __slots__ = ()
    without = ("k",)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviseRequest:
    """What `advise` is asked."""

    PANEL: ClassVar = PROTECTION
    source: TableFile
    k: Annotated[
        str | None,
        typer.Option(
            "--k", metavar="K,K,…", help="Values of k. [default: 2,5,10,20,50,100]"
        ),
    ] = None
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="NAME=V,V,…",
            help="Values of another parameter of the models. Repeat for more.",
        ),
    ] = None
    asked: SweepOptions
    drawing: DrawingOptions
    as_json: AsJson = False
    threads: Threads = None
    csv: Csv = None


@command(AdviseRequest)
def advise_file(request: AdviseRequest) -> None:
    """Show what each k would cost and protect, for SOURCE as `anonymize` would cut it.

    Nothing is released. `anonymize` with the values you choose gives exactly the
    figures shown here. No value of the table is ever printed.
    """
    started = time.perf_counter()
    sweep = _advise(request)
    _write(sweep, request.drawing)

    def print_notes() -> None:
        _print_notes(sweep)
        seconds = time.perf_counter() - started
        echo(f"released nothing{request.drawing.written} in {seconds:.1f} s")

    Reply(sweep.to_json, partial(_show, sweep), print_notes).print(
        as_json=request.as_json
    )


def _advise(request: AdviseRequest) -> "Sweep":
    vary = _read_vary(request.k, request.vary or [])
    request.drawing.check(request.source)
    spec = _base_spec(request.asked, varies_k="k" in vary)
    table = read_source(
        request.source,
        request.csv,
        typed=spec.quasi_identifiers,
        null_values=spec.null_values,
    )
    sweep = _sweep(table, spec, vary, request.threads, as_json=request.as_json)
    sweep.check_feasible()
    return sweep


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


def _base_spec(options: SweepOptions, *, varies_k: bool) -> "Spec":
    """Return the spec; a k that is varied anyway need not be in it."""
    from core_mondrian.spec.toml_file import read_spec_file

    asked = {} if options.file is None else read_spec_file(options.file).values
    has_models = bool(options.flags["models"] or asked.get("models"))
    needs_k = "k" not in asked and (varies_k or not has_models)
    return options.spec(k=_DEFAULT_K[0] if needs_k else None)


def _sweep(
    table: "pa.Table",
    spec: "Spec",
    asked: Mapping[str, list[float]],
    threads: int | None,
    *,
    as_json: bool,
) -> "Sweep":
    from core_mondrian.analysis.advise import sweep

    # Of the default, at least one value stays, to say why it is not feasible.
    default = [k for k in _DEFAULT_K if k <= table.num_rows] or [_DEFAULT_K[0]]
    vary = {name: values or default for name, values in asked.items()}
    with show_progress(as_json=as_json) as progress:
        return sweep(table, spec, vary, threads=threads, progress=progress)


def _write(sweep: "Sweep", drawing: DrawingOptions) -> None:
    def draw() -> Any:  # noqa: ANN401  # a chart of Altair's
        from core_mondrian.report.charts import draw_trade_off

        return draw_trade_off(sweep)

    drawing.write(draw)


def _show(sweep: "Sweep") -> None:
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False)
    # Lines that a narrow terminal breaks are easier to read than broken cells.
    console.width = max(console.width, _WIDTH)
    console.print(_figures_table(sweep, is_plain=console.options.ascii_only))


def _print_notes(sweep: "Sweep") -> None:
    """Say how to read the figures."""
    for point in sweep.points:
        if point.problem is not None:
            echo(f"none        {point}: {point.problem}")
    for knee in sweep.knees:
        echo(f"knee        {knee}; a suggestion, not a decision")
    echo(_PRACTICE)


def _figures_table(sweep: "Sweep", *, is_plain: bool) -> "Table":
    from rich.table import Table

    columns = _columns(sweep)
    table = Table(box=None, pad_edge=False)
    for title in (*sweep.points[0].parameters, "loss", "", *columns, ""):
        table.add_column(title, justify="right" if title else "left")
    known = [point.figures for point in sweep.points if point.figures is not None]
    most = max(figures.loss or 0.0 for figures in known)
    knees = sweep.knees
    for point in sweep.points:
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


def _columns(sweep: "Sweep") -> dict[str, Callable[["Figures"], str]]:
    """Return what is shown besides the loss, without what would say nothing."""
    known = [point.figures for point in sweep.points if point.figures is not None]
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
