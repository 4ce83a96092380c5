"""What is read: a table as it is; a view or a query as it was when first looked at."""

from core_mondrian.errors import DataError
from core_mondrian.sources.sql.base import Database
from core_mondrian.sources.sql.names import is_query, parse_name
from core_mondrian.sources.sql.recoding import Relation, open_relation


def open_source(database: Database, source: str, *, is_live: bool) -> Relation:
    """Return the source; views and queries are evaluated once, unless ``is_live``.

    They may give something else each time they are asked.

    Raises:
        SpecError: it is neither a query nor a name.
        DataError: there is no such table.
    """
    kind = "query"
    if is_query(source):
        # On lines of its own: it may end in a comment.
        sql = f"(\n{source.strip().rstrip(';')}\n) AS q"
    else:
        name = parse_name(source, "the source")
        sql, found = name.sql, database.find(name)
        if found is None:
            raise DataError(
                f"the database has no table or view {name.sql}",
                hint="names are taken as they are spelled, capital letters as well",
            )
        kind = found
    relation = open_relation(database, sql)
    if kind == "table" or is_live:
        return relation
    kept = database.temporary("source")
    database.run(f"CREATE {kept.new_table} AS SELECT * FROM {sql}")
    return Relation(kept.sql, relation.columns)
