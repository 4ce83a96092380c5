"""Figures and survivors; and survivors that are explained."""

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.markdown import cells, rule
from benchmarks.mutants.operators import Mutant

_EXPLAINED = Path(__file__).with_name("explained.toml")
Key = tuple[str, str, str, str]


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


def write_report(lines: Sequence[dict[str, Any]], explained: Mapping[Key, str]) -> str:
    """Return the figures by file and the survivors as Markdown.

    Raises:
        SystemExit: a mutant is explained that a test notices.
    """
    head, mutants = lines[0], [line for line in lines if "operator" in line]
    noticed = [m for m in mutants if m["killed_by"] and _key(m) in explained]
    if noticed:
        words = "\n".join("  ".join(_key(m)) for m in noticed)
        raise SystemExit(f"explained, but a test notices it:\n{words}")
    parts = (_figures(mutants, explained), _survivors(mutants, explained))
    text = "\n\n".join("\n".join(part) for part in parts)
    if head["n_run"] < head["n_mutants"]:
        text = f"{head['n_run']} of {head['n_mutants']} mutants were run.\n\n{text}"
    return text


def _key(line: Mapping[str, Any]) -> Key:
    return line["file"], line["function"], line["operator"], line["text"]


def _figures(
    mutants: Sequence[Mapping[str, Any]], explained: Mapping[Key, str]
) -> Iterator[str]:
    titles = ("module", "mutants", "killed", "explained", "unexplained", "killed, %")
    yield cells(*titles)
    yield rule(len(titles))
    for file in dict.fromkeys(line["file"] for line in mutants):
        yield _figure(file, [m for m in mutants if m["file"] == file], explained)
    yield _figure("all", mutants, explained)


def _figure(
    name: str, mutants: Sequence[Mapping[str, Any]], explained: Mapping[Key, str]
) -> str:
    killed = sum(bool(line["killed_by"]) for line in mutants)
    known = sum(_key(m) in explained for m in mutants)
    left = len(mutants) - killed - known
    share = f"{100 * killed / len(mutants):.1f}" if mutants else "-"
    return cells(name, *map(str, (len(mutants), killed, known, left)), share)


def _survivors(
    mutants: Sequence[Mapping[str, Any]], explained: Mapping[Key, str]
) -> Iterator[str]:
    left = [line for line in mutants if not line["killed_by"]]
    reasons: dict[tuple[str, str], list[str]] = {}
    for line in left:
        place = f"`{line['file']}` {line['function']}"
        reason = explained.get(_key(line), "**not explained**")
        reasons.setdefault((place, reason), []).append(line["text"])
    for (place, reason), texts in reasons.items():
        yield f"* {place}: {reason}"
        yield from (f"  * `{text}`" for text in texts)


def counted_by_operator(mutants: Sequence[Mapping[str, Any]]) -> Counter[str]:
    return Counter(line["operator"] for line in mutants)
