"""The digest of the input that manifests published up to version 0.1.0.

Kept as it was, so that a manifest which holds it is recognized: with it a reader
confirms a guess of everything that the release hides.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from core_mondrian.encoding.encoder import Encoded


def digest_head(encoded: Encoded) -> "hashlib._Hash":
    """Return the digest of names and values, before anything is counted."""
    table = encoded.table
    digest = hashlib.sha256()
    for column, labels in zip(table.columns, encoded.values, strict=True):
        digest.update(f"{column.name}\0{column.kind}\0".encode())
        if column.kind == "number":
            digest.update(column.values.astype("<f8").tobytes())
        else:
            digest.update("\0".join(labels.to_pylist()).encode())
    for extra in table.sensitive:
        digest.update(f"{extra.name}\0{extra.n_values}\0".encode())
    return digest


def digest_tuples(
    head: "hashlib._Hash",
    codes: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> str:
    """Return the digest of a table with these tuples, in lexicographic order."""
    digest = head.copy()
    digest.update(codes.astype("<i4").tobytes())
    digest.update(counts.astype("<i8").tobytes())
    return str(digest.hexdigest())


def digest_input(encoded: Encoded) -> str:
    """Return the digest of a table."""
    table = encoded.table
    return digest_tuples(digest_head(encoded), table.codes, table.counts)
