# The one door: `make help` lists what there is.
SHELL := /bin/bash
.DEFAULT_GOAL := help
JOBS ?= $(shell nproc)
SECONDS_EACH ?= 60
SEEDS ?=
PREFIX ?= /usr/local
STEP := tools/step
# A new file under the old name: a careen that is running keeps its own.
PLACE := mkdir -p build && strip -o build/.careen.new build/release/careen && mv -f build/.careen.new build/careen

.PHONY: help deps deps-test deps-lint build install demo demo-cluster screenshots image must-gather-image chart manifests test test-build bench explore asan fuzz format tidy testcluster clean

help: ## show this
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-17s %s\n", $$1, $$2}'

deps: ## install what a build needs, if it is missing (Debian packages)
	@tools/deps build

deps-test: ## install what the tests need besides
	@tools/deps test

deps-lint:
	@tools/deps lint

build: deps ## the release binary at build/careen
	@$(STEP) "configure" cmake --preset release
	@$(STEP) "build" cmake --build --preset release -j $(JOBS) --target careen
	@$(PLACE)
	@echo "build/careen: $$(du -h build/careen | cut -f1)"

demo: build ## see careen at work on a model cluster, with a dashboard (ARGS="--speed 60")
	@build/careen demo $(ARGS)

demo-cluster: build testcluster ## the same on a real control plane with simulated nodes
	@tools/demo-cluster/demo-cluster $(ARGS)

screenshots: deps-test build ## take docs/images anew from a demonstration
	@tools/screenshots

install: build ## careen, kubectl-careen, man page and completion below DESTDIR and PREFIX (/usr/local)
	@tools/install build/careen "$(DESTDIR)$(PREFIX)"

image: build ## an OCI image of the release binary at build/careen-image, without a container engine
	@tools/image build/careen

must-gather-image: build ## the image for oc adm must-gather at build/careen-must-gather-image
	@tools/image --must-gather build/careen

chart: deps-test ## check the Helm chart and pack it into build/
	@tools/helm/helm lint --strict --quiet deploy/helm/careen
	@tools/helm/helm package deploy/helm/careen --destination build

manifests: deps-test ## render the chart into deploy/manifests, deploy/rbac.yaml and deploy/olm
	@tools/manifests

# What is tested: the code with sanitizers, and the program that users get. The control plane, and the other actors that
# tests run on it, are built beside the two.
BESIDE = -- "control plane" tools/testcluster/testcluster build --actors
test-build: deps-test
	@$(STEP) "configure (release)" cmake --preset release -- "configure (tests)" cmake --preset test
	@$(STEP) "build (release)" cmake --build --preset release -j $(JOBS) --target careen explore explore_mistaken \
	  -- "build (tests)" cmake --build --preset test -j $(JOBS) $(BESIDE)
	@$(PLACE)

# One more than there are cores: what runs on a control plane waits more than it works.
test: test-build ## build and run every test, also those on a real control plane
	ctest --test-dir build/test --output-on-failure -j $$(($(JOBS) + 1))

asan: BESIDE =
asan: test-build ## only the tests that need no control plane: the test build is the sanitizer build
	ctest --test-dir build/test --output-on-failure -j $(JOBS) -LE cluster

bench: deps-test testcluster build ## measure on a real control plane and print a table
	@$(STEP) "build (benchmarks)" cmake --build --preset release -j $(JOBS) --target bench_programs
	python3 test/bench/bench.py $(BENCH)

explore: EXPLORE = build/release/test/explore/explore --jobs $(JOBS) --systematic $(if $(SEEDS),--seeds $(SEEDS),--fresh 1000)
explore: deps ## whole campaigns in virtual time with faults from SEEDS seeds (5000..5999; otherwise 1000 new ones)
	@$(STEP) "configure (release)" cmake --preset release
	@$(STEP) "build (explorer)" cmake --build --preset release -j $(JOBS) --target explore
	$(EXPLORE)
	$(EXPLORE) --drains
	$(EXPLORE) --requests
	$(EXPLORE) --machines

fuzz: deps-test ## each fuzz target for SECONDS_EACH seconds (60)
	@$(STEP) "configure (fuzz)" cmake --preset fuzz
	@$(STEP) "build (fuzz)" cmake --build --preset fuzz -j $(JOBS) --target fuzzers
	test/fuzz/run build/fuzz $(SECONDS_EACH)

format: deps-lint ## format all C++ sources
	git ls-files -co --exclude-standard '*.cc' '*.h' | xargs clang-format-19 -i

tidy: deps-test deps-lint ## clang-tidy over all sources
	@$(STEP) "configure (file by file)" cmake --preset singly
	@$(STEP) "generated sources" cmake --build --preset singly --target version_info
	git ls-files 'src/*.cc' | grep -v _test.cc | xargs -P $(JOBS) -n 4 clang-tidy-19 -p build/singly --quiet

testcluster: deps-test ## build the real control plane the tests run on (once, about ten minutes)
	@tools/testcluster/testcluster build

clean: ## remove everything built here (not the cached control plane)
	rm -rf build
