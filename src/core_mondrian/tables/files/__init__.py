"""Tables in files: CSV, Parquet and Arrow IPC, read as asked and written atomically."""
