# Variables to set on the command line: LLVM_CONFIG (an llvm-config of LLVM 22 other than Debian's), LATHE_MODELS (the folder
# of models for conformance), FUZZTIME, SEED, CASES and SOURCES (of cases; test/fuzz), and those of bench.
FUZZTIME ?= 10s
SEED ?= 1
CASES ?= 0
SOURCES ?=
RECORDS ?=
SEEDS ?= 1
TRIALS ?= 1000
MODEL ?=
TIME ?=
# Networks of tuneproof.
PROOF := resnet18 mobilenet_v2 squeezenet1_1 efficientnet_b0 ../examples/demo/digits.onnx
SWEEP ?=
THREADS ?= 1 2
REPEAT ?= 7
PEER ?=
BATCH ?= 1
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

# How the demo's picture becomes the model's input.
DEMO_FLAGS := --target llvm
DEMO_RUN_FLAGS := --image examples/demo/sample.png --preprocess signed --filter point --labels examples/demo/labels.txt --print-top 5 --print-time

ifdef LLVM_CONFIG
export LLVM_CONFIG
export CGO_CFLAGS := -g -O2 -I$(shell $(LLVM_CONFIG) --includedir)
export CGO_CXXFLAGS := $(CGO_CFLAGS)
export CGO_LDFLAGS := -L$(shell $(LLVM_CONFIG) --libdir) -Wl,-rpath,$(shell $(LLVM_CONFIG) --libdir)
endif
LLVM_BIN := $(if $(LLVM_CONFIG),$(shell $(LLVM_CONFIG) --bindir),/usr/lib/llvm-22/bin)
# The linker of the static build: lld takes seconds where others take longer, but is not required.
FUSE_LD = $(if $(wildcard $(LLVM_BIN)/ld.lld),-fuse-ld=lld)

# What runs packages on devices: no compiler inside, and no C compiler needed to build it for any of them.
RUN_ARCHS := amd64 arm64 riscv64
# Go's linker names a dynamic loader of RISC-V that no distribution has.
RUN_LOADER_riscv64 := -I /lib/ld-linux-riscv64-lp64d.so.1

# Where 'make install' puts things, and which binary: build/lathe is that of 'make release'.
PREFIX ?= /usr/local
DESTDIR ?=
BINARY ?= lathe

.PHONY: help demo test thorough deps build install lint fuzz fuzznets golden deploytest conformance bench sweepdiff benchtable measure tunebench tuneproof prior release lathe-run clean
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: deps build ## compile a small network for this machine and run it on a picture
	@mkdir -p build
	./lathe compile $(DEMO_FLAGS) -o build/demo.tar examples/demo/digits.onnx
	./lathe run $(DEMO_RUN_FLAGS) build/demo.tar

test: deps ## run go vet and all tests that need no models, those that draw samples with few of them (under 10 minutes)
	go vet ./...
	go test -short -timeout 30m ./...

thorough: deps ## the tests that draw samples, with all of them: 'make test' runs the others whole
	go test -timeout 60m $$(grep -rl --include='*_test.go' 'testing[.]Short()' internal test | xargs -n 1 dirname | sort -u | sed 's,^,./,')

deps: ## install LLVM 22 and lld 22 if they are missing (apt)
	@scripts/install-deps.sh

build: ## build ./lathe
	go build -o lathe ./cmd/lathe

install: $(BINARY) ## install lathe, lathe.c and its headers, and completions: PREFIX=/usr/local, DESTDIR=, BINARY=build/lathe
	install -Dm755 $(BINARY) $(DESTDIR)$(PREFIX)/bin/lathe
	$(abspath $(BINARY)) sources -o build/lathe-c
	install -Dm644 -t $(DESTDIR)$(PREFIX)/include build/lathe-c/lathe.h build/lathe-c/lathe.hpp build/lathe-c/lathe_external.h
	install -Dm644 -t $(DESTDIR)$(PREFIX)/share/lathe build/lathe-c/lathe.c
	install -Dm644 -t $(DESTDIR)$(PREFIX)/share/doc/lathe LICENSE CHANGELOG.md
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions $(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	$(abspath $(BINARY)) completion bash >$(DESTDIR)$(PREFIX)/share/bash-completion/completions/lathe
	$(abspath $(BINARY)) completion zsh >$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_lathe
	$(abspath $(BINARY)) completion fish >$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/lathe.fish

lathe:
	$(MAKE) build

lint: ## check formatting, go vet, staticcheck
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt -w these:" $$unformatted >&2; exit 1; fi
	go vet ./...
	go run $(STATICCHECK) ./...

fuzz: ## run every fuzz target for FUZZTIME
	scripts/fuzz.sh $(FUZZTIME)

fuzznets: ## look for faults in random and damaged models: FUZZTIME= or CASES=, SEED=, SOURCES=mutant, PEER=onnxruntime
ifeq ($(PEER),onnxruntime)
	@bench/bench.sh onnxruntime fuzz -time $(FUZZTIME) -seed $(SEED) -cases $(CASES) $(if $(SOURCES),-sources '$(SOURCES)') -findings '$(abspath build/findings)'
else
	@mkdir -p build
	$(if $(filter 0,$(CASES)),LATHE_FUZZ_TIME=$(FUZZTIME)) go test -count 1 -timeout 0 -v -run TestFuzz ./test/fuzz -args -seed $(SEED) -cases $(CASES) -sources '$(SOURCES)' -findings '$(abspath build/findings)'
endif

golden: ## rewrite the golden files (look at the difference before committing it)
	go test $$(go list -f '{{range .TestImports}}{{if eq . "lathe/internal/testkit/golden"}}{{$$.ImportPath}} {{end}}{{end}}{{range .XTestImports}}{{if eq . "lathe/internal/testkit/golden"}}{{$$.ImportPath}} {{end}}{{end}}' ./...) -update

deploytest: ## test every way to deploy with the tools of its users (scripts/install-test-deps.sh installs them)
	LATHE_DEPLOY=1 go test -run Deploy -timeout 60m ./test/deploy/... ./internal/verify ./test/conformance/models

conformance: ## compare with the expected outputs of real models in LATHE_MODELS
	@test -n "$$LATHE_MODELS" || { echo "conformance: set LATHE_MODELS to the folder of models" >&2; exit 1; }
	@test -d "$$LATHE_MODELS" || { echo "conformance: LATHE_MODELS=$$LATHE_MODELS is not a folder" >&2; exit 1; }
	@go test -list Conformance ./... | grep -q '^Test' || { echo "conformance: no test is named so: nothing was compared" >&2; exit 1; }
	go test -run Conformance -timeout 60m ./...
	go -C bench test -run Conformance -timeout 60m ./...

bench: deps ## compare with peers: MODEL= (default: all), THREADS=, BATCH=, REPEAT=, BUSY= (part of a core that a load takes), GAP= (rest before each run: 20ms), PEER=onnxruntime, torch or none; SWEEP=1, a family or a regular expression: single operators
ifneq ($(SWEEP),)
	@bench/bench.sh onnxruntime sweep -select '$(SWEEP)' -threads '$(if $(filter file,$(origin THREADS)),1,$(THREADS))'
else
	@bench/bench.sh '$(PEER)' -models '$(MODEL)' -threads '$(THREADS)' -batch '$(BATCH)' -repeat '$(REPEAT)' $(if $(BUSY),-busy '$(BUSY)') $(if $(GAP),-gap '$(GAP)')
endif

sweepdiff: ## compare two reports of bench SWEEP=: OLD=bench/results/sweep-TIME.json, NEW=
	@bench/bench.sh none sweep diff '$(abspath $(OLD))' '$(abspath $(NEW))'

benchtable: ## print results of bench as a table in Markdown: RESULTS=bench/results/TIME.json
	@bench/bench.sh none table '$(abspath $(RESULTS))'

measure: deps ## measure compile time, memory, first run and idling: MODEL=, THREADS=, REPEAT=
	@bench/bench.sh none -measure -models '$(MODEL)' -threads '$(THREADS)' -repeat '$(REPEAT)'

tunebench: deps ## tune networks and compare with the untuned ones in fresh processes: MODEL= (default: those of the README), SEEDS=, TRIALS=, TIME= of each (2m)
	@bench/bench.sh none tune -models '$(MODEL)' -seeds '$(SEEDS)' -trials '$(TRIALS)' $(if $(TIME),-time '$(TIME)')

tuneproof: deps ## prove that tuning makes nothing slower while a core is half busy: MODEL= (default: five networks, two seeds each), SEEDS=, TIME= of each
	@bench/bench.sh none tune -models '$(or $(MODEL),$(PROOF))' -seeds '$(if $(filter file,$(origin SEEDS)),1 2,$(SEEDS))' -time '$(or $(TIME),1m)' -busy 0.5

prior: ## train what the tuner knows before the first trial: RECORDS="FILES of lathe tune"
	go run ./internal/tune/prior $(RECORDS)

release: lathe-run ## build build/lathe with LLVM linked in, which needs libc only, build/lathe-run-ARCH, and their SHA256SUMS
	@mkdir -p build
	PATH="$(LLVM_BIN):$$PATH" go build -tags llvmstatic -trimpath -o build/lathe \
		-ldflags='-s -w -extldflags "-static-libgcc $(FUSE_LD)"' ./cmd/lathe
	cd build && sha256sum lathe $(RUN_ARCHS:%=lathe-run-%) >SHA256SUMS

lathe-run: $(RUN_ARCHS:%=build/lathe-run-%) ## build build/lathe-run-ARCH, which run packages and hold no compiler

.PHONY: $(RUN_ARCHS:%=build/lathe-run-%)
$(RUN_ARCHS:%=build/lathe-run-%): build/lathe-run-%:
	@mkdir -p build
	CGO_ENABLED=0 GOOS=linux GOARCH=$* go build -trimpath -ldflags='-s -w $(RUN_LOADER_$*)' -o $@ ./cmd/lathe-run

clean: ## remove what the other targets built
	rm -rf lathe build
