"""The report as one page: all in one file, no scripts, the same bytes every time."""

import base64
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from core_mondrian.engine.funnel_counts import STAGES
from core_mondrian.errors import drops_context
from core_mondrian.release.report_file import (
    Audience,
    Subject,
    check_painting,
    require_report,
)
from core_mondrian.release.result import AnyRelease
from core_mondrian.report import wording
from core_mondrian.report.facts import Facts, collect_facts
from core_mondrian.report.partition_plot import Painter
from core_mondrian.report.pictures import (
    draw_bins,
    draw_crowds,
    draw_shares,
    draw_sizes,
)
from core_mondrian.report.plain import DASH, between, manifest_text, writable
from core_mondrian.report.public import PublicFacts
from core_mondrian.report.sample import released_table, sample_rows
from core_mondrian.runtime.plain_values import JsonMapping, JsonObject

_MOST_CHARTS = 24
_MOST_BOXES = 300
_MOST_OTHERS = 9
"""Pairs of columns that are painted next to the first one, with fewer boxes."""
_OTHER_BOXES = 120
_MOST_PAIRS = 8
_MOST_RELATIONS = 10
_PAINTING_WIDTH = 720
_SUPPRESSED = {
    "drop": "left out",
    "blank": "kept without a value in any quasi-identifier",
    "separate": "left out, and returned separately",
}


@drops_context
def report_html(
    release: AnyRelease,
    *,
    timings: bool = False,
    painting: tuple[str, str] | None = None,
    audience: Audience = "owner",
    of: Subject = Subject(),  # noqa: B008  # a constant
) -> str:
    """Return the report of a release as HTML.

    ``of`` names the table and the day, which no release knows.
    ``timings`` adds what each stage took, which differs from run to run.
    ``painting`` names the two columns that are painted; else those cut most often.
    For ``audience="readers"`` it holds what they can compute anyway, and no more.

    Raises:
        SpecError: a column of the painting is not a quasi-identifier, or the extra
            `report` is not installed.
    """
    require_report("a report")
    if audience == "readers":
        return write_public_page(PublicFacts.of_release(release), of)
    facts = collect_facts(release)
    manifest = manifest_text(facts.manifest)
    people = "persons" if facts.counts_persons else "rows"
    crowds = wording.crowd_rows(facts)
    most = facts.columns[:_MOST_CHARTS]
    page: str = _template("report.html.j2").render(
        facts=facts,
        spec=release.spec,
        roles=wording.role_texts(release.spec, release.carried),
        useless=wording.lost_categories(facts.columns, release.spec),
        style=_resource("report.css"),
        verdict=wording.verdict_of(facts),
        warnings_line=wording.warnings_text(facts),
        of=of,
        of_line=wording.subject_text(of, facts.manifest["versions"]),
        sample=sample_rows(released_table(release)),
        figures=wording.key_figures(facts),
        risks=wording.risk_rows(facts),
        people=people,
        crowds=crowds,
        crowd_chart=draw_crowds(
            [(row["name"], *row["shares"]) for row in crowds], people
        ),
        hit=wording.hit_rows(facts),
        least=max(facts.k, 2),
        suppressed_how=_SUPPRESSED[release.spec.suppressed],
        uniqueness=_choose_unique(facts),
        steps=[_describe_steps(column) for column in facts.columns],
        charts={i: draw_bins(column) for i, column in enumerate(most) if column.bins},
        sizes=draw_sizes(facts.sizes) if facts.sizes else "",
        relations=_choose_relations(facts),
        stages=STAGES,
        kinds=wording.KINDS,
        funnel_heads=[(stage, True) for stage in STAGES],
        funnel_chart=draw_shares(
            wording.funnel_shares(facts),
            "Cuts of all columns left after each stage; the table has the figures",
        ),
        paintings=_paint(release, facts, painting),
        spent=release.spent if timings else {},
        versions=facts.manifest["versions"],
        manifest={"text": manifest, "data": _encode(manifest)},
    )
    return page


def write_public_page(facts: PublicFacts, of: Subject) -> str:
    """Return the report for readers of a release as HTML.

    Raises:
        SpecError: the extra `report` is not installed.
    """
    require_report("a report")
    values = {"style": _resource("report.css"), "of": of, **facts.page_values(of)}
    page: str = _template("public.html.j2").render(**values)
    return page


@cache
def _template(name: str) -> Any:  # noqa: ANN401  # a template of Jinja
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "n": wording.whole,
        "between": between,
        "count": wording.count,
        "percent": wording.percent,
        "of": wording.part_of,
        "number": wording.number,
        "fixed": wording.fixed,
        "width": wording.width,
        "short": wording.short,
        "shown": writable,
    }
    return environment.from_string(_resource(name))


def _resource(name: str) -> str:
    return (files("core_mondrian.report") / "templates" / name).read_text("utf-8")


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _choose_unique(facts: Facts) -> dict[str, list[Any]]:
    """Return the rows of the table of uniqueness: what is told first, and the rest."""
    everything = len(facts.columns)
    sets = facts.uniqueness
    whole = [one for one in sets if len(one.columns) == everything > 1]
    parts = [one for one in sets if len(one.columns) < max(everything, 2)]
    single = [one for one in parts if len(one.columns) == 1]
    pairs = [one for one in parts if len(one.columns) == 2]
    larger = [one for one in parts if len(one.columns) > 2]
    pairs.sort(key=lambda one: (-one.unique_before, -one.small_before))
    first = [*single, *pairs[:_MOST_PAIRS], *larger, *whole]
    return {"first": first, "rest": pairs[_MOST_PAIRS:]}


def _choose_relations(facts: Facts) -> dict[str, list[Any]]:
    """Return the strongest relations, the rest, and those of numbers."""
    relations = [one for one in facts.relations if one.before is not None]
    relations.sort(key=lambda one: -(one.before or 0.0))
    numbers = [one for one in facts.relations if one.r_before is not None]
    numbers.sort(key=lambda one: -abs(one.r_before or 0.0))
    return {
        "first": relations[:_MOST_RELATIONS],
        "rest": relations[_MOST_RELATIONS:],
        "numbers": numbers[:_MOST_RELATIONS],
    }


def _describe_steps(column: Any) -> JsonObject:  # noqa: ANN401  # of any kind
    """Return how far a column was generalized, as words and as parts of a bar."""
    exact, *rest = column.steps
    gone = ("blank", "missing, as it was", "suppressed")
    parts = [("b0", exact.share)]
    parts.append(("b1", sum(step.share for step in rest if step.text not in gone)))
    parts.append(("b2", sum(step.share for step in rest if step.text in gone)))
    words = "; ".join(f"{wording.percent(step.share)} {step.text}" for step in rest)
    return {
        "name": column.name,
        "exact": exact.share,
        "words": words or DASH,
        "parts": [part for part in parts if part[1]],
    }


def _paint(
    release: AnyRelease, facts: Facts, asked: Sequence[str] | None
) -> list[JsonMapping]:
    """Return paintings of pairs of columns, the chosen one first.

    None: there are not two columns, or no class.
    """
    names = release.spec.quasi_identifiers
    if asked is not None:
        check_painting(asked, names)
    if len(names) < 2 or not facts.sizes:
        return []
    pairs = release.funnel.pairs()
    first = pairs[0] if asked is None else tuple(asked)
    others = [two for two in pairs if set(two) != set(first)]
    painter = Painter(release)
    return [
        _hang(painter, facts, first, _MOST_BOXES),
        *(_hang(painter, facts, two, _OTHER_BOXES) for two in others[:_MOST_OTHERS]),
    ]


def _hang(
    painter: Painter, facts: Facts, pair: Sequence[str], most: int
) -> JsonMapping:
    """Return one painting, and what is said of it."""
    x, y = pair
    n = facts.measures["n_classes"]
    picture = painter.paint(x, y, width=_PAINTING_WIDTH, title="", most=most)
    n_boxes = min(n, most)
    return {
        "data": _encode(picture),
        "width": _PAINTING_WIDTH,
        "height": int(0.8 * _PAINTING_WIDTH),
        "x": x,
        "y": y,
        "words": f"{wording.count(n_boxes, 'class')} as boxes over {x} and {y}",
        "n_boxes": n_boxes,
        "n_classes": n,
        "is_part": n > n_boxes,
    }
