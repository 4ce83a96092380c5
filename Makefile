# One command per intention. Needs python3 (3.11 or newer, with venv and pip) and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: help demo test check lint types imports unit plain format bench bench-reference bench-best bench-models bench-statistics bench-spark fuzz experiments peers pictures clean

help:
	@echo "make demo             anonymize a generated table and look at the result"
	@echo "make test             lint, types, import rules, all tests"
	@echo "make check            lint, types, import rules only"
	@echo "make format           let ruff format the code"
	@echo "make bench            benchmarks as JSON lines (minutes)"
	@echo "make bench-reference  the same table through the paper's own code (minutes)"
	@echo "make bench-best       policy best on Adult: JUDGE=file HIERARCHIES=folder (minutes)"
	@echo "make bench-models     privacy models on Adult: JUDGE=file HIERARCHIES=folder (minutes)"
	@echo "make bench-statistics what analysts find in releases of Adult (a minute)"
	@echo "make bench-spark      rows and tuples on a Spark cluster on this machine (minutes; needs Java)"
	@echo "make fuzz             random tables, specs and files: TABLES=20000 COMMANDS=500 SECONDS=60 (minutes)"
	@echo "make peers            others next to ours; UPDATE=1 writes the tables (half an hour)"
	@echo "make experiments      the paper's figures, measured again: QUICK=1 FIGURES=1,5 UPDATE=1 (minutes)"
	@echo "make pictures         the pictures of the docs"
	@echo "make clean            remove what make made"

# The stamp is newer than pyproject.toml when the environment is as it asks.
$(VENV)/stamp-run: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "core-mondrian needs Python 3.11 or newer; try: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing core-mondrian into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/stamp-dev: $(VENV)/stamp-run
	@echo "installing the development tools into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(VENV)/stamp-run
	@$(BIN)/core-mondrian demo

test: check unit plain

check: lint types imports

lint: $(VENV)/stamp-dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(VENV)/stamp-dev
	@$(BIN)/mypy

imports: $(VENV)/stamp-dev
	@$(BIN)/lint-imports

# loadgroup: the tests that share one Spark cluster run in one process.
unit: $(VENV)/stamp-dev
	@$(BIN)/python -m pytest --numprocesses auto --dist loadgroup

# The same kernels as plain Python: what they compute must not depend on the compiler.
plain: $(VENV)/stamp-dev
	@NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest --numprocesses auto tests/unit/partition tests/property tests/golden \
	  --ignore tests/property/test_statistics_order.py --ignore tests/property/test_explain_release.py

format: $(VENV)/stamp-dev
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(VENV)/stamp-dev
	@$(BIN)/python -m benchmarks.stages

bench-reference: $(VENV)/stamp-dev
	@$(BIN)/python -m benchmarks.reference

# The lines first; then the bars, which fail if one is missed, and the tables.
bench-best: $(VENV)/stamp-dev
	@mkdir -p out
	@$(BIN)/python -m benchmarks.best --judge $(JUDGE) --hierarchies $(HIERARCHIES) --every > out/best.jsonl
	@$(BIN)/python -m benchmarks.best --lines out/best.jsonl --check --markdown

bench-models: $(VENV)/stamp-dev
	@mkdir -p out
	@$(BIN)/python -m benchmarks.models --judge $(JUDGE) --hierarchies $(HIERARCHIES) > out/models.jsonl
	@$(BIN)/python -m benchmarks.models --lines out/models.jsonl --check --markdown

bench-statistics: $(VENV)/stamp-dev
	@mkdir -p out
	@$(BIN)/python -m benchmarks.statistics > out/statistics.jsonl
	@$(BIN)/python -m benchmarks.statistics --lines out/statistics.jsonl --markdown

bench-spark: $(VENV)/stamp-dev
	@mkdir -p out
	@$(BIN)/python -m benchmarks.spark > out/spark.jsonl
	@$(BIN)/python -m benchmarks.spark --lines out/spark.jsonl --markdown

# With atheris (pip install -e '.[fuzz]'), also bytes into the readers, guided by coverage.
TABLES ?= 20000
COMMANDS ?= 500
SECONDS ?= 60
fuzz: $(VENV)/stamp-dev
	@$(BIN)/python -m benchmarks.fuzz tables --tables $(TABLES)
	@$(BIN)/python -m benchmarks.fuzz commands --runs $(COMMANDS)
	@$(BIN)/python -m benchmarks.fuzz readers --seconds $(SECONDS)

# Each of the others gets an environment of its own, .venv-<name>. PEERS: more options,
# such as --sets 4 6 8 numeric, --rows 1000000, --hierarchies DIR, --judge FILE.
peers: $(VENV)/stamp-dev
	@mkdir -p out
	@$(BIN)/python -m benchmarks.peers --hostile $(PEERS) > out/peers.jsonl
	@$(BIN)/python -m benchmarks.peers --lines out/peers.jsonl --markdown \
	  $(if $(UPDATE),--update README.md docs/peers.md)

# UPDATE=1 also replaces docs/experiments.md and its pictures; it needs a full run.
experiments: $(VENV)/stamp-dev
	@$(BIN)/core-mondrian experiments $(if $(QUICK),--quick) $(if $(FIGURES),--figures $(FIGURES)) \
	  $(if $(TABLE),--table $(TABLE)) $(if $(UPDATE),--docs docs)

pictures: $(VENV)/stamp-dev
	@$(BIN)/python -m benchmarks.paintings
	@$(BIN)/python -m benchmarks.report_picture

clean:
	rm -rf $(VENV) .venv-* .mypy_cache .ruff_cache .pytest_cache .hypothesis out
	find . -name __pycache__ -prune -exec rm -rf {} +
