"""What is made: a table or a view, and nothing that was not asked for."""

from collections.abc import Iterable, Sequence
from typing import Final

from core_mondrian.errors import OutputError, SpecError, list_names
from core_mondrian.sources.row_plan import check_released_names
from core_mondrian.sources.sql.base import Database
from core_mondrian.sources.sql.failures import NO_SCHEMA
from core_mondrian.sources.sql.names import Name, is_query, parse_name
from core_mondrian.sources.sql.value_table import Relation
from core_mondrian.spec.declaration import Spec, check_rows_are_here
from core_mondrian.tables.files.atomic_write import OVERWRITE
from core_mondrian.tables.files.kinds import FORMATS

MAPS: Final = ("tuples", "contents", "lots", "classes")
"""Tables that a view reads next to its source."""


def check_request(database: Database, spec: Spec, *, view: bool) -> None:
    """Refuse what cannot be done inside a database, before any work."""
    check_rows_are_here(spec, "in a database")
    if spec.shuffle is not None:
        raise SpecError(
            "a table in a database has no order that could be shuffled",
            hint="leave shuffle out, and order the rows when you read them",
            key=("shuffle",),
        )
    shapes = {spec.format_of(name) for name in spec.quasi_identifiers}
    if "struct" in shapes and not database.has_structs:
        raise SpecError(
            f"{database.title} has no structs", hint="take numbers = 'bounds'"
        )
    if view and not database.has_views:
        raise SpecError(
            f"a view in {database.title} is no boundary: whoever may read it can watch "
            "how it is computed, and find exact values",
            hint="make a table, and grant rights on that",
        )
    if view and spec.pseudonyms:
        raise SpecError(
            "a view with pseudonyms would keep a table of who is who",
            hint="make a table",
        )
    if view and spec.suppressed == "separate":
        raise SpecError(
            "a view cannot return suppressed rows separately", hint="make a table"
        )


def _hint_for(target: str) -> str | None:
    """Return what helps where a target's schema is missing."""
    if f".{target.rpartition('.')[2]}" in FORMATS:
        return "the target is a table of the database, not a file: leave out the suffix"
    return NO_SCHEMA.hint


def open_target(
    database: Database, target: str, spec: Spec, *, overwrite: bool
) -> Name:
    """Return a name, with its schema, that is free or will be.

    Raises:
        SpecError: it is no name, too long, or taken.
        OutputError: there is no such schema.
    """
    if is_query(target):
        raise SpecError("the target is a query", hint="name a new table")
    name = database.qualified(parse_name(target, "the target"))
    every = names_of(name, spec)
    check_lengths(database, [one.last for one in every])
    if not database.has_schema(name):
        raise OutputError(
            f"{database.title} cannot make the target: {NO_SCHEMA.text}",
            hint=_hint_for(target),
        )
    for one in every:
        if not overwrite and database.find(one) is not None:
            raise SpecError(
                f"{one.sql} exists", hint=f"take another name, or {OVERWRITE}"
            )
    return name


def names_of(target: Name, spec: Spec) -> list[Name]:
    """Return all tables and views that stand for a target."""
    others = [suppressed_of(target)] if spec.suppressed == "separate" else []
    return [target, *maps_of(target), *others]


def check_source(
    database: Database, relation: Relation, target: Name, spec: Spec
) -> None:
    """Refuse to replace what the source reads.

    Raises:
        SpecError: it does, directly or through views, or that cannot be decided.
    """
    there = [x for x in names_of(target, spec) if database.find(x) is not None]
    if there and database.may_read(relation.sql, there):
        raise SpecError(
            "the source reads what the target would replace, or may do so by a "
            "function or a table of another server",
            hint="take another name for the target",
        )


def suppressed_of(target: Name) -> Name:
    """Return the table of the rows that are left out."""
    return target.beside("_suppressed")


def map_of(target: Name, table: str) -> Name:
    """Return a table that a view reads."""
    return target.beside(f"_core_mondrian_{table}")


def maps_of(target: Name) -> list[Name]:
    """Return all tables that a view reads."""
    return [map_of(target, table) for table in MAPS]


def check_lengths(database: Database, names: Iterable[str]) -> None:
    """Refuse names that the database would cut off without a word."""
    if long := [x for x in names if len(x.encode()) > database.longest_name]:
        raise SpecError(
            f"names longer than the {database.longest_name} bytes that "
            f"{database.title} takes: {list_names(long)}",
            hint="choose a shorter one",
        )


def check_names(database: Database, names: Sequence[str]) -> None:
    """Refuse a release with two columns of one name."""
    check_lengths(database, names)
    check_released_names(names, ignores_case=database.ignores_case)


def make_room(database: Database, target: Name, spec: Spec) -> object:
    """Remove what stands where the target goes, and what an old view read.

    Return who may do what with the target, for `Database.grant`.
    """
    is_there = database.find(target) is not None
    rights = database.rights(target) if is_there else None
    for name in names_of(target, spec):
        if (kind := database.find(name)) is not None:
            database.run(f"DROP {kind.upper()} {name.sql}")
    return rights
