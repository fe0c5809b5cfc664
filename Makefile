# Each target makes .venv and installs the extras it needs; a stamp a set of extras says when that was done.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test lint docs bench test-oldest clean

demo: $(VENV)/.installed-report
	$(BIN)/python -m skstab demo

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: $(VENV)/.installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.installed-docs
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

bench: $(VENV)/.installed
	$(BIN)/python benchmarks/measures.py
	$(BIN)/python benchmarks/stability_cv.py
	$(BIN)/python benchmarks/search.py
	$(BIN)/python benchmarks/hybrid_rfe.py
	$(BIN)/python benchmarks/filters.py
	$(BIN)/python benchmarks/stability_selection.py
	$(BIN)/python benchmarks/coverage.py --quick
	$(BIN)/python benchmarks/comparison.py --quick

# The oldest versions that pyproject.toml allows, in an environment of their own.
test-oldest:
	$(MAKE) test VENV=.venv-oldest PIN="scikit-learn==1.8.0 numpy==2.0.2 scipy==1.13.1 joblib==1.5.0 pandas==2.2.3"

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "skstab needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . $(PIN)
	touch $@

$(VENV)/.installed-%: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]' $(PIN)
	touch $@

clean:
	rm -rf .venv .venv-oldest docs/_build docs/auto_examples docs/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis
