"""The ARX adapter, with a stand-in for its library: the names and types it calls."""

import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.peers.cells import Anything, Column, Range, Values
from benchmarks.peers.runs import TOOLS, Task, load_tool, run_tool
from benchmarks.peers.tools import arx
from benchmarks.peers.verdicts import ID, Terms, judge_release, read_csv, read_released

# What the driver uses of ARX 3.9, with the signatures of its sources. The stand-in
# shows the second level of each hierarchy; "local" the first but one.
STAND_IN = {
    "AttributeType": """
        public class AttributeType {
            public static AttributeType INSENSITIVE_ATTRIBUTE = new AttributeType();
            public static abstract class Hierarchy extends AttributeType {
                public abstract String[][] getHierarchy();
                public static Hierarchy create(final java.util.List<String[]> list) {
                    return new Hierarchy() {
                        public String[][] getHierarchy() {
                            return list.toArray(new String[0][]);
                        }
                    };
                }
            }
        }""",
    "DataDefinition": """
        public class DataDefinition {
            java.util.Map<String, AttributeType> types = new java.util.HashMap<>();
            public void setAttributeType(final String a, final AttributeType type) {
                types.put(a, type);
            }
        }""",
    "Data": """
        public class Data {
            java.util.List<String[]> rows;
            DataDefinition definition = new DataDefinition();
            public static Data create(final java.util.List<String[]> list) {
                Data data = new Data();
                data.rows = list;
                return data;
            }
            public DataDefinition getDefinition() { return definition; }
        }""",
    "DataHandle": """
        public class DataHandle {
            java.util.List<String[]> rows = new java.util.ArrayList<>();
            public java.util.Iterator<String[]> iterator() { return rows.iterator(); }
        }""",
    "ARXConfiguration": """
        public class ARXConfiguration {
            double limit;
            int k;
            public static ARXConfiguration create() { return new ARXConfiguration(); }
            public ARXConfiguration addPrivacyModel(
                    org.deidentifier.arx.criteria.PrivacyCriterion model) {
                k = ((org.deidentifier.arx.criteria.KAnonymity) model).k;
                return this;
            }
            public void setSuppressionLimit(double limit) { this.limit = limit; }
            public void setQualityModel(org.deidentifier.arx.metric.Metric<?> m) {}
        }""",
    "ARXProcessStatistics": "public class ARXProcessStatistics {}",
    "exceptions/RollbackRequiredException": """
        public class RollbackRequiredException extends Exception {}""",
    "criteria/PrivacyCriterion": "public abstract class PrivacyCriterion {}",
    "criteria/KAnonymity": """
        public class KAnonymity extends PrivacyCriterion {
            public final int k;
            public KAnonymity(int k) { this.k = k; }
        }""",
    "metric/Metric": """
        public abstract class Metric<T> {
            public static Metric<Object> createLossMetric(double gsFactor) {
                return new Metric<Object>() {};
            }
        }""",
    "ARXResult": """
        public class ARXResult {
            Data data;
            ARXConfiguration config;
            DataHandle out = new DataHandle();
            public boolean isResultAvailable() { return config.k <= data.rows.size(); }
            public DataHandle getOutput() { fill(99); return out; }
            public ARXProcessStatistics optimizeIterativeFast(
                    final DataHandle handle, double records)
                    throws org.deidentifier.arx.exceptions.RollbackRequiredException {
                if (config.limit != 1.0 - records) throw new IllegalStateException();
                fill(2);
                return null;
            }
            void fill(int level) {
                out.rows.clear();
                String[] names = data.rows.get(0);
                for (String[] row : data.rows) {
                    String[] shown = row.clone();
                    for (int i = 0; i < names.length && row != names; i++) {
                        AttributeType type = data.definition.types.get(names[i]);
                        if (!(type instanceof AttributeType.Hierarchy)) continue;
                        for (String[] known :
                                ((AttributeType.Hierarchy) type).getHierarchy())
                            if (known[0].equals(row[i]))
                                shown[i] = known[Math.min(level, known.length - 1)];
                    }
                    out.rows.add(shown);
                }
            }
        }""",
    "ARXAnonymizer": """
        public class ARXAnonymizer {
            public ARXResult anonymize(final Data data, ARXConfiguration config)
                    throws java.io.IOException {
                ARXResult result = new ARXResult();
                result.data = data;
                result.config = config;
                return result;
            }
        }""",
}


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stand-in, compiled."""
    if not (shutil.which("javac") and shutil.which("java")):
        pytest.skip("there is no Java here")
    folder = tmp_path_factory.mktemp("arx")
    files = []
    for name, source in STAND_IN.items():
        file = folder / "org" / "deidentifier" / "arx" / f"{name}.java"
        file.parent.mkdir(parents=True, exist_ok=True)
        package = ".".join(["org.deidentifier.arx", *name.split("/")[:-1]])
        file.write_text(f"package {package};\n{source}", encoding="utf-8")
        files.append(str(file))
    subprocess.run(["javac", "-d", str(folder), *files], check=True)  # noqa: S603, S607
    return folder


@pytest.mark.parametrize("how", ["global", "local"])
@pytest.mark.long
def test_the_driver_runs_and_what_it_releases_is_read(
    how: str, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(arx.JAR, str(library))
    file = tmp_path / "table.csv"
    jobs = ["a, b", None, "c"] * 4
    table = pd.DataFrame({"age": range(20, 32), "job": jobs, ID: range(12)})
    table.to_csv(file, index=False)
    task = Task(file, ("age", "job"), ("age",), 12, 0.01, steps={"age": (5, 20, 50)})
    tool = next(x for x in load_tool(TOOLS / "arx.py") if x.options["how"] == how)

    ran = run_tool(tool, task, tmp_path, 60)

    assert ran.outcome == "released", ran.why
    assert ran.released is not None
    found = read_released(ran.released)
    shown = set(zip(found["age"], found["job"], strict=True))
    assert shown == {("*", "*")} if how == "global" else {("[20, 40)", "*")}
    terms = Terms(("age", "job"), k=12, may_lose=0)
    judged = judge_release(read_csv(file), found, tool.read, terms)
    assert judged["wrong"] == []


def test_no_result_is_an_empty_table(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(arx.JAR, str(library))
    table = pd.DataFrame({"age": [1, 2], ID: [0, 1]})
    job = {"qids": ["age"], "k": 50, "suppress": 0, "steps": {}}
    monkeypatch.chdir(tmp_path)
    assert arx.release(table, {**job, "options": {"how": "global"}}).empty


def test_levels_are_nested_and_missing_stays_apart() -> None:
    rows = arx.levels(pd.Series(["7", "12", "NULL"]), (5, 10, 24, 40))
    assert rows == [
        ["12", "[10, 15)", "[10, 20)", "[0, 40)", "*"],
        ["7", "[5, 10)", "[0, 10)", "[0, 40)", "*"],
        ["NULL", "NULL", "NULL", "NULL", "*"],
    ]


def test_cells_are_read() -> None:
    age = Column("age", is_number=True)
    job = Column("job", is_number=False, values=frozenset({"a", "b"}))
    assert arx.read("[10, 15)", age) == Range(10, 15, closed=False)
    assert arx.read("*", job) == Anything()
    assert arx.read("a", job) == Values(frozenset({"a"}))
    assert arx.read("NULL", job) != arx.read("*", job)
