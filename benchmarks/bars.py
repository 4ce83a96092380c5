"""What policy `best` has to reach on Adult, and what others reach; see best.py."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from benchmarks.lines import Line
from benchmarks.markdown import (
    cells,
    rule,
    write_loss,
    write_millions,
    write_seconds,
)


class Case(NamedTuple):
    """What is asked of Adult; fields of a line."""

    columns: str
    """A set of quasi-identifiers, by name."""
    format: str
    k: int
    policy: str
    effort: str
    disjoint: bool = False


Found = dict[Case, Line]


def case_of(line: Line) -> Case:
    return Case(*(line[name] for name in Case._fields))


_LOSS = {
    ("6", "flat"): 0.0210,
    ("6", "tax"): 0.0156,
    ("6", "set"): 0.0055,
    ("8", "flat"): 0.0301,
    ("8", "tax"): 0.0261,
    ("8", "set"): 0.0146,
    ("10", "flat"): 0.0644,
    ("10", "tax"): 0.0516,
    ("10", "set"): 0.0246,
}
"""Most that the default may lose at k = 5, in four digits."""
_RECORDS = {
    ("6", "flat"): 0.0200,
    ("6", "tax"): 0.0149,
    ("6", "set"): 0.0051,
    ("8", "flat"): 0.0288,
    ("8", "tax"): 0.0249,
    ("8", "set"): 0.0137,
    ("10", "flat"): 0.0610,
    ("10", "tax"): 0.0490,
    ("10", "set"): 0.0230,
}
"""Most that `max` may lose at k = 5, in four digits."""
_SECONDS = {"6": 1.0, "8": 3.0, "10": 5.0}
"""CPU seconds that it may take, by columns."""
_DM = {"6": 1_146_000, "8": 435_000, "10": 340_000}
_LOCAL_RECODING = {
    2: 0.0100,
    5: 0.0205,
    10: 0.0331,
    25: 0.0550,
    50: 0.0781,
    100: 0.1067,
}
"""What ARX loses on 6 columns in format tax; the default has to stay below."""
_BELOW_ORIGINAL = 0.25
_EITHER_SIDE = {5: 0.0047, 50: 0.0259, 200: 0.0618}
"""What a Mondrian loses on 4 numbers that may cut on either side of a tied median, as
policy `original` does not. Measured elsewhere; it is the one worth beating."""
_NUMERIC_KS = (5, 50, 200)


def _default(columns: str, format_: str, k: int) -> Case:
    return Case(columns, format_, k, "best", "auto")


def _longest(columns: str, format_: str) -> Case:
    return Case(columns, format_, 5, "best", "max")


def _original(k: int) -> Case:
    return Case("numeric", "flat", k, "original", "")


BARRED = (
    *(_default(columns, format_, 5) for columns, format_ in _LOSS),
    *(_longest(columns, format_) for columns, format_ in _RECORDS),
    *(_default("6", "tax", k) for k in _LOCAL_RECODING),
    *(_default("numeric", "flat", k) for k in _NUMERIC_KS),
    *(_original(k) for k in _NUMERIC_KS),
)
"""The cases that the bars are about."""


def find_missed(found: Found) -> list[str]:
    """Say which bars are missed; a case that was not run misses its bar."""
    absent = [case for case in BARRED if case not in found]
    if absent:
        return [f"not run: {case}" for case in absent]
    return [f"missed: {words}" for words, holds in _bars(found) if not holds]


def _bars(found: Found) -> Iterator[tuple[str, bool]]:
    for (columns, format_), most in _LOSS.items():
        line = found[_default(columns, format_, 5)]
        name = f"{columns} columns, {format_}, k = 5"
        loss, dm = round(line["loss"], 4), line["dm"]
        yield f"{name}: loss {loss}, at most {most}", loss <= most
        yield f"{name}: DM {dm}, at most {_DM[columns]}", dm <= _DM[columns]
        seconds, longest = line["cpu_seconds"], _SECONDS[columns]
        yield f"{name}: {seconds} s, at most {longest}", seconds <= longest
    for (columns, format_), most in _RECORDS.items():
        loss = round(found[_longest(columns, format_)]["loss"], 4)
        name = f"{columns} columns, {format_}, k = 5, max"
        yield f"{name}: loss {loss}, at most {most}", loss <= most
    for k, most in _LOCAL_RECODING.items():
        loss = found[_default("6", "tax", k)]["loss"]
        yield f"6 columns, tax, k = {k}: loss {loss}, below {most}", loss < most
    for k in _NUMERIC_KS:
        loss = found[_default("numeric", "flat", k)]["loss"]
        most = min(found[_original(k)]["loss"], _EITHER_SIDE[k])
        most *= 1.0 - _BELOW_ORIGINAL
        yield f"numeric, k = {k}: loss {loss}, at most {most:.5f}", loss <= most
    for case, line in found.items():
        if case.policy == "best":
            clean = line["suppressed"] == line["violations"] == 0
            yield f"{case}: rows suppressed or in classes below k", clean


class Peer(NamedTuple):
    """What another tool reaches at k = 5; None: not measured."""

    tool: str
    columns: str
    flat: float | None
    tax: float | None
    set: float | None
    dm: str
    suppressed: int
    cpu: str


PEERS = (
    Peer("ARX 3.9.2, local recoding", "6", 0.0277, 0.0205, 0.0113, "1.15m", 0, "1.1"),
    Peer("project-lighthouse 1.0.0", "6", 0.045, None, 0.043, "22.0m", 427, "41"),
    Peer("mosaicrown, local", "6", 0.061, None, 0.011, "1.54m", 0, "60"),
    Peer("anonypy 0.2.1", "6", 0.126, None, 0.012, "1.56m", 0, "62"),
    Peer("ai-privacy-toolkit 0.2.1", "6", 0.269, None, 0.124, "13.6m", 0, "76"),
    Peer("ARX 3.9.2, global recoding", "6", 0.34, 0.204, None, "100m", 918, ".4"),
    Peer("polarfrost 0.2.1", "6", 0.585, None, 0.218, "9.0m", 0, "207"),
    Peer("no release can lose less than", "6", 0.0181, None, 0.0040, "-", 0, "-"),
    Peer("ARX 3.9.2, local recoding", "8", 0.0697, 0.0413, 0.0280, ".436m", 0, "23"),
    Peer("project-lighthouse 1.0.0", "8", 0.060, None, None, "23.7m", 476, "60"),
)
"""Measured elsewhere, on the same table with the same yardstick."""
_OURS = (
    ("best, auto (default)", "best", "auto", False),
    ("best, fast", "best", "fast", False),
    ("best, light", "best", "light", False),
    ("best, strong", "best", "strong", False),
    ("best, thorough", "best", "thorough", False),
    ("best, max", "best", "max", False),
    ("best, fast, disjoint", "best", "fast", True),
    ("best, strong, disjoint", "best", "strong", True),
    ("best, max, disjoint", "best", "max", True),
    ("paper", "paper", "", False),
    ("original", "original", "", False),
)
_FORMATS = ("flat", "tax", "set")


def write_tables(found: Found) -> str:
    """Return what was found as Markdown, next to the peers."""
    tables = [_table_of_efforts(found, columns) for columns in ("6", "8", "10")]
    return "\n\n".join([*tables, _table_by_k(found), _table_of_numbers(found)])


def _table_of_efforts(found: Found, columns: str) -> str:
    title = f"{columns} columns, k = 5"
    head = f"| {title} | flat | tax | set | DM | suppressed | CPU s |"
    rows = [head, rule(7)]
    for name, policy, effort, disjoint in _OURS:
        cases = [Case(columns, f, 5, policy, effort, disjoint) for f in _FORMATS]
        lines = [found.get(case) for case in cases]
        if any(lines):
            rows.append(_row(name, lines))
    for peer in PEERS:
        if peer.columns == columns:
            losses = [_as_given(x) for x in (peer.flat, peer.tax, peer.set)]
            rest = (peer.dm, str(peer.suppressed), peer.cpu)
            rows.append(cells(f"{peer.tool} †", *losses, *rest))
    return "\n".join(rows)


def _row(name: str, lines: list[Line | None]) -> str:
    losses = [_loss_of(line) for line in lines]
    known = [line for line in lines if line is not None]
    dm = _span([line["dm"] for line in known], write_millions)
    lost = _span([line["suppressed"] for line in known], str)
    seconds = _span([line["cpu_seconds"] for line in known], write_seconds)
    return cells(name, *losses, dm, lost, seconds)


def _table_by_k(found: Found) -> str:
    ks = (2, 5, 10, 25, 50, 100)
    rows = [cells("6 columns, tax", *(f"k = {k}" for k in ks)), rule(7)]
    for effort in ("auto", "fast", "light", "strong", "thorough", "max"):
        lines = [found.get(Case("6", "tax", k, "best", effort)) for k in ks]
        rows.append(cells(f"best, {effort}", *(_loss_of(line) for line in lines)))
    arx = [write_loss(_LOCAL_RECODING[k]) for k in ks]
    rows.append(cells("ARX, local recoding †", *arx))
    return "\n".join(rows)


def _table_of_numbers(found: Found) -> str:
    rows = [cells("4 numbers", *(f"k = {k}" for k in _NUMERIC_KS), "CPU s"), rule(5)]
    for name, policy, effort, disjoint in _OURS:
        cases = [
            Case("numeric", "flat", k, policy, effort, disjoint) for k in _NUMERIC_KS
        ]
        lines = [found.get(case) for case in cases]
        known = [line for line in lines if line is not None]
        if known:
            seconds = _span([line["cpu_seconds"] for line in known], write_seconds)
            losses = [_loss_of(line) for line in lines]
            rows.append(cells(name, *losses, seconds))
    losses = [write_loss(_EITHER_SIDE[k]) for k in _NUMERIC_KS]
    rows.append(cells("original, either side of a tie †", *losses, "-"))
    return "\n".join(rows)


def _loss_of(line: Line | None) -> str:
    return write_loss(None if line is None else line["loss"])


def _as_given(value: float | None) -> str:
    """Return a figure of others with the digits they gave."""
    return "-" if value is None else str(value).removeprefix("0")


def _span(values: list[Any], write: Any) -> str:
    """Return the least and the largest of some values, or the one they share."""
    least, most = write(min(values)), write(max(values))
    return str(least) if least == most else f"{least} to {most}"
