"""Agreement with pycanon, another implementation, and where it is wrong.

Without missing values it defines most models as we do. What it reports is compared
with what our models reach.
"""

import math

import models_oracle as oracle
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from models_oracle import counted, ranked

from core_mondrian.models import (
    AlphaKAnonymity,
    BetaLikeness,
    DeltaDisclosure,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    RecursiveCLDiversity,
    TCloseness,
)

pycanon = pytest.importorskip("pycanon.anonymity")

groups_of_values = st.lists(
    st.lists(st.sampled_from("abcd"), min_size=1, max_size=12), min_size=1, max_size=4
)
Groups = list[list[str]]
# With a single one, pandas warns of what pycanon does.
QUASI_IDENTIFIERS = ["class", "same"]


def as_frame(groups: Groups) -> pd.DataFrame:
    rows = [(i, 0, value) for i, group in enumerate(groups) for value in group]
    return pd.DataFrame(rows, columns=[*QUASI_IDENTIFIERS, "s"])


def ask(function: str, frame: pd.DataFrame) -> float:
    return float(getattr(pycanon, function)(frame, QUASI_IDENTIFIERS, ["s"]))


@given(groups_of_values)
def test_sizes_values_and_shares(groups: Groups) -> None:
    frame, classes = as_frame(groups), counted(groups)

    alpha, k = pycanon.alpha_k_anonymity(frame, QUASI_IDENTIFIERS, ["s"])

    assert KAnonymity(2).reached(classes) == k
    assert AlphaKAnonymity(0.5, 2, "s").reached(classes) == alpha
    assert DistinctLDiversity(2, "s").reached(classes) == ask("l_diversity", frame)


@given(groups_of_values)
def test_entropy(groups: Groups) -> None:
    found = EntropyLDiversity(2, "s").reached(counted(groups))

    # pycanon cuts off what is after the point, and rounding may get it one lower.
    theirs = ask("entropy_l_diversity", as_frame(groups))

    assert theirs in {math.floor(found + 1e-9), math.floor(found - 1e-9)}


def test_pycanon_loses_one_of_the_entropy_to_rounding() -> None:
    groups = next(
        [[str(value) for value in range(n)]]
        for n in range(2, 50)
        if ask("entropy_l_diversity", as_frame([[str(value) for value in range(n)]]))
        < n
    )

    n = len(groups[0])

    assert ask("entropy_l_diversity", as_frame(groups)) == n - 1
    assert EntropyLDiversity(n, "s").holds(counted(groups))


@given(groups_of_values)
def test_equal_and_ordered_distance(groups: Groups) -> None:
    frame, classes = as_frame(groups), counted(groups)
    # pycanon takes the distance from the column's type: equal for text.
    as_numbers = frame.assign(s=frame["s"].map({"a": 1, "b": 2, "c": 3, "d": 4}))
    by_text = TCloseness(0.2, "s").reached(classes)
    ordered = TCloseness(0.2, "s", "ordered")
    by_rank = ordered.reached(ranked(ordered, classes))

    assert by_text == pytest.approx(ask("t_closeness", frame.astype({"s": str})))
    if frame["s"].nunique() > 1:  # else it divides by 0
        assert by_rank == pytest.approx(ask("t_closeness", as_numbers))


@given(groups_of_values)
def test_basic_likeness_and_disclosure_of_present_values(groups: Groups) -> None:
    frame, classes = as_frame(groups), counted(groups)

    gain = BetaLikeness(1, "s").reached(classes)
    delta = DeltaDisclosure(1, "s", absent="allowed").reached(classes)

    assert gain == pytest.approx(ask("basic_beta_likeness", frame))
    assert delta == pytest.approx(ask("delta_disclosure", frame))


def test_pycanon_overlooks_absent_values_in_delta_disclosure() -> None:
    # Nobody in the second class has b; |ln 0| is more than any delta.
    groups = [list("ab"), list("aa")]

    assert ask("delta_disclosure", as_frame(groups)) == pytest.approx(math.log(2))
    assert DeltaDisclosure(1, "s").reached(counted(groups)) == math.inf


def test_pycanon_takes_the_rarest_value_for_the_most_frequent() -> None:
    # Recursive (c, 2)-diversity: r1 = 8, r2 = 2, so c has to be above 4; pycanon sorts
    # rising, sets 2 against 8 and says that c = 1 will do.
    groups = [list("aaaaaaaabb")]

    theirs = pycanon.recursive_c_l_diversity(as_frame(groups), QUASI_IDENTIFIERS, ["s"])

    assert theirs == (1, 2)
    assert oracle.recursive_ratio(groups[0], 2) == 4
    assert RecursiveCLDiversity(2, 2, "s").reached(counted(groups)) == 4


def test_pycanon_approves_what_enhanced_likeness_forbids() -> None:
    # In the second class b gains 1/3; by -ln(3/4) it may gain 0.288 and no more, at
    # any beta. pycanon takes the smaller of the largest gain and the largest -ln p.
    groups = [list("ab"), list("bb")]

    assert ask("enhanced_beta_likeness", as_frame(groups)) == pytest.approx(1)
    assert not BetaLikeness(1, "s", "enhanced").holds(counted(groups))


def test_pycanon_does_not_see_rows_without_a_quasi_identifier() -> None:
    # One row has no class, and is unique; grouping drops it.
    frame = pd.DataFrame({"class": ["x", "x", None], "same": 0, "s": ["a", "b", "a"]})

    assert pycanon.k_anonymity(frame, QUASI_IDENTIFIERS) == 2
    assert ask("l_diversity", frame) == 2
    assert KAnonymity(2).reached(counted(["ab", "a"])) == 1


def test_pycanon_does_not_count_missing_sensitive_values() -> None:
    # All four lack the value: everybody's is known to be missing.
    frame = pd.DataFrame({"class": ["x"] * 4, "same": 0, "s": math.nan})

    alpha, _ = pycanon.alpha_k_anonymity(frame, QUASI_IDENTIFIERS, ["s"])

    assert alpha == 0
    assert AlphaKAnonymity(0.5, 2, "s").reached(counted([[None] * 4])) == 1
