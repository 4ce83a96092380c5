"""Rows that are elsewhere: in files, in a database, on a cluster.

A source counts distinct tuples, and later carries out the plan row by row.

files             CSV and Parquet files, folders and globs that need not fit into memory
sql               tables in DuckDB, SQLite and PostgreSQL
spark             tables on a Spark cluster
tuple_counts      TupleCounts: distinct tuples with counts, all that a plan needs
remote_plan       make_plan(): a plan from such counts, in memory
row_plan          what writing rows needs of a plan, in memory or on disk
row_coder         finds the tuple of each row again
recounted_plan    verifies a plan's release from what the source counted
counted_release   the same where different rows were counted in a database
tuple_relation    tuples as a relation: counted and divided by SQL
tuple_store       such a relation in a folder, in DuckDB
disk_planner      puts tuples into a store, and plans from there
parted_plan       a plan whose tuples and classes stay in a store
part_tasks        what is done with each part
shown_labels      what all parts show, in files
class_ledger      the classes of all parts: digest and numbers
whole_groups      rows group by group, none divided
split_rows        rows of tuples in several classes, some at a time
memory            how much memory there is, and what fits into it
mapped_files      arrays in files
spill             a DuckDB that spills into a folder
disk_use          the peak of disk use
interruptible     long database calls that a signal ends
causes            the usual causes of failures, in the same words for all sources
"""
