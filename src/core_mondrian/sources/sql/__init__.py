"""Tables in databases: counted and recoded there, as SQL.

anonymize         anonymize_sql(): the stages, in order
open              which database is meant, and a connection to it
base              what the databases have in common
duckdb_file       a DuckDB file
sqlite_file       an SQLite file
postgresql        a PostgreSQL server
target            what is made: a table or a view
names             names as SQL spells them
value_table       the source, and our tables that hold its cells
planning          counted tuples as codes, and their places in a plan
lookup_tables     the plan as tables inside the database
recoding          the statements that give each row what its class shows
row_sample        columns that pass through, as far as a database shows them
live              LiveView: a relation that follows a table
live_tables       what a live view consists of
failures          failures of databases in the same words, without a cell
"""
