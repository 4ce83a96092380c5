"""What the attacks found: counts and sentences, never a cell of a table."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from core_mondrian.runtime.plain_values import JsonObject


@dataclass(frozen=True, slots=True)
class Finding:
    """What one attack came to."""

    name: str
    succeeded: bool
    numbers: Mapping[str, float | int]
    sentence: str
    remedy: str
    """What in the spec would lower it."""
    columns: tuple[str, ...] = ()
    """Whose values the attacker knows, or learns."""

    def to_json(self) -> JsonObject:
        """Return plain values."""
        return {
            "name": self.name,
            "succeeded": self.succeeded,
            "columns": list(self.columns),
            "numbers": dict(self.numbers),
            "sentence": self.sentence,
            "remedy": self.remedy,
        }


@dataclass(frozen=True, slots=True)
class Attacks:
    """What all attacks on a release came to."""

    k: int
    n_people: int
    """Persons where the spec names a unit, else rows of the original."""
    n_released: int
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    """Which attacks were not tried, and why."""
    who: Literal["rows", "persons"] = "rows"
    """What findings count."""
    n_strange: int = 0
    """Released rows that fit nobody of the original, so that nobody was linked to
    them: of another table, or written in another way."""

    @property
    def succeeded(self) -> tuple[Finding, ...]:
        """The attacks that succeeded."""
        return tuple(one for one in self.findings if one.succeeded)

    @property
    def linked(self) -> float:
        """The largest share of rows (persons) linked with a confidence above 1/k."""
        shares = [
            one.numbers["share"] for one in self.findings if one.name == "linkage"
        ]
        return float(max(shares, default=0.0))

    def named(self, name: str) -> tuple[Finding, ...]:
        """Return the findings of an attack; linkage is tried with several columns."""
        return tuple(one for one in self.findings if one.name == name)

    def to_json(self) -> JsonObject:
        """Return plain values; there is no cell of a table among them."""
        return {
            "format": 1,
            "k": self.k,
            "counted": self.who,
            self.who: self.n_people,
            "released_rows": self.n_released,
            "strange_rows": self.n_strange,
            "linked": self.linked,
            "attacks": [one.to_json() for one in self.findings],
            "notes": list(self.notes),
        }


def strange_notes(n_strange: int, n_released: int) -> Iterator[str]:
    """Say that some released rows fit nobody, if there are any."""
    if n_strange:
        yield (
            f"{n_strange:,} of {n_released:,} released rows fit nobody of the "
            "original, and nobody was linked to them: are cells written alike?"
        )


def share_of(part: float, whole: float) -> float:
    """Return a share; of nothing, 0."""
    return part / whole if whole else 0.0


def counted(n: int, one: str, many: str | None = None) -> str:
    """Spell out how many of something; ``rows`` alone is one ``row``."""
    if many is None:
        one, many = one[:-1], one
    return f"{n:,} {one if n == 1 else many}"


def percent(share: float) -> str:
    """Spell out a share."""
    return f"{100 * share:.1f} %"
