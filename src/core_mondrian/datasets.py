"""Tables to try things on: a made-up census of any size, and UCI Adult."""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.errors import DataError, SpecError
from core_mondrian.runtime.array_types import Words
from core_mondrian.tables.hashing import LARGEST_WORD, draw, mixed_seed, row_words

__all__ = [
    "ADULT_SETS",
    "CENSUS_QUASI_IDENTIFIERS",
    "adult",
    "census",
    "census_batches",
]

CENSUS_QUASI_IDENTIFIERS: Final = (
    "age",
    "marital_status",
    "occupation",
    "native_country",
    "sex",
    "workclass",
)

Numbers: TypeAlias = NDArray[np.int64]
Codes: TypeAlias = NDArray[np.uint8]
Flags: TypeAlias = NDArray[np.bool_]
Cells: TypeAlias = tuple[str, ...]
Weights: TypeAlias = tuple[tuple[int, ...], ...]
"""One row of integer weights per group, one weight per code."""


# The census: everything below is integer arithmetic on a hash of (seed, row number), so
# its content is the same for ever and everywhere. Editing a number changes every table.
# Values are spelled as in Adult, so that hierarchies made for Adult fit.

_TEXTS: Final = {
    "sex": "Male Female",
    "marital_status": """Never-married Married-civ-spouse Married-AF-spouse
        Married-spouse-absent Divorced Separated Widowed""",
    "education": """Preschool 1st-4th 5th-6th 7th-8th 9th 10th 11th 12th HS-grad
        Some-college Assoc-voc Assoc-acdm Bachelors Masters Prof-school Doctorate""",
    "occupation": """Adm-clerical Armed-Forces Craft-repair Exec-managerial
        Farming-fishing Handlers-cleaners Machine-op-inspct Other-service
        Priv-house-serv Prof-specialty Protective-serv Sales Tech-support
        Transport-moving""",
    "workclass": """Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov
        State-gov Without-pay Never-worked""",
    "native_country": """United-States Mexico Puerto-Rico El-Salvador Cuba Jamaica
        Dominican-Republic Guatemala Columbia Haiti Nicaragua Peru Ecuador
        Trinadad&Tobago Honduras Philippines India China South Japan Vietnam Taiwan
        Iran Thailand Hong Cambodia Laos Outlying-US(Guam-USVI-etc) Germany Canada
        England Italy Poland Portugal Greece France Ireland Yugoslavia Scotland Hungary
        Holand-Netherlands""",
    "race": "White Black Asian-Pac-Islander Amer-Indian-Eskimo Other",
    "income": "<=50K >50K",
}

_CENSUS_TYPES: Final[dict[str, pa.DataType]] = {
    "person_id": pa.int64(),
    "age": pa.int64(),
    "sex": pa.string(),
    "marital_status": pa.string(),
    "education": pa.string(),
    "occupation": pa.string(),
    "workclass": pa.string(),
    "native_country": pa.string(),
    "race": pa.string(),
    "hours_per_week": pa.int64(),
    "capital_gain": pa.int64(),
    "zip_code": pa.string(),
    "income": pa.string(),
}
_CENSUS_SCHEMA: Final = pa.schema(_CENSUS_TYPES)

_YOUNGEST: Final = 16
_AGE: Final = (
    *(95, 125, 170, 210),  # 16 to 19, then a line a decade
    *(220, 222, 230, 245, 238, 236, 232, 240, 248, 244),
    *(258, 256, 252, 256, 254, 262, 258, 252, 250, 242),
    *(250, 240, 232, 224, 216, 222, 214, 208, 190, 180),
    *(188, 172, 162, 154, 144, 146, 134, 128, 122, 116),
    *(118, 106, 98, 90, 84, 80, 68, 62, 54, 47),
    *(45, 38, 34, 30, 26, 24, 20, 17, 14, 12),
    *(11, 9, 7, 6, 5, 4, 3, 3, 2, 2),
    *(12, 1, 1, 1, 1, 1, 1, 1, 1, 1),
)
_BAND_STARTS: Final = (20, 25, 30, 35, 45, 55, 65)
_SEX: Final = ((530, 470),)

_MARITAL_BY_BAND: Final = (
    (974, 14, 1, 4, 4, 3, 1),
    (840, 115, 1, 8, 21, 14, 1),
    (555, 322, 2, 13, 76, 30, 2),
    (319, 488, 2, 14, 131, 43, 4),
    (170, 571, 1, 14, 192, 41, 11),
    (87, 614, 1, 16, 210, 37, 36),
    (58, 632, 1, 13, 170, 27, 100),
    (61, 558, 1, 14, 92, 11, 263),
)
_MARITAL_BY_SEX: Final = ((11, 12, 6, 10, 8, 8, 4), (9, 8, 12, 10, 12, 12, 16))

_EDUCATION_BY_BAND: Final = (
    (1, 1, 4, 10, 24, 130, 235, 78, 242, 271, 2, 1, 1, 0, 0, 0),
    (2, 2, 9, 9, 13, 20, 30, 14, 306, 402, 33, 32, 122, 6, 0, 0),
    (1, 3, 10, 9, 13, 24, 30, 11, 328, 210, 50, 39, 220, 36, 10, 4),
    (2, 4, 7, 12, 14, 22, 30, 12, 345, 197, 53, 38, 192, 47, 15, 10),
    (1, 4, 8, 12, 11, 17, 20, 8, 319, 204, 52, 42, 193, 71, 24, 13),
    (3, 6, 12, 22, 14, 22, 24, 9, 323, 189, 42, 32, 166, 89, 23, 22),
    (2, 11, 18, 47, 27, 44, 27, 11, 350, 164, 31, 19, 134, 70, 23, 22),
    (3, 12, 24, 85, 27, 43, 34, 7, 333, 155, 31, 18, 123, 52, 30, 23),
)
_LEVEL: Final = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 3, 3, 3, 4, 5, 6, 6], np.uint8)
"""The education level of each education: seven, for the columns that depend on it."""

_OCCUPATION_BY_LEVEL: Final = (
    (23, 0, 174, 26, 124, 94, 168, 195, 29, 14, 8, 43, 4, 94),
    (53, 1, 180, 32, 51, 100, 113, 222, 12, 15, 12, 115, 5, 93),
    (137, 1, 194, 80, 38, 63, 102, 129, 6, 23, 22, 106, 18, 82),
    (178, 1, 133, 131, 27, 36, 47, 107, 3, 82, 32, 137, 52, 38),
    (98, 1, 43, 261, 15, 10, 13, 33, 2, 287, 19, 163, 45, 12),
    (41, 1, 13, 301, 5, 2, 5, 14, 0, 503, 8, 80, 24, 5),
    (13, 1, 9, 110, 6, 0, 1, 6, 1, 805, 1, 28, 13, 3),
)
_OCCUPATION_BY_SEX: Final = (
    (4, 20, 19, 12, 18, 16, 13, 8, 1, 10, 16, 11, 11, 19),
    (16, 1, 2, 10, 3, 4, 8, 14, 25, 11, 4, 10, 11, 2),
)
_NO_OCCUPATION: Final = np.array([140, 75, 35, 25, 25, 30, 60, 190])
"""People without an occupation, per thousand of each age band."""

_WORKCLASS_BY_OCCUPATION: Final = (
    (750, 12, 8, 87, 75, 67, 1, 0),
    (0, 0, 0, 1000, 0, 0, 0, 0),
    (777, 131, 27, 15, 35, 15, 0, 0),
    (658, 96, 101, 44, 54, 47, 0, 0),
    (450, 438, 55, 6, 29, 17, 5, 0),
    (928, 10, 3, 17, 31, 9, 1, 0),
    (954, 20, 6, 6, 8, 6, 1, 0),
    (824, 56, 9, 11, 61, 39, 0, 0),
    (990, 10, 0, 0, 0, 0, 0, 0),
    (552, 93, 40, 41, 172, 102, 0, 0),
    (304, 7, 5, 48, 458, 178, 0, 0),
    (807, 107, 76, 3, 3, 4, 0, 0),
    (798, 29, 6, 66, 40, 60, 0, 0),
    (798, 78, 16, 16, 66, 25, 0, 0),
)
_NEVER_WORKED: Final = 7
_MARRIED: Final = 1

_COUNTRY: Final = (
    43_800,  # one country, then three blocs with a heavy tail each
    *(950, 184, 155, 138, 106, 103, 88, 85, 75, 49, 46, 45, 27, 20),
    *(295, 151, 122, 115, 92, 86, 65, 59, 30, 30, 28, 23, 23),
    *(206, 182, 127, 105, 87, 67, 49, 38, 37, 23, 21, 19, 4),
)
_BLOC: Final = np.repeat(np.arange(4, dtype=np.uint8), (1, 14, 13, 13))
_RACE_BY_BLOC: Final = (
    (872, 100, 12, 10, 6),
    (640, 200, 5, 15, 140),
    (110, 15, 855, 5, 15),
    (965, 20, 7, 3, 5),
)
# The first digit of the zip code as in the US: 0 is the north east, 9 the far west.
_REGION_BY_BLOC: Final = (
    (70, 100, 105, 130, 120, 60, 95, 110, 60, 150),
    (60, 130, 20, 210, 10, 5, 30, 190, 60, 285),
    (60, 110, 60, 30, 30, 30, 60, 60, 30, 530),
    (160, 220, 80, 90, 90, 40, 90, 50, 30, 150),
)

# Hours that many people give, and how many do in each stage of life.
_HOURS_PEAKS: Final = (
    8,
    10,
    12,
    15,
    20,
    25,
    30,
    32,
    35,
    38,
    40,
    45,
    48,
    50,
    55,
    60,
    70,
)
_HOURS_BY_STAGE: Final = (
    (20, 45, 30, 85, 190, 95, 110, 15, 60, 5, 220, 5, 5, 5, 1, 2, 1),
    (5, 18, 8, 30, 95, 55, 75, 15, 55, 12, 470, 40, 9, 45, 8, 15, 4),
    (3, 5, 3, 7, 22, 12, 25, 8, 33, 16, 500, 65, 18, 105, 26, 53, 10),
    (25, 50, 25, 55, 135, 50, 70, 10, 45, 8, 270, 15, 6, 40, 8, 30, 6),
)
_STAGE: Final = np.array([0, 1, 2, 2, 2, 2, 2, 3], np.uint8)
"""The stage of life of each age band."""

_GAIN_TIES: Final = (
    *(15024, 7688, 7298, 3103, 5178, 5013, 4386, 99999, 8614, 3325, 2174),
    *(10520, 4650, 27828, 4064, 594, 3137, 14084, 20051, 6849, 13550, 2829),
    *(3908, 1055, 4787, 14344, 3411, 3464, 2176, 2597, 9386, 2885, 4101, 2202),
)
_GAIN_OCTAVES: Final = (4, 8, 16, 24, 24, 16, 8, 4, 2)
"""Weights of gains that start at 256, 512, 1024 and so on."""
_GAIN_MOST: Final = 99_999
_GAIN_BY_LEVEL: Final = (32, 35, 60, 72, 115, 160, 240)
"""People with a capital gain, per thousand of each education level."""

# Points for a high income, and the share of people who have one, per thousand.
_POINTS_BY_LEVEL: Final = np.array([0, 0, 2, 3, 5, 6, 7])
_POINTS_BY_BAND: Final = np.array([0, 0, 1, 2, 3, 4, 4, 2])
_HIGH_INCOME_BY_POINTS: Final = np.array(
    (0, 2, 5, 10, 20, 40, 70, 110, 170, 250, 350, 460, 580, 680, 770, 840, 890, 920)
)


class _Stream(IntEnum):
    """The independent draws of one row; renumbering changes every table."""

    AGE = 1
    SEX = 2
    MARITAL = 3
    EDUCATION = 4
    OCCUPATION = 5
    NO_OCCUPATION = 6
    WORKCLASS = 7
    NO_WORKCLASS = 8
    COUNTRY = 9
    NO_COUNTRY = 10
    RACE = 11
    HOURS = 12
    GAIN = 13
    GAIN_AMOUNT = 14
    REGION = 15
    COUNTY = 16
    TOWN = 17
    STREET = 18
    INCOME = 19


_DRAW_BITS: Final = 16
_ID_BITS: Final = 53  # so that an id survives a float64 column or a JSON file


def _person_ids(rows: Words, seed: int) -> Numbers:
    """Give every row number its own id: each step is a bijection on 53 bits."""
    mask = np.uint64((1 << _ID_BITS) - 1)
    ids = (rows + mixed_seed(seed)) & mask
    for factor in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB):
        ids = ((ids ^ (ids >> np.uint64(27))) * np.uint64(factor)) & mask
    return (ids ^ (ids >> np.uint64(27))).astype(np.int64)


@dataclass(frozen=True, slots=True)
class _Draws:
    """Numbers between 0 and 65535 that depend on the seed and the row number only."""

    row_words: Words

    def of(self, stream: _Stream) -> Numbers:
        words = draw(self.row_words, stream) >> np.uint64(64 - _DRAW_BITS)
        return words.astype(np.int64)

    def choose(
        self, stream: _Stream, weights: Weights, groups: Codes | None = None
    ) -> Codes:
        """Draw a code per row, with the weights of the row's group."""
        cells = self.of(stream)
        if groups is not None:
            cells += groups.astype(np.int64) << _DRAW_BITS
        return _lookup(weights).take(cells)

    def happens(self, stream: _Stream, per_thousand: int | Numbers) -> Flags:
        """Say for each row whether an event of this probability happens."""
        return self.of(stream) * 1000 < np.int64(1 << _DRAW_BITS) * per_thousand


@cache
def _lookup(weights: Weights) -> Codes:
    """Tabulate the code of every draw, group after group.

    A million draws take 1.4 ms; a search in the sums of the weights takes 43 ms.
    """
    codes = np.arange(len(weights[0]), dtype=np.uint8)
    return np.concatenate([np.repeat(codes, _shares(row)) for row in weights])


def _shares(weights: tuple[int, ...]) -> Numbers:
    """Divide the possible draws in proportion to the weights."""
    ends = np.cumsum(np.array(weights, np.int64)) * (1 << _DRAW_BITS) // sum(weights)
    return np.diff(ends, prepend=0)


def _crossed(rows: Weights, factors: Weights) -> Weights:
    """Multiply two influences; the second one's groups vary fastest."""
    return tuple(
        tuple(a * b for a, b in zip(row, factor, strict=True))
        for row in rows
        for factor in factors
    )


_MARITAL: Final = _crossed(_MARITAL_BY_BAND, _MARITAL_BY_SEX)
_OCCUPATION: Final = _crossed(_OCCUPATION_BY_LEVEL, _OCCUPATION_BY_SEX)


@cache
def _hours_weights() -> Weights:
    """Put the peaks on top of a low plain that gets lower above 60 hours."""
    plain = {hour: 20 if hour <= 60 else 3 for hour in range(1, 100)}
    stages = []
    for stage in _HOURS_BY_STAGE:
        peaks = {hour: 10 * w for hour, w in zip(_HOURS_PEAKS, stage, strict=True)}
        stages.append(tuple((plain | peaks).values()))
    return tuple(stages)


@cache
def _gain_weights() -> Weights:
    """Weigh no gain, then the ties, then the octaves, for each education level."""
    ties = tuple(240 // (rank + 2) for rank in range(len(_GAIN_TIES)))
    some = ties + tuple(5 * w for w in _GAIN_OCTAVES)
    return tuple(
        (sum(some) * (1000 - share), *(w * share for w in some))
        for share in _GAIN_BY_LEVEL
    )


def _capital_gains(draws: _Draws, levels: Codes) -> Numbers:
    """Draw gains: mostly none, then ties, then a heavy tail cut off at the top."""
    codes = draws.choose(_Stream.GAIN, _gain_weights(), levels)
    starts = np.array(
        (0, *_GAIN_TIES, *(256 << octave for octave in range(len(_GAIN_OCTAVES))))
    )
    gains = starts.take(codes)
    tail = codes > len(_GAIN_TIES)
    gains[tail] += gains[tail] * draws.of(_Stream.GAIN_AMOUNT)[tail] >> _DRAW_BITS
    return gains.clip(max=_GAIN_MOST)


def _zip_codes(draws: _Draws, blocs: Codes) -> pa.StringArray:
    """Draw five digits: a region, and a place in it of which few hold most people."""
    regions = draws.choose(_Stream.REGION, _REGION_BY_BLOC, blocs).astype(np.int64)
    # The product of even draws piles up near zero: a few places hold many people.
    ranks = np.full(len(regions), 10_000)
    for stream in (_Stream.COUNTY, _Stream.TOWN, _Stream.STREET):
        ranks = ranks * draws.of(stream)
    ranks >>= 3 * _DRAW_BITS
    # An odd factor that 5 does not divide permutes the ranks: large towns lie apart.
    numbers = regions * 10_000 + (ranks * 7919 + regions * 631) % 10_000
    powers = np.array([10_000, 1_000, 100, 10, 1])
    digits = (numbers[:, None] // powers % 10 + ord("0")).astype(np.uint8)
    offsets = np.arange(0, 5 * len(numbers) + 1, 5, dtype=np.int32)
    return pa.StringArray.from_buffers(
        len(numbers), pa.py_buffer(offsets.data), pa.py_buffer(digits.data)
    )


def _workclasses(
    draws: _Draws, occupations: Codes, no_occupation: Flags
) -> pa.StringArray:
    """Draw the class of worker; people without an occupation hardly ever have one."""
    codes = draws.choose(_Stream.WORKCLASS, _WORKCLASS_BY_OCCUPATION, occupations)
    codes[no_occupation] = _NEVER_WORKED
    unknown = draws.happens(_Stream.NO_WORKCLASS, np.where(no_occupation, 990, 5))
    return _text("workclass", codes, unknown)


def _high_income(draws: _Draws, levels: Codes, bands: Codes, more: Numbers) -> Codes:
    """Draw who earns much from education, age and what else gives points."""
    points = _POINTS_BY_LEVEL.take(levels) + _POINTS_BY_BAND.take(bands) + more
    shares = _HIGH_INCOME_BY_POINTS.take(points)
    return draws.happens(_Stream.INCOME, shares).astype(np.uint8)


def _text(column: str, codes: Codes, missing: Flags | None = None) -> pa.StringArray:
    """Turn codes into words."""
    words = pa.array(_TEXTS[column].split(), pa.string())
    return words.take(pa.array(codes, pa.uint8(), mask=missing))


def _census_batch(start: int, stop: int, seed: int) -> pa.RecordBatch:
    """Make the rows from start up to stop."""
    rows = np.arange(start, stop, dtype=np.uint64)
    draws = _Draws(row_words(rows, seed))
    ages = draws.choose(_Stream.AGE, (_AGE,)) + np.uint8(_YOUNGEST)
    bands = np.searchsorted(_BAND_STARTS, ages, side="right").astype(np.uint8)
    sexes = draws.choose(_Stream.SEX, _SEX)
    marital = draws.choose(_Stream.MARITAL, _MARITAL, 2 * bands + sexes)
    educations = draws.choose(_Stream.EDUCATION, _EDUCATION_BY_BAND, bands)
    levels = _LEVEL.take(educations)
    occupations = draws.choose(_Stream.OCCUPATION, _OCCUPATION, 2 * levels + sexes)
    idle = draws.happens(_Stream.NO_OCCUPATION, _NO_OCCUPATION.take(bands))
    countries = draws.choose(_Stream.COUNTRY, (_COUNTRY,))
    blocs = _BLOC.take(countries)
    stages = _STAGE.take(bands)
    hours = draws.choose(_Stream.HOURS, _hours_weights(), stages).astype(np.int64) + 1
    more = 3 * (marital == _MARRIED) + (hours >= 40) + 2 * (hours >= 50)
    columns: dict[str, Numbers | pa.StringArray] = {
        "person_id": _person_ids(rows, seed),
        "age": ages.astype(np.int64),
        "sex": _text("sex", sexes),
        "marital_status": _text("marital_status", marital),
        "education": _text("education", educations),
        "occupation": _text("occupation", occupations, idle),
        "workclass": _workclasses(draws, occupations, idle),
        "native_country": _text(
            "native_country", countries, draws.happens(_Stream.NO_COUNTRY, 18)
        ),
        "race": _text("race", draws.choose(_Stream.RACE, _RACE_BY_BLOC, blocs)),
        "hours_per_week": hours,
        "capital_gain": _capital_gains(draws, levels),
        "zip_code": _zip_codes(draws, blocs),
        "income": _text("income", _high_income(draws, levels, bands, more)),
    }
    return pa.RecordBatch.from_pydict(columns, schema=_CENSUS_SCHEMA)


def _check_whole(name: str, value: int, least: int, most: int) -> None:
    """Refuse anything but a whole number in this range."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        kind = type(value).__name__
        message = f"{name} must be a whole number, got a value of type {kind}"
        raise SpecError(message, hint=f"write {name}={least}, for example")
    if not least <= value <= most:
        message = f"{name} must be between {least} and {most}, got {value}"
        raise SpecError(message, hint=f"choose another {name}")


def census(rows: int, seed: int = 0) -> pa.Table:
    """Make a census-like table; each row depends on the seed and its position only.

    Raises:
        SpecError: If rows or seed is negative, too large or not a whole number.
    """
    return pa.Table.from_batches(census_batches(rows, seed), schema=_CENSUS_SCHEMA)


def census_batches(
    rows: int, seed: int = 0, batch_rows: int = 262_144
) -> Iterator[pa.RecordBatch]:
    """Make the same table as ``census`` piece by piece, for sizes beyond memory."""
    _check_whole("rows", rows, 0, 1 << _ID_BITS)
    _check_whole("seed", seed, 0, LARGEST_WORD)
    # Text offsets of 32 bits limit a batch: 26 letters at most in each of 2**26 cells.
    _check_whole("batch_rows", batch_rows, 1, 1 << 26)
    return (
        _census_batch(start, min(start + batch_rows, rows), seed)
        for start in range(0, rows, batch_rows)
    )


# UCI Adult (Becker and Kohavi 1996, CC BY 4.0), prepared as in Core Mondrian §4.1.

_ADULT_FIELDS: Final = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
)
_ADULT_6: Final = (
    "age",
    "marital-status",
    "occupation",
    "native-country",
    "sex",
    "workclass",
)
ADULT_SETS: Final = {
    "4": ("age", "race", "sex", "workclass"),
    "6": _ADULT_6,
    "8": (*_ADULT_6, "hours-per-week", "capital-gain"),
    "numeric": ("age", "hours-per-week", "capital-gain", "capital-loss"),
}
"""The quasi-identifier sets of the paper."""
_ADULT_DROPPED: Final = {"fnlwgt", "education-num"}
_ADULT_NUMBERS: Final = {"age", "capital-gain", "capital-loss", "hours-per-week"}
_ADULT_CHECKSUMS: Final = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}
_AS_UCI_SERVES: Final = "use the files as UCI serves them, without any edits"
_LARGEST_FILE: Final = 1 << 24
_USE_A_PATH: Final = "give the folder that holds adult.data and adult.test: adult(path)"


def adult(path: str | Path | None = None) -> pa.Table:
    """Read UCI Adult: 48,842 rows of 13 columns, ``?`` as missing.

    Args:
        path: The folder of ``adult.data`` and ``adult.test``. Without it, they are
            taken from the user's cache, and downloaded into it the first time.

    Raises:
        DataError: If a file is absent, damaged or not what UCI serves.
    """
    folder = _cached_adult() if path is None else Path(path)
    lines = [line for name in _ADULT_CHECKSUMS for line in _adult_lines(folder / name)]
    columns = zip(_ADULT_FIELDS, zip(*lines, strict=True), strict=True)
    return pa.table(
        {
            name: _adult_column(name, cells)
            for name, cells in columns
            if name not in _ADULT_DROPPED
        }
    )


def _adult_lines(file: Path) -> list[list[str]]:
    """Split a file into fields, and check what the columns rely on."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise DataError(f"cannot read '{file}': {reason}", hint=_USE_A_PATH) from error
    except UnicodeDecodeError:
        # The original error quotes the file's content.
        raise DataError(f"'{file}' is not a text file", hint=_USE_A_PATH) from None
    lines = [
        _adult_fields(line, f"'{file}', line {number}")
        for number, line in enumerate(text.split("\n"), start=1)
        # The test file opens with a comment; both end with an empty line.
        if line.strip() and not line.startswith("|")
    ]
    if not lines:
        raise DataError(f"'{file}' has no rows", hint=_USE_A_PATH)
    return lines


def _adult_fields(line: str, where: str) -> list[str]:
    """Split one line, with income spelled as in the data file."""
    fields = [field.strip() for field in line.split(",")]
    expected = len(_ADULT_FIELDS)
    if len(fields) != expected:
        message = f"{where}: expected {expected} fields, found {len(fields)}"
        raise DataError(message, hint=_AS_UCI_SERVES)
    for name, field in zip(_ADULT_FIELDS, fields, strict=True):
        # Nine digits fit an int64 with room to spare.
        is_number = field.isascii() and field.isdigit() and len(field) <= 9
        if name in _ADULT_NUMBERS and not is_number:
            message = f"{where}: expected a whole number in column '{name}'"
            raise DataError(message, hint=_AS_UCI_SERVES)
    fields[-1] = fields[-1].removesuffix(".")
    if fields[-1] not in _TEXTS["income"].split():
        message = f"{where}: expected '<=50K' or '>50K' in column 'income'"
        raise DataError(message, hint=_AS_UCI_SERVES)
    return fields


def _adult_column(name: str, cells: Cells) -> pa.Int64Array | pa.StringArray:
    """Turn the cells of one column into numbers, or into text with missing values."""
    if name in _ADULT_NUMBERS:
        return pa.array([int(cell) for cell in cells], pa.int64())
    return pa.array([None if cell == "?" else cell for cell in cells], pa.string())


def _cached_adult() -> Path:
    """Return the cache folder with both files in it, downloaded if need be."""
    folder = _cache_folder() / "core-mondrian" / "adult"
    if all(_is_intact(folder / name) for name in _ADULT_CHECKSUMS):
        return folder
    contents = _unpack(_download())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            _write_atomically(folder / name, content)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        message = f"cannot write Adult to the cache '{folder}': {reason}"
        raise DataError(message, hint=_USE_A_PATH) from error
    return folder


def _cache_folder() -> Path:
    """Return the user's cache folder as the XDG base directory specification says."""
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if named.is_absolute():  # the specification has relative ones ignored
        return named
    try:
        return Path("~/.cache").expanduser()
    except RuntimeError as error:
        message = "no cache folder for Adult: the user has no home folder"
        raise DataError(message, hint=_USE_A_PATH) from error


def _is_intact(file: Path) -> bool:
    """Say whether the file is there and has the checksum of its name."""
    try:
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return False
    return digest == _ADULT_CHECKSUMS[file.name]


def _download() -> bytes:
    """Fetch UCI's archive."""
    from http.client import HTTPException
    from urllib.request import urlopen

    source = "https://archive.ics.uci.edu/static/public/2/adult.zip"
    try:
        with urlopen(source, timeout=60) as response:
            content: bytes = response.read(_LARGEST_FILE)
    except (OSError, HTTPException) as error:
        message = f"cannot download Adult from {source}: {type(error).__name__}"
        raise DataError(message, hint=_USE_A_PATH) from error
    return content


def _unpack(archive: bytes) -> dict[str, bytes]:
    """Take both files out of the archive, and refuse any but the known ones."""
    import zlib
    from io import BytesIO
    from zipfile import BadZipFile, ZipFile

    contents = {}
    for name, expected in _ADULT_CHECKSUMS.items():
        try:
            with ZipFile(BytesIO(archive)) as files, files.open(name) as member:
                contents[name] = member.read(_LARGEST_FILE)
        except (BadZipFile, KeyError, EOFError, RuntimeError, zlib.error) as error:
            message = f"the download of Adult is not an archive with '{name}' in it"
            raise DataError(message, hint=_USE_A_PATH) from error
        digest = hashlib.sha256(contents[name]).hexdigest()
        if digest != expected:
            message = (
                f"'{name}' as downloaded: expected sha256 {expected}, found {digest}"
            )
            raise DataError(message, hint=_USE_A_PATH)
    return contents


def _write_atomically(file: Path, content: bytes) -> None:
    """Write the whole file or nothing, whoever else does so at the same time."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "wb") as output:
            output.write(content)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
