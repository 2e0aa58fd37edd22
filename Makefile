# make alone lists the targets.

GO   ?= go
LINT := bin/golangci-lint
WORKFLOWCHECK := bin/workflowcheck
ARGS ?=
FUZZTIME ?= 1m

# Linters that need no analysis of every dependency: temporal-dev has 1,700 of them.
LIGHT := bodyclose,copyloopvar,depguard,errcheck,errorlint,gochecknoinits,ineffassign,intrange,misspell,nolintlint,unconvert,unused

# The two modules are built apart: a workspace would give them one list of versions, with which one does not compile.
export GOWORK := off

.DEFAULT_GOAL := help
.PHONY: help dev build test check lint lint-modules lint-format lint-workflows fmt fuzz bench bin/oncehook bin/temporal-dev

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

dev: bin/oncehook ## Run everything on this machine (flags: make dev ARGS="--data DIR")
	@exec bin/oncehook dev $(ARGS)

build: bin/oncehook bin/temporal-dev ## Build bin/oncehook and bin/temporal-dev

test: build ## Test both modules, with real PostgreSQL and Temporal
	$(GO) test -timeout 8m ./...
	$(GO) test -C temporal-dev -timeout 8m ./...

check: lint test ## What CI runs: lint and test

lint: lint-modules lint-format lint-workflows $(LINT) ## Check modules, format, workflows, code and import rules
	$(LINT) run ./...
	cd temporal-dev && ../$(LINT) run --enable-only $(LIGHT) ./...

fmt: $(LINT) ## Format the code
	$(LINT) fmt

# The fuzzer takes one target of one package at a time.
fuzz: ## Fuzz every parser, FUZZTIME each
	@grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z]+' activities ingress internal providers | \
	while IFS=: read -r file target; do \
		$(GO) test -run '^$$' -fuzz "^$${target#func }$$" -fuzztime $(FUZZTIME) "./$$(dirname "$$file")" || exit 1; \
	done

bench: ## Compare the accept path with its baseline, in one run
	$(GO) test -run '^$$' -bench . -benchtime 1x ./internal/store

lint-modules:
	@if [ -n "$$(git ls-files --others --cached -- go.work '*/go.work')" ]; then echo "go.work must not exist: see ARCHITECTURE.md"; exit 1; fi
	$(GO) mod tidy -diff
	$(GO) -C temporal-dev mod tidy -diff

lint-format:
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not formatted, run make fmt:"; echo "$$unformatted"; exit 1; fi

# After changes of Go this check has been known to find nothing at all, so it must find what is planted for it.
lint-workflows: $(WORKFLOWCHECK)
	$(WORKFLOWCHECK) ./workflows/...
	@found=$$($(WORKFLOWCHECK) ./workflows/testdata/nondeterministic 2>&1); \
	for name in ReadsTheClock RangesOverAMap; do case "$$found" in *"$$name is non-deterministic"*) ;; \
	*) echo "$(WORKFLOWCHECK) no longer finds $$name in workflows/testdata/nondeterministic: $$found"; exit 1 ;; esac; done

bin/oncehook:
	@[ -e $@ ] || echo "building bin/oncehook (a first build takes a few minutes)"
	$(GO) build -o $@ ./cmd/oncehook

# oncehook itself knows whether this one is stale, and how it is built.
bin/temporal-dev: bin/oncehook
	bin/oncehook dev --build-only

# The linter's dependencies must not meet ours, so it has a module of its own.
$(LINT): tools/golangci-lint/go.mod tools/golangci-lint/go.sum
	@echo "building golangci-lint (a first build takes minutes)"
	$(GO) build -C tools/golangci-lint -o ../../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

# Its version of golang.org/x/tools must not meet ours either.
$(WORKFLOWCHECK): tools/workflowcheck/go.mod tools/workflowcheck/go.sum
	$(GO) build -C tools/workflowcheck -o ../../$@ go.temporal.io/sdk/contrib/tools/workflowcheck
