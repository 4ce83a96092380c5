"""A sentence about every parameter of the models; models share their names."""

from typing import Final

PARAMETERS: Final = {
    "name": "Which model: one of ours, or FILE.py:CLASS.",
    "k": "Rows a class needs; for k-map, persons of the population.",
    "sensitive": "The sensitive column.",
    "missing": "A missing value is a value, or does not count.",
    "l": "Sensitive values a class needs.",
    "p": "Different sensitive values a class needs.",
    "c": "How much more frequent the most frequent value may be.",
    "alpha": "Largest share of a sensitive value in a class.",
    "values": "Only these values are sensitive.",
    "t": "Largest distance from the whole table, 0 to 1.",
    "distance": "How far apart two sensitive values are.",
    "hierarchy": "File with the hierarchy of the sensitive column.",
    "delta": "Largest difference, in logarithms, from the whole table.",
    "absent": "Whether a class may lack a sensitive value.",
    "beta": "Largest relative gain of a value's share.",
    "kind": "enhanced also limits the gain of frequent values.",
    "risk": "Largest chance of being picked out, below 1.",
    "population": "File with the population, one row a person.",
    "low": "Smallest chance of being in the table.",
    "high": "Largest chance of being in the table.",
}
