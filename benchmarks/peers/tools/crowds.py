"""crowds: OLA, the lattice of global recodings searched for the best one."""

from typing import Any

import pandas as pd

from benchmarks.peers.tools.anjana import read

__all__ = ["REQUIREMENTS", "SUPPRESSES", "read", "release"]

REQUIREMENTS = ("crowds==0.0.1", "pandas==3.1.1", "numpy==2.4.6")
SUPPRESSES = True


def release(table: pd.DataFrame, job: dict[str, Any]) -> pd.DataFrame:
    from crowds.kanonymity import ola  # type: ignore[import-not-found]
    from crowds.kanonymity.generalizations import (  # type: ignore[import-not-found]
        GenRule,
    )

    rules = {
        name: GenRule([_binned(step) for step in job["steps"].get(name, ())])
        for name in job["qids"]
    }
    found = ola.anonymize(table, rules, k=job["k"], max_sup=100 * job["suppress"])
    if found is None:  # no recoding is good enough
        return pd.DataFrame()
    released, levels = found
    # Its last level is None: the column says nothing, which is not a missing value.
    for name, level in levels.items():
        if level == rules[name].max_level:
            released[name] = "*"
    return pd.DataFrame(released)


def _binned(step: int) -> Any:
    def level(value: float) -> str:
        low = value // step * step
        return f"[{low}, {low + step})"

    return level
