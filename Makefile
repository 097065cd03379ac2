# Nephos: what a developer types. `make` alone lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help run server build install package test test-optimised walk failover bench bench-smoke lint format docs bootstrap clean

# A toolchain that is installed but not in PATH is found where installers put it.
export PATH := $(PATH):/opt/swift/usr/bin:/usr/local/swift/usr/bin:$(HOME)/.local/share/swiftly/bin

# Arguments for what the target runs: make run ARGS="--in-memory", make test ARGS="--filter Zones", make bench ARGS=quick
ARGS ?=

# Where `make install` puts things; DESTDIR is put before it, for packages.
PREFIX ?= /usr/local
DESTDIR ?=

# Which tables `make bench` fills: records and queries, or sync, client, neighbours, sharing, encryption,
# assets, dashboards, serve or postgresql alone.
TABLES ?= records,queries

# How the server is built for use. The static standard library makes it start faster and run where Swift is not installed.
# Exclusive access is checked when compiling, and when running in debug builds, as which the tests run.
RELEASE_FLAGS ?= -c release --static-swift-stdlib -Xswiftc -enforce-exclusivity=unchecked

# What swift-format reads.
SWIFT_SOURCES = Package.swift Sources Tests $(wildcard Examples)

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1	\2/p' Makefile | expand -t 24

bootstrap: ## check the toolchain, install the Debian packages that are missing
	@scripts/bootstrap

run: server ## build and start the local CloudKit on http://127.0.0.1:8484 (ARGS="--in-memory")
	@exec "$$(swift build $(RELEASE_FLAGS) --show-bin-path)/nephos" dev $(ARGS)

server: bootstrap
	@swift build $(RELEASE_FLAGS) --product nephos

build: server ## build nephos for use, and nephos-keys, which has the commands about an account's keys
	@swift build $(RELEASE_FLAGS) --product nephos-keys

install: build ## install nephos and nephos-keys, the manual page and the completion below PREFIX (default /usr/local)
	@bin="$$(swift build $(RELEASE_FLAGS) --show-bin-path)/nephos" && root="$(DESTDIR)$(PREFIX)" && \
		install -D -m 755 "$$bin" "$$root/bin/nephos" && \
		install -D -m 755 "$$bin-keys" "$$root/bin/nephos-keys" && \
		"$$bin" manual | install -D -m 644 /dev/stdin "$$root/share/man/man1/nephos.1" && \
		"$$bin" completion | install -D -m 644 /dev/stdin "$$root/share/bash-completion/completions/nephos" && \
		printf '%s\n' "$$root/bin/nephos" "$$root/bin/nephos-keys" "$$root/share/man/man1/nephos.1" \
			"$$root/share/bash-completion/completions/nephos"

package: build ## make the Debian package of the server in .build/package, install, start and walk it in a copy of this system
	@server="$$(swift build $(RELEASE_FLAGS) --show-bin-path)/nephos" && \
		package="$$(scripts/package "$$server")" && scripts/start-package "$$package" && echo "$$package"

test: bootstrap ## build everything and run every test (ARGS="--filter Zones")
	@swift build --build-tests
	@scripts/run-tests $(ARGS)

# Optimised code drops what a debug build keeps, the messages of preconditions among it.
OPTIMISED := -c release --scratch-path .build/optimised -Xswiftc -enable-testing

test-optimised: bootstrap ## build the tests optimised and run those of rules that stop the program (ARGS="--filter Trap")
	@swift build --build-tests $(OPTIMISED)
	@scripts/run-tests $(OPTIMISED) $(or $(ARGS),--filter 'Trap|SyncEngineHolder|ShareTests')

# The example of CloudKit JS, in one of the walks, runs beside the Swift program ContactList.
walk: bootstrap ## walk through dashboard, CloudKit JS and sign-in in Chromium and Firefox (SERVER=FILE, else a debug build)
ifndef SERVER
	@swift build --product nephos
	@swift build --product ContactList
endif
	@scripts/walk $(SERVER)

failover: server ## lose PostgreSQL servers under load and look for what was lost (ARGS=quick, ARGS="--minutes 15")
	@scripts/failover --server "$$(swift build $(RELEASE_FLAGS) --show-bin-path)/nephos" $(ARGS)

bench: server ## measure against raw SQLite and PocketBase (ARGS=quick, TABLES=queries, TABLES=sync, client, neighbours, sharing, encryption, assets, dashboards, serve, postgresql)
ifeq ($(TABLES),sync)
	@swift build $(RELEASE_FLAGS) --product sync-client
	@bin="$$(swift build $(RELEASE_FLAGS) --show-bin-path)" && \
		Benchmarks/sync --server "$$bin/nephos" --client "$$bin/sync-client" $(ARGS)
else ifeq ($(TABLES),dashboards)
	@Benchmarks/dashboards --server "$$(swift build $(RELEASE_FLAGS) --show-bin-path)/nephos" $(ARGS)
else ifeq ($(TABLES),assets)
	@Benchmarks/assets --server "$$(swift build $(RELEASE_FLAGS) --show-bin-path)/nephos" $(ARGS)
else ifeq ($(TABLES),client)
	@swift build $(RELEASE_FLAGS) --product native-client
	@bin="$$(swift build $(RELEASE_FLAGS) --show-bin-path)" && \
		Benchmarks/client --server "$$bin/nephos" --client "$$bin/native-client" $(ARGS)
else ifeq ($(TABLES),encryption)
	@swift build $(RELEASE_FLAGS) --product native-client
	@bin="$$(swift build $(RELEASE_FLAGS) --show-bin-path)" && \
		Benchmarks/encryption --server "$$bin/nephos" --client "$$bin/native-client" $(ARGS)
else ifeq ($(TABLES),neighbours)
	@Benchmarks/neighbours --server "$$(swift build $(RELEASE_FLAGS) --show-bin-path)/nephos" $(ARGS)
else ifeq ($(TABLES),postgresql)
	@Benchmarks/postgresql --server "$$(swift build $(RELEASE_FLAGS) --show-bin-path)/nephos" $(ARGS)
else ifeq ($(TABLES),serve)
	@Benchmarks/serve --server "$$(swift build $(RELEASE_FLAGS) --show-bin-path)/nephos" $(ARGS)
else ifeq ($(TABLES),sharing)
	@Benchmarks/sharing --server "$$(swift build $(RELEASE_FLAGS) --show-bin-path)/nephos" $(ARGS)
else
	@Benchmarks/run --server "$$(swift build $(RELEASE_FLAGS) --show-bin-path)/nephos" --tables "$(TABLES)" $(ARGS)
endif

# The clients as they are built for the tests: their figures mean nothing here.
bench-smoke: server ## fill every table of `make bench` with tiny sizes, so that none breaks unseen
	@swift build --product sync-client
	@swift build --product native-client
	@Benchmarks/smoke "$$(swift build $(RELEASE_FLAGS) --show-bin-path)/nephos" "$$(swift build --show-bin-path)"

lint: bootstrap ## check formatting, imports between targets, text, what pages say of packages, and public comments
	@swift format lint --strict --parallel --recursive $(SWIFT_SOURCES)
	@scripts/check-imports --self-test
	@scripts/check-imports
	@scripts/check-cycles --self-test
	@scripts/check-cycles
	@scripts/check-text
	@scripts/check-packages
	@scripts/check-comments --self-test
	@scripts/check-comments

format: bootstrap ## rewrite the sources in the repository's style
	@swift format --in-place --parallel --recursive $(SWIFT_SOURCES)

docs: bootstrap ## build the libraries' reference into .build/docs
	@scripts/build-docs

clean: ## remove everything that was built (data in .nephos stays)
	@rm -rf .build .bench
