"""Which privacy models are measured on Adult, and what they have to reach."""

from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.lines import Line
from benchmarks.markdown import cells

K = "k-anonymity k=5"
DISTINCT = "distinct-l-diversity l=2 sensitive=income"
CLOSE = "t-closeness t=0.2 sensitive=income"
OWN = "own_model.py:Closeness t=0.2 sensitive=income"
PERSONS = "k-anonymity k=5, unit person"


class Case(NamedTuple):
    """What is asked of Adult, beside 5-anonymity."""

    model: str
    """As --model has it."""
    effort: str = "fast"

    @property
    def models(self) -> tuple[str, ...]:
        return (K,) if self.model == K else (K, self.model)


CASES = (
    Case(K),
    Case("maximum-risk risk=0.1"),
    Case("average-risk risk=0.05"),
    Case(DISTINCT),
    Case("p-sensitive-k-anonymity p=2 k=5 sensitive=income"),
    Case("alpha-k-anonymity alpha=0.9 k=5 sensitive=income"),
    Case("recursive-cl-diversity c=5 l=2 sensitive=income"),
    Case("entropy-l-diversity l=1.5 sensitive=income"),
    Case("beta-likeness beta=1 sensitive=income"),
    Case("beta-likeness beta=1 sensitive=income kind=enhanced"),
    Case("delta-disclosure delta=1 sensitive=income"),
    Case(CLOSE),
    Case(OWN),
    Case("t-closeness t=0.1 sensitive=hours-per-week distance=ordered"),
    Case(
        "t-closeness t=0.3 sensitive=education distance=hierarchical"
        " hierarchy=education.csv"
    ),
    Case("distinct-l-diversity l=3 sensitive=education"),
    Case(K, "strong"),
    Case(DISTINCT, "strong"),
    Case(CLOSE, "strong"),
)

_LOSS = {DISTINCT: 0.136, CLOSE: 0.20}
"""Most that may be lost, in format tax, at either effort."""
_TIMES = {DISTINCT: 3.0, CLOSE: 3.0, PERSONS: 4.0}
"""Most CPU at effort fast, where 5-anonymity alone takes 1."""
_OWN_TIMES = 1.2
"""Most CPU of the user's own model, where ours takes 1."""
_COMPILE_SECONDS = 5.0
_LEAST_PERSONS = 5


def find_missed(lines: list[Line]) -> list[str]:
    """Say which bars are missed; a case that was not run misses its bar."""
    try:
        return [f"missed: {words}" for words, holds in _bars(lines) if not holds]
    except LookupError:
        return ["not run: some of the cases with a bar"]


def _bars(lines: list[Line]) -> Iterator[tuple[str, bool]]:
    judged = {
        (line["model"], line["effort"]): line
        for line in lines
        if line["benchmark"] in ("models", "persons")
        and line["case"].startswith("adult")
    }
    for model, most in _LOSS.items():
        for effort in ("fast", "strong"):
            line = judged[model, effort]
            name, loss = f"{model}, {effort}", line["loss"]
            yield f"{name}: loss {loss}, at most {most}", loss <= most
            yield f"{name}: rows suppressed", line["suppressed"] == 0
    for model, most in _TIMES.items():
        times = judged[model, "fast"]["times_k_alone"]
        yield f"{model}: {times} times the CPU of k, at most {most}", times <= most
    own, ours = judged[OWN, "fast"], judged[CLOSE, "fast"]
    times = own["times_ours"]
    yield f"own model: {times} times ours, at most {_OWN_TIMES}", times <= _OWN_TIMES
    yield "own model: another release than ours", own["digest"] == ours["digest"]
    for line in _of(lines, "persons"):
        least = line["least_persons"]
        yield f"{line['case']}: {least} persons in a class", least >= _LEAST_PERSONS
    for line in _of(lines, "compile"):
        seconds = line["cpu_seconds"]
        name = f"{line['model']}: compiled in {seconds} s"
        yield f"{name}, below {_COMPILE_SECONDS}", seconds < _COMPILE_SECONDS


def _of(lines: list[Line], benchmark: str) -> list[Line]:
    found = [line for line in lines if line["benchmark"] == benchmark]
    if not found:
        raise LookupError
    return found


def write_tables(lines: list[Line]) -> str:
    """Return what was found as Markdown."""
    rows = [cells("5-anonymity and", "effort", "loss", "classes", "CPU s", "times k")]
    rows.append("|" + "---|" * 6)
    for line in lines:
        if line["benchmark"] in ("models", "persons"):
            name = f"`{line['model']}`"
            if line["case"] != "adult_6":
                name += f" ({line['case']})"
            rows.append(
                cells(
                    *(name, line["effort"], _short(line["loss"], 4)),
                    *(f"{line['classes']:,}", _short(line["cpu_seconds"], 2)),
                    f"{line['times_k_alone']:.1f}",
                )
            )
    rows += ["", cells("first use in a process of", "CPU s"), "|---|---|"]
    for line in lines:
        if line["benchmark"] == "compile":
            name = f"`{line['model'].split()[0]}`"
            rows.append(cells(name, _short(line["cpu_seconds"], 2)))
    return "\n".join(rows)


def _short(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".removeprefix("0")
