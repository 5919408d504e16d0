# The one door: `make help` lists what there is.
SHELL := /bin/bash
.DEFAULT_GOAL := help
JOBS ?= $(shell nproc)
SECONDS_EACH ?= 60
SEEDS ?= 1000
PREFIX ?= /usr/local

.PHONY: help deps build install demo demo-cluster screenshots image chart manifests dev test bench explore asan fuzz format tidy testcluster clean

help: ## show this
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

deps: ## install what is missing to build and test (Debian packages)
	@tools/deps

build: deps ## the release binary at build/careen
	@tools/step "configure (release)" cmake --preset release
	@tools/step "build (release)" cmake --build --preset release -j $(JOBS) --target careen
	@cp build/release/careen build/careen && strip build/careen
	@echo "build/careen: $$(du -h build/careen | cut -f1)"

demo: build ## see careen at work on a model cluster, with a dashboard (ARGS="--speed 60")
	@build/careen demo $(ARGS)

demo-cluster: build testcluster ## the same on a real control plane with simulated nodes
	@tools/demo-cluster/demo-cluster $(ARGS)

screenshots: build ## take docs/images anew from a demonstration
	@tools/screenshots

install: build ## careen, kubectl-careen, man page and completion below DESTDIR and PREFIX (/usr/local)
	@tools/install build/careen "$(DESTDIR)$(PREFIX)"

image: build ## an OCI image of the release binary at build/careen-image, without a container engine
	@tools/image build/careen

chart: deps ## check the Helm chart and pack it into build/
	@tools/helm/helm lint --strict --quiet deploy/helm/careen
	@tools/helm/helm package deploy/helm/careen --destination build

manifests: deps ## render the chart into deploy/manifests and deploy/rbac.yaml
	@tools/manifests

dev: deps
	@tools/step "configure (dev)" cmake --preset dev
	@tools/step "build (dev)" cmake --build --preset dev -j $(JOBS)

test: deps testcluster dev ## build and run every test, also those on a real control plane
	ctest --test-dir build/dev --output-on-failure -j $(JOBS)

bench: deps testcluster build ## measure on a real control plane and print a table
	@tools/step "build (benchmarks)" cmake --build --preset release -j $(JOBS) --target bench_programs
	python3 test/bench/bench.py $(BENCH)

explore: deps ## whole campaigns in virtual time with faults from SEEDS seeds (1000; or 5000..5999)
	@tools/step "configure (release)" cmake --preset release
	@tools/step "build (explorer)" cmake --build --preset release -j $(JOBS) --target explore
	build/release/test/explore/explore --systematic --seeds $(SEEDS)
	build/release/test/explore/explore --drains --systematic --seeds $(SEEDS)

asan: deps ## all unit tests under the address and undefined-behaviour sanitizers
	@tools/step "configure (asan)" cmake --preset asan
	@tools/step "build (asan)" cmake --build --preset asan -j $(JOBS)
	ctest --test-dir build/asan --output-on-failure -j $(JOBS) -LE cluster

fuzz: deps ## each fuzz target for SECONDS_EACH seconds (60)
	@tools/step "configure (fuzz)" cmake --preset fuzz
	@tools/step "build (fuzz)" cmake --build --preset fuzz -j $(JOBS) --target fuzzers
	test/fuzz/run build/fuzz $(SECONDS_EACH)

format: deps ## format all C++ sources
	git ls-files -co --exclude-standard '*.cc' '*.h' | xargs clang-format-19 -i

tidy: deps ## clang-tidy over all sources
	@tools/step "configure (dev)" cmake --preset dev
	git ls-files 'src/*.cc' | grep -v _test.cc | xargs -P $(JOBS) -n 4 clang-tidy-19 -p build/dev --quiet

testcluster: deps ## build the real control plane the tests run on (once, about ten minutes)
	@tools/testcluster/testcluster build

clean: ## remove everything built here (not the cached control plane)
	rm -rf build
