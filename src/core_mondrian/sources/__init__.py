"""Rows and tuples that live elsewhere: in files, in a database, on a cluster.

tuple_counts   what a source of rows has to say: its distinct tuples and their counts
remote_plan    a plan made from such counts, which the source carries out itself
files          CSV and Parquet files, folders and globs that need not fit into memory
sql            tables in DuckDB, SQLite and PostgreSQL
spark          tables on a Spark cluster
"""
