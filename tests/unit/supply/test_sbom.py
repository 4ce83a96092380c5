"""The bill of materials: all that users get, nothing else, hashed, always equal."""

import copy
from typing import Any

import pytest

from supply.closure import needed
from supply.lock import DEV_LOCK, Locked, read_lock
from supply.sbom import ROOT_REF, keep_needed


def environment() -> dict[str, Any]:
    """What the tool finds: everything installed, ours or not, and what needs what."""
    locked = read_lock(DEV_LOCK)
    names = [*needed(), "pytest"]
    return {
        "bomFormat": "CycloneDX",
        "serialNumber": "urn:uuid:random",
        "metadata": {"timestamp": "now", "component": {"bom-ref": ROOT_REF}},
        "components": [
            {"bom-ref": f"{name}-ref", "name": name, "version": locked[name].version}
            for name in names
        ],
        "dependencies": [
            {"ref": ROOT_REF, "dependsOn": ["pytest-ref"]},
            {"ref": "pytest-ref"},
            {"ref": "jinja2-ref", "dependsOn": ["markupsafe-ref", "pytest-ref"]},
        ],
    }


def test_the_bill_is_of_what_users_install() -> None:
    locked = read_lock(DEV_LOCK)

    bill = keep_needed(environment(), locked)

    scopes = {x["name"]: x["scope"] for x in bill["components"]}
    assert scopes["numpy"] == "required"
    assert scopes["nicegui"] == "optional"
    assert "pytest" not in scopes
    assert set(scopes) == set(needed())
    digests = {
        x["name"]: [h["content"] for h in x["hashes"]] for x in bill["components"]
    }
    assert all(digests[name] == list(locked[name].hashes) for name in scopes)


def test_dependencies_are_among_what_is_listed() -> None:
    bill = keep_needed(environment(), read_lock(DEV_LOCK))
    needs = {x["ref"]: x.get("dependsOn", []) for x in bill["dependencies"]}

    assert needs["jinja2-ref"] == ["markupsafe-ref"]
    assert {"numpy-ref", "pyspark-ref"} <= set(needs[ROOT_REF])
    assert set(needs) == {ROOT_REF, "jinja2-ref"}


def test_nothing_in_it_differs_from_run_to_run() -> None:
    first = environment()
    second = copy.deepcopy(first)
    second["serialNumber"] = "urn:uuid:other"
    second["metadata"]["timestamp"] = "later"
    locked = read_lock(DEV_LOCK)

    bill = keep_needed(first, locked)

    assert bill == keep_needed(second, locked)
    assert "serialNumber" not in bill
    assert "timestamp" not in bill["metadata"]


def test_another_version_than_the_locked_one_is_refused() -> None:
    locked = read_lock(DEV_LOCK)
    locked["numpy"] = Locked("numpy", "0.1", locked["numpy"].hashes)

    with pytest.raises(ValueError, match=r"numpy: .* 0\.1 is locked"):
        keep_needed(environment(), locked)


def test_a_package_that_the_tool_did_not_find_is_said() -> None:
    found = environment()
    found["components"] = [x for x in found["components"] if x["name"] != "numpy"]

    with pytest.raises(ValueError, match="numpy"):
        keep_needed(found, read_lock(DEV_LOCK))
