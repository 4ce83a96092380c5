"""What spark-submit runs: the command line, as `python -m core_mondrian` does."""

from runpy import run_module

run_module("core_mondrian", run_name="__main__")
