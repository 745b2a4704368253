# hpcenv: everything is made from here. `make demo` runs the main job on a real
# Slurm cluster on this machine, `make test` runs all tests; both set up first.

BUILD      := build
GO         ?= go
CC         ?= gcc
CC_ARM64   ?= aarch64-linux-gnu-gcc
RESULTS    := $(BUILD)/test-results
DEVCLUSTER := contrib/devcluster/devcluster
# Where the tests find what was built.
export HPCENV_BUILD := $(CURDIR)/$(BUILD)
# The header of the GPU driver's library warns of what it will drop; what hpcenv-gpu
# calls is looked up first. One value everywhere, so that C code is compiled once.
export CGO_CFLAGS := -O2 -g -Wno-deprecated-declarations
# hpcenv-gpu is bound to the driver's functions when they are called, also by
# compilers that bind at the start unless told otherwise.
LAZY := -extldflags=-Wl,-z,lazy

# What must also hold with job_container/tmpfs and with trees bound at boot. (Slurm's
# own job_container/tmpfs does not work in the emulated aarch64 slurmstepd.)
# TREE_STORIES: with trees that are mounted for a step.
MODE_STORIES := TestStories/(batch|export|het|nested|overlap|path-kept|private|srun-salloc|without)$$
TREE_STORIES := TestStories/(batch|build-job|mixed|nested|root-squash|srun-salloc|store-safe|wrapper)$$

.PHONY: all help setup build go-build shim demo test check check-data unit ctest cluster counts \
	oracle oracle-venv formats servers fuzz test-packages test-slurm-24.11 test-deliveries test-image-faults bench-daemon bench-elf bench-image bench-launch bench-link bench-lock bench-select bench-storm roots install packages pages gpu-check clean

all: build

help:
	@echo "make demo              the main job, end to end, on a Slurm cluster on this machine"
	@echo "make test              all tests, the aarch64 node included"
	@echo "make check-data        the tables that are data: sources, dates, order, duplicates"
	@echo "make oracle            prefixes compared with those of rattler, file by file"
	@echo "make formats           lock files and wheels: tried, accepted, compared, and times, in one table"
	@echo "make fuzz              every fuzz target for FUZZTIME (60s)"
	@echo "make test-slurm-24.11  the cluster tests on Slurm 24.11, from a Debian 13 root"
	@echo "make test-packages     the packages installed, upgraded and removed in a Debian root"
	@echo "make test-image-faults launches from images, killed at random instants (long)"
	@echo "make test-deliveries   what jobs go through, with images and copies of them, both mounts, a store that refuses root"
	@echo "make bench-daemon      the daemon with 10,000 environments and 5 million files"
	@echo "make bench-elf         what reading an environment's programs and libraries costs"
	@echo "make bench-image       what making images costs, against bare mksquashfs"
	@echo "make bench-launch      what hpcenv adds to sbatch and to a step"
	@echo "make bench-link        what making environments costs, against the reference installer"
	@echo "make bench-lock        what reading locks costs, against the reference reader"
	@echo "make bench-select      what choosing environments costs, on a node and for a cluster"
	@echo "make bench-storm       what starting Python on many nodes at once asks of shared storage (root)"
	@echo "make gpu-check         what this machine's GPU driver says, and whether nvidia-smi agrees"
	@echo "make build             the programs and the SPANK plug-in, in build/"
	@echo "make setup             install what is missing (Debian, Ubuntu; root)"
	@echo "make install           PREFIX=/usr DESTDIR= PLUGINDIR= … (contrib/install/install.sh has all)"
	@echo "make packages          deb and rpm packages in build/packages (VERSION=1.2.3; default: the commit)"
	@echo "make clean             remove build/"

setup:
	contrib/setup/setup.sh

# ---- programs -------------------------------------------------------------

build: go-build shim

# The go command knows what is up to date.
go-build:
	CGO_ENABLED=0 GOARCH=amd64 $(GO) build -trimpath -ldflags '$(LINKED)' -o $(BUILD)/amd64/hpcenv ./cmd/hpcenv
	CGO_ENABLED=0 GOARCH=arm64 $(GO) build -trimpath -ldflags '$(LINKED)' -o $(BUILD)/arm64/hpcenv ./cmd/hpcenv
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 $(GO) build -trimpath -ldflags '$(LINKED)' -o $(BUILD)/darwin-arm64/hpcenv ./cmd/hpcenv
	CGO_ENABLED=1 GOARCH=amd64 $(GO) build -trimpath -ldflags '$(LINKED)' -o $(BUILD)/amd64/hpcenvd ./cmd/hpcenvd
	CGO_ENABLED=1 GOARCH=amd64 CC=$(CC) $(GO) build -trimpath -ldflags '$(LAZY) $(LINKED)' -o $(BUILD)/amd64/hpcenv-gpu ./cmd/hpcenv-gpu
	CGO_ENABLED=1 GOARCH=arm64 CC=$(CC_ARM64) $(GO) build -trimpath -ldflags '$(LAZY) $(LINKED)' -o $(BUILD)/arm64/hpcenv-gpu ./cmd/hpcenv-gpu
	contrib/ci/static.sh $(BUILD)/amd64/hpcenv $(BUILD)/arm64/hpcenv
	contrib/ci/lazy.sh $(BUILD)/amd64/hpcenv-gpu $(BUILD)/arm64/hpcenv-gpu

# slurm/spank has a Makefile of its own, which knows what is up to date.
shim:
	$(MAKE) --no-print-directory -s -C slurm/spank CC=$(CC) OUT=$(CURDIR)/$(BUILD)/shim/amd64
	$(MAKE) --no-print-directory -s -C slurm/spank CC=$(CC_ARM64) OUT=$(CURDIR)/$(BUILD)/shim/arm64
	@mkdir -p $(BUILD)/amd64 $(BUILD)/arm64
	@for arch in amd64 arm64; do \
		cmp -s $(BUILD)/shim/$$arch/hpcenv_spank.so $(BUILD)/$$arch/hpcenv_spank.so || \
		install -m 644 $(BUILD)/shim/$$arch/hpcenv_spank.so $(BUILD)/$$arch/hpcenv_spank.so || exit 1; \
	done

# ---- a machine with GPUs ---------------------------------------------------

# Needs only Go and a C compiler. Where there is no GPU it says so.
gpu-check:
	CGO_ENABLED=1 CC=$(CC) $(GO) build -trimpath -ldflags '$(LAZY)' -o $(BUILD)/check/hpcenv-gpu ./cmd/hpcenv-gpu
	CGO_ENABLED=0 $(GO) build -trimpath -o $(BUILD)/check/gpucheck ./contrib/gpucheck
	contrib/ci/lazy.sh $(BUILD)/check/hpcenv-gpu
	$(BUILD)/check/gpucheck $(CURDIR)/$(BUILD)/check/hpcenv-gpu

# ---- installing -----------------------------------------------------------

# What was built for this host's architecture, or for ARCH=amd64|arm64. Nothing is
# built here: root need not have a compiler.
ARCH ?= $(if $(filter aarch64,$(shell uname -m)),arm64,amd64)
install:
	DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' UNITDIR='$(UNITDIR)' PLUGINDIR='$(PLUGINDIR)' PREFIX_ROOT='$(PREFIX_ROOT)' \
		contrib/install/install.sh $(BUILD)/$(ARCH)

# Manual pages and completions, made of the command lines.
VERSION ?= $(shell contrib/packages/version.sh)
# Of these targets alone: mksquashfs, in tests, takes no such variable beside its options.
pages packages: export SOURCE_DATE_EPOCH := $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
pages:
	@mkdir -p $(BUILD)/pages
	contrib/packages/pages.sh $(BUILD)/pages '$(VERSION)'

# deb and rpm, for x86-64 and aarch64 (the daemon: x86-64). The programs in them call
# themselves VERSION.
packages: LINKED := -X github.com/hpcenv/hpcenv/internal/version.set=$(VERSION)
packages: build pages
	rm -rf $(BUILD)/packages
	contrib/packages/pack.sh $(BUILD) $(BUILD)/pages $(BUILD)/packages '$(VERSION)'

# ---- the main job ---------------------------------------------------------

demo: setup build
	contrib/demo/demo.sh

# ---- tests ----------------------------------------------------------------

# Every stage runs even if an earlier one failed; the counts come last.
test: setup build
	@rm -rf $(RESULTS) && mkdir -p $(RESULTS)
	@failed=; for stage in check unit ctest oracle roots cluster; do \
		echo "== $$stage"; \
		$(MAKE) --no-print-directory $$stage || failed="$$failed $$stage"; \
	done; \
	if [ -n "$$failed" ]; then echo "failed:$$failed"; fi; \
	$(MAKE) --no-print-directory counts && [ -z "$$failed" ]

# Tables that are data: a source and a date for each row, order, nothing twice.
check-data:
	$(GO) run ./contrib/ci/checkdata .

check: check-data
	@bad=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
		if [ -n "$$bad" ]; then echo "not gofmt's: $$bad"; exit 1; fi
	$(GO) vet ./...
	$(GO) vet -tags cluster,oracle ./...
	@# On macOS: bundle create, inspect, diff.
	@for arch in arm64 amd64; do \
		CGO_ENABLED=0 GOOS=darwin GOARCH=$$arch $(GO) build -o /dev/null ./cmd/hpcenv || exit 1; \
	done
	@if command -v shellcheck >/dev/null; then contrib/ci/shellcheck.sh; \
		else echo "shellcheck is not installed: scripts are not checked"; fi

# The real servers of the tests of s3: and oci: channels, built once per version.
# Without them (no network) those tests say so and are skipped; with HPCENV_REQUIRE_SERVERS they fail.
servers:
	@contrib/setup/servers.sh make >/dev/null || echo "the servers of the channel tests could not be made"

# All with the race detector but the storm, a benchmark that starts some hundred processes
# of the programs themselves: with it the tests take thirty times as long.
unit: servers oracle-venv | $(RESULTS)
	@failed=; \
	contrib/ci/gotest.sh $(RESULTS)/unit.json -race -timeout 12m $$($(GO) list ./... | grep -v '/contrib/bench/storm') || failed=yes; \
	contrib/ci/gotest.sh $(RESULTS)/unit-storm.json -timeout 10m ./contrib/bench/storm/... || failed=yes; \
	[ -z "$$failed" ]

ctest:
	$(MAKE) --no-print-directory -s -C slurm/spank CC=$(CC) OUT=$(CURDIR)/$(BUILD)/shim/amd64 test

# The peers that tests compare with, in a virtual environment of the cache. Without
# it (no network) those tests say so and are skipped; in CI they fail.
oracle-venv:
	@contrib/setup/oracle.sh make >/dev/null || echo "the oracle's virtual environment could not be made"
	@contrib/setup/oracle-wheels.sh make >/dev/null || echo "the real wheels could not be fetched"

# It ends with what was compared, and how often each allowed difference was there.
oracle: oracle-venv | $(RESULTS)
	LOGS=TestOracle contrib/ci/gotest.sh $(RESULTS)/oracle.json -tags oracle -count=1 -timeout 20m ./internal/oracle/...

# One table of what the tests above count, and reading against the peers' times.
formats: oracle-venv
	$(GO) build -o $(BUILD)/amd64/lockbench ./contrib/bench/lock
	contrib/ci/formats.sh

# The roots that the cluster tests need, made once per machine.
roots:
	contrib/devcluster/debian-root.sh "$$(contrib/devcluster/host-suite.sh)" arm64

# It ends with how good the answers of slurm/scope were.
cluster: | $(RESULTS)
	LOGS=TestScope contrib/ci/gotest.sh $(RESULTS)/cluster.json -tags cluster -count=1 -timeout 35m ./slurm/clustertest/...
	HPCENV_TEST_AARCH64=no HPCENV_TEST_START=--container-tmpfs contrib/ci/gotest.sh $(RESULTS)/cluster-tmpfs.json \
		-tags cluster -count=1 -timeout 10m -run '$(MODE_STORIES)' ./slurm/clustertest/...
	HPCENV_TEST_AARCH64=no HPCENV_TEST_START='--mount host' HPCENV_TEST_DELIVERY=tree contrib/ci/gotest.sh $(RESULTS)/cluster-host.json \
		-tags cluster -count=1 -timeout 10m -run '$(MODE_STORIES)' ./slurm/clustertest/...
	HPCENV_TEST_DELIVERY=tree contrib/ci/gotest.sh $(RESULTS)/cluster-trees.json \
		-tags cluster -count=1 -timeout 15m -run '$(TREE_STORIES)' ./slurm/clustertest/...

# Longer than `make test`: launches from images that are killed at random instants, and a
# hundred steps at once on a node.
test-image-faults: setup build | $(RESULTS)
	HPCENV_TEST_LONG=yes HPCENV_TEST_AARCH64=no HPCENV_TEST_DELIVERY=image contrib/ci/gotest.sh $(RESULTS)/image-faults.json \
		-tags cluster -count=1 -timeout 20m -run 'TestLong$$|TestErrors/image-(faults|stuck)$$' ./slurm/clustertest
	$(GO) run ./contrib/ci/testcount -totals $(RESULTS)/image-faults.json

# Longer than `make test`, the first time: the packages are made, installed, upgraded with a
# job in the queue, and removed, by the guide's own commands, in a Debian root.
test-packages: setup build | $(RESULTS)
	contrib/devcluster/debian-root.sh bookworm amd64
	contrib/setup/nfpm.sh make
	contrib/ci/gotest.sh $(RESULTS)/packages.json -tags cluster -count=1 -timeout 8m ./contrib/packages/...
	$(GO) run ./contrib/ci/testcount -totals $(RESULTS)/packages.json

test-slurm-24.11: setup build | $(RESULTS)
	contrib/devcluster/debian-root.sh trixie amd64
	contrib/devcluster/debian-root.sh trixie arm64
	LOGS=TestScope HPCENV_TEST_ROOT=trixie contrib/ci/gotest.sh $(RESULTS)/cluster-24.11.json \
		-tags cluster -count=1 -timeout 40m ./slurm/clustertest/... ./contrib/packages
	$(GO) run ./contrib/ci/testcount -totals $(RESULTS)/cluster-24.11.json

# Longer than `make test` (half an hour): the scenarios of a job with images and with copies
# of them on the nodes' disks, both mounts, and a store that refuses root. ROWS and STORIES
# choose.
test-deliveries: setup build | $(RESULTS)
	rm -f $(RESULTS)/delivery-*.json
	contrib/ci/deliveries.sh $(RESULTS)

# Longer than `make test`: each fuzz target on its own, since go test takes one.
FUZZTIME ?= 60s
fuzz:
	contrib/ci/fuzz.sh $(FUZZTIME)

counts:
	$(GO) run ./contrib/ci/testcount -totals $(RESULTS)/*.json

$(RESULTS):
	mkdir -p $@

# ---- figures --------------------------------------------------------------

# Needs none of what build makes. It waits a minute for a sweep.
bench-daemon:
	CGO_ENABLED=1 $(GO) build -trimpath -o $(BUILD)/amd64/hpcenvd ./cmd/hpcenvd
	CGO_ENABLED=0 $(GO) build -o $(BUILD)/amd64/daemonbench ./contrib/bench/daemon
	$(BUILD)/amd64/daemonbench $(CURDIR)/$(BUILD)/amd64/hpcenvd

# Needs none of what build makes.
bench-elf:
	$(GO) build -o $(BUILD)/amd64/elfbench ./contrib/bench/elf
	$(BUILD)/amd64/elfbench

# Needs none of what build makes.
bench-image: setup
	$(GO) build -o $(BUILD)/amd64/imagebench ./contrib/bench/image
	contrib/bench/image.sh

bench-launch: setup build
	$(GO) build -o $(BUILD)/amd64/launchbench ./slurm/launchbench
	contrib/bench/launch.sh

bench-link: setup build
	$(GO) build -o $(BUILD)/amd64/linkbench ./contrib/bench/link
	$(GO) build -o $(BUILD)/amd64/pycbench ./envs/bytecode/pycbench
	contrib/bench/link.sh

# Needs none of what build makes.
bench-lock: setup
	$(GO) build -o $(BUILD)/amd64/lockbench ./contrib/bench/lock
	contrib/bench/lock.sh

# Needs none of what build makes.
bench-select:
	$(GO) build -o $(BUILD)/amd64/selectbench ./contrib/bench/select
	CGO_ENABLED=0 $(GO) build -trimpath -o $(BUILD)/amd64/hpcenv ./cmd/hpcenv
	$(BUILD)/amd64/selectbench $(CURDIR)/$(BUILD)/amd64/hpcenv

# The plot is build/storm.png. Needs none of what build makes but hpcenv.
bench-storm: setup
	CGO_ENABLED=0 $(GO) build -trimpath -o $(BUILD)/amd64/hpcenv ./cmd/hpcenv
	CGO_ENABLED=0 $(GO) build -o $(BUILD)/amd64/stormbench ./contrib/bench/storm
	contrib/bench/storm.sh

clean:
	rm -rf $(BUILD)
