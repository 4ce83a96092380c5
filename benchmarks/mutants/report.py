"""Figures and survivors; and survivors that are explained."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.markdown import cells, rule
from benchmarks.mutants.operators import Mutant

_EXPLAINED = Path(__file__).with_name("explained.toml")
Key = tuple[str, str, str, str]
Line = Mapping[str, Any]
LEAST_KILLED = 0.95


def read_explained() -> dict[Key, str]:
    """Return why each mutant that survives may do so."""
    whole = tomllib.loads(_EXPLAINED.read_text(encoding="utf-8"))
    return {
        (one["file"], one.get("function", ""), change[0], change[1]): one["because"]
        for one in whole.get("survivor", [])
        for change in one["changes"]
    }


def check_explained(explained: Mapping[Key, str], mutants: Sequence[Mutant]) -> None:
    """Refuse explanations of mutants that there are not (any more)."""
    stale = sorted(explained.keys() - {mutant.key for mutant in mutants})
    if stale:
        words = "\n".join("  ".join(key) for key in stale)
        raise SystemExit(f"explained, but there is no such mutant:\n{words}")


def check_results(lines: Sequence[Line], explained: Mapping[Key, str]) -> None:
    """Refuse too many survivors, and what is explained wrongly or not at all.

    Raises:
        SystemExit: with what is wrong.
    """
    mutants = [line for line in lines if "operator" in line]
    left = [line for line in mutants if not line["killed_by"]]
    noticed = [m for m in mutants if m["killed_by"] and key_of(m) in explained]
    faults = [f"a test notices what is explained: {_told(m)}" for m in noticed]
    unknown = [line for line in left if key_of(line) not in explained]
    faults += [f"survives unexplained: {_told(line)}" for line in unknown]
    if len(mutants) - len(left) < LEAST_KILLED * len(mutants):
        faults.append(f"{len(left)} of {len(mutants)} mutants survive")
    if faults:
        raise SystemExit("\n".join(faults))


def write_report(
    lines: Sequence[Line], explained: Mapping[Key, str], present: Mapping[str, int]
) -> dict[str, str]:
    """Return the figures by module, and the survivors, as Markdown.

    ``present`` has how many mutants each module has, whether they were run or not.
    """
    mutants = [line for line in lines if "operator" in line]
    figures = "\n".join(_figures(mutants, explained, present))
    survivors = "\n".join(_survivors(mutants, explained))
    return {"mutants: figures": figures, "mutants: survivors": survivors}


def key_of(line: Line) -> Key:
    """Return which mutant a result is of."""
    return line["file"], line["function"], line["operator"], line["text"]


def _figures(
    mutants: Sequence[Line], explained: Mapping[Key, str], present: Mapping[str, int]
) -> Iterator[str]:
    titles = ("mutants", "run", "killed", "explained", "unexplained", "killed, %")
    yield cells("module", *titles)
    yield rule(len(titles) + 1)
    files = [file for file in present if any(m["file"] == file for m in mutants)]
    for file in files:
        some = [m for m in mutants if m["file"] == file]
        yield _figure(file, present[file], some, explained)
    yield _figure("all", sum(present[file] for file in files), mutants, explained)


def _figure(
    name: str, n: int, mutants: Sequence[Line], explained: Mapping[Key, str]
) -> str:
    killed = sum(bool(line["killed_by"]) for line in mutants)
    known = sum(key_of(m) in explained for m in mutants)
    left = len(mutants) - killed - known
    share = f"{100 * killed / len(mutants):.1f}"
    return cells(name, *map(str, (n, len(mutants), killed, known, left)), share)


def _survivors(mutants: Sequence[Line], explained: Mapping[Key, str]) -> Iterator[str]:
    left = [line for line in mutants if not line["killed_by"]]
    reasons: dict[tuple[str, str], list[str]] = {}
    for line in left:
        place = f"`{line['file']}` {line['function']}"
        reason = explained.get(key_of(line), "**not explained**")
        reasons.setdefault((place, reason), []).append(line["text"])
    for (place, reason), texts in reasons.items():
        yield f"* {place}: {reason}"
        yield from (f"  * `{text}`" for text in texts)


def _told(line: Line) -> str:
    return f"{line['file']}:{line['line']} {line['function']}: {line['text']}"
