"""The census, anonymized."""


def model(dbt, session):
    from core_mondrian import DistinctLDiversity, KAnonymity, Spec, anonymize

    dbt.config(materialized="table")
    people = dbt.ref("people").to_arrow_table()
    spec = Spec(
        ("age", "sex", "education"),
        (KAnonymity(int(dbt.config.get("k"))), DistinctLDiversity(2, "income")),
        identifiers=("person_id", "zip_code"),
        shuffle=7,
    )
    return anonymize(people, spec).data
