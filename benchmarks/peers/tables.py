"""What the lines of a run say, as Markdown."""

from typing import Any

from benchmarks.markdown import cells, rule, write_loss, write_millions, write_seconds

Line = dict[str, Any]
_HEAD = (
    *("tool", "CPU s", "of it the call", "peak MB", "classes", "suppressed"),
    *("DM", "DM without penalty", "NCP flat", "NCP set"),
)


def write_tables(lines: list[Line]) -> str:
    """Return one table a case, then that of the hostile tables."""
    runs = [line for line in lines if line["benchmark"] == "peers"]
    traps = [line for line in lines if line["benchmark"] == "peers_hostile"]
    titles = list(dict.fromkeys(_title(line) for line in runs))
    tables = [
        _table([line for line in runs if _title(line) == title], title)
        for title in titles
    ]
    return "\n\n".join(tables + ([_traps(traps)] if traps else []))


def _title(line: Line) -> str:
    return f"{line['case_title']}, {line['rows']:,} rows, k = {line['k']}"


def _table(lines: list[Line], title: str) -> str:
    has_tax = any(line.get("has_trees") for line in lines)
    head = [*_HEAD, *(["NCP tax"] if has_tax else []), "what is wrong"]
    rows = [cells(*head), rule(len(head))]
    rows += [_row(line, has_tax=has_tax) for line in lines]
    return "\n".join([f"**{title}**", "", *rows])


def _row(line: Line, *, has_tax: bool) -> str:
    name = line["tool"]
    if line["missing"] == "filled":
        name += " ‡"
    kinds = ("ncp_flat", "ncp_set", *(["ncp_tax"] if has_tax else []))
    seconds = [line.get(key) for key in ("cpu_seconds", "call_cpu_seconds")]
    figures = [
        *("-" if s is None else write_seconds(s) for s in seconds),
        _whole(line.get("peak_mb")),
        _whole(line.get("classes")),
        _whole(line.get("suppressed")),
        *(_dm(line.get(key)) for key in ("dm", "dm_released")),
        *(write_loss(line.get(kind)) for kind in kinds),
    ]
    return cells(name, *figures, "; ".join(line["wrong"]) or "nothing")


def _whole(value: float | None) -> str:
    return "-" if value is None else f"{round(value):,}"


def _dm(value: int | None) -> str:
    return "-" if value is None else write_millions(value)


def _traps(lines: list[Line]) -> str:
    tools = list(dict.fromkeys(line["tool"] for line in lines))
    found = {(line["case"], line["tool"]): line["words"] for line in lines}
    cases = list(dict.fromkeys(line["case"] for line in lines))
    rows = [cells("hostile table", *tools), rule(len(tools) + 1)]
    rows += [
        cells(case, *(found.get((case, tool), "-") for tool in tools)) for case in cases
    ]
    return "\n".join(rows)
