"""Compare two files of benchmark lines; fail when something got slower or different.

    python -m benchmarks.compare OLD.jsonl NEW.jsonl [--limit 10]

Leaves with 1 if a case takes over 10 % more CPU or a digest differs, that of the
release or that of the tree; with 2 if the files have no case in common.
"""

import argparse
from math import nan
from pathlib import Path

from benchmarks.lines import Line, read_lines, say

Key = tuple[str, ...]
_DIGESTS = ("digest", "tree_digest")
_KEYS = (
    *("benchmark", "case", "format", "policy", "effort", "disjoint"),
    *("model", "k", "threads", "state"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare benchmark lines.")
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--limit", type=float, default=10.0, help="percent of CPU")
    asked = parser.parse_args()
    old, new = _read(asked.old), _read(asked.new)
    both = [key for key in old if key in new]
    for key in sorted(set(old) ^ set(new)):
        say(f"only in the {'old' if key in old else 'new'} file: {' '.join(key)}")
    if not both:
        say("the files have no case in common")
        raise SystemExit(2)
    _print_table(old, new, both)
    bad = [trouble for key in both for trouble in _troubles(old[key], new[key], asked)]
    for trouble in bad:
        say(trouble)
    raise SystemExit(1 if bad else 0)


def _read(path: Path) -> dict[Key, Line]:
    timed = [line for line in read_lines(path) if "cpu_seconds" in line]
    return {_key(line): line for line in timed}


def _key(line: Line) -> Key:
    return tuple(str(line[name]) for name in _KEYS if name in line)


def _troubles(old: Line, new: Line, asked: argparse.Namespace) -> list[str]:
    name = " ".join(_key(new))
    found = []
    percent = 100.0 * (_ratio(old, new, "cpu_seconds") - 1.0)
    if percent > asked.limit:
        found.append(f"slower: {name}: {percent:+.1f} % CPU")
    found += [f"different: {name}: {digest}" for digest in _changed(old, new)]
    return found


def _changed(old: Line, new: Line) -> list[str]:
    return [name for name in _DIGESTS if old.get(name) != new.get(name)]


def _ratio(old: Line, new: Line, name: str) -> float:
    before, after = float(old.get(name) or 0.0), float(new.get(name) or 0.0)
    if before == 0.0:
        return 1.0 if after == 0.0 else float("inf")
    return after / before


def _print_table(old: dict[Key, Line], new: dict[Key, Line], both: list[Key]) -> None:
    titles = ("cpu", "wall", "peak", *_stages(old, new, both))
    width = max(len(" ".join(key)) for key in both)
    print(" " * width, *(f"{title:>9}" for title in titles), "   digest")
    for key in both:
        a, b = old[key], new[key]
        ratios = [
            _ratio(a, b, name) for name in ("cpu_seconds", "wall_seconds", "peak_mb")
        ]
        parts = (a.get("stage_cpu_seconds", {}), b.get("stage_cpu_seconds", {}))
        ratios += [
            _ratio(*parts, stage) if all(stage in part for part in parts) else nan
            for stage in titles[3:]
        ]
        same = "DIFFERS" if _changed(a, b) else "same"
        cells = " ".join(f"{ratio:9.3f}" for ratio in ratios)
        print(f"{' '.join(key):<{width}} {cells}    {same}")


def _stages(old: dict[Key, Line], new: dict[Key, Line], both: list[Key]) -> list[str]:
    lines = [lines[key] for key in both for lines in (old, new)]
    named = (stage for line in lines for stage in line.get("stage_cpu_seconds", {}))
    return list(dict.fromkeys(named))


if __name__ == "__main__":
    main()
