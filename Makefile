# One command per intention. Needs python3 (3.11 or newer, with venv and pip), a C
# compiler and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SUPPLY := .venv-supply
DBT := .venv-dbt
PIP := -m pip install --quiet --disable-pip-version-check

# Some environments forbid bytecode (PYTHONDONTWRITEBYTECODE=1). Without it every process
# of the tests would compile pandas and the like anew: 9 seconds instead of 3.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help dbt demo docs test test-all quick checked sanitized check lint types imports words unit plain format bench bench-reference bench-best bench-models bench-statistics bench-spark fuzz experiments mutants peers pictures lock sbom licences audit versions clean

# The six that matter; CONTRIBUTING.md says where the others are explained.
help:
	@echo "make demo     anonymize a generated table and look at the result"
	@echo "make quick    the tests of the edit loop (a minute)"
	@echo "make test     lint, types, import rules, all tests"
	@echo "make check    lint, types, import rules, words only"
	@echo "make format   let ruff format and fix the code"
	@echo "make docs     build the docs site: out/site/index.html"
	@echo
	@echo "Longer tests, benchmarks, releases of the package: see CONTRIBUTING.md."

# A stamp is newer than what it was made of when the environment is as that asks.
define environment
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "core-mondrian needs Python 3.11 or newer; try: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@test -x $(1)/bin/python || $(PYTHON) -m venv $(1)
	@echo "installing $(2) into $(1)"
endef

# Modules that are compiled have a .pxd beside them; make builds them anew when they change.
COMPILED := setup.py $(shell find src -name '*.pxd')
COMPILED += $(wildcard $(patsubst %.pxd,%.py,$(filter %.pxd,$(COMPILED))))

$(VENV)/stamp-run: pyproject.toml $(COMPILED)
	$(call environment,$(VENV),core-mondrian)
	@$(BIN)/python $(PIP) --editable '.[report]'
	@touch $@

# The locked versions, each checked against its hashes: pip has nothing to resolve.
LOCKED := --no-compile --no-deps --require-hashes --requirement

$(VENV)/stamp-dev: pyproject.toml requirements/dev.lock
	$(call environment,$(VENV),core-mondrian and the development tools)
	@$(BIN)/python $(PIP) $(LOCKED) requirements/dev.lock
	@CORE_MONDRIAN_BUILD=later $(BIN)/python $(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/stamp-compiled: $(COMPILED) | $(VENV)/stamp-dev
	@echo "compiling the engine"
	@$(BIN)/python setup.py --quiet build_ext --inplace
	@touch $(VENV)/stamp-run $@

$(SUPPLY)/stamp: requirements/supply.lock
	$(call environment,$(SUPPLY),the supply chain tools)
	@$(SUPPLY)/bin/python $(PIP) $(LOCKED) requirements/supply.lock
	@touch $@

# dbt and its packages, which nothing else imports; core-mondrian is that of this folder.
$(DBT)/stamp: requirements/dbt.lock
	$(call environment,$(DBT),dbt)
	@$(DBT)/bin/python $(PIP) $(LOCKED) requirements/dbt.lock
	@touch $@

dbt: $(VENV)/stamp-compiled $(DBT)/stamp
	@$(BIN)/python -m pytest --quiet tests/integration/test_dbt.py

demo: $(VENV)/stamp-run
	@$(BIN)/core-mondrian demo

# Any warning is an error. The variable silences an advertisement of the theme.
docs: $(VENV)/stamp-compiled
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "wrote out/site/index.html"

# The checks take one core each: side by side with the tests.
test: $(VENV)/stamp-compiled
	@$(MAKE) --no-print-directory --jobs 2 check unit
	@$(MAKE) --no-print-directory plain

# ALL=--all: with those that take long.
test-all:
	@$(MAKE) test ALL=--all

check: lint types imports words

lint: $(VENV)/stamp-dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(VENV)/stamp-dev
	@$(BIN)/mypy

imports: $(VENV)/stamp-dev
	@$(BIN)/lint-imports

# Words and phrases that were given up come back neither in names nor in prose.
words: $(VENV)/stamp-dev
	@$(BIN)/python -m pytest tests/architecture/test_words.py

unit: $(VENV)/stamp-compiled
	@$(BIN)/python -m pytest --numprocesses auto $(ALL)

# The same engine as plain Python: what they compute must not depend on the compiler.
plain: $(VENV)/stamp-compiled
	@CORE_MONDRIAN_PLAIN=1 $(BIN)/python -m pytest --numprocesses auto $(ALL) tests/golden tests/unit/engine tests/property

quick: $(VENV)/stamp-compiled
	@$(BIN)/python -m pytest --numprocesses auto tests/unit tests/golden -m 'not slow and not long'

# Builds of their own, beside the usual one; PYTHONPATH puts them before it.
UNSAFE := tests/unit/engine tests/unit/encoding tests/golden tests/property tests/integration/test_fuzz.py
checked: $(VENV)/stamp-compiled
	@CORE_MONDRIAN_BUILD=checked $(BIN)/python setup.py --quiet build --build-base build/checked --build-lib out/checked
	@PYTHONPATH=out/checked $(BIN)/python -m pytest --numprocesses auto $(ALL) $(UNSAFE)

sanitized: $(VENV)/stamp-compiled
	@CORE_MONDRIAN_BUILD=sanitized $(BIN)/python setup.py --quiet build --build-base build/sanitized --build-lib out/sanitized
	@PYTHONPATH=out/sanitized LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc \
	  $(BIN)/python -m pytest --numprocesses auto $(ALL) $(UNSAFE)

format: $(VENV)/stamp-dev
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(VENV)/stamp-compiled
	@$(BIN)/python -m benchmarks.stages

bench-reference: $(VENV)/stamp-compiled
	@$(BIN)/python -m benchmarks.reference

# JUDGED: another judge or other hierarchies, --judge FILE --hierarchies DIR.
# The lines first; then the bars, which fail if one is missed, and the tables.
bench-best: $(VENV)/stamp-compiled
	@mkdir -p out
	@$(BIN)/python -m benchmarks.best $(JUDGED) --every > out/best.jsonl
	@$(BIN)/python -m benchmarks.best --lines out/best.jsonl --check --markdown

bench-models: $(VENV)/stamp-compiled
	@mkdir -p out
	@$(BIN)/python -m benchmarks.models $(JUDGED) > out/models.jsonl
	@$(BIN)/python -m benchmarks.models --lines out/models.jsonl --check --markdown

bench-statistics: $(VENV)/stamp-compiled
	@mkdir -p out
	@$(BIN)/python -m benchmarks.statistics > out/statistics.jsonl
	@$(BIN)/python -m benchmarks.statistics --lines out/statistics.jsonl --markdown

bench-spark: $(VENV)/stamp-compiled
	@mkdir -p out
	@$(BIN)/python -m benchmarks.spark > out/spark.jsonl
	@$(BIN)/python -m benchmarks.spark --lines out/spark.jsonl --markdown

# With atheris, which has wheels for Linux only, also bytes into the readers, guided by coverage.
$(VENV)/stamp-fuzz: $(VENV)/stamp-dev
	@$(BIN)/python $(PIP) --no-build-isolation --editable '.[fuzz]' && touch $@ || \
	  echo "atheris cannot be installed here: the readers will be left out"

TABLES ?= 20000
COMMANDS ?= 500
SECONDS ?= 60
fuzz: $(VENV)/stamp-fuzz
	@$(BIN)/python -m benchmarks.fuzz tables --tables $(TABLES)
	@$(BIN)/python -m benchmarks.fuzz commands --runs $(COMMANDS)
	@$(BIN)/python -m benchmarks.fuzz readers --seconds $(SECONDS)

# Each of the others gets an environment of its own, .venv-<name>. PEERS: more options,
# such as --sets 4 6 8 numeric, --rows 1000000, --hierarchies DIR, --judge FILE.
peers: $(VENV)/stamp-compiled
	@mkdir -p out
	@$(BIN)/python -m benchmarks.peers --hostile $(PEERS) > out/peers.jsonl
	@$(BIN)/python -m benchmarks.peers --lines out/peers.jsonl --markdown \
	  $(if $(UPDATE),--update README.md docs/peers.md)

# UPDATE=1 also replaces docs/experiments.md and its pictures; it needs a full run, and
# trains CTGAN for so many epochs (8 s each on one core), unless out/ctgan has the model.
EPOCHS ?= 80
experiments: $(VENV)/stamp-compiled
	@$(BIN)/python -m experiments $(if $(QUICK),--quick) $(if $(FIGURES),--figures $(FIGURES)) \
	  $(if $(TABLE),--table $(TABLE)) $(if $(UPDATE),--synthesizer both --epochs $(EPOCHS) --docs docs)

# FILES: only these modules. UPDATE=1 also replaces the tables of docs/mutants.md.
mutants: $(VENV)/stamp-compiled
	@mkdir -p out
	@$(BIN)/python -m benchmarks.mutants $(if $(FILES),--files $(FILES)) > out/mutants.jsonl
	@$(BIN)/python -m benchmarks.mutants --lines out/mutants.jsonl --check --markdown \
	  $(if $(UPDATE),--update docs/mutants.md)

pictures: $(VENV)/stamp-compiled
	@$(BIN)/python -m benchmarks.paintings
	@$(BIN)/python -m benchmarks.report_picture

# One lock for all supported Pythons and platforms. Versions stay unless UPGRADE=1.
COMPILE = $(SUPPLY)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
  --no-annotate --custom-compile-command 'make lock' $(if $(UPGRADE),--upgrade)

lock: $(SUPPLY)/stamp
	@$(COMPILE) --extra dev pyproject.toml --output-file requirements/dev.lock
	@$(COMPILE) requirements/supply.in --output-file requirements/supply.lock
	@$(COMPILE) requirements/dbt.in --output-file requirements/dbt.lock

sbom: $(VENV)/stamp-compiled $(SUPPLY)/stamp
	@mkdir -p out
	@env -u SOURCE_DATE_EPOCH $(SUPPLY)/bin/cyclonedx-py environment --output-reproducible --mc-type library \
	  --pyproject pyproject.toml --output-file out/environment.cdx.json $(BIN)/python
	@$(BIN)/python -m supply.sbom out/environment.cdx.json out/sbom.cdx.json
	@$(SUPPLY)/bin/python supply/validate.py out/sbom.cdx.json

licences: $(VENV)/stamp-compiled
	@$(BIN)/python -m supply.licences

audit: $(VENV)/stamp-dev $(SUPPLY)/stamp
	@$(BIN)/python -m supply.audit $(SUPPLY)/bin/pip-audit

versions: $(VENV)/stamp-dev $(SUPPLY)/stamp
	@$(BIN)/python -m supply.versions $(SUPPLY)/bin/uv $(if $(ONLY),--only $(ONLY))

clean:
	rm -rf $(VENV) .venv-* .mypy_cache .ruff_cache .pytest_cache .hypothesis build out
	find src -name '*.so' -delete
	find . -name __pycache__ -prune -exec rm -rf {} +
