"""What analysts find in releases of Adult, next to the original.

    python -m benchmarks.statistics [--sets 6 8 10] [--ks 5 25 100] > LINES
    python -m benchmarks.statistics --lines LINES --markdown  tables of the docs

One JSON line per case. Sets of 6 and 8 quasi-identifiers are those of the paper; that
of 10 has race among them. Means and regressions are those of a release of all rows; the
classifier's release is made of 70 % of them, and the other rows test it.
"""

import argparse
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.cases import ADULT_6, ADULT_8, ADULT_10, adult_folder
from benchmarks.lines import Line, facts, gather, say, source_digest

SETS = {"6": ADULT_6, "8": ADULT_8, "10": ADULT_10}
FORMATS: dict[str, dict[str, Any]] = {
    "paper": {"policy": "paper"},
    "best": {"policy": "best"},
    "best, means and sets": {"policy": "best", "numbers": "mean", "categories": "set"},
}
"""What is released: ranges and labels, unless it says otherwise."""
_ASKED: tuple[tuple[Any, str, tuple[str, ...]], ...] = (
    ("means", "income", ("sex", "race")),
    ("means", "income", ("occupation",)),
    ("means", "hours-per-week", ("sex", "marital-status")),
    ("linear", "hours-per-week", ("age", "sex")),
    ("logistic", "income", ("age", "sex", "marital-status", "hours-per-week")),
)


def main() -> None:
    asked = _arguments()
    lines = gather(asked, _run(asked))
    if asked.markdown:
        print(write_tables(lines))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Statistics before and after.")
    parser.add_argument("--lines", type=Path, help="what an earlier run printed")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=[*SETS])
    parser.add_argument("--ks", nargs="+", type=int, default=[5, 25, 100], metavar="K")
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=[*FORMATS])
    parser.add_argument("--markdown", action="store_true", help="print tables")
    return parser.parse_args()


def _run(asked: argparse.Namespace) -> Iterator[Line]:
    source_digest()  # before the package is loaded
    folder = adult_folder()
    if folder is None:
        raise SystemExit(2)
    from core_mondrian.datasets import adult

    table = adult(folder)
    for columns, format_, k in product(asked.sets, asked.formats, asked.ks):
        say(f"{columns} columns, {format_}, k = {k}")
        yield _measure(table, columns, format_, k)


def _measure(table: Any, columns: str, format_: str, k: int) -> Line:
    from core_mondrian import KAnonymity, Spec, anonymize
    from core_mondrian.analysis.analyst_statistics import Question, compare, evaluate
    from core_mondrian.spec.policies import POLICIES

    since = time.process_time()
    how = FORMATS[format_]
    how = how | {"policy": POLICIES[how["policy"]]()}
    spec = Spec(SETS[columns], (KAnonymity(k),), **how)
    release = anonymize(table, spec)
    released = time.process_time()
    asked = [Question(*one) for one in _ASKED]
    found = compare(table, release.data, spec, asked)
    compared = time.process_time()
    learnt = evaluate(table, spec, [Question("classifier", "income")])
    answers = [*found.answers, *learnt.answers]
    return {
        "benchmark": "statistics",
        **facts(),
        "case": f"adult_{columns}",
        "columns": columns,
        "format": format_,
        "k": k,
        "n_suppressed": release.n_suppressed,
        "loss": release.measures().loss,
        "digest": release.digest,
        "anonymize_cpu_seconds": round(released - since, 3),
        "compare_cpu_seconds": round(compared - released, 3),
        "questions": [answer.to_json() for answer in answers],
    }


def write_tables(lines: list[Line]) -> str:
    """Return the tables of the page as Markdown."""
    widest = [line for line in lines if line["columns"] == "10"]
    plain = [line for line in widest if "," not in line["format"]]
    tables = _groups(plain), _means(lines), _fits(lines)
    return "\n\n".join("\n".join(table) for table in tables)


def _groups(lines: list[Line]) -> Iterator[str]:
    """Yield the share of high incomes by sex and race."""
    titles = [f"{line['format']}, k = {line['k']}" for line in lines]
    yield f"| group | rows | original | {' | '.join(titles)} |"
    yield f"|---|{'--:|' * (2 + len(lines))}"
    answers = [line["questions"][0] for line in lines]
    found = [{row["name"]: row for row in answer["rows"]} for answer in answers]
    for name in dict.fromkeys(name for rows in found for name in rows):
        own = next(rows[name] for rows in found if name in rows)
        cells = [_percent(rows.get(name, {}).get("after")) for rows in found]
        first = f"{own['n_before']:,} | {_percent(own['before'])}"
        if name == "others":  # not the same groups everywhere
            first = "- | -"
        yield f"| {name} | {first} | {' | '.join(cells)} |"


def _means(lines: list[Line]) -> Iterator[str]:
    """Yield how far means are off, by release."""
    titles = (
        *("columns", "release", "k", "loss", "suppressed"),
        *("income by sex and race", "income by occupation"),
        "hours by sex and marital status",
    )
    yield f"| {' | '.join(titles)} |"
    yield f"|--:|---|{'--:|' * (len(titles) - 2)}"
    for line in lines:
        race, work, hours = line["questions"][:3]
        cells = (
            *(line["columns"], line["format"], line["k"], _percent(line["loss"])),
            *(line["n_suppressed"], _off(race, 100), _off(work, 100), _off(hours, 1)),
        )
        yield f"| {' | '.join(map(str, cells))} |"


def _fits(lines: list[Line]) -> Iterator[str]:
    """Yield how far models are off, by release."""
    titles = (
        *("columns", "release", "k", "hours: overlap, signs", "income: overlap, signs"),
        *("accuracy: original", "release", "guess", "AUC: original", "release"),
    )
    yield f"| {' | '.join(titles)} |"
    yield f"|--:|---|{'--:|' * (len(titles) - 2)}"
    for line in lines:
        linear, logistic, learnt = line["questions"][3:]
        scores = {row["name"]: row for row in learnt["rows"]}
        accuracy, auc = scores["accuracy"], scores["AUC"]
        cells = (
            *(line["columns"], line["format"], line["k"]),
            *(_overlap(linear), _overlap(logistic)),
            *(_percent(accuracy[name]) for name in ("before", "after", "guess")),
            *(f"{auc[name]:.3f}" for name in ("before", "after")),
        )
        yield f"| {' | '.join(map(str, cells))} |"


def _off(answer: Line, scale: int) -> str:
    """Return the average and the largest difference."""
    figures = answer["figures"]
    names = ("average_difference", "largest_difference")
    return ", ".join(f"{scale * figures[name]:.1f}" for name in names)


def _overlap(answer: Line) -> str:
    if answer["score"] is None:
        return "-"
    figures = answer["figures"]
    signs = f"{figures['same_sign']} of {figures['coefficients']}"
    return f"{100 * figures['average_overlap']:.0f} %, {signs}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


if __name__ == "__main__":
    main()
