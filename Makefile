# `make demo` and `make test` are all a newcomer needs; `make help` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
DEMO_HOME := .demo/home
AGAIN := $(MAKE) --no-print-directory
export ASK
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYTHONDONTWRITEBYTECODE :=  # else each worker of the tests compiles all of them anew

.PHONY: help setup demo check test test-clients prove bench soak fuzz mutate lock format clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

# ------------------------------------------------------------------ environment

$(VENV)/made.stamp:
	@docs/tools/make-venv "$(PYTHON)" "$(VENV)"
	touch $@

$(VENV)/runtime.stamp: requirements.lock pyproject.toml | $(VENV)/made.stamp
	@echo "installing the pinned packages …"
	$(PY) -m pip install -q --require-hashes -r requirements.lock
	$(PY) -m pip install -q --no-deps --no-build-isolation -e .
	docs/tools/need-debian libseccomp2 'ldconfig -p | grep -q libseccomp.so.2'
	touch $@

$(VENV)/dev.stamp: requirements-dev.lock $(VENV)/runtime.stamp
	@echo "installing the pinned test packages …"
	$(PY) -m pip install -q --require-hashes -r requirements-dev.lock
	docs/tools/need-debian chromium 'command -v chromium'
	touch $@

setup: $(VENV)/dev.stamp  ## make .venv with all that development and tests need

# ------------------------------------------------------------------ the product

demo: $(VENV)/runtime.stamp  ## a fictional company, ready to ask; with ASK="…" one answer and out
	@$(PY) -m gateway demo --home $(DEMO_HOME) --models-from .demo/models $${ASK:+--ask "$$ASK"}

# ------------------------------------------------------------------ checks

check: $(VENV)/dev.stamp  ## format, lint, imports, types
	@$(VENV)/bin/ruff format --check -q .
	$(VENV)/bin/ruff check -q .
	$(VENV)/bin/lint-imports --no-cache > $(VENV)/imports.log || { cat $(VENV)/imports.log; exit 1; }
	$(VENV)/bin/mypy

# While the types are checked on one core, the other builds the model and compiles the tests.
test: $(VENV)/dev.stamp  ## check, and every test, the long proofs as a sample
	@trap wait EXIT
	{ $(PY) -m gateway model install multilingual-e5-small --models .demo/models
	  $(VENV)/bin/pytest -q --collect-only > $(VENV)/collected.log || { cat $(VENV)/collected.log; exit 1; }
	} & preparing=$$!
	$(AGAIN) check
	wait $$preparing
	$(VENV)/bin/pytest -q -n 3 --dist worksteal

# Each client has a venv of its own: what they need would not fit together.
test-clients: $(VENV)/dev.stamp  ## other people's clients, unchanged, against the gateway
	@[ -e $(VENV)/clients/azure/made.stamp ] || { "$(PYTHON)" -m venv $(VENV)/clients/azure
	  timeout 240 $(VENV)/clients/azure/bin/pip install -q azure-search-documents==11.7.0b1 aiohttp && touch $(VENV)/clients/azure/made.stamp
	} || echo "azure-search-documents could not be installed: its test is skipped"
	[ -e $(VENV)/clients/cartesia/made.stamp ] || { "$(PYTHON)" -m venv $(VENV)/clients/cartesia
	  timeout 240 $(VENV)/clients/cartesia/bin/pip install -q cartesia-line==0.2.19 && touch $(VENV)/clients/cartesia/made.stamp
	} || echo "cartesia-line could not be installed: its test is skipped"
	[ -e $(VENV)/clients/mcp/made.stamp ] || { timeout 240 npm install --prefix $(VENV)/clients/mcp --silent --no-audit --no-fund \
	  @modelcontextprotocol/conformance@0.1.16 node@22.23.3 && touch $(VENV)/clients/mcp/made.stamp
	} || echo "@modelcontextprotocol/conformance could not be installed: its test is skipped"
	$(VENV)/bin/pytest -q tests/clients

prove: $(VENV)/dev.stamp  ## the long proofs whole
	@SHUTTEN_PROVE=1 $(VENV)/bin/pytest -q -n 2 --dist worksteal --timeout 1800

bench: $(VENV)/dev.stamp  ## measurements, each a ratio to a baseline of the same run
	@for file in embedding webhook turn store scope; do $(PY) -m bench.$$file; done

soak: $(VENV)/dev.stamp  ## 2,000 conversations at once, a slow lane, a flood, and 200 kills over five channels
	@$(PY) -m bench.load --conversations 2000
	SHUTTEN_PROVE=1 $(VENV)/bin/pytest -q --timeout 1800 tests/journeys/test_kills.py -k sweep

fuzz: $(VENV)/dev.stamp  ## odd and hostile input at length: webhooks, sockets, RPC, texts
	@SHUTTEN_PROVE=1 $(VENV)/bin/pytest -q --timeout 1800 tests/faults tests/core tests/surfaces/test_rpc_odd.py tests/surfaces/test_http_api.py

mutate: $(VENV)/dev.stamp  ## mutation tests on the rules that guard permissions and evidence
	@$(PY) -m tests.mutation

format: $(VENV)/dev.stamp  ## format and fix what can be fixed
	@$(VENV)/bin/ruff check -q --fix . ; $(VENV)/bin/ruff format -q .

lock: $(VENV)/dev.stamp  ## resolve pyproject.toml anew into the two lock files
	@docs/tools/make-locks $(VENV)

clean:  ## remove the environment and the demo
	@rm -rf $(VENV) .demo
