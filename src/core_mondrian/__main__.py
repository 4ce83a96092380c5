"""python -m core_mondrian: the command line."""

from core_mondrian.cli.main import run

if __name__ == "__main__":
    run()
