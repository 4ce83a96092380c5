"""A policy of the user's own (§3.4), from Python, a spec file and the command line."""

import importlib.util
import math
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import CANARY, Command
from hypothesis import given
from hypothesis import strategies as st
from support.partition_store import grow_both_ways

from core_mondrian import (
    BestPolicy,
    KAnonymity,
    OriginalPolicy,
    PaperPolicy,
    Release,
    Spec,
    SpecError,
    Suppression,
    anonymize,
    load_spec,
    verify,
)
from core_mondrian.datasets import census
from core_mondrian.encoding.encoder import collapse, encode
from core_mondrian.engine.grow import grow
from core_mondrian.errors import SlowModelWarning
from core_mondrian.models import DistinctLDiversity
from core_mondrian.models.own_files import load_class
from core_mondrian.tables.frames import open_frame

# Policies have all the parameters that they are given, and no types, as a user's.
# ruff: noqa: ANN001, ANN201, ANN205, ARG002, ARG004
# mypy: disable-error-code="no-untyped-def"

pytestmark = pytest.mark.filterwarnings("ignore::core_mondrian.errors.SlowModelWarning")

KNOWN = ("age", "sex", "occupation", "hours_per_week")

OWN = '''
"""Policies of a user."""

import math
from dataclasses import dataclass

from core_mondrian import PaperPolicy


@dataclass(frozen=True)
class SameScore(PaperPolicy):
    """The paper's score, written again."""

    @staticmethod
    def score(column, codes, rows, values, parts, parameters):
        if values.size:
            return relative(*number_spreads(codes, rows, values, parts))
        return relative(*category_spreads(rows, parts))


def relative(after, before):
    if before == 0.0:
        return 1.0
    return max(-1.0, min(1.0, after / before - 1.0))


def deviation(codes, rows, values, parts, part):
    """Standard deviation and rows of a part; of all of them if it is -2."""
    n, total, squares, origin, is_first = 0, 0.0, 0.0, 0.0, True
    for i in range(codes.size):
        value = values[i]
        if (part == -2 or parts[i] == part) and not math.isnan(value):
            if is_first:
                origin, is_first = value, False
            n += rows[i]
            total += rows[i] * (value - origin)
    if n == 0:
        return 0.0, 0
    mean = total / n
    for i in range(codes.size):
        value = values[i]
        if (part == -2 or parts[i] == part) and not math.isnan(value):
            apart = value - origin - mean
            squares += rows[i] * (apart * apart)
    return math.sqrt(squares / n), n


def number_spreads(codes, rows, values, parts):
    before, _ = deviation(codes, rows, values, parts, -2)
    left, n_left = deviation(codes, rows, values, parts, 0)
    right, n_right = deviation(codes, rows, values, parts, 1)
    if n_left + n_right == 0:
        return 1.0, 0.0
    return (n_left * left + n_right * right) / (n_left + n_right), before


def mode_deviation(mode, n):
    share = mode / n
    return math.sqrt(share * (1.0 - share))


def category_spreads(rows, parts):
    kept, weighted = 0, 0.0
    for part in range(parts.max() + 1):
        n, mode = 0, 0
        for i in range(rows.size):
            if parts[i] == part:
                n += rows[i]
                mode = max(mode, rows[i])
        kept += n
        weighted += n * mode_deviation(mode, n)
    return weighted / kept, mode_deviation(rows.max(), rows.sum())


@dataclass(frozen=True)
class LegalAges(PaperPolicy):
    """Ages are cut where the law does."""

    column: str = "age"
    adult: int = 18
    retired: int = 65

    @staticmethod
    def propose(column, codes, rows, values, cuts, parameters):
        if column != parameters[0]:
            return
        for i in range(codes.size - 1):
            low, high = values[i], values[i + 1]
            is_adult = low < parameters[1] <= high
            is_retired = low < parameters[2] <= high
            cuts[i] = is_adult or is_retired
        cuts[codes.size - 1] = 0
'''


@pytest.fixture
def own(tmp_path: Path) -> Any:
    """The user's file, imported as a user would."""
    file = tmp_path / "own_policies.py"
    file.write_text(OWN, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("own_policies", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(policy: Any, k: int = 5, **more: Any) -> Release[Any]:
    people = census(3_000)
    return anonymize(people, Spec(KNOWN, (KAnonymity(k),), policy=policy, **more))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"spend": "as-written"},
        {"rilm_epsilon": None},
        {"cut_points": ("median", "bin_edges"), "bin_edges_above": 0.0},
    ],
    ids=str,
)
def test_an_own_score_that_computes_the_same_gives_the_same_release(
    own: Any, options: dict[str, Any]
) -> None:
    shipped = run(PaperPolicy(**options), missing="value")

    again = run(own.SameScore(**options), missing="value")

    assert again.digest == shipped.digest
    assert again.funnel.counts.tolist() == shipped.funnel.counts.tolist()


@dataclass(frozen=True)
class Nothing(PaperPolicy):
    """Decides what the paper decides, as far as it is asked."""

    @staticmethod
    def cut_choices(rows, low, high, rilm, rank, parameters):
        assert rows > 0
        assert low.size == high.size == rilm.size == rank.size
        assert ((rank == rilm) | (low == high)).all()

    @staticmethod
    def accept(column, rows, loss, budget, score, parameters):
        assert 0 <= loss <= budget
        assert loss < rows
        assert -1.0 <= score <= 1.0
        return column >= 0

    @staticmethod
    def release(rows, budget, low, high, rilm, parameters):
        return rows > 0

    @staticmethod
    def show(column: str, values: list[Any]) -> None:
        assert column in KNOWN
        assert values == sorted(set(values))


def test_decisions_that_change_nothing_change_nothing() -> None:
    own, usual = Nothing(spend="as-written"), PaperPolicy(spend="as-written")

    assert run(own).digest == run(usual).digest


def test_an_own_policy_may_build_on_the_classic_one() -> None:
    @dataclass(frozen=True)
    class Reversed(OriginalPolicy):
        @staticmethod
        def cut_choices(rows, low, high, rilm, rank, parameters):
            for i in range(rank.size):
                rank[i] = -rank[i]

    classic, other = run(OriginalPolicy()), run(Reversed())

    assert other.digest != classic.digest
    assert other.n_suppressed == 0
    assert other.spec.to_json()["policy"]["base"] == "original"


def test_ages_are_cut_where_the_law_does(own: Any) -> None:
    spec = Spec(("age",), (KAnonymity(3),), policy=own.LegalAges())

    release = anonymize(census(3_000), spec)

    shown = set(release.data["age"].to_pylist())
    assert shown == {"[16, 17]", "[18, 64]", "[65, 90]"}


def test_a_column_without_a_rank_is_never_cut() -> None:
    @dataclass(frozen=True)
    class LeaveAlone(PaperPolicy):
        column: str = "sex"

        @staticmethod
        def cut_choices(rows, low, high, rilm, rank, parameters):
            rank[int(parameters[0])] = math.inf

    release = run(LeaveAlone())

    assert release.funnel.counts[:, KNOWN.index("sex")].sum() == 0


def test_what_is_accepted_is_the_policys_to_say() -> None:
    @dataclass(frozen=True)
    class KeepAll(PaperPolicy):
        @staticmethod
        def accept(column, rows, loss, budget, score, parameters):
            return loss == 0

    spending = run(PaperPolicy(spend="as-written"), suppress=Suppression(rows=200))
    keeping = run(KeepAll(spend="as-written"), suppress=Suppression(rows=200))

    assert spending.n_suppressed > 0
    assert keeping.n_suppressed == 0


def test_what_is_suppressed_is_the_policys_to_say_within_the_budget() -> None:
    @dataclass(frozen=True)
    class NoBlur(PaperPolicy):
        """Rather no class than one that shows little of a person's age."""

        @staticmethod
        def release(rows, budget, low, high, rilm, parameters):
            assert rows <= budget
            return rilm[0] >= 0.7

    def blurred(release: Release[Any]) -> int:
        shown = [
            cell.strip("[]").split(", ") for cell in release.data["age"].to_pylist()
        ]
        return sum(int(cell[-1]) - int(cell[0]) > 25 for cell in shown)

    budget = Suppression(rows=400)
    usual = run(PaperPolicy(spend="as-written"), k=25, suppress=budget)
    own = run(NoBlur(spend="as-written"), k=25, suppress=budget)

    assert usual.n_suppressed < own.n_suppressed <= 400
    assert blurred(own) < blurred(usual)
    assert own.data.num_rows + own.n_suppressed == 3_000


@dataclass(frozen=True)
class Dice(PaperPolicy):
    """Decides at random; `seed` says how."""

    seed: int = 0

    @staticmethod
    def cut_choices(rows, low, high, rilm, rank, parameters):
        dice = random.Random(f"{parameters[0]} {rows} {low} {high}")  # noqa: S311
        rank[:] = [dice.choice([-1.0, 0.0, dice.random(), math.inf]) for _ in rank]

    @staticmethod
    def propose(column, codes, rows, values, cuts, parameters):
        dice = random.Random(f"{parameters[0]} {column} {codes}")  # noqa: S311
        cuts[:] = [dice.random() < 0.3 for _ in cuts]

    @staticmethod
    def score(column, codes, rows, values, parts, parameters):
        return random.Random(f"{parameters[0]} {codes} {parts}").uniform(-9, 9)  # noqa: S311

    @staticmethod
    def accept(column, rows, loss, budget, score, parameters):
        return random.Random(f"{parameters[0]} {rows} {loss}").random() < 0.8  # noqa: S311

    @staticmethod
    def release(rows, budget, low, high, rilm, parameters):
        return random.Random(f"{parameters[0]} {low} {high}").random() < 0.5  # noqa: S311


@given(
    st.integers(0, 10_000),
    st.sampled_from([0, 30, 1000]),
    st.integers(0, 150),
)
def test_a_bad_policy_costs_utility_and_never_privacy(
    seed: int, inline_below: int, budget: int
) -> None:
    people = census(150, seed=seed).append_column("n", pa.array([1.5, None] * 75))
    models = (KAnonymity(4), DistinctLDiversity(2, "income"))
    spec = Spec(
        ("age", "sex", "n", "education"),
        models,
        policy=Dice(spend="as-written", seed=seed),
        suppress=Suppression(rows=budget),
        inline_below=inline_below,
    )

    release = anonymize(people, spec)

    assert release.data.num_rows + release.n_suppressed == 150
    assert release.n_suppressed <= budget
    assert verify(release.data, spec).n_rows == release.data.num_rows
    table = collapse(encode(open_frame(people), spec)).table
    grown = grow(table, spec)
    stages = grown.funnel.counts
    assert (stages[:4] >= stages[1:5]).all()
    grow_both_ways(table, spec, 20)


def test_classes_show_what_the_policy_says() -> None:
    @dataclass(frozen=True)
    class Decades(PaperPolicy):
        @staticmethod
        def show(column: str, values: list[Any]) -> str | None:
            if column != "age":
                return None
            return f"{values[0] // 10 * 10}s to {values[-1] // 10 * 10}s"

    usual, own = run(PaperPolicy()), run(Decades())

    assert own.data["hours_per_week"] == usual.data["hours_per_week"]
    ages = own.data["age"].to_pylist()
    assert {"20s to 30s", "30s to 30s"} <= set(ages)
    assert all(age.count("s to ") == 1 for age in ages)
    assert own.n_rows == own.data.num_rows + own.n_suppressed
    # Classes that look alike are one.
    assert own.measures().n_classes < usual.measures().n_classes


@pytest.mark.parametrize(
    ("result", "what"),
    [(3, "returned a int"), ("", "returned a str")],
)
def test_what_a_class_cannot_show_is_refused(result: Any, what: str) -> None:
    @dataclass(frozen=True)
    class Odd(PaperPolicy):
        @staticmethod
        def show(column: str, values: list[Any]) -> Any:
            return result

    with pytest.raises(SpecError, match=what):
        run(Odd())


def test_formats_and_an_own_text_exclude_each_other() -> None:
    with pytest.raises(SpecError, match="says what classes show"):
        Spec(
            KNOWN, (KAnonymity(5),), policy=Nothing(spend="as-written"), numbers="mean"
        )


class Alien:
    name = "alien"


@dataclass(frozen=True)
class Better(BestPolicy):
    pass


@dataclass(frozen=True)
class WithSelf(PaperPolicy):
    def score(self, column, codes, rows, values, parts, parameters):
        return 0.0


@pytest.mark.parametrize(
    "policy",
    [Alien(), Alien, "papr", None, 42, int, Better(), WithSelf(), Nothing()],
    ids=[
        *("alien", "alien class", "text", "none", "number", "class", "best", "self"),
        "spends nothing",
    ],
)
def test_what_is_no_policy_is_refused(policy: Any) -> None:
    with pytest.raises(SpecError) as caught:
        Spec(KNOWN, (KAnonymity(5),), policy=policy)

    assert caught.value.hint


def failing(name: str, result: Any) -> Any:
    """A policy, one of whose functions fails."""
    wanted = {
        "cut_choices": 6,
        "propose": 6,
        "score": 6,
        "accept": 6,
        "release": 6,
        "show": 2,
    }[name]
    arguments = ", ".join(f"a{i}" for i in range(wanted))
    space: dict[str, Any] = {"result": result}
    exec(f"def f({arguments}):\n    return result()", space)  # noqa: S102
    kind = type("Failing", (PaperPolicy,), {name: staticmethod(space["f"])})
    return dataclass(frozen=True)(kind)


def fail() -> None:
    raise KeyError(CANARY)


EVERYBODY = Suppression(rows=3_000)


@pytest.mark.parametrize(
    "name", ["cut_choices", "propose", "score", "accept", "release", "show"]
)
def test_a_function_that_fails_ends_the_run_without_a_cell(name: str) -> None:
    with pytest.raises(SpecError, match="raised a KeyError") as caught:
        run(failing(name, fail)(spend="as-written"), suppress=EVERYBODY)

    assert CANARY not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


@pytest.mark.parametrize("name", ["score", "accept", "release"])
def test_nan_ends_the_run(name: str) -> None:
    with pytest.raises(SpecError, match="NaN"):
        run(failing(name, lambda: math.nan)(spend="as-written"), suppress=EVERYBODY)


def test_what_ends_the_process_is_not_lost() -> None:
    def leave() -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        run(failing("accept", leave)())


def test_an_error_of_an_earlier_run_is_forgotten() -> None:
    errors = iter([KeyError()])

    def fail_once() -> bool:
        for error in errors:
            raise error
        return True

    policy = failing("accept", fail_once)()
    with pytest.raises(SpecError, match="KeyError"):
        run(policy)

    assert run(policy).digest == run(PaperPolicy()).digest


def test_what_is_not_compiled_is_told() -> None:
    with pytest.warns(SlowModelWarning, match=r"Failing\.accept is not compiled"):
        run(failing("accept", lambda: len(str(random.__name__)))())


def test_a_field_that_names_no_quasi_identifier_is_refused(own: Any) -> None:
    with pytest.raises(SpecError, match="not a quasi-identifier"):
        run(own.LegalAges(column="shoe_size"))


def test_spec_file_and_command_line_take_an_own_policy(
    own: Any, tmp_path: Path, cli: Command
) -> None:
    del own
    pq.write_table(census(3_000), tmp_path / "people.parquet")
    (tmp_path / "people.toml").write_text(
        f"""
        quasi_identifiers = {list(KNOWN)}
        k = 3
        policy = "own_policies.py:LegalAges"
        [paper]
        retired = 60
        """,
        encoding="utf-8",
    )
    spec = load_spec(tmp_path / "people.toml")
    assert spec.policy.name == "LegalAges"
    known = [word for name in KNOWN for word in ("--qid", name)]

    by_file = cli("anonymize", "people.parquet", "a.parquet", "--spec", "people.toml")
    by_flag = cli(
        *("anonymize", "people.parquet", "b.parquet", *known, "--k", "3"),
        *("--policy", "own_policies.py:LegalAges retired=60"),
    )

    assert by_file.code == by_flag.code == 0, by_flag.err
    assert "LegalAges" in by_flag.err
    cells = [
        pq.read_table(tmp_path / name).select(KNOWN).to_pylist()
        for name in ("a.parquet", "b.parquet")
    ]
    count = [sorted(map(str, rows)) for rows in cells]
    assert count[0] == count[1]
    checked = cli("verify", "b.parquet", *known, "--k", "3")
    assert checked.code == 0, checked.err


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("own_policies.py:Nobody", "no policy 'Nobody'"),
        ("own_policies.py:relative", "no policy 'relative'"),
        ("nowhere.py:Nobody", "no file"),
        ("own_policies.py:LegalAges shoe=3", "unknown key"),
    ],
)
def test_a_policy_that_is_not_there_is_told(
    own: Any, tmp_path: Path, name: str, what: str
) -> None:
    del own
    file = tmp_path / "people.toml"
    file.write_text(
        f'quasi_identifiers = ["age"]\nk = 3\npolicy = "{name}"\n', encoding="utf-8"
    )

    with pytest.raises(SpecError, match=what):
        load_spec(file)


def test_counts_of_codes_are_those_of_the_rows() -> None:
    seen: list[dict[int, int]] = []

    @dataclass(frozen=True)
    class Looks(PaperPolicy):
        @staticmethod
        def propose(column, codes, rows, values, cuts, parameters):
            assert (np.diff(codes) > 0).all()
            seen.append(dict(zip(values.tolist(), rows.tolist(), strict=True)))
            rows[:] = values[:] = parameters[:] = 0  # its own

    people = census(3_000)
    spec = Spec(("age",), (KAnonymity(5),), policy=Looks())
    again = anonymize(people, spec)

    assert seen[0] == dict(Counter(people["age"].to_pylist()))
    usual = Spec(("age",), (KAnonymity(5),), policy=PaperPolicy())
    assert again.digest == anonymize(people, usual).digest


COMPILED = """
from dataclasses import dataclass

from core_mondrian import PaperPolicy


@dataclass(frozen=True)
class Wild(PaperPolicy):
    seed: int = 0

    @staticmethod
    def accept(column, rows, loss, budget, score, parameters):
        parameters[0] += 1
        return (rows * 7919 + loss + int(parameters[0])) % 5 > 0

    @staticmethod
    def score(column, codes, rows, values, parts, parameters):
        mixed = 17 + int(parameters[0])
        for i in range(codes.size):
            mixed = (mixed * 31 + codes[i] * rows[i] + parts[i]) % 1009
        rows[:] = 0
        return float(mixed)

    @staticmethod
    def release(rows, budget, low, high, rilm, parameters):
        return (rows + low.sum()) % 3 > 0


@dataclass(frozen=True)
class BeyondTheEnd(PaperPolicy):
    @staticmethod
    def cut_choices(rows, low, high, rilm, rank, parameters):
        for i in range(rank.size + 40):
            rank[i] = 0.5


@dataclass(frozen=True)
class NoParameter(PaperPolicy):
    @staticmethod
    def accept(column, rows, loss, budget, score, parameters):
        return parameters[5] == 0.0


@dataclass(frozen=True)
class WithBlock(PaperPolicy):
    @staticmethod
    def accept(column, rows, loss, budget, score, parameters):
        class Local:
            pass

        return Local is not None
"""


@pytest.fixture
def wild(tmp_path: Path) -> Any:
    (tmp_path / "wild.py").write_text(
        "from __future__ import annotations\n" + COMPILED, encoding="utf-8"
    )
    return lambda name: load_class(f"wild.py:{name}", tmp_path, PaperPolicy, "policy")


@pytest.mark.parametrize("k", [3, 30])
def test_decisions_are_the_same_on_every_thread_and_elsewhere(
    wild: Any, k: int
) -> None:
    people = census(30_000)
    spec = Spec(
        KNOWN,
        (KAnonymity(k),),
        policy=wild("Wild")(spend="as-written", seed=k),
        suppress=Suppression(rows=900),
        inline_below=200,
    )
    table = collapse(encode(open_frame(people), spec)).table

    found = [grow(table, spec, threads=n) for n in (1, 2, 4)]
    grow_both_ways(table, spec, 2_000)

    assert len({grown.tree.digest for grown in found}) == 1
    assert 0 < found[0].tree.n_suppressed <= 900


@pytest.mark.parametrize("name", ["BeyondTheEnd", "NoParameter"])
def test_an_index_out_of_bounds_ends_the_run(wild: Any, name: str) -> None:
    with pytest.raises(SpecError, match=r"IndexError|failed or returned NaN"):
        run(wild(name)())


def test_what_cannot_be_compiled_runs_as_it_is(wild: Any) -> None:
    assert run(wild("WithBlock")()).digest == run(PaperPolicy()).digest


def test_a_file_that_has_changed_is_read_again(wild: Any, tmp_path: Path) -> None:
    assert wild("Wild")().seed == 0
    file = tmp_path / "wild.py"
    file.write_text(file.read_text().replace("seed: int = 0", "seed: int = 8"))

    assert wild("Wild")().seed == 8


@dataclass(frozen=True)
class Named(PaperPolicy):
    name: str = "age"  # type: ignore[assignment]


@dataclass(frozen=True)
class Several(PaperPolicy):
    limits: tuple[int, ...] = (1, 2)


@dataclass(frozen=True)
class ScoresOne(OriginalPolicy):
    @staticmethod
    def score(column, codes, rows, values, parts, parameters):
        return 0.0


class Bare(PaperPolicy):
    limit = 3


@pytest.mark.parametrize(
    ("policy", "what"),
    [
        (Named(), "a field called 'name'"),
        (Several(), "neither a number nor a column"),
        (ScoresOne(), "one a column"),
        (Bare(), "not a dataclass"),
    ],
)
def test_a_policy_that_cannot_work_is_refused(policy: Any, what: str) -> None:
    with pytest.raises(SpecError, match=what):
        Spec(KNOWN, (KAnonymity(5),), policy=policy)


def test_a_text_for_all_categories_is_measured_as_such() -> None:
    @dataclass(frozen=True)
    class Hidden(PaperPolicy):
        @staticmethod
        def show(column: str, values: list[Any]) -> str:
            return "anything"

    spec = Spec(("occupation",), (KAnonymity(5),), policy=Hidden())
    release = anonymize(census(2_000), spec)

    assert release.measures().rilm_mean == 0.0


def test_dates_no_calendar_has_and_texts_no_file_holds_are_refused() -> None:
    @dataclass(frozen=True)
    class Surrogate(PaperPolicy):
        @staticmethod
        def show(column: str, values: list[Any]) -> str:
            return f"\ud800{values[0]}"

    with pytest.raises(SpecError, match="raised a UnicodeEncodeError") as caught:
        run(Surrogate())
    assert caught.value.__context__ is None
