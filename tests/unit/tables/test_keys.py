"""The secret of a run: separated by purpose, and never shown."""

import pytest

from core_mondrian import SpecError
from core_mondrian.tables.keys import Key, key_for, open_key

SECRET = b"CANARY-SECRET-0123456789"


def test_every_purpose_has_a_key_of_its_own() -> None:
    key = open_key(SECRET)

    derived = [
        key.derive("allocation"),
        key.derive("pseudonyms", "a"),
        key.derive("pseudonyms", "b"),
        key.derive("pseudonyms", "a", "b"),
        key.derive("pseudonyms", "ab"),
        open_key(SECRET + b"!").derive("allocation"),
    ]

    assert len(set(derived)) == len(derived)
    assert {len(one) for one in derived} == {32}
    assert key.derive("allocation") == open_key(bytearray(SECRET)).derive("allocation")


@pytest.mark.usefixtures("random_keys")
def test_a_run_without_a_key_draws_one() -> None:
    first, second = open_key(None), open_key(None)

    assert not first.is_given
    assert len(first.secret) == 32
    assert first.secret != second.secret


def test_no_key_shows_itself() -> None:
    told = repr(open_key(SECRET)) + str(Key(SECRET, is_given=True))

    assert "CANARY" not in told
    assert SECRET.hex() not in told


def test_pseudonyms_need_a_key_that_can_be_given_again() -> None:
    with pytest.raises(SpecError, match="need a key"):
        key_for(None, ("id",))
    assert key_for(SECRET, ("id",)).is_given
    assert not key_for(None, ()).is_given
