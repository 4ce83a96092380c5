"""What attackers get out of releases of Adult.

    python -m benchmarks.attacks > LINES
    python -m benchmarks.attacks --lines LINES --markdown    the table of the docs
    python -m benchmarks.attacks --lines LINES --update PAGE  put it into the page
    python -m benchmarks.attacks --together       two releases, as a reader of both

One JSON line per release. The attacker knows the six quasi-identifiers of everybody,
exactly, and is after the income.
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.cases import ADULT_6, adult_folder
from benchmarks.lines import Line, facts, gather, say, source_digest
from benchmarks.markdown import cells, rule, update_page, write_loss

_INCOME = "sensitive=income"
_CAREFUL = {"nice": True, "shuffle": 7}
RELEASES: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "k = 5, policy `paper`": (("k-anonymity k=5",), {"policy": "paper"}),
    "k = 5": (("k-anonymity k=5",), {}),
    "k = 25": (("k-anonymity k=25",), {}),
    "k = 5, `nice`, `shuffle`": (("k-anonymity k=5",), _CAREFUL),
    "k = 5, l = 2, `nice`, `shuffle`": (
        ("k-anonymity k=5", f"distinct-l-diversity l=2 {_INCOME}"),
        _CAREFUL,
    ),
    "k = 5, t = 0.2, `nice`, `shuffle`": (
        ("k-anonymity k=5", f"t-closeness t=0.2 {_INCOME}"),
        _CAREFUL,
    ),
}
SECOND = ("age", "race", "sex", "hours-per-week")
"""The quasi-identifiers of another release of the same people."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Attacks on releases of Adult.")
    parser.add_argument("--lines", type=Path, help="what an earlier run printed")
    parser.add_argument("--markdown", action="store_true", help="print the table")
    parser.add_argument("--update", type=Path, metavar="PAGE", help="a page with marks")
    parser.add_argument("--together", action="store_true", help="two at once")
    asked = parser.parse_args()
    if asked.together:
        for line in _together():
            print(json.dumps(line), flush=True)
        return
    lines = gather(asked, _run())
    table = "\n".join(write_table(lines))
    if asked.markdown:
        print(table)
    if asked.update:
        update_page(asked.update, {"attacks": table})


def _run() -> Iterator[Line]:
    source_digest()  # before the package is loaded
    folder = adult_folder()
    if folder is None:
        raise SystemExit(2)
    from core_mondrian import KAnonymity, Spec, anonymize
    from core_mondrian.datasets import adult

    table = adult(folder)
    other = Spec(SECOND, (KAnonymity(5),))
    second = anonymize(table, other).data
    for name in RELEASES:
        say(name)
        yield _attack(table, name, (second, other))


def _together() -> Iterator[Line]:
    """Attack two independent releases of Adult together, kept in order and shuffled."""
    source_digest()  # before the package is loaded
    folder = adult_folder()
    if folder is None:
        raise SystemExit(2)
    from core_mondrian import KAnonymity, Spec, anonymize, attack_together
    from core_mondrian.datasets import adult

    table = adult(folder)
    others = [x for x in table.column_names if x not in (*ADULT_6, *SECOND, "income")]
    for name, seeds, removed in (
        ("in order", (None, None), ()),
        ("shuffled", (7, 8), ()),
        ("shuffled, income and quasi-identifiers alone", (7, 8), others),
    ):
        releases = {}
        for names, seed in zip((ADULT_6, SECOND), seeds, strict=True):
            gone = [x for x in (*ADULT_6, *SECOND) if x not in names] if removed else []
            spec = Spec(
                names,
                (KAnonymity(5),),
                identifiers=(*removed, *dict.fromkeys(gone)),
                shuffle=seed,
            )
            label = f"{len(names)} quasi-identifiers"
            releases[label] = anonymize(table, spec).data, spec
        since = time.process_time()
        found = attack_together(releases, table, sensitive=["income"])
        yield {
            "benchmark": "attacks together",
            **facts(),
            "case": name,
            "cpu_seconds": round(time.process_time() - since, 3),
            **found.to_json(),
        }


def _attack(table: Any, name: str, also: tuple[Any, Any]) -> Line:
    from core_mondrian import Spec, anonymize, attack
    from core_mondrian.models.load import model_from_mapping, parse_model
    from core_mondrian.spec.policies import POLICIES

    models, how = RELEASES[name]
    how = how | {"policy": POLICIES[how.get("policy", "best")]()}
    asked = tuple(model_from_mapping(parse_model(text)) for text in models)
    spec = Spec(ADULT_6, asked, **how)
    release = anonymize(table, spec)
    since = time.process_time()
    found = attack(release.data, table, spec, sensitive=["income"], also=also)
    return {
        "benchmark": "attacks",
        **facts(),
        "case": "adult_6",
        "release": name,
        "loss": release.measures().loss,
        "digest": release.digest,
        "cpu_seconds": round(time.process_time() - since, 3),
        **found.to_json(),
    }


def write_table(lines: list[Line]) -> Iterator[str]:
    """Yield the table of the page: one line per release."""
    titles = (
        *("release", "loss", "linked above 1/k", "income certain"),
        *("certain once one value is ruled out", "belief doubled"),
        *("membership: advantage", "exact bounds", "cells given away"),
        *("rows in order", "two releases"),
    )
    yield cells(*titles)
    yield rule(len(titles))
    for line in lines:
        found = {one["name"]: one["numbers"] for one in reversed(line["attacks"])}
        member, order = found["membership"], found["row order"]
        told = found["downcoding"]
        yield cells(
            line["release"],
            write_loss(line["loss"]),
            f"{100 * line['linked']:.1f} %",
            *(
                f"{found[name][what]:,}"
                for name, what in (
                    ("homogeneity", "certain"),
                    ("background", "certain"),
                    ("skewness", "raised"),
                )
            ),
            f"{member['advantage']:.2f}",
            f"{found['reconstruction']['exposed']:,}",
            f"{told['certain']:,} of {told['cells']:,}",
            f"{100 * order['in_order']:.0f} %",
            f"{found['intersection']['fewer']:,}",
        )


if __name__ == "__main__":
    main()
