# Everything a newcomer or the CI needs; each target installs what it needs first.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
ENVIRONMENT := $(VENV)/.installed
OWN_SERVERS := $(addprefix tests/acceptance/test_,$(addsuffix .py,hibernation mcp_conformance rest_description \
	restart restore serve_life serve_start soak_short))
CLIENTS := tests/acceptance/npm/node_modules/.installed
PEERS := bench/npm/node_modules/.installed
SUITE := tests/conformance/node_modules/.installed
MCP_SUITE := tests/mcp_conformance/node_modules/.installed
SUITE_PEERS := tests/conformance/peers/node_modules/.installed

# demo: ONCE=1 runs the scene once and ends; FILE=notes.md starts from a Markdown file of yours.
ONCE ?=
FILE ?=
# test: processes for the unit tests; pytest's own options, e.g. PYTEST_ARGS="-k cursor -x".
JOBS ?= auto
PYTEST_ARGS ?=
# bench and soak: options of theirs, e.g. BENCH_ARGS="--only P1".
BENCH_ARGS ?=

PYTEST := $(BIN)/python -m pytest

.DELETE_ON_ERROR:
.PHONY: help install demo test test-unit test-tiptap test-integration test-multinode test-acceptance test-clients test-servers \
        check format docs bench bench-quick soak conformance lock clean

help: ## what there is
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 26

install: $(ENVIRONMENT) ## the environment alone, in .venv

# The lock has the hash of every file; what is not in it is not installed.
$(ENVIRONMENT): requirements.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index --editable .
	touch $@

# Clients only: no optional parts, no install scripts.
$(CLIENTS): tests/acceptance/npm/package-lock.json
	cd tests/acceptance/npm && npm ci --ignore-scripts --omit=optional
	touch $@

# Hocuspocus stores through better-sqlite3, which is built on the spot where no binary fits.
$(PEERS): bench/npm/package-lock.json
	cd bench/npm && npm ci
	touch $@

$(SUITE): tests/conformance/package-lock.json
	cd tests/conformance && npm ci --ignore-scripts
	touch $@

$(MCP_SUITE): tests/mcp_conformance/package-lock.json
	cd tests/mcp_conformance && npm ci --ignore-scripts
	touch $@

# LevelDB comes with binaries: no scripts are needed.
$(SUITE_PEERS): tests/conformance/peers/package-lock.json
	cd tests/conformance/peers && npm ci --ignore-scripts
	touch $@

demo: $(ENVIRONMENT) $(CLIENTS) ## a person and an agent in one document, in this terminal
	$(BIN)/python -m gateway.demo $(if $(ONCE),--once) $(if $(FILE),--file "$(FILE)")

# The pure ones run beside those with Ray, which wait much, on what these leave of the processors; then
# the two halves of acceptance, which wait most. What runs beside is printed last.
test: $(ENVIRONMENT) $(CLIENTS) $(SUITE) $(MCP_SUITE) ## every test
	@mkdir -p build
	@nice -n 19 $(MAKE) test-unit test-tiptap PYTEST_ARGS="--timeout=900 $(PYTEST_ARGS)" \
		> build/pure.log 2>&1 & pure=$$!; \
	$(MAKE) test-integration test-multinode; ray=$$?; \
	$(MAKE) test-servers > build/servers.log 2>&1 & servers=$$!; \
	$(MAKE) test-clients; clients=$$?; \
	wait $$servers; servers=$$?; wait $$pure; pure=$$?; \
	cat build/servers.log build/pure.log; exit $$((ray | clients | servers | pure))

test-unit: $(ENVIRONMENT) $(CLIENTS) ## the pure parts: no Ray, no disk, no network
	$(PYTEST) tests/unit -n $(JOBS) $(PYTEST_ARGS)

test-tiptap: $(ENVIRONMENT) $(CLIENTS) ## what Tiptap makes of our documents: Node, no server, no Ray
	$(PYTEST) tests/tiptap -n $(JOBS) $(PYTEST_ARGS)

# One Ray at a time: two of them on two cores are slower than one after the other.
test-integration: $(ENVIRONMENT) $(CLIENTS) ## real SQLite, real Ray
	$(PYTEST) tests/integration $(PYTEST_ARGS)

# A process of its own: the cluster of several nodes cannot share a driver with a local Ray.
test-multinode: $(ENVIRONMENT) ## several Ray nodes on this machine
	$(PYTEST) tests/multinode $(PYTEST_ARGS)

test-acceptance: test-clients test-servers ## the whole server, unmodified clients, kill -9

test-clients: $(ENVIRONMENT) $(CLIENTS) $(SUITE) ## of these: clients at one server
	$(PYTEST) tests/acceptance $(addprefix --ignore=,$(OWN_SERVERS)) $(PYTEST_ARGS)

test-servers: $(ENVIRONMENT) $(CLIENTS) $(MCP_SUITE) ## and those that start servers of their own
	$(PYTEST) $(OWN_SERVERS) $(PYTEST_ARGS)

check: $(ENVIRONMENT) ## lint, format, types, the rules of the tree
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(PYTEST) -q tests/unit/test_imports.py

format: $(ENVIRONMENT) ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(ENVIRONMENT) $(CLIENTS) ## the pages that are drawn from code, or recorded
	$(BIN)/python -m actors.life_drawing docs/reference/life-of-an-actor.md
	$(BIN)/python -m tests.acceptance.agent_session docs/tutorial/an-agents-session.md
	$(BIN)/python -m tests.acceptance.review_session docs/tutorial/a-review.md
	$(BIN)/python -m gateway.error_drawing docs/reference/errors.md
	$(BIN)/python -m tests.unit.markdown.test_markdown_page

# What fails is a row of the table; the curves are drawn all the same, and make fails at the end.
bench: $(ENVIRONMENT) $(PEERS) ## docactor and its peers in the same run, and growth curves -> bench/results/latest.*
	$(BIN)/python -m bench $(BENCH_ARGS); measured=$$?; \
	$(if $(BENCH_ARGS),,$(BIN)/python -m bench.growth && $(BIN)/python -m bench.curves &&) exit $$measured

bench-quick: $(ENVIRONMENT) $(PEERS) ## less of the same, in four minutes -> bench/results/quick.*
	$(BIN)/python -m bench --quick $(BENCH_ARGS)

soak: $(ENVIRONMENT) $(CLIENTS) ## the mirror over 10,000 steps; kill -9 under load -> bench/results/soak.json
	DOCACTOR_TEST_LONG=1 $(PYTEST) tests/unit/test_mirror.py tests/unit/test_mirror_walks.py \
		tests/unit/markdown/test_remembered.py --hypothesis-profile=soak --timeout=3600
	DOCACTOR_TEST_LONG=1 $(PYTEST) tests/integration/test_killed_writers.py \
		tests/acceptance/test_typing_and_patching.py tests/acceptance/test_hostile_arguments.py \
		tests/acceptance/test_callers_that_leave.py tests/acceptance/test_rest_description.py \
		tests/acceptance/test_logs.py tests/acceptance/test_reported_access.py
	$(BIN)/python -m bench.soak $(BENCH_ARGS)

conformance: $(ENVIRONMENT) $(PEERS) $(SUITE) $(SUITE_PEERS) ## docactor and three other servers under the same checks -> docs/reference/conformance.md
	node tests/conformance/table.mjs --write docs/reference/conformance.md

# The locker has a throw-away environment: it is no part of what it locks.
lock: ## requirements.lock anew, from pyproject.toml
	$(PYTHON) -m venv build/locker
	build/locker/bin/python -m pip install --quiet --disable-pip-version-check uv==0.13.9
	build/locker/bin/uv pip compile pyproject.toml --group dev --universal --python-version 3.11 \
		--generate-hashes --no-annotate --custom-compile-command "make lock" --quiet --output-file requirements.lock
	rm -rf build/locker

clean: ## everything that make made
	rm -rf $(VENV) build dist tests/acceptance/npm/node_modules bench/npm/node_modules \
		tests/conformance/node_modules tests/conformance/peers/node_modules \
		tests/mcp_conformance/node_modules \
		.mypy_cache .pytest_cache .ruff_cache .hypothesis
