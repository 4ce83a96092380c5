"""Guess which role each column of a table has, and write it down as a first spec.

A guess is made from names, types, counts and the pattern of values; what is written
holds names and counts, never a value.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from core_mondrian.analysis.inspection import InspectedColumn, Inspection, inspect_table
from core_mondrian.analysis.unit_detection import find_unit
from core_mondrian.errors import DataError, MondrianError, look_like_cells
from core_mondrian.runtime.array_types import ArrowArray
from core_mondrian.runtime.progress import Progress
from core_mondrian.spec.identifier_detection import Recognized, has_words, recognize
from core_mondrian.tables.frames import open_frame, row_weights

Role: TypeAlias = Literal[
    "identifier", "unit", "quasi-identifier", "sensitive", "weight", "carried"
]
MOST_QUASI_IDENTIFIERS: Final = 8
_FEW_BY_COUNTS: Final = 4
"""Quasi-identifiers taken where no name says anything."""

_KNOWN: Final = {
    "age": "neighbours and colleagues know it",
    "birth": "it is in many registers",
    "dob": "it is in many registers",
    "yob": "it is in many registers",
    "sex": "everybody knows it",
    "gender": "everybody knows it",
    "zip": "where somebody lives is known",
    "zipcode": "where somebody lives is known",
    "postcode": "where somebody lives is known",
    "postal": "where somebody lives is known",
    "place": "where somebody lives is known",
    "date": "days of events are remembered, or in the news",
    "race": "it can be seen, or is in registers",
    "ethnicity": "it can be seen, or is in registers",
    "ethnic": "it can be seen, or is in registers",
    "marital": "friends and registers know it",
    "marriage": "friends and registers know it",
    "occupation": "it is on business cards and profiles",
    "profession": "it is on business cards and profiles",
    "job": "it is on business cards and profiles",
    "education": "it is on profiles",
    "degree": "it is on profiles",
    "school": "it is on profiles",
    "country": "friends and registers know it",
    "nationality": "friends and registers know it",
    "citizenship": "friends and registers know it",
    "state": "where somebody lives is known",
    "region": "where somebody lives is known",
    "province": "where somebody lives is known",
    "employer": "colleagues and profiles know it",
    "workclass": "colleagues know it",
    "industry": "colleagues and profiles know it",
    "department": "colleagues know it",
    "relationship": "friends know it",
    "household": "neighbours know it",
    "family": "neighbours know it",
    "children": "neighbours know it",
    "language": "it can be heard",
    "veteran": "friends and registers know it",
    "height": "it can be seen",
}
"""Words of columns that others may know of a person, most telling first."""
_POSTAL: Final = ("zip", "zipcode", "postcode", "postal")
_SENSITIVE: Final = (
    "income salary wage wages earnings diagnosis disease icd condition hiv cancer "
    "treatment medication drug prescription symptom religion political party sexual "
    "orientation crime conviction debt credit loan balance score grade outcome "
    "disability benefits procedure"
)
_WEIGHTS: Final = (
    "fnlwgt wgt pwgt pweight finalwt perwt sample-weight survey-weight final-weight "
    "sampling-weight person-weight household-weight"
)


@dataclass(frozen=True, slots=True)
class Guess:
    """What one column seems to be, and why."""

    name: str
    role: Role
    why: str
    rank: int = 0
    """Quasi-identifiers: the most telling ones first."""
    is_code: bool = False
    """Whether prefixes of it are larger areas: a postal code, as text."""


def guess_roles(
    table: pa.Table,
    inspection: Inspection | None = None,
    progress: Progress | None = None,
) -> tuple[Guess, ...]:
    """Return a guess for each column, in the table's order.

    ``inspection`` is what `inspect_table` returns, where that is known already.

    Raises:
        DataError: the column names look like the first row of a table without a header.
    """
    names = table.column_names
    if look_like_cells(names):
        raise DataError(
            "column names look like data", hint="is the first line a header?"
        )
    inspection = inspection or inspect_table(table, progress)
    looks = {
        column.name: recognize(column.name, table.column(place))
        for place, column in enumerate(inspection.columns)
        if column.n_distinct is not None
    }
    guesses = _with_unit(
        table,
        tuple(
            _guess(column, looks.get(column.name), table.column(place))
            for place, column in enumerate(inspection.columns)
        ),
        looks,
    )
    if any(guess.role == "quasi-identifier" for guess in guesses):
        return guesses
    return _by_counts(guesses, inspection)


def _guess(
    column: InspectedColumn,
    looks: Recognized | None,
    values: ArrowArray,
) -> Guess:
    name = column.name
    if column.n_distinct is None:
        return Guess(name, "carried", f"of type {column.type}, which is not counted")
    if looks is not None and looks.kind.role == "identifier":
        return Guess(name, "identifier", f"{looks}; {_distinct(column)}")
    if has_words(name, _WEIGHTS) and _can_weigh(name, values):
        return Guess(name, "weight", "how many people a row stands for")
    reason = _known_to_others(column, looks)
    if reason is not None:
        return reason
    role: Role = "sensitive" if has_words(name, _SENSITIVE) else "carried"
    if column.is_nearly_unique and not pa.types.is_floating(values.type):
        role = "identifier"
    return Guess(name, role, _distinct(column))


def _with_unit(
    table: pa.Table,
    guesses: tuple[Guess, ...],
    looks: Mapping[str, Recognized | None],
) -> tuple[Guess, ...]:
    """Make the identifier of persons with several rows the unit."""
    identifiers = {guess.name for guess in _of(guesses, "identifier")}
    recognized = {
        name: one
        for name, one in looks.items()
        if one is not None and name in identifiers
    }
    others = [
        guess.name
        for guess in guesses
        if guess.role in ("identifier", "carried", "sensitive")
        and guess.name in looks
        and guess.name not in recognized
        and not pa.types.is_floating(table.schema.field(guess.name).type)
    ]
    known = [guess.name for guess in _of(guesses, "quasi-identifier")]
    unit = find_unit(table, recognized, others, known)
    return tuple(
        replace(guess, role="unit", why=f"{guess.why}; {unit.why}")
        if unit is not None and guess.name == unit.name
        else guess
        for guess in guesses
    )


def _known_to_others(column: InspectedColumn, looks: Recognized | None) -> Guess | None:
    words = list(_KNOWN)
    word = has_words(column.name, words)
    if word is None and looks is not None:
        word = "date" if looks.kind.number == 3 else "place"
    if word is None:
        return None
    why = f"{_KNOWN[word]}; {_distinct(column)}"
    if looks is not None:
        why += f"; {looks}"
    if word == "age":
        why += "; HIPAA 3 wants ages over 89 in one group"
    # As a number it has lost its zeros, and prefixes of such are no areas.
    is_code = word in _POSTAL and column.type.endswith("string")
    return Guess(column.name, "quasi-identifier", why, words.index(word), is_code)


def _can_weigh(name: str, values: ArrowArray) -> bool:
    try:
        return bool(np.any(row_weights(open_frame(pa.table({name: values})), name)))
    except MondrianError:
        return False


def _distinct(column: InspectedColumn) -> str:
    n = column.n_distinct or 0
    missing = f", {column.n_missing:,} missing" if column.n_missing else ""
    unique = ", nearly unique" if column.is_nearly_unique else ""
    return f"{n:,} {'value' if n == 1 else 'values'}{missing}{unique}"


def _by_counts(guesses: Sequence[Guess], inspection: Inspection) -> tuple[Guess, ...]:
    """Take the columns that make most rows unique, where no name says anything."""
    last = inspection.growing[:_FEW_BY_COUNTS][-1:]
    chosen = [name for step in last for name in step.columns]
    return tuple(
        Guess(
            guess.name,
            "quasi-identifier",
            f"its name says nothing, but it makes rows unique; {guess.why}",
            chosen.index(guess.name),
        )
        if guess.name in chosen and guess.role in ("carried", "sensitive")
        else guess
        for guess in guesses
    )


def draft_spec(
    guesses: Sequence[Guess],
    n_rows: int,
    null_values: Sequence[str] = ("",),
    schema: str | None = None,
) -> str:
    """Return a spec in TOML with a comment on every choice; it runs as it is."""
    lines = [f"#:schema {schema}", ""] if schema is not None else []
    lines += [
        f"# A first spec for a table of {n_rows:,} rows and {len(guesses)} columns,",
        "# guessed from names, types and counts. Read every line: only you know what",
        "# others may know. All keys: docs/spec.md",
        "",
        *_quasi_identifiers(guesses),
        "",
        f"# {_who(guesses)} a class needs: everyone shares them with 4 others.",
        "k = 5",
        *_removed(guesses),
        *_singles(guesses),
        *_null_values(null_values),
        *_carried(guesses),
        *_hierarchies(guesses),
        *_models(guesses),
    ]
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """Return a text as TOML writes it."""
    plain = json.dumps(text, ensure_ascii=False)
    return "".join(x if x.isprintable() else _escaped(x) for x in plain)


def _escaped(letter: str) -> str:
    """Return a letter that cannot be seen, or acts on a terminal, as TOML spells it."""
    code = ord(letter)
    return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"


def _of(guesses: Sequence[Guess], role: Role) -> list[Guess]:
    return [guess for guess in guesses if guess.role == role]


def _who(guesses: Sequence[Guess]) -> str:
    return "Persons" if _of(guesses, "unit") else "Rows"


def _quasi_identifiers(guesses: Sequence[Guess]) -> Iterator[str]:
    ranked = sorted(_of(guesses, "quasi-identifier"), key=lambda guess: guess.rank)
    yield "# Quasi-identifiers: what others may know of a person they look for. All of"
    yield f"# them together are generalized until k {_who(guesses).lower()} share them."
    yield "quasi_identifiers = ["
    for guess in ranked[:MOST_QUASI_IDENTIFIERS]:
        yield f"  {quoted(guess.name)},  # {guess.why}"
    if len(ranked) > MOST_QUASI_IDENTIFIERS:
        yield "  # More of them leave less of each. These are released as they are"
        yield "  # unless you take them in, or remove them below:"
    for guess in ranked[MOST_QUASI_IDENTIFIERS:]:
        yield f"  # {quoted(guess.name)},  # {guess.why}"
    yield "]"


def _removed(guesses: Sequence[Guess]) -> Iterator[str]:
    identifiers = _of(guesses, "identifier")
    if not identifiers:
        return
    yield ""
    yield "# Identifiers: removed from the release. To keep rows linkable, move one to"
    yield '# pseudonyms = ["COLUMN"], which needs a key (--key-file).'
    yield "identifiers = ["
    for guess in identifiers:
        yield f"  {quoted(guess.name)},  # {guess.why}"
    yield "]"


def _singles(guesses: Sequence[Guess]) -> Iterator[str]:
    units, weights = _of(guesses, "unit"), _of(guesses, "weight")
    if units:
        yield ""
        yield "# Persons with several rows: k counts persons. Removed from the release,"
        yield "# unless it is in pseudonyms as well."
    for guess in units:
        yield f"unit = {quoted(guess.name)}  # {guess.why}"
    if weights:
        yield ""
        yield "# Survey weights: released as they are; measures count by them, too."
    for place, guess in enumerate(weights):
        yield f"{'# ' if place else ''}weight = {quoted(guess.name)}  # {guess.why}"


def _null_values(null_values: Sequence[str]) -> Iterator[str]:
    if tuple(null_values) != ("",):
        yield ""
        yield f"null_values = [{', '.join(quoted(text) for text in null_values)}]"


def _carried(guesses: Sequence[Guess]) -> Iterator[str]:
    carried = [guess for guess in guesses if guess.role in ("carried", "sensitive")]
    if not carried:
        return
    yield ""
    yield "# Released as they are. Could others know one? Then it belongs above."
    for guess in carried:
        yield f"#   {quoted(guess.name)}: {guess.why}"
    yield "# Warnings about those that you have thought about are silenced by"
    yield '# accept = ["COLUMN"]'


def _hierarchies(guesses: Sequence[Guess]) -> Iterator[str]:
    known = _of(guesses, "quasi-identifier")
    postal = [guess.name for guess in known if guess.is_code]
    yield ""
    yield "# Without a hierarchy, categories that differ become *. With one they become"
    yield "# groups, such as 0213* and 021** (docs/hierarchies.md):"
    yield "# [hierarchies]"
    for name in postal:
        yield f'# {quoted(name)} = {{ kind = "prefix" }}'
    if not postal:
        yield '# "COLUMN" = "hierarchy.csv"  # lines of value;group;…;*'


def _models(guesses: Sequence[Guess]) -> Iterator[str]:
    sensitive = _of(guesses, "sensitive")
    if not sensitive:
        return
    yield ""
    yield "# k says nothing about what all rows of a class share. To keep a class from"
    yield "# revealing everybody's value, ask for several of them (docs/models):"
    for guess in sensitive:
        yield "# [[models]]"
        yield '# name = "distinct-l-diversity"'
        yield "# l = 2"
        yield f"# sensitive = {quoted(guess.name)}"
