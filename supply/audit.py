"""Look the locked packages up in databases of known vulnerabilities.

    python -m supply.audit PIP_AUDIT

PIP_AUDIT is the command of pip-audit. It says that nothing was found also where no
database knew a single package; so what was looked up is counted here. Exit codes: 0 all
were looked up and none is vulnerable, 1 some are, 3 some could not be looked up.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from supply.lock import DEV_LOCK, SUPPLY_LOCK

Run: TypeAlias = Callable[..., Any]
SERVICES = ("pypi", "osv")
VULNERABLE, UNKNOWN = 1, 3
Found: TypeAlias = dict[str, list[str]]
"""The vulnerabilities of each package and version that was looked up."""


def ask(command: str, service: str, *, run: Run = subprocess.run) -> list[Any]:
    """Return what a database says of each package; nothing if it does not answer."""
    locks = [f"--requirement={file}" for file in (DEV_LOCK, SUPPLY_LOCK)]
    options = ["--disable-pip", "--require-hashes", "--format=json", "--timeout=10"]
    quiet = "--progress-spinner=off"
    done = run(
        [command, f"--vulnerability-service={service}", quiet, *options, *locks],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        return list(json.loads(done.stdout)["dependencies"])
    except (ValueError, KeyError):
        return []


def merge(answers: Iterable[Iterable[Any]]) -> tuple[Found, set[str]]:
    """Return what was found for each package, and those that nobody looked up."""
    found: Found = {}
    names = set()
    for package in (package for answer in answers for package in answer):
        names.add(package["name"])
        if "skip_reason" not in package:
            ids = {vuln["id"] for vuln in package["vulns"]}
            found[package["name"]] = sorted(ids.union(found.get(package["name"], ())))
    return found, names - set(found)


def main(command: str, *, run: Run = subprocess.run) -> int:
    answers = [ask(command, service, run=run) for service in SERVICES]
    found, unknown = merge(answers)
    for service, answer in zip(SERVICES, answers, strict=True):
        known = sum("skip_reason" not in package for package in answer)
        print(f"{service}: {f'{known} packages looked up' if known else 'no answer'}")
    vulnerable = {name: ids for name, ids in sorted(found.items()) if ids}
    for name, ids in vulnerable.items():
        print(f"vulnerable: {name}: {', '.join(ids)}")
    if vulnerable:
        return VULNERABLE
    if not found:
        print("nothing was audited: no database of vulnerabilities can be reached")
        return UNKNOWN
    print(f"{len(found)} packages audited, none is known to be vulnerable")
    if unknown:
        print(f"not audited: {', '.join(sorted(unknown))}")
    return UNKNOWN if unknown else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
