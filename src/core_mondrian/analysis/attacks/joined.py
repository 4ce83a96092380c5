"""Who is the same in several releases, and what that says: the reader's joining."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import narwhals as nw
import numpy as np

from core_mondrian.analysis.attacks.columns import code_together
from core_mondrian.errors import list_names
from core_mondrian.runtime.array_types import Flags, Integers
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.files.cells import unified_texts
from core_mondrian.tables.frames import OpenFrame
from core_mondrian.verification.counting import Coded, code_series, combine, compress
from core_mondrian.verification.verify import open_release

Frame = OpenFrame


@dataclass(frozen=True)
class Release:
    """A release as a reader has it."""

    name: str
    frame: Frame
    spec: Spec
    more: tuple[str, ...]

    @property
    def k(self) -> int:
        return max(self.spec.min_rows, 2)

    @property
    def sensitive(self) -> list[str]:
        wanted = dict.fromkeys((*self.spec.sensitive, *self.more))
        return [name for name in wanted if name in self.frame.columns]

    @cached_property
    def shown(self) -> dict[str, tuple[str, ...]]:
        """The columns that each quasi-identifier is shown in."""
        return open_release(self.frame.to_native(), self.spec)[1]

    @cached_property
    def classes(self) -> Coded:
        """What each row shows; rows that show nothing are a class, too."""
        names = [name for each in self.shown.values() for name in each]
        if self.spec.class_id in self.frame.columns:
            names.append(str(self.spec.class_id))
        return compress(combine([code_series(self.frame[name]) for name in names]))

    @property
    def carried(self) -> set[str]:
        """The columns that show cells as they are."""
        made = {name for each in self.shown.values() for name in each}
        made |= {*self.spec.quasi_identifiers, *self.spec.pseudonyms}
        return set(self.frame.columns) - made - {self.spec.class_id}

    def lacks(self, before: Frame) -> Iterator[str]:
        """Say what an original does not have of this release."""
        lacking = sorted(set(self.spec.quasi_identifiers) - set(before.columns))
        if lacking:
            yield (
                f"{self.name}: the original has no {list_names(lacking)}; nobody was "
                "looked for in it"
            )


class Joined(NamedTuple):
    """People or rows that are known to be the same in several releases."""

    shown: Sequence[Integers]
    """What each of them shows, release by release; -1: nothing, they are not in it."""
    spare: Integers
    """How many others may be hidden behind what each of them shows in all."""
    values: Sequence[tuple[Integers, Integers]]
    """By sensitive column: the class in the release that has it, and the value."""

    def fewer_than(self, k: int) -> int:
        """Count who shares what all show with fewer, whoever else may be there."""
        every = self._every
        n_alike = np.bincount(every.codes, minlength=every.n_codes)[every.codes]
        return int(np.count_nonzero(n_alike + self.spare < k))

    def certain(self) -> int:
        """Count whose sensitive value all together make certain, and one does not."""
        every = self._every.codes
        is_certain = np.zeros(every.size, dtype=np.bool_)
        for own, value in self.values:
            is_certain |= _is_one(every, value) & ~_is_one(own, value) & (own >= 0)
        return int(np.count_nonzero(is_certain & (self.spare == 0)))

    def where(self, chosen: Flags) -> "Joined":
        """Return some of them."""
        return Joined(
            [own[chosen] for own in self.shown],
            self.spare[chosen],
            [(own[chosen], value[chosen]) for own, value in self.values],
        )

    @property
    def _every(self) -> Coded:
        return compress(combine(list(map(_coded, self.shown))))


def _coded(codes: Integers) -> Coded:
    return Coded(codes + 1, int(codes.max(initial=-1)) + 2)


def _is_one(group: Integers, value: Integers) -> Flags:
    """Tell of each row whether its group has one value; -1 is a group, too."""
    parts = _coded(group), _coded(value)
    pairs = np.unique(combine(list(parts)).codes) // parts[1].n_codes
    n_values = np.bincount(pairs, minlength=parts[0].n_codes)
    is_one: Flags = n_values[parts[0].codes] == 1
    return is_one


def shared_values(one: Release, other: Release, names: Sequence[str]) -> Coded | None:
    """Return what both show as it is, numbered alike; the second table's come last."""
    if not names or not len(one.frame) or not len(other.frame):
        return None
    read = partial(unified_texts, null_values=one.spec.null_values)
    frames = (one.frame, other.frame)
    return compress(combine([code_together(frames, name, read) for name in names]))


def is_in_order(values: Coded, n: int) -> bool:
    r"""Tell whether the rows of both stand in one order, which is no sorted one.

    Two tables that are sorted by what they share agree in it, whatever else was mixed:

        a a b b c     as many runs as values: it may have been sorted
        a b a c b     more runs: nobody mixed these rows and got the same order again
    """
    first, second = values.codes[:n], values.codes[n:]
    if n != second.size or not np.array_equal(first, second):
        return False
    n_runs = 1 + int(np.count_nonzero(first[1:] != first[:-1]))
    return n_runs > int(np.unique(first).size)


def same_people(
    releases: Sequence[Release], names: Sequence[str]
) -> tuple[Joined, Integers]:
    """Return what is shown of everybody who has a pseudonym, and in how many releases.

    ``names`` has the column of each release. A person's rows are looked at together.
    """
    columns = zip((one.frame for one in releases), names, strict=True)
    frames = [frame.select(nw.col(name).alias("who")) for frame, name in columns]
    every = code_together(frames, "who")
    parts = np.split(every.codes, np.cumsum([len(frame) for frame in frames])[:-1])
    is_somebody = np.zeros(every.n_codes, dtype=np.bool_)
    is_somebody[every.codes[~every.missing]] = True
    shown, values = [], []
    for release, part in zip(releases, parts, strict=True):
        own = histories(part, release.classes, every.n_codes)[is_somebody]
        shown.append(own)
        for column in release.sensitive:
            coded = compress(code_series(release.frame[column]))
            value = histories(part, coded, every.n_codes)[is_somebody]
            values.append((own, value))
    n_in = np.sum([own >= 0 for own in shown], axis=0)
    return Joined(shown, np.zeros_like(n_in), values), n_in


def histories(who: Integers, shown: Coded, n_people: int) -> Integers:
    """Number what everybody's rows show, all of them together; -1: they have none."""
    order = np.lexsort((shown.codes, who))
    edges = np.searchsorted(who[order], np.arange(n_people + 1))
    rising = shown.codes[order]
    number: dict[bytes, int] = {}
    history = np.full(n_people, -1, dtype=np.int64)
    for person in np.flatnonzero(edges[1:] > edges[:-1]).tolist():
        key = rising[edges[person] : edges[person + 1]].tobytes()
        history[person] = number.setdefault(key, len(number))
    return history
