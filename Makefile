# Needs GNU make and Go; `interop` also needs Node.js, `check` a C compiler for the race detector.

SHELL     := /bin/sh
GO        ?= go
LINTER    := .build/golangci-lint
BENCHSTAT := .build/benchstat
BASELINE  := internal/bench/testdata/baseline.txt
FUZZTIME  ?= 2m
SOAKTIME  ?= 1m
BENCH     ?= .
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

.PHONY: help check fmt format vet lint test mutations interop node-servers conformance bench bench-baseline bench-parts fuzz soak build cross release release-check clean
.DEFAULT_GOAL := help

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-15s %s\n", $$1, $$2}' Makefile

check: format vet cross lint test ## Everything that a change must pass: format, vet, cross-builds, lint, tests with -race

fmt: $(LINTER) ## Format all Go files
	$(LINTER) fmt

format: $(LINTER) ## Fail if a Go file is not formatted
	$(LINTER) fmt --diff

vet: ## go vet for Linux, Windows and macOS, and of the interop module
	GOOS=linux $(GO) vet ./...
	GOOS=windows $(GO) vet ./...
	GOOS=darwin $(GO) vet ./...
	$(GO) -C interop vet ./...

cross: ## Build the program for macOS and Windows, and throw the result away
	@for platform in darwin/amd64 darwin/arm64 windows/amd64 windows/arm64; do \
		echo "building for $$platform"; \
		GOOS=$${platform%/*} GOARCH=$${platform#*/} $(GO) build -o /dev/null ./cmd/mcpwire || exit 1; \
	done

lint: $(LINTER) ## golangci-lint on both modules
	$(LINTER) run ./...
	cd interop && ../$(LINTER) run --config ../.golangci.yml ./...

test: ## All tests with the race detector, the architecture tests among them
	$(GO) test -race ./...

mutations: ## Break the client in stated ways, and see that the catalogue of hostile servers notices each
	MUTATIONS=1 $(GO) test -count=1 -run BrokenClient ./internal/survival

interop: node-servers ## Tests against servers that others wrote (Node and Go)
	$(GO) -C interop test -race -count=1 .

node-servers: interop/node_modules/.package-lock.json ## Install the Node servers of the interop tests

interop/node_modules/.package-lock.json: interop/package.json interop/package-lock.json
	cd interop && npm ci --ignore-scripts
	@touch $@

# In the folder of the package, so that go test shows the table of results whether or not they are good.
conformance: interop/conformance/node_modules/.package-lock.json ## The official conformance suite against the client
	$(GO) -C interop/conformance test -count=1 -timeout 10m

interop/conformance/node_modules/.package-lock.json: interop/conformance/package.json \
		interop/conformance/package-lock.json
	cd interop/conformance && npm ci --ignore-scripts
	@touch $@

# Fixed settings, so that runs can be compared with each other and with the baseline. In each round mcpwire and the limit
# take turns, so that a machine which slows down for a while slows both. Only a run of all ends with the line "whole: yes".
bench: $(BENCHSTAT) ## Benchmarks beside the limit, and against the baseline, e.g. make bench BENCH=Call
	@echo 'commit: $(shell git describe --always --dirty)' > .build/bench.txt
	$(GO) test -c -o .build/bench.test ./internal/bench
	@for round in 1 2 3 4 5 6; do \
		echo "round $$round of 6"; \
		.build/bench.test -test.run '^$$' -test.bench '$(BENCH)' -test.benchtime 0.2s -test.timeout 5m \
			>> .build/bench.txt || { cat .build/bench.txt; exit 1; }; \
	done
	@test '$(BENCH)' != . || echo 'whole: yes' >> .build/bench.txt
	@awk -f internal/bench/ratios.awk .build/bench.txt
	@test ! -f $(BASELINE) || $(BENCHSTAT) -ignore commit baseline=$(BASELINE) now=.build/bench.txt

bench-baseline: ## Make the last run of the whole of make bench the baseline
	@grep -qs '^whole: yes$$' .build/bench.txt || \
		{ echo 'the last run of make bench was not a whole one: run it without BENCH, to its end' >&2; exit 1; }
	@if grep -q '^commit: .*-dirty$$' .build/bench.txt; then \
		echo 'the last run of make bench was of no commit: commit first, and run it again' >&2; exit 1; fi
	@mkdir -p $(dir $(BASELINE))
	cp .build/bench.txt $(BASELINE)

bench-parts: ## The small benchmarks of single packages, e.g. make bench-parts BENCH=RoundTrip
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem $$($(GO) list ./... | grep -v internal/bench)

fuzz: ## Every fuzz test for FUZZTIME (2m) each
	@grep -rHo --include='*_test.go' --exclude-dir=node_modules '^func Fuzz[A-Za-z0-9_]*' . | \
	while IFS=: read -r file func; do \
		$(GO) test -run '^$$' -fuzz "^$${func#func }\$$" -fuzztime $(FUZZTIME) \
			-fuzzminimizetime 1s "$$(dirname "$$file")" || exit 1; \
	done

# Go's durations may be written one behind the other: ten minutes more than SOAKTIME.
soak: ## Hundreds of lines with faults, kept busy for SOAKTIME (1m)
	SOAKTIME=$(SOAKTIME) $(GO) test -count=1 -v -timeout $(SOAKTIME)10m -run '^TestSoak$$' ./internal/soak

build: ## Build bin/mcpwire
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/mcpwire ./cmd/mcpwire

# The commit is given to the linker: what -buildvcs stamps is missing in a linked work tree, and differs between clones
# with and without tags. Without git, as in an unpacked archive of the sources, there is none.
release: ## Build archives for all PLATFORMS into dist/: the same bytes of a commit on every machine
	@rm -rf dist .build/release && mkdir -p dist .build/release
	@commit=$$(test -e .git && git rev-parse -q --verify HEAD); \
	modified=false; seconds=; stamp=; \
	if test -n "$$commit"; then \
		seconds=$$(git show -s --format=%ct HEAD); \
		stamp=$$(TZ=UTC0 git show -s --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ HEAD); \
		if test -n "$$(git status --porcelain)"; then \
			echo 'warning: files differ from the commit: the release is marked as modified' >&2; modified=true; \
		fi; \
	fi; \
	cli=mcpwire/internal/cli; binaries=; modules=.build/release/modules; \
	echo "std $$($(GO) env GOROOT)" > $$modules; export CGO_ENABLED=0; \
	for platform in $(PLATFORMS); do \
		echo "building for $$platform"; \
		binary=.build/release/$$platform/mcpwire; binaries="$$binaries $$binary"; \
		export GOOS=$${platform%/*} GOARCH=$${platform#*/}; \
		$(GO) build -trimpath -buildvcs=false -o $$binary -ldflags \
			"-s -w -X $$cli.linkedRevision=$$commit -X $$cli.linkedTime=$$stamp -X $$cli.linkedModified=$$modified" \
			./cmd/mcpwire && \
		$(GO) list -deps -f '{{with .Module}}{{.Path}} {{.Dir}}{{end}}' ./cmd/mcpwire >> $$modules || exit 1; \
	done; \
	unset GOOS GOARCH; \
	$(GO) run ./internal/release/pack -out dist -revision "$$commit" -modified=$$modified \
		-time "$${SOURCE_DATE_EPOCH:-$$seconds}" $$binaries < $$modules
	@ls dist

release-check: ## Build one archive twice, in different folders, and compare the bytes
	@rm -rf .build/release-check
	@for clone in one another/folder; do \
		git clone -q . .build/release-check/$$clone && \
		$(MAKE) -C .build/release-check/$$clone release PLATFORMS=linux/amd64 || exit 1; \
	done
	cd .build/release-check && cmp one/dist/SHA256SUMS another/folder/dist/SHA256SUMS
	cd .build/release-check/one/dist && { sha256sum -c SHA256SUMS || shasum -a 256 -c SHA256SUMS; }

clean: ## Remove what was built and installed
	rm -rf bin dist .build interop/node_modules interop/conformance/node_modules

# The linter is pinned by tools/go.mod and built once for each version of that file.
$(LINTER): tools/go.mod tools/go.sum
	$(GO) -C tools build -o ../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

$(BENCHSTAT): tools/go.mod tools/go.sum
	$(GO) -C tools build -o ../$@ golang.org/x/perf/cmd/benchstat
	@touch $@
