"""Run figures, and turn what was found into files."""

import csv
import io
import json
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from core_mondrian import __version__
from core_mondrian.report.charts import convert
from experiments.figure import Claim, Figure, Found, Row, Verdict
from experiments.lab import Lab
from experiments.tables import Synthesizers, TableName

PICTURES: Final = "pictures/experiments"
PAGE: Final = "experiments.md"


@dataclass(frozen=True, slots=True)
class Setting:
    """What everything was measured on."""

    table: TableName
    rows: int
    synthesizer: Synthesizers
    epochs: int | None
    """Of CTGAN's training."""
    seed: int
    is_quick: bool
    cores: int
    threads: int
    command: str
    """What gives the same page."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A claim and what became of it."""

    figure: Figure
    claim: Claim
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What was found for each figure."""

    setting: Setting
    found: Mapping[str, Found]
    """By the figure's key."""
    figures: tuple[Figure, ...]

    def judged(self) -> Iterator[Judged]:
        """Yield every claim of the figures, with its verdict."""
        for figure in self.figures:
            for claim in figure.claims:
                yield Judged(figure, claim, claim.judge(self.found[figure.key]))


def run_figures(
    lab: Lab,
    figures: Sequence[Figure],
    setting: Setting,
    progress: Callable[[str, float], None],
) -> Evaluation:
    """Measure all that the figures show."""
    found = {}
    for figure in figures:
        progress(figure.title, 0.0)
        found[figure.key] = figure.run(lab, _reporter(progress, figure.title))
    return Evaluation(setting, found, tuple(figures))


def _reporter(
    progress: Callable[[str, float], None], title: str
) -> Callable[[float], None]:
    return lambda done: progress(title, done)


def data_files(evaluation: Evaluation) -> dict[str, bytes]:
    """Return the numbers and the times: as JSON, and of each figure as CSV.

    What is called numbers is the same on every run; times are not.
    """
    setting = evaluation.setting
    asked: Row = {"table": setting.table, "rows": setting.rows, "seed": setting.seed}
    asked |= {"synthesizer": setting.synthesizer, "epochs": setting.epochs}
    asked |= {"quick": setting.is_quick, "core-mondrian": __version__}
    machine = {
        "cores": setting.cores,
        "threads": setting.threads,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }
    numbers = {f.key: evaluation.found[f.key].numbers for f in evaluation.figures}
    times = {key: one.times for key, one in evaluation.found.items() if one.times}
    files = {
        "numbers.json": _json(
            {
                "asked": asked,
                "figures": numbers,
                "claims": _claims(evaluation, timed=False),
            }
        ),
        "times.json": _json(
            {
                "asked": asked,
                "machine": machine,
                "figures": times,
                "claims": _claims(evaluation, timed=True),
            }
        ),
    }
    for figure in evaluation.figures:
        one = evaluation.found[figure.key]
        files[f"{figure.name}-numbers.csv"] = _csv(one.numbers)
        if one.times:
            files[f"{figure.name}-times.csv"] = _csv(one.times)
    return files


def picture_files(evaluation: Evaluation) -> dict[str, bytes]:
    """Return each figure's picture, as SVG and as PNG."""
    files = {}
    for figure in evaluation.figures:
        spec = figure.draw(evaluation.found[figure.key]).to_dict(validate=False)
        for kind in (".svg", ".png"):
            files[f"{PICTURES}/{figure.name}{kind}"] = convert(spec, kind)
    return files


def _claims(evaluation: Evaluation, *, timed: bool) -> list[Row]:
    return [
        {
            "figure": one.figure.key,
            "says": one.claim.says,
            "state": one.verdict.state,
            "measured": one.verdict.measured,
            "because": one.verdict.because,
        }
        for one in evaluation.judged()
        if one.claim.is_timed == timed
    ]


def _json(content: Mapping[str, Any]) -> bytes:
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def _csv(rows: Sequence[Row]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, [*rows[0]], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()
