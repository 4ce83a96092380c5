"""Published fields: what of a manifest confirms a guess about hidden cells.

A reader who guesses what a release hides can make it again and compare. A field that
fits the true table, and not another one of which the release may be as well, is an
oracle.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import numpy as np
import pyarrow as pa

from core_mondrian.analysis.attacks.candidates import Candidates
from core_mondrian.analysis.attacks.findings import Finding, counted
from core_mondrian.analysis.attacks.guessing import Guessed, guess_tables
from core_mondrian.analysis.attacks.input_digest import digest_input
from core_mondrian.api import anonymize, load_and_encode
from core_mondrian.encoding.encoder import Encoded
from core_mondrian.errors import MondrianError
from core_mondrian.release.manifests import manifest_text
from core_mondrian.runtime.array_types import Flags, Integers
from core_mondrian.runtime.plain_values import JsonMapping, JsonObject
from core_mondrian.runtime.stages import Stages
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.frames import OpenFrame, arrow_column
from core_mondrian.verification.counting import Coded

Facts = JsonObject
"""Values by the path of their field."""

_NO_SECRET: Final = bytes(32)
"""Stands in for the key of pseudonyms, on which no field depends."""
_MOST_ROWS: Final = 20_000
"""Tables up to this size are made again."""
_MOST_TRIES: Final = 8
_MOST_LEFT_OUT: Final = 4
_RELEASE: Final = "digests.release"
_LISTED: Final = 8


@dataclass(frozen=True)
class Tables:
    """The original, what was released of it, and how people match."""

    original: OpenFrame
    spec: Spec
    candidates: Candidates
    values: Mapping[str, Coded]
    """The sensitive values of both tables, numbered alike: the original's come last."""
    left_out: Integers
    """Original rows that are in no released row, where that is known."""


def confirm_guesses(tables: Tables, manifest: JsonMapping) -> Finding | None:
    """Compare a manifest with what guesses of the table come to.

    None: the original does not have all that the spec names.
    """
    published = _flat(manifest)
    table = _as_table(tables.original)
    fields: set[str] = set()
    try:
        encoded, truth = _facts(table, tables.spec)
    except MondrianError:
        return None
    others = _other_tables(table, tables)
    if len(table) > _MOST_ROWS:
        others = islice(others, 1)
    n_tried = 0
    for other in others:
        n_tried += 1
        fields |= _confirming(published, truth, _facts(other, tables.spec)[1])
    guessed = _guess(tables, published, encoded)
    names = sorted({_shorten(name) for name in fields})
    return _finding(names, n_tried, guessed)


def _finding(names: Sequence[str], n_tried: int, guessed: Guessed | None) -> Finding:
    text = (
        f"{counted(len(names), 'field', 'fields')} of the manifest can confirm a guess "
        "about hidden cells, by "
        f"{counted(n_tried, 'other table', 'other tables')} that the release may be of"
    )
    if names:
        more = ", …" if len(names) > _LISTED else ""
        text += f": {', '.join(names[:_LISTED])}{more}"
    numbers = {"fields": len(names), "tried": n_tried, "possible": 0, "left": 0}
    if guessed is not None:
        numbers |= {"possible": guessed.possible, "left": guessed.left}
        text += (
            f". The release may be of {counted(guessed.possible, 'table', 'tables')} "
            "for somebody who knows all quasi-identifiers; the digest of the input "
            f"leaves {guessed.left}"
        )
    return Finding(
        name="manifest",
        succeeded=bool(names),
        numbers=numbers,
        sentence=f"{text}.",
        remedy="make it again: what can confirm a guess is in the owner's record now, "
        "which is not passed on",
        columns=tuple(names),
    )


def _shorten(path: str) -> str:
    """Return the name of a field without what is below it in lists and counts."""
    return ".".join(path.split(".")[:2])


def _confirming(published: Facts, truth: Facts, other: Facts) -> set[str]:
    """Return the fields that fit the true table only.

    Where the other table has another release, the release itself tells them apart, and
    only a digest of the input says more.
    """
    is_same = truth.get(_RELEASE) == other.get(_RELEASE)
    return {
        path
        for path, value in published.items()
        if path in truth
        and truth[path] == value
        and other.get(path) != value
        and (is_same or path == "digests.input")
    }


def _facts(table: pa.Table, spec: Spec) -> tuple[Encoded, Facts]:
    """Return what a reader who has guessed a table can compute of it."""
    _, encoded = load_and_encode(table, spec, Stages(None))
    facts: Facts = {"digests.input": digest_input(encoded)}
    if len(table) > _MOST_ROWS:
        return encoded, facts
    try:
        release = anonymize(table, spec, key=_NO_SECRET if spec.pseudonyms else None)
    except MondrianError:  # the guess has no release
        return encoded, facts
    more = {
        "search": release.search,
        "equity": None if release.balance is None else release.balance.to_json(),
        "funnel": release.funnel.to_json(),
        "warnings": [one.to_json() for one in release.warnings],
        "cells_blanked": release.n_blanked,
        "digests": {"tree": release.tree.digest, "release": release.digest},
    }
    plain = json.loads(manifest_text(more))
    manifest = json.loads(manifest_text(release.manifest()))
    return encoded, _flat(manifest) | _flat(plain) | facts


def _flat(value: Any, path: str = "") -> Facts:  # noqa: ANN401  # plain values
    if isinstance(value, Mapping):
        items: Iterator[tuple[Any, Any]] = iter(value.items())
    elif isinstance(value, list):
        items = iter(enumerate(value))
    else:
        return {path: value}
    facts: Facts = {}
    for key, item in items:
        facts |= _flat(item, f"{path}.{key}" if path else str(key))
    return facts


def _as_table(frame: OpenFrame) -> pa.Table:
    return pa.table({name: arrow_column(frame, name) for name in frame.columns})


# Other tables that the release may be of


def _other_tables(table: pa.Table, tables: Tables) -> Iterator[pa.Table]:
    """Yield tables in which two people of a class have each other's sensitive value.

    Without sensitive values, one has the quasi-identifiers of another. Rows that were
    left out are changed likewise.
    """
    sensitive = [name for name in tables.spec.sensitive if name in table.column_names]
    names = sensitive or list(tables.spec.quasi_identifiers)
    n = len(table)
    left_out = zip(tables.left_out[:_MOST_LEFT_OUT], tables.left_out[1:], strict=False)
    for a, b in (*_twins(tables, bool(sensitive)), *left_out):
        rows = np.arange(n)
        rows[a] = b
        if sensitive:
            rows[b] = a
        other = table
        for name in names:
            place = table.column_names.index(name)
            column = table.column(place).take(pa.array(rows))
            other = other.set_column(place, table.field(place), column)
        yield other


def _twins(tables: Tables, by_value: bool) -> Iterator[tuple[int, int]]:  # noqa: FBT001
    """Yield people of one class, known to differ, some of each class."""
    candidates = tables.candidates
    class_of = _only_class(candidates)
    person = candidates.person
    keys = person
    if by_value:
        n = person.size
        values = [one.codes[-n:] for one in tables.values.values()]
        keys = np.unique(np.stack(values, axis=1), axis=0, return_inverse=True)[1]
        keys = keys.reshape(-1)
    order = np.lexsort((keys, class_of))
    a, b = order[:-1], order[1:]
    differ = (class_of[a] == class_of[b]) & (class_of[a] >= 0) & (keys[a] != keys[b])
    differ &= person[a] != person[b]
    if not by_value:  # whoever is alone may be an end of a range
        differ &= candidates.people[person[a]] > 1
    chosen = np.flatnonzero(differ)
    step = max(1, chosen.size // _MOST_TRIES)
    for one in chosen[::step][:_MOST_TRIES].tolist():
        yield int(a[one]), int(b[one])


def _only_class(candidates: Candidates) -> Integers:
    """Return the class of everybody who cannot be in another; -1: who can.

    Whoever has a class that nobody else fits, with room for all of them, is in that.
    """
    pairs = [of_person for _, _, of_person in candidates.pairs()]
    tuples = np.concatenate([one[0] for one in pairs])
    classes = np.concatenate([one[1] for one in pairs])
    n_tuples = np.bincount(classes, minlength=candidates.rows.size)
    is_home: Flags = (n_tuples[classes] == 1) & (
        candidates.rows[classes] == candidates.people[tuples]
    )
    settled = np.zeros(candidates.first.size, dtype=np.bool_)
    settled[tuples[is_home]] = True
    kept = is_home | ~settled[tuples]
    tuples, classes = tuples[kept], classes[kept]
    only = np.full(candidates.first.size, -1, dtype=np.int64)
    only[tuples] = classes
    only[np.bincount(tuples, minlength=only.size) != 1] = -1
    of_person: Integers = only[candidates.person]
    return of_person


# Guessing


def _guess(tables: Tables, published: Facts, encoded: Encoded) -> Guessed | None:
    """Guess all sensitive values, if a digest of the input is there to be asked."""
    digest = published.get("digests.input")
    table = encoded.table
    if digest is None or len(tables.values) != 1 or len(table.sensitive) != 1:
        return None
    if table.n_units is not None or len(tables.original) > _MOST_ROWS:
        return None
    (shown,) = tables.values.values()
    n = len(tables.original)
    # The number that the digest has for each value.
    number = np.full(shown.n_codes, -1, dtype=np.int64)
    number[shown.codes[-n:]] = table.codes[encoded.row_tuple, len(table.columns)]
    values = number[shown.codes[:-n]]
    if (values < 0).any():
        return None
    coded = Coded(values, table.sensitive[0].n_values)
    return guess_tables(tables.candidates, coded, encoded, str(digest))
