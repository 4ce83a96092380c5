"""Distinct l-diversity and p-sensitive k-anonymity."""

from models_oracle import counted

from core_mondrian.models import DistinctLDiversity, PSensitiveKAnonymity


def test_values_are_counted_once() -> None:
    classes = counted(["aaab", "abc"])

    assert DistinctLDiversity(2, "s").holds(classes)
    assert DistinctLDiversity(3, "s").passes(classes).tolist() == [False, True]
    assert DistinctLDiversity(3, "s").reached(classes) == 2


def test_rows_count_as_well() -> None:
    classes = counted(["aaab", "abc"])

    assert PSensitiveKAnonymity(2, 3, "s").holds(classes)
    assert PSensitiveKAnonymity(2, 4, "s").passes(classes).tolist() == [True, False]
    assert PSensitiveKAnonymity(3, 3, "s").passes(classes).tolist() == [False, True]
    assert not PSensitiveKAnonymity(2, 4, "s").holds(classes)


def test_a_missing_value_is_one_more_unless_it_is_ignored() -> None:
    classes = counted([["a", None], ["a", "b", None], [None, None]])

    counts_it = DistinctLDiversity(2, "s")
    ignores_it = DistinctLDiversity(2, "s", missing="ignored")

    assert counts_it.passes(classes).tolist() == [True, True, False]
    assert ignores_it.passes(classes).tolist() == [False, True, True]


def test_three_rows_of_one_illness_are_3_anonymous_and_not_2_sensitive() -> None:
    # Patients by age and zip code: 2 classes of 3, one with one illness only.
    classes = counted([["aids", "aids", "diabetes"], ["flu", "flu", "flu"]])

    assert PSensitiveKAnonymity(2, 3, "illness").passes(classes).tolist() == [
        True,
        False,
    ]


def test_what_they_are() -> None:
    assert DistinctLDiversity(2, "income").name == "distinct 2-diversity of income"
    assert DistinctLDiversity(2, "income").column == "income"
    assert (
        PSensitiveKAnonymity(2, 5, "income").name == "2-sensitive 5-anonymity of income"
    )
