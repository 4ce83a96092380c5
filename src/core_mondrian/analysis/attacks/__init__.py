"""What an attacker gets out of a release, tried on the people who are in it.

run              attack(): every attack on one release
together         attack_together(): several releases of the same people
findings         what attacks found: counts and sentences, never a cell
columns          which released cell fits which person's value
candidates       the released rows that a person may be
owners           which original row each released row was made of
linkage          who can be found by what is known of them
sensitive        what is learned without finding the row
membership       who is in the table at all
persons          whether k rows are k persons
downcoding       what minimal generalizations reveal of their rows
bounds           exact values that tight bounds reveal
split_tuples     which of several equal rows went to which class
order            whether the place of a row reveals whose it is
public_order     orders that a reader can compute
physical_order   how the release is stored
stored           dictionaries, buffers, pages and notes of a file
parquet_pages    the pages of a Parquet file
leftovers        values stored that no released row shows
beside_rows      what comes with the rows: storage, manifest, owners
published        what fields of a manifest confirm
guessing         guesses of whole tables against a digest
input_digest     the digest that manifests of 0.1 published
intersection     two releases together
joined           the same person in several releases
"""

from core_mondrian.analysis.attacks.findings import Attacks, Finding
from core_mondrian.analysis.attacks.run import attack
from core_mondrian.analysis.attacks.together import Together, attack_together

__all__ = ["Attacks", "Finding", "Together", "attack", "attack_together"]
