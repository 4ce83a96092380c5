"""What an attacker gets out of a release, tried on the people who are in it."""

from core_mondrian.attacks.findings import Attacks, Finding
from core_mondrian.attacks.run import attack

__all__ = ["Attacks", "Finding", "attack"]
