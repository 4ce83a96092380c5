"""(alpha, k)-anonymity."""

from models_oracle import counted

from core_mondrian.models import AlphaKAnonymity


def test_no_value_is_more_than_alpha() -> None:
    classes = counted(["aab", "aabb", "ab"])

    model = AlphaKAnonymity(0.5, 2, "s")

    assert model.passes(classes).tolist() == [False, True, True]
    assert model.reached(classes) == 2 / 3


def test_classes_have_k_rows_as_well() -> None:
    classes = counted(["aabb", "ab"])

    assert AlphaKAnonymity(0.5, 3, "s").passes(classes).tolist() == [True, False]


def test_only_the_named_values_are_limited() -> None:
    # Of 6 persons 2 have HIV: (0.5, 2)-anonymity protects it, and not the flu.
    classes = counted([["flu", "HIV"], ["flu", "HIV"], ["flu", "fever"]])

    assert AlphaKAnonymity(0.5, 2, "illness", ("HIV",)).holds(classes)
    assert not AlphaKAnonymity(0.4, 2, "illness", ("HIV",)).holds(classes)
    assert AlphaKAnonymity(0.4, 2, "illness", ("cough",)).holds(classes)


def test_values_may_be_numbers_or_missing() -> None:
    classes = counted([[1, 1, 2], [1, None, None]])

    assert AlphaKAnonymity(0.4, 2, "s", (1,)).passes(classes).tolist() == [False, True]
    assert AlphaKAnonymity(0.4, 2, "s", (None,)).passes(classes).tolist() == [
        True,
        False,
    ]


def test_values_may_come_as_a_list() -> None:
    assert AlphaKAnonymity(0.4, 2, "s", ["x"]) == AlphaKAnonymity(0.4, 2, "s", ("x",))  # type: ignore[arg-type]


def test_what_it_is() -> None:
    assert AlphaKAnonymity(0.2, 3, "s").name == "(0.2, 3)-anonymity of s"
    assert AlphaKAnonymity(0.2, 3, "s", ("x",)).name.endswith("of s (values: 1)")
    assert AlphaKAnonymity(0.2, 3, "s").min_rows == 5
    assert AlphaKAnonymity(0.2, 3, "s", ("x",)).min_rows == 3


def test_flags_say_which_values_are_limited() -> None:
    every = AlphaKAnonymity(0.5, 2, "s")
    some = AlphaKAnonymity(0.5, 2, "s", ("b", 1))
    missing = AlphaKAnonymity(0.5, 2, "s", ("b", None))

    assert list(every.bind(("a", "b"))) == [1, 1, 1]
    assert list(some.bind((1, "a", "b"))) == [1, 0, 1, 0]
    assert list(missing.bind(("a", "b"))) == [0, 1, 1]
    assert list(AlphaKAnonymity(0.5, 2, "s", ("None",)).bind(())) == [0]
