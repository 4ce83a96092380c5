"""What the repository says of a spec's keys in writing, from their declaration.

The tables of docs/spec.md, and the signature of `Spec` that type checkers read.
"""

import json
from dataclasses import MISSING
from pathlib import Path
from typing import Any, Final

from core_mondrian.spec.keys import BY_COLUMN, KEYS, TABLES, SpecKeys
from core_mondrian.spec.metadata import TEXTS, Key, keys_of

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "spec.md"
DECLARATION: Final = ROOT / "src" / "core_mondrian" / "spec" / "declaration.py"


def key_table() -> str:
    """Return the table of all keys, as Markdown."""
    rows = [
        f"| `{name}` | {_flag(key)} | {_default(SpecKeys, name, key)} "
        f"| {_meaning(name, key)} |"
        for name, key in KEYS.items()
    ]
    return "\n".join(["| key | flag | default | meaning |", "|---|---|---|---|", *rows])


def option_table(table: str) -> str:
    """Return the table of the keys of one of a spec's tables, as Markdown."""
    kind = TABLES[table]
    rows = [
        f"| `{name}`{'' if key.flag is None else f' ({_flag(key)})'} "
        f"| {_default(kind, name, key)} | {_meaning(name, key)} |"
        for name, key in keys_of(kind).items()
    ]
    return "\n".join(["| key | default | meaning |", "|---|---|---|", *rows])


def signature() -> str:
    """Return the parameters of `Spec(...)`, as they stand in its module."""
    items = SpecKeys.__dataclass_fields__
    first = ("quasi_identifiers", "models")
    names = [*first, *(name for name in items if name not in first)]
    lines = [f"{name}: {_accepted(name)}," for name in names]
    return "\n".join(f"            {line}" for line in [*lines[:2], "*,", *lines[2:]])


def with_between(text: str, mark: str, content: str) -> str:
    """Return a text with other content between ``mark: begin`` and ``mark: end``."""
    before, begin, rest = text.partition(f"{mark}: begin")
    _, end, after = rest.partition(f"{mark}: end")
    if not begin or not end:
        raise ValueError(mark)
    head, _, _ = rest.partition("\n")
    lead = rest[: rest.index(f"{mark}: end")].rpartition("\n")[2]
    return f"{before}{begin}{head}\n{content}\n{lead}{end}{after}"


def written_page(page: str) -> str:
    """Return docs/spec.md with the tables as the declaration has them."""
    page = with_between(page, "<!-- keys", key_table())
    for table in TABLES:
        page = with_between(page, f"<!-- {table}", option_table(table))
    return page


def _accepted(name: str) -> str:
    """Return what a parameter takes, and its default if it is written down."""
    item, key = SpecKeys.__dataclass_fields__[name], KEYS.get(name)
    if key is not None and key.accepts is not None:
        return key.accepts
    kind = str(item.type).replace("'", '"')
    if key is not None and key.kind == TEXTS:
        kind = "str | Iterable[str]"
    if name in BY_COLUMN:
        kind = f"{kind} | Mapping[str, {kind}]"
    if item.default is not MISSING:
        default = repr(item.default).replace("'", '"')
        return f"{kind} = {default}"
    return kind if item.default_factory is MISSING else f"{kind} = ..."


def _flag(key: Key) -> str:
    if key.flag is None:
        return "-"
    repeat = " (repeat)" if key.kind.option == list[str] else ""
    is_pair = "=" in (key.flag.metavar or "")
    value = f" {key.flag.metavar}".replace("|", "\\|") if is_pair else ""
    return f"`{key.flag.name}{value}`{repeat}"


def _default(kind: Any, name: str, key: Key) -> str:
    if key.shown_default is not None:
        return key.shown_default
    value = kind.__dataclass_fields__[name].default
    if value in (None, ()):
        return "none"
    plain = [*value] if isinstance(value, tuple) else value
    return f"`{json.dumps(plain)}`"


def _meaning(name: str, key: Key) -> str:
    parts = [key.meaning.rstrip(".")]
    if key.choices and not all(f'`"{choice}"`' in key.docs for choice in key.choices):
        parts.append(", ".join(f'`"{choice}"`' for choice in key.choices))
    if name in BY_COLUMN and key is KEYS.get(name):
        parts.append(f"in Python also `{name}_by_column`")
    text = "; ".join(parts)
    return f"{text}. {key.docs[:1].upper()}{key.docs[1:]}" if key.docs else text


def write() -> None:
    """Write what is derived into the page and the module."""
    PAGE.write_text(written_page(PAGE.read_text("utf-8")), "utf-8")
    module = with_between(
        DECLARATION.read_text("utf-8"), "# parameters of keys", signature()
    )
    DECLARATION.write_text(module, "utf-8")


if __name__ == "__main__":
    write()
