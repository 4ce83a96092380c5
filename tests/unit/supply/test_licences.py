"""What core-mondrian stands on may be used with it, and what may not is found."""

from email.message import Message
from types import SimpleNamespace
from typing import Any

import pytest

from supply.closure import needed
from supply.licences import ALLOWED, EXCEPTIONS, licences_of, refused

COPYLEFT = "License :: OSI Approved :: GNU Affero General Public License v3"


def metadata(**fields: str) -> Message:
    message = Message()
    for name, text in fields.items():
        message[name.replace("_", "-")] = text
    return message


def package(**fields: str) -> Any:
    return SimpleNamespace(metadata=metadata(**fields))


def test_everything_that_users_install_is_allowed() -> None:
    packages = needed()

    assert len(packages) > 50
    assert refused(packages) == {}


def test_exceptions_are_needed_and_give_a_reason() -> None:
    packages = needed()
    needless = [
        name
        for name in EXCEPTIONS
        if name not in packages or licences_of(packages[name].metadata) <= ALLOWED
    ]

    assert needless == []
    assert all(len(reason) > 20 for reason in EXCEPTIONS.values())


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"License_Expression": "MIT"}, {"MIT"}),
        (
            {"License_Expression": "MPL-2.0 AND (Apache-2.0 OR MIT)"},
            {"MPL-2.0", "Apache-2.0", "MIT"},
        ),
        ({"License": "MIT License"}, {"MIT"}),
        ({"License": "Copyright of many people.\n" * 9}, set()),
        ({"License_Expression": "MIT", "License": "GPL-3.0"}, {"MIT"}),
        ({"Classifier": "License :: OSI Approved :: ISC License (ISCL)"}, {"ISC"}),
        ({"Classifier": "License :: OSI Approved"}, set()),
        ({"Classifier": "Topic :: Security"}, set()),
        (
            {"License": "", "Classifier": "License :: OSI Approved :: MIT License"},
            {"MIT"},
        ),
    ],
)
def test_licences_are_what_the_package_says(
    fields: dict[str, str], found: set[str]
) -> None:
    assert licences_of(metadata(**fields)) == found


@pytest.mark.parametrize(
    "fields",
    [
        {"License_Expression": "GPL-3.0-or-later"},
        {"License_Expression": "MIT AND AGPL-3.0-only"},
        {"License_Expression": "LGPL-2.1-or-later"},
        {"License": "GNU GPLv3"},
        {"License": "Proprietary"},
        {"Classifier": COPYLEFT},
        {},
    ],
)
def test_other_licences_and_none_at_all_are_refused(fields: dict[str, str]) -> None:
    assert list(refused({"other": package(**fields)})) == ["other"]


def test_a_choice_between_licences_is_refused_unless_all_are_allowed() -> None:
    assert refused({"x": package(License_Expression="MIT OR GPL-2.0-only")}) == {
        "x": "GPL-2.0-only"
    }
