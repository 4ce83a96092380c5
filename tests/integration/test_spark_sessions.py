"""Clusters that are not there or not free, and runs on them that are stopped."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Command, files_in

from core_mondrian.sources.spark import session

pytest.importorskip("pyspark", reason="pyspark is not installed: the extra 'spark'")

pytestmark = [
    pytest.mark.skipif(
        shutil.which("java") is None and "JAVA_HOME" not in os.environ,
        reason="Spark needs Java, and there is none here",
    ),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

ASKED = ("anonymize", "in.parquet", "out.parquet", "--qid", "age", "--k", "5")
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
WITHIN = 30
"""Seconds until a message."""


def write_people() -> None:
    ages = [20 + i % 9 for i in range(90)]
    pq.write_table(pa.table({"age": ages}), "in.parquet")


@pytest.fixture
def mute() -> Iterator[int]:
    """Yield a port that takes connections, and never answers."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen(8)
        yield int(one.getsockname()[1])


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.mark.parametrize(
    "place", [("--remote", "sc"), ("--master", "spark")], ids=["connect", "classic"]
)
def test_a_server_that_is_not_there_is_told_at_once(
    cli: Command, place: tuple[str, str]
) -> None:
    write_people()
    option, kind = place
    begun = time.monotonic()

    address = f"{kind}://127.0.0.1:{free_port()}"
    done = cli(*ASKED, "--engine", "spark", option, address)

    assert done.code == 3
    assert "failed to connect: the server cannot be reached" in done.err
    assert time.monotonic() - begun < WITHIN
    assert files_in(Path.cwd()) == ["in.parquet"]


def test_a_server_that_does_not_answer_is_not_waited_for(
    cli: Command, mute: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_people()
    monkeypatch.setenv("CORE_MONDRIAN_SPARK_WAIT", "1")

    done = cli(*ASKED, "--engine", "spark", "--remote", f"sc://127.0.0.1:{mute}")

    assert done.code == 3
    assert "failed to connect: the server cannot be reached" in done.err


@pytest.fixture(scope="module")
def idle_master() -> Iterator[str]:
    """Yield the address of a cluster without workers."""
    command = [sys.executable, "-m", "core_mondrian.sources.spark.deploy.cluster"]
    with subprocess.Popen(  # noqa: S603
        [*command, "--workers", "0"], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["master"]
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


def started(*arguments: str, **env: str) -> "subprocess.Popen[str]":
    """Run the command line in a process of its own."""
    # Sessions of this process have left their own settings there.
    plain = {k: v for k, v in os.environ.items() if not k.startswith("SPARK_")}
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "core_mondrian.cli.main", *ASKED, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**plain, "JDK_JAVA_OPTIONS": JAVA, **env},
        text=True,
    )


def test_a_cluster_without_a_free_core_is_told(
    idle_master: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_people()

    there = ("--engine", "spark", "--master", idle_master)
    with started(*there, CORE_MONDRIAN_SPARK_WAIT="1") as run:
        _, err = run.communicate(timeout=300)

    assert run.returncode == 3, err
    assert "failed to run a job: no executor took a job" in err
    assert "Traceback" not in err
    assert files_in(tmp_path) == ["in.parquet"]


def test_there_is_a_message_within_half_a_minute() -> None:
    """Tests do not wait as long as users do."""
    last = session._WAIT + 2 * session._GOODBYE

    assert last < WITHIN


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        pytest.param(signal.SIGTERM, 143, id="TERM"),
        pytest.param(signal.SIGINT, 130, id="INT", marks=pytest.mark.slow),
    ],
)
def test_a_signal_ends_a_classic_session(
    kind: signal.Signals, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_people()
    there = ("--engine", "spark", "--master", "local[1]", "--json")
    # Java may start slowly on a machine that has other things to do.
    with started(*there, CORE_MONDRIAN_SPARK_WAIT="120") as run:
        assert run.stderr is not None
        said = ""
        while '{"progress":' not in (line := run.stderr.readline()):
            said += line
            assert line, f"it ended before anything was done: {said}"

        run.send_signal(kind)
        _, err = run.communicate(timeout=60)

    assert run.returncode == code, err
    assert err.splitlines()[-1] == "interrupted; nothing was written"
    assert "Traceback" not in err
    assert files_in(tmp_path) == ["in.parquet"]
