"""Hierarchies as a spec names them: a file, or the table of a builder."""

import dataclasses
import difflib
import os
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from core_mondrian.errors import SpecError
from core_mondrian.hierarchies.base import Builder
from core_mondrian.hierarchies.tree import Hierarchy
from core_mondrian.hierarchies.uncovered import UNCOVERED, Uncovered
from core_mondrian.runtime.plain_values import JsonObject

_SHORT = {
    "flat": "",
    "ranges": "widths",
    "dates": "levels",
    "prefix": "steps",
    "redact": "steps",
    "learned": "columns",
}
"""The key that stands after the colon of a short form."""


@cache
def builders() -> dict[str, type[Builder]]:
    """Return the kinds of builders by name; they load when a spec names one."""
    from core_mondrian.hierarchies.codes import Flat, Prefix, Redact
    from core_mondrian.hierarchies.dates import Dates
    from core_mondrian.hierarchies.groups import Grouping, Lookup
    from core_mondrian.hierarchies.learned import Learned
    from core_mondrian.hierarchies.ranges import Ranges

    kinds = (Flat, Ranges, Dates, Prefix, Redact, Lookup, Grouping, Learned)
    return {kind.kind: kind for kind in kinds}


def load_hierarchies(
    entries: Mapping[str, object], folder: Path
) -> tuple[dict[str, Hierarchy | Builder], dict[str, Uncovered]]:
    """Return what ``[hierarchies]`` asks for, and ``uncovered`` where it is said.

    Files are relative to ``folder``.

    Raises:
        SpecError: no such kind, or a key it does not have or cannot be.
        DataError: a file cannot be read or is no tree.
    """
    trees: dict[str, Hierarchy | Builder] = {}
    uncovered: dict[str, Uncovered] = {}
    for column, given in entries.items():
        where = f"hierarchies.{column}"
        if not isinstance(given, Mapping):
            trees[column] = _read_entry(given, folder, where)
            continue
        table = dict(given)
        if not {"kind", "file"} & table.keys():
            trees[column] = _by_values(table, where)
            continue
        if "uncovered" in table:
            uncovered[column] = table.pop("uncovered")
        trees[column] = _load(table, folder, where)
    return trees, uncovered


def _read_entry(given: object, folder: Path, where: str) -> Hierarchy | Builder:
    """Return a tree or builder, given as such, as a file, short form or table."""
    if isinstance(given, Hierarchy | Builder):
        return given
    if isinstance(given, str) and (short := parse_short(given)) is not None:
        return _load(short, folder, where)
    if isinstance(given, str | os.PathLike):
        from core_mondrian.hierarchies.read import read_hierarchy

        return read_hierarchy(folder / given)
    columns = _columns_of(given)
    if columns is None:
        raise SpecError(
            f"{where} is not a hierarchy",
            hint="give a short form such as 'prefix:2', a file, a builder such as "
            "Prefix(2), a mapping of values to groups, or a frame of two columns",
        )
    rows = zip(*columns, strict=True)
    return _by_values({value: groups for value, *groups in rows}, where)


def _columns_of(given: Any) -> list[list[Any]] | None:  # noqa: ANN401
    """Return the cells of a frame by column; no library of frames is loaded here."""
    names = getattr(given, "column_names", getattr(given, "columns", None))
    if names is None:
        return None
    columns = [given[name] for name in names]
    return [
        column.to_pylist() if hasattr(column, "to_pylist") else list(column)
        for column in columns
    ]


def _by_values(groups: Mapping[Any, Any], where: str) -> Builder:
    """Return the builder of a mapping from values to groups, or to lists of them."""
    from core_mondrian.hierarchies.groups import Lookup

    if any(
        difflib.get_close_matches(str(value), ("kind", "file"), cutoff=0.8)
        for value in groups
    ):
        raise SpecError(f"{where} has neither file nor kind", hint=_kinds())
    levels: dict[str, tuple[str, ...]] = {}
    for value, over in groups.items():
        above = (over,) if isinstance(over, str) else over
        if not isinstance(above, list | tuple) or not all(
            isinstance(one, str) for one in above
        ):
            raise SpecError(
                f"{where} maps each value to its group, which is a text",
                hint=f"or is a table with file or kind; {_kinds()}",
            )
        levels[value] = tuple(above)
    return Lookup(levels)


def _load(table: JsonObject, folder: Path, where: str) -> Hierarchy | Builder:
    kind = table.pop("kind", None)
    if kind is None or kind == "lookup":
        if "file" in table:
            _check_keys(table, ("file",), where)
            if not isinstance(table["file"], str):
                raise SpecError(f"{where}.file is the name of a file")
            file = folder / table["file"]
            return _read_file(file, kind)
        if kind is None:
            raise SpecError(f"{where} has neither file nor kind", hint=_kinds())
    if kind not in builders():
        close = difflib.get_close_matches(str(kind), builders(), n=1)
        hint = f"did you mean {close[0]!r}?" if close else _kinds()
        raise SpecError(f"{where}.kind is no kind of hierarchy", hint=hint)
    builder = builders()[kind]
    names = [item.name for item in dataclasses.fields(builder)]  # type: ignore[arg-type]
    _check_keys(table, names, where)
    try:
        return builder(**{key: _freeze(x) for key, x in table.items()})
    except (TypeError, AttributeError):
        raise SpecError(
            f"{where} lacks a key, or one is of the wrong kind",
            hint=f"{kind} takes {names}",
        ) from None


def _read_file(file: Path, kind: str | None) -> Hierarchy | Builder:
    if kind is None:
        from core_mondrian.hierarchies.read import read_hierarchy

        return read_hierarchy(file)
    from core_mondrian.hierarchies.groups import Lookup

    return Lookup.read(file)


def _kinds() -> str:
    return f"kinds are {', '.join(builders())}"


def _check_keys(table: Mapping[str, object], keys: Iterable[str], where: str) -> None:
    names = [*keys, "kind", "uncovered"]
    for key in table:
        if key not in names:
            close = difflib.get_close_matches(key, names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known: {sorted(names)}"
            raise SpecError(f"unknown key '{where}.{key}' in the spec", hint=hint)


def _freeze(value: object) -> object:
    """Return a list as a tuple, all the way down."""
    if isinstance(value, list):
        return tuple(_freeze(item) for item in value)
    return value


def parse_short(text: str) -> JsonObject | None:
    """Return the table that a short form such as ``prefix:2,3`` stands for.

    None: it is no short form, but a file.

    Raises:
        SpecError: the part after the colon cannot be read.
    """
    kind, _, rest = text.partition(":")
    if kind == "lookup" and rest:
        return {"kind": kind, "file": rest}
    if kind not in _SHORT:
        close = difflib.get_close_matches(kind, _SHORT, n=1)
        if close and len(kind) > 1 and not Path(text).suffix:  # C:… is a path
            raise SpecError(
                f"no kind {kind!r} of hierarchy, and no file of that name has a suffix",
                hint=f"did you mean {close[0]!r}?",
            )
        return None
    if not rest:
        return {"kind": kind}
    return {"kind": kind, _SHORT[kind]: _parse_rest(kind, rest)}


def _parse_rest(kind: str, rest: str) -> Any:  # noqa: ANN401  # as TOML has it
    """Return what stands after the colon: a list of names or numbers, or a number."""
    if kind == "flat":
        raise SpecError("after 'flat' stands nothing", hint="such as zip=flat")
    if kind == "learned":
        return rest.split(",")
    parts = [part.strip() for part in rest.split(",")]
    if kind == "dates":
        return parts
    try:
        numbers = [float(x) if "." in x else int(x) for x in parts]
    except ValueError:
        raise SpecError(
            f"numbers belong after {kind!r}", hint=f"such as {kind}:2 or {kind}:2,4"
        ) from None
    is_repeated = kind != "ranges" and len(numbers) == 1
    return numbers[0] if is_repeated else numbers


def tree_over(
    entry: Hierarchy | Builder, texts: list[str], uncovered: Uncovered
) -> Hierarchy:
    """Return the tree of an entry for these values, with those it lacks if asked.

    Raises:
        SpecError: it has to be learned, which takes more than values.
    """
    from core_mondrian.hierarchies.learned import Learned

    if isinstance(entry, Learned):
        raise SpecError(
            "a learned hierarchy cannot be learned again from a release",
            hint="write it to a file first: core-mondrian hierarchy … --write FILE",
        )
    tree = entry.build(texts) if isinstance(entry, Builder) else entry
    return cover(tree, texts) if uncovered == "own branch" else tree


def cover(tree: Hierarchy, texts: Iterable[str]) -> Hierarchy:
    """Return the tree with a leaf right under the root for each value it lacks."""
    leaves = set(tree.leaves)
    more = [text for text in texts if text not in leaves]
    return tree.with_leaves(more) if more else tree


def check_entry(column: str, entry: object, uncovered: object) -> None:
    """Refuse what is neither a hierarchy nor a builder, or no choice of the three."""
    if not isinstance(entry, Hierarchy | Builder):
        raise SpecError(
            f"the hierarchy of {column!r} is neither a tree nor a builder",
            hint="read_hierarchy(path) reads a file",
        )
    if uncovered not in UNCOVERED:
        raise SpecError(f"uncovered of {column!r} is one of {', '.join(UNCOVERED)}")
