"""Columns that look like one of the identifiers HIPAA's Safe Harbor lists.

The 18 kinds are those of 45 CFR 164.514(b)(2)(i). A column is recognized by the words
of its name, or by the pattern of most of its values; no value leaves this module.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, Literal, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from core_mondrian.runtime.array_types import ArrowArray
from core_mondrian.tables.arrow_types import is_text

Role = Literal["identifier", "quasi-identifier"]
"""What init makes of such a column: remove it, or generalize it."""

_MOST_VALUES: Final = 1000
"""Values looked at: the first ones in their own order, so that rows may be anywhere."""
_LONGEST: Final = 256
"""Characters looked at of each."""
_MOST_OF_THEM: Final = 0.8
PERSONS: Final = (
    "patient person people member subject customer client employee user student case "
    "participant respondent citizen resident individual staff worker"
)


class Kind(NamedTuple):
    """One of the 18 kinds."""

    number: int
    title: str
    words: str
    """Words of a column's name that reveal it; a-b: both, one after the other."""
    pattern: str | None = None
    """What most of its values match, as Arrow's regular expressions have it."""
    role: Role = "identifier"


_DATE: Final = r"(19|20)\d\d-\d\d?-\d\d?([ T].*)?|\d\d?[./-]\d\d?[./-](19|20)?\d\d"
KINDS: Final = (
    Kind(
        1,
        "names",
        "firstname lastname fullname surname forename maidenname first-name last-name "
        "full-name given-name family-name middle-name maiden-name mother-name "
        + " ".join(f"{person}-name" for person in PERSONS.split()),
    ),
    Kind(
        2,
        "places smaller than a state",
        "zip zipcode postcode postal plz city town village county parish precinct "
        "district municipality neighborhood neighbourhood geocode latitude longitude "
        "lat lon lng gps tract",
        r"\d{5}-\d{4}",
        "quasi-identifier",
    ),
    Kind(2, "places smaller than a state", "address street addr home-address", None),
    Kind(
        3,
        "dates of a person, other than years",
        "date dob birthday birthdate dateofbirth birth-day admission discharge "
        "death-day timestamp datetime admitted discharged deceased",
        _DATE,
        "quasi-identifier",
    ),
    Kind(5, "fax numbers", "fax telefax"),
    Kind(
        7,
        "social security numbers",
        "ssn social-security socialsecurity national-id nino",
        r"\d{3}-\d{2}-\d{4}",
    ),
    Kind(6, "e-mail addresses", "email mail e-mail", r"[^@\s]+@[^@\s]+\.[^@\s]+"),
    Kind(8, "medical record numbers", "mrn medical-record record-number chart-number"),
    Kind(
        9,
        "health plan beneficiary numbers",
        "beneficiary health-plan insurance-id insurance-number medicare medicaid hicn",
    ),
    Kind(
        10,
        "account numbers",
        "account iban account-number card-number creditcard credit-card bban",
        r"[A-Z]{2}\d{2}[ ]?([A-Z0-9]{4}[ ]?){2,7}[A-Z0-9]{1,4}|(\d{4}[ -]){3}\d{4}",
    ),
    Kind(
        4,
        "telephone numbers",
        "phone telephone tel mobile cellphone phonenumber msisdn",
        r"(\+\d{1,3}[ .-]?)?(\(\d{2,5}\)[ .-]?|\d{2,5}[ .-])\d{3,4}([ .-]?\d{2,4}){1,2}"
        r"|\+\d{8,15}",
    ),
    Kind(
        11,
        "certificate and license numbers",
        "license licence certificate passport driver-id license-number npi",
    ),
    Kind(
        12,
        "vehicle identifiers",
        "vin plate license-plate licenseplate number-plate numberplate",
        r"[A-HJ-NPR-Z0-9]{3}[A-HJ-NPR-Z][A-HJ-NPR-Z0-9]{7}\d{6}",
    ),
    Kind(
        13,
        "device identifiers",
        "device-id deviceid serial serial-number imei imsi mac-address",
        r"([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}",
    ),
    Kind(14, "URLs", "url website homepage uri", r"(?i)(https?|ftp)://\S+|www\.\S+"),
    Kind(
        15,
        "IP addresses",
        "ip ipaddress ip-address ipv4 ipv6",
        r"(\d{1,3}\.){3}\d{1,3}|([0-9A-Fa-f]{0,4}:){3,7}[0-9A-Fa-f]{0,4}",
    ),
    Kind(
        16,
        "biometric identifiers",
        "biometric fingerprint voiceprint retina retinal",
    ),
    Kind(17, "photographs", "photo photograph portrait picture selfie"),
    Kind(
        18,
        "other unique numbers and codes",
        "uuid guid username login "
        + " ".join(f"{person}-id {person}id" for person in PERSONS.split()),
        r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
    ),
)
_SIGN: Final = r"[0-9@.:-]"
"""Something of it is in whatever matches one of the patterns."""
_ALONE: Final = {"name": KINDS[0], "names": KINDS[0], "id": KINDS[-1]}
"""Words that say so only if the name is nothing else."""


class Recognized(NamedTuple):
    """Why a column looks like an identifier."""

    kind: Kind
    by: Literal["name", "values", "type"]

    def __str__(self) -> str:
        return f"{self.kind.title} (HIPAA {self.kind.number}), by its {self.by}"


def words_of(name: str) -> list[str]:
    """Split a column's name into lower-case words.

    >>> words_of("nativeCountry-of_Birth2")
    ['native', 'country', 'of', 'birth', '2']
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Za-z])(?=\d)", " ", name)
    return [word for word in re.split(r"[^a-z0-9]+", spaced.lower()) if word]


def has_words(
    name: str, wanted: Mapping[str, object] | Sequence[str] | str
) -> str | None:
    """Return the first of ``wanted`` that a name holds; a-b are neighbours."""
    words = words_of(name)
    joined = {"-".join(words[i : i + 2]) for i in range(len(words))} | set(words)
    listed = wanted.split() if isinstance(wanted, str) else wanted
    return next((one for one in listed if one in joined), None)


def recognize(name: str, column: ArrowArray) -> Recognized | None:
    """Return which kind of identifier a column looks like, if any."""
    return recognize_name(name) or recognize_values(some_values(column))


def recognize_values(texts: ArrowArray) -> Recognized | None:
    """Return which kind of identifier `some_values` of a column look like, if any."""
    kind = texts.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return Recognized(_kind_of_dates(), "type")
    if not is_text(kind) or not _match_part(texts, _SIGN):
        return None
    for one in KINDS:
        if one.pattern is not None and _match(texts, one.pattern):
            return Recognized(one, "values")
    if _match(texts, r"\d{5}") and _match(texts, r"0\d{4}", any_of_them=True):
        return Recognized(KINDS[1], "values")  # quantities have no leading zeros
    return None


@lru_cache(maxsize=4096)
def recognize_name(name: str) -> Recognized | None:
    """Return which kind of identifier a column's name says it is, if any."""
    words = words_of(name)
    if len(words) == 1 and words[0] in _ALONE:
        return Recognized(_ALONE[words[0]], "name")
    for kind in KINDS:
        if has_words(name, kind.words):
            return Recognized(kind, "name")
    return None


def _kind_of_dates() -> Kind:
    return next(kind for kind in KINDS if kind.number == 3)


def some_values(column: ArrowArray) -> ArrowArray:
    """Return texts of a column that differ, the same ones whatever its row order.

    They are those that `recognize` looks at: it finds in them what it finds in the
    column, and in some values of several parts what it finds in all. Of other types
    nothing but the type is needed.
    """
    kind = column.type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if not is_text(kind):
        return pa.nulls(0, kind)
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    if chunks and pa.types.is_dictionary(column.type):
        chunks = [chunk.dictionary.take(pc.unique(chunk.indices)) for chunk in chunks]
    texts = [_short(chunk.cast(pa.string()).unique()) for chunk in chunks]
    distinct = pa.chunked_array(texts, pa.string()).unique().drop_null()
    if len(distinct) <= _MOST_VALUES:
        return distinct
    table = pa.table({"value": distinct})
    first = pc.select_k_unstable(
        table, k=_MOST_VALUES, sort_keys=[("value", "ascending")]
    )
    return distinct.take(first)


def _short(texts: ArrowArray) -> ArrowArray:
    if (pc.max(pc.binary_length(texts)).as_py() or 0) <= _LONGEST:
        return texts
    return pc.utf8_slice_codeunits(texts, 0, _LONGEST)


def _match_part(texts: ArrowArray, pattern: str) -> bool:
    """Return whether most texts hold something that matches."""
    n = pc.sum(pc.match_substring_regex(texts, pattern)).as_py() or 0
    return bool(n >= _MOST_OF_THEM * len(texts))


def _match(texts: ArrowArray, pattern: str, *, any_of_them: bool = False) -> bool:
    """Return whether most texts match from end to end, or any."""
    if len(texts) < 2:
        return False
    n = pc.sum(pc.match_substring_regex(texts, f"^({pattern})$")).as_py() or 0
    return bool(n) if any_of_them else n >= _MOST_OF_THEM * len(texts)
