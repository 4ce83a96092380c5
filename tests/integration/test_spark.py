"""Spark: a real cluster on loopback, and the same releases as in memory.

A master, two workers and a Connect server are processes of their own, started by
core_mondrian.sources.spark.deploy.cluster. The shortest tests of each kind always run;
--all adds the others, with Adult and a million rows.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import CANARY, Command, files_in
from hospital import hospital

from core_mondrian import (
    BestPolicy,
    DataError,
    KAnonymity,
    PaperPolicy,
    PrivacyViolation,
    Release,
    Spec,
    SpecError,
    Suppression,
    anonymize,
    verify,
)
from core_mondrian.datasets import ADULT_SETS, CENSUS_QUASI_IDENTIFIERS, adult, census
from core_mondrian.models.distinct import DistinctLDiversity
from core_mondrian.models.population import KMap
from core_mondrian.release.result import PartedRelease

pytest.importorskip("pyspark", reason="pyspark is not installed: the extra 'spark'")

pytestmark = [
    pytest.mark.skipif(
        shutil.which("java") is None and "JAVA_HOME" not in os.environ,
        reason="Spark needs Java, and there is none here",
    ),
    # pyspark itself: of pandas 3, and of sockets that it leaves open.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

ROOT = Path(__file__).parents[2]
DEPLOY = "core_mondrian.sources.spark.deploy"
KEY = b"sixteen bytes at least"
# Plans are run once on few rows: compiling them would take most of the time. A file, so
# that sessions of the command line have it, too.
QUICK = """
spark.sql.shuffle.partitions 2
spark.sql.codegen.wholeStage false
spark.sql.codegen.factoryMode NO_CODEGEN
"""
# Six Javas that live for a minute: optimizing their code does not pay, and one thread
# each collects their garbage.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


CLASSIC = {
    "JDK_JAVA_OPTIONS": JAVA,
    "SPARK_LOCAL_IP": "127.0.0.1",
    "PYSPARK_PYTHON": sys.executable,
    "PYTHONPATH": str(ROOT / "src"),
    "PYSPARK_SUBMIT_ARGS": "--executor-memory 1g --executor-cores 1 "
    "--conf spark.sql.shuffle.partitions=2 pyspark-shell",
}
"""A session that has its Java here, beside the Connect server's."""


@dataclass(frozen=True)
class Cluster:
    master: str
    remote: str
    workers: list[int]
    session: Any


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    from pyspark.sql import SparkSession

    settings = tmp_path_factory.mktemp("settings")
    (settings / "spark-defaults.conf").write_text(QUICK, encoding="utf-8")
    own = {
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *sys.path]),
        "JDK_JAVA_OPTIONS": JAVA,
        "SPARK_CONF_DIR": str(settings),
    }
    with subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", f"{DEPLOY}.cluster", "--connect"],
        stdout=subprocess.PIPE,
        env=os.environ | own,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            told = json.loads(process.stdout.readline())
            session = SparkSession.builder.remote(told["remote"]).create()
            yield Cluster(**told, session=session)
            session.stop()
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


@pytest.fixture(autouse=True)
def _is_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Java start slowly, on a machine that has other things to do."""
    monkeypatch.setenv("CORE_MONDRIAN_SPARK_WAIT", "120")


def multiset(table: pa.Table) -> Counter[str]:
    return Counter(repr(row) for row in table.to_pylist())


def on_cluster(cluster: Cluster, table: pa.Table, spec: Spec, **more: Any) -> Any:
    from core_mondrian.sources.spark.api import anonymize_spark

    frame = cluster.session.createDataFrame(table)
    return anonymize_spark(frame, spec, **more)


def test_notes_on_columns_do_not_leave(cluster: Cluster, tmp_path: Path) -> None:
    from pyspark.sql import types as T  # noqa: N812

    from core_mondrian.sources.spark.api import anonymize_spark

    noted = {"by": CANARY}
    inner = T.StructType([T.StructField("x", T.LongType(), metadata=noted)])
    schema = T.StructType(
        [
            T.StructField("a", T.LongType(), metadata=noted),
            T.StructField("b", T.LongType(), metadata=noted),
            T.StructField("s", T.ArrayType(inner), metadata=noted),
        ]
    )
    rows = [(1, i, [(i,)]) for i in range(4)]
    frame = cluster.session.createDataFrame(rows, schema)
    assert CANARY in frame.schema.json()

    released = anonymize_spark(frame, Spec(("a",), (KAnonymity(2),))).data
    released.write.parquet(str(tmp_path / "b.parquet"))

    assert CANARY not in released.schema.json()
    assert sorted(row.s[0].x for row in released.collect()) == [0, 1, 2, 3]
    files = list((tmp_path / "b.parquet").glob("*.parquet"))
    assert files
    assert not any(CANARY.encode() in file.read_bytes() for file in files)


def assert_same(found: Release[Any], wanted: Release[pa.Table]) -> None:
    """Check row by row, and the evidence: nothing may tell where it was made."""
    data = found.data.toArrow()
    assert data.column_names == wanted.data.column_names
    assert multiset(data) == multiset(wanted.data)
    assert found.manifest() == wanted.manifest()
    assert found.verification == wanted.verification
    if wanted.suppressed is None:
        assert found.suppressed is None
    else:
        assert multiset(found.suppressed.toArrow()) == multiset(wanted.suppressed)


QIDS = ("age", "sex", "education", "race", "marital_status")
POLICIES = [
    pytest.param(PaperPolicy(), id="paper", marks=pytest.mark.slow),
    pytest.param(BestPolicy(effort="fast"), id="best"),
]


@pytest.mark.parametrize("unit", [None, "ssn"])
def test_persons_and_columns_that_single_out_are_told_as_in_memory(
    cluster: Cluster, unit: str | None
) -> None:
    table = hospital(2000, 900)
    code = np.where(np.arange(2000) % 3 == 0, np.arange(2000), 0)
    table = table.append_column("code", pa.array(code))
    names = ("age", "sex", "region")
    spec = Spec(
        names,
        (KAnonymity(5),),
        identifiers=("ssn",),
        unit=unit,
        policy=BestPolicy(disjoint=True),  # no two rows compete for a class
    )

    found = on_cluster(cluster, table, spec)

    wanted = anonymize(table, spec)
    whys = {(one.column, one.why) for one in found.warnings}
    assert found.warnings == wanted.warnings
    assert ("code", "singles-out") in whys
    assert (("ssn", "persons") in whys) == (unit is None)


@pytest.mark.parametrize("policy", POLICIES)
def test_census_is_released_as_in_memory(cluster: Cluster, policy: Any) -> None:
    table = census(5_000).drop_columns(["person_id"])
    spec = Spec(QIDS, (KAnonymity(5),), policy=policy)

    found = on_cluster(cluster, table, spec)

    wanted = anonymize(table, spec)
    assert found.digest == wanted.digest
    assert_same(found, wanted)
    assert found.measures() == wanted.measures()


# A table on which Spark and Arrow could disagree


def hostile(n: int = 600) -> pa.Table:
    rng = np.random.default_rng(7)
    number = rng.integers(0, 9, n) / 2.0
    number[rng.random(n) < 0.1] = np.nan
    number[(number == 0) & (rng.random(n) < 0.5)] = -0.0
    gone = rng.random(n) < 0.1
    days = rng.integers(0, 40, n)
    texts = rng.choice(["a", "B", "b ", "ä", ""], n)
    return pa.table(
        {
            "a.b": pa.array(number, mask=rng.random(n) < 0.1),
            "x `y": pa.array(texts, mask=gone),
            "when": pa.array(days, pa.int32()).cast(pa.date32()),
            "moment": pa.array(days * 3_600_000_000, pa.timestamp("us", "UTC")),
            "X `Y": pa.array(rng.integers(0, 1000, n)),
            "sick": pa.array(rng.choice(["flu", "flu", "cold", "gout"], n), mask=gone),
            "person": pa.array([f"{CANARY}-{i}" for i in rng.integers(0, n // 2, n)]),
            "noted": pa.array(rng.choice([1.5, float("nan")], n)),
            "list": pa.array([[int(i), None] for i in days]),
            "weight": pa.array(rng.integers(1, 5, n).astype(np.float64)),
        }
    )


FEW = ("a.b", "x `y")
FORTY = Suppression(rows=40)
DIVERSE = DistinctLDiversity(2, "sick")
CASES = [
    pytest.param(
        Spec(
            (*FEW, "when", "moment"),
            (KAnonymity(6),),
            policy=BestPolicy(effort="fast"),
            numbers="struct",
            class_id="class",
            identifiers=("person",),
            suppress=FORTY,
            suppressed="separate",
        ),
        id="structs, class numbers, rows apart",
    ),
    pytest.param(
        Spec(
            FEW,
            (KAnonymity(7), DIVERSE),
            policy=BestPolicy(effort="fast"),
            numbers="bounds",
            identifiers=("person",),
        ),
        id="divided tuples, diversity, bounds",
    ),
    pytest.param(
        Spec(
            (*FEW, "when"),
            (KAnonymity(4), DIVERSE),
            policy=PaperPolicy(),
            unit="person",
            suppress=FORTY,
            weight="weight",
        ),
        id="missing patterns, persons that are removed, weights",
    ),
    pytest.param(
        Spec(
            FEW,
            (KAnonymity(36),),
            policy=PaperPolicy(),
            identifiers=("person",),
            small_patterns="suppress",
            suppress=FORTY,
            suppressed="separate",
        ),
        id="small missing patterns, suppressed",
    ),
    pytest.param(
        Spec(
            (*FEW, "when"),
            (KAnonymity(10), DIVERSE),
            policy=BestPolicy(effort="fast", equity="sick"),
            unit="person",
            pseudonyms=("person", "X `Y"),
            suppress=FORTY,
            suppressed="blank",
            numbers="mean",
        ),
        id="pseudonyms, blank rows, equity",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("spec", CASES[:-1])
def test_other_hostile_tables_are_released_as_in_memory(
    cluster: Cluster, spec: Spec
) -> None:
    release_hostile(cluster, spec)


@pytest.mark.parametrize("spec", CASES[-1:])
def test_hostile_table_is_released_as_in_memory(cluster: Cluster, spec: Spec) -> None:
    release_hostile(cluster, spec)


def release_hostile(
    cluster: Cluster, spec: Spec, driver_tuples: int | None = None
) -> None:
    """Check a release of the hostile table against the one in memory."""
    table = hostile()
    more: dict[str, Any] = {"key": KEY}
    more |= {"by": ["a.b"]} if driver_tuples is None else {}
    limit = {} if driver_tuples is None else {"driver_tuples": driver_tuples}

    found = on_cluster(cluster, table, spec, **more, **limit)

    wanted = anonymize(table, spec, **more)
    assert_same(found, wanted)
    assert CANARY not in repr(found)
    assert isinstance(found, PartedRelease) == (driver_tuples is not None)
    if driver_tuples is None:
        assert found.by_group("a.b") == wanted.by_group("a.b")
        assert found.measures() == wanted.measures()


def test_cases_have_what_their_names_say() -> None:
    from support.keys import OPENED

    from core_mondrian.sources.remote_plan import make_plan
    from core_mondrian.sources.tuple_counts import TupleCounts, counted_columns

    table = hostile()
    plans = []
    for case in CASES:
        spec = case.values[0]
        values = table.select(list(counted_columns(spec)))
        counts = TupleCounts(values, np.ones(table.num_rows, np.int64))
        plans.append(make_plan(counts, spec, OPENED).plan)

    assert plans[0].n_suppressed > 0
    assert plans[1].shares.n_rows > 0
    assert plans[3].n_suppressed > 0


@pytest.mark.slow
def test_text_of_any_collation_is_told_apart(cluster: Cluster) -> None:
    from core_mondrian.sources.spark.api import anonymize_spark

    table = pa.table({"word": ["A", "a"] * 10})
    frame = cluster.session.createDataFrame(table)
    frame = frame.selectExpr("collate(word, 'UTF8_LCASE') as word")
    spec = Spec(("word",), (KAnonymity(5),), policy=PaperPolicy())

    found = anonymize_spark(frame, spec)

    assert found.digest == anonymize(table, spec).digest


def test_recount_finds_a_class_that_is_too_small(cluster: Cluster) -> None:
    from core_mondrian.sources.spark.recount import verify_spark

    spec = Spec(("a.b",), (KAnonymity(2),))
    frame = cluster.session.createDataFrame(pa.table({"a.b": [1, 1, 2]}))

    with pytest.raises(PrivacyViolation, match="1 of 2 classes"):
        verify_spark(frame, spec)
    assert verify_spark(frame.filter("`a.b` = 1"), spec).n_rows == 2


def test_pseudonyms_that_are_none_are_found(cluster: Cluster) -> None:
    from core_mondrian.sources.spark.recount import verify_spark

    spec = Spec(("a",), (KAnonymity(2),), pseudonyms=("id",))
    frame = cluster.session.createDataFrame(pa.table({"a": [1, 1], "id": ["x", "y"]}))

    with pytest.raises(PrivacyViolation, match="pseudonyms"):
        verify_spark(frame, spec)


REFUSED = [
    pytest.param({"shuffle": 1}, SpecError, "shuffle", id="shuffle"),
    pytest.param({"identifiers": ("nobody",)}, SpecError, "not in the data", id="gone"),
    pytest.param({"class_id": "sick"}, SpecError, "of one name", id="name taken"),
    pytest.param(
        {"quasi_identifiers": ("list",)}, DataError, "neither an order", id="a list"
    ),
]


@pytest.mark.parametrize(("changes", "kind", "words"), REFUSED)
def test_what_cannot_be_done_is_refused(
    cluster: Cluster, changes: dict[str, Any], kind: type[Exception], words: str
) -> None:
    spec = replace(Spec(("a.b",), (KAnonymity(2),)), **changes)

    with pytest.raises(kind, match=words):
        on_cluster(cluster, hostile(20), spec)


# More tuples than the driver takes: planned on the cluster

IN_PARTS = [
    pytest.param(PaperPolicy(), id="paper"),
    pytest.param(BestPolicy(effort="fast"), id="fast"),
    pytest.param(BestPolicy(effort="strong"), id="strong", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("policy", IN_PARTS)
def test_tuples_that_stay_on_the_cluster_are_released_as_in_memory(
    cluster: Cluster, policy: Any
) -> None:
    table, driver_tuples = census(3_000).drop_columns(["person_id"]), 900
    models = (KAnonymity(5), DistinctLDiversity(2, "income"))
    spec = Spec(QIDS, models, policy=policy)
    before = names_of_views(cluster)

    found = on_cluster(cluster, table, spec, key=KEY, driver_tuples=driver_tuples)

    wanted = anonymize(table, spec, key=KEY)
    assert found.n_tuples > 2 * driver_tuples
    assert isinstance(found, PartedRelease)
    assert_same(found, wanted)
    assert found.warnings == wanted.warnings
    # What the release is made of, and nothing else: places, labels, shares.
    assert len(names_of_views(cluster) - before) <= 3


def names_of_views(cluster: Cluster) -> set[str]:
    return {table.name for table in cluster.session.catalog.listTables()}


def without_weights(spec: Spec) -> Spec:
    """Return a spec that can be done in parts."""
    policy = spec.policy
    if isinstance(policy, BestPolicy):
        policy = replace(policy, equity=None)
    return replace(spec, weight=None, policy=policy)


@pytest.mark.slow
@pytest.mark.parametrize("spec", CASES[:-1])
def test_other_hostile_tables_are_released_in_parts(
    cluster: Cluster, spec: Spec
) -> None:
    release_hostile(cluster, without_weights(spec), driver_tuples=40)


@pytest.mark.parametrize("spec", CASES[-1:])
def test_hostile_table_is_released_in_parts(cluster: Cluster, spec: Spec) -> None:
    release_hostile(cluster, without_weights(spec), driver_tuples=200)


def test_rows_that_are_too_many_are_verified_bucket_by_bucket(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    from core_mondrian.sources import counted_release
    from core_mondrian.sources.spark import recount

    monkeypatch.setattr(counted_release, "_AT_ONCE", 3)
    ages = [age for age in range(20, 30) for _ in range(4)]
    table = pa.table(
        {"age": ages, "sick": ["flu", "cold"] * 20, "who": [*range(39), None]}
    )
    spec = Spec(("age",), (KAnonymity(4), DIVERSE), unit="who", suppressed="blank")
    frame = cluster.session.createDataFrame(table)

    assert recount.verify_spark(frame, spec) == verify(table, spec)
    small = frame.filter("age < 29 OR sick = 'flu'")
    with pytest.raises(PrivacyViolation, match="1 of"):
        recount.verify_spark(small, spec)


def test_frames_made_of_each_other_are_described_once(cluster: Cluster) -> None:
    """Spark does so with every job; once it was 2 to the power of their depth."""
    from core_mondrian.sources.spark.relations import Relations

    relations = Relations(cluster.session)
    relations.put("r", cluster.session.range(10).toDF("n"))
    for _ in range(8):
        view = relations.view("r")
        counted = f"SELECT n, count(*) AS c FROM {view} GROUP BY n"
        relations.put("r", cluster.session.sql(counted).select("n"))
    assert relations["r"].count() == 10

    described = relations["r"]._explain_string()

    relations.keep_only()
    assert described.count("InMemoryRelation") == 9
    adaptive = cluster.session.conf.get("spark.sql.adaptive.enabled")
    assert adaptive == "true"


NEEDS_ALL = [
    pytest.param({"weight": "weight"}, {}, "a weight", id="weight"),
    pytest.param(
        {"policy": BestPolicy(equity="sick"), "models": (KAnonymity(2), DIVERSE)},
        {},
        "equity",
        id="equity",
    ),
    pytest.param(
        {"models": (KMap(2, hostile(60).select(FEW)),)}, {}, "a population", id="map"
    ),
    pytest.param({}, {"by": ["a.b"]}, "--by", id="by"),
]


@pytest.mark.parametrize(("changes", "options", "words"), NEEDS_ALL)
def test_what_needs_all_tuples_here_is_refused_in_parts(
    cluster: Cluster, changes: dict[str, Any], options: dict[str, Any], words: str
) -> None:
    spec = replace(Spec(FEW, (KAnonymity(2),)), **changes)

    with pytest.raises(SpecError, match=f"{words} needs all distinct tuples"):
        on_cluster(cluster, hostile(60), spec, driver_tuples=5, **options)


def test_error_of_an_executor_is_ours_and_shows_no_cell(cluster: Cluster) -> None:
    table = pa.table({"a": [1, 1], "id": [2.0**60, 1.5]})
    spec = Spec(("a",), (KAnonymity(2),), pseudonyms=("id",))

    with pytest.raises(DataError, match="holds 1 floats of 2") as caught:
        on_cluster(cluster, table, spec, key=KEY)

    assert "1152921504606846976" not in str(caught.value)


# The command line

DIVERSE_INCOME = "distinct-l-diversity l=2 sensitive=income"
ASKED = ("--qid", "a.b", "--qid", "x `y", "--k", "5", "--identifier", "person")


def made_locally(cli: Command, *arguments: object) -> dict[str, Any]:
    done = cli("anonymize", *arguments)
    assert done.code == 0, done.err
    manifest: dict[str, Any] = json.loads(
        Path(f"{arguments[1]}.manifest.json").read_text(encoding="utf-8")
    )
    return manifest


@pytest.mark.parametrize(
    "suffix", ["parquet", pytest.param("csv", marks=pytest.mark.slow)]
)
def test_command_line_writes_what_it_writes_locally(
    cluster: Cluster, cli: Command, suffix: str
) -> None:
    from core_mondrian.tables.files.read import read_table
    from core_mondrian.tables.files.write import table_writer

    table = hostile().drop_columns(["list"])
    table_writer(table, Path(f"in.{suffix}"))(Path(f"in.{suffix}"))
    wanted = made_locally(cli, f"in.{suffix}", f"local.{suffix}", *ASKED)

    there = ("--engine", "spark", "--remote", cluster.remote)
    found = made_locally(cli, f"in.{suffix}", f"out.{suffix}", *there, *ASKED)

    assert found == wanted
    parts = sorted(Path(f"out.{suffix}").glob(f"part-*.{suffix}"))
    rows = sum((multiset(read_table(part)) for part in parts), Counter())
    local = read_table(f"local.{suffix}")
    if suffix == "csv":  # moments are written differently
        assert rows.total() == local.num_rows
    else:
        assert rows == multiset(local)
    again = cli("anonymize", f"in.{suffix}", f"out.{suffix}", *there, *ASKED)
    assert again.code == 2
    assert "exists" in again.err


@pytest.mark.slow
def test_command_line_takes_tables_and_replaces_them(
    cluster: Cluster, cli: Command
) -> None:
    session = cluster.session
    session.sql("DROP TABLE IF EXISTS released")
    frame = session.createDataFrame(hostile(60).drop_columns(["X `Y"]))
    frame.write.mode("overwrite").saveAsTable("original")
    asked = ("original", "released", "--engine", "spark", "--remote", cluster.remote)

    for more in ((), ("--overwrite",)):
        done = cli("anonymize", *asked, *ASKED, *more)
        assert done.code == 0, done.err

    assert session.table("released").count() == 60
    names = [table.name for table in session.catalog.listTables()]
    assert [name for name in names if name.startswith("core_mondrian")] == []
    session.sql("DROP TABLE released")
    session.sql("DROP TABLE original")


def test_rows_left_out_are_for_the_user_alone(
    cluster: Cluster, cli: Command, tmp_path: Path
) -> None:
    ages = [30] * 5 + [40] * 5 + [95]
    lines = [f"{age},{CANARY}" for age in ages]
    Path("in.csv").write_text("\n".join(["age,note", *lines]), encoding="utf-8")

    done = cli(
        *("anonymize", "in.csv", "out.csv", "--qid", "age", "--k", "5"),
        *(
            "--suppress",
            "1",
            "--suppressed",
            "separate",
            "--suppressed-file",
            "rows.csv",
        ),
        *("--engine", "spark", "--remote", cluster.remote),
    )

    assert done.code == 0, done.err
    rows = sorted((tmp_path / "rows.csv").rglob("*"))
    assert any(CANARY in path.read_text("latin-1") for path in rows)
    for path in (tmp_path / "rows.csv", *rows):
        assert not path.stat().st_mode & 0o077
    endings = ("", ".manifest.json", ".owner.json")
    names = ["in.csv", *(f"out.csv{x}" for x in endings), "rows.csv"]
    assert files_in(tmp_path) == names
    assert (tmp_path / "out.csv").stat().st_mode & 0o777 == 0o755


def test_bad_row_leaves_nothing_and_shows_no_cell(
    cluster: Cluster, cli: Command, tmp_path: Path
) -> None:
    Path("in.csv").write_text(f"a,b\n1,2\n1,{CANARY},3\n", encoding="utf-8")

    done = cli(
        *("anonymize", "in.csv", "out.csv", "--qid", "a", "--k", "2"),
        *("--engine", "spark", "--remote", cluster.remote),
    )

    assert done.code == 3
    assert "Spark failed to count tuples" in done.err
    assert files_in(tmp_path) == ["in.csv"]


def test_signal_ends_a_session_of_a_connect_server(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"age": [20 + i % 9 for i in range(90)]}), "in.parquet")
    command = [sys.executable, "-m", "core_mondrian.cli.main", "anonymize", "--json"]
    command += ["--engine", "spark", "--remote", cluster.remote, "--driver-tuples", "2"]
    with subprocess.Popen(  # noqa: S603
        [*command, "in.parquet", "out.parquet", "--qid", "age", "--k", "5"],
        env=without_spark(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stderr is not None
        said = ""
        while '{"progress":' not in (line := run.stderr.readline()):
            said += line
            assert line, f"it ended before anything was done: {said}"
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=60)

    assert run.returncode == 130, err
    assert err.splitlines()[-1] == "interrupted; nothing was written"
    assert "Traceback" not in err
    assert files_in(tmp_path) == ["in.parquet"]


def without_spark() -> dict[str, str]:
    """Return the environment; sessions of this process left their own settings."""
    return {k: v for k, v in os.environ.items() if not k.startswith("SPARK_")}


def test_classic_session_signs_what_can_be_verified_and_explained(
    cluster: Cluster, cli: Command, tmp_path: Path
) -> None:
    """Tuples stay on the cluster, and Spark leaves files of its own in the folder."""
    table = census(1_500).drop_columns(["person_id"])
    pq.write_table(table, "in.parquet")
    flags = [part for name in QIDS[:4] for part in ("--qid", name)]
    flags += ["--k", "5", "--model", DIVERSE_INCOME]
    assert cli("keygen", "own.key").code == 0
    flags += ["--sign-key", "own.key", "--driver-tuples", "200"]

    done = subprocess.run(  # noqa: S603
        [
            *(sys.executable, "-m", "core_mondrian.cli.main", "anonymize"),
            *("in.parquet", "out.parquet", *flags),
            *("--engine", "spark", "--master", cluster.master),
        ],
        env=without_spark() | CLASSIC,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    models = (KAnonymity(5), DistinctLDiversity(2, "income"))
    wanted = anonymize(table, Spec(QIDS[:4], models))
    manifest = json.loads(Path("out.parquet.manifest.json").read_text())
    assert manifest["digests"]["release"] == wanted.digest
    assert (tmp_path / "out.parquet" / "_SUCCESS").exists()
    beside = ("out.parquet", "--manifest", "out.parquet.manifest.json")
    for command in ("verify", "explain"):
        told = cli(command, *beside)
        assert told.code == 0, told.err


@pytest.mark.parametrize("driver_tuples", [1_000_000, 20])
def test_connect_session_signs_what_a_key_verifies(
    cluster: Cluster, cli: Command, driver_tuples: int
) -> None:
    """Planned here and on the cluster: the manifest is signed here, by no server."""
    pytest.importorskip("cryptography", reason="not installed: the extra 'sign'")
    pq.write_table(census(300).select(QIDS[:2]), "in.parquet")
    assert cli("keygen", "own.key").code == 0
    asked = ("in.parquet", "out.parquet", "--qid", QIDS[0], "--qid", QIDS[1])
    there = ("--engine", "spark", "--remote", cluster.remote)
    more = ("--driver-tuples", driver_tuples, "--sign-key", "own.key")

    done = cli("anonymize", *asked, "--k", "5", *there, *more)

    assert done.code == 0, done.err
    assert "wrote out.parquet.manifest.json.sig" in done.err
    assert "signed      by key sha256:" in done.err
    beside = ("--manifest", "out.parquet.manifest.json")
    check = ("verify", "out.parquet", *beside, "--public-key", "own.key.pub")
    assert cli(*check).code == 0
    manifest = Path("out.parquet.manifest.json")
    manifest.write_bytes(manifest.read_bytes() + b"\n")
    spoiled = cli(*check)
    assert spoiled.code != 0
    assert "signature does not fit" in spoiled.err


def test_options_of_a_cluster_need_the_engine(cli: Command) -> None:
    done = cli(
        "anonymize", "in.csv", "out.csv", "--qid", "a", "--k", "2", "--master", "local"
    )

    assert done.code == 2
    assert "--engine spark" in done.err


@pytest.mark.slow
def test_scripts_submit_to_the_cluster(cluster: Cluster, tmp_path: Path) -> None:
    """The classic way: pack what executors need, and spark-submit."""
    table = census(3_000)
    pq.write_table(table, tmp_path / "in.parquet")
    env = without_spark() | {
        "PYTHONPATH": str(ROOT / "src"),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    packed = tmp_path / "packed.tar.gz"
    subprocess.run(  # noqa: S603
        [sys.executable, "-m", f"{DEPLOY}.pack", str(packed), "--no-deps"],
        env=env,
        check=True,
    )
    qids = [part for name in QIDS for part in ("--qid", name)]
    done = subprocess.run(  # noqa: S603
        [
            *(sys.executable, "-m", f"{DEPLOY}.submit", cluster.master, str(packed)),
            *("anonymize", "in.parquet", "out.parquet", *qids, "--k", "5"),
        ],
        env=env | {"SPARK_SUBMIT_OPTIONS": "--executor-memory 1g --executor-cores 1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "out.parquet.manifest.json").read_text())
    spec = Spec(QIDS, (KAnonymity(5),))
    assert found["digests"]["release"] == anonymize(table, spec).digest


LARGE = [
    pytest.param("adult", PaperPolicy(), id="adult-paper"),
    pytest.param("adult", BestPolicy(effort="fast"), id="adult-best"),
    pytest.param("census", PaperPolicy(), id="census-paper"),
    pytest.param("census", BestPolicy(effort="fast"), id="census-best"),
]


@pytest.mark.slow
@pytest.mark.parametrize("driver_tuples", [1_000_000, 10_000])
@pytest.mark.parametrize(("name", "policy"), LARGE)
def test_large_tables_are_released_as_in_memory(
    cluster: Cluster, tmp_path: Path, name: str, policy: Any, driver_tuples: int
) -> None:
    from core_mondrian.sources.spark.api import anonymize_spark

    if name == "adult" and "CORE_MONDRIAN_ADULT" not in os.environ:
        pytest.skip("CORE_MONDRIAN_ADULT does not say where UCI Adult is")
    is_adult = name == "adult"
    folder = os.environ.get("CORE_MONDRIAN_ADULT")
    table = adult(folder) if is_adult else census(1_000_000)
    pq.write_table(table, tmp_path / "in.parquet")
    qids = list(ADULT_SETS.values())[1] if is_adult else CENSUS_QUASI_IDENTIFIERS
    spec = Spec(qids, (KAnonymity(5),), policy=policy)
    cluster.session.conf.set("spark.sql.codegen.wholeStage", "true")
    cluster.session.conf.set("spark.sql.codegen.factoryMode", "FALLBACK")

    frame = cluster.session.read.parquet(str(tmp_path / "in.parquet"))
    found = anonymize_spark(frame, spec, driver_tuples=driver_tuples)

    assert found.manifest() == anonymize(table, spec).manifest()


@pytest.mark.slow
def test_worker_killed_in_the_middle_changes_nothing(
    cluster: Cluster, tmp_path: Path
) -> None:
    """The last test: the cluster has one worker less afterwards.

    It dies with the tuples, and all that was made of them, that it has.
    """
    from core_mondrian.sources.spark.api import anonymize_spark

    table = census(6_000).drop_columns(["person_id"])
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=600)
    frame = cluster.session.read.parquet(str(tmp_path / "in.parquet"))
    frame = frame.repartition(6)
    spec = Spec(QIDS, (KAnonymity(5),), policy=BestPolicy(effort="fast"))
    killed: list[float] = []

    def kill() -> None:
        os.kill(cluster.workers[0], signal.SIGKILL)
        killed.append(time.monotonic())

    def progress(stage: str, done: float) -> None:
        if (stage, done) == ("describe", 0.0):
            threading.Timer(0.5, kill).start()

    found = anonymize_spark(frame, spec, progress=progress, driver_tuples=1_500)

    ended = time.monotonic()
    assert killed
    assert killed[0] < ended
    assert isinstance(found, PartedRelease)
    wanted = anonymize(table, spec)
    assert found.manifest() == wanted.manifest()
    assert multiset(found.data.toArrow()) == multiset(wanted.data)
