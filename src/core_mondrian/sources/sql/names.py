"""Names of tables and columns as SQL spells them, whatever is in them."""

import re
from dataclasses import dataclass, replace
from typing import Final

from core_mondrian.errors import SpecError

_PART: Final = re.compile(r'"(?:[^"]|"")+"|[^".]*[^".\s][^".]*')
_NAME: Final = re.compile(rf"(?:{_PART.pattern})(?:\.(?:{_PART.pattern}))*")
_QUERY: Final = re.compile(r"\s*(select|with|values|from)\b(?!\s*\.)", re.IGNORECASE)


def quoted(name: str) -> str:
    """Return an identifier in quotes, so that it is nothing but a name."""
    if "\0" in name:
        raise SpecError("a name holds a zero byte, which no database takes")
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True, slots=True)
class Name:
    """A table's name, its schema before it."""

    parts: tuple[str, ...]
    is_temporary: bool = False

    @property
    def new_table(self) -> str:
        """What CREATE makes."""
        return f"{'TEMP ' if self.is_temporary else ''}TABLE {self.sql}"

    @property
    def text(self) -> str:
        """As people write it."""
        plain = (x if re.fullmatch(r"\w+", x) else quoted(x) for x in self.parts)
        return ".".join(plain)

    @property
    def sql(self) -> str:
        return ".".join(quoted(part) for part in self.parts)

    @property
    def last(self) -> str:
        return self.parts[-1]

    def beside(self, ending: str) -> "Name":
        """Return the name of something that belongs to this."""
        return replace(self, parts=(*self.parts[:-1], self.last + ending))


def parse_name(text: str, what: str) -> Name:
    """Read ``table`` or ``schema.table``; what holds a dot is in double quotes.

    Letters stay as they are: a name means what it spells.

    Raises:
        SpecError: it is no name.
    """
    if not _NAME.fullmatch(text):
        raise SpecError(
            f"{what} is the name of a table",
            hint='such as people, or schema.people, or "with a . in it"',
        )
    return Name(tuple(_plain(part) for part in _PART.findall(text)))


def _plain(part: str) -> str:
    return part[1:-1].replace('""', '"') if part.startswith('"') else part.strip()


def is_query(source: str) -> bool:
    """Tell a query from the name of a table."""
    return _QUERY.match(source) is not None and len(source.split()) > 1
