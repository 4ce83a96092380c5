"""Rows that are elsewhere: in files, in a database, on a cluster.

A source counts distinct tuples, and later carries out the plan row by row.

files             CSV and Parquet files, folders and globs that need not fit into memory
sql               tables in DuckDB, SQLite and PostgreSQL
spark             tables on a Spark cluster
tuple_counts      distinct tuples with counts, all that a plan needs
planner           plans of such tuples, in memory or on disk
row_plan          what is asked of a plan to carry it out, wherever its tuples are
remote_plan       make_plan(): a plan whose tuples are in memory
parted_plan       a plan whose tuples and classes stay in a store
row_coder         finds the tuple of each row again
counted_release   a release as its source counted it again, judged
tuple_relation    tuples as a relation: counted and divided by SQL
tuple_store       such a relation in a folder, in DuckDB
part_tasks        what is done with each part
shown_labels      what all parts show: labels and classes, on disk
memory            how much memory and disk there is, and what fits into it
mapped_files      arrays in files
spill             a DuckDB that spills into a folder
interruptible     long database calls that a signal ends
causes            the usual causes of failures, in the same words for all sources
"""
