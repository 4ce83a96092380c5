"""Two runs against each other: what was asked differently, and what came of it."""

import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from core_mondrian.models import MODELS
from core_mondrian.release.release_tree import SizeBin, size_bins
from core_mondrian.report.plain import between
from core_mondrian.report.wording import part_of, percent
from core_mondrian.runtime.plain_values import JsonMapping
from core_mondrian.studio.actions import Run
from core_mondrian.studio.draft import ROLES, toml_value

DEFAULT: Final = "as by default"
_MOST_SETTINGS: Final = 50
_NAMES: Final = {kind: name for name, kind in MODELS.items()}


class Pair(NamedTuple):
    """One thing, and what two runs say of it."""

    name: str
    first: str
    second: str
    shares: tuple[float | None, float | None] = (None, None)
    """What bars below show."""


@dataclass(frozen=True, slots=True)
class RunDiff:
    """Two runs, as tables."""

    settings: tuple[Pair, ...]
    """Lines of the specs that differ."""
    n_more: int
    """Such lines that are not told."""
    figures: tuple[Pair, ...]
    losses: tuple[Pair, ...]
    """Of every column that one of them generalized."""
    sizes: tuple[Pair, ...]


def compare_runs(first: Run, second: Run) -> RunDiff:
    """Compare two runs of one table."""
    settings = list(differing(first.toml, second.toml))
    names = dict.fromkeys((*_losses(first), *_losses(second)))
    return RunDiff(
        settings=tuple(settings[:_MOST_SETTINGS]),
        n_more=len(settings[_MOST_SETTINGS:]),
        figures=tuple(_figures(first, second)),
        losses=tuple(
            Pair(
                name,
                _loss_text(first, name),
                _loss_text(second, name),
                (_losses(first).get(name), _losses(second).get(name)),
            )
            for name in names
        ),
        sizes=tuple(
            Pair(
                _size(*two),
                _size_text(first, two[0]),
                _size_text(second, two[1]),
                _shares(first, second, two),
            )
            for two in _bins(first, second)
        ),
    )


def differing(first: str, second: str) -> Iterator[Pair]:
    """Yield the settings in which two spec files differ, a line each.

    Of lists that do not hold the same, what only one of them holds is told.
    """
    one, other = (dict(_settings(tomllib.loads(text))) for text in (first, second))
    for name in dict.fromkeys((*one, *other)):
        old, new = one.get(name), other.get(name)
        if old == new:
            continue
        if _is_list(old) and _is_list(new) and _as_set(old) != _as_set(new):
            yield from _differing_items(name, old or [], new or [])
        else:
            yield Pair(name, _value_text(old), _value_text(new))


def _settings(asked: JsonMapping, above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all that a spec file sets, tables in it by the path to each value."""
    for key, value in asked.items():
        name = f"{above}{key}"
        if name == "models":
            yield from _models(value)
        elif isinstance(value, Mapping):
            yield from _settings(value, f"{name}.")
        else:
            yield name, value


def _models(models: Sequence[JsonMapping]) -> Iterator[tuple[str, str]]:
    by_model: dict[str, list[str]] = {}
    for model in models:
        rest = {k: v for k, v in model.items() if k not in ("name", "sensitive")}
        about = f" for {model['sensitive']}" if "sensitive" in model else ""
        words = ", ".join(
            f"{key} = {_value_text(value)}" for key, value in rest.items()
        )
        by_model.setdefault(f"{model['name']}{about}", []).append(words or "asked for")
    for name, several in by_model.items():
        yield name, "; ".join(several)


def _is_list(value: object) -> bool:
    """Tell whether a value is a list of texts, or is not set."""
    if value is None:
        return True
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _as_set(value: list[str] | None) -> set[str]:
    return set(value or [])


def _differing_items(name: str, old: list[str], new: list[str]) -> Iterator[Pair]:
    for item in dict.fromkeys((*old, *new)):
        has = item in old, item in new
        if has[0] != has[1]:
            was, now = ("yes" if one else "no" for one in has)
            yield Pair(f"{name}: {item}", was, now)


def _value_text(value: object) -> str:
    if value is None:
        return DEFAULT
    return value if isinstance(value, str) else toml_value(value)


def _figures(first: Run, second: Run) -> Iterator[Pair]:
    by_run: list[dict[str, str]] = [{}, {}]
    for figures, run in zip(by_run, (first, second), strict=True):
        for name, words in _figures_of(run):  # of two models of one kind both are told
            figures[name] = f"{figures[name]}; {words}" if name in figures else words
    for name in dict.fromkeys((*by_run[0], *by_run[1])):
        was, now = (one.get(name, "not asked for") for one in by_run)
        yield Pair(name, was, now)


def _figures_of(run: Run) -> Iterator[tuple[str, str]]:
    release, risk = run.release, run.risk
    n = release.n_rows
    yield "rows released", part_of(n - release.n_suppressed, n)
    yield "rows left out", part_of(release.n_suppressed, n)
    yield "groups that look alike", f"{risk.n_groups:,}"
    smallest = "none" if risk.smallest is None else f"{risk.smallest:,} {run.people}"
    yield "smallest group", smallest
    yield "highest risk", percent(risk.highest)
    yield "average risk", percent(risk.average)
    results = release.verification.models
    for model, result in zip(release.spec.models, results, strict=True):
        about = "" if model.column is None else f" for {model.column}"
        reached = f"{result.reached:.4g}" if math.isfinite(result.reached) else "any"
        kind = _NAMES.get(type(model), type(model).__name__)  # or one of the user's own
        yield f"{kind}{about}", f"{result.name}: reached {reached}"
    yield "lost in all", percent(release.measures().loss)


def _losses(run: Run) -> dict[str, float | None]:
    return {column.name: column.ncp for column in run.release.measures().columns}


def _loss_text(run: Run, name: str) -> str:
    """Return what a column lost, or what else it was in this run."""
    losses = _losses(run)
    if name not in losses:
        role = ROLES[run.draft.roles[name]]
        return f"not generalized: {role}"
    loss = losses[name]
    return "undefined" if loss is None else percent(loss)


def _bins(first: Run, second: Run) -> list[tuple[SizeBin | None, SizeBin | None]]:
    """Return the sizes of both, from the smallest class of either on."""
    sizes = [run.release.class_sizes for run in (first, second)]
    least = int(np.concatenate(sizes).min(initial=np.iinfo(np.int64).max))
    bins = [{one.low: one for one in size_bins(each, least)} for each in sizes]
    return [
        (bins[0].get(low), bins[1].get(low)) for low in sorted({**bins[0], **bins[1]})
    ]


def _size(first: SizeBin | None, second: SizeBin | None) -> str:
    known = first or second
    return "" if known is None else between(known.low, known.high)


def _shares(
    first: Run, second: Run, two: tuple[SizeBin | None, SizeBin | None]
) -> tuple[float, float]:
    old, new = (
        0.0 if one is None else one.n_rows / max(_n_released(run), 1)
        for run, one in zip((first, second), two, strict=True)
    )
    return old, new


def _size_text(run: Run, bin_: SizeBin | None) -> str:
    if bin_ is None or not bin_.n_classes:
        return "none"
    share = percent(bin_.n_rows / max(_n_released(run), 1))
    return f"{bin_.n_classes:,} with {share} of the rows"


def _n_released(run: Run) -> int:
    return run.release.n_rows - run.release.n_suppressed
