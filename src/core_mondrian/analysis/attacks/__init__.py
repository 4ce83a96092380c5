"""What an attacker gets out of a release, tried on the people who are in it."""

from core_mondrian.analysis.attacks.findings import Attacks, Finding
from core_mondrian.analysis.attacks.run import attack

__all__ = ["Attacks", "Finding", "attack"]
