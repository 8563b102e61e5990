# Two commands are enough on a fresh Debian 12 or Ubuntu 24.04: `make run` and `make test`.
# The rest is for development; each target is a thin cover over CMakePresets.json.

# Compile jobs: one per CPU, but no more than one per 2 GiB of free memory (a kernel file is compiled for every
# instruction set at once). Override with JOBS=n.
cpus   := $(shell nproc 2>/dev/null || echo 2)
memory := $(shell awk '/MemAvailable/ {n = int($$2 / 2097152); print (n > 0 ? n : 1)}' /proc/meminfo 2>/dev/null || echo 2)
JOBS   ?= $(shell echo $$(( $(cpus) < $(memory) ? $(cpus) : $(memory) )))

# DEPS=skip: do not look for missing packages (for systems other than Debian and Ubuntu).
DEPS ?=
install_deps = $(if $(filter skip,$(DEPS)),@:,@tools/install-deps)

# What CMake is told beside the preset: OPTIONS=-DWICK_WERROR=ON.
OPTIONS ?=

# $(call configure,preset) keeps quiet unless it fails; $(call build,preset,targets); $(call ctest,preset).
configure = @mkdir -p build && echo "configure  build/$(1)" && \
  { cmake --preset $(1) $(OPTIONS) > build/$(1).configure.log 2>&1 || { cat build/$(1).configure.log; exit 1; }; }
build     = @echo "build      build/$(1) ($(JOBS) jobs)" && cmake --build --preset $(1) -j $(JOBS) $(2)
ctest     = @ctest --preset $(1) -j $(JOBS) --progress

.DEFAULT_GOAL := help
.PHONY: help run install package test test-web test-faults test-client test-real test-package dev clang asan fuzz tsan cuda cuda-compile wasm aarch64 bench format lint clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

run:  ## install what is missing, build, check the machine (wick doctor) and talk with Ember (wick chat)
	$(install_deps) core hub pictures test
	$(call configure,release)
	$(call build,release,--target wick)
	@build/release/bin/wick doctor
	@if [ -t 0 ] && [ -t 1 ]; then echo; build/release/bin/wick chat; \
	else echo; build/release/bin/wick run -p "Who are you?"; fi
	@command -v wick > /dev/null || echo "To type just wick: export PATH=\"$(CURDIR)/build/release/bin:\$$PATH\", or make install PREFIX=~/.local"

# The folder that it goes to, and under which packages find it. DESTDIR=folder is put before it.
PREFIX ?= /usr/local
install:  ## build and install the command and the library (PREFIX=folder; /usr/local without it)
	$(install_deps) core hub pictures
	$(call configure,release)
	$(call build,release,--target wick wick_core wick_headers wick_pages)
	@cmake --install build/release --prefix $(PREFIX) > build/install.log || { cat build/install.log; exit 1; }
	@echo "installed  $(PREFIX)/bin/wick"

package:  ## make a .deb and an archive that run on Debian 12, Ubuntu 24.04 and newer ones with nothing else installed
	$(install_deps) core hub pictures package
	@tools/get-package-sources build/release/sources
	$(call configure,release)
	$(call build,release,--target wick_portable wick_pages)
	@rm -rf build/release/packages && cd build/release && cpack > package.log 2>&1 || { cat package.log; exit 1; }
	@ls -sh1 build/release/packages/*.deb build/release/packages/*.tar.gz

test-package: package  ## try the packages on a bare Debian 12 and Ubuntu 24.04, made with debootstrap (needs root)
	$(install_deps) chroot
	@tests/install/run_chroot build/release/packages

test:  ## install what is missing, build, run every test in random order
	$(install_deps) core hub pictures test
	$(call configure,release)
	$(call build,release)
	$(call ctest,release)

test-web:  ## test the web page in headless Chromium; pictures go to build/web-screenshots
	$(install_deps) core hub pictures test browser
	$(call configure,release)
	$(call build,release,--target wick)
	@ctest --test-dir build/release -L browser --output-on-failure --no-tests=error

test-real:  ## fetch public models (600 MB, kept in ~/.cache/wick) and run the tests that use them
	$(install_deps) core hub pictures test $(if $(shell command -v npm),,models)
	@tools/get-test-models
	$(call configure,release)
	$(call build,release,--target wick test_real)
	$(call ctest,real)

test-faults:  ## let each allocation and each call on files and sockets of journal and server fail once (minutes)
	$(install_deps) core hub pictures test
	$(call configure,release)
	$(call build,release,--target test_faults)
	@ctest --test-dir build/release -L faults --output-on-failure --no-tests=error

test-client:  ## fetch OpenAI's, Anthropic's and Ollama's clients for Node.js and run them against wick serve
	$(install_deps) core hub pictures test $(if $(shell command -v npm),,client)
	@tools/get-clients
	$(call configure,release)
	$(call build,release,--target wick)
	@ctest --test-dir build/release -L client --output-on-failure --no-tests=error

dev:  ## build with warnings as errors and assertions; run every test
	$(install_deps) core hub pictures test
	$(call configure,dev)
	$(call build,dev)
	$(call ctest,dev)

clang:  ## the same with Clang
	$(install_deps) core hub pictures test clang
	$(call configure,clang)
	$(call build,clang)
	$(call ctest,clang)

asan:  ## the same with AddressSanitizer and UndefinedBehaviorSanitizer
	$(install_deps) core hub pictures test
	$(call configure,asan)
	$(call build,asan)
	$(call ctest,asan)

# Each fuzzer starts from the seeds and from what earlier runs found, kept in build/fuzz/corpus.
FUZZ_SECONDS ?= 600
fuzz:  ## build the fuzzers of files, templates and requests with Clang and run each for ten minutes (FUZZ_SECONDS=n)
	$(install_deps) core hub pictures test clang
	$(call configure,fuzz)
	$(call build,fuzz,--target fuzzers)
	@build/fuzz/bin/write_seeds build/fuzz/seeds
	@for kind in safetensors gguf ggml index tensor_data tokenizer template grammar schema api_request picture; do \
	  echo "fuzz       $$kind ($(FUZZ_SECONDS) s)" && mkdir -p build/fuzz/corpus/$$kind build/fuzz/seeds/$$kind && \
	  build/fuzz/bin/fuzz_$$kind -max_total_time=$(FUZZ_SECONDS) -timeout=5 -malloc_limit_mb=64 -print_final_stats=1 \
	    -artifact_prefix=build/fuzz/$$kind- build/fuzz/corpus/$$kind build/fuzz/seeds/$$kind \
	    > build/fuzz/$$kind.log 2>&1 || { tail -n 40 build/fuzz/$$kind.log; exit 1; }; \
	done; echo "no findings"

tsan:  ## the same with ThreadSanitizer
	$(install_deps) core hub pictures test
	$(call configure,tsan)
	$(call build,tsan)
	$(call ctest,tsan)

cuda:  ## build with the CUDA backend; run every test
	$(install_deps) core hub pictures test cuda
	$(call configure,cuda)
	$(call build,cuda)
	$(call ctest,cuda)

cuda-compile:  ## compile the CUDA code without running it, where nvcc is present
	$(install_deps) core hub pictures test
	@tools/compile-cuda $(JOBS) || [ $$? = 77 ]

wasm:  ## build the library for WebAssembly; run its tests under Node.js
	$(install_deps) core hub test wasm
	$(call configure,wasm)
	$(call build,wasm)
	$(call ctest,wasm)

aarch64:  ## build the library for AArch64 with a cross compiler; run its tests under QEMU
	$(install_deps) core hub test aarch64
	$(call configure,aarch64)
	$(call build,aarch64)
	$(call ctest,aarch64)

bench:  ## build the benchmarks and compare with OpenBLAS, oneDNN and the machine's limits
	$(install_deps) core bench
	$(call configure,bench)
	$(call build,bench)
	@build/bench/bin/wick bench ops

format:  ## format the code
	$(install_deps) core lint
	@tools/lint --fix

lint:  ## check format, layers and clang-tidy on changed files (FILES=all: on all files)
	$(install_deps) core hub test lint
	$(call configure,dev)
	$(call build,dev,--target test_layers)
	@build/dev/bin/test_layers --gtest_brief=1
	@tools/lint $(if $(filter all,$(FILES)),--all)

clean:  ## remove everything that was built
	rm -rf build
