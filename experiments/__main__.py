"""python -m experiments: the paper's figures, measured and drawn again."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from core_mondrian.cli.main import stand_alone
from core_mondrian.errors import OutputError, SpecError
from core_mondrian.runtime.progress import Progress, show_progress

if TYPE_CHECKING:
    import pyarrow as pa

    from experiments.evaluation import Evaluation, Setting
    from experiments.lab import Lab

_ADULT_ROWS: Final = 48_842
_EPOCHS: Final = 1000
_WORD: Final = (1 << 32) - 1
_OUT: Final = Path("out/experiments")


def run_experiments(
    *,
    figures: Annotated[
        str | None,
        typer.Option(
            "--figures", metavar="N,N,…", help="Only these, such as 1,5,data."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few values, small sizes, single runs.")
    ] = False,
    table: Annotated[
        Literal["adult", "census"],
        typer.Option("--table", help="UCI Adult, or a made-up census like it."),
    ] = "adult",
    adult_folder: Annotated[
        Path | None,
        typer.Option(
            "--adult",
            metavar="FOLDER",
            envvar="CORE_MONDRIAN_ADULT",
            help="Where UCI's files are; else the cache or a download.",
        ),
    ] = None,
    rows: Annotated[
        int, typer.Option("--rows", min=100, help="Rows of the made-up census.")
    ] = _ADULT_ROWS,
    synthesizer: Annotated[
        Literal["tree", "ctgan", "both"],
        typer.Option(
            "--synthesizer", help="What makes larger tables; both: one, then the other."
        ),
    ] = "tree",
    epochs: Annotated[
        int, typer.Option("--epochs", min=1, help="Of CTGAN's training.")
    ] = _EPOCHS,
    threads: Annotated[
        int | None,
        typer.Option("--threads", min=1, help="What “all threads” is; else all cores."),
    ] = None,
    seed: Annotated[
        int,
        typer.Option("--seed", min=0, max=_WORD, help="Makes other synthetic rows."),
    ] = 0,
    out: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="Where the files go.")
    ] = _OUT,
    docs: Annotated[
        Path | None,
        typer.Option(
            "--docs", metavar="FOLDER", help="Also put page and pictures (SVG) here."
        ),
    ] = None,
) -> None:
    """Measure section 4 of the paper again, and judge its statements.

    Writes a page, a picture for each figure, and the numbers as CSV and JSON.
    """
    started = time.perf_counter()
    from core_mondrian.analysis.analyst_statistics.packages import require_packages
    from core_mondrian.analysis.analyst_statistics.questions import KINDS
    from core_mondrian.release.report_file import require_report
    from core_mondrian.runtime.threads import n_cores
    from experiments.evaluation import Setting, run_figures
    from experiments.registry import choose_figures

    chosen = choose_figures(
        figures, ctgan_epochs=epochs if synthesizer == "both" else None
    )
    if docs is not None and (quick or figures or table != "adult"):
        raise SpecError(
            "--docs is for a full run on Adult",
            hint="leave out --quick, --figures and --table",
        )
    require_report("the experiments")
    if any(figure.fits for figure in chosen):
        require_packages(KINDS)
    for folder in (out, *(() if docs is None else (docs,))):
        _check_folder(folder)
    base = _load(table, adult_folder, rows, seed)
    cores = n_cores()
    setting = Setting(
        table=table,
        rows=base.num_rows,
        synthesizer=synthesizer,
        epochs=None if synthesizer == "tree" else epochs,
        seed=seed,
        is_quick=quick,
        cores=cores,
        threads=threads or cores,
        command=_spell(
            {
                "--table": (table, "adult"),
                "--rows": (rows, _ADULT_ROWS),
                "--figures": (figures, None),
                "--synthesizer": (synthesizer, "tree"),
                "--epochs": (epochs, _EPOCHS),
                "--threads": (threads, None),
                "--seed": (seed, 0),
            },
            is_quick=quick,
        ),
    )
    lab = _open_lab(base, setting)
    with _watch() as progress:
        progress("warming up", 0.0)
        lab.warm_up()
        progress("warming up", 1.0)
        evaluation = run_figures(lab, chosen, setting, progress)
        progress("drawing", 0.0)
        files = _write(evaluation, out, docs)
        progress("drawing", 1.0)
    _tell(evaluation)
    seconds = time.perf_counter() - started
    typer.echo(f"wrote {files} files to {out} in {seconds:.1f} s", err=True)


def _spell(options: dict[str, tuple[object, object]], *, is_quick: bool) -> str:
    """Return the command with the options that are not as by default, but no path."""
    words = ["python -m experiments"] + (["--quick"] if is_quick else [])
    words += [f"{name} {v}" for name, (v, default) in options.items() if v != default]
    return " ".join(words)


def _load(table: str, folder: Path | None, rows: int, seed: int) -> "pa.Table":
    from experiments.tables import load_adult, make_census

    if table == "adult":
        return load_adult(folder)
    typer.echo(f"table       a made-up census of {rows:,} rows, not Adult", err=True)
    return make_census(rows, seed)


def _open_lab(base: "pa.Table", setting: "Setting") -> "Lab":
    from experiments.lab import QUICK, Clocks, Lab, Plan
    from experiments.tables import SynthesizerName, sampler

    def open_with(name: SynthesizerName) -> Lab:
        return Lab(
            base,
            plan=QUICK if setting.is_quick else Plan(),
            sample=sampler(
                base, name, seed=setting.seed, epochs=setting.epochs or _EPOCHS
            ),
            clocks=Clocks(time.perf_counter, time.process_time),
            threads=setting.threads,
            cores=setting.cores,
        )

    if setting.synthesizer != "both":
        return open_with(setting.synthesizer)
    lab = open_with("tree")
    lab.ctgan = open_with("ctgan")
    return lab


@contextmanager
def _watch() -> Iterator[Progress]:
    """Show a bar for each figure, or a line if nobody is watching."""
    with show_progress() as progress:
        if progress is not None:
            yield progress
            return

        def say(stage: str, done: float) -> None:
            if not done:
                typer.echo(f"running     {stage}", err=True)

        yield say


def _write(evaluation: "Evaluation", out: Path, docs: Path | None) -> int:
    """Write all files or none; return how many."""
    from core_mondrian.tables.files.atomic_write import write_files
    from experiments.evaluation import PAGE, data_files, picture_files
    from experiments.page import write_page

    shown = {PAGE: write_page(evaluation).encode(), **picture_files(evaluation)}
    files = {out / name: content for name, content in shown.items()}
    files |= {out / name: content for name, content in data_files(evaluation).items()}
    if docs is not None:
        # A PNG is for print and ten times as large.
        kept = {name: one for name, one in shown.items() if not name.endswith(".png")}
        files |= {docs / name: content for name, content in kept.items()}
    for folder in {path.parent for path in files}:
        folder.mkdir(parents=True, exist_ok=True)
    write_files(files, overwrite=True)
    return len(files)


def _check_folder(folder: Path) -> None:
    """Refuse a folder that is not there and cannot be made, before the work."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise OutputError(
            f"{folder}: cannot be made or written to", hint="name another folder"
        )


def _tell(evaluation: "Evaluation") -> None:
    """Print what became of each statement."""
    judged = list(evaluation.judged())
    names = [one.figure.title.partition(":")[0] for one in judged]
    width = max(map(len, names), default=0) + 2
    for name, one in zip(names, judged, strict=True):
        typer.echo(f"{one.verdict.state:<14}{name:<{width}}{one.claim.says}")


app = stand_alone(run_experiments, "experiments")

if __name__ == "__main__":
    app(prog_name="python -m experiments")
