"""Two runs against each other, by hand and by naive counts."""

import tomllib
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from core_mondrian.datasets import census
from core_mondrian.studio.actions import (
    OpenedTable,
    Run,
    make_release,
    open_table,
    reached_text,
)
from core_mondrian.studio.draft import Draft, Protection, draft_of
from core_mondrian.studio.reading import read_draft
from core_mondrian.studio.run_diff import (
    DEFAULT,
    Pair,
    RunDiff,
    compare_runs,
    differing,
)
from core_mondrian.tables.files.write import write_table


def quiet(_stage: str, _done: float) -> None:
    """Nobody watches."""


def drafted(**more: Any) -> str:
    """Return the spec file of a small draft; it has to be one that can be read."""
    roles: dict[str, Any] = {
        "age": "quasi-identifier",
        "sex": "quasi-identifier",
        "income": "sensitive",
        "note": "carried",
    }
    draft = Draft(roles | more.pop("roles", {}), **more)
    text = draft.to_toml()
    tomllib.loads(text)
    return text


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        pytest.param({}, [], id="equal"),
        pytest.param({"k": 10}, [("k", "5", "10")], id="k"),
        pytest.param(
            {"roles": {"note": "identifier"}},
            [("identifiers: note", "no", "yes")],
            id="a list that was not there",
        ),
        pytest.param(
            {"roles": {"sex": "carried"}},
            [("quasi_identifiers: sex", "yes", "no")],
            id="one item less",
        ),
        pytest.param(
            {"roles": {"note": "unit"}}, [("unit", DEFAULT, "note")], id="a name"
        ),
        pytest.param(
            {"effort": "max"}, [("best.effort", "auto", "max")], id="in a table"
        ),
        pytest.param(
            {"guards": {"income": Protection("distinct-l-diversity", {"l": 3})}},
            [("distinct-l-diversity for income", "l = 2", "l = 3")],
            id="a parameter of a model",
        ),
        pytest.param(
            {"guards": {"income": Protection("t-closeness", {"t": 0.5})}},
            [
                ("distinct-l-diversity for income", "l = 2", DEFAULT),
                ("t-closeness for income", DEFAULT, "t = 0.5"),
            ],
            id="another model",
        ),
        pytest.param(
            {"hierarchies": {"sex": {"prefix": [1]}}, "is_nice": True},
            [
                ("nice", DEFAULT, "true"),
                ("hierarchies.sex.prefix", DEFAULT, "[1]"),
            ],
            id="a hierarchy and a switch",
        ),
    ],
)
def test_only_lines_that_differ_are_told(
    more: dict[str, Any], wanted: list[tuple[str, str, str]]
) -> None:
    found = list(differing(drafted(), drafted(**more)))

    assert sorted(found) == sorted(Pair(*line) for line in wanted)
    turned = differing(drafted(**more), drafted())
    assert sorted(turned) == sorted(Pair(name, b, a) for name, a, b in wanted)


def test_an_order_that_differs_is_told_whole() -> None:
    one, other = ('quasi_identifiers = ["b", "a"]', 'quasi_identifiers = ["a", "b"]')

    assert list(differing(one, other)) == [
        Pair("quasi_identifiers", '["b", "a"]', '["a", "b"]')
    ]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> OpenedTable:
    path = tmp_path_factory.mktemp("people") / "people.csv"
    table = census(500).drop_columns(["zip_code", "capital_gain"])
    write_table(table, path)
    return open_table(path, "people.csv", quiet)


@pytest.fixture(scope="module")
def runs(opened: OpenedTable) -> tuple[Run, Run]:
    draft = draft_of(opened.guesses)
    draft.suppress = "4%"
    first = make_release(opened, draft, 3, quiet)
    other = draft_of(opened.guesses)
    other.roles["race"] = "carried"
    other.k = 9
    return first, make_release(opened, other, 5, quiet)


@pytest.fixture(scope="module")
def found(runs: tuple[Run, Run]) -> RunDiff:
    return compare_runs(*runs)


def class_sizes(run: Run) -> list[int]:
    names = run.release.spec.quasi_identifiers
    return list(
        Counter(
            tuple(row[name] for name in names) for row in run.release.data.to_pylist()
        ).values()
    )


def test_figures_are_those_of_the_released_tables(
    runs: tuple[Run, Run], found: RunDiff
) -> None:
    told = {pair.name: pair[1:] for pair in found.figures}

    for i, run in enumerate(runs):
        sizes = class_sizes(run)
        n = sum(sizes)
        assert told["rows released"][i].startswith(f"{n} (")
        assert told["rows left out"][i].split(" ")[0] == str(500 - n)
        assert told["groups that look alike"][i] == str(len(sizes))
        assert told["smallest group"][i] == f"{min(sizes)} rows"
        assert told["highest risk"][i] == f"{100 / min(sizes):.1f}\u202f%"
        assert told["average risk"][i] == f"{100 * len(sizes) / n:.1f}\u202f%"
        assert told["k-anonymity"][i] == f"{(5, 9)[i]}-anonymity: reached {min(sizes)}"
        loss = run.release.measures().loss
        assert loss is not None
        assert told["lost in all"][i] == f"{100 * loss:.1f}\u202f%"
    assert runs[0].release.n_suppressed > 0


def test_a_column_of_one_run_is_told_as_such(
    runs: tuple[Run, Run], found: RunDiff
) -> None:
    told = {pair.name: pair for pair in found.losses}

    assert list(told) == list(runs[0].release.spec.quasi_identifiers)
    assert told["race"].second == "not generalized: keep as it is"
    for run, at in zip(runs, (1, 2), strict=True):
        for column in run.release.measures().columns:
            assert column.ncp is not None
            shown = told[column.name][at]
            assert shown in ("0\u202f%", f"{100 * column.ncp:.1f}\u202f%")
    for run, at in zip(runs, (0, 1), strict=True):
        losses = {one.name: one.ncp for one in run.release.measures().columns}
        assert {name: pair.shares[at] for name, pair in told.items()} == {
            name: losses.get(name) for name in told
        }


def test_sizes_have_the_same_bins_in_both_runs(
    runs: tuple[Run, Run], found: RunDiff
) -> None:
    both = [class_sizes(run) for run in runs]
    least = min(*both[0], *both[1])
    for at, sizes in enumerate(both, start=1):
        bins: dict[int, list[int]] = defaultdict(list)
        for size in sizes:
            low = least
            while 2 * low <= size:
                low *= 2
            bins[low].append(size)
        told = {pair.name: pair[at] for pair in found.sizes}
        assert len(told) == len(found.sizes)
        for name, words in told.items():
            inside = bins.pop(int(name.partition("\u2013")[0]), [])
            share = 100 * sum(inside) / sum(sizes)
            wanted = f"{len(inside)} with {share:.1f}\u202f% of the rows"
            assert words == (wanted if inside else "none")
        assert not bins


OWN = """
from dataclasses import dataclass
from core_mondrian import Limits, PrivacyModel

@dataclass(frozen=True)
class MaxShare(PrivacyModel):
    share: float
    sensitive: str

    @staticmethod
    def measure(rows, counts, table, parameters):
        return counts.max() / rows

    def limits(self):
        return Limits(at_most=self.share)
"""


def test_models_of_the_users_own_and_two_of_one_kind_are_told(
    opened: OpenedTable, tmp_path: Path
) -> None:
    (tmp_path / "max_share.py").write_text(OWN)
    asked = {
        "quasi_identifiers": ["sex", "race"],
        "models": [
            {"name": "k-anonymity", "k": 3},
            {"name": "max_share.py:MaxShare", "share": 0.97, "sensitive": "income"},
            {"name": "max_share.py:MaxShare", "share": 0.99, "sensitive": "income"},
        ],
    }
    draft = read_draft(asked, opened.table.column_names, tmp_path)
    run = make_release(opened, draft, 1, quiet)

    told = {pair.name: pair for pair in compare_runs(run, run).figures}

    words = told["MaxShare for income"].first
    assert "share 0.97" in words
    assert "share 0.99" in words


def test_a_run_compared_with_itself_differs_in_nothing(runs: tuple[Run, Run]) -> None:
    found = compare_runs(runs[0], runs[0])

    assert found.settings == ()
    for pair in (*found.figures, *found.losses, *found.sizes):
        assert pair.first == pair.second


def test_rows_are_spoken_of_where_everybody_has_one(runs: tuple[Run, Run]) -> None:
    sizes = class_sizes(runs[1])
    smallest = min(sizes)

    assert reached_text(runs[1]) == (
        f"Every row shares its released values with at least {smallest - 1} others."
    )


def test_persons_are_spoken_of_where_the_spec_knows_them(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"  # three each, by people who do not change
    places = pa.array([i // 3 for i in range(480)])
    table = census(160).select(["age", "sex", "occupation"]).take(places)
    persons_of = [f"p{i // 3}" for i in range(480)]
    table = table.append_column("who", pa.array(persons_of))
    nth = pa.array([str(i) for i in range(480)])
    write_table(table.append_column("nth", nth), path)
    opened = open_table(path, "visits.csv", quiet)
    draft = draft_of(opened.guesses)
    draft.roles |= {"who": "unit", "nth": "carried"}
    run = make_release(opened, draft, 1, quiet)
    persons: dict[tuple[Any, ...], set[str]] = defaultdict(set)
    names = run.release.spec.quasi_identifiers
    for row in run.release.data.to_pylist():
        persons[tuple(row[name] for name in names)].add(persons_of[int(row["nth"])])
    smallest = min(map(len, persons.values()))

    words = reached_text(run)

    assert smallest < min(class_sizes(run))
    assert words == (
        "Every person shares their released values with at least "
        f"{smallest - 1} other{'s' * (smallest > 2)}."
    )
    assert run.risk.n_groups == len(persons)
    figures = {pair.name: pair.first for pair in compare_runs(run, run).figures}
    assert figures["smallest group"] == f"{smallest} persons"
    assert figures["highest risk"] == f"{100 / smallest:.1f}\u202f%"


def test_what_a_table_quotes_is_escaped() -> None:
    pytest.importorskip("nicegui")
    from core_mondrian.report.cuts import Branch
    from core_mondrian.studio.run_details import write_branch
    from core_mondrian.studio.tables import Td, write_table

    bad = "<img src=x onerror=alert(1)>\"'&\u202e"
    page = write_table(bad, [bad, Td(bad)], [[bad, Td(bad, tag=bad)], [bad, bad]])
    leaf = Branch(bad, 1, 1, None, ())
    page += write_branch(Branch(bad, 2, 2, bad, (leaf, leaf), 3))

    assert "<img" not in page
    assert "\u202e" not in page
    assert page.count("&lt;img src=x onerror=alert(1)&gt;&quot;&#x27;&amp;") == 12


def test_long_cells_are_cut() -> None:
    pytest.importorskip("nicegui")
    from core_mondrian.studio.tables import quote

    assert len(quote("x" * 10_000)) == 200
