"""Us next to what people use today: one table, one yardstick, one process each."""
