"""What spark-submit runs: the command line of core-mondrian."""

from core_mondrian.cli.main import run

run()
