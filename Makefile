# Each target makes its own .venv from a clean clone. Python 3.12 or newer; name another with PYTHON=...
SHELL := /bin/sh
PYTHON ?= $(shell for name in python3.12 python3.13 python3.14 python3 python; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null && echo $$name && break; done)
VENV := .venv
PEERS := .venv-peers
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --no-input

# Hundreds of processes are started, which without bytecode take thrice as long to load. It is made of
# what they load: of all that is installed, most is never.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo readme test coverage rest check format lock bench clean

help:
	@echo "make demo    record, replay, grade, edit, grade again: the whole path on real processes"
	@echo "make readme  the same, and then every command of the README"
	@echo "make test    the whole test suite"
	@echo "make coverage  the core's own tests, and how many of its branches they reach"
	@echo "make rest    the other tests"
	@echo "make check   lint, types and import contracts"
	@echo "make bench   the numbers, as ratios against peers in the same run"
	@echo "make lock    resolve the versions in constraints.txt anew"

$(VENV)/.installed: pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "abs-replay needs Python 3.12 or newer: make PYTHON=/path/to/python3.12" >&2; exit 2; }
	@echo "installing into $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --constraint constraints.txt --upgrade pip
	@$(PIP) install --constraint constraints.txt --no-compile --editable '.[record]' --group dev
	@touch $@

demo: $(VENV)/.installed
	@$(BIN)/python -m fixtures.agent.demo

readme: demo
	@$(BIN)/python .ci/readme_commands.py README.md

# The whole suite is `coverage` and `rest`: measuring takes as long again, so only the core's own tests are
# measured. `make test TESTS=...` runs those alone.
ifdef TESTS
test: $(VENV)/.installed
	$(BIN)/python -m pytest -q -n 2 $(TESTS)
else
test: coverage rest
endif

# Every branch is reached; but where examples are drawn anew in each run, one may be missed.
REACHED := 99.9
coverage: $(VENV)/.installed
	$(BIN)/python -m pytest -q -n 2 --cov --cov-report= $$($(BIN)/python .ci/core_tests.py)
	$(BIN)/coverage report --skip-covered --show-missing --precision=1 --fail-under=$(REACHED)

rest: $(VENV)/.installed
	$(BIN)/python -m pytest -q -n 2 $$($(BIN)/python .ci/core_tests.py | sed 's/[^ ][^ ]*/--ignore=&/g')

check: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(VENV)/.installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.installed $(PEERS)
	$(BIN)/python -m benchmarks $(BENCHMARKS)

# What the benchmarks compare with has pins of its own. One that can't be had is said in their output.
$(PEERS): pyproject.toml
	@echo "installing peers into $(PEERS) ..."
	@$(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip --disable-pip-version-check --quiet install --upgrade pip
	@$(PEERS)/bin/python -m pip --disable-pip-version-check --quiet install --group bench || \
		echo "not every peer could be installed" >&2
	@touch $@

lock:
	@rm -rf $(VENV)-lock && $(PYTHON) -m venv $(VENV)-lock
	@$(VENV)-lock/bin/python -m pip --disable-pip-version-check --quiet install --upgrade pip
	@$(VENV)-lock/bin/python -m pip --disable-pip-version-check --quiet install --editable '.[record]' --group dev
	@$(VENV)-lock/bin/python -m pip --disable-pip-version-check freeze --all --exclude-editable > constraints.txt
	@rm -rf $(VENV)-lock && echo "constraints.txt: $$(wc -l < constraints.txt) versions"

clean:
	rm -rf $(VENV) $(VENV)-lock $(PEERS) .mypy_cache .ruff_cache .pytest_cache .hypothesis
