# Three commands matter: `make demo`, `make check` while you work, and `make test` before you push.
# All of them set up what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# Pip is quiet, so a line every three seconds says that it is still at work, and for how long.
comma := ,
define installing
	@echo "Installing $(1) into $(VENV): some minutes the first time"; \
	$(INSTALL) $(2) & pid=$$!; seconds=0; \
	while kill -0 $$pid 2>/dev/null; do sleep 1; seconds=$$((seconds + 1)); \
	    [ $$((seconds % 3)) -ne 0 ] || echo "  still installing, $$seconds s"; done; \
	wait $$pid
endef
PYTEST = $(BIN)/python -m pytest -n auto
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1
# Tests start hundreds of processes; without compiled files each would compile all of the code again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo docs study studies check test test-all lint test-lowest test-newest coverage mutation dist peers \
	peers-light bench format clean

# Interrupted, it goes on where it was; a second time it has nothing left to run.
demo: $(VENV)/.core
	mkdir -p out
	$(BIN)/periodic-gp run demo --store out/demo.sqlite --baseline gp-ucb
	$(BIN)/periodic-gp plot out/demo.png --store out/demo.sqlite
	$(BIN)/periodic-gp leaderboard build --store out/demo.sqlite --out out/demo.html

# The documentation site, offline, with warnings as errors, into out/site; then its links, the code of its
# pages, and ten of them in a browser. Under three minutes on two cores; later, only what has changed.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -b html -W --keep-going -j auto docs out/site
	PERIODIC_GP_REQUIRE_SITE=1 $(PYTEST) -m '' tests/test_site
	@words=$$(cat $$(git ls-files 'docs/*.md') README.md CONTRIBUTING.md | wc -w); echo "$$words words of documents (at most 45000)"; \
	[ $$words -le 45000 ]

# Run what is missing for the page of a study and write its data: `make study NAME=zoo`. Finished runs stay in
# out/studies. Then commit studies/data.
study: $(VENV)/.dev
	@test -n "$(NAME)" || { echo "name the study: make study NAME=zoo"; exit 2; }
	$(BIN)/python -m studies.run $(NAME)

studies: $(VENV)/.dev
	for name in paper zoo flagship rl peers shift; do $(BIN)/python -m studies.run $$name || exit 1; done

# Style, types and the quickest tests, in less than a minute on two cores (more on the first run of mypy).
QUICK := tests/test_architecture.py tests/test_documents.py tests/test_repository.py \
	tests/test_agents/test_registry.py tests/test_agents/test_saved_agents.py \
	tests/test_agents/test_kernels.py tests/test_agents/test_arms.py \
	tests/test_envs/test_arguments.py tests/test_envs/test_any_process.py \
	tests/test_evaluation/test_tables.py tests/test_evaluation/test_statistics.py \
	tests/test_evaluation/test_plots.py

check: lint
	$(PYTEST) $(QUICK)

# All everyday tests, a process for every core: before each push.
test: lint
	$(PYTEST)

# The nightly tests as well (attacks, kills, fuzz, Dask, studies, browser, recipes), the site and the smallest peers.
test-all: docs lint
	$(PYTEST) -m ''
	$(MAKE) peers-light

# Words that the packages, studies and documents avoid; the last check of `lint` finds them.
AVOIDED := whoever|nobody|somebody|anew|lest|begun|the like|what came of it

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/repo-review . --show err
	$(BIN)/codespell
	$(BIN)/zizmor --offline --quiet .github
	@! git grep -InwiE '$(AVOIDED)' -- periodic_envs agents evaluation periodic_decisions studies docs examples '*.md' \
	    || { echo "replace the words above by standard technical English (AVOIDED in the Makefile)"; exit 1; }

# The lowest versions that pyproject.toml promises, and the newest that there are, of everything, torch
# included (some GB): the quick tests, the worlds, the commands and RL, in environments of their own.
# Old libraries on new ones warn of their own age: that is theirs to mend.
EXTRAS := dev,rl
VERSIONED := $(QUICK) tests/test_envs periodic_envs tests/test_agents/test_rl.py \
	tests/test_evaluation/test_cli.py tests/test_evaluation/test_page.py
NEW_VENV = $(PYTHON) -m venv $@ && $@/bin/python -m pip install --quiet --upgrade pip

test-lowest: .venv-lowest
	.venv-lowest/bin/python -m pytest -n auto -W ignore::DeprecationWarning $(VERSIONED)

test-newest: .venv-newest
	.venv-newest/bin/python -m pytest -n auto $(VERSIONED)

.venv-lowest: pyproject.toml tests/lowest.py
	rm -rf $@ && $(NEW_VENV) packaging "tomli; python_version < '3.11'"
	$@/bin/python tests/lowest.py $(subst $(comma), ,$(EXTRAS)) > $@/lowest.txt
	$@/bin/python -m pip install --quiet -c $@/lowest.txt -e ".[$(EXTRAS)]"
	touch $@

.venv-newest: pyproject.toml
	rm -rf $@ && $(NEW_VENV)
	$@/bin/python -m pip install --quiet --upgrade --upgrade-strategy eager -e ".[$(EXTRAS)]"
	touch $@

# Coverage of all tests: figures on the screen, pages in out/coverage. Some 40 minutes.
coverage: $(VENV)/.dev
	$(BIN)/coverage erase
	$(PYTEST) -m '' --cov --cov-report=term --cov-report=html:out/coverage

# Small faults put into the posteriors and the statistics one by one: do tests see them? 25 minutes.
mutation: $(VENV)/.dev
	$(BIN)/python -m tests.mutation

# Sdist and wheel for PyPI, with a check of their metadata and files.
dist: | $(VENV)/bin/python
	rm -rf dist build
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build twine
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python tests/distributions.py dist

# Bandits of other libraries, installed into .venv as anybody's package would be: their tests, then
# the protocol that puts them beside ours. Some 40 minutes of one core; interrupted, it goes on.
peers: $(VENV)/.dev
	$(INSTALL) -e "examples/peers[all,test]"
	$(PYTEST) examples/peers/tests
	mkdir -p out
	$(BIN)/periodic-gp run peers --store out/peers.sqlite --baseline auto-gp-ucb

# The smallest of those libraries, which CI insists on, and our agents beside other people's code of the
# same methods: less than a minute.
LIGHT := river,mabwiser,pymab,smpybandits,wdbo_criterion
peers-light: $(VENV)/.dev
	$(INSTALL) -e "examples/peers[light,test]"
	PERIODIC_GP_REQUIRE_PEERS=$(LIGHT) $(PYTEST) examples/peers/tests
	PERIODIC_GP_REQUIRE_PEERS=$(LIGHT) $(PYTEST) tests/test_agreement -k "agrees or authors_relevance"

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/start.py
	$(BIN)/python benchmarks/envs.py
	$(BIN)/python benchmarks/gp_step.py
	$(BIN)/python benchmarks/decisions.py
	$(BIN)/python benchmarks/sweep.py
	$(BIN)/python benchmarks/rl.py
	$(BIN)/python benchmarks/looking.py
	$(BIN)/python benchmarks/page.py
	$(BIN)/python benchmarks/zoo.py

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .venv-lowest .venv-newest build dist *.egg-info

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(call installing,periodic-gp and what it needs,-e ".[flights]")
	touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(call installing,periodic-gp and all that its tests need,-e ".[dev$(comma)rl]")
	touch $@ $(VENV)/.core

$(VENV)/.docs: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(call installing,periodic-gp and all that its site needs,-e ".[dev$(comma)rl$(comma)docs]")
	touch $@ $(VENV)/.dev $(VENV)/.core
