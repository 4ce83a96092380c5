"""A release and its evidence.

result             Release: the data, and how they were made
from_plan          the Release that a plan has led to
manifests          manifests, read back
owner_record       what only the owner keeps: it redoes and proves a release
signatures         Ed25519 signatures of manifests
publication        release, manifest, record and report: all of them written, or none
report_file        where a report goes, and what it shows
explanation        explain(): a released table from table and manifest alone
released_classes   the classes of a released table, and their digest
release_tree       how a released table divides
notebook           how results show themselves in a notebook
"""
