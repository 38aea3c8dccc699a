# `make demo` and `make test` need Python 3.11+ and make, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint types unit docs bench clean

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt uv
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet -c constraints.txt -e ".[dev,bench,plot]"
	@touch $(READY)

demo: $(READY)
	$(BIN)/aegis-opt demo --output out

test: lint types unit

lint: $(READY)
	$(BIN)/ruff check aegis_opt solvers tests benchmarks
	$(BIN)/ruff format --check aegis_opt solvers tests benchmarks

types: $(READY)
	$(BIN)/mypy

unit: $(READY)
	$(BIN)/pytest -n 2 --dist worksteal

docs: $(READY)
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet -c constraints.txt -e ".[docs]"
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) build dist site out *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
