"""Random specs and mutated files through the command line, in a folder of their own."""

import contextlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from benchmarks.fuzz.mutations import draw_spec, mutate
from benchmarks.lines import say

CANARY = "qanarieQ"
"""Part of cells that no message may quote."""
DOCUMENTED = frozenset({0, 2, 3, 4, 5, 6, 7})
PROCESS_EVERY = 500
"""One run in so many is a process of its own."""
_TREE = "cat;beast;*\ndog;beast;*\nhen;bird;*\nowl;bird;*\n"
_SPEC = 'quasi_identifiers = ["age", "zip", "pet"]\nk = 2\nidentifiers = ["name"]\n'
_TABLES = ("table.csv", "table.parquet", "table.arrow")
_RELEASES = ("release.csv", "release.parquet")
_TARGETS = ("out.csv", "out.parquet", "out.arrow") * 3 + ("out.csv.gz", "out")
_SIGNATURE = "release.csv.manifest.json.sig"
_MUTABLE = (
    *_TABLES,
    *("table.csv", "tree.csv", "tree.json", "spec.toml", "spec.toml"),
    *("release.csv", "release.csv.manifest.json", "release.parquet", "key.pem"),
)


@dataclass
class Tally:
    """What came of some runs."""

    runs: int = 0
    processes: int = 0
    codes: Counter[int] = field(default_factory=Counter)
    by_command: Counter[str] = field(default_factory=Counter)
    finds: list[tuple[int, str]] = field(default_factory=list)
    cpu: float = 0.0

    def to_json(self) -> dict[str, Any]:
        return {
            "runs": self.runs,
            "in processes of their own": self.processes,
            "finds": len(self.finds),
            "exit codes": {str(code): self.codes[code] for code in sorted(self.codes)},
            "by command": dict(sorted(self.by_command.items())),
            "cpu seconds": round(self.cpu, 1),
        }


def run_commands(seed: int, numbers: range) -> Tally:
    """Try the command lines of these numbers, and tell how far it is."""
    tally = Tally()
    started = time.process_time()
    with tempfile.TemporaryDirectory() as name:
        base = Path(name) / "base"
        make_files(base)
        for number in numbers:
            for text in try_command(seed, number, base, Path(name) / "run", tally):
                tally.finds.append((number, text))
                say(f"command {number}: {text}")
            if tally.runs % 500 == 0:
                say(f"{tally.runs:,} commands, {len(tally.finds)} finds")
    tally.cpu = time.process_time() - started
    return tally


def make_files(base: Path) -> None:
    """Write a table in every form, and what goes with it."""
    base.mkdir()
    random = Random(0)  # noqa: S311
    n = 40
    table = pa.table(
        {
            "age": [random.randint(20, 60) for _ in range(n)],
            "zip": [f"{random.randint(13000, 13060)}" for _ in range(n)],
            "pet": [random.choice(("cat", "dog", "hen", "owl")) for _ in range(n)],
            "illness": [f"{CANARY}{random.randint(1, 4)}" for _ in range(n)],
            "person": [random.randint(1, 30) for _ in range(n)],
            "name": [f"{CANARY} {i}" for i in range(n)],
            "joined": pa.array([18_000 + 31 * i for i in range(n)], pa.date32()),
        }
    )
    pa.csv.write_csv(table, base / "table.csv")
    pa.parquet.write_table(table, base / "table.parquet")
    pa.feather.write_feather(table, str(base / "table.arrow"), compression="lz4")
    (base / "tree.csv").write_text(_TREE)
    (base / "spec.toml").write_text(_SPEC)
    for arguments in (
        ["hierarchy", "table.csv", "pet", "--from", "tree.csv", "--write", "tree.json"],
        ["anonymize", "table.csv", "release.csv", "--spec", "spec.toml"],
        ["anonymize", "table.csv", "release.parquet", "--spec", "spec.toml"],
    ):
        code, _, errors = run_here(arguments, base)
        if code:
            raise SystemExit(f"the files to mutate cannot be made: {errors}")
    run_here(["keygen", "key.pem"], base)
    if not (base / "key.pem").exists():  # without the extra `sign`
        (base / "key.pem").write_text("no key\n")


def try_command(
    seed: int, number: int, base: Path, folder: Path, tally: Tally
) -> list[str]:
    """Run one command on mutated files; return what is wrong with how it ended."""
    random = Random(seed << 40 | number)  # noqa: S311
    shutil.copytree(base, folder)
    try:
        keeps_header = _spoil(random, folder)
        arguments = _arguments(random)
        tally.runs += 1
        tally.by_command[arguments[0]] += 1
        before = _listing(folder)
        apart = number % PROCESS_EVERY == 0
        tally.processes += apart
        code, out, errors = (run_apart if apart else run_here)(arguments, folder)
        tally.codes[code] += 1
        added = _listing(folder) - before
        return [
            f"{arguments[0]}: {fault}"
            for fault in _faults(code, out, errors, added, keeps_header=keeps_header)
        ]
    finally:
        shutil.rmtree(folder)


def _faults(
    code: int, out: str, errors: str, added: set[str], *, keeps_header: bool
) -> list[str]:
    found = []
    if code not in DOCUMENTED:
        # The place in our source that it names, and nothing else.
        told = [line for line in errors.splitlines() if "error" in line][-1:]
        found.append(f"exit code {code}: {' '.join(told)[:200]}")
    if "Traceback" in out + errors:
        found.append("a traceback")
    if code and added:
        found.append(f"exit code {code} and new files: {sorted(added)}")
    if strange := sorted(
        x for x in added if not x.startswith("out") and x != _SIGNATURE
    ):
        found.append(f"files nobody asked for: {strange}")
    if code and keeps_header and CANARY.lower() in (out + errors).lower():
        found.append(f"exit code {code} and a cell in the message")
    return found


def _listing(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def _spoil(random: Random, folder: Path) -> bool:
    """Mutate files; tell whether no cell of a table can pass for a column's name."""
    keeps_header = True
    if random.random() < 0.6:
        (folder / "spec.toml").write_text(draw_spec(random))
    for _ in range(random.choice((0, 1, 1, 2))):
        path = folder / random.choice(_MUTABLE)
        content = path.read_bytes()
        is_text_table = path.suffix == ".csv" and path.stem != "tree"
        keep = 0
        if is_text_table and random.random() < 0.7:
            keep = content.find(b"\n") + 1
        elif path.stem in ("table", "release"):
            keeps_header = False
        changed = mutate(random, content, keep=keep)
        if b"\x85" in changed or b"\r" in changed[:keep]:
            keeps_header = False
        path.write_bytes(changed)
    return keeps_header


def _arguments(random: Random) -> list[str]:
    table, release = random.choice(_TABLES), random.choice(_RELEASES)
    spec = ["--spec", "spec.toml"]
    out = random.choice(_TARGETS)
    pets = ["anonymize", table, out, "--qid", "age", "--k", "2", "--qid", "pet"]
    manifest = ["--manifest", "release.csv.manifest.json"]
    tree = random.choice(("tree.csv", "tree.json"))
    learn = ["hierarchy", table, "pet", "--learned"]
    qids = ["--qid", "age", "--qid", "zip", "--qid", "pet"]
    change = ["--sensitive", "illness", "-p", "2"]
    lines = [
        *([["anonymize", table, out, *spec, *_more(random)]] * 3),
        *([[*pets, "--hierarchy", f"pet={tree}"]] * 2),
        [*pets, "--sign-key", "key.pem"],
        ["verify", release, *spec],
        ["verify", "release.csv", *manifest],
        ["verify", "release.csv", *manifest, "--with", table],
        ["verify", "release.csv", *manifest, "--with", table, "--redo"],
        ["explain", release, *random.choice(([], spec, ["--json"], ["--columns"]))],
        ["inspect", random.choice((table, release)), *random.choice(([], ["--json"]))],
        ["init", table, *random.choice(([], ["out.toml"], ["--schema", "out.json"]))],
        ["hierarchy", table, "pet", "--from", tree],
        ["hierarchy", table, "zip", "--prefix", "2", "--write", "out.json"],
        ["hierarchy", table, "age", "--ranges", "5,10", "--write", "out.csv"],
        [*learn, "--with", "age", "--write", "out.toml"],
        ["compare", table, release, *spec, "--means", "age:pet"],
        ["attack", release, "--with", table, *random.choice(([], spec, ["--json"]))],
        ["p-sensitize", release, "--output", out, *qids, "-k", "2", *change],
        ["p-sensitize", release, "--output", out, *spec, *change],
        ["advise", table, *spec],
        ["schema"],
        ["sign", "release.csv.manifest.json", "--key", "key.pem"],
    ]
    return random.choice(lines)


def _more(random: Random) -> list[str]:
    options: tuple[list[str], ...] = (
        *([], [], [], ["--stream"], ["--memory", "300MB"], ["--memory", "1KB"]),
        *(["--json"], ["--no-measures"], ["--report", "out.html"], ["--bad-rows", "3"]),
        *(["--suppressed-file", "out2.csv"], ["--threads", "2"], ["--null", "?"]),
        *(["--save-counts", "out.counts", "--stream"], ["--memory", "much"]),
        *(["--numbers", "bounds"], ["--shuffle", "x"], ["--weight", "age=-1"]),
        *(["--overwrite"], ["--seed", "9" * 40], ["--threads", "0"], ["--k", "1"]),
    )
    return [*random.choice(options), *random.choice(options)]


def run_here(arguments: list[str], folder: Path) -> tuple[int, str, str]:
    """Run the command line in this process; return its code and what it said."""
    from core_mondrian.cli.main import run

    out, errors = io.StringIO(), io.StringIO()
    was = Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            run(arguments)
    except SystemExit as leave:
        code = (
            leave.code if isinstance(leave.code, int) else int(leave.code is not None)
        )
    except Exception as error:  # noqa: BLE001  # which is what is looked for
        return 1, out.getvalue(), f"{errors.getvalue()}\nTraceback: {type(error)}"
    finally:
        os.chdir(was)
    return code, out.getvalue(), errors.getvalue()


def run_apart(arguments: list[str], folder: Path) -> tuple[int, str, str]:
    """Run the command line as users do."""
    code = "from core_mondrian.cli.main import run; run()"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    return done.returncode, done.stdout, done.stderr
