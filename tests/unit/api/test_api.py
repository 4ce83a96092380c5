"""anonymize() at the edges: tiny tables, odd names, refusals that tell nothing."""

import json
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import Frame
from oracle import Closeness

from core_mondrian import (
    DataError,
    InfeasibleError,
    KAnonymity,
    MondrianError,
    OriginalPolicy,
    PaperPolicy,
    Spec,
    SpecError,
    Suppression,
    anonymize,
    verify,
)
from core_mondrian.hierarchies.tree import from_paths
from core_mondrian.models.base import Limits

CANARY = "CANARY-7f3a"


def k_spec(columns: Any, k: int = 2, budget: int = 0, **more: Any) -> Spec:
    return Spec(
        tuple(columns), (KAnonymity(k),), suppress=Suppression(rows=budget), **more
    )


def shown(release: Any, name: str) -> list[Any]:
    cells: list[Any] = release.data[name].to_pylist()
    return cells


# tiny and degenerate tables


def test_one_row_cannot_hide() -> None:
    with pytest.raises(InfeasibleError, match="1 rows, but one class needs 2"):
        anonymize(pa.table({"a": [1]}), k_spec("a"))


def test_no_row_cannot_hide_either(frame_kind: Frame) -> None:
    table = frame_kind(pa.table({"a": pa.array([], pa.int64())}))

    with pytest.raises(InfeasibleError, match="0 rows"):
        anonymize(table, k_spec("a"))


@pytest.mark.parametrize("budget", [0, 5])
def test_k_above_the_number_of_rows_is_infeasible_whatever_the_budget(
    budget: int,
) -> None:
    with pytest.raises(InfeasibleError, match="k = 5 is the nearest"):
        anonymize(pa.table({"a": [1, 2, 3, 4, 5]}), k_spec("a", k=6, budget=budget))


def test_k_of_all_rows_makes_one_class() -> None:
    release = anonymize(pa.table({"a": [1, 2, 3], "b": list("xyy")}), k_spec("ab", k=3))

    assert shown(release, "a") == ["[1, 3]"] * 3
    assert shown(release, "b") == ["*"] * 3


def test_constants_are_released_as_they_are() -> None:
    release = anonymize(pa.table({"a": [7] * 4, "b": ["x"] * 4}), k_spec("ab"))

    assert shown(release, "a") == ["7"] * 4
    assert shown(release, "b") == ["x"] * 4
    assert release.tree.n_nodes == 1


@pytest.mark.parametrize("missing", ["pattern", "value"])
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(pa.null(), id="null"),
        pytest.param(pa.float64(), id="float"),
        pytest.param(pa.string(), id="text"),
        pytest.param(pa.date32(), id="date"),
    ],
)
def test_column_that_is_all_missing_stays_so(
    kind: Any, missing: Any, frame_kind: Frame
) -> None:
    table = pa.table({"a": pa.array([None] * 4, kind), "b": [1, 1, 2, 2]})

    release = anonymize(frame_kind(table), k_spec("ab", missing=missing))

    assert release.verification.n_classes == 2
    column = release.data["a"]
    cells = column.to_pylist() if isinstance(release.data, pa.Table) else list(column)
    assert all(pd.isna(value) for value in cells)


def test_hierarchy_over_a_column_that_is_all_missing() -> None:
    tree = from_paths([("x", "*"), ("y", "*")])
    table = pa.table({"a": pa.nulls(3)})

    release = anonymize(table, k_spec("a", hierarchies={"a": tree}))

    assert shown(release, "a") == [None] * 3


# where median cuts break


@pytest.mark.parametrize(
    ("policy", "n_classes"),
    [
        pytest.param(PaperPolicy(), 2, id="paper"),
        pytest.param(OriginalPolicy(), 1, id="original"),
    ],
)
def test_ties_around_the_median_neither_lose_rows_nor_make_small_classes(
    policy: Any, n_classes: int
) -> None:
    # Basic_Mondrian puts 1 x 9 and 2 x 10 on the left, and 3 alone on the right.
    table = pa.table({"a": [1] * 9 + [2] * 10 + [3]})

    release = anonymize(table, Spec(("a",), (KAnonymity(5),), policy=policy))

    sizes = Counter(shown(release, "a"))
    assert sum(sizes.values()) == 20
    assert len(sizes) == n_classes
    assert min(sizes.values()) >= 5


def test_rows_tied_at_the_median_may_go_to_either_side() -> None:
    table = pa.table({"a": [1, 1, 2, 2, 2, 2]})

    release = anonymize(table, k_spec("a"))

    assert Counter(shown(release, "a")) == {"1": 2, "2": 4}


def test_rows_with_a_missing_number_do_not_vanish() -> None:
    table = pa.table({"a": [1, 2, 3, 4, None, None], "b": list("xxyyxy")})

    releases = [anonymize(table, k_spec("ab", missing=m)) for m in ("pattern", "value")]

    assert [len(release.data) for release in releases] == [6, 6]
    assert shown(releases[0], "a")[-2:] == [None, None]


def test_as_many_categories_as_rows() -> None:
    table = pa.table({"a": [f"v{i}" for i in range(50)], "b": list(range(50))})

    release = anonymize(table, k_spec("ab", k=5))

    assert release.verification.smallest_class >= 5
    assert set(shown(release, "a")) == {"*"}


def test_two_hundred_quasi_identifiers() -> None:
    rng = np.random.default_rng(1)
    columns = {f"q{i}": rng.integers(0, 6, 40) for i in range(200)}

    release = anonymize(pa.table(columns), k_spec(columns, k=3))

    assert release.verification.smallest_class >= 3
    assert release.n_suppressed == 0


# names


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("with space", id="space"),
        pytest.param("größe 年齢 🎂", id="unicode"),
        pytest.param("two\nlines\tand; [more]", id="newline"),
        pytest.param("__class__", id="dunder"),
    ],
)
def test_any_column_name_will_do(name: str, frame_kind: Frame) -> None:
    table = pa.table({name: [1, 1, 2, 2], "other": [1, 2, 3, 4]})

    release = anonymize(frame_kind(table), k_spec([name]))

    assert release.verification.n_classes == 2
    assert json.dumps(release.manifest())


def test_missing_column_is_named_and_the_present_ones_are_listed(
    frame_kind: Frame,
) -> None:
    table = frame_kind(pa.table({"age": [30, 40]}))

    with pytest.raises(
        SpecError,
        match=r"not in the data: 'agee'\nhint: did you mean 'age'\? it has",
    ):
        anonymize(table, k_spec(["agee"]))


# arguments


def test_fewer_than_one_thread_is_refused() -> None:
    with pytest.raises(SpecError, match="threads is at least 1, got 0"):
        anonymize(pa.table({"a": [1, 1]}), k_spec("a"), threads=0)


def test_progress_is_told_stage_by_stage() -> None:
    told: list[tuple[str, float]] = []

    release = anonymize(
        pa.table({"a": [1, 1, 2, 2]}),
        k_spec("a"),
        progress=lambda stage, done: told.append((stage, done)),
    )

    stages = list(dict.fromkeys(stage for stage, _ in told))
    assert stages == list(release.seconds)
    assert all((stage, 1.0) in told for stage in stages)
    assert all(0.0 <= done <= 1.0 for _, done in told)


def test_identifiers_are_removed(frame_kind: Frame) -> None:
    table = frame_kind(pa.table({"name": list("wxyz"), "a": [1, 1, 2, 2]}))

    release = anonymize(table, k_spec("a", identifiers=("name",)))

    frame = release.data
    names = frame.column_names if isinstance(frame, pa.Table) else frame.columns
    assert list(names) == ["a"]


def test_suppressed_rows_can_stay_as_blanks() -> None:
    table = pa.table({"a": list("xxxxxy"), "s": list("123456")})

    release = anonymize(
        table,
        k_spec(*("a", 3, 1), policy=PaperPolicy(), inline_below=0, suppressed="blank"),
    )

    assert shown(release, "a") == ["x"] * 5 + [None]
    assert release.n_suppressed == 1
    assert len(release.data) == 6


# refusals


def _mixed(*cells: object) -> pd.DataFrame:
    return pd.DataFrame({"a": pd.Series(list(cells), dtype=object)})


CANARY_TREE = from_paths([("x", "*"), ("y", "*")])
REFUSED: list[Any] = [
    pytest.param(lambda: _mixed(1, CANARY), {}, DataError, id="number and text"),
    pytest.param(lambda: _mixed(b"x", CANARY), {}, DataError, id="bytes and text"),
    pytest.param(lambda: _mixed(CANARY, {1}), {}, DataError, id="text and set"),
    pytest.param(lambda: _mixed(CANARY, 2.5), {}, DataError, id="text and float"),
    pytest.param(
        lambda: pa.table({"a": [[CANARY], [CANARY]]}), {}, DataError, id="lists"
    ),
    pytest.param(
        lambda: pa.table({"a": [CANARY, "x"]}),
        {"hierarchies": {"a": CANARY_TREE}},
        DataError,
        id="not in the hierarchy",
    ),
    pytest.param(
        lambda: pa.table({"a": [CANARY]}), {}, InfeasibleError, id="too few rows"
    ),
    pytest.param(
        lambda: pl.LazyFrame({"a": [CANARY, CANARY]}), {}, SpecError, id="lazy frame"
    ),
    pytest.param(lambda: [CANARY, CANARY], {}, SpecError, id="no frame at all"),
    pytest.param(
        lambda: pd.DataFrame([[CANARY, CANARY]] * 2, columns=["a", "a"]),
        {},
        DataError,
        id="two columns of one name",
    ),
]


@pytest.mark.parametrize(("make", "options", "error"), REFUSED)
def test_refusals_never_quote_a_cell(
    make: Callable[[], Any],
    options: dict[str, Any],
    error: type[MondrianError],
    caplog: pytest.LogCaptureFixture,
) -> None:
    spec = k_spec("a", **{"missing": "pattern", **options})

    with pytest.raises(error) as caught:
        anonymize(make(), spec)

    told = str(caught.value) + repr(caught.value) + caplog.text
    assert CANARY not in told
    shown_to_user = traceback.format_exception_only(caught.value)
    assert CANARY not in "".join(shown_to_user)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_integers_beyond_64_bits_are_refused_like_any_other_mix() -> None:
    with pytest.raises(DataError):
        anonymize(_mixed(2**70, 1), k_spec("a"))


@pytest.mark.parametrize(
    "infinite", [pytest.param(np.inf, id="+"), pytest.param(-np.inf, id="-")]
)
def test_infinite_numbers_are_refused(infinite: float, frame_kind: Frame) -> None:
    table = frame_kind(pa.table({"a": [1.0, infinite, 2.0, 3.0]}))

    with pytest.raises(DataError, match="column 'a' holds infinite numbers"):
        anonymize(table, k_spec("a"))


def test_lazy_frame_is_refused_with_the_way_out() -> None:
    with pytest.raises(SpecError, match=r"\.collect\(\) a lazy frame"):
        anonymize(pl.LazyFrame({"a": [1, 1]}), k_spec("a"))


def test_manifest_and_repr_hold_no_cell() -> None:
    table = pa.table(
        {"a": [CANARY, CANARY, "x", "x"], "b": [987654321, 987654321, 5, 5]}
    )

    release = anonymize(table, k_spec("ab"))

    told = json.dumps(release.manifest()) + repr(release) + repr(release.spec)
    told += repr(release.funnel) + repr(release.verification) + repr(release.tree)
    assert CANARY not in told
    assert "987654321" not in told
    assert shown(release, "a") == [CANARY, CANARY, "x", "x"]


def test_manifest_is_the_same_for_the_same_data() -> None:
    columns = {"a": list(range(20)), "b": list("xy" * 10)}
    table = pa.table(columns)

    first = anonymize(table, k_spec("ab"), threads=1).manifest()
    second = anonymize(table.to_pandas()[::-1], k_spec("ab"), threads=2).manifest()

    assert first == second


# models that compare a class with the table


def test_engine_and_verifier_compare_a_class_with_the_same_table() -> None:
    table = pa.table({"a": [2, 2, 3, 1, 2, 2, 0], "s": list("yxxxyxx")})
    spec = Spec(
        ("a",),
        (KAnonymity(2), Closeness(0.3)),
        policy=PaperPolicy(),
        suppress=Suppression(rows=2),
        missing="value",
        inline_below=0,
    )

    release = anonymize(table, spec)

    assert release.n_suppressed <= 2


def test_model_that_not_even_one_class_satisfies_is_infeasible() -> None:
    table = pa.table({"a": [1, 2, 3, 4], "s": list("xxxx")})

    with pytest.raises(InfeasibleError, match="reaches 0") as raised:
        anonymize(table, Spec(("a",), (Never(0.5, "s"),)))
    assert raised.value.hint == "bring more rows, or ask for less"


class Never(Closeness):
    def limits(self) -> Limits:
        return Limits(at_most=-1.0)


def test_release_passes_the_public_verifier(frame_kind: Frame) -> None:
    table = frame_kind(pa.table({"a": list(range(30)), "b": list("xyz" * 10)}))
    spec = k_spec("ab", k=4)

    release = anonymize(table, spec)

    assert verify(release.data, spec).smallest_class >= 4
