"""core-mondrian, through the same door as everybody else."""

import json
import re
from typing import Any

import pandas as pd

from benchmarks.peers.cells import Cell, Column, read_members, read_number, read_value

REQUIREMENTS: tuple[str, ...] = ()
SUPPRESSES = True
VARIANTS = {
    "core-mondrian, best": {"policy": "best"},
    "core-mondrian, best, sets": {"policy": "best", "categories": "set"},
    "core-mondrian, best fast": {"policy": "best", "effort": "fast"},
    "core-mondrian, paper": {"policy": "paper"},
    "core-mondrian, original": {"policy": "original"},
}
_MEMBER = re.compile(r'"(?:[^"\\]|\\.)*"|[^,]+')


def release(table: pd.DataFrame, job: dict[str, Any]) -> pd.DataFrame:
    from core_mondrian import KAnonymity, Spec, Suppression, anonymize
    from core_mondrian.spec.policies import POLICIES, BestPolicy

    options = job["options"]
    policy = POLICIES[options["policy"]]()
    if "effort" in options:
        policy = BestPolicy(effort=options["effort"])
    # Only the paper's policy leaves rows out by default; best releases all of them.
    share = job["suppress"] if options["policy"] == "paper" else 0
    spec = Spec(
        tuple(job["qids"]),
        models=(KAnonymity(job["k"]),),
        policy=policy,
        categories=options.get("categories", "label"),
        suppress=Suppression(rows=int(share * len(table))),
    )
    return anonymize(table, spec, threads=1).data


def read(text: str, column: Column) -> Cell:
    if column.is_number:
        return read_number(text, column)
    if not (text.startswith("{") and text.endswith("}")):
        return read_value(text, column)
    members = [member.strip() for member in _MEMBER.findall(text[1:-1])]
    plain = [json.loads(m) if m.startswith('"') else m for m in members]
    return read_members(plain, column, missing="null")
