"""Tables in files: CSV, Parquet and Arrow IPC.

kinds          the formats, and what a table says beyond its columns
read           a table from a file
write          a table to a file, and nothing but the table
dialect        delimiter, quotes and encoding of a CSV file
csv_text       CSV to columns, columns to CSV
csv_rows       where rows of CSV begin and end, compiled
cells          texts to the values that they stand for
sizes          how large a file is in memory
atomic_write   files in their places: whole, together, or not at all
staging        hidden folders for what is not finished
"""
