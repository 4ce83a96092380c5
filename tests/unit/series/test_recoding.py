"""What a fitted recoding makes of new rows, case by case."""

import os
import stat
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from core_mondrian import (
    BestPolicy,
    DataError,
    InfeasibleError,
    KAnonymity,
    Limits,
    OriginalPolicy,
    OutputError,
    PaperPolicy,
    PrivacyModel,
    Recoding,
    Spec,
    SpecError,
    Suppression,
    anonymize,
    fit,
)
from core_mondrian.datasets import census
from core_mondrian.hierarchies.codes import Flat, Prefix
from core_mondrian.hierarchies.ranges import Ranges
from core_mondrian.hierarchies.tree import from_paths
from core_mondrian.models import (
    AverageRisk,
    DistinctLDiversity,
    EntropyLDiversity,
    KMap,
    TCloseness,
)
from core_mondrian.recoding.labels import stable_order
from core_mondrian.series.private_file import file_bytes, write_private
from core_mondrian.series.recoding import VERSION

COLUMNS = ("age", "sex", "education", "occupation")


def table(**columns: Any) -> pa.Table:
    return pa.table({name: pa.array(cells) for name, cells in columns.items()})


def ages(*pairs: tuple[Any, int]) -> list[Any]:
    """Each value so many times."""
    return [value for value, n in pairs for _ in range(n)]


def two_ages() -> Recoding:
    """One cut: those up to 30 and those from 40 on."""
    known = table(age=ages((20, 3), (30, 3), (40, 3), (50, 3)))
    return fit(known, Spec(("age",), (KAnonymity(6),)))


def shown(found: Any, name: str = "age") -> Counter[Any]:
    return Counter(found.data[name].to_pylist())


@pytest.mark.parametrize(
    "policy",
    [BestPolicy(), BestPolicy(effort="max"), PaperPolicy(), OriginalPolicy()],
    ids=["best", "best max", "paper", "original"],
)
def test_the_table_of_the_fit_is_shown_as_anonymize_shows_it(policy: Any) -> None:
    rows = census(3_000)
    recoding = fit(rows, Spec(COLUMNS, (KAnonymity(7),), policy=policy))

    found = recoding.apply(rows)

    release = anonymize(rows, recoding.spec)
    assert found.digest == release.digest
    assert found.n_shown == found.n_rows == 3_000
    assert found.data.equals(release.data)


def test_numbers_beyond_the_fit_go_where_thresholds_lead_and_widen_the_range() -> None:
    recoding = two_ages()

    found = recoding.apply(table(age=ages((5, 6), (35, 1), (99, 6))))

    assert shown(found) == {"[5, 30]": 6, "[35, 99]": 7}


def test_a_cohort_shows_the_box_of_its_node_where_its_rows_are_inside() -> None:
    found = two_ages().apply(table(age=ages((25, 6), (45, 6))))

    assert shown(found) == {"[20, 30]": 6, "[40, 50]": 6}


def test_too_few_rows_move_up_to_an_ancestor() -> None:
    found = two_ages().apply(table(age=ages((20, 3), (50, 3))))

    assert shown(found) == {"[20, 50]": 6}


def test_rows_too_few_for_the_root_are_not_shown_and_counted() -> None:
    found = two_ages().apply(table(age=ages((20, 2), (50, 3))))

    assert len(found.data) == found.n_shown == 0
    assert found.n_rows == 5
    assert found.shown.tolist() == [False] * 5


@pytest.mark.parametrize("too_small", ["wait", "withhold"])
def test_too_few_rows_may_stay_out_instead(too_small: Any) -> None:
    recoding = replace(two_ages(), too_small=too_small)

    found = recoding.apply(table(age=ages((20, 5), (50, 7))))

    assert shown(found) == {"[40, 50]": 7}
    assert found.shown.tolist() == [False] * 5 + [True] * 7


def test_an_unknown_choice_of_too_small_is_refused() -> None:
    with pytest.raises(SpecError, match="too_small is one of ancestor"):
        fit(table(age=[1, 2]), Spec(("age",), (KAnonymity(2),)), too_small="up")  # type: ignore[arg-type]


def test_a_missing_value_stops_where_the_fit_has_seen_none() -> None:
    recoding = two_ages()

    found = recoding.apply(table(age=[*ages((20, 6), (50, 6)), *[None] * 6]))

    assert shown(found) == {"[20, 30]": 6, "[40, 50]": 6, None: 6}


def test_missing_values_go_where_the_fit_had_them() -> None:
    known = table(age=[*ages((20, 6), (40, 6)), *[None] * 6])
    recoding = fit(known, Spec(("age",), (KAnonymity(6),)))

    found = recoding.apply(known)

    assert shown(found) == {"20": 6, "40": 6, None: 6}


def jobs() -> Recoding:
    known = table(job=ages(("cook", 6), ("nurse", 6), ("smith", 6)))
    return fit(known, Spec(("job",), (KAnonymity(6),)))


def test_a_label_that_the_fit_lacks_stops_at_the_cut() -> None:
    found = jobs().apply(table(job=ages(("cook", 6), ("pilot", 3), ("judge", 3))))

    assert shown(found, "job") == {"cook": 6, "*": 6}


def test_a_new_label_takes_no_others_down() -> None:
    """One pilot among smiths must not turn their label into a star."""
    found = jobs().apply(
        table(job=ages(("cook", 6), ("nurse", 6), ("smith", 6), ("pilot", 1)))
    )

    assert shown(found, "job") == {"cook": 6, "nurse": 6, "smith": 6}
    assert found.n_shown == 18


ZOO = from_paths(
    [
        ("cat", "mammal", "*"),
        ("dog", "mammal", "*"),
        ("cow", "mammal", "*"),
        ("owl", "bird", "*"),
        ("hen", "bird", "*"),
    ]
)


def animals(**options: Any) -> Recoding:
    known = table(pet=ages(("cat", 3), ("dog", 3), ("owl", 3), ("hen", 3)))
    spec = Spec(("pet",), (KAnonymity(6),), hierarchies={"pet": ZOO}, **options)
    return fit(known, spec)


def test_a_leaf_of_the_hierarchy_that_the_fit_has_not_seen_goes_to_its_group() -> None:
    found = animals().apply(table(pet=ages(("cow", 6), ("owl", 6))))

    assert shown(found, "pet") == {"mammal": 6, "bird": 6}


def test_a_label_outside_the_hierarchy_is_refused_by_default() -> None:
    with pytest.raises(DataError, match="does not cover 1 of 2 values") as caught:
        animals().apply(table(pet=ages(("cat", 6), ("newt", 1))))

    assert "newt" not in str(caught.value)


def test_it_may_hang_under_the_root_instead() -> None:
    found = animals(uncovered="own branch").apply(
        table(pet=ages(("cat", 6), ("newt", 6)))
    )

    assert shown(found, "pet") == {"mammal": 6, "*": 6}


def test_or_count_as_missing() -> None:
    found = animals(uncovered="suppress").apply(
        table(pet=ages(("cat", 6), ("newt", 6)))
    )

    assert shown(found, "pet") == {"mammal": 6, None: 6}


def test_a_builder_places_values_that_the_fit_lacks() -> None:
    known = table(zip=ages(("13053", 3), ("13068", 3), ("14850", 3), ("14853", 3)))
    spec = Spec(("zip",), (KAnonymity(6),), hierarchies={"zip": Prefix(steps=(2,))})
    recoding = fit(known, spec)
    assert shown(recoding.apply(known), "zip") == {"130**": 6, "148**": 6}

    found = recoding.apply(table(zip=ages(("13099", 6), ("14800", 6), ("99999", 2))))

    assert shown(found, "zip") == {"130**": 6, "148**": 6}
    assert found.n_shown == 12


def test_a_builder_of_ranges_places_new_numbers() -> None:
    known = table(age=ages((21, 3), (22, 3), (31, 3), (35, 3)))
    spec = Spec(("age",), (KAnonymity(6),), hierarchies={"age": Ranges(widths=(10,))})

    found = fit(known, spec).apply(table(age=ages((20, 2), (29, 4), (39, 6))))

    assert shown(found) == {"[20, 30)": 6, "[30, 40)": 6}


def test_numbers_that_are_codes_are_labels() -> None:
    known = table(code=ages((7, 6), (9, 6)))
    spec = Spec(
        ("code",),
        (KAnonymity(6),),
        hierarchies={"code": Flat()},
        uncovered="own branch",
    )

    found = fit(known, spec).apply(table(code=ages((7, 6), (8, 6))))

    assert shown(found, "code") == {"7": 6, "*": 6}


# Types


def test_whole_numbers_that_pandas_made_floats_are_whole_numbers() -> None:
    rows = pd.DataFrame({"age": [*[20.0] * 6, *[50.0] * 6, *[float("nan")] * 6]})

    found = two_ages().apply(rows)

    assert Counter(found.data["age"].fillna("none")) == {
        "[20, 30]": 6,
        "[40, 50]": 6,
        "none": 6,
    }


@pytest.mark.parametrize(
    "cells", [[20.5] * 6, ["young"] * 6, [2**70 + 0.0] * 6], ids=str
)
def test_values_that_do_not_fit_the_type_of_the_fit_are_refused(cells: Any) -> None:
    with pytest.raises(DataError, match="'age' was int64 when the recoding was fitted"):
        two_ages().apply(table(age=cells))


def test_dates_of_another_unit_are_the_same_dates() -> None:
    days = pa.array([0] * 6 + [10] * 6, pa.int32()).cast(pa.date32())
    recoding = fit(pa.table({"day": days}), Spec(("day",), (KAnonymity(6),)))

    found = recoding.apply(pa.table({"day": days.cast(pa.timestamp("ms"))}))

    assert shown(found, "day") == {"1970-01-01": 6, "1970-01-11": 6}


@pytest.mark.parametrize("kind", [pa.Table, pd.DataFrame, pl.DataFrame])
def test_the_callers_kind_of_frame_comes_back(kind: Any) -> None:
    rows = table(age=ages((20, 6), (50, 7)), note=list("abcdefghijklm"))
    frame = {pd.DataFrame: rows.to_pandas, pl.DataFrame: lambda: pl.from_arrow(rows)}

    found = two_ages().apply(frame.get(kind, lambda: rows)())

    assert isinstance(found.data, kind)
    assert (
        list(found.data["note"]) == list(rows["note"].to_pylist()) or kind is pa.Table
    )


def test_a_missing_column_is_named() -> None:
    with pytest.raises(SpecError, match=r"not in the data: 'age'"):
        two_ages().apply(table(years=[1, 2]))


def test_no_rows_are_fine() -> None:
    found = two_ages().apply(table(age=pa.array([], pa.int64())))

    assert found.n_rows == len(found.data) == 0


def test_a_column_that_was_all_missing_takes_values() -> None:
    known = pa.table({"age": pa.nulls(6, pa.int64()), "sex": ages(("f", 3), ("m", 3))})
    recoding = fit(known, Spec(("age", "sex"), (KAnonymity(3),)))

    found = recoding.apply(table(age=[1, 2, 3], sex=["f"] * 3))

    assert found.data.to_pylist() == [{"age": None, "sex": "f"}] * 3


# Roles, formats


def test_identifiers_go_and_pseudonyms_need_a_key() -> None:
    known = table(id=list("abcdef"), no=list("uvwxyz"), age=[1] * 6)
    spec = Spec(("age",), (KAnonymity(6),), identifiers=("id",), pseudonyms=("no",))
    recoding = fit(known, spec)
    with pytest.raises(SpecError, match="need a key"):
        recoding.apply(known)

    found = recoding.apply(known, key=b"0" * 16)

    assert found.data.column_names == ["no", "age"]
    again = anonymize(known, recoding.spec, key=b"0" * 16)
    assert found.data["no"].equals(again.data["no"])


def test_persons_are_counted_where_there_is_a_unit() -> None:
    known = table(age=ages((20, 8), (50, 8)), who=[i // 2 for i in range(16)])
    recoding = fit(known, Spec(("age",), (KAnonymity(4),), unit="who"))
    new = table(age=ages((20, 4), (50, 4)), who=[1, 1, 2, 2, 3, 4, 5, 6])

    found = recoding.apply(new)

    assert shown(found) == {"[20, 50]": 4, "50": 4} or shown(found) == {"50": 4}
    assert "who" not in found.data.column_names
    assert found.verification.fewest_persons == 4


def test_blank_rows_stay_in_their_places() -> None:
    recoding = replace(
        fit(
            table(age=ages((20, 6), (50, 6)), note=[1] * 12),
            Spec(("age",), (KAnonymity(6),), suppressed="blank"),
        ),
        too_small="wait",
    )

    found = recoding.apply(table(age=[20, *[50] * 6], note=[7, *[8] * 6]))

    assert found.data.to_pylist()[0] == {"age": None, "note": None}
    assert found.data["note"].to_pylist()[1:] == [8] * 6


def test_rows_apart_are_given_back_as_they_came() -> None:
    spec = Spec(("age",), (KAnonymity(6),), suppressed="separate")
    recoding = replace(fit(table(age=ages((20, 6), (50, 6))), spec), too_small="wait")

    found = recoding.apply(table(age=[20, *[50] * 6]))

    assert found.suppressed.to_pylist() == [{"age": 20}]


@pytest.mark.parametrize(
    ("numbers", "cell"),
    [("interval", "[20, 30]"), ("struct", {"min": 20, "max": 30}), ("midpoint", 25.0)],
)
def test_numbers_in_every_format_of_boxes(numbers: Any, cell: Any) -> None:
    known = table(age=ages((20, 3), (30, 3), (40, 6)))
    recoding = fit(known, Spec(("age",), (KAnonymity(6),), numbers=numbers))

    found = recoding.apply(table(age=[25] * 6))

    assert found.data["age"].to_pylist() == [cell] * 6


def test_bounds_are_columns() -> None:
    known = table(age=ages((20, 3), (30, 3), (40, 6)))
    recoding = fit(known, Spec(("age",), (KAnonymity(6),), numbers="bounds"))

    found = recoding.apply(table(age=[25] * 6))

    assert found.data.to_pylist() == [{"age_min": 20, "age_max": 30}] * 6


def test_sets_are_those_of_the_cohort() -> None:
    known = table(job=ages(("cook", 3), ("nurse", 3), ("smith", 3)))
    recoding = fit(known, Spec(("job",), (KAnonymity(9),), categories="set"))

    found = recoding.apply(table(job=ages(("cook", 4), ("pilot", 5))))

    assert shown(found, "job") == {"{cook, pilot}": 9}


@pytest.mark.parametrize("seed", range(8))
def test_rows_of_the_fit_stop_in_their_own_class_where_cuts_divide_sets(
    seed: int,
) -> None:
    """Two sets of labels that one cut parts may lie under the same label."""
    dice = np.random.default_rng(seed)
    pets = np.array(["cat", "cow", "dog", "hen", "owl"])
    rows = table(
        age=dice.integers(0, 8, 60).tolist(), pet=dice.choice(pets, 60).tolist()
    )
    recoding = fit(
        rows,
        Spec(("age", "pet"), (KAnonymity(3),), categories="set"),
        too_small="withhold",
    )

    found = recoding.apply(rows)

    assert found.n_shown == 60
    assert found.verification.n_classes == recoding.tree.leaves.size


def test_cohorts_are_numbered_if_asked() -> None:
    known = table(age=ages((20, 6), (50, 6)))
    recoding = fit(known, Spec(("age",), (KAnonymity(6),), class_id="class"))

    found = recoding.apply(known)

    assert Counter(found.data["class"].to_pylist()) == {1: 6, 2: 6}


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"missing": "pattern"}, "missing = 'pattern'"),
        ({"suppress": Suppression(rows=1)}, "a suppression budget"),
        ({"nice": True}, "nice bounds"),
        ({"numbers": "mean"}, "mean, median or sample"),
        ({"numbers_by_column": {"age": "sample"}}, "mean, median or sample"),
        ({"models": (KMap(2, table(age=[1, 1])),)}, "a population"),
    ],
)
def test_what_no_recoding_can_do_is_refused(wrong: Any, why: str) -> None:
    spec = Spec(("age",), **{"models": (KAnonymity(2),), **wrong})

    with pytest.raises(SpecError, match=why):
        fit(table(age=[1, 1]), spec)


def test_an_infeasible_fit_says_so() -> None:
    with pytest.raises(InfeasibleError):
        fit(table(age=[1]), Spec(("age",), (KAnonymity(2),)))


# Models beyond k


def sick(l_values: int = 2) -> Recoding:
    known = table(age=ages((20, 4), (50, 4)), ill=["flu", "cold", "flu", "cold"] * 2)
    model = DistinctLDiversity(l_values, "ill")
    return fit(known, Spec(("age",), (KAnonymity(4), model)))


def test_a_cohort_that_fails_a_model_moves_up() -> None:
    new = table(age=ages((20, 4), (50, 4)), ill=["flu"] * 4 + ["cold"] * 4)

    found = sick().apply(new)

    assert shown(found) == {"[20, 50]": 8}
    assert found.verification.models[1].reached == 2


def test_new_sensitive_values_count_as_values() -> None:
    new = table(age=ages((20, 4), (50, 4)), ill=["flu", "gout"] * 4)

    assert shown(sick().apply(new)) == {"20": 4, "50": 4}


def close(t: float = 0.3, **more: Any) -> Recoding:
    known = table(age=ages((20, 4), (50, 4)), ill=["a", "a", "b", "b"] * 2)
    model = TCloseness(t, "ill", **more)
    return fit(known, Spec(("age",), (KAnonymity(4), model)))


def test_t_closeness_compares_with_the_table_of_the_fit() -> None:
    """All of the new rows have one value: close to themselves, far from the fit."""
    new = table(age=ages((20, 4), (50, 4)), ill=["a"] * 8)

    assert close().apply(new).n_shown == 0


def test_t_closeness_holds_in_cohorts_like_the_fit() -> None:
    new = table(age=ages((20, 4), (50, 4)), ill=["a", "b", "a", "b"] + ["a"] * 4)

    found = close().apply(new)

    assert shown(found) == {"20": 4}
    assert found.verification.models[1].reached == 0


def test_a_value_that_the_fit_lacks_is_not_close_to_it() -> None:
    new = table(age=ages((20, 8)), ill=["a", "b"] * 3 + ["a", "c"])

    assert close(t=0.99).apply(new).n_shown == 0
    assert close(t=0.99).apply(new.slice(0, 6)).n_shown == 6


def test_a_missing_value_that_the_fit_lacks_is_not_close_to_it() -> None:
    new = table(age=ages((20, 8)), ill=["a", "b"] * 3 + ["a", None])

    assert close(t=0.99).apply(new).n_shown == 0


def test_average_risk_is_asked_of_every_cohort() -> None:
    known = table(age=ages((20, 10), (50, 10)))
    recoding = fit(known, Spec(("age",), (KAnonymity(2), AverageRisk(0.1))))

    found = recoding.apply(table(age=ages((20, 3), (50, 12))))

    assert shown(found) == {"50": 12}


@dataclass(frozen=True)
class AtMostHalf(PrivacyModel):
    """Somebody's own: no value has more than half of a class."""

    sensitive: str

    @staticmethod
    def measure(rows: Any, counts: Any, _table: Any, _parameters: Any) -> float:
        return float(counts.max() / rows)

    def limits(self) -> Limits:
        return Limits(at_most=0.5)


def own() -> Spec:
    return Spec(("age",), (KAnonymity(4), AtMostHalf("ill")))


@pytest.mark.filterwarnings("ignore:.*is not compiled")
def test_a_model_of_ones_own_is_asked_too() -> None:
    known = table(age=ages((20, 4), (50, 4)), ill=["a", "a", "b", "b"] * 2)
    recoding = fit(known, own())

    found = recoding.apply(
        table(age=ages((20, 4), (50, 4)), ill=["a", "b", "a", "b", *"aaab"])
    )

    assert shown(found) == {"20": 4}


# Saving


def saved(recoding: Recoding, folder: Path) -> Path:
    path = folder / "people.recoding"
    recoding.save(path)
    return path


def everything() -> tuple[Recoding, pa.Table]:
    """A recoding with all kinds of columns, values and models."""
    rows = census(2_000, seed=5)
    spec = Spec(
        ("age", "sex", "zip_code", "education"),
        (KAnonymity(5), EntropyLDiversity(1.5, "income"), TCloseness(0.5, "race")),
        identifiers=("person_id",),
        hierarchies={"zip_code": Prefix(steps=(1, 1, 1))},
    )
    return fit(rows, spec), rows


def test_a_saved_recoding_does_the_same(tmp_path: Path) -> None:
    recoding, _ = everything()
    new = census(3_000, seed=9)

    again = Recoding.load(saved(recoding, tmp_path))

    assert again.spec.to_json() == recoding.spec.to_json()
    assert again.apply(new).data.equals(recoding.apply(new).data)
    assert again.apply(new).n_shown > 0


@pytest.mark.skipif(os.name != "posix", reason="modes of files are those of POSIX")
def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    path = saved(two_ages(), tmp_path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_it_is_not_overwritten_unless_asked(tmp_path: Path) -> None:
    path = saved(two_ages(), tmp_path)
    with pytest.raises(SpecError, match="the file exists"):
        two_ages().save(path)

    two_ages().save(path, overwrite=True)
    with pytest.raises(OutputError):
        two_ages().save(tmp_path / "nowhere" / "x")


def test_a_spec_that_is_the_same_is_taken(tmp_path: Path) -> None:
    path = saved(two_ages(), tmp_path)

    again = Recoding.load(path, Spec(("age",), (KAnonymity(6),)))

    assert again.spec == two_ages().spec


def test_a_changed_spec_is_refused(tmp_path: Path) -> None:
    path = saved(two_ages(), tmp_path)

    with pytest.raises(SpecError, match="another spec, which differs in models"):
        Recoding.load(path, Spec(("age",), (KAnonymity(5),)))


@pytest.mark.filterwarnings("ignore:.*is not compiled")
def test_a_model_of_ones_own_has_to_be_given_again(tmp_path: Path) -> None:
    known = table(age=ages((20, 4), (50, 4)), ill=["a", "a", "b", "b"] * 2)
    path = saved(fit(known, own()), tmp_path)
    with pytest.raises(SpecError, match="does not state in full"):
        Recoding.load(path)

    assert Recoding.load(path, own()).apply(known).n_shown == 8


def test_a_damaged_file_is_refused_wherever_it_is_damaged(tmp_path: Path) -> None:
    path = saved(two_ages(), tmp_path)
    raw = path.read_bytes()

    for place in range(0, len(raw), max(1, len(raw) // 500)):
        changed = bytearray(raw)
        changed[place] ^= 0x41
        path.write_bytes(bytes(changed))
        with pytest.raises(DataError) as caught:
            Recoding.load(path)
        assert caught.value.hint


@pytest.mark.parametrize("n", [0, 1, 10, 500])
def test_a_file_that_was_cut_off_is_refused(tmp_path: Path, n: int) -> None:
    path = saved(two_ages(), tmp_path)
    path.write_bytes(path.read_bytes()[:n])

    with pytest.raises(DataError, match="damaged"):
        Recoding.load(path)


def test_a_recoding_of_another_version_says_so(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write_private(path, "recoding", 99, two_ages().to_parts(), overwrite=False)

    with pytest.raises(DataError, match="of version 99, and this program reads") as one:
        Recoding.load(path)

    assert "make it anew" in str(one.value.hint)


def test_another_kind_of_file_is_no_recoding(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(file_bytes("something else", 1, {}))
    with pytest.raises(DataError, match="not a recoding"):
        Recoding.load(path)
    with pytest.raises(DataError, match="No such file"):
        Recoding.load(tmp_path / "y")


def test_a_file_without_its_parts_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    parts = two_ages().to_parts()
    for name in parts:
        fewer = {key: part for key, part in parts.items() if key != name}
        write_private(path, "recoding", VERSION, fewer, overwrite=True)
        with pytest.raises(DataError, match="lacks parts"):
            Recoding.load(path)


def test_its_text_names_columns_and_no_values() -> None:
    assert repr(jobs()) == "Recoding(job; 3 classes)"


@pytest.mark.parametrize("most", [1, 300, 70_000, 2**40])
def test_numbers_are_ordered_as_a_stable_sort_does(most: int) -> None:
    numbers = np.random.default_rng(3).integers(0, most, 5_000)

    assert np.array_equal(stable_order(numbers), np.argsort(numbers, kind="stable"))
    assert stable_order(numbers[:0]).size == 0
