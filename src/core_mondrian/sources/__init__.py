"""Rows and tuples that live elsewhere: in files, in a database, on a cluster.

tuple_counts    what a source of rows has to say: its distinct tuples and their counts
remote_plan     a plan made from such counts, all in memory
tuple_relation  tuples as a relation: counted and divided by SQL, wherever they are
tuple_store     such a relation in a folder, in DuckDB, with its parts
part_tasks      what is done with each part: what its classes show, what is lost
shown_labels    what all parts show, in files
class_ledger    the classes of all parts: their digest and their numbers
parted_plan     a plan whose tuples and classes stay in such a store
disk_planner    puts tuples into such a store and makes that plan
row_plan        what is asked of either plan to write rows
row_coder       finds the tuple of each row again
counted_release verifies a release whose different rows were counted
memory          how much there is, and what fits into it
files           CSV and Parquet files, folders and globs that need not fit into memory
sql             tables in DuckDB, SQLite and PostgreSQL
spark           tables on a Spark cluster
"""
