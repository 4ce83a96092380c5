"""Sensitive values: what is learnt of a person without finding their row."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core_mondrian.analysis.attacks.candidates import Candidates
from core_mondrian.analysis.attacks.findings import Finding, counted, percent, share_of
from core_mondrian.errors import list_names
from core_mondrian.runtime.array_types import Integers
from core_mondrian.runtime.runs import run_members
from core_mondrian.verification.counting import Coded

RULED_OUT = 1
"""Values that an attacker with background knowledge can rule out."""
RISES_ABOVE = 2.0
"""Times the table's share from which a belief counts as raised."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How many rows of each class have each value, where there are any."""

    starts: Integers
    """Where each class begins, and where the last one ends."""
    value: Integers
    counts: Integers
    n_values: int

    @classmethod
    def of(cls, classes: Integers, n_classes: int, values: Coded) -> "Spread":
        """Count the rows of each class by value; rows of no class are left out."""
        width = values.n_codes
        kept = classes >= 0
        keys = classes[kept] * width + values.codes[kept]
        pairs, counts = np.unique(keys, return_counts=True)
        starts = np.searchsorted(pairs, np.arange(n_classes + 1) * width)
        return cls(starts.astype(np.int64), pairs % width, counts, width)

    def add_up(self, owners: Integers, classes: Integers, n_owners: int) -> Integers:
        """Return the rows by value (axis 1) of the classes that each owner has."""
        sizes = self.starts[classes + 1] - self.starts[classes]
        place = run_members(self.starts[classes], sizes)
        keys = np.repeat(owners, sizes) * self.n_values + self.value[place]
        totals = np.bincount(keys, self.counts[place], n_owners * self.n_values)
        return totals.astype(np.int64).reshape(n_owners, self.n_values)


def candidate_values(
    candidates: Candidates, values: Coded, persons: Integers | None = None
) -> Iterator[tuple[slice, Integers]]:
    """Yield persons, and how many of their candidates have each value."""
    spread = Spread.of(candidates.class_of, candidates.rows.size, values)
    for start, stop, (owners, classes) in candidates.pairs(values.n_codes, persons):
        yield slice(start, stop), spread.add_up(owners - start, classes, stop - start)


def attack_values(
    candidates: Candidates, name: str, values: Coded
) -> tuple[Finding, ...]:
    """Try homogeneity, background knowledge and skewness on a sensitive column."""
    kept = candidates.class_of >= 0
    shares = np.bincount(values.codes[kept], minlength=values.n_codes) / max(
        int(np.count_nonzero(kept)), 1
    )
    n_tuples = candidates.first.size
    kinds = np.zeros(n_tuples, dtype=np.int64)
    rises = np.zeros(n_tuples)
    for part, by_value in candidate_values(candidates, values):
        kinds[part] = np.count_nonzero(by_value, axis=1)
        rises[part] = _rises(by_value, shares)
    findings = (
        _certain(candidates, kinds, name),
        _after_ruling_out(candidates, kinds, name),
        _skewed(candidates, rises, name),
    )
    others = [one.name for one in candidates.columns if one.fits is None]
    if not others:
        return findings
    # No model looks at classes by columns that pass through.
    first = f"make {list_names(others)} quasi-identifiers"
    return tuple(replace(one, remedy=f"{first}; {one.remedy}") for one in findings)


def _rises(by_value: Integers, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how many times the table's share the belief in a value becomes."""
    totals = np.maximum(by_value.sum(axis=1, keepdims=True), 1)
    beliefs = by_value / totals
    known = shares > 0
    if not known.any():
        return np.zeros(by_value.shape[0])
    rises: NDArray[np.float64] = (beliefs[:, known] / shares[known]).max(axis=1)
    return rises


def _certain(candidates: Candidates, kinds: Integers, name: str) -> Finding:
    n, n_certain = candidates.n_people, candidates.count(kinds == 1)
    return Finding(
        name="homogeneity",
        succeeded=n_certain > 0,
        numbers={"people": n, "certain": n_certain, "share": share_of(n_certain, n)},
        sentence=(
            f"The value of {name!r} is certain for {n_certain:,} of "
            f"{counted(n, candidates.who)}: all rows that may be theirs show the same."
        ),
        remedy=f"model distinct-l-diversity, l = 2 or more, sensitive = {name!r}",
        columns=(name,),
    )


def _after_ruling_out(candidates: Candidates, kinds: Integers, name: str) -> Finding:
    n = candidates.n_people
    n_certain = candidates.count((kinds > 1) & (kinds <= 1 + RULED_OUT))
    return Finding(
        name="background",
        succeeded=n_certain > 0,
        numbers={
            "people": n,
            "ruled_out": RULED_OUT,
            "certain": n_certain,
            "share": share_of(n_certain, n),
        },
        sentence=(
            f"For {n_certain:,} of {counted(n, candidates.who)}, the rows that may be "
            f"theirs show two values of {name!r}: whoever can rule out the more common "
            "one is certain."
        ),
        remedy=f"model distinct-l-diversity, l = {RULED_OUT + 2} or more, or "
        f"recursive-cl-diversity, sensitive = {name!r}",
        columns=(name,),
    )


def _skewed(candidates: Candidates, rises: NDArray[np.float64], name: str) -> Finding:
    n, n_skewed = candidates.n_people, candidates.count(rises > RISES_ABOVE)
    share = share_of(n_skewed, n)
    most = float(rises.max(initial=0.0))
    return Finding(
        name="skewness",
        succeeded=n_skewed > 0,
        numbers={"people": n, "raised": n_skewed, "share": share, "highest": most},
        sentence=(
            f"The belief in a value of {name!r} rises to at most {most:.2f} times its "
            f"share of the table, and above {RISES_ABOVE:g} times for "
            f"{percent(share)} of the {candidates.who}."
        ),
        remedy=f"model t-closeness or beta-likeness, sensitive = {name!r}",
        columns=(name,),
    )
