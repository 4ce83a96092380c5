"""What the lines of a run say, as Markdown."""

from benchmarks.lines import Line
from benchmarks.markdown import cells, rule, write_loss, write_millions, write_seconds

_ALL = (
    *("CPU s", "of it the call", "peak MB", "classes", "suppressed"),
    *("DM", "DM without penalty", "NCP flat", "NCP set"),
)
_KINDS = ("flat", "set", "tax")
_FEW = ("CPU s", "peak MB", "suppressed", "DM", "NCP flat", "NCP set")


def write_tables(lines: list[Line]) -> str:
    """Return one table a case, then that of the hostile tables."""
    runs = [line for line in lines if line["benchmark"] == "peers"]
    traps = [line for line in lines if line["benchmark"] == "peers_hostile"]
    titles = list(dict.fromkeys(_title(line) for line in runs))
    has_tax = any(line["has_trees"] for line in runs)
    columns = (*_ALL, "NCP tax") if has_tax else _ALL
    tables = [
        _table([line for line in runs if _title(line) == title], columns)
        for title in titles
    ]
    return "\n\n".join(tables + ([_traps(traps)] if traps else []))


def write_short(lines: list[Line]) -> str:
    """Return the first case alone, in few columns."""
    runs = [line for line in lines if line["benchmark"] == "peers"]
    first = [line for line in runs if _title(line) == _title(runs[0])]
    return _table(first, _FEW) if first else ""


def _title(line: Line) -> str:
    return f"{line['case_title']}, {line['rows']:,} rows, k = {line['k']}"


def _table(lines: list[Line], columns: tuple[str, ...]) -> str:
    head = [_title(lines[0]), *columns, "what is wrong"]
    return "\n".join(
        [cells(*head), rule(len(head)), *(_row(x, columns) for x in lines)]
    )


def _row(line: Line, columns: tuple[str, ...]) -> str:
    name = line["tool"] + (" ‡" if line["missing"] == "filled" else "")
    known = {
        "CPU s": _seconds(line.get("cpu_seconds")),
        "of it the call": _seconds(line.get("call_cpu_seconds")),
        "peak MB": _whole(line.get("peak_mb")),
        "classes": _whole(line.get("classes")),
        "suppressed": _whole(line.get("suppressed")),
        "DM": _dm(line.get("dm")),
        "DM without penalty": _dm(line.get("dm_released")),
        **{f"NCP {kind}": write_loss(line.get(f"ncp_{kind}")) for kind in _KINDS},
    }
    figures = [known[column] for column in columns]
    return cells(name, *figures, "; ".join(line["wrong"]) or "nothing")


def _seconds(value: float | None) -> str:
    return "-" if value is None else write_seconds(value)


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
