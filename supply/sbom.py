"""Make the bill of materials of what users install.

    python -m supply.sbom ENVIRONMENT.json SBOM.json

Takes what `cyclonedx-py environment` found in the development environment; keeps what
core-mondrian and its extras need, says which of it only extras need, and adds the
hashes of the lock file. No clock and no random number: equal locks, equal bytes.
"""

import json
import sys
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from supply.closure import EXTRAS, direct, names_needed, needed
from supply.lock import DEV_LOCK, Locked, read_lock

ROOT_REF = "root-component"


def keep_needed(found: dict[str, Any], locked: dict[str, Locked]) -> dict[str, Any]:
    """Return the bill with the components that users get, each with its hashes.

    Raises:
        ValueError: a package is installed in another version than the locked one.
    """
    always, sometimes = set(needed([])), set(needed())
    components: list[dict[str, Any]] = []
    refs: dict[str, str] = {}
    for component in found["components"]:
        name = canonicalize_name(component["name"])
        if name in sometimes:
            scope = "required" if name in always else "optional"
            components.append(_described(component, locked[name], scope))
            refs[name] = component["bom-ref"]
    if sometimes - set(refs):
        raise ValueError(f"not in the environment: {sorted(sometimes - set(refs))}")
    dependencies = [_kept(entry, refs) for entry in found["dependencies"]]
    asked = [refs[name] for name in names_needed(direct(EXTRAS))]
    return {
        **{key: value for key, value in found.items() if key != "serialNumber"},
        "metadata": {k: v for k, v in found["metadata"].items() if k != "timestamp"},
        "components": components,
        "dependencies": [
            *(entry for entry in dependencies if entry["ref"] in set(refs.values())),
            {"ref": ROOT_REF, "dependsOn": sorted(asked)},
        ],
    }


def _described(component: dict[str, Any], locked: Locked, scope: str) -> dict[str, Any]:
    if component["version"] != locked.version:
        raise ValueError(
            f"{locked.name}: {component['version']} is installed, {locked.version} is "
            "locked; make the environment anew"
        )
    hashes = [{"alg": "SHA-256", "content": digest} for digest in locked.hashes]
    return {**component, "scope": scope, "hashes": hashes}


def _kept(entry: dict[str, Any], refs: dict[str, str]) -> dict[str, Any]:
    known = set(refs.values())
    needs = [ref for ref in entry.get("dependsOn", ()) if ref in known]
    return {"ref": entry["ref"]} | ({"dependsOn": needs} if needs else {})


def main(source: str, target: str) -> int:
    found = json.loads(Path(source).read_text("utf-8"))
    bill = keep_needed(found, read_lock(DEV_LOCK))
    text = json.dumps(bill, indent=1, sort_keys=True) + "\n"
    Path(target).write_text(text, "utf-8")
    scopes = [component["scope"] for component in bill["components"]]
    print(
        f"{target}: {scopes.count('required')} packages, and "
        f"{scopes.count('optional')} more with extras"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
