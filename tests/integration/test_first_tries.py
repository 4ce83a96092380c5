"""What people try first, right and wrong, in Python and on the command line.

Whatever is wrong is answered by what is wrong and what to write instead: with one of
our errors, never a traceback, and never with another cause.
"""

import copy
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import core_mondrian as cm
from core_mondrian import KAnonymity, MondrianError, Prefix, Release, Spec, anonymize
from core_mondrian.cli.examples import EXAMPLES
from core_mondrian.cli.help_page import GROUPS
from core_mondrian.cli.main import _COMMANDS, _load, run

N = 120


def people() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": [20 + i % 6 for i in range(N)],
            "sex": ["m", "f"] * (N // 2),
            "zip": [f"130{i % 4}{i % 5}" for i in range(N)],
            "born": [f"19{50 + i % 40}-0{1 + i % 9}-1{i % 10}" for i in range(N)],
            "income": [f"{i * 13 % 100}.5" for i in range(N)],
            "disease": ["a", "b", "c"] * (N // 3),
        }
    )


def zips() -> pd.DataFrame:
    values = sorted(set(people().zip))
    return pd.DataFrame({"zip": values, "region": [value[:3] for value in values]})


def made(*arguments: Any, **keys: Any) -> Release[Any]:
    asked = arguments or (["age", "sex"],)
    return anonymize(people(), *asked, **{"k": 5, **keys})


def saved(name: str) -> list[str]:
    made().save(name)
    return [*map(str, Path().iterdir())]


def reported(name: str) -> str:
    made().report(name)
    return Path(name).read_text("utf-8")


def written(name: str, text: str) -> str:
    Path(name).write_text(text)
    return name


def warned(*columns: str) -> str:
    return " ".join(map(str, anonymize(people(), columns, k=5).warnings))


RIGHT: dict[str, tuple[Callable[[], object], str]] = {
    "list": (lambda: made(["age", "sex"]), "120 of 120 rows"),
    "one column": (lambda: made("age"), "120 of 120 rows"),
    "polars": (lambda: anonymize(pl.DataFrame(people()), ["age"], k=5), "120 of 120"),
    "policy by name": (lambda: made(policy="paper"), "120 of 120"),
    "percentage": (lambda: made(suppress="1%"), "rows in"),
    "model by text": (
        lambda: made(models="distinct-l-diversity l=2 sensitive=disease"),
        "rows in",
    ),
    "one model": (lambda: made(models=KAnonymity(5)), "120 of 120"),
    "a tuple": (lambda: made(("age", "sex")), "120 of 120"),
    "saved": (
        lambda: saved("o.parquet"),
        "o.parquet.manifest.json",
    ),
    "spec from a path": (
        lambda: cm.load_spec(written("s.toml", 'quasi_identifiers = ["age"]\nk = 5')),
        "age",
    ),
    "prefix by text": (lambda: made("zip", hierarchies={"zip": "prefix:2"}), "rows in"),
    "frame as hierarchy": (lambda: made("zip", hierarchies={"zip": zips()}), "rows in"),
    "dict as hierarchy": (
        lambda: made("sex", hierarchies={"sex": {"m": "any", "f": "any"}}),
        "rows in",
    ),
    "verify": (lambda: cm.verify(made().data, ["age", "sex"], k=5), "smallest_class"),
    "attack": (lambda: cm.attack(made(), people()).n_people, "120"),
    "measures": (lambda: made().measures(), "RILM"),
    "text of dates": (lambda: warned("age", "born"), "hold a date"),
    "text of numbers": (lambda: warned("age", "income"), "hold a number"),
    "columns by name": (
        lambda: anonymize(people(), quasi_identifiers=["age"], k=5),
        "120 of 120",
    ),
    "columns of the frame": (lambda: made(people().columns[:2]), "120 of 120"),
    "k of NumPy": (lambda: made(k=np.int64(5)), "120 of 120"),
    "policy as a class": (lambda: made(policy=cm.BestPolicy), "120 of 120"),
    "models by text": (
        lambda: made(
            models=["k-anonymity k=5", "distinct-l-diversity l=2 sensitive=disease"]
        ),
        "rows in",
    ),
    "spec with positions": (
        lambda: anonymize(people(), Spec("age", KAnonymity(5))),
        "120 of 120",
    ),
    "one width": (lambda: made("age", hierarchies={"age": cm.Ranges(5)}), "rows in"),
    "a list of lengths": (
        lambda: made("zip", hierarchies={"zip": cm.Prefix(lengths=[3, 1])}),
        "rows in",
    ),
    "categories of pandas": (
        lambda: anonymize(people().astype({"sex": "category"}), "sex", k=5),
        "120 of 120",
    ),
    "dates of pandas": (
        lambda: anonymize(people().astype({"born": "datetime64[s]"}), "born", k=5),
        "rows in",
    ),
    "all missing": (
        lambda: anonymize(people().assign(age=float("nan")), "age", k=5),
        "1 classes|1 class",
    ),
    "attack a frame": (
        lambda: cm.attack(made().data, people(), ["age", "sex"], k=5).n_people,
        "120",
    ),
    "several warnings": (made, "4 warnings: see .warnings"),
    "no warning": (
        lambda: anonymize(people()[["age", "sex"]], ["age", "sex"], k=5),
        r"digest \w+\)$",
    ),
    "report": (lambda: reported("r.html"), "<!doctype html>"),
    "an odd code": (
        lambda: Prefix((2,)).build(["UNKNOWN", *zips().zip]).labels,
        r"'130\*\*'",
    ),
}
WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "no columns": (lambda: anonymize(people()), "which columns others may know"),
    "no model": (lambda: anonymize(people(), ["age"]), "k is missing"),
    "no such column": (lambda: made(["agee"]), "did you mean 'age'"),
    "k of 1": (lambda: made(k=1), "k >= 2"),
    "k as text": (lambda: made(k="5"), "whole number"),
    "k of halves": (lambda: made(k=2.5), "whole number"),
    "k too large": (lambda: made(k=500), "k = 120 is the nearest"),
    "policy": (lambda: made(policy="bset"), "did you mean 'best'"),
    "no policy": (lambda: made(policy=None), "policy"),
    "policy of numbers": (lambda: made(policy=42), "policy"),
    "columns of numbers": (lambda: made([1, 2]), "list of texts"),
    "series as table": (lambda: anonymize(people().age, "age", k=5), "got Series"),
    "lazy frame": (
        lambda: anonymize(pl.LazyFrame(people()), "age", k=5),
        r"\.collect\(\)",
    ),
    "an old file": (lambda: saved("twice.csv") + saved("twice.csv"), "exists"),
    "key": (lambda: made(supress="1%"), "did you mean 'suppress'"),
    "numbers": (lambda: made(numbers="mena"), "did you mean 'mean'"),
    "share": (lambda: made(suppress=0.01), 'suppress = "1%"'),
    "kind of hierarchy": (
        lambda: made("zip", hierarchies={"zip": "prefx:2"}),
        "did you mean 'prefix'",
    ),
    "file of hierarchy": (
        lambda: made("zip", hierarchies={"zip": "none.csv"}),
        "none.csv: no such file",
    ),
    "hierarchy of another": (
        lambda: made("age", hierarchies={"zip": "prefix:2"}),
        "not quasi-identifiers",
    ),
    "hierarchy that lacks": (
        lambda: made("sex", hierarchies={"sex": {"m": "x"}}),
        "does not cover 1 of 2",
    ),
    "model": (lambda: made(models="l-diversity l=2"), "no model 'l-diversity'"),
    "sensitive column": (
        lambda: made(models="distinct-l-diversity l=2 sensitive=disase"),
        "did you mean 'disease'",
    ),
    "path": (lambda: anonymize("a.csv", "age", k=5), "pandas.read_csv"),
    "dict": (lambda: anonymize({"age": [1]}, "age", k=5), "pandas.DataFrame"),
    "array": (lambda: anonymize(np.zeros((9, 2)), "age", k=5), "pandas.DataFrame"),
    "nothing": (lambda: anonymize(None, "age", k=5), "dataframe"),
    "empty": (lambda: anonymize(people().head(0), "age", k=5), "has 0 rows"),
    "two of a name": (
        lambda: anonymize(pd.concat([people(), people()], axis=1), "age", k=5),
        "several columns|same name",
    ),
    "twice": (lambda: made(["age", "age"]), "named twice: quasi_identifiers\n.*once"),
    "family of models": (
        lambda: made(models="l-diversity l=2"),
        "there are 'distinct-l-diversity', 'entropy-l-diversity'",
    ),
    "half a model": (
        lambda: made(models="distinct-l-diversity l=2"),
        "needs 'sensitive'\n.*sensitive=COLUMN",
    ),
    "two roles": (lambda: made(["age"], identifiers=["age"]), "named twice"),
    "threads": (lambda: made(threads="2"), "threads is a whole number"),
    "secret": (lambda: made(key="short"), "the key is bytes"),
    "spec and keys": (lambda: made(Spec("age", k=5)), "beside a spec"),
    "no spec file": (lambda: cm.load_spec("none.toml"), "none.toml"),
    "attack unspecified": (lambda: cm.attack(people(), people()), "needs the spec"),
    "failing table": (lambda: cm.verify(people(), ["zip", "born"], k=5), "fails for"),
    "suffix": (lambda: made().save("out.xlsx"), "the suffix is one of"),
    "folder": (lambda: made().save("none/out.csv"), "folder does not exist"),
    "files": (lambda: cm.anonymize_files("none.csv", "o.csv", "age", k=5), "no such"),
    "columns in one text": (
        lambda: made("age, sex"),
        r"each by itself: \['age', 'sex'\]",
    ),
    "the flag as a key": (
        lambda: anonymize(people(), qid=["age"], k=5),
        "did you mean 'quasi_identifiers'",
    ),
    "l beside k": (lambda: made(l=2), "models=.distinct-l-diversity l=… sensitive=…"),
    "sensitive beside k": (lambda: made(sensitive="disease"), "distinct-l-diversity"),
    "effort beside k": (lambda: made(effort="max"), r"BestPolicy\(effort=…\)"),
    "a seed": (lambda: made(seed=3), "key=…"),
    "parameters of a model": (
        lambda: made(models="distinct-l-diversity l=2"),
        "needs 'sensitive'",
    ),
    "order of parameters": (
        lambda: made(models=cm.DistinctLDiversity("disease", 2)),  # type: ignore[arg-type]
        "l must be a whole number",
    ),
    "more values than there are": (
        lambda: made(models="distinct-l-diversity l=9 sensitive=disease"),
        "l = 3 is the nearest",
    ),
    "class of a hierarchy": (
        lambda: made("zip", hierarchies={"zip": Prefix}),
        r"a builder such as Prefix\(2\)",
    ),
    "widths that do not fit": (
        lambda: made("age", hierarchies={"age": "ranges:5,12"}),
        "a multiple of the one before",
    ),
    "text for a prefix": (
        lambda: made("zip", hierarchies={"zip": "prefix:x"}),
        "numbers belong after",
    ),
    "share above all": (lambda: made(suppress="200%"), "between 0% and 100%"),
    "a release for a table": (
        lambda: cm.verify(made(), ["age"], k=5),
        r"release\.data",
    ),
    "a release again": (lambda: anonymize(made(), "age", k=5), r"release\.data"),
    "a file to verify": (lambda: cm.verify("a.csv", ["age"], k=5), "read_csv"),
    "several frames": (lambda: anonymize([people()], "age", k=5), r"pandas\.concat"),
    "the index": (
        lambda: anonymize(people().set_index("zip"), "zip", k=5),
        r"reset_index\(\)",
    ),
    "lists in cells": (
        lambda: anonymize(people().assign(age=[[1]] * N), "age", k=5),
        "neither an order nor labels",
    ),
    "mixed cells": (
        lambda: anonymize(people().assign(age=[1, "x"] * 60), "age", k=5),
        "mixes values",
    ),
    "infinite cells": (
        lambda: anonymize(people().assign(age=float("inf")), "age", k=5),
        "infinite numbers",
    ),
    "weight of another": (lambda: made(weights={"agee": 2}), "not quasi-identifiers"),
    "groups of another": (lambda: made(by="sexx"), "did you mean 'sex'"),
    "a mapping for a path": (lambda: cm.load_spec({"k": 5}), r"Spec\(\['age'\]"),  # type: ignore[arg-type]
    "TOML that is none": (
        lambda: cm.load_spec(written("s.toml", 'quasi_identifiers = ["age"')),
        "s.toml: ",
    ),
    "a key of TOML": (
        lambda: cm.load_spec(written("s.toml", 'quasi_identifier = ["age"]\nk = 5')),
        "line 1: unknown key",
    ),
    "page": (lambda: made().report("r.pdf"), "FILE.html"),
    "class for object": (lambda: made(models=KAnonymity), "is not a privacy model"),
}


@pytest.mark.parametrize("name", list(RIGHT))
def test_what_is_right_in_python_works(
    name: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    work, told = RIGHT[name]
    assert re.search(told, str(work()))


@pytest.mark.parametrize("name", list(WRONG))
def test_what_is_wrong_in_python_is_named(
    name: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    work, told = WRONG[name]
    with pytest.raises(MondrianError) as refused:
        work()
    assert re.search(told, str(refused.value)), str(refused.value)


ATTRIBUTES: dict[str, tuple[Callable[[], object], str]] = {
    "frame of a release": (lambda: made().to_csv("o.csv"), r"release\.data"),
    "British": (lambda: cm.anonymise, "did you mean 'anonymize'"),
    "part of a name": (lambda: cm.Diversity, "did you mean '.*LDiversity'"),
}


@pytest.mark.parametrize("name", list(ATTRIBUTES))
def test_what_does_not_exist_names_what_does(name: str) -> None:
    work, told = ATTRIBUTES[name]
    with pytest.raises(AttributeError, match=told):
        work()


def test_a_release_can_be_copied_and_pickled_by_parts() -> None:
    assert copy.copy(made()).digest == made().digest
    assert not hasattr(made(), "__array__")


def test_a_column_that_lost_everything_is_warned_about() -> None:
    frame = people().assign(code=[f"c{i}" for i in range(N)])
    release = anonymize(frame, ["age", "code"], k=5)
    assert set(release.data["code"]) == {"*"}
    (lost,) = [one for one in release.warnings if one.why == "lost"]
    assert lost.column == "code"
    assert "give it a hierarchy" in lost.text
    assert "see .warnings" in repr(release)
    kept = anonymize(frame, ["age", "sex"], k=5)
    assert "lost" not in [one.why for one in kept.warnings]


ASK = "--qid age --qid sex --k 5"
COMMAND_LINE: list[tuple[str, int, str]] = [
    ("", 2, "Usage"),
    ("-h", 0, "Examples"),
    ("--help", 0, "anonymize"),
    ("-V", 0, r"\d+\.\d+"),
    ("--version", 0, r"\d+\.\d+"),
    ("anonymze people.csv o.csv", 2, "did you mean 'anonymize'"),
    ("frobnicate", 2, "no such command"),
    ("anonymize", 2, "SOURCE"),
    ("anonymize people.csv", 2, "TARGET"),
    ("anonymize people.csv o.csv", 2, "--qid COLUMN for each of them, with --k K"),
    (f"anonymize people.csv o.csv {ASK}", 0, "wrote o.csv"),
    (f"anonymize people.csv o.parquet {ASK}", 0, "wrote o.parquet"),
    (f"anonymize people.csv o.csv.gz {ASK}", 0, "wrote"),
    (f"anonymize people.csv o.csv {ASK} --suppress 1%", 0, "wrote"),
    (f"anonymize people.csv o.csv {ASK} --policy paper", 0, "wrote"),
    (f"anonymize people.csv o.csv {ASK} --json", 0, "digest"),
    (f"anonymize semicolons.csv o.csv {ASK}", 0, "separated by a semicolon"),
    (f"anonymize semicolons.csv o.csv {ASK} --csv 'delimiter=;'", 0, "wrote"),
    (f"anonymize people.csv o.csv {ASK} --csv sep=x", 2, "--csv takes delimiter"),
    ("anonymize people.csv o.csv --qid agee --k 5", 2, "did you mean 'age'"),
    ("anonymize people.csv o.csv --qid age --k five", 2, "--k"),
    ("anonymize people.csv o.csv --qid age --k 1", 2, "k >= 2"),
    ("anonymize people.csv o.csv --qid age --k 500", 4, "nearest"),
    ("anonymize people.csv o.csv --qid age --kk 5", 2, "no such option"),
    ("anonymize peple.csv o.csv --qid age --k 5", 3, "did you mean 'people.csv'"),
    ("anonymize people.csv o.xlsx --qid age --k 5", 2, "suffix is one of"),
    ("anonymize people.csv none/o.csv --qid age --k 5", 6, "folder does not exist"),
    ("anonymize people.csv people.csv --qid age --k 5", 2, "people.csv"),
    ("anonymize people.csv release.csv --qid age --k 5", 2, "the file exists"),
    (f"anonymize people.csv o.csv {ASK} --policy bset", 2, "did you mean 'best'"),
    (f"anonymize people.csv o.csv {ASK} --numbers mena", 2, "did you mean 'mean'"),
    (f"anonymize people.csv o.csv {ASK} --suppress lots", 2, "neither a percentage"),
    (
        "anonymize people.csv o.csv --qid zip --k 5 --hierarchy zip=prefx:2",
        2,
        "did you mean 'prefix'",
    ),
    (
        "anonymize people.csv o.csv --qid zip --k 5 --hierarchy zip=none.csv",
        3,
        "none.csv: no such file",
    ),
    (
        "anonymize people.csv o.csv --qid zip --k 5 --hierarchy zip=prefix:2",
        0,
        "wrote",
    ),
    (f"anonymize people.csv o.csv {ASK} --model 'l-diversity l=2'", 2, "no model"),
    ("anonymize people.csv o.csv --spec none.toml", 2, "none.toml"),
    ("anonymize empty.csv o.csv --qid age --k 5", 3, "the file is empty"),
    ("anonymize people.csv o.csv --qid age --k 5 --view", 2, "--database"),
    ("inspect people.csv", 0, "rows"),
    ("inspect peple.csv", 3, "did you mean 'people.csv'"),
    ("inspect latin.csv", 3, "--csv encoding=windows-1252"),
    ("inspect latin.csv --csv encoding=windows-1252", 0, "encoded as cp1252"),
    ("inspect README", 3, "suffix"),
    ("init people.csv", 0, "quasi_identifiers"),
    ("init none.csv", 3, "no such file"),
    ("verify release.csv", 0, "rows"),
    (f"verify release.csv {ASK}", 0, "5-anonymity"),
    ("verify relase.csv", 3, "did you mean 'release.csv'"),
    ("verify people.csv --qid zip --qid born --k 5", 5, "fails for"),
    ("attack release.csv --with people.csv", 0, "attacks succeeded"),
    ("attack relase.csv --with people.csv", 3, "did you mean 'release.csv'"),
    ("attack release.csv --with peple.csv", 3, "did you mean 'people.csv'"),
    ("attack people.csv --with people.csv", 2, "no manifest stands beside"),
    ("anonymize people.csv out.duckdb --qid age --k 5", 2, "--database out.duckdb"),
    ("compare people.csv release.csv", 0, "score"),
    ("compare people.csv relase.csv", 3, "did you mean 'release.csv'"),
    ("explain release.csv", 0, "class"),
    ("explain relase.csv", 3, "did you mean 'release.csv'"),
    ("report release.csv o.html", 0, "wrote o.html"),
    ("report release.csv o.html --with people.csv", 0, "yours alone"),
    ("report relase.csv", 3, "did you mean 'release.csv'"),
    ("report people.csv", 2, "no manifest stands beside"),
    ("report release.csv o.pdf", 2, "FILE.html"),
    ("hierarchy people.csv zip --prefix 2", 0, "130"),
    ("hierarchy people.csv zipp --prefix 2", 2, "did you mean 'zip'"),
    ("advise people.csv --qid age --k 2,5", 0, "released nothing"),
    ("series status none", 3, "no series"),
    ("studio none.csv", 3, "no such file"),
    ("help", 2, "no such command 'help' help: core-mondrian -h"),
    ("anonymize -h", 0, "What is protected"),
    (f"anonymize people.csv {ASK}", 2, "TARGET is missing hint: such as"),
    ("anonymize people.csv o.csv --qid age,sex --k 5", 2, "each by itself"),
    ("anonymize people.csv o.csv --qid age sex --k 5", 2, "repeat --qid"),
    ("anonymize people.csv o.csv --qid age -k 5", 2, "did you mean --k"),
    ("anonymize people.csv -o o.csv --qid age --k 5", 2, "is the second argument"),
    (f"anonymize people.csv o.csv {ASK} --l 2", 2, "distinct-l-diversity l=2"),
    (f"anonymize people.csv o.csv {ASK} --force", 2, "did you mean --overwrite"),
    (f"anonymize people.csv o.csv {ASK} --sep ;", 2, "--csv 'delimiter=;'"),
    (f"anonymize people.csv o.csv {ASK} --seed 3", 2, "did you mean --key-file"),
    (f"anonymize people.csv o.csv {ASK} --verbose", 2, "verbose help:"),
    (f"anonymize people.csv o.csv {ASK} --threads two", 2, "valid integer"),
    (f"anonymize people.csv o.csv {ASK} --suppress 5 %", 2, "extra argument"),
    (f"anonymize people.csv o.csv {ASK} --by sexx", 2, "did you mean 'sex'"),
    (f"anonymize people.csv o.csv {ASK} --for incme", 2, "did you mean 'income'"),
    (f"anonymize people.csv o.csv {ASK} --for age", 2, "is a quasi-identifier"),
    (f"anonymize people.csv o.csv {ASK} --csv encoding=utf9", 2, "encoding"),
    (f"anonymize people.csv o.csv {ASK} --hierarchy prefix:2", 2, "COLUMN=FILE"),
    (f"anonymize people.csv o.csv {ASK} --key-file none", 2, "none"),
    (f"anonymize people.csv o.csv {ASK} --report o.html", 0, "wrote o.html"),
    (f"anonymize people.csv o.csv {ASK} --report o.pdf", 2, "FILE.html"),
    (f"anonymize people.csv o.csv {ASK} --pseudonym zip", 2, "need a key"),
    (f"anonymize people.csv o.csv {ASK} --identifier name", 2, "not in the data"),
    (f"anonymize people.csv o.csv {ASK} --effort maximum", 2, "max"),
    (f"anonymize people.csv o.csv {ASK} --memory 2", 2, "no run takes less"),
    (
        f"anonymize people.csv o.csv {ASK} --model 'distinct-l-diversity l=2'",
        2,
        "needs 'sensitive'",
    ),
    (
        f"anonymize people.csv o.csv {ASK} --sensitive disease "
        "--model 'distinct-l-diversity l=2'",
        0,
        "distinct 2-diversity of disease",
    ),
    ("anonymize people.csv o.csv --spec spec.toml", 0, "wrote o.csv"),
    ("anonymize people.csv o.csv --spec spec.tml", 2, "did you mean 'spec.toml'"),
    ("anonymize people.csv o.csv --spec typo.toml", 2, "line 1: unknown key"),
    ("anonymize nohead.csv o.csv --qid age --k 5", 2, "is the first line a header"),
    ("anonymize nothing o.csv --qid age --k 5", 3, "a folder without a table"),
    ("anonymize README o.csv --qid age --k 5", 3, "unknown kind of file"),
    ("inspect nohead.csv", 0, "note: column names look like data"),
    ("init nohead.csv", 3, "is the first line a header"),
    ("init people.csv spec.toml", 2, "the file exists"),
    ("verify", 2, "TABLE is missing"),
    ("verify people.csv", 2, "people.csv: no manifest stands beside it"),
    ("verify release.csv.manifest.json", 2, "a manifest, not a release"),
    ("verify release.csv --qid age", 2, "k is missing"),
    ("verify release.csv --with people.csv", 0, "the digest is that of the record"),
    ("verify release.csv --with peple.csv", 3, "did you mean 'people.csv'"),
    ("attack release.csv", 2, "--with FILE"),
    ("attack release.csv people.csv", 2, "--with FILE"),
    ("attack release.csv --with people.csv --known zipp", 2, "did you mean 'zip'"),
    ("compare release.csv people.csv", 2, "name the original first"),
    ("compare people.csv", 2, "--qid COLUMN for each of them"),
    ("explain people.csv", 2, "no manifest beside"),
    ("advise people.csv --qid age --k 2-5", 2, "k=2,5,10"),
    ("advise people.csv --qid age --k 2,5 --plot o.gif", 2, ".svg, .png, .html"),
    ("hierarchy people.csv zip", 2, "one way to make a hierarchy"),
    ("hierarchy people.csv zip --prefx 2", 2, "did you mean --prefix"),
    ("hierarchy people.csv age --ranges 5,12", 2, "a multiple of the one before"),
    ("series", 2, "under one guarantee"),
    ("series creat", 2, "did you mean 'create'"),
    ("sign release.csv.manifest.json", 2, "--key is missing"),
    ("studio --port x", 2, "'--port'"),
    ("keygen", 2, "KEYFILE is missing"),
    ("schema", 0, "properties"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("first")
    people().to_csv(place / "people.csv", index=False)
    people().to_csv(place / "semicolons.csv", index=False, sep=";")
    (place / "empty.csv").touch()
    (place / "nothing").mkdir()
    (place / "spec.toml").write_text('quasi_identifiers = ["age"]\nk = 5')
    (place / "typo.toml").write_text('quasi_identifier = ["age"]\nk = 5')
    people().to_csv(place / "nohead.csv", index=False, header=False)
    (place / "README").write_text("not a table")
    (place / "latin.csv").write_bytes("name,n\nÄ,1\nß,2\n".encode("windows-1252"))
    made().save(place / "release.csv")
    return place


@pytest.mark.parametrize(
    ("line", "code", "told"), COMMAND_LINE, ids=[line for line, *_ in COMMAND_LINE]
)
def test_the_command_line_answers(
    folder: Path, monkeypatch: Any, capsys: Any, line: str, code: int, told: str
) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit) as done:
        run(shlex.split(line))
    said = capsys.readouterr()
    for file in folder.glob("o.*"):
        file.unlink()
    text = said.out + said.err
    assert "Traceback" not in text
    assert "internal error" not in text
    assert re.search(told, " ".join(text.split())), text
    assert done.value.code == code, text


def test_every_option_of_anonymize_has_a_panel_and_every_command_examples() -> None:
    command = _load("anonymize")
    context = command.make_context("anonymize", [], resilient_parsing=True)
    for option in command.get_params(context):
        if option.opts[0].startswith("-") and option.opts[0] not in {"--help", "-h"}:
            assert option.rich_help_panel, option.opts
    assert {name for names in GROUPS.values() for name in names} == set(_COMMANDS)
    assert set(EXAMPLES) == {"", *_COMMANDS}


@pytest.mark.parametrize("name", list(_COMMANDS))
def test_help_shows_every_option_and_an_example_on_one_line(
    name: str, capsys: Any, monkeypatch: Any
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as done:
        run([name, "--help"])
    shown = capsys.readouterr().out
    assert done.value.code == 0
    if name != "series":  # its parts have the options
        assert "Examples:" in shown
        lines = [line.strip() for line in shown.splitlines()]
        assert set(EXAMPLES[name]) <= set(lines)


def test_measures_are_printed_to_be_read() -> None:
    head, titles, *columns = str(made().measures()).splitlines()
    assert head == "120 of 120 rows in 6 classes"
    assert titles == "column  kept (RILM)  lost (NCP)"
    assert [line.split()[0] for line in columns] == ["age", "sex", "all"]
