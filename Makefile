# Each target makes .venv and installs the extra or the dependency group it needs; one stamp for each says when that was done.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test coverage lint docs bench house fuzz chaos test-oldest test-thirdparty release-check clean

demo: $(VENV)/.installed-report
	@echo "Answering four questions about bundled data: in under a minute ..."
	@$(BIN)/python -m skstab demo

test: $(VENV)/.group-test
	$(BIN)/python -m pytest -n auto --dist worksteal

# The share of lines that tests reach, in tests that start no further process.
coverage: $(VENV)/.group-test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pytest-cov
	$(BIN)/python -m pytest -n auto --dist worksteal --cov skstab --cov-report term --cov-report html

lint: $(VENV)/.group-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/codespell

docs: $(VENV)/.group-docs
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

bench: $(VENV)/.installed
	$(BIN)/python benchmarks/measures.py
	$(BIN)/python benchmarks/co_selection.py
	$(BIN)/python benchmarks/stability_cv.py
	$(BIN)/python benchmarks/search.py
	$(BIN)/python benchmarks/hybrid_rfe.py
	$(BIN)/python benchmarks/filters.py
	$(BIN)/python benchmarks/stability_selection.py
	$(BIN)/python benchmarks/paths.py
	$(BIN)/python benchmarks/intervals.py --quick
	$(BIN)/python benchmarks/other_data.py --quick
	$(BIN)/python benchmarks/comparison.py --quick
	$(BIN)/python benchmarks/checkpoint.py

# What the package weighs and how dense it is, beside the limits it keeps to.
house: $(VENV)/.installed
	@$(BIN)/python benchmarks/house.py

# Random arguments for everything public: 10 000 calls of each function, 2 000 fits of each estimator.
fuzz: $(VENV)/.group-test
	$(BIN)/python -m tests.fuzz

# 200 studies that are disturbed, by faults, signals and damage: they must end, with the same bits and nothing made twice.
chaos: $(VENV)/.group-test
	$(BIN)/python -m tests.chaos --with-dask

# The oldest versions that pyproject.toml allows, in an environment of their own.
test-oldest:
	$(MAKE) test VENV=.venv-oldest PIN="scikit-learn==1.8.0 numpy==2.0.2 scipy==1.13.1 joblib==1.5.0 pandas==2.2.2"

# Selectors of other packages, in an environment of their own; writes docs/compatibility.md.
test-thirdparty: THIRD := .venv-thirdparty
test-thirdparty:
	$(MAKE) .venv-thirdparty/.installed VENV=.venv-thirdparty PIN="-r tests/thirdparty/requirements.txt"
	# It declares an old version of shap, which does not import with NumPy 2, and works with the newest.
	$(THIRD)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps powershap
	$(THIRD)/bin/python -m pytest -o addopts= -o filterwarnings=default -q tests/thirdparty

# Builds the sdist, and the wheel from it; on every Python at hand the wheel alone must run the README's first example.
release-check: $(VENV)/.group-release
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python .ci/release_check.py dist

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "skstab needs Python 3.11 or newer")'
	@echo "Making a virtual environment in $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	@echo "Installing skstab (scikit-learn, pandas, ...) into $(VENV): a minute or two, once ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . $(PIN)
	@touch $@

$(VENV)/.installed-%: pyproject.toml | $(VENV)/bin/python
	@echo "Installing skstab with the extra '$*' (scikit-learn, pandas, ...) into $(VENV): a minute or two, once ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]' $(PIN)
	@touch $@

# The pip that comes with Python 3.11 does not know dependency groups, so the group is read here.
$(VENV)/.group-%: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["$*"], sep="\n")' \
		> $(VENV)/group-$*.txt
	@echo "Installing skstab and what 'make $*' needs into $(VENV): a few minutes, once ..."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --requirement $(VENV)/group-$*.txt $(PIN)
	@touch $@

clean:
	rm -rf .venv .venv-oldest .venv-thirdparty dist htmlcov .coverage docs/_build docs/auto_examples docs/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis
