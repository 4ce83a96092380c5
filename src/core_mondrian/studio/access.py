"""Access to the studio: one-time codes, exchanged for a secret path and a cookie.

Cookies ignore ports: a browser sends those of 127.0.0.1 to every server there, whoever
runs it. Ours is restricted to a random path that no other server knows, so browsers
send it to no other server; and without the path the cookie opens nothing.
"""

import hmac
import os
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

HOST: Final = "127.0.0.1"
_LASTS: Final = 60.0
"""Seconds that a browser may take to open the address that it is started with."""
_BYTES: Final = 24
_OWNER: Final = 7
"""The column of a socket's user in these tables."""
_SOCKETS: Final = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))


@dataclass(frozen=True)
class _Code:
    """A code that can be exchanged once."""

    text: str = field(default_factory=lambda: secrets.token_urlsafe(_BYTES), repr=False)
    is_printed: bool = True
    """Otherwise it is in the command line of a browser, which others can read."""
    until: float = float("inf")


class Access:
    """The one-time codes of one server, its base path and its cookie."""

    def __init__(self, port: int, echo: Callable[[str], None]) -> None:
        """Begin without codes; ``echo`` prints an address for the user alone."""
        self.port = port
        self.base_path = f"/{secrets.token_urlsafe(_BYTES)}"
        self.cookie = f"core_mondrian_{secrets.token_hex(8)}"
        self._value = secrets.token_urlsafe(_BYTES)
        self._echo = echo
        self._codes: list[_Code] = []

    def print_address(self) -> None:
        """Print an address; when it is used, the next one is printed."""
        self._echo(self._address(_Code()))

    def launch_address(self) -> str:
        """Return an address to start a browser with."""
        return self._address(_Code(is_printed=False, until=time.monotonic() + _LASTS))

    def _address(self, code: _Code) -> str:
        self._codes.append(code)
        return f"http://{HOST}:{self.port}/?code={code.text}"

    def exchange(self, given: str, client_port: int) -> str | None:
        """Return the cookie for a code that was not used yet, once."""
        fitting = [code for code in self._codes if _is_same(given, code.text)]
        if not fitting or fitting[0].until < time.monotonic():
            return None
        code = fitting[0]
        if not code.is_printed and not self._is_ours(client_port):
            return None
        self._codes.remove(code)
        if code.is_printed:
            self.print_address()
        rest = f"Path={self.base_path}/; HttpOnly; SameSite=Strict"
        return f"{self.cookie}={self._value}; {rest}"

    def is_below_base_path(self, path: str) -> bool:
        """Tell whether a path is one of this studio's."""
        return _is_same(path[: len(self.base_path) + 1], f"{self.base_path}/")

    def has_cookie(self, header: str) -> bool:
        """Tell whether our cookie is among those of a request."""
        pairs = (one.strip().partition("=") for one in header.split(";"))
        given = [value for name, _, value in pairs if name == self.cookie]
        return any(_is_same(value, self._value) for value in given)

    def _is_ours(self, client_port: int) -> bool:
        """Tell whether a connection is this user's, or root's, as far as one can know.

        Whoever reads the command line of the browser may be faster than the browser.
        """
        owners = _owners_of(client_port, self.port)
        return owners is None or (owners != set() and owners <= {os.geteuid(), 0})


def _is_same(given: str, known: str) -> bool:
    return hmac.compare_digest(given.encode(), known.encode())


def _owners_of(client: int, server: int) -> set[int] | None:
    """Return whose the other end of a connection is; None: the system does not say."""
    files = [file for file in _SOCKETS if file.exists()]  # on Linux
    ends = tuple(f"0100007F:{port:04X}" for port in (client, server))
    rows = [line.split() for file in files for line in file.read_text().splitlines()]
    owners = {
        int(row[_OWNER])
        for row in rows
        if row[1].endswith(ends[0]) and row[2].endswith(ends[1])
    }
    return owners if files else None
