"""A spec file becomes what the page shows, and its own file means the same."""

import tomllib
from dataclasses import fields, replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from core_mondrian.errors import DataError, MondrianError, SpecError
from core_mondrian.spec.declaration import spec_from_mapping
from core_mondrian.spec.keys import KEYS
from core_mondrian.spec.policies import PaperPolicy
from core_mondrian.spec.toml_file import SpecFile, read_spec_file
from core_mondrian.studio.draft import Draft, Protection
from core_mondrian.studio.reading import name_files, open_spec, read_draft
from core_mondrian.studio.unsupported_keys import names_of

NAMES = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=8)
SHARES = st.sampled_from([0.05, 0.25, 0.5, 1])
WORDS = st.sampled_from(["?", "NA", "", " x", "a,b", "'"])
NUMBERS = ["interval", "bounds", "struct", "mean", "median", "midpoint", "sample"]
TREES = st.sampled_from(
    [
        {"kind": "prefix"},
        {"kind": "prefix", "steps": [1, 2], "uncovered": "suppress"},
        {"kind": "ranges", "widths": [5, 10.5, 21]},
        {"kind": "ranges", "bounds": [[0, 10, 20], [0, 20]]},
        {"kind": "dates", "levels": ["month", "year"]},
        {"kind": "learned", "children": 3},
        {"kind": "redact", "side": "left"},
        {"kind": "lookup", "groups": {"a": ["x", "v"], "b": ["y", "z"]}},
        {"kind": "grouping", "groups": {"x": ["a", "b"], "y y": ["c"]}},
        {"kind": "grouping", "groups": {"x": {"y": ["a"], "z": ["b"]}}},
    ]
)


def models_of(sensitive: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Return models, some of them for one of these columns."""
    of_table = st.one_of(
        st.builds(lambda k: {"name": "k-anonymity", "k": k}, st.integers(2, 20)),
        st.builds(lambda r: {"name": "maximum-risk", "risk": r}, SHARES),
        st.builds(lambda r: {"name": "average-risk", "risk": r}, SHARES),
    )
    if not sensitive:
        return of_table
    column = st.sampled_from(sensitive)
    missing = st.sampled_from([{}, {"missing": "ignored"}, {"missing": "value"}])
    given_ = st.one_of(
        st.builds(
            lambda n: {"name": "distinct-l-diversity", "l": n}, st.integers(2, 9)
        ),
        st.just({"name": "entropy-l-diversity", "l": 1.5}),
        st.builds(
            lambda t: {"name": "t-closeness", "t": t, "distance": "ordered"}, SHARES
        ),
        st.builds(lambda b: {"name": "beta-likeness", "beta": b}, st.integers(1, 4)),
        st.just({"name": "recursive-cl-diversity", "c": 2.0, "l": 3}),
        st.just({"name": "p-sensitive-k-anonymity", "p": 2, "k": 4}),
        st.builds(
            lambda values: {
                "name": "alpha-k-anonymity",
                "alpha": 0.5,
                "k": 3,
                "values": values,
            },
            st.lists(WORDS | st.integers() | st.just(date(2020, 2, 29)), max_size=2),
        ),
    )
    return of_table | st.builds(
        lambda model, name, more: {**model, "sensitive": name, **more},
        *(given_, column, missing),
    )


@st.composite
def specs(draw: st.DrawFn) -> tuple[dict[str, Any], list[str]]:
    """Draw a spec file's plain values, and the columns of a table for it."""
    names = draw(st.lists(NAMES, min_size=8, max_size=10, unique=True))
    known, sensitive = names[: draw(st.integers(1, 3))], names[3:5]
    order = draw(st.permutations(known))
    asked: dict[str, Any] = {"quasi_identifiers": list(order)}
    models = draw(st.lists(models_of(sensitive), max_size=4))
    if models:
        asked["models"] = models
    if not models or draw(st.booleans()):
        asked["k"] = draw(st.integers(2, 20))
    by_known = st.sampled_from(known)
    keys = draw(st.sets(st.sampled_from(sorted(set(KEYS) - set(asked)))))
    choices = {
        "identifiers": st.permutations(names[5:7]),
        "pseudonyms": st.permutations(names[7:]).map(lambda x: x[:2]),
        "pseudonym_domains": st.dictionaries(st.sampled_from(names[7:]), st.just("d")),
        "unit": st.just(names[7]),
        "weight": st.just(names[-1]),
        "accept": st.lists(st.sampled_from(names[3:]), max_size=2),
        "policy": st.sampled_from(["best", "paper", "original"]),
        "missing": st.sampled_from(["pattern", "value"]),
        "small_patterns": st.sampled_from(["repair", "suppress"]),
        "suppress": st.sampled_from(["1%", " 2.5 %", "7", 20, 0]),
        "suppress_multiplier": st.sampled_from([1, 0.5, 0, 1.5]),
        "suppressed": st.sampled_from(["drop", "blank", "separate"]),
        "numbers": formats(by_known, st.sampled_from(NUMBERS)),
        "categories": formats(by_known, st.sampled_from(["label", "set"])),
        "nice": formats(by_known, st.booleans()),
        "class_id": NAMES,
        "shuffle": st.integers(),
        "guard_formulas": st.booleans(),
        "weights": st.dictionaries(by_known, st.sampled_from([1, 2.5, 1e-300])),
        "inline_below": st.integers(0, 5000),
        "exclude": st.lists(by_known, max_size=2),
        "null_values": st.lists(WORDS, max_size=3),
        "hierarchies": st.dictionaries(by_known, TREES),
        "uncovered": st.sampled_from(["error", "own branch", "suppress"]),
        "target": st.sampled_from(sensitive),
        "thresholds": st.dictionaries(
            st.sampled_from(["pearson", "nmi", "pct_non_suppressed"]),
            st.sampled_from([0.5, 1, "off"]),
        ),
        "best": best_options(sensitive),
        "paper": st.just({"tails": [5, 0.0]})
        | st.builds(
            lambda own: {"breakout_multiplier": 0.5, "breakout_thresholds": own},
            st.dictionaries(by_known, st.sampled_from([0, 0.5, 1])),
        ),
        "original": st.just({"variant": "as_published"}),
    }
    assert {*choices, "quasi_identifiers", "models", "k"} == set(KEYS), "a new key"
    for key in sorted(keys & set(choices)):
        asked[key] = draw(choices[key])
    if "pseudonym_domains" in asked:
        known = asked.get("pseudonyms", ())
        domains = asked["pseudonym_domains"].items()
        asked["pseudonym_domains"] = {x: y for x, y in domains if x in known}
    for policy in ("best", "paper", "original"):
        if asked.get("policy", "best") != policy:
            asked.pop(policy, None)
    return {key: asked[key] for key in draw(st.permutations(list(asked)))}, names


def formats(
    names: st.SearchStrategy[str], how: st.SearchStrategy[Any]
) -> st.SearchStrategy[Any]:
    return how | st.dictionaries(names | st.just("default"), how)


def best_options(sensitive: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {},
        optional={
            "effort": st.sampled_from(["auto", "fast", "strong", "max"]),
            "disjoint": st.booleans(),
            "beta": SHARES,
            "price": SHARES,
            "equity": st.sampled_from(sensitive),
            "equity_bound": SHARES,
        },
    )


@given(specs())
def test_the_file_of_the_draft_asks_for_the_same(
    drawn: tuple[dict[str, Any], list[str]],
) -> None:
    asked, names = drawn
    try:
        wanted = spec_from_mapping(asked)
    except SpecError:
        reject()

    draft = read_draft(asked, names, Path())

    assert spec_from_mapping(tomllib.loads(draft.to_toml())) == wanted
    assert draft.to_spec() == wanted
    assert sorted(draft.roles) == sorted(names)
    again = read_draft(tomllib.loads(draft.to_toml()), names, Path())
    assert again.to_toml() == draft.to_toml()


@given(st.data())
def test_whatever_is_chosen_on_the_page_is_read_back_as_it_was(
    data: st.DataObject,
) -> None:
    """Every field that a control sets comes back, unless the spec leaves it out."""
    draft = Draft(
        {"age": "quasi-identifier", "job": "sensitive", "id": "identifier"},
        k=data.draw(st.integers(2, 50)),
        guards={"job": Protection("t-closeness", {"t": 0.3})},
        policy=data.draw(st.sampled_from(["best", "paper"])),
        suppress=data.draw(st.sampled_from(["", "1%", "20"])),
        suppressed=data.draw(st.sampled_from(["drop", "blank"])),
        missing=data.draw(st.sampled_from(["policy", "pattern", "value"])),
        null_values=data.draw(st.sampled_from(["", "?, NA"])),
        numbers=data.draw(st.sampled_from(NUMBERS)),
        categories=data.draw(st.sampled_from(["label", "set"])),
        is_nice=data.draw(st.booleans()),
        guards_formulas=data.draw(st.booleans()),
    )
    if draft.policy == "best":
        draft.effort = data.draw(st.sampled_from(["fast", "strong"]))
        draft.groups, draft.is_equal = "job", True

    found = read_draft(tomllib.loads(draft.to_toml()), list(draft.roles), Path())

    for item in fields(Draft):
        if item.name != "order":
            assert getattr(found, item.name) == getattr(draft, item.name), item.name
    assert names_of(found.rest) == []


ASKED: dict[str, Any] = {
    "quasi_identifiers": ["zip", "age"],
    "identifiers": ["name"],
    "models": [
        {"name": "t-closeness", "t": 0.2, "sensitive": "job"},
        {"name": "k-anonymity", "k": 7},
        {"name": "distinct-l-diversity", "l": 2, "sensitive": "job"},
    ],
    "shuffle": 3,
    "thresholds": {"nmi": 0.5},
    "weights": {"age": 2},
    "best": {"effort": "strong", "beta": 2.0},
    "hierarchies": {"zip": {"kind": "redact"}},
}
COLUMNS = ["age", "zip", "job", "name", "more"]


def test_what_has_a_control_is_in_it_and_the_rest_is_named() -> None:
    draft = read_draft(ASKED, COLUMNS, Path())

    assert draft.columns_of("quasi-identifier") == ["zip", "age"]
    assert draft.roles["more"] == "carried"
    assert (draft.k, draft.effort) == (7, "strong")
    assert draft.guards == {"job": Protection("t-closeness", {"t": 0.2})}
    assert draft.weights == {"age": 2}
    assert names_of(draft.rest) == [
        "shuffle",
        "thresholds",
        "best.beta",
        "hierarchies.zip",
        "model distinct-l-diversity",
    ]


def test_what_belongs_to_a_column_goes_with_its_role_and_comes_back() -> None:
    draft = read_draft(ASKED, COLUMNS, Path())
    before = draft.to_toml()

    for name in ("age", "job"):
        draft.assign(name, "carried")
    draft.policy = "paper"
    spec = draft.to_spec()

    assert dict(spec.weights) == {}
    assert [model.min_rows for model in spec.models] == [7]
    draft.assign("age", "quasi-identifier")
    draft.assign("job", "sensitive")
    draft.policy = "best"
    assert draft.to_toml() == before


def test_what_is_said_by_column_stays_even_if_it_is_as_for_all() -> None:
    trees = {"zip": {"kind": "flat"}}
    formats = {"default": "mean", "age": "mean", "zip": "median"}
    asked = {**ASKED, "hierarchies": trees, "numbers": formats}

    draft = read_draft(asked, COLUMNS, Path())

    assert draft.to_spec() == spec_from_mapping(asked)


def test_a_spec_without_k_gets_one_only_if_it_is_asked_for() -> None:
    asked = {
        "quasi_identifiers": ["age"],
        "models": [{"name": "maximum-risk", "risk": 0.1}],
    }
    draft = read_draft(asked, ["age"], Path())

    assert draft.k == 1
    assert len(draft.to_spec().models) == 1
    draft.k = 4
    assert [model.min_rows for model in draft.to_spec().models] == [4, 10]
    draft.k = 1
    draft.further = Protection("none", {})
    with pytest.raises(SpecError, match="k >= 2"):
        draft.to_spec()


def test_a_unit_with_pseudonyms_keeps_both() -> None:
    asked = {"quasi_identifiers": ["age"], "k": 2, "unit": "id", "pseudonyms": ["id"]}

    draft = read_draft(asked, ["id", "age"], Path())

    assert draft.to_spec() == spec_from_mapping(asked)
    assert names_of(draft.rest) == ["unit"]
    draft.assign("id", "identifier")
    assert draft.to_spec().unit is None


@pytest.mark.parametrize("role", ["unit", "identifiers", "pseudonyms", "weight"])
def test_warnings_of_columns_with_a_role_stay_accepted(role: str) -> None:
    column: Any = "id" if role in ("unit", "weight") else ["id"]
    asked = {"quasi_identifiers": ["age"], "k": 2, "accept": ["id"], role: column}

    draft = read_draft(asked, ["id", "age"], Path())

    assert draft.to_spec() == spec_from_mapping(asked)
    draft.assign("id", "quasi-identifier")
    assert draft.to_spec().accept == ()


def test_columns_that_the_table_lacks_are_named() -> None:
    with pytest.raises(SpecError, match=r"does not have: 'zip', 'name'") as caught:
        read_draft(ASKED, ["age", "job"], Path())

    assert caught.value.hint


def test_thresholds_of_columns_that_are_no_longer_known_are_left_out() -> None:
    own = {"breakout_multiplier": 0.5, "breakout_thresholds": {"age": 0.5, "zip": 1}}
    asked = {"quasi_identifiers": ["age", "zip"], "k": 2, "policy": "paper"}
    draft = read_draft({**asked, "paper": own}, ["age", "zip"], Path())

    draft.assign("zip", "carried")

    policy = draft.to_spec().policy
    assert isinstance(policy, PaperPolicy)
    assert policy.breakout_thresholds == (("age", 0.5),)


def test_small_patterns_are_left_out_where_missing_is_a_value() -> None:
    asked = {"quasi_identifiers": ["age"], "k": 2, "policy": "paper"}
    draft = read_draft({**asked, "small_patterns": "suppress"}, ["age"], Path())

    assert draft.to_spec().small_patterns == "suppress"
    for field, value in (("missing", "value"), ("policy", "best")):
        other = replace(draft, **{field: value})
        assert other.to_spec().small_patterns == "repair"


def write(folder: Path, text: str) -> Path:
    path = folder / "stands-here.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("k = ", r"spec mine.toml: Invalid value"),
        ("quasi_identifiers = ['age']\nkk = 5", "spec mine.toml, line 2: unknown key"),
        ("quasi_identifiers = ['age']\nk = 'x'", "spec mine.toml, line 2: k has"),
        (
            "k = 5\nquasi_identifiers = ['age']\n[best]\neffort = 'none'",
            "mine.toml, line 4: best.effort",
        ),
        ("quasi_identifiers = ['sex']\nk = 5", "does not have"),
    ],
)
def test_a_wrong_file_is_told_with_the_line(
    tmp_path: Path, text: str, told: str
) -> None:
    with pytest.raises(SpecError, match=told) as caught:
        open_spec(write(tmp_path, text), "mine.toml").to_draft(["age"], tmp_path)

    assert str(tmp_path) not in str(caught.value)
    assert "stands-here" not in str(caught.value)


def test_files_are_asked_for_and_read_from_the_folder_alone(tmp_path: Path) -> None:
    text = """quasi_identifiers = ["job", "town"]
k = 2
[hierarchies]
job = "trees/jobs.csv"
town = { kind = "lookup", file = "towns.csv", uncovered = "own branch" }
[[models]]
name = "t-closeness"
t = 0.5
sensitive = "pay"
distance = "hierarchical"
hierarchy = "../pay.csv"
"""
    trees = {"jobs.csv": "a;x;*\nb;x;*\n", "towns.csv": "u;v\n", "pay.csv": "1;low;*\n"}
    source = tmp_path / "spec" / "here"
    (source / "trees").mkdir(parents=True)
    (source / "spec.toml").write_text(text)
    (source / "trees" / "jobs.csv").write_text(trees["jobs.csv"])
    (source / "towns.csv").write_text(trees["towns.csv"])
    (tmp_path / "spec" / "pay.csv").write_text(trees["pay.csv"])
    files = tmp_path / "files"
    columns = ["job", "town", "pay"]
    spec = name_files(read_spec_file(source / "spec.toml"))

    assert spec.missing_in(files) == ["jobs.csv", "towns.csv", "pay.csv"]
    with pytest.raises(MondrianError, match=r"jobs\.csv") as caught:
        spec.to_draft(columns, files)
    assert str(tmp_path) not in str(caught.value)
    spec.copy_files(files)
    draft = spec.to_draft(columns, files)

    assert spec.missing_in(files) == []
    for name, content in trees.items():
        assert (files / name).read_text() == content
    found = draft.to_spec()
    wanted = spec_from_mapping(tomllib.loads(text), source)
    assert found.to_json() == wanted.to_json()
    assert draft.hierarchies == {"job": {"file": "jobs.csv"}}


def test_a_file_that_cannot_be_copied_is_named_as_the_spec_does(tmp_path: Path) -> None:
    asked = {"quasi_identifiers": ["a"], "k": 2, "hierarchies": {"a": "x/none.csv"}}
    spec = name_files(SpecFile(tmp_path / "spec.toml", "", asked))

    with pytest.raises(DataError, match=r"^x/none\.csv: cannot be read"):
        spec.copy_files(tmp_path / "files")


def test_two_files_of_one_name_are_refused() -> None:
    asked = {"hierarchies": {"a": "x/tree.csv", "b": {"file": "y/tree.csv"}}}

    with pytest.raises(SpecError, match=r"two files that are called tree\.csv"):
        name_files(SpecFile(Path("spec.toml"), "", asked))


@pytest.mark.parametrize("name", ["", "..", "x/.."])
def test_what_is_no_file_is_told_when_it_is_read(tmp_path: Path, name: str) -> None:
    asked = {"quasi_identifiers": ["a"], "k": 2, "hierarchies": {"a": name}}
    spec = name_files(SpecFile(tmp_path / "spec.toml", "", asked))

    assert spec.files == {}
    with pytest.raises(MondrianError):
        spec.to_draft(["a"], tmp_path / "files")


def test_a_model_of_the_users_own_stays_one(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        """from dataclasses import dataclass
from core_mondrian import KAnonymity

@dataclass(frozen=True)
class Mine(KAnonymity):
    pass
"""
    )
    asked = {"quasi_identifiers": ["a"], "models": [{"name": "own.py:Mine", "k": 3}]}
    spec = name_files(SpecFile(tmp_path / "spec.toml", "", asked))

    assert spec.has_code
    draft = spec.to_draft(["a"], tmp_path)
    assert draft.to_spec() == spec_from_mapping(asked, tmp_path)
    assert names_of(draft.rest) == ["model own.py:Mine"]
