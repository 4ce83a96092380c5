"""SipHash-2-4 against the vectors of its authors and a plain twin."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_mondrian.encoding import keyed_hashing
from core_mondrian.encoding.keyed_hashing import keyed_hash

MASK = (1 << 64) - 1
AUTHORS_KEY = bytes(range(16))


def rotate(word: int, bits: int) -> int:
    return (word << bits | word >> (64 - bits)) & MASK


def siphash(message: bytes, key: bytes) -> int:
    """The reference in Python's own whole numbers."""
    k0, k1 = struct.unpack("<QQ", key[:16])
    v = [
        k0 ^ 0x736F6D6570736575,
        k1 ^ 0x646F72616E646F6D,
        k0 ^ 0x6C7967656E657261,
        k1 ^ 0x7465646279746573,
    ]

    def sip_round() -> None:
        v[0] = (v[0] + v[1]) & MASK
        v[1] = rotate(v[1], 13) ^ v[0]
        v[0] = rotate(v[0], 32)
        v[2] = (v[2] + v[3]) & MASK
        v[3] = rotate(v[3], 16) ^ v[2]
        v[0] = (v[0] + v[3]) & MASK
        v[3] = rotate(v[3], 21) ^ v[0]
        v[2] = (v[2] + v[1]) & MASK
        v[1] = rotate(v[1], 17) ^ v[2]
        v[2] = rotate(v[2], 32)

    whole = message + bytes(-(len(message) + 1) % 8) + bytes([len(message) % 256])
    for (word,) in struct.iter_unpack("<Q", whole):
        v[3] ^= word
        sip_round()
        sip_round()
        v[0] ^= word
    v[2] ^= 0xFF
    for _ in range(4):
        sip_round()
    return v[0] ^ v[1] ^ v[2] ^ v[3]


@pytest.mark.parametrize(
    ("length", "wanted"), [(8, "6224939a79f5f593"), (16, "db9bc2577fcc2a3f")]
)
def test_the_authors_vectors_come_out(length: int, wanted: str) -> None:
    message = bytes(range(length))
    words = np.frombuffer(message, "<u8").astype(np.uint64)

    found = keyed_hash([words[i : i + 1] for i in range(words.size)], AUTHORS_KEY)

    assert found.astype("<u8").tobytes().hex() == wanted
    assert siphash(message, AUTHORS_KEY).to_bytes(8, "little").hex() == wanted


words = st.integers(0, MASK)


@given(
    st.lists(st.tuples(words, words, words), min_size=1, max_size=9),
    st.binary(min_size=16, max_size=32),
)
def test_every_row_is_hashed_as_the_twin_does(
    rows: list[tuple[int, int, int]], key: bytes
) -> None:
    columns = [np.array(column, dtype=np.uint64) for column in zip(*rows, strict=True)]

    found = keyed_hash(columns, key).tolist()

    assert found == [siphash(struct.pack("<QQQ", *row), key) for row in rows]


def test_blocks_leave_no_seam(monkeypatch: pytest.MonkeyPatch) -> None:
    column = np.arange(1000, dtype=np.uint64)
    whole = keyed_hash([column], AUTHORS_KEY)

    monkeypatch.setattr(keyed_hashing, "_BLOCK", 7)

    assert keyed_hash([column], AUTHORS_KEY).tolist() == whole.tolist()
    assert keyed_hash([column[:0]], AUTHORS_KEY).size == 0
