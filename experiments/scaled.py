"""How much the larger tables are like the one they were made of."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from statistics import fmean
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.report.charts import Chart, legend, styled
from core_mondrian.tables.hashing import draw, row_words
from core_mondrian.verification.counting import Coded, code_column, combine, compress
from experiments.drawing import (
    BLUE,
    VERMILLION,
    beside,
    draw_scatter,
    log_axis,
)
from experiments.figure import Figure, Found, Report, Row, pick
from experiments.lab import SIX, Lab

Codes: TypeAlias = NDArray[np.int64]

_KINDS: Final = {1: "column", 2: "pair"}


def _code_both(original: pa.Table, other: pa.Table) -> dict[str, Coded]:
    """Return the codes of each column, those of the original's rows first."""
    both = pa.concat_tables([original, other])
    return {name: compress(code_column(both[name])) for name in both.schema.names}


def distance(keys: Coded, n_original: int, resampled: Codes) -> tuple[float, float]:
    """Return the total variation distance to the other rows, and that of noise.

    It is the largest share of rows that any set of values gains or loses. Noise is
    what a sample of the original with as many rows, drawn with repetition, gives.
    """
    original = keys.codes[:n_original]
    samples = (original, keys.codes[n_original:], original[resampled])
    shares = [np.bincount(one, minlength=keys.n_codes) / one.size for one in samples]
    gaps = [float(np.abs(shares[0] - one).sum()) / 2 for one in shares[1:]]
    return gaps[0], gaps[1]


def resample(n_original: int, n_rows: int) -> Codes:
    """Return rows of the original, drawn with repetition."""
    words = draw(row_words(np.arange(n_rows, dtype=np.uint64), seed=0), 1)
    half = np.uint64(32)
    drawn = ((words >> half) * np.uint64(n_original)) >> half
    return drawn.astype(np.int64)


def compare(original: pa.Table, other: pa.Table, factor: int) -> Iterator[Row]:
    """Yield the distances of every column and every pair, then the combinations."""
    coded, n = _code_both(original, other), original.num_rows
    resampled = resample(n, other.num_rows)
    for size, kind in _KINDS.items():
        for names in combinations(coded, size):
            keys = compress(combine([coded[name] for name in names]))
            found, floor = distance(keys, n, resampled)
            yield _row(kind, names, factor, distance=found, floor=floor)
    keys = compress(combine([coded[name] for name in SIX]))
    known = np.bincount(keys.codes[:n], minlength=keys.n_codes) > 0
    made = keys.codes[n:]
    yield _row(
        *("combination", SIX, factor),
        distinct=int(np.unique(made).size),
        new_share=1.0 - float(known[made].mean()),
    )


def _row(kind: str, names: Sequence[str], factor: int, **values: float) -> Row:
    empty = dict.fromkeys(("distance", "floor", "distinct", "new_share"))
    named = {"kind": kind, "columns": " ".join(names), "factor": factor}
    return named | empty | values


def _run(lab: Lab, report: Report) -> Found:
    rows: list[Row] = []
    for done, factor in enumerate(lab.plan.factors):
        table = lab.table(factor)
        if factor == 1:
            keys = compress(combine([code_column(table[name]) for name in SIX]))
            rows.append(
                _row("combination", SIX, 1, distinct=keys.n_codes, new_share=0.0)
            )
        else:
            rows += compare(lab.base, table, factor)
        report((done + 1) / len(lab.plan.factors))
    return Found(tuple(rows))


def _tabulate(found: Found) -> list[Row]:
    """Return a line for each size."""
    lines = []
    for one in pick(found.numbers, kind="combination"):
        line: Row = {
            "size": f"x{one['factor']}",
            "distinct 6-tuples": f"{one['distinct']:,}",
            "rows with a new 6-tuple": f"{one['new_share']:.1%}",
        }
        for kind in _KINDS.values():
            rows = pick(found.numbers, kind=kind, factor=one["factor"])
            line[f"TVD of a {kind}: mean, max"] = _mean_and_most(rows, "distance")
            line[f"noise alone, {kind}"] = _mean_and_most(rows, "floor")
        lines.append(line)
    return lines


def _mean_and_most(rows: Sequence[Row], name: str) -> str:
    values = [row[name] for row in rows]
    return f"{fmean(values):.4f}, {max(values):.4f}" if values else "-"


def _draw(found: Found) -> Chart:
    import altair as alt

    known = [row for row in found.numbers if row["distance"] and row["floor"]]
    factors = sorted({row["factor"] for row in known})
    ends = sorted({*factors[:1], *factors[-1:]})
    shown = [row for row in known if row["factor"] in ends]
    values = [row[name] for row in shown for name in ("distance", "floor")] or [1.0]
    x = log_axis("floor", "distance that noise alone gives", values, "~g")
    y = replace(x, field="distance", title="distance of the synthetic table")
    colours = alt.Scale(domain=[*_KINDS.values()], range=[BLUE, VERMILLION])
    shapes = alt.Scale(domain=[*_KINDS.values()], range=["circle", "diamond"])
    panels = []
    for factor in ends:
        kept = [
            {name: row[name] for name in ("kind", "distance", "floor")}
            for row in pick(shown, factor=factor)
        ]
        panels.append(
            draw_scatter(
                *(kept, x, y),
                colour=alt.Color("kind:N", scale=colours, legend=legend()),
                shape=alt.Shape("kind:N", scale=shapes, legend=legend()),
                title=f"x{factor}",
            )
        )
    notes = ["total variation distance to the original; on the line: as good as noise"]
    return styled(beside(*panels), "How like the original the larger tables are", notes)


FIGURE = Figure(
    "data",
    "Scaled data",
    "Total variation distance (TVD) of every column and of every pair of columns "
    "between the original and the synthetic table: the largest share of rows that any "
    "set of values gains or loses. For comparison, the effect of noise alone: the same "
    "distance for as many rows of the original, drawn with repetition. A 6-tuple is "
    "what the 6 columns of figure 10 show of a row; it is new if no row of the "
    "original has it.",
    _run,
    _draw,
    tabulate=_tabulate,
)
