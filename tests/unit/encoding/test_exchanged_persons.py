"""Persons who look the same change places by lot; nothing else changes."""

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.keys import KEY, key_of

from core_mondrian import KAnonymity, Spec, anonymize
from core_mondrian.encoding.persons import exchange_persons

entries = st.dictionaries(
    st.tuples(st.integers(0, 3), st.integers(0, 5)), st.integers(1, 2), min_size=1
)


@given(entries, st.integers(0, 99))
def test_every_tuple_goes_to_one_that_shows_the_same(
    table: dict[tuple[int, int], int], number: int
) -> None:
    keys = sorted(table)
    base, person = (np.array(x, dtype=np.int64) for x in zip(*keys, strict=True))
    counts = np.array([table[x] for x in keys], dtype=np.int64)

    target = exchange_persons(base, person, counts, key_of(number))

    assert sorted(target.tolist()) == list(range(len(keys)))  # nobody twice
    assert (base[target] == base).all()
    assert (counts[target] == counts).all()
    whom = defaultdict(set)
    for i, j in enumerate(target.tolist()):
        whom[int(person[i])].add(int(person[j]))
    assert {len(found) for found in whom.values()} == {1}  # a person moves as a whole


def test_all_persons_of_one_profile_are_equally_likely() -> None:
    base, person = np.zeros(4, np.int64), np.arange(4)
    counts = np.array([1, 1, 1, 7])

    drawn = Counter(
        int(exchange_persons(base, person, counts, key_of(i))[0]) for i in range(3000)
    )

    assert set(drawn) == {0, 1, 2}
    assert min(drawn.values()) > 850


def enrolled(number: int) -> pa.Table:
    """Ids that rise with a carried date; most people share one department."""
    random = np.random.default_rng(number)
    department = random.permutation(["Sales"] * 57 + ["Legal"] * 3)
    return pa.table({"department": department, "id": range(60), "date": range(60)})


def lent(release: Any, table: pa.Table) -> list[int]:
    shown = release.data["department"].to_pylist()
    true = table["department"].to_pylist()
    return [i for i in range(60) if shown[i] == "*" and true[i] == "Sales"]


@pytest.mark.usefixtures("random_keys")
def test_the_order_of_ids_does_not_say_who_was_lent() -> None:
    spec = Spec(("department",), (KAnonymity(5),), unit="id")
    ends = 0
    for number in range(60):
        table = enrolled(number)
        release = anonymize(table, spec)
        found = lent(release, table)
        sales = [
            i for i, x in enumerate(table["department"].to_pylist()) if x == "Sales"
        ]
        assert len(found) == 2
        ends += found in (sales[:2], sales[-2:])

    assert ends <= 3  # 2 in 1596 pairs are at an end; it was all of them


def test_classes_counts_and_digest_do_not_depend_on_the_key() -> None:
    table = pa.table(
        {"q": [i % 7 for i in range(90)], "id": [i % 31 for i in range(90)]}
    )
    spec = Spec(("q",), (KAnonymity(4),), unit="id")

    releases = [anonymize(table, spec, key=key_of(i)) for i in range(5)]
    again = anonymize(table, spec, key=key_of(0))

    assert len({one.digest for one in releases}) == 1
    assert len({one.tree.digest for one in releases}) == 1
    assert again.data.equals(releases[0].data)
    assert key_of(0) != KEY
