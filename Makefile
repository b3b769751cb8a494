# Two commands matter: `make demo` and `make test`. Both set up what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1

.PHONY: demo test test-slow test-oldest bench format clean

# Interrupted, it goes on where it was; a second time it has nothing left to run.
demo: $(VENV)/.core
	mkdir -p out
	$(BIN)/periodic-gp run demo --store out/demo.sqlite --baseline gp-ucb
	$(BIN)/periodic-gp plot out/demo.png --store out/demo.sqlite
	$(BIN)/periodic-gp leaderboard build --store out/demo.sqlite --out out/demo.html

test: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest

# What takes minutes: the posterior after a million steps.
test-slow: $(VENV)/.dev
	$(BIN)/python -m pytest -m slow

# The worlds on the oldest Gymnasium we promise, in an environment of its own.
test-oldest:
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check \
		-c constraints.txt -e ".[dev,rl]" "gymnasium==1.0.0"
	.venv-oldest/bin/python -m pytest tests/test_envs periodic_envs

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/envs.py
	$(BIN)/python benchmarks/gp_step.py
	$(BIN)/python benchmarks/sweep.py
	$(BIN)/python benchmarks/rl.py
	$(BIN)/python benchmarks/page.py
	$(BIN)/python benchmarks/zoo.py

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .venv-oldest build dist *.egg-info

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) -e .
	touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) -e ".[dev,rl]"
	touch $@ $(VENV)/.core
