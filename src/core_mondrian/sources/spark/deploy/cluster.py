"""Start a Spark cluster on this machine: a master, workers, maybe a Connect server.

Every one of them is a process of its own, bound to loopback, as on a cluster of
machines. One line of JSON says where they are; they run until this one is terminated.
For trying things out and for the tests; needs Java and pyspark, nothing else.

    python -m core_mondrian.sources.spark.deploy.cluster --workers 2 --connect
"""

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType

HOST = "127.0.0.1"
CLASSES = {
    "master": "org.apache.spark.deploy.master.Master",
    "worker": "org.apache.spark.deploy.worker.Worker",
    "connect": "org.apache.spark.sql.connect.service.SparkConnectServer",
}
PATIENCE = 300.0


def main() -> None:
    """Start what is asked for, say where it is, and wait."""
    options = read_options()
    folder = Path(tempfile.mkdtemp(prefix="core-mondrian-spark-"))
    started: list[subprocess.Popen[bytes]] = []
    # A signal ends the wait below; then everything is stopped.
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    try:
        print(json.dumps(start_all(options, folder, started)), flush=True)  # noqa: T201
        while True:
            signal.pause()
    finally:
        for process in reversed(started):
            process.kill()
        for process in started:
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def read_options() -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cores", type=int, default=2, help="of each worker")
    parser.add_argument("--memory", default="2g", help="of each worker")
    parser.add_argument("--connect", action="store_true", help="a Connect server too")
    return parser.parse_args()


def stop(_signal: int, _frame: FrameType | None) -> None:
    """Leave, through what cleans up."""
    sys.exit(0)


def start_all(
    options: argparse.Namespace,
    folder: Path,
    started: list[subprocess.Popen[bytes]],
) -> dict[str, object]:
    """Start the processes one after the other; return where they are."""
    url = f"spark://{HOST}:{free_port()}"
    log = folder / "master.log"
    flags = ["--host", HOST, "--port", url.rpartition(":")[2], "--webui-port", "0"]
    started.append(start("master", flags, log, folder))
    wait_for("New state: ALIVE", log, started[-1])
    workers = []
    for number in range(options.workers):
        log = folder / f"worker-{number}.log"
        flags = ["--host", HOST, "--webui-port", "0", "--cores", str(options.cores)]
        flags += ["--memory", options.memory, "--work-dir", str(folder / "work"), url]
        started.append(start("worker", flags, log, folder))
        workers.append((started[-1], log))
    for process, log in workers:
        wait_for("Successfully registered with master", log, process)
    told: dict[str, object] = {
        "master": url,
        "workers": [process.pid for process, _ in workers],
    }
    if options.connect:
        told["remote"] = start_connect(url, options, folder, started)
    return told


def start_connect(
    url: str,
    options: argparse.Namespace,
    folder: Path,
    started: list[subprocess.Popen[bytes]],
) -> str:
    """Start a Connect server on the cluster; return its address."""
    port = free_port()
    log = folder / "connect.log"
    command = [spark("spark-submit"), "--master", url, "--name", "connect"]
    # One core and 1 GB of each worker: what is left is for other applications.
    command += ["--executor-memory", "1g", "--executor-cores", "1"]
    command += ["--total-executor-cores", str(options.workers)]
    for key, value in {
        "spark.driver.host": HOST,
        "spark.driver.bindAddress": HOST,
        "spark.ui.enabled": "false",
        "spark.connect.grpc.binding.address": HOST,
        "spark.connect.grpc.binding.port": str(port),
    }.items():
        command += ["--conf", f"{key}={value}"]
    command += ["--class", CLASSES["connect"], "spark-internal"]
    started.append(launch(command, log, folder))
    wait_for("Spark Connect server started at", log, started[-1])
    return f"sc://{HOST}:{port}"


def start(
    what: str, flags: list[str], log: Path, folder: Path
) -> "subprocess.Popen[bytes]":
    """Start one part of the cluster."""
    return launch([spark("spark-class"), CLASSES[what], *flags], log, folder)


def launch(command: list[str], log: Path, folder: Path) -> "subprocess.Popen[bytes]":
    """Run a command of Spark's; what it says goes to a file."""
    own = {
        "PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_LOCAL_DIRS": str(folder / "scratch"),
        "SPARK_NO_DAEMONIZE": "1",
    }
    with log.open("wb") as file:
        return subprocess.Popen(  # noqa: S603
            command, stdout=file, stderr=file, cwd=folder, env=os.environ | own
        )


def spark(program: str) -> str:
    """Return one of the programs that come with pyspark."""
    import pyspark

    return str(Path(pyspark.__file__).parent / "bin" / program)


def free_port() -> int:
    """Return a port that nobody listens to."""
    with socket.socket() as one:
        one.bind((HOST, 0))
        return int(one.getsockname()[1])


def wait_for(words: str, log: Path, process: "subprocess.Popen[bytes]") -> None:
    """Wait until a process has said something."""
    until = time.monotonic() + PATIENCE
    while words not in log.read_text(errors="replace"):
        if process.poll() is not None or time.monotonic() > until:
            sys.exit(f"{log.stem} did not start:\n{log.read_text(errors='replace')}")
        time.sleep(0.1)


if __name__ == "__main__":
    main()
