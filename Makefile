# The project's verbs; each calls one real tool. `make help` lists them.
# Needs Python 3.11 or newer, git and make; everything else is installed into .venv from locks/.
# Settings: PYTHON=... the Python to use, WORKERS=... test processes, ARGS=... passed to the tool.

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast setup check fmt lint types arch test-wheel bench lock upgrade clean

VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
ARGS ?=

help:  ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' Makefile | awk -F'|' '{printf "make %-11s %s\n", $$1, $$2}'

demo: $(VENV)/.runtime  ## Set up, mine this repository into a throw-away palace, search it
	@tools/demo.sh $(BIN)/mempal

test: $(VENV)/.dev  ## Set up, run every test
	$(BIN)/pytest -n $(WORKERS) $(ARGS)

test-fast: $(VENV)/.dev  ## Run the tests that start neither Chroma nor a whole command
	$(BIN)/pytest -n $(WORKERS) -m "not chroma" --ignore tests/integration $(ARGS)

setup: $(VENV)/.dev  ## Create .venv with everything a developer needs

check: lint types arch  ## Everything that needs no test run: style, types, architecture

fmt: $(VENV)/.dev  ## Format, and fix what ruff can fix
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

lint: $(VENV)/.dev  ## Check style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev  ## Check types, strictly
	$(BIN)/mypy

arch: $(VENV)/.dev  ## Check which part may import which, sizes, names, documents
	$(BIN)/lint-imports
	$(BIN)/pytest tests/arch $(ARGS)

test-wheel: $(VENV)/.dev  ## Build the wheel, install it elsewhere, use it there
	tools/wheel.sh $(BIN)/python

bench: $(VENV)/.dev  ## Measure mining and searching; prints a table
	$(BIN)/python benchmarks/bench.py $(ARGS)

lock:  ## Write locks/ from pyproject.toml, keeping what is already locked
	tools/lock.sh

upgrade:  ## Write locks/ with the newest versions that pyproject.toml allows
	tools/lock.sh --upgrade

clean:  ## Remove everything that these verbs made
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist build
	find mempal tests tools benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamps, so that a verb installs only when a lock or the project's metadata changed.

$(VENV)/.python:
	@PYTHON="$(PYTHON)" tools/venv.sh $(VENV)
	@touch $@

$(VENV)/.runtime: $(VENV)/.python locks/runtime.txt pyproject.toml
	@tools/install.sh $(BIN)/python locks/runtime.txt
	@touch $@

$(VENV)/.dev: $(VENV)/.python locks/dev.txt pyproject.toml
	@tools/install.sh $(BIN)/python locks/dev.txt
	@touch $(VENV)/.runtime $@
