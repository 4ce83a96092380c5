"""The examples that --help shows; a test runs those that need only files."""

from typing import Final

EXAMPLES: Final[dict[str, tuple[str, ...]]] = {
    "": (
        "core-mondrian inspect people.csv",
        "core-mondrian anonymize people.csv release.csv --qid age --qid sex --k 5",
        "core-mondrian verify release.csv",
    ),
    "anonymize": (
        "core-mondrian anonymize people.csv release.csv --qid age --qid sex --k 5",
        "core-mondrian anonymize people.csv release.parquet --spec spec.toml "
        "--report report.html",
        "core-mondrian anonymize people.csv release.csv --qid zip --k 5 "
        "--hierarchy zip=prefix:2 --suppress 1%",
        "core-mondrian anonymize people.csv release.csv --qid age --k 5 "
        "--model 'distinct-l-diversity l=2 sensitive=disease'",
    ),
    "verify": (
        "core-mondrian verify release.csv",
        "core-mondrian verify release.csv --qid age --qid sex --k 5",
    ),
    "attack": (
        "core-mondrian attack release.csv --with people.csv",
        "core-mondrian attack release.csv --with people.csv --known age,sex "
        "--fail-above 0.01",
    ),
    "compare": (
        "core-mondrian compare people.csv release.csv",
        "core-mondrian compare people.csv --qid age --qid sex --k 5",
    ),
    "explain": ("core-mondrian explain release.csv",),
    "report": (
        "core-mondrian report release.csv",
        "core-mondrian report release.csv mine.html --with people.csv",
    ),
    "advise": (
        "core-mondrian advise people.csv --qid age --qid sex --k 2,5,10",
        "core-mondrian advise people.csv --spec spec.toml --plot curve.svg",
    ),
    "inspect": (
        "core-mondrian inspect people.csv",
        "core-mondrian inspect people.csv --csv 'delimiter=;'",
    ),
    "init": ("core-mondrian init people.csv spec.toml",),
    "hierarchy": (
        "core-mondrian hierarchy people.csv zip --prefix 2",
        "core-mondrian hierarchy people.csv age --ranges 5,10,20 --write age.csv",
    ),
    "minimality": ("core-mondrian minimality",),
    "p-sensitize": (
        "core-mondrian p-sensitize release.csv --qid age --qid sex --k 5 --p 2 "
        "--sensitive disease --output changed.csv",
    ),
    "series": (
        "core-mondrian series create monthly --spec spec.toml --row-key person_id",
        "core-mondrian series release monthly people.csv",
    ),
    "keygen": ("core-mondrian keygen agency",),
    "sign": ("core-mondrian sign release.csv.manifest.json --key agency.key",),
    "schema": ("core-mondrian schema > spec.schema.json",),
    "studio": (
        "core-mondrian studio people.csv",
        "core-mondrian studio people.csv --spec spec.toml",
    ),
    "demo": ("core-mondrian demo",),
}
"""By command; those of the command line as a whole are under the empty name."""
