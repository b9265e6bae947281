# Names for commands; what they do is in lab/ (Python).
SHELL := /bin/bash
.DEFAULT_GOAL := help
STACK ?= dsmlp-fall
INSTANCE ?= default
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/gpu-commons
UV_VERSION := 0.13.8
UV := $(CACHE)/uv-$(UV_VERSION)/bin/uv
PY := .venv/bin/python
LAB := $(PY) -m lab --instance $(INSTANCE)
DETAIL := $(if $(V),-v)
# A shell that forbids bytecode would have our modules compiled anew at each of some thousand starts of a test run.
unexport PYTHONDONTWRITEBYTECODE
TIMED = @TIMEFORMAT='[%lR] $(1)'; time

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

up: .venv/synced ## tools, one-machine lab, then `pulumi up` of STACK=dsmlp-fall
	@$(LAB) up --stack $(STACK) $(DETAIL)

preview: .venv/synced ## what `make up` would change in the stack
	@$(LAB) preview --stack $(STACK) $(DETAIL)

down: .venv/synced ## end every server; keeps data
	@$(LAB) down

clean: .venv/synced ## end every server and remove the instance's data
	@$(LAB) clean

status: .venv/synced ## what runs, since when, on which port
	@$(LAB) status

env: .venv/synced ## variables that a bare `pulumi` needs: eval "$(make -s env)"
	@$(LAB) env

tools: .venv/synced ## install the tools that STACK needs, nothing else
	@nice -n 10 $(LAB) tools --stack $(STACK)

check: .venv/checked ## while you work: format, lint, types, import contracts, fast tests
	@$(MAKE) --no-print-directory -j2 static fast # one core reads the code while the others run it

static: .venv/checked
	$(call TIMED,format) $(PY) -m ruff format --check .
	$(call TIMED,lint) $(PY) -m ruff check .
	$(call TIMED,types) $(PY) -m mypy
	$(call TIMED,import contracts) .venv/bin/lint-imports --cache-dir .import_linter_cache

fast: .venv/checked
	$(call TIMED,fast tests) env GPU_COMMONS_TEST_EXAMPLES=10 $(PY) -m pytest -q -n 2 --dist worksteal -m "not lab and not browser and not slow and not soak"

test: .venv/checked ## what CI runs: make check, slower tests, pages in a browser, each stack on the lab
	@$(LAB) test

soak: .venv/checked ## what takes hours: PART=lab|faults|compat|policies|pages|kills|languages, or all
	@$(LAB) soak $(PART)

golden: .venv/synced ## rewrite golden files, for you to read as a diff
	@GPU_COMMONS_GOLDEN=write $(PY) -m pytest -q -m "not lab and not browser"

docs: .venv/synced ## rewrite the generated reference pages
	@$(PY) docs/make.py

tables: .venv/synced ## check the compatibility tables
	@$(PY) -m tools.tables && $(PY) -m tools.aws_tables

# The components of AWS and Docker are checked and tested everywhere; who runs a stack elsewhere needs neither SDK.
.venv/checked: .venv/synced
	@$(UV) sync --frozen --inexact --compile-bytecode --quiet --extra aws --extra docker
	@touch $@

.venv/synced: pyproject.toml uv.lock $(UV)
	@$(UV) sync --frozen --compile-bytecode --quiet
	@touch $@

$(UV):
	@command -v python3 >/dev/null && python3 -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'this needs Python 3.11 or later with venv; as root: apt-get install -y make python3 python3-venv ca-certificates'; exit 1; }
	@python3 -m venv $(CACHE)/uv-$(UV_VERSION)
	@$(CACHE)/uv-$(UV_VERSION)/bin/pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

.PHONY: help up preview down clean status env tools check static fast test soak golden docs tables
