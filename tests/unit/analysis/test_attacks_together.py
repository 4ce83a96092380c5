"""What two releases of the same people say together, case by case."""

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from core_mondrian import KAnonymity, Spec, SpecError, anonymize, attack_together
from core_mondrian.analysis.attacks import Finding, Together
from core_mondrian.datasets import census

K = (KAnonymity(3),)
KEY = b"a key of sixteen bytes"


def pair_of(*releases: tuple[pa.Table, Spec], **options: Any) -> Together:
    named = {f"r{i}": one for i, one in enumerate(releases)}
    return attack_together(named, **options)


def finding(found: Together, name: str) -> Finding:
    (pair,) = found.pairs
    return next(one for one in pair.findings if one.name == name)


def spec_of(*names: str, **more: Any) -> Spec:
    return Spec(names, K, **more)


def shown(age: list[str], **more: list[Any]) -> pa.Table:
    return pa.table({"age": age, **more})


def by_hand(first: pa.Table, second: pa.Table, who: tuple[str, str]) -> int:
    """Count the people of both tables who share what both show with fewer than 3."""
    seen = []
    for table, name, qid in zip((first, second), who, ("age", "sex"), strict=True):
        rows: dict[Any, list[str]] = {}
        for row in table.to_pylist():
            rows.setdefault(row[name], []).append(row[qid])
        seen.append({one: tuple(sorted(cells)) for one, cells in rows.items()})
    both = {one: (seen[0][one], seen[1][one]) for one in seen[0] if one in seen[1]}
    sizes = Counter(both.values())
    return sum(sizes[history] < 3 for history in both.values())


def released(spec: Spec, **options: Any) -> tuple[pa.Table, Spec]:
    people = census(300)
    return anonymize(people, spec, **options).data, spec


@pytest.mark.parametrize("domains", [{}, {"doctor": "person_id"}])
def test_pseudonyms_join_tables_only_on_purpose(domains: dict[str, str]) -> None:
    hidden = {"pseudonyms": ("person_id",)}
    first = released(spec_of("age", **hidden, shuffle=1), key=KEY)
    people = census(300)
    place = people.column_names.index("person_id")
    visits = people.set_column(place, "doctor", people["person_id"])
    other = spec_of("sex", pseudonyms=("doctor",), pseudonym_domains=domains, shuffle=2)
    second = anonymize(visits, other, key=KEY).data, other

    found = finding(pair_of(first, second), "pseudonyms")

    assert found.numbers["joined"] == (300 if domains else 0)
    names = ("person_id", "doctor")
    assert found.numbers["fewer"] == by_hand(first[0], second[0], names)
    assert found.succeeded == (found.numbers["fewer"] > 0)


def test_another_key_joins_nobody() -> None:
    spec = spec_of("age", pseudonyms=("person_id",), shuffle=1)
    first, second = (released(spec, key=key) for key in (KEY, KEY[::-1]))

    assert finding(pair_of(first, second), "pseudonyms").numbers["joined"] == 0


def test_pseudonyms_with_several_rows_join_all_of_them() -> None:
    who = ["a", "a", "b", "b", "c", "d", None]
    spec = spec_of("age", pseudonyms=("id",))
    first = shown(["1", "2", "1", "2", "1", "1", "1"], id=who)
    second = shown(["x"] * 7, id=["a", "b", "c", "d", "e", None, None])

    numbers = finding(pair_of((first, spec), (second, spec)), "pseudonyms").numbers

    assert (numbers["people"], numbers["joined"], numbers["fewer"]) == (5, 4, 4)


def test_rows_in_one_order_are_joined() -> None:
    first = shown(["1"] * 6, town=["u", "b", "u", "b", "u", "b"])
    second = pa.table({"sex": ["f", "f", "f", "m", "m", "m"], "town": first["town"]})
    specs = spec_of("age"), spec_of("sex")

    found = finding(pair_of((first, specs[0]), (second, specs[1])), "row order")
    assert (found.numbers["joined"], found.numbers["fewer"]) == (6, 0)
    assert found.columns == ("age", "sex")
    assert not found.succeeded

    more = second.set_column(0, "sex", [["f", "f", "m", "m", "m", "m"]])
    found = finding(pair_of((first, specs[0]), (more, specs[1])), "row order")
    assert found.numbers["fewer"] == 2


def test_tables_sorted_by_what_they_share_are_not_in_one_order() -> None:
    first = shown(["1"] * 6, town=["b", "b", "b", "u", "u", "u"])

    (pair,) = pair_of((first, spec_of("age")), (first, spec_of("age"))).pairs

    assert [one.name for one in pair.findings] == ["shared columns"]
    assert pair.findings[0].numbers["joined"] == 0


def test_rows_that_share_what_no_other_has_are_joined() -> None:
    first = shown(["1"] * 4 + ["2"] * 4, code=[1, 2, 3, 4, 5, 6, 7, 7])
    second = pa.table({"sex": ["f"] * 3 + ["m"] * 5, "code": [5, 2, 1, 3, 4, 6, 7, 7]})

    found = finding(
        pair_of((first, spec_of("age")), (second, spec_of("sex"))), "shared columns"
    )

    # f: 5 of class 2, and 2, 1 of class 1. In class 2 and m, two rows are not joined.
    assert found.numbers["joined"] == 6
    assert found.numbers["fewer"] == 2 + 2 + 1
    assert "'code'" in found.remedy


def test_a_value_that_both_make_certain_is_counted() -> None:
    order = [1, 2] * 3
    first = shown(["1"] * 6, town=order, ill=["flu"] * 3 + ["cold"] * 3)
    second = pa.table({"sex": ["f"] * 3 + ["m"] * 3, "town": order})

    found = finding(
        pair_of((first, spec_of("age")), (second, spec_of("sex")), sensitive=["ill"]),
        "row order",
    )

    assert (found.numbers["fewer"], found.numbers["certain"]) == (0, 6)
    assert found.succeeded


def test_with_the_original_people_are_looked_for_in_both() -> None:
    people = census(400)
    specs = [
        Spec(names, K, identifiers=("person_id",), shuffle=i)
        for i, names in enumerate([("age", "sex"), ("age", "education")])
    ]
    releases = [(anonymize(people, spec).data, spec) for spec in specs]

    found = finding(
        pair_of(*releases, original=people, sensitive=["income"]), "intersection"
    )

    assert found.numbers["people"] == 400
    assert found.numbers["same_order"] == 0
    assert found.numbers["fewer"] > 0


def test_what_was_not_tried_is_noted() -> None:
    first = shown(["1"] * 6), spec_of("age")
    second = pa.table({"sex": ["f"] * 6}), spec_of("sex")

    alone = pair_of(first, second)
    assert alone.pairs[0].findings == ()
    assert "no original is given" in alone.notes[0]
    lacking = pair_of(first, second, original=pa.table({"age": [1] * 6}))
    assert lacking.notes == (
        "r1: the original has no 'sex'; nobody was looked for in it",
    )

    with pytest.raises(SpecError, match="two releases are needed"):
        attack_together({"one": first})


def test_three_releases_at_once_say_more_than_any_two() -> None:
    """Each halves what the others leave, and who is in none says something, too."""
    spec = spec_of("age", pseudonyms=("id",))
    who = [f"p{i}" for i in range(16)]
    halves = [shown([str(i >> bit & 1) for i in range(16)], id=who) for bit in range(3)]
    other = shown(["0"] * 13, id=who[:13])

    found = pair_of(*((table, spec) for table in halves))
    with_absent = pair_of(*((table, spec) for table in (halves[0], other, other)))

    assert found.succeeded == ()
    (every,) = found.at_once
    assert (every.name, every.numbers["fewer"]) == ("pseudonyms", 16)
    assert every.succeeded
    assert found.share == 1.0
    assert "3 releases, joined by the pseudonyms 'id', leave 16 of 16" in every.sentence
    # p13, p15 and p14: gone, and 1 or 0 before.
    assert with_absent.at_once[0].numbers["fewer"] == 3


def test_pseudonyms_of_other_keys_say_nothing_at_once() -> None:
    spec = spec_of("age", pseudonyms=("person_id",), shuffle=1)
    releases = [released(spec, key=bytes([i]) * 16) for i in range(3)]

    assert pair_of(*releases).at_once == ()


def test_every_two_of_three_are_attacked() -> None:
    one = shown(["1"] * 6, town=[1, 2] * 3), spec_of("age")

    found = pair_of(one, one, one)

    assert [(x.first, x.second) for x in found.pairs] == [
        ("r0", "r1"),
        ("r0", "r2"),
        ("r1", "r2"),
    ]
    assert (found.succeeded, found.share) == ((), 0.0)
    (every,) = found.at_once
    assert (every.name, every.numbers["releases"]) == ("row order", 3)
    assert not every.succeeded
    assert found.to_json()["pairs"][2]["releases"] == ["r1", "r2"]


def test_rows_in_which_nobody_was_looked_for_are_noted() -> None:
    people = census(300)
    first, second = released(spec_of("age")), released(spec_of("age", "sex"))
    sexes = [f"{cell} " for cell in second[0]["sex"].to_pylist()]
    place = second[0].column_names.index("sex")
    other = second[0].set_column(place, "sex", pa.array(sexes)), second[1]

    sound = pair_of(first, second, original=people)
    strange = pair_of(first, other, original=people)

    assert not any("fit nobody" in note for note in sound.notes)
    assert [note for note in strange.notes if "fit nobody" in note] == [
        "r1: 300 of 300 released rows fit nobody of the original, and nobody was "
        "linked to them: are cells written alike?"
    ]
