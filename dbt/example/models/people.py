"""A made-up census: who is in it does not exist."""


def model(dbt, session):
    from core_mondrian.datasets import census

    return census(2_000)
