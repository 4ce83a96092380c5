"""What is read: a table as it is; a view or a query as it was when first looked at."""

from collections.abc import Callable

from core_mondrian.errors import DataError
from core_mondrian.sources.sql.base import Database
from core_mondrian.sources.sql.names import is_query, parse_name
from core_mondrian.sources.sql.value_table import Relation, open_relation


def open_source(database: Database, source: str) -> Relation:
    """Return the source as it stands in the database.

    Raises:
        SpecError: it is neither a query nor a name.
        DataError: there is no such table.
    """
    if is_query(source):
        # On lines of its own: it may end in a comment.
        return open_relation(database, f"(\n{source.strip().rstrip(';')}\n) AS q")
    name = parse_name(source, "the source")
    if database.find(name) is None:
        raise DataError(
            f"the database has no table or view {name.sql}",
            hint="names are taken as they are spelled, capital letters as well",
        )
    return open_relation(database, name.sql)


def keep_rows(
    database: Database,
    source: str,
    relation: Relation,
    report: Callable[[float], None],
) -> Relation:
    """Return the rows as they are now: views and queries may give others each time."""
    if not is_query(source):
        name = parse_name(source, "the source")
        if database.find(name) == "table":
            return relation
    kept = database.temporary("source")
    database.run(f"CREATE {kept.new_table} AS SELECT * FROM {relation.sql}", report)
    return Relation(kept.sql, relation.columns)
