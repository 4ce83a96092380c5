"""A made-up table of visits: patients come more than once."""

import numpy as np
import pyarrow as pa


def hospital(n_rows: int = 5000, n_patients: int = 1900, seed: int = 3) -> pa.Table:
    """Return visits; every patient has at least one."""
    rng = np.random.default_rng(seed)
    more = rng.integers(0, n_patients, n_rows - n_patients)
    who = rng.permutation(np.concatenate([np.arange(n_patients), more]))
    age = rng.integers(1, 95, n_patients)
    sex = rng.choice(["F", "M"], n_patients)
    place = rng.integers(0, 30, n_patients)
    ssn = [f"{100 + i // 90}-{10 + i % 90}-{1000 + i}" for i in range(n_patients)]
    return pa.table(
        {
            "ssn": [ssn[i] for i in who],
            "age": age[who],
            "sex": sex[who],
            "region": [f"r{x}" for x in place[who]],
            "diagnosis": rng.choice(["flu", "cold", "asthma", "gout"], n_rows),
        }
    )


def persons_by_class(release: pa.Table, names: list[str], who: pa.Array) -> list[int]:
    """Count the different persons of each class, in a plain loop."""
    classes: dict[tuple[object, ...], set[object]] = {}
    shown = [release[name].to_pylist() for name in names]
    for cells, person in zip(zip(*shown, strict=True), who.to_pylist(), strict=True):
        classes.setdefault(cells, set()).add(person)
    return [len(persons) for persons in classes.values()]
