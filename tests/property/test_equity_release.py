"""Losses by group, from the original cells and the frame given back."""

import math
import random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from best_oracle import cells, classes_of, lost_cell, with_ids
from conftest import CANARY, IS_PLAIN
from hypothesis import given
from hypothesis import strategies as st

from core_mondrian import KAnonymity, Release, Spec, Suppression, anonymize
from core_mondrian.errors import SpecError
from core_mondrian.models import DistinctLDiversity, TCloseness
from core_mondrian.spec.policies import BestPolicy, PaperPolicy

pytestmark = [pytest.mark.slow] if IS_PLAIN else []

EFFORT: Any = "fast" if IS_PLAIN else "strong"


def people(n: int, seed: int) -> pa.Table:
    """A few groups, one of which lives apart and is small."""
    rng = random.Random(seed)  # noqa: S311
    race = [rng.choice(["a"] * 12 + ["b"] * 4 + ["c"] + [None]) for _ in range(n)]
    return with_ids(
        pa.table(
            {
                "age": [
                    rng.randint(20, 40) if r == "a" else rng.randint(20, 90)
                    for r in race
                ],
                "town": [
                    rng.choice("pq") if r == "a" else rng.choice("pqrstuvw")
                    for r in race
                ],
                "race": race,
                "sex": [rng.choice("fm") for _ in range(n)],
            }
        )
    )


def losses_by(
    table: pa.Table, release: Release[Any], group: str
) -> dict[Any, tuple[int, int, float]]:
    """Rows, suppressed rows and loss of each value, row by row."""
    spec = release.spec
    originals = {name: cells(table, name) for name in table.column_names}
    lost: list[float | None] = [None] * table.num_rows
    whole = math.fsum(spec.weight_of(name) for name in spec.quasi_identifiers)
    for ids in classes_of(release).values():
        each = 0.0
        for name in spec.quasi_identifiers:
            column = originals[name]
            held = {column[i] for i in ids}
            is_text = any(isinstance(value, str) for value in column)
            as_set = is_text and spec.categories_of(name) == "set"
            penalty = lost_cell(held, set(column), None, as_set=as_set)
            each += spec.weight_of(name) * penalty / whole
        for i in ids:
            lost[i] = each
    found: dict[Any, list[float | None]] = {}
    for value, loss in zip(originals[group], lost, strict=True):
        found.setdefault(value, []).append(loss)
    return {
        value: (
            len(losses),
            losses.count(None),
            math.fsum(1.0 if x is None else x for x in losses) / len(losses),
        )
        for value, losses in found.items()
    }


def specs(draw: Any, **policy: Any) -> Spec:
    names = draw(st.sampled_from([("age", "town"), ("age", "town", "race")]))
    return Spec(
        names,
        (KAnonymity(draw(st.integers(2, 6))),),
        policy=draw(st.sampled_from([BestPolicy(**policy), BestPolicy("strong")])),
        categories=draw(st.sampled_from(["label", "set"])),
        suppress=draw(st.sampled_from([None, Suppression(rows=5)])),
        weights=draw(st.sampled_from([{}, {"age": 3.0}])),
    )


@given(st.data())
def test_losses_by_group_are_those_of_the_rows(data: st.DataObject) -> None:
    table = people(data.draw(st.integers(20, 80)), data.draw(st.integers(0, 99)))

    compare_losses(table, specs(data.draw))


def test_a_set_is_one_even_if_the_first_row_has_no_value() -> None:
    """The oracle took such a column for numbers: {b, c} of a, b, c, missing is 1/3."""
    table = people(20, 29)
    assert cells(table, "race")[0] is None
    names = ("age", "town", "race")
    spec = Spec(names, (KAnonymity(2),), policy=BestPolicy(), categories="set")

    release = compare_losses(table, spec)

    assert "{b, c}" in cells(release.data, "race")
    others = release.by_group("race")[-1]
    assert (others.group, others.n_rows) == ("others", 1)
    assert others.columns["race"] == pytest.approx(1 / 3)


def compare_losses(table: pa.Table, spec: Spec) -> Release[Any]:
    """Compare what groups lose with their rows; return the release."""
    release = anonymize(table, spec, by=["race", "sex"])

    for column in ("race", "sex"):
        wanted = losses_by(table, release, column)
        named = {"missing" if v is None else v: x for v, x in wanted.items()}
        others = [x for x in named.values() if x[0] < spec.min_rows]
        groups = release.by_group(column)
        assert sum(group.n_rows for group in groups) == table.num_rows
        for group in groups:
            if group.group == "others":
                rows = sum(x[0] for x in others)
                loss = math.fsum(x[0] * x[2] for x in others) / rows
                assert (group.n_rows, group.loss) == (rows, pytest.approx(loss))
                continue
            rows, gone, loss = named[group.group]
            assert rows >= spec.min_rows
            assert (group.n_rows, group.n_suppressed) == (rows, gone)
            assert group.loss == pytest.approx(loss, abs=1e-12)
        whole = math.fsum(group.n_rows * group.loss for group in groups)
        assert whole / table.num_rows == pytest.approx(release.measures().loss)
    return release


@pytest.mark.parametrize("where", ["quasi-identifier", "sensitive", "carried"])
@pytest.mark.parametrize("budget", [0, 20])
def test_the_worst_group_loses_less_and_all_is_told(where: str, budget: int) -> None:
    table = people(80 if IS_PLAIN else 600, 3)
    models: Any = [KAnonymity(4)]
    models += [DistinctLDiversity(2, "race")] if where == "sensitive" else []
    names = ("age", "town", "race") if where == "quasi-identifier" else ("age", "town")
    policy = BestPolicy(EFFORT, equity="race")
    spec = Spec(names, models, policy=policy, suppress=Suppression(rows=budget))

    release = anonymize(table, spec)

    balance = release.balance
    assert balance is not None
    assert balance.worst <= balance.worst_before
    assert balance.worst * balance.loss <= balance.worst_before * balance.loss_before
    assert release.measures().loss == pytest.approx(balance.loss)
    large, small = [], []
    for group in release.by_group("race"):
        (large if group.n_rows >= 10 * spec.min_rows else small).append(group)
    losses = [group.loss for group in large]
    if (rows := sum(group.n_rows for group in small)) >= 10 * spec.min_rows:
        losses.append(math.fsum(group.n_rows * group.loss for group in small) / rows)
    assert balance.n_groups == len(losses)
    assert max(losses) == pytest.approx(balance.worst)
    assert release.figures()["equity"]["worst"] == balance.worst
    assert release.n_suppressed <= budget


@pytest.mark.skipif(IS_PLAIN, reason="takes minutes without the compiler")
def test_equity_helps_a_group_that_lives_apart() -> None:
    table = people(2000, 5)
    spec = Spec(("age", "town"), (KAnonymity(5),), policy=BestPolicy(EFFORT))
    before = anonymize(table, spec, by=["race"]).by_group("race")
    policy = BestPolicy(EFFORT, equity="race")
    fair = anonymize(table, Spec(("age", "town"), (KAnonymity(5),), policy=policy))
    worst = max(before, key=lambda group: group.loss)
    after = {group.group: group.loss for group in fair.by_group("race")}
    assert after[worst.group] < worst.loss
    assert fair.balance is not None
    assert fair.balance.rounds > 1


def test_the_same_release_however_it_is_made() -> None:
    table = people(30 if IS_PLAIN else 400, 8)
    spec = Spec(
        ("age", "town"),
        (KAnonymity(4),),
        policy=BestPolicy(equity="race"),
        suppress=Suppression(rows=7),
    )
    first = anonymize(table, spec, threads=1)
    turned = table.take(np.random.default_rng(1).permutation(table.num_rows))
    frames = [
        *(turned, turned.to_pandas(), pl.from_arrow(turned)),
        pd.DataFrame({name: cells(table, name) for name in table.column_names}),
    ]
    for frame in frames:
        again = anonymize(frame, spec, threads=3)
        assert again.digest == first.digest
        assert again.balance == first.balance
        assert again.by_group("race") == first.by_group("race")


def test_a_rare_value_is_not_named() -> None:
    race = [CANARY, CANARY, *(["a", "b"] * 40)]
    table = pa.table({"age": [i % 30 for i in range(82)], "race": race})
    spec = Spec(("age",), (KAnonymity(3),), policy=BestPolicy(equity="race"))
    release = anonymize(table, spec, by=["race"])
    assert [group.group for group in release.by_group("race")] == ["a", "b", "others"]
    assert CANARY not in str(release.manifest())


def test_what_cannot_be_asked_is_refused() -> None:
    table = people(50, 1)
    spec = Spec(("age",), (KAnonymity(2),), identifiers=("id",))
    with pytest.raises(SpecError, match="not released as they are"):
        anonymize(table, spec, by=["id"])
    with pytest.raises(SpecError, match="nobody"):
        anonymize(table, spec, by=["nobody"])
    with pytest.raises(SpecError, match="not counted by column 'sex'"):
        anonymize(table, spec).by_group("sex")
    with pytest.raises(SpecError, match="not released as it is"):
        Spec(
            ("age",),
            (KAnonymity(2),),
            identifiers=("id",),
            policy=BestPolicy(equity="id"),
        )
    with pytest.raises(SpecError, match=r"needs best\.equity"):
        BestPolicy(equity_bound=2)
    with pytest.raises(SpecError, match="above 0"):
        BestPolicy(equity="a", equity_bound=0)


def test_by_group_knows_every_policy() -> None:
    table = people(300, 2)
    spec = Spec(("age", "town"), (KAnonymity(4),), policy=PaperPolicy())
    release = anonymize(table, spec, by=["sex"])
    groups = release.by_group("sex")
    assert sum(group.n_suppressed for group in groups) == release.n_suppressed
    assert release.balance is None


def test_what_only_one_person_has_is_not_named() -> None:
    """Ten rows of one person are no group of ten."""
    people = [0] * 10 + [1 + i % 20 for i in range(80)]
    race = [CANARY] * 10 + ["a", "b"] * 40
    table = pa.table({"age": [i % 9 for i in range(90)], "race": race, "who": people})
    spec = Spec(("age",), (KAnonymity(3),), unit="who")
    groups = anonymize(table, spec, by=["race"]).by_group("race")
    assert [(one.group, one.n_rows) for one in groups] == [
        *(("a", 40), ("b", 40), ("others", 10))
    ]


def test_a_value_of_one_row_is_not_named_whatever_the_model() -> None:
    race = [CANARY, "a", "a", "a", "a"]
    table = pa.table({"age": [1, 1, 1, 2, 2], "race": race, "s": [*"xyxyx"]})
    release = anonymize(table, Spec(("age",), (TCloseness(0.99, "s"),)), by=["race"])
    assert release.spec.min_rows == 1
    assert [one.group for one in release.by_group("race")] == ["a", "others"]
