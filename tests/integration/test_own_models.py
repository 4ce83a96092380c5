"""A model of the user's own, from Python, a spec file and the command line."""

import importlib.util
import json
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import CANARY, Command, files_in

from core_mondrian import (
    InfeasibleError,
    KAnonymity,
    Spec,
    SpecError,
    anonymize,
    verify,
)
from core_mondrian.errors import PrivacyViolation, SlowModelWarning
from core_mondrian.models import AlphaKAnonymity, Limits, PrivacyModel
from core_mondrian.models.own_measures import plain_measure
from core_mondrian.spec.toml_file import load_spec

HEAD = """
import statistics
from dataclasses import dataclass

from core_mondrian.models import Limits, PrivacyModel


@dataclass(frozen=True)
class MaxShare(PrivacyModel):
    share: float
    sensitive: str

    @staticmethod
    def measure(rows, counts, table, parameters):
        {body}

    def limits(self):
        return Limits(at_most=self.share)


class NoModel:
    pass


@dataclass(frozen=True)
class NoMeasure(PrivacyModel):
    share: float


class Loose(PrivacyModel):
    pass
"""
INCOMES = ["low", "low", "low", "high", "mid", "low", "high"]
COMPILED = "return counts.max() / rows"
BODIES = {
    "dict": "return max({i: [n] for i, n in enumerate(counts)}.values())[0] / rows",
    "module": "return statistics.quantiles([counts.max(), counts.max()])[0] / rows",
    "text": "return float(str(counts.max())) / rows",
}


SLOW = pytest.mark.filterwarnings(
    "default::core_mondrian.errors.SlowModelWarning"  # an error in all other tests
)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """A table of 80 people; of every four, two or three have the same income."""
    rows = range(80)
    table = pa.table(
        {
            "name": [f"{CANARY} {i}" for i in rows],
            "age": [20 + (i * 7) % 40 for i in rows],
            "town": [f"{CANARY} {i % 5}" for i in rows],
            "income": [INCOMES[i % 7] for i in rows],
        }
    )
    path = tmp_path / "people.parquet"
    pq.write_table(table, path)
    return path


def write_models(
    folder: Path, body: str = COMPILED, name: str = "my_models.py"
) -> Path:
    path = folder / name
    path.write_text(HEAD.replace("{body}", body))
    return path


def load(path: Path) -> ModuleType:
    found = importlib.util.spec_from_file_location(
        f"{path.stem}_{path.parent.name}", path
    )
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def spec_of(*models: Any) -> Spec:
    return Spec(("age", "town"), (KAnonymity(2), *models), identifiers=("name",))


FLAGS = ["--qid", "age", "--qid", "town", "--identifier", "name", "--k", "2"]


def test_the_same_release_from_python_a_spec_and_the_command_line(
    cli: Command, people: Path, tmp_path: Path
) -> None:
    module = load(write_models(tmp_path))
    folder = tmp_path / "specs"
    folder.mkdir()
    write_models(folder)
    (folder / "spec.toml").write_text(
        'quasi_identifiers = ["age", "town"]\nidentifiers = ["name"]\nk = 2\n'
        '[[models]]\nname = "my_models.py:MaxShare"\n'
        'share = 0.6\nsensitive = "income"\n'
    )
    table = pq.read_table(people)
    asked = "my_models.py:MaxShare share=0.6 sensitive=income"

    imported = anonymize(table, spec_of(module.MaxShare(0.6, "income")))
    loaded = anonymize(table, load_spec(folder / "spec.toml"))
    ours = anonymize(table, spec_of(AlphaKAnonymity(0.6, 2, "income")))
    typed = cli("anonymize", people, "a.parquet", *FLAGS, "--model", asked, "--json")
    named = cli("anonymize", people, "b.parquet", "--spec", "specs/spec.toml", "--json")

    assert (typed.code, named.code) == (0, 0), typed.err + named.err
    by_command = [json.loads(done.out) for done in (typed, named)]
    digests = {release.digest for release in (imported, loaded, ours)}
    assert digests | {found["digests"]["release"] for found in by_command} == digests
    assert len(digests) == 1
    assert imported.verification.n_classes > 1
    for found in by_command:
        assert found["models"][1]["name"] == "MaxShare share 0.6 of income"
        assert found["models"][1]["reached"] <= 0.6
        assert found["spec"]["models"][1]["model"] == "MaxShare"
    flags = [*FLAGS[:4], "--k", "2", "--model", asked]
    assert cli("verify", "a.parquet", *flags).code == 0
    strict = [*flags[:-1], asked.replace("0.6", "0.3")]
    assert cli("verify", "a.parquet", *strict).code == 5


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("my_models.py:MaxShare share=0.6", "needs 'sensitive'"),
        ("my_models.py:MaxShare share=0.6 sensitive=income l=3", "has no 'l'"),
        ("my_models.py:MinShare share=0.6", "has no privacy model 'MinShare'"),
        ("my_models.py:NoModel", "has no privacy model 'NoModel'"),
        ("my_models.py:Loose", "is not a dataclass"),
        ("your_models.py:MaxShare share=0.6", "no file 'your_models.py'"),
        ("people.parquet:MaxShare share=0.6", "people.parquet is not a Python file"),
        ("broken.py:MaxShare share=0.6", "broken.py cannot be imported: ValueError"),
        ("wrong.py:MaxShare share=0.6", "wrong.py cannot be imported: SyntaxError"),
        ("leaves.py:MaxShare share=0.6", "leaves.py cannot be imported: SystemExit"),
        ("my_models.py:", "has no privacy model ''"),
        (":MaxShare share=0.6", "no file"),
        ("MaxShare share=0.6", "no model 'MaxShare'"),
        ("my_models.py:MaxShare share", "something else than one key=value a key"),
        ("my_models.py:MaxShare share=0.6 share=0.5", "something else than one"),
        ("my_models.py:MaxShare share=0.6 sensitive=nobody", "not in the data"),
        ("my_models.py:MaxShare share=much sensitive=income", "MaxShare"),
        ("my_models.py:MaxShare share=0.6 sensitive=3", "column names"),
    ],
)
def test_what_is_wrong_with_a_model_is_told(
    cli: Command, people: Path, tmp_path: Path, model: str, message: str
) -> None:
    write_models(tmp_path)
    (tmp_path / "broken.py").write_text(f"raise ValueError('{CANARY}')\n")
    (tmp_path / "wrong.py").write_text(f"def {CANARY}\n")
    (tmp_path / "leaves.py").write_text("raise SystemExit(0)\n")
    before = files_in(tmp_path)

    for more in ([], ["--sensitive", "income"]):
        done = cli("anonymize", people, "out.parquet", *FLAGS, "--model", model, *more)
        if more and "needs" in message:
            assert done.code == 0, done.err  # then nothing is missing
            continue

        assert done.code == 2, done.err
        assert message in done.err
        assert "out.parquet" not in files_in(tmp_path)
    if "needs" not in message:
        assert [x for x in files_in(tmp_path) if x != "__pycache__"] == before


@SLOW
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_measure_that_cannot_be_compiled_works_slowly(
    cli: Command, people: Path, tmp_path: Path, body: str
) -> None:
    model = load(write_models(tmp_path, body)).MaxShare(0.6, "income")
    table = pq.read_table(people)
    fast = anonymize(table, spec_of(AlphaKAnonymity(0.6, 2, "income")))

    with pytest.warns(SlowModelWarning, match=r"MaxShare share 0\.6 of income: the"):
        slow = anonymize(table, spec_of(model))
    with pytest.warns(SlowModelWarning):
        two = anonymize(table, spec_of(model), threads=2)
    asked = "my_models.py:MaxShare share=0.6 sensitive=income"
    done = cli("anonymize", people, "out.parquet", *FLAGS, "--model", asked, "--json")

    assert plain_measure(type(model).measure) is not None
    assert slow.digest == two.digest == fast.digest
    assert done.code == 0, done.err
    assert json.loads(done.out)["digests"]["release"] == fast.digest
    assert "note: MaxShare share 0.6 of income: the measure is not comp" in done.err


RAISING = {
    "python": "return {'a': 1}[counts.size] * 1.0",
    "rarely": "return statistics.mean([] if rows < 9 else [counts.max()]) / rows",
    "compiled": "raise ValueError('bad')",
}


@SLOW
@pytest.mark.parametrize("body", RAISING.values(), ids=RAISING)
def test_a_measure_that_raises_is_the_models_fault(
    cli: Command, people: Path, tmp_path: Path, body: str
) -> None:
    model = load(write_models(tmp_path, body)).MaxShare(0.6, "income")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowModelWarning)
        with pytest.raises(SpecError, match="the measure of MaxShare raised a"):
            anonymize(pq.read_table(people), spec_of(model))
    asked = "my_models.py:MaxShare share=0.6 sensitive=income"
    done = cli("anonymize", people, "out.parquet", *FLAGS, "--model", asked)

    assert done.code == 2, done.err
    assert "the measure of MaxShare raised a" in done.err
    assert not Path("out.parquet").exists()


def test_an_error_of_one_run_is_not_told_in_the_next(
    people: Path, tmp_path: Path
) -> None:
    body = "return {1: statistics}[int(parameters[0] > 0.5)] and counts.max() / rows"
    kind = load(write_models(tmp_path, body)).MaxShare
    table = pq.read_table(people)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowModelWarning)
        with pytest.raises(SpecError):
            anonymize(table, spec_of(kind(0.4, "income")))
        assert anonymize(table, spec_of(kind(0.6, "income"))).verification


NAN = {
    "always": "return float('nan')",
    "an error, compiled": "if rows <= 9: raise ValueError('bad')\n"
    "        return counts.max() / rows",
    "in small classes": "return counts.max() / rows if rows > 9 else float('nan')",
    "0 / 0": "return (counts.max() - rows) / (counts.max() - rows + 0.0)",
}


@pytest.mark.parametrize("body", NAN.values(), ids=NAN)
def test_what_is_no_number_is_never_admitted(
    people: Path, tmp_path: Path, body: str
) -> None:
    model = load(write_models(tmp_path, body)).MaxShare(0.9, "income")
    table = pq.read_table(people)

    if "9" in body:
        release = anonymize(table, spec_of(model))
        assert release.verification.smallest_class > 9
        return
    if "nan" in body:
        with pytest.raises(InfeasibleError, match="cannot be met"):
            anonymize(table, spec_of(model))
    one = pa.table({"q": ["x", "x"], "income": ["low", "low"]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with pytest.raises(PrivacyViolation):
            verify(one, Spec(("q",), (model,)))


def test_a_model_that_sets_no_limit_is_refused(
    cli: Command, people: Path, tmp_path: Path
) -> None:
    # Every class would pass it, and the release be reported as verified.
    write_models(tmp_path)

    asked = ["--model", "my_models.py:NoMeasure share=0.5"]
    done = cli("anonymize", people, "out.parquet", *FLAGS, *asked, "--json")

    assert done.code == 2
    assert "the model NoMeasure sets no limit" in done.err
    assert "out.parquet" not in files_in(tmp_path)


class Undeclared(PrivacyModel):
    def limits(self) -> Limits:
        return Limits(at_most=1.0)


def test_a_model_of_python_that_is_not_a_dataclass_is_refused() -> None:
    with pytest.raises(SpecError, match="Undeclared is not a dataclass"):
        Spec(("q",), models=(Undeclared(),))
