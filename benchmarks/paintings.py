"""Draw the pictures of the docs, into docs/pictures/.

One table is painted as several policies cut it, and what the commands `advise` and
`compare` draw.

    python -m benchmarks.paintings [--check]

The tables are made up (`census`), so the pictures are the same wherever they are made;
--check writes nothing and leaves with 1 if a picture is not what stands there.
"""

import argparse

from benchmarks.cases import ROOT
from benchmarks.lines import emit, say

FOLDER = ROOT / "docs" / "pictures"
ROWS = 3_000
K = 40
COLUMNS = ("age", "hours_per_week")
# The example of docs/choosing-k.md.
ADVISED_ROWS = 5_000
ADVISED_COLUMNS = ("age", "sex", "occupation", "native_country")
ADVISED_K = (2, 5, 10, 20, 50, 100)
# That of docs/good-enough.md.
COMPARED_COLUMNS = ("age", "sex", "marital_status", "hours_per_week")
COMPARED_K = 25


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the pictures of the docs.")
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    outdated = []
    drawn = {"advise": trade_off(), "compare": comparison()}
    for name, picture in {**paintings(), **drawn}.items():
        path = FOLDER / f"{name}.svg"
        if asked.check:
            if not path.exists() or path.read_text(encoding="utf-8") != picture:
                outdated.append(path.name)
        else:
            FOLDER.mkdir(exist_ok=True)
            path.write_text(picture, encoding="utf-8")
    for file in outdated:
        say(f"outdated: {file}")
    raise SystemExit(1 if outdated else 0)


def paintings() -> dict[str, str]:
    """Return the pictures by name; what each policy lost goes to stdout."""
    from core_mondrian import KAnonymity, OriginalPolicy, PaperPolicy, Spec, anonymize
    from core_mondrian.datasets import census
    from core_mondrian.report.partition_plot import paint
    from core_mondrian.spec.policies import BestPolicy, Policy

    policies: dict[str, Policy] = {
        "original": OriginalPolicy(),
        "paper": PaperPolicy(),
        "best-disjoint": BestPolicy(disjoint=True),
        "best-fast": BestPolicy(),
        "best-strong": BestPolicy(effort="strong"),
    }
    table = census(ROWS)
    pictures = {}
    for name, policy in policies.items():
        spec = Spec(COLUMNS, models=(KAnonymity(K),), policy=policy)
        release = anonymize(table, spec)
        found = release.measures()
        words = name.replace("-", ", ")
        title = (
            f"{words}: {found.n_classes} classes lose {100 * (found.loss or 0):.2f} %"
        )
        pictures[name] = paint(release, *COLUMNS, title=title)
        emit(
            {
                "benchmark": "paintings",
                "policy": words,
                "rows": ROWS,
                "k": K,
                "classes": found.n_classes,
                "suppressed": found.n_suppressed,
                "loss": round(found.loss or 0.0, 5),
            }
        )
    return pictures


def trade_off() -> str:
    """Return what `core-mondrian advise` draws."""
    from core_mondrian import KAnonymity, Spec
    from core_mondrian.analysis.advise import sweep
    from core_mondrian.datasets import census
    from core_mondrian.report.charts import draw_trade_off, render

    spec = Spec(ADVISED_COLUMNS, models=(KAnonymity(ADVISED_K[0]),))
    found = sweep(census(ADVISED_ROWS), spec, {"k": ADVISED_K})
    return render(draw_trade_off(found), ".svg").decode()


def comparison() -> str:
    """Return what `core-mondrian compare` draws."""
    from core_mondrian import KAnonymity, Spec, anonymize
    from core_mondrian.analysis.analyst_statistics import Question, compare
    from core_mondrian.datasets import census
    from core_mondrian.report.charts import draw_comparison, render

    people = census(ADVISED_ROWS)
    spec = Spec(COMPARED_COLUMNS, models=(KAnonymity(COMPARED_K),))
    asked = [
        Question("means", "income", ("sex", "marital_status")),
        Question("linear", "hours_per_week", ("age", "sex")),
    ]
    found = compare(people, anonymize(people, spec).data, spec, asked)
    return render(draw_comparison(found), ".svg").decode()


if __name__ == "__main__":
    main()
