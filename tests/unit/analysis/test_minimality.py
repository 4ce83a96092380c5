"""Inferences of a reader who knows the algorithm, compared with plain enumeration.

The oracle walks over labelled tables, person by person, and asks `anonymize` itself.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import astuple, replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import pyarrow as pa
import pytest

from core_mondrian import InfeasibleError, KAnonymity, Spec, SpecError, anonymize
from core_mondrian.analysis.minimality import infer, measure_minimality
from core_mondrian.analysis.small_domains import (
    Domain,
    Outcome,
    release_all,
    release_by_api,
    release_one,
)
from core_mondrian.models import (
    DistinctLDiversity,
    EntropyLDiversity,
    PrivacyModel,
    TCloseness,
)
from core_mondrian.spec.policies import (
    BestPolicy,
    OriginalPolicy,
    PaperPolicy,
    Policy,
)

DISTINCT = DistinctLDiversity(2, "value")
BEST, DISJOINT = BestPolicy(), BestPolicy(disjoint=True)
SMALL = Domain(rows=4, sizes=(3,))
POLICIES = (BEST, BestPolicy("strong"), DISJOINT, PaperPolicy(), OriginalPolicy())
DOMAINS = (
    SMALL,
    Domain(rows=4, sizes=(2, 2)),
    Domain(rows=4, sizes=(2,), values=3),
    Domain(rows=4, sizes=(2,), missing=True),
)


def spec_of(
    domain: Domain, *models: PrivacyModel, policy: Policy = BEST, k: int = 2
) -> Spec:
    names = domain.quasi_identifiers
    return Spec(names, (KAnonymity(k), *models), policy=policy, numbers="bounds")


Table = tuple[tuple[tuple[int | None, ...], int], ...]
Cells = tuple[int | None, ...]
Person = tuple[tuple[int | None, ...], int]


class Oracle:
    """Every labelled table, with the class of each person in it."""

    def __init__(self, domain: Domain, spec: Spec) -> None:
        self.n = domain.rows
        self.names = domain.quasi_identifiers
        cells = [[*range(1, n + 1), *[None] * domain.missing] for n in domain.sizes]
        people = list(product(product(*cells), range(domain.values)))
        self.spec = spec
        # The order of rows changes nothing: each multiset is released once.
        self.released = cache(self._release)
        every: Iterator[Table] = product(people, repeat=self.n)
        self.tables = [t for t in every if self.released(self._sorted(t))]
        self.rows = cache(self._rows)

    def _sorted(self, table: Table) -> Table:
        return tuple(sorted(table, key=lambda p: (str(p[0]), p[1])))

    def _release(self, table: Table) -> list[tuple[Person, Cells]] | None:
        columns: dict[str, Any] = {
            name: pa.array([person[0][i] for person in table], pa.int64())
            for i, name in enumerate(self.names)
        }
        columns["value"] = pa.array([person[1] for person in table])
        try:
            rows = anonymize(pa.table(columns), self.spec).data.to_pylist()
        except InfeasibleError:
            return None
        ends = [f"{name}_{end}" for name in self.names for end in ("min", "max")]
        shown = [tuple(row[end] for end in ends) for row in rows]
        return list(zip(table, shown, strict=True))

    def _rows(self, table: Table) -> Counter[tuple[Cells, int]]:
        """Return the multiset of released rows."""
        rows = self.released(self._sorted(table)) or []
        return Counter((shown, person[1]) for person, shown in rows)

    def classes(self, table: Table, i: int) -> list[Cells]:
        """Return the classes of all rows that are like person i's."""
        rows = self.released(self._sorted(table)) or []
        return [shown for person, shown in rows if person == table[i]]


def fits(quasi: tuple[int | None, ...], shown: Cells) -> bool:
    for i, value in enumerate(quasi):
        low, high = shown[2 * i], shown[2 * i + 1]
        if low is None or high is None:
            continue
        if value is None or not low <= value <= high:
            return False
    return True


class Seen:
    """What a reader who sees the same knows of person i."""

    def __init__(self, release: Any, quasi: tuple[int | None, ...]) -> None:
        self.release, self.quasi = dict(release), quasi
        self.belief: Counter[int] = Counter()
        self.links: Counter[Any] = Counter()

    def add(self, value: int, classes: list[Cells]) -> None:
        self.belief[value] += 1
        for shown in classes:
            chance = Fraction(1, len(classes) * self.release[shown, value])
            self.links[shown, value] += chance  # type: ignore[assignment]

    def judge(self) -> tuple[Any, ...]:
        n = self.belief.total()
        classes: dict[Cells, Counter[int]] = defaultdict(Counter)
        together: Counter[int] = Counter()
        for (shown, value), count in self.release.items():
            if fits(self.quasi, shown):
                classes[shown][value] += count
                together[value] += count
        best = [v for v in together if together[v] == max(together.values())]
        is_above = any(
            all(
                Fraction(belief, n) > Fraction(c[v], c.total())
                for c in classes.values()
            )
            for v, belief in self.belief.items()
        )
        return (
            *(n, n * (len(self.belief) == 1 < len(together)), n * is_above),
            max(self.belief.values()),
            Fraction(sum(self.belief[v] for v in best), len(best)),
            n * (max(self.links.values()) > Fraction(n, 2)),
        )


def infer_by_hand(oracle: Oracle, *, knows_everyone: bool) -> tuple[float, ...]:
    """Return certain, above, guessed, guessed at face value, linked; the highest."""
    views: dict[Any, Seen] = {}
    for table in oracle.tables:
        release = frozenset(oracle.rows(table).items())
        everyone = tuple(quasi for quasi, _ in table)
        for i, (quasi, value) in enumerate(table):
            seen = release, everyone if knows_everyone else quasi, i
            view = views.setdefault(seen, Seen(release, quasi))
            view.add(value, oracle.classes(table, i))
    n, *parts = map(sum, zip(*(one.judge() for one in views.values()), strict=True))
    sizes = [(one, one.belief.total()) for one in views.values()]
    value = max(Fraction(max(one.belief.values()), n) for one, n in sizes)
    link = max(Fraction(max(one.links.values()), n) for one, n in sizes)
    return (*(float(Fraction(part, n)) for part in parts), float(value), float(link))


def every_domain_and_every_policy() -> Iterator[Any]:
    """Each domain with one policy, each policy on one domain; the others are slow."""
    for domain, policy in product(DOMAINS, [BEST, DISJOINT, OriginalPolicy()]):
        is_quick = policy is BEST or domain is SMALL
        marks = [pytest.mark.long] if is_quick else [pytest.mark.slow]
        yield pytest.param(domain, policy, marks=marks, id=f"{domain}-{policy}")


@pytest.mark.parametrize(("domain", "policy"), [*every_domain_and_every_policy()])
def test_inferences_are_those_of_labelled_tables_counted_one_by_one(
    domain: Domain, policy: Policy
) -> None:
    spec = spec_of(domain, DISTINCT, policy=policy)
    outcomes, oracle = release_all(domain, spec), Oracle(domain, spec)

    for knows in ("everyone", "target"):
        found = infer(outcomes, spec, knows)  # type: ignore[arg-type]

        values, linkage = found.values, found.linkage
        assert values is not None
        assert infer_by_hand(oracle, knows_everyone=knows == "everyone") == (
            *(values.certain, values.above),
            *(values.guessed, values.guessed_at_face_value),
            *(linkage.above, values.highest, linkage.highest),
        )


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize("domain", [SMALL, DOMAINS[-1]], ids=str)
@pytest.mark.long
def test_every_table_is_released_as_anonymize_does(
    domain: Domain, policy: Policy
) -> None:
    spec = spec_of(domain, EntropyLDiversity(1.8, "value"), policy=policy)

    for table in domain.tables():
        assert release_one(table, spec) == release_by_api(table, spec)


def test_tables_are_enumerated_once_and_weigh_as_much_as_their_labelled_ones() -> None:
    domain = Domain(rows=4, sizes=(2, 2), values=2)
    tables = list(domain.tables())

    assert len({frozenset(one.items()) for one in tables}) == domain.n_tables == 330
    assert sum(map(domain.weight, tables)) == 8**4
    profiles = replace(domain, prior="profiles")
    assert sum(map(profiles.weight, tables)) == 35 * 2**4  # multisets of 4 out of 4


@pytest.mark.parametrize(
    ("policy", "by_people", "by_profiles"),
    [
        pytest.param(BestPolicy("fast"), 0.1024, 0.0947, id="fast"),
        pytest.param(DISJOINT, 0.0309, 0.0148, id="disjoint"),
        pytest.param(OriginalPolicy(), 0.0, 0.0, id="original"),
    ],
)
@pytest.mark.long
def test_where_best_cuts_tells_a_tenth_of_the_values_of_a_tiny_domain(
    policy: Policy, by_people: float, by_profiles: float
) -> None:
    domain = Domain(rows=6, sizes=(4,))
    spec = spec_of(domain, DISTINCT, policy=policy)
    outcomes = release_all(domain, spec)
    profiles = replace(domain, prior="profiles")

    def weighed(one: Outcome) -> Outcome:
        people: Counter[Person] = Counter()
        for (person, _), n in one.flow.items():
            people[person] += n
        return Outcome(profiles.weight(people), one.flow)

    found = infer(outcomes, spec, "everyone").values
    others = infer(map(weighed, outcomes), spec, "everyone").values

    assert len(outcomes) == 1716 - 2 * 84  # all but those with one value
    assert found is not None
    assert others is not None
    assert found.certain == pytest.approx(by_people, abs=5e-5)
    assert others.certain == pytest.approx(by_profiles, abs=5e-5)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.long
def test_k_anonymity_alone_links_nobody_above_one_in_k(policy: Policy) -> None:
    for domain in (Domain(rows=6, sizes=(4,)), Domain(rows=5, sizes=(2, 3))):
        found = measure_minimality(domain, spec_of(domain, policy=policy))

        for reader in (found.everyone, found.target):
            assert reader.values is None
            assert reader.linkage.above == 0.0
            assert reader.linkage.highest <= 0.5


@pytest.mark.parametrize("policy", [DISJOINT, PaperPolicy(), OriginalPolicy()], ids=str)
@pytest.mark.parametrize("model", [DISTINCT, TCloseness(0.3, "value")], ids=str)
@pytest.mark.long
def test_cuts_by_size_alone_tell_nothing_beyond_face_value(
    policy: Policy, model: PrivacyModel
) -> None:
    for domain in (Domain(rows=5, sizes=(4,)), Domain(rows=5, sizes=(2, 2))):
        spec = spec_of(domain, model, policy=policy)

        found = measure_minimality(domain, spec, procedure="verify after")

        for reader in (found.everyone, found.target):
            assert reader.values is not None
            _, broken, above, guessed, at_face_value, _ = astuple(reader.values)
            assert reader.values.certain == broken == above == 0.0
            assert guessed == at_face_value


@pytest.mark.parametrize("policy", [DISJOINT, PaperPolicy(), OriginalPolicy()], ids=str)
def test_the_names_of_sensitive_values_decide_nothing_without_overlap(
    policy: Policy,
) -> None:
    domain = Domain(rows=5, sizes=(3,))
    outcomes = release_all(domain, spec_of(domain, DISTINCT, policy=policy))

    plain = {frozenset(one.flow.items()) for one in outcomes}
    exchanged = {
        frozenset((((q, 1 - v), shown), n) for ((q, v), shown), n in one)
        for one in plain
    }

    assert plain == exchanged


def test_k_is_raised_until_every_releasable_table_is_released() -> None:
    spec = spec_of(SMALL, DISTINCT, policy=DISJOINT)

    fixed = measure_minimality(SMALL, spec, procedure="verify after")
    raised = measure_minimality(SMALL, spec, procedure="raise k")

    assert fixed.n_released < raised.n_released
    assert raised.n_released == measure_minimality(SMALL, spec).n_released


def test_a_belief_is_judged_by_the_model_of_the_classes() -> None:
    # Entropy 1.8 forbids 3 to 1 already: beliefs break it before they are certain.
    domain = Domain(rows=4, sizes=(3,))
    found = measure_minimality(domain, spec_of(domain, EntropyLDiversity(1.8, "value")))

    assert found.everyone.values is not None
    assert found.everyone.values.broken > found.everyone.values.certain > 0


def test_downcoding_is_certain_only_where_one_original_is_left() -> None:
    domain = Domain(rows=4, sizes=(3,))
    spec = spec_of(domain, DISTINCT)
    originals: dict[Any, set[Any]] = defaultdict(set)
    weights: Counter[Any] = Counter()
    for one in release_all(domain, spec):
        for ((quasi, value), shown), n in one.flow.items():
            originals[one.release, shown, value].add(quasi)
            weights[one.release, shown, value] += n * one.weight
    ranged = [row for row in originals if row[1][0][0] < row[1][0][1]]
    undone = sum(weights[row] for row in ranged if len(originals[row]) == 1)

    found = measure_minimality(domain, spec).downcoding

    assert undone > 0
    assert found.certain == undone / sum(weights[row] for row in ranged)
    assert found.guessed_at_face_value < found.guessed


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"quasi_identifiers": ("age",)}, "columns of this domain"),
        ({"identifiers": ("name",)}, "columns of this domain"),
        ({"numbers_by_column": {"x1": "mean"}}, "as bounds"),
    ],
)
def test_what_is_not_measured_is_refused(change: dict[str, Any], says: str) -> None:
    spec = replace(spec_of(SMALL, DISTINCT), **change)

    with pytest.raises(SpecError, match=says):
        measure_minimality(SMALL, spec)


def test_domains_that_are_too_large_or_empty_are_refused() -> None:
    with pytest.raises(SpecError, match="tables, more than"):
        Domain(rows=20, sizes=(10,))
    with pytest.raises(SpecError, match="at least one each"):
        Domain(sizes=())
    with pytest.raises(SpecError, match="do not overlap"):
        measure_minimality(SMALL, spec_of(SMALL, DISTINCT), procedure="raise k")
    with pytest.raises(InfeasibleError, match="none of"):
        measure_minimality(SMALL, spec_of(SMALL, DISTINCT, k=9))


@pytest.mark.long
def test_a_target_decides_classes_and_so_tells_of_its_values() -> None:
    """As an oracle counts it who asks `anonymize` about every target of five people."""
    domain = Domain(rows=5, sizes=(2, 2))
    blind = Spec(domain.quasi_identifiers, k=2, policy=DISJOINT)
    looks = replace(blind, target="value")

    found, none = (measure_minimality(domain, one).everyone for one in (looks, blind))

    assert found.values is not None
    assert none.values is None
    assert none.linkage.above == 0
    tables = [
        tuple(zip(known, values, strict=True))
        for known in product(product((1, 2), repeat=2), repeat=5)
        for values in product((0, 1), repeat=5)
    ]
    n_certain, n_people = certain_by_hand(tables, replace(looks, numbers="bounds"))
    assert found.values.certain == pytest.approx(n_certain / n_people)
    assert n_certain > 0


def certain_by_hand(tables: list[Any], spec: Spec) -> tuple[int, int]:
    """Count people whose value is the same in all tables that give what is seen."""
    views = defaultdict(list)
    released: dict[Any, Any] = {}
    for table in tables:
        key = tuple(sorted(table))
        if key not in released:
            names = (*spec.quasi_identifiers, "value")
            rows = [dict(zip(names, (*known, x), strict=True)) for known, x in key]
            released[key] = anonymize(pa.Table.from_pylist(rows), spec).data.to_pylist()
        shown = tuple(sorted(tuple(row.items()) for row in released[key]))
        views[tuple(known for known, _ in table), shown].append(table)
    n_certain = 0
    for (known, shown), alike in views.items():
        for place in range(len(known)):
            values = {table[place][1] for table in alike}
            low_high = known[place]
            face = {
                row["value"]
                for row in map(dict, shown)
                if all(
                    row[f"x{i}_min"] <= x <= row[f"x{i}_max"]
                    for i, x in enumerate(low_high, start=1)
                )
            }
            n_certain += len(alike) * (len(values) == 1 < len(face))
    return n_certain, len(tables) * 5


def test_a_target_is_measured_for_disjoint_classes() -> None:
    domain = Domain(rows=4, sizes=(2, 2))

    with pytest.raises(SpecError, match="do not overlap"):
        measure_minimality(
            domain, Spec(domain.quasi_identifiers, k=2, target="value", policy=BEST)
        )
