"""Hierarchies of UCI Adult, written for these benchmarks: how they would be explained.

Every value stands in exactly one group; groups of groups are dictionaries.
"""

from pathlib import Path
from typing import Final, TypeAlias

Groups: TypeAlias = str | dict[str, "Groups"]
"""Values with spaces between them, or groups by their label."""

ADULT_GROUPS: Final[dict[str, Groups]] = {
    "workclass": {
        "private sector": "Private Self-emp-inc Self-emp-not-inc",
        "public sector": "Federal-gov State-gov Local-gov",
        "without wages": "Never-worked Without-pay",
    },
    "education": {
        "higher education": {
            "postgraduate": "Doctorate Masters",
            "college": "Bachelors Some-college",
            "professional or associate": "Prof-school Assoc-acdm Assoc-voc",
        },
        "secondary school": {"grades 7 to 12": "HS-grad 12th 11th 10th 9th 7th-8th"},
        "primary school": {"up to grade 6": "5th-6th 1st-4th Preschool"},
    },
    "marital-status": {
        "lives with spouse": "Married-civ-spouse Married-AF-spouse",
        "lives without spouse": (
            "Married-spouse-absent Separated Divorced Widowed Never-married"
        ),
    },
    "occupation": {
        "technical or skilled": (
            "Prof-specialty Tech-support Craft-repair Machine-op-inspct"
        ),
        "commercial or manual": "Exec-managerial Sales Handlers-cleaners",
        "clerical, service and others": (
            "Adm-clerical Other-service Protective-serv Priv-house-serv "
            "Transport-moving Farming-fishing Armed-Forces"
        ),
    },
    "native-country": {
        "North and Central America, Caribbean": (
            "United-States Outlying-US(Guam-USVI-etc) Puerto-Rico Canada Mexico "
            "Guatemala Honduras El-Salvador Nicaragua Cuba Haiti "
            "Dominican-Republic Jamaica Trinadad&Tobago"
        ),
        "South America": "Columbia Ecuador Peru",
        "Europe": (
            "England Scotland Ireland France Germany Holand-Netherlands Portugal "
            "Italy Greece Hungary Poland Yugoslavia"
        ),
        "Asia": (
            "China Taiwan Hong Japan South Philippines Vietnam Laos Cambodia "
            "Thailand India Iran"
        ),
    },
    "race": "White Black Asian-Pac-Islander Amer-Indian-Eskimo Other",
    "sex": "Female Male",
}

Rows: TypeAlias = list[list[str]]
"""A line per value: itself, its labels, the root."""


def read_rows(folder: Path | None) -> dict[str, Rows]:
    """Return the hierarchies of a folder, ``value;label;…;*`` a line; None: ours."""
    if folder is None:
        return {name: _rows(groups) for name, groups in ADULT_GROUPS.items()}
    return {
        file.stem: [
            [cell.strip() for cell in line.split(";")]
            for line in file.read_text().splitlines()
            if line.strip()
        ]
        for file in sorted(folder.glob("*.csv"))
    }


def _rows(groups: Groups, root: str = "*") -> Rows:
    if isinstance(groups, str):
        return [[value, root] for value in groups.split()]
    inner = [row for label, more in groups.items() for row in _rows(more, label)]
    return [[*row, root] for row in inner]
