"""What a reader who knows the algorithm infers beyond what a release shows.

all tables ─► their releases ─► tables with the same release ─► beliefs ─► shares
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Final, Literal, TypeAlias

import numpy as np

from core_mondrian.analysis.small_domains import (
    SENSITIVE,
    Domain,
    Outcome,
    Procedure,
    Quasi,
    Report,
    Shown,
    fits,
    release_all,
)
from core_mondrian.errors import InfeasibleError
from core_mondrian.models.base import ClassCounts
from core_mondrian.runtime.plain_values import JsonObject
from core_mondrian.spec.declaration import Spec
from core_mondrian.spec.policies import describe_policy

Knowledge = Literal["everyone", "target"]
"""Whose quasi-identifiers the reader knows: everybody's, or one person's."""
Row: TypeAlias = tuple[Shown, int]
"""What a released row shows, its sensitive value included."""

_NOTHING: Final = Fraction(0)


@dataclass(frozen=True, slots=True)
class ValueInference:
    """What a reader learns about sensitive values, as shares of all people."""

    certain: float
    """Whose value is certain, although the rows that they fit have several."""
    broken: float
    """Of whom the belief, taken as a class, fails a model, although no class does."""
    above: float
    """Of whom some value is likelier than in every class that they fit."""
    guessed: float
    """Whose value is guessed right by who knows the algorithm."""
    guessed_at_face_value: float
    """Whose value is guessed right from the shares in the rows that they fit."""
    highest: float
    """The largest probability of a value of anybody."""


@dataclass(frozen=True, slots=True)
class Linkage:
    """How well a reader finds a person's released row."""

    above: float
    """People with a row that is theirs with a probability above 1/k."""
    highest: float
    """The largest probability that a given row is a given person's."""


@dataclass(frozen=True, slots=True)
class Downcoding:
    """How well generalization is undone by a reader who knows nobody."""

    certain: float
    """Generalized rows whose original quasi-identifiers are certain."""
    guessed: float
    """Those that are guessed right by who knows the algorithm."""
    guessed_at_face_value: float
    """Those that are guessed right by one of the values in range."""


@dataclass(frozen=True, slots=True)
class Reader:
    """What a reader with some knowledge of people infers from a release."""

    values: ValueInference | None
    """None: no model names a sensitive column, and no target does."""
    linkage: Linkage


@dataclass(frozen=True, slots=True)
class Minimality:
    """What a spec lets a reader infer, over all tables of a domain.

    Every labelled table is as likely as any other; tables that cannot be released
    are left out, because nothing of them is published.
    """

    domain: Domain
    spec: Spec
    procedure: Procedure
    n_released: int
    """Tables that can be released."""
    n_releases: int
    """Different releases among them."""
    loss: float
    """Mean width of what is shown, from 0 (exact) to 1 (the whole domain)."""
    everyone: Reader
    target: Reader
    downcoding: Downcoding

    def to_json(self) -> JsonObject:
        """Return plain values."""
        return {
            "domain": asdict(self.domain),
            "models": [model.name for model in self.spec.models],
            "policy": describe_policy(self.spec.policy),
            "procedure": self.procedure,
            "tables": self.domain.n_tables,
            "released": self.n_released,
            "releases": self.n_releases,
            "loss": self.loss,
            "knows_everyone": asdict(self.everyone),
            "knows_target": asdict(self.target),
            "knows_nobody": asdict(self.downcoding),
        }


def measure_minimality(
    domain: Domain,
    spec: Spec,
    *,
    procedure: Procedure = "models",
    report: Report = lambda _: None,
) -> Minimality:
    """Release every table of a domain, and infer from each release what can be.

    The reader knows the spec, the algorithm and the domain, and takes every labelled
    table for equally likely. Without a model or a target that looks at sensitive values
    the domain has none.

    Raises:
        SpecError: the spec does not fit the domain, the procedure or this measurement.
        InfeasibleError: no table of the domain can be released.
    """
    domain = domain if SENSITIVE in spec.columns else replace(domain, values=1)
    spec = replace(spec, numbers="bounds")
    outcomes = release_all(domain, spec, procedure, report)
    if not outcomes:
        raise InfeasibleError(
            f"none of {domain.n_tables:,} tables passes the models",
            hint="add rows, or lower k, l or whatever is asked for",
        )
    return Minimality(
        domain,
        spec,
        procedure,
        n_released=len(outcomes),
        n_releases=len({one.release for one in outcomes}),
        loss=mean_loss(outcomes, domain),
        everyone=infer(outcomes, spec, "everyone"),
        target=infer(outcomes, spec, "target"),
        downcoding=downcode(outcomes, domain),
    )


def infer(outcomes: Iterable[Outcome], spec: Spec, knows: Knowledge) -> Reader:
    """Return what is inferred about people by who knows their quasi-identifiers."""
    persons = [one for view in _views(outcomes, knows) for one in view.persons()]
    n = sum(one.weight for one in persons)
    links = [one.highest_link for one in persons]
    limit = Fraction(1, max(spec.min_rows, 2))
    linkage = Linkage(
        above=_share((one.weight for one in persons if one.highest_link > limit), n),
        highest=float(max(links)),
    )
    if SENSITIVE not in spec.columns:
        return Reader(None, linkage)
    values = ValueInference(
        certain=_share((one.weight for one in persons if one.is_certain), n),
        broken=_share((one.weight for one in persons if one.breaks(spec)), n),
        above=_share((one.weight for one in persons if one.is_above_face_value), n),
        guessed=_share((max(one.values.values()) for one in persons), n),
        guessed_at_face_value=_share((one.hits_at_face_value for one in persons), n),
        highest=float(max(one.highest for one in persons)),
    )
    return Reader(values, linkage)


@dataclass(frozen=True, slots=True)
class _Person:
    """What is believed of people with the same quasi-identifiers, seen alike.

    Beliefs are counts of labelled tables: how often a person in them has a value.
    """

    quasi: Quasi
    release: Mapping[Row, int]
    values: Counter[int]
    rows: Counter[Row]

    @property
    def weight(self) -> int:
        return self.values.total()

    @property
    def highest(self) -> Fraction:
        """The probability of the likeliest value."""
        return Fraction(max(self.values.values()), self.weight)

    @property
    def highest_link(self) -> Fraction:
        """The probability of the likeliest single row to be this person's.

        Rows that show the same are interchangeable.
        """
        return max(
            Fraction(n, self.weight * self.release[row]) for row, n in self.rows.items()
        )

    def fitting(self) -> dict[Shown, Counter[int]]:
        """Return the classes that the person fits, by sensitive value."""
        classes: dict[Shown, Counter[int]] = defaultdict(Counter)
        for (shown, value), n in self.release.items():
            if fits(self.quasi, shown):
                classes[shown][value] += n
        return classes

    @property
    def is_certain(self) -> bool:
        """Return whether only one value is left of those of the fitting rows."""
        return len(self.values) == 1 and len(self.all_fitting()) > 1

    def all_fitting(self) -> Counter[int]:
        """Return the sensitive values of all rows that the person fits."""
        return sum(self.fitting().values(), Counter[int]())

    @property
    def is_above_face_value(self) -> bool:
        """Whether a value is likelier than in every class that the person fits."""
        classes = self.fitting().values()
        return any(
            Fraction(n, self.weight)
            > max(Fraction(one[value], one.total()) for one in classes)
            for value, n in self.values.items()
        )

    @property
    def hits_at_face_value(self) -> Fraction:
        """How often the most frequent value of all fitting rows is the right guess."""
        shares = self.all_fitting()
        best = [value for value, n in shares.items() if n == max(shares.values())]
        return Fraction(sum(self.values[value] for value in best), len(best))

    def breaks(self, spec: Spec) -> bool:
        """Return whether a class with such shares could not be released."""
        whole: Counter[int] = Counter()
        for (_, value), n in self.release.items():
            whole[value] += n
        labels = sorted(whole)
        # Shares count, not sizes: large enough for every model.
        counts = [self.values[value] * spec.min_rows for value in labels]
        belief = ClassCounts(
            rows=np.array([sum(counts)]),
            by_value=np.array([[*counts, 0]]),
            labels=labels,
            whole=np.array([*(whole[value] for value in labels), 0]),
        )
        models = [model for model in spec.models if model.column is not None]
        return not all(model.passes(belief).all() for model in models)


@dataclass(frozen=True, slots=True)
class _View:
    """Tables that a reader cannot tell apart."""

    release: Mapping[Row, int]
    values: dict[Quasi, Counter[int]]
    rows: dict[Quasi, Counter[Row]]

    def persons(self) -> Iterable[_Person]:
        for quasi, values in self.values.items():
            yield _Person(quasi, self.release, values, self.rows[quasi])


def _views(outcomes: Iterable[Outcome], knows: Knowledge) -> Iterable[_View]:
    """Group tables by what the reader sees, and add their beliefs up."""
    views: dict[Hashable, _View] = {}
    for one in outcomes:
        seen = (one.release, one.profiles if knows == "everyone" else None)
        if seen not in views:
            views[seen] = _View(
                dict(one.release), defaultdict(Counter), defaultdict(Counter)
            )
        view = views[seen]
        for ((quasi, value), shown), n in one.flow.items():
            view.values[quasi][value] += one.weight * n
            view.rows[quasi][shown, value] += one.weight * n
    return views.values()


def downcode(outcomes: Iterable[Outcome], domain: Domain) -> Downcoding:
    """Return how often the original of a generalized row is found by its release."""
    beliefs: dict[Hashable, Counter[Quasi]] = defaultdict(Counter)
    n_fitting: dict[Hashable, int] = {}
    for one in outcomes:
        for ((quasi, value), shown), n in one.flow.items():
            row = one.release, shown, value
            beliefs[row][quasi] += one.weight * n
            if row not in n_fitting:
                n_fitting[row] = sum(fits(other, shown) for other in domain.quasi)
    blurred = [(beliefs[row], n) for row, n in n_fitting.items() if n > 1]
    n_rows = sum(belief.total() for belief, _ in blurred)
    return Downcoding(
        certain=_share((b.total() for b, _ in blurred if len(b) == 1), n_rows),
        guessed=_share((max(b.values()) for b, _ in blurred), n_rows),
        guessed_at_face_value=_share(
            (Fraction(b.total(), n) for b, n in blurred), n_rows
        ),
    )


def mean_loss(outcomes: Iterable[Outcome], domain: Domain) -> float:
    """Return the mean width of released cells, as a share of the domain's."""
    lost, n_rows = _NOTHING, 0
    for one in outcomes:
        for (_, shown), n in one.flow.items():
            lost += one.weight * n * sum(map(_width, shown, domain.sizes))
            n_rows += one.weight * n
    return float(lost / (n_rows * len(domain.sizes)))


def _width(ends: tuple[int, int] | None, size: int) -> Fraction:
    if ends is None:
        return Fraction(1)
    return min(Fraction(ends[1] - ends[0], max(size - 1, 1)), Fraction(1))


def _share(parts: Iterable[int | Fraction], whole: int) -> float:
    """Return a share, exact until it is rounded once; of nothing, 0."""
    return float(Fraction(sum(parts, _NOTHING), whole)) if whole else 0.0
