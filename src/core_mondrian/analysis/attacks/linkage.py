"""Linkage: who can be found in the release by what is known of them."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from core_mondrian.analysis.attacks.candidates import Candidates
from core_mondrian.analysis.attacks.findings import Finding, counted, share_of
from core_mondrian.errors import list_names


def link(candidates: Candidates, names: Sequence[str], k: int) -> Finding:
    """Count who fits one row alone, or fewer than k, for somebody who knows ``names``.

    Whoever fits n rows is one of them with a confidence of 1/n.
    """
    known = candidates.knowing(names)
    sizes = known.sizes()
    n, n_unique = known.n_people, known.count(sizes == 1)
    is_fitting = sizes > 0
    n_above = known.count(is_fitting & (sizes < k))
    expected = float((known.people[is_fitting] / sizes[is_fitting]).sum())
    others = [one.name for one in known.columns if one.fits is None]
    sentence = (
        f"Someone who knows {list_names(names)} links {counted(n_above, known.who)} of "
        f"{n:,} with a confidence above 1/{k}, {n_unique:,} of them to one row alone."
    )
    return Finding(
        name="linkage",
        succeeded=n_above > 0,
        numbers={
            "people": n,
            "fitting": known.count(is_fitting),
            "unique": n_unique,
            "above": n_above,
            "share": share_of(n_above, n),
            "fewest_rows": int(sizes[is_fitting].min()) if is_fitting.any() else 0,
            "mean_confidence": share_of(expected, int(known.people.sum())),
        },
        sentence=sentence,
        remedy=f"make {list_names(others)} quasi-identifiers" if others else "raise k",
        columns=tuple(names),
    )


def partial_knowledge(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield what an attacker may know: all, each column alone, and each pair."""
    yield tuple(names)
    for n in (1, 2):
        if n < len(names):
            yield from combinations(names, n)
