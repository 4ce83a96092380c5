"""The same release of rows that are on a Spark cluster; needs the extra ``spark``."""
