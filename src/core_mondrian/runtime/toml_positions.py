"""TOML by strangers, and where a key stands in it: tomllib keeps no lines."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from core_mondrian.runtime.plain_values import JsonObject

Way = tuple[str | int, ...]
"""Keys from the top of the file on; of an array, the number of the element."""

_TOKEN: Final = re.compile(
    r"""
    (?P<end>\r?\n) | (?P<blank>[ \t]+|\#[^\n]*)
    | (?P<long>\"{3}(?:[^\\]|\\.)*?\"{3,5} | '{3}.*?'{3,5})
    | (?P<text>"(?:[^"\\\n]|\\.)*" | '[^'\n]*')
    | (?P<bare>[A-Za-z0-9_-]+) | (?P<mark>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_DEEPEST: Final = 16
"""Keys below so many others are in no spec, and have no line."""
_LONG_KEY: Final = re.compile(
    r"""(?:(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){1000}""", re.ASCII
)
"""tomllib takes memory by the square of the parts: 400 MB for 10,000 of them."""


def read_toml(text: str) -> JsonObject:
    """Read TOML.

    Raises:
        ValueError: it is none; or tomllib does not get to its end.
    """
    if _LONG_KEY.search(text):
        raise ValueError("a key of too many parts")
    import tomllib

    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:
        raise ValueError("a number of too many digits") from None


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


def find_line(text: str, way: Sequence[str | int]) -> int | None:
    """Return the line, from 1 on, of a key of a TOML file that tomllib could read.

    Of a key that stands in no line of its own, it is that of the nearest key above.
    """
    lines: dict[Way, int] = {}
    with suppress(RecursionError):
        lines = key_lines(text)
    whole = tuple(way)
    for length in range(len(whole), 0, -1):
        if whole[:length] in lines:
            return lines[whole[:length]]
    return None


def key_lines(text: str) -> dict[Way, int]:
    """Return the line of every key and table of a TOML file that tomllib could read."""
    return _Scan(list(_tokens(text))).lines


def _tokens(text: str) -> Iterator[_Token]:
    line = 1
    for match in _TOKEN.finditer(text):
        if match.lastgroup != "blank":
            yield _Token(str(match.lastgroup), match[0], line)
        line += match[0].count("\n")
    yield _Token("end", "", line)


class _Scan:
    """Walks over the tokens once; what is read is known to be TOML."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.lines: dict[Way, int] = {}
        self._tokens = tokens
        self._at = 0
        self._n_tables: dict[Way, int] = {}
        table: Way = ()
        while self._at < len(tokens):
            if self._is("["):
                table = self._header()
            elif self._now.kind != "end":
                self._pair(table)
            self._at += 1

    @property
    def _now(self) -> _Token:
        return self._tokens[self._at]

    def _is(self, mark: str) -> bool:
        return self._now.kind == "mark" and self._now.text == mark

    def _header(self) -> Way:
        """Read ``[table]`` or ``[[array of tables]]`` up to the end of its line."""
        line = self._now.line
        self._at += 1
        is_array = self._is("[")
        self._at += is_array
        way = self._numbered(self._key())
        if is_array:
            n = self._n_tables.get(way, 0)
            self._n_tables[way] = n + 1
            self.lines.setdefault(way, line)
            way = (*way, n)
        self.lines.setdefault(way, line)
        while self._now.kind != "end":
            self._at += 1
        return way

    def _numbered(self, key: Sequence[str]) -> Way:
        """Return the way to a table: of arrays on it, the latest element is meant."""
        way: Way = ()
        for place, part in enumerate(key):
            way = (*way, part)
            is_last = place == len(key) - 1
            if way in self._n_tables and not is_last:
                way = (*way, self._n_tables[way] - 1)
        return way

    def _key(self) -> list[str]:
        """Read a key, maybe dotted and quoted, up to what follows it."""
        parts: list[str] = []
        while self._now.kind in ("bare", "text") or self._is("."):
            if not self._is("."):
                parts.append(_plain(self._now))
            self._at += 1
        return parts[:_DEEPEST]

    def _pair(self, table: Way) -> None:
        """Read ``key = value``, and stand on what follows it."""
        line = self._now.line
        way = table
        for part in self._key():
            way = (*way, part)
            self.lines.setdefault(way, line)
        self._at += 1  # the equals sign
        self._value(way)

    def _value(self, way: Way) -> None:
        if self._is("["):
            self._array(way)
        elif self._is("{"):
            self._inline_table(way)
        else:
            while self._now.kind != "end" and not self._closes:
                self._at += 1

    @property
    def _closes(self) -> bool:
        return self._now.kind == "mark" and self._now.text in ",]}"

    def _array(self, way: Way) -> None:
        self._at += 1
        n = 0
        while not self._is("]"):
            if self._now.kind == "end":
                self._at += 1
            elif self._is(","):
                n += 1
                self._at += 1
            else:
                self.lines.setdefault((*way, n), self._now.line)
                self._value((*way, n))
        self._at += 1

    def _inline_table(self, way: Way) -> None:
        self._at += 1
        while not self._is("}"):
            if self._is(",") or self._now.kind == "end":
                self._at += 1
            else:
                self._pair(way)
        self._at += 1


def _plain(token: _Token) -> str:
    """Return a key without its quotes."""
    if token.kind != "text":
        return token.text
    if token.text.startswith("'"):
        return token.text[1:-1]
    try:
        plain: str = json.loads(token.text, strict=False)
    except ValueError:  # such as \UXXXXXXXX, which JSON has not
        return token.text[1:-1]
    return plain
