"""core-mondrian minimality: what a reader who knows the algorithm infers."""

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

import typer

from core_mondrian.cli.options import AsJson, model_tables
from core_mondrian.cli.reply import Reply
from core_mondrian.cli.requests import command
from core_mondrian.cli.summary import echo
from core_mondrian.errors import InfeasibleError, SpecError
from core_mondrian.runtime.progress import show_progress
from core_mondrian.spec.metadata import PROTECTION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from core_mondrian.analysis.minimality import Minimality, Reader
    from core_mondrian.analysis.small_domains import Domain, Prior, Procedure
    from core_mondrian.spec.declaration import Spec
    from core_mondrian.spec.policies import Policy

_MODELS: Final = (
    "distinct-l-diversity l=2",
    "entropy-l-diversity l=1.8",
    "recursive-cl-diversity c=4 l=2",
    "t-closeness t=0.25",
)
_PROCEDURES: Final = (
    *("best", "best-strong", "best-disjoint", "paper", "original"),
    *("verify-after", "raise-k"),
)
_TITLES: Final = (
    *("tables", "loss"),
    *("certain", "broken", "above", "most", "guessed", "linked"),
    *("certain", "broken", "above", "most", "guessed"),
    "undone",
)
_WIDTHS: Final = (8, 6, 9, 7, 6, 6, 11, 7, 9, 7, 6, 6, 11, 8)
_NAME: Final = max(map(len, _PROCEDURES))
_LEGEND: Final = """\
in percent; who knows the quasi-identifiers of (all) people, of (one), or of nobody
tables      tables that can be released
loss        mean width of the released ranges
certain     people whose value is certain, although the rows that they fit have several
broken      people of whom the reader believes what no class may show
above       people with a value that is likelier than in every class that they fit
most        the largest probability of anybody's value
guessed     people whose value is guessed right, at face value > with the algorithm
linked      people with a row that is theirs with a probability above 1/k
undone      generalized rows whose original is certain"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainOptions:
    """Tables that there could be."""

    PANEL: ClassVar = "Tables"
    rows: Annotated[
        int, typer.Option("--rows", metavar="N", help="People in a table.")
    ] = 6
    sizes: Annotated[
        list[int] | None,
        typer.Option(
            "--size",
            metavar="N",
            help="Values of a quasi-identifier. Repeat for more. [default: 4]",
        ),
    ] = None
    values: Annotated[
        int, typer.Option("--values", metavar="N", help="Sensitive values.")
    ] = 2
    with_missing: Annotated[
        bool, typer.Option("--with-missing", help="Quasi-identifiers may be missing.")
    ] = False
    prior: Annotated[
        str,
        typer.Option(
            "--prior",
            metavar="people|profiles",
            help="Equally likely: tables of people, or sets of quasi-identifiers.",
        ),
    ] = "people"

    def domain(self) -> "Domain":
        """Return the tables that are asked for."""
        from core_mondrian.analysis.small_domains import Domain
        from core_mondrian.spec.declaration import check_choice

        check_choice("prior", self.prior, ("people", "profiles"))
        prior: Prior = "people" if self.prior == "people" else "profiles"
        sizes = tuple(self.sizes or [4])
        return Domain(self.rows, sizes, self.values, self.with_missing, prior)


@dataclass(frozen=True, slots=True, kw_only=True)
class MinimalityRequest:
    """What `minimality` is asked."""

    PANEL: ClassVar = PROTECTION
    tables: DomainOptions
    k: Annotated[
        int, typer.Option("--k", "-k", metavar="K", help="Rows a class needs.")
    ] = 2
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="'NAME KEY=VALUE …'",
            help="A model beside K. Repeat for more. [default: five, K alone first]",
        ),
    ] = None
    procedures: Annotated[
        list[str] | None,
        typer.Option(
            "--procedure",
            metavar="NAME",
            help=f"One of {', '.join(_PROCEDURES)}. Repeat for more. [default: all]",
        ),
    ] = None
    as_json: AsJson = False

    def chosen(self) -> list[str]:
        """Return the procedures that are asked for."""
        from core_mondrian.spec.declaration import check_choice

        for name in self.procedures or []:
            check_choice("procedure", name, _PROCEDURES)
        return self.procedures or list(_PROCEDURES)


@command(MinimalityRequest)
def show_minimality(request: MinimalityRequest) -> None:
    """Measure what a reader who knows the algorithm infers from where it cut.

    Every table of a small domain is released; tables with the same release are what
    the reader cannot distinguish. The figures are exact.
    """
    names, domain = request.chosen(), request.tables.domain()
    by_column = list(_measure(domain, request.k, request.models, names))

    def plain() -> object:
        lines = [{"name": name, **one.to_json()} for name, one in by_column]
        return {"format": 1, "lines": lines}

    reply = Reply(plain, partial(_show, domain, by_column))
    reply.print(as_json=request.as_json)


def _measure(
    domain: "Domain", k: int, models: list[str] | None, names: list[str]
) -> "Iterator[tuple[str, Minimality]]":
    """Yield a line per model and procedure."""
    from core_mondrian.analysis.minimality import measure_minimality

    specs = list(_specs(domain, k, models))
    runs = [
        (name, policy, procedure, spec)
        for spec in specs
        for name, (policy, procedure) in _chosen(names).items()
        if spec.sensitive or procedure == "models"
    ]
    if not runs:
        raise SpecError(
            "there is nothing to verify after K alone", hint="name a model as well"
        )
    with show_progress() as progress:
        for i, (name, policy, procedure, spec) in enumerate(runs):
            report = _reporter(progress, i, len(runs))
            asked = replace(spec, policy=policy)
            try:
                minimality = measure_minimality(
                    domain, asked, procedure=procedure, report=report
                )
            except InfeasibleError as error:
                if len(runs) == 1:
                    raise
                echo(f"none        {name}, {spec.models[-1].name}: {error.message}")
            else:
                yield name, minimality


def _reporter(
    progress: "Callable[[str, float], None] | None", i: int, n: int
) -> "Callable[[float], None]":
    if progress is None:
        return lambda _: None
    return lambda done: progress("releasing all tables", (i + done) / n)


def _specs(domain: "Domain", k: int, texts: list[str] | None) -> "Iterator[Spec]":
    """Yield K alone, unless models are asked for, and K with each model."""
    from core_mondrian.analysis.small_domains import SENSITIVE
    from core_mondrian.spec.declaration import spec_from_mapping

    columns = list(domain.quasi_identifiers)
    if texts is None:
        yield spec_from_mapping({"quasi_identifiers": columns, "k": k})
    for model in model_tables(list(texts or _MODELS), SENSITIVE) or []:
        yield spec_from_mapping(
            {"quasi_identifiers": columns, "k": k, "models": [model]}
        )


def _chosen(names: list[str]) -> "dict[str, tuple[Policy, Procedure]]":
    from core_mondrian.spec.policies import BestPolicy, OriginalPolicy, PaperPolicy

    known: dict[str, tuple[Policy, Procedure]] = {
        "best": (BestPolicy("fast"), "models"),
        "best-strong": (BestPolicy("strong"), "models"),
        "best-disjoint": (BestPolicy(disjoint=True), "models"),
        "paper": (PaperPolicy(), "models"),
        "original": (OriginalPolicy(), "models"),
        "verify-after": (BestPolicy(disjoint=True), "verify after"),
        "raise-k": (BestPolicy(disjoint=True), "raise k"),
    }
    return {name: known[name] for name in names}


def _show(domain: "Domain", by_column: "list[tuple[str, Minimality]]") -> None:
    """Print the table, and say on stderr how to read it."""
    columns = " and ".join(str(size) for size in domain.sizes)
    missing = " or missing" if domain.missing else ""
    typer.echo(
        f"{domain.n_tables:,} tables: {domain.rows} people, quasi-identifiers of "
        f"{columns}{missing}, {domain.values} sensitive values"
    )
    groups = ["", "", "(all)", *[""] * 5, "(one)", *[""] * 4, "(none)"]
    typer.echo(_line("", groups))
    typer.echo(_line("", _TITLES))
    last = None
    for name, one in by_column:
        models = ", ".join(model.name for model in one.spec.models)
        if models != last:
            typer.echo(models)
        last = models
        typer.echo(_line(name, _cells(one)))
    echo(_LEGEND)


def _line(name: str, cells: "Sequence[str]") -> str:
    texts = [f"{cell:>{n}}" for cell, n in zip(cells, _WIDTHS, strict=True)]
    return f"  {name:{_NAME}}{''.join(texts)}".rstrip()


def _cells(one: "Minimality") -> list[str]:
    tables = _percent(one.n_released / one.domain.n_tables)
    linked = _percent(one.everyone.linkage.above)
    undone = _percent(one.downcoding.certain)
    return [
        *(tables, _percent(one.loss)),
        *(*_inferred(one.everyone), linked),
        *(*_inferred(one.target), undone),
    ]


def _inferred(reader: "Reader") -> list[str]:
    values = reader.values
    if values is None:
        return ["-"] * 5
    shares = (values.certain, values.broken, values.above, values.highest)
    guessed = values.guessed_at_face_value, values.guessed
    return [*map(_percent, shares), ">".join(map(_percent, guessed))]


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"
