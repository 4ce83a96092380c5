"""Fixtures: an empty database of each kind."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from databases import (
    Place,
    new_place,
    postgres_server,
    reason_without_postgres,
)


@pytest.fixture(scope="module")
def postgresql_server() -> Iterator[str]:
    if reason := reason_without_postgres():
        pytest.skip(reason)
    with postgres_server() as url:
        yield url


@pytest.fixture(params=["duckdb", "sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Return an empty database of each kind."""
    return new_place(request.param, tmp_path, request)


@pytest.fixture(params=["duckdb", "sqlite"])
def file_place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Return an empty database in a file: the kinds that have views."""
    return new_place(request.param, tmp_path, request)


@pytest.fixture
def duck(tmp_path: Path, request: pytest.FixtureRequest) -> Place:
    return new_place("duckdb", tmp_path, request)
