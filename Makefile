# Everything a developer runs, one word each. `make help` lists them.
#
# All targets share one cargo profile (release) and one target directory, so every dependency is compiled once: the tests,
# the benchmarks and the Python module reuse it.

PYTHON ?= python3
VENV ?= .venv
DEMO ?= demo
PAIRS ?= 1000000
QUERIES ?= 100000
SEED ?= 1
SERVER ?= 127.0.0.1:8182
export CARGO_TARGET_DIR ?= $(CURDIR)/target
export PIP_DISABLE_PIP_VERSION_CHECK = 1

BIN = $(VENV)/bin
say = @printf '\n==> %s\n' "$(1)"

.PHONY: help demo cluster test test-rust test-python trials install lint doc bench fuzz conformance equivalence cluster-judges crash damage wheel web web-dev
.DEFAULT_GOAL := help

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | column -t -s '|' 2>/dev/null \
	  || grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST)

demo: install ## build, install, get the air-routes data, load it and query it
	$(call say,air-routes: fetch · convert · load · query)
	@$(BIN)/python examples/air_routes/demo.py $(DEMO)

cluster: CLUSTER = 1
cluster: install ## four nodes under Ray, three brokers and an S3 server on this machine: load, ask, kill processes, count, restore (Linux; needs Java and Maven)
	@$(BIN)/python .ci/extras.py demo | xargs $(BIN)/python -m pip install -q
	@$(BIN)/python examples/cluster/demo.py --replicas 2

test: test-rust test-python ## every test: Rust, Python, examples, and Gremlin conformance if Maven is there
	$(call say,Gremlin conformance (needs Maven; skipped with a word where there is none))
	cargo run --release -q --bin conformance -- --if-available --check-docs docs/gremlin.md
	$(call say,the same over a graph that is far away and fails at times)
	cargo run --release -q --bin conformance -- --if-available --store oracle
	$(call say,the same over toy graphs in files)
	cargo run --release -q --bin conformance -- --if-available --store lake
	$(call say,the same over three shards)
	cargo run --release -q --bin conformance -- --if-available --store shards
	$(call say,the same through a server)
	cargo run --release -q --bin conformance -- --if-available --store wire
	$(call say,the same as bytecode)
	cargo run --release -q --bin conformance -- --if-available --store bytecode
	$(call say,all tests passed)

test-rust:
	$(call say,Rust tests (the first build compiles about 170 crates: some 10 minutes on 2 cores))
	cargo test --release --workspace --config 'target."cfg(unix)".runner=["env", "RUST_MIN_STACK=262144"]'

test-python: CLUSTER = 1
test-python: install $(VENV)/.test-tools
	$(call say,Python tests: API · doctests · type stubs · examples)
	$(BIN)/python -m pytest

trials: install $(VENV)/.test-tools ## what analysts, application developers and data engineers try first
	$(BIN)/python -m pytest -v python/tests/trials

install: $(VENV)/.build-tools ## build the Python package and the `mangrove` command into .venv (CLUSTER=1: with a client for Kafka)
	$(call say,building the Python package into $(VENV) (the first build takes some minutes))
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release $(if $(CLUSTER),--features cluster)

$(VENV)/.build-tools: pyproject.toml
	$(call say,virtual environment $(VENV) and the build tool maturin)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or newer is needed; name one with make PYTHON=…")'
	@command -v cargo >/dev/null || { echo "cargo is not on PATH: install Rust first"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q 'maturin>=1.9,<2'
	@touch $@

$(VENV)/.test-tools: pyproject.toml $(VENV)/.build-tools
	$(call say,libraries the Python tests use (pyarrow, pandas, polars, networkx, gremlinpython …))
	$(BIN)/python .ci/extras.py test | xargs $(BIN)/python -m pip install -q
	@touch $@

lint: ## formatting, clippy, dependency directions, licences, long sentences
	$(call say,rustfmt)
	cargo fmt --all --check
	$(call say,clippy)
	cargo clippy --release --workspace --all-targets -- -D warnings
	$(call say,dependency directions and licences)
	$(PYTHON) .ci/dependencies.py
	$(call say,floors inside crates, names of types)
	$(PYTHON) .ci/rooms.py
	$(call say,the length of sentences in the documentation)
	$(PYTHON) .ci/prose.py

doc: ## Rust documentation, warnings as errors
	RUSTDOCFLAGS='-D warnings' cargo doc --release --no-deps --workspace

bench: CLUSTER = 1
bench: install ## Mangrove beside other engines on this machine: RMAT, Grasper's queries, LDBC's reads, TAO's operations, updates over segments, open files, algorithms, layouts, path queries, servers, a graph on nodes (left out without Java)
	cargo bench -p mangrove-testkit --bench elements
	$(BIN)/python benches/compare/run.py --ablate
	$(BIN)/python benches/lake/run.py
	$(BIN)/python benches/analytics/run.py
	$(BIN)/python -m pip install -q -r benches/layout/requirements.txt
	$(BIN)/python benches/layout/run.py $(if $(GRAPHS),--edges $(GRAPHS)) $(if $(SNB),--snb $(SNB))
	$(if $(GRAPHS),$(BIN)/python benches/layout/evolve.py --edges $(GRAPHS))
	$(if $(GRAPHS),$(BIN)/python benches/layout/cold.py --edges $(firstword $(wildcard $(GRAPHS)/facebook-cornell5.csv.gz $(GRAPHS)/*.csv.gz)))
	$(BIN)/python -m pip install -q -r benches/paths/requirements.txt
	$(BIN)/python benches/paths/run.py
	$(BIN)/python -m pip install -q neo4j
	$(BIN)/python benches/serve/run.py
	$(BIN)/python benches/cluster/run.py --suite work,tao,is,analytics,delay
	$(BIN)/python benches/compare/fragments.py --plot benches/compare/.cache/fragments.svg

fuzz: ## fuzz every target for FUZZ_SECONDS (60); needs a nightly Rust and cargo-fuzz
	@.ci/fuzz $(FUZZ_SECONDS)

conformance: install ## TinkerPop's scenarios against the expected-failures list (needs Maven); GraphAr's own library on our files, and back
	cargo run --release --bin conformance -- --check-docs docs/gremlin.md
	$(BIN)/python -m pip install -q pyarrow
	$(BIN)/python conformance/graphar.py

equivalence: ## random queries with the optimiser, without it and one traverser at a time: PAIRS (1000000), SEED (1)
	MANGROVE_EQUIVALENCE_PAIRS=$(PAIRS) MANGROVE_EQUIVALENCE_SEED=$(SEED) \
	  cargo test --release --workspace --test equivalence -- --nocapture

cluster-judges: CLUSTER = 1
cluster-judges: install ## a graph on nodes against TinkerPop's scenarios (needs Java and Maven), an embedded database and the oracle: QUERIES (100000), SEED (1)
	$(call say,TinkerPop's scenarios over three nodes)
	$(BIN)/python conformance/nodes.py
	$(call say,random queries beside an embedded database)
	MANGROVE_CASES=$(QUERIES) MANGROVE_SEED=$(SEED) \
	  cargo test --release --workspace --test equivalence_nodes -- --nocapture
	$(call say,random writes beside the oracle)
	MANGROVE_CASES=100 MANGROVE_SEED=$(SEED) cargo test --release --workspace --test nodes -- --nocapture every_number

crash: ## kill a writer 1,000 times beside readers; no acknowledged commit may be lost
	cargo test --release -p mangrove-testkit --test crash -- --ignored

damage: ## damage a database 10,000 times; it must be refused, or be whole
	cargo test --release -p mangrove-testkit --test damage -- --ignored

web: ## check and build the explorer into crates/server/explorer (needs Node and npm)
	cd web && npm ci && npm run build

web-dev: ## serve the explorer while you change it, over a running `mangrove serve`: SERVER (127.0.0.1:8182)
	cd web && npm ci && npm run dev -- --server $(SERVER)

wheel: $(VENV)/.build-tools ## a wheel for distribution, in target/wheels
	$(BIN)/maturin build --profile dist --features cluster
