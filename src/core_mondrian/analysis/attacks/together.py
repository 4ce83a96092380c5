"""attack_together(): what tables of the same people give away that none does alone.

A reader of several tables joins them, by pseudonyms, by the places of rows, or by cells
that both show as they are. Whoever is joined shows what all tables show: classes that
have k persons each may have fewer in common. That needs no original. With one, people
are looked for in two tables by what is known of them (`intersection`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Final

import numpy as np
from narwhals.typing import IntoDataFrame

from core_mondrian.analysis.attacks.candidates import find_candidates
from core_mondrian.analysis.attacks.columns import code_together
from core_mondrian.analysis.attacks.findings import (
    Finding,
    share_of,
    strange_notes,
)
from core_mondrian.analysis.attacks.intersection import intersect
from core_mondrian.analysis.attacks.joined import (
    Frame,
    Joined,
    Release,
    is_in_order,
    same_people,
    shared_values,
)
from core_mondrian.errors import SpecError, drops_context, list_names
from core_mondrian.runtime.array_types import Integers
from core_mondrian.runtime.plain_values import JsonObject
from core_mondrian.runtime.progress import Progress, Steps
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.files.cells import unified_texts
from core_mondrian.tables.frames import open_frame
from core_mondrian.verification.counting import Coded, code_series, combine


@dataclass(frozen=True)
class Pair:
    """What two releases came to together."""

    first: str
    second: str
    k: int
    """The smaller of what both promise."""
    findings: tuple[Finding, ...]

    @property
    def share(self) -> float:
        """The largest share of people below k that a finding names."""
        return float(max((x.numbers["share"] for x in self.findings), default=0.0))

    def to_json(self) -> JsonObject:
        """Return plain values; there is no cell of a table among them."""
        return {
            "releases": [self.first, self.second],
            "k": self.k,
            "attacks": [one.to_json() for one in self.findings],
        }


@dataclass(frozen=True, slots=True)
class Unmatched:
    """How many rows of a release fit nobody of the original."""

    name: str
    n_released: int
    n_strange: int
    """All of them, if the original lacks quasi-identifiers of the release."""
    notes: tuple[str, ...] = ()

    @property
    def is_most(self) -> bool:
        """Whether they are more than those who left a series since may be."""
        return 2 * self.n_strange > self.n_released

    def to_json(self) -> JsonObject:
        """Return plain values."""
        return {
            "release": self.name,
            "released_rows": self.n_released,
            "strange_rows": self.n_strange,
        }


@dataclass(frozen=True)
class Together:
    """What all pairs of some releases came to."""

    pairs: tuple[Pair, ...]
    at_once: tuple[Finding, ...]
    """What three or more of them say together, release by release."""
    notes: tuple[str, ...]
    """What was not tried, and why."""
    unmatched: tuple[Unmatched, ...] = ()
    """Of each release, if there is an original."""

    @property
    def succeeded(self) -> tuple[Pair, ...]:
        """The pairs that give away more than each of the two."""
        return tuple(x for x in self.pairs if any(y.succeeded for y in x.findings))

    @property
    def share(self) -> float:
        """The largest share of people below k that some releases leave."""
        shares = [pair.share for pair in self.pairs]
        shares += [float(one.numbers["share"]) for one in self.at_once]
        return max(shares, default=0.0)

    def to_json(self) -> JsonObject:
        """Return plain values."""
        return {
            "format": 1,
            "share": self.share,
            "pairs": [one.to_json() for one in self.pairs],
            "at_once": [one.to_json() for one in self.at_once],
            "unmatched": [one.to_json() for one in self.unmatched],
            "notes": list(self.notes),
        }


@drops_context
def attack_together(
    releases: Mapping[str, tuple[IntoDataFrame, Spec]],
    original: IntoDataFrame | None = None,
    *,
    sensitive: Sequence[str] = (),
    progress: Progress | None = None,
) -> Together:
    """Attack releases of the same people, two by two and all at once.

    Nothing that is returned contains a cell.

    Args:
        releases: Frames by name, as they were released, each with its spec.
        original: The frame with the people who are in them; None: what a reader finds
            who has nothing but the releases.
        sensitive: Columns that the attacker is after, besides those of the models.
        progress: Called with how much is done.

    Raises:
        SpecError: there are fewer than two releases, or a column is not in one.
        MemoryLimitError: a column has too many values to be matched.
    """
    if len(releases) < 2:
        raise SpecError(
            "two releases are needed to look at them together",
            hint="put the releases and their manifests into one folder",
        )
    before = None if original is None else open_frame(original)
    opened = [
        Release(name, open_frame(frame), spec, tuple(sensitive))
        for name, (frame, spec) in releases.items()
    ]
    unmatched: tuple[Unmatched, ...] = ()
    notes = [_NO_ORIGINAL]
    if before is not None:
        unmatched = tuple(_unmatched(one, before) for one in opened)
        notes = [note for one in unmatched for note in one.notes]
    both = list(combinations(opened, 2))
    end = Steps(progress, "attacking two by two", [1.0 for _ in both]).end
    pairs = tuple(end(_attack(*two, before)) for two in both)
    return Together(pairs, tuple(_at_once(opened)), tuple(notes), unmatched)


def _unmatched(one: Release, before: Frame) -> Unmatched:
    """Count the rows of a release in which nobody was looked for."""
    n = len(one.frame)
    if lacking := tuple(one.lacks(before)):
        return Unmatched(one.name, n, n, lacking)
    n_strange = find_candidates(one.frame, before, one.spec, ()).strange_rows()
    notes = (f"{one.name}: {note}" for note in strange_notes(n_strange, n))
    return Unmatched(one.name, n, n_strange, tuple(notes))


_MANY: Final = 3
_NO_ORIGINAL: Final = (
    "no original is given: people were joined as a reader of both does, and were "
    "not looked for by known columns"
)


def _attack(one: Release, other: Release, before: Frame | None) -> Pair:
    k = min(one.k, other.k)
    shared = sorted(one.carried & other.carried)
    values = shared_values(one, other, shared)
    findings = list(_by_pseudonyms(one, other, k))
    in_order = values is not None and is_in_order(values, len(one.frame))
    if in_order:
        rows = np.arange(len(one.frame))
        findings.append(_by_rows(one, other, (rows, rows), k, "row order", shared))
    elif values is not None:
        rows_of_both = _unique_in_both(values, len(one.frame))
        findings.append(_by_rows(one, other, rows_of_both, k, "shared columns", shared))
    if before is not None and not any([*one.lacks(before), *other.lacks(before)]):
        findings.append(_match_people(one, other, before, k))
    return Pair(one.name, other.name, k, tuple(findings))


def _unique_in_both(values: Coded, n: int) -> tuple[Integers, Integers]:
    """Return the rows of both that share what no other row has in its table."""
    parts = values.codes[:n], values.codes[n:]
    n_rows = [np.bincount(part, minlength=values.n_codes) for part in parts]
    is_link = (n_rows[0] == 1) & (n_rows[1] == 1)
    rows = []
    for part in parts:
        linked = np.flatnonzero(is_link[part])
        rows.append(linked[np.argsort(part[linked])])
    return rows[0], rows[1]


def _by_rows(
    one: Release,
    other: Release,
    rows: tuple[Integers, Integers],
    k: int,
    name: str,
    shared: Sequence[str],
) -> Finding:
    """Join rows; those of a class that are not joined may be anybody's."""
    first, second = one.classes.codes[rows[0]], other.classes.codes[rows[1]]
    spare = np.minimum(_spare(one.classes, rows[0]), _spare(other.classes, rows[1]))
    values = [
        (own, code_series(release.frame[column]).codes[places])
        for release, own, places in zip(
            (one, other), (first, second), rows, strict=True
        )
        for column in release.sensitive
    ]
    joined = Joined((first, second), spare, values)
    n = len(one.frame)
    by = "the places of rows" if name == "row order" else list_names(shared)
    remedy = (
        "shuffle both, and leave out what both show as it is"
        if name == "row order"
        else f"leave {list_names(shared)} out of one of them"
    )
    return _finding(name, joined, (n, k), (by, remedy), _joined_columns(one, other))


def _spare(classes: Coded, rows: Integers) -> Integers:
    """Count, for each joined row, the rows of its class that are not joined."""
    n_all = np.bincount(classes.codes, minlength=classes.n_codes)
    own = classes.codes[rows]
    n_joined = np.bincount(own, minlength=classes.n_codes)
    n_spare: Integers = (n_all - n_joined)[own]
    return n_spare


def _by_pseudonyms(one: Release, other: Release, k: int) -> Iterator[Finding]:
    """Join people by each two columns of pseudonyms that have some in common."""
    for first in one.spec.pseudonyms:
        for second in other.spec.pseudonyms:
            if first not in one.frame.columns or second not in other.frame.columns:
                continue
            names = f"{first!r}" if first == second else f"{first!r} and {second!r}"
            every, n_in = same_people((one, other), (first, second))
            yield _finding(
                "pseudonyms",
                every.where(n_in == 2),
                (n_in.size, k),
                (
                    f"the pseudonyms {names}",
                    "give one of them a domain of its own: pseudonym_domains, or "
                    "another key",
                ),
                _joined_columns(one, other),
            )


def _at_once(releases: Sequence[Release]) -> Iterator[Finding]:
    """Join three releases and more, and look at what they show of each person.

    Releases that somebody is not in are part of that: a reader who knows who was there
    when, of a table that changes, tells those apart.
    """
    names = dict.fromkeys(name for one in releases for name in one.spec.pseudonyms)
    for name in names:
        holders = [x for x in releases if name in x.spec.pseudonyms]
        holders = [x for x in holders if name in x.frame.columns]
        if len(holders) < _MANY:
            continue
        every, n_in = same_people(holders, [name] * len(holders))
        if (n_in < 2).all():  # nobody is known by one name in two of them
            continue
        yield _finding_at_once("pseudonyms", every, holders, f"the pseudonyms {name!r}")
    for alike in _in_one_order(releases):
        if len(alike) >= _MANY:
            shown = [one.classes.codes for one in alike]
            values = [
                (one.classes.codes, code_series(one.frame[name]).codes)
                for one in alike
                for name in one.sensitive
            ]
            every = Joined(shown, np.zeros_like(shown[0]), values)
            yield _finding_at_once("row order", every, alike, "the places of rows")


def _in_one_order(releases: Sequence[Release]) -> list[list[Release]]:
    """Return the releases in groups of one order of rows."""
    groups: list[list[Release]] = []
    for one in releases:
        for group in groups:
            shared = sorted(group[0].carried & one.carried)
            values = shared_values(group[0], one, shared)
            if values is not None and is_in_order(values, len(group[0].frame)):
                group.append(one)
                break
        else:
            groups.append([one])
    return groups


def _finding_at_once(
    name: str, every: Joined, releases: Sequence[Release], by: str
) -> Finding:
    k, n = min(one.k for one in releases), every.spare.size
    few, certain = every.fewer_than(k), every.certain()
    who = "people" if name == "pseudonyms" else "rows"
    return Finding(
        name=name,
        succeeded=few > 0 or certain > 0,
        numbers={
            "releases": len(releases),
            "people": n,
            "fewer": few,
            "share": share_of(few, n),
            "certain": certain,
        },
        sentence=(
            f"{len(releases)} releases, joined by {by}, leave {few:,} of {n:,} {who} "
            f"with fewer than {k} who share all that they show of them and in which "
            f"they are; a sensitive value becomes certain for {certain:,}."
        ),
        remedy="release a table that changes as a series, or give pseudonyms of each "
        "release a domain of their own",
    )


# What that says


def _joined_columns(one: Release, other: Release) -> tuple[str, ...]:
    """Return what is known of one person from both, and from neither alone."""
    columns = []
    for release, beside in ((one, other), (other, one)):
        named = {*release.spec.quasi_identifiers, *release.sensitive}
        known = {*beside.spec.quasi_identifiers, *beside.frame.columns}
        columns += sorted(named - known)
    return tuple(columns)


def _finding(
    name: str,
    joined: Joined,
    sizes: tuple[int, int],
    texts: tuple[str, str],
    columns: tuple[str, ...],
) -> Finding:
    n, k = sizes
    by, remedy = texts
    n_joined, who = joined.spare.size, "people" if name == "pseudonyms" else "rows"
    few, certain = joined.fewer_than(k), joined.certain()
    text = f"{n_joined:,} of {n:,} {who} are joined by {by}"
    if n_joined:
        text += (
            f". {few:,} of them share what both show with fewer than {k}, and a "
            f"sensitive value becomes certain for {certain:,}"
        )
    if n_joined and columns:
        text += f". Joined are {list_names(columns)}"
    return Finding(
        name=name,
        succeeded=few > 0 or certain > 0,
        numbers={
            "people": n,
            "joined": n_joined,
            "fewer": few,
            "share": share_of(few, n),
            "certain": certain,
        },
        sentence=f"{text}.",
        remedy=remedy,
        columns=columns,
    )


def _match_people(one: Release, other: Release, before: Frame, k: int) -> Finding:
    """Look for everybody of the original in both."""
    names = [x for x in one.sensitive if x in other.sensitive]
    names = [x for x in names if x in one.carried and x in other.carried]
    values = None
    if names:
        read = partial(unified_texts, null_values=one.spec.null_values)
        frames = (one.frame, other.frame)
        every = [code_together(frames, name, read) for name in names]
        both, n = combine(every), len(one.frame)
        values = both.select(slice(None, n)), both.select(slice(n, None))
    candidates = [find_candidates(x.frame, before, x.spec, ()) for x in (one, other)]
    return intersect(candidates[0], candidates[1], values, k)
