# `make demo` and `make test` need Python 3.11+ and make, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL = VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet -c constraints.txt -e

# The tests start hundreds of processes. Where Python may not keep what it has compiled, each one compiles pandas
# and scipy again, which takes three times as long as to load them.
export PYTHONDONTWRITEBYTECODE :=

DATA ?= data
MINUTES ?= 1
SEED ?= 0
.DEFAULT_GOAL := test
.PHONY: demo test lint types unit spark hostile coverage docs picture bench bench-paper clean

$(VENV)/.base: constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt uv
	@touch $@

$(VENV)/.demo: $(VENV)/.base pyproject.toml
	$(INSTALL) ".[plot]"
	@touch $@

READY := $(VENV)/.ready
$(READY): $(VENV)/.base pyproject.toml
	$(INSTALL) ".[dev,bench,plot,spark,sql]" --group peers
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo
	$(BIN)/aegis-opt demo --output out

# side by side: the unit tests leave gaps on two cores, which the type checker and the Spark cluster fill
test: lint
	$(MAKE) --no-print-directory -j 2 unit types spark

lint: $(READY)
	$(BIN)/ruff check aegis_opt solvers tests benchmarks docs
	$(BIN)/ruff format --check aegis_opt solvers tests benchmarks docs

types: $(READY)
	$(BIN)/mypy
	$(BIN)/mypy --config-file tests/mypy.ini

# two processes that each use two threads for small matrices wait for each other most of the time
unit: $(READY)
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal -m "not spark"

# shown at its end, because its lines would mix with those of `unit`
spark: $(READY)
	@$(BIN)/pytest -m spark > $(VENV)/spark.log 2>&1; code=$$?; cat $(VENV)/spark.log; exit $$code

# make hostile MINUTES=60 SEED=1000
hostile: $(READY)
	$(BIN)/python tests/hostile --minutes $(MINUTES) --seed $(SEED)

# the tests of `unit` and `spark`, with the lines of the library that they run
coverage: $(READY)
	$(BIN)/coverage erase
	$(BIN)/pytest -n 2 --dist worksteal -m "not spark" --cov --cov-report=
	$(BIN)/pytest -m spark --cov --cov-append --cov-report=
	$(BIN)/coverage report --fail-under=95

# docs/ranking.svg, which the README and the front page show
picture: $(READY)
	$(BIN)/python -m docs.picture

bench: $(READY)
	$(BIN)/python -m benchmarks.small --output out/bench
	$(BIN)/aegis-opt report out/bench -o out/bench.html

bench-paper: $(READY)
	$(BIN)/python -m benchmarks.paper --data $(DATA) -o out/paper

docs: $(READY)
	$(INSTALL) ".[docs]"
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) build dist site out *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*
