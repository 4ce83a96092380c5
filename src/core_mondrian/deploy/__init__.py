"""Scripts that bring core-mondrian to where rows are; see docs/spark.md."""
