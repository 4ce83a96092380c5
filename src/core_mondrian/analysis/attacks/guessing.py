"""Guessing: every table that a release may be of, tried against a published digest.

The attacker knows everybody's quasi-identifiers; the release shows which sensitive
values each class has. What is left to guess is who of a class has which.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import prod
from typing import Final

import numpy as np

from core_mondrian.analysis.attacks.candidates import Candidates
from core_mondrian.analysis.attacks.input_digest import digest_head, digest_tuples
from core_mondrian.encoding.encoder import Encoded
from core_mondrian.runtime.array_types import Integers
from core_mondrian.verification.counting import Coded

MOST_GUESSES: Final = 20_000
Matrix = tuple[tuple[int, ...], ...]
"""How many people of each tuple have each sensitive value."""


@dataclass(frozen=True)
class Guessed:
    """What guessing came to."""

    possible: int
    """Tables that the release may be of."""
    left: int
    """Those that the digest confirms."""


@dataclass(frozen=True)
class _Block:
    """A class, whose rows are known to be of some tuples, and how many are of each."""

    tuples: Integers
    people: Integers
    values: Integers
    """How many rows have each sensitive value."""


def guess_tables(
    candidates: Candidates, values: Coded, encoded: Encoded, digest: str
) -> Guessed | None:
    """Try every table that fits the release and what is known of people.

    ``values`` are the sensitive values of the released rows, in the codes of
    ``encoded``. None: it cannot be told who is in which class, or there are too many.
    """
    n_values = values.n_codes
    blocks = _find_blocks(candidates, values)
    if blocks is None:
        return None
    sure = np.zeros((candidates.first.size, n_values), dtype=np.int64)
    hidden = []
    for block in blocks:
        if block.tuples.size == 1:
            sure[block.tuples[0]] += block.values
        else:
            hidden.append(block)
    ways = []
    for block in hidden:
        some = _ways(block.people.tolist(), block.values.tolist())
        ways.append(list(islice(some, MOST_GUESSES + 1)))
        if prod(map(len, ways)) > MOST_GUESSES:
            return None
    possible = prod(map(len, ways))
    left = _count_confirmed(candidates, encoded, sure, (hidden, ways), digest)
    return Guessed(possible, left)


def _count_confirmed(
    candidates: Candidates,
    encoded: Encoded,
    sure: Integers,
    guesses: tuple[Sequence[_Block], Sequence[Sequence[Matrix]]],
    digest: str,
) -> int:
    table = encoded.table
    n_known = len(table.columns)
    known = table.codes[encoded.row_tuple[candidates.first], :n_known]
    order = np.lexsort(known.T[::-1])
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    known, sure = known[order], sure[order]
    head = digest_head(encoded)
    blocks, ways = guesses
    left = 0
    for guess in product(*ways):
        counts = sure.copy()
        for block, matrix in zip(blocks, guess, strict=True):
            counts[place[block.tuples]] += np.array(matrix)
        owner, value = np.nonzero(counts)
        codes = np.column_stack([known[owner], value]).astype(np.int32)
        left += digest_tuples(head, codes, counts[owner, value]) == digest
    return left


def _find_blocks(candidates: Candidates, values: Coded) -> list[_Block] | None:
    """Say how many people of which tuple are in which class; None: it is not certain.

    Who fits one class is in it; as many as a class that nobody else fits has rows are
    there; and if one class is left for the rest of a tuple, they are in that.
    """
    pairs = [pair for _, _, pair in candidates.pairs()]
    tuples = np.concatenate([one[0] for one in pairs])
    classes = np.concatenate([one[1] for one in pairs])
    left, room = candidates.people.copy(), candidates.rows.copy()
    placed: list[tuple[int, int, int]] = []
    while tuples.size:
        n_classes = np.bincount(tuples, minlength=left.size)[tuples]
        n_tuples = np.bincount(classes, minlength=room.size)[classes]
        sure = np.flatnonzero((n_classes == 1) | (n_tuples == 1))
        if not sure.size:
            return None
        one = sure[0]
        owner, own = int(tuples[one]), int(classes[one])
        n = int(left[owner] if n_classes[one] == 1 else room[own])
        if n > min(left[owner], room[own]):
            return None
        placed.append((owner, own, n))
        left[owner] -= n
        room[own] -= n
        keep = np.ones(tuples.size, dtype=np.bool_)
        keep[one] = False
        keep &= (left[tuples] > 0) & (room[classes] > 0)
        tuples, classes = tuples[keep], classes[keep]
    if left.any() or room.any():
        return None
    return _as_blocks(placed, candidates, values)


def _as_blocks(
    placed: Sequence[tuple[int, int, int]], candidates: Candidates, values: Coded
) -> list[_Block]:
    kept = candidates.class_of >= 0
    keys = candidates.class_of[kept] * values.n_codes + values.codes[kept]
    shown = np.bincount(keys, minlength=candidates.rows.size * values.n_codes)
    by_class = shown.reshape(-1, values.n_codes)
    entries = np.array(placed, dtype=np.int64).reshape(-1, 3)
    entries = entries[entries[:, 2] > 0]
    return [
        _Block(own[:, 0], own[:, 2], by_class[number])
        for number in np.unique(entries[:, 1]).tolist()
        for own in [entries[entries[:, 1] == number]]
    ]


def _ways(people: Sequence[int], values: Sequence[int]) -> Iterator[Matrix]:
    """Yield how values may be given to people, a row for each tuple."""
    if len(people) == 1:
        yield (tuple(values),)
        return
    for first in _draws(people[0], values):
        rest = [a - b for a, b in zip(values, first, strict=True)]
        for others in _ways(people[1:], rest):
            yield (first, *others)


def _draws(n: int, values: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield how many of each value n rows may have."""
    if len(values) == 1:
        if n <= values[0]:
            yield (n,)
        return
    for taken in range(min(n, values[0]) + 1):
        for others in _draws(n - taken, values[1:]):
            yield (taken, *others)
