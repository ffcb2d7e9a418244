# powertui. A fresh machine needs python3 with venv, and a C compiler for speed.
#
#   make demo          install the program, then open the recorded run that ships with it
#   make quick         the tests that a change is tried with at once (a minute)
#   make test          install what the tests need too, then run the tests of parts and screens (minutes)
#   make check         ruff, mypy --strict, the layer contracts, all tests: those of real programs and of whole recordings too
#   make monkey        random keys, mouse and window sizes on every screen (minutes)
#   make bench         the benchmarks (minutes)
#   make parity        every cell against TensorBoard's profiler, into docs/parity.md (x86-64; 2 GB, minutes; PARITY=--help for less)
#   make causes        programs with a known cause, recorded and judged by the first sentence (x86-64; 3 GB, minutes; CAUSES=--help for less)
#   make ranges        the oldest and the newest versions that pyproject.toml allows (minutes)
#   make fuzz          hostile input for the scanner and every reader (a minute; FUZZ=--help for more)
#   make mutants       do the tests hold? small faults put into a copy, one by one
#   make site          the pages as a static site in site/
#   make screenshots   draw the pictures in docs/ again
#   make cast          record the moving picture of README again (a test says when)
#   make strings       every text that a person may read, file by file (STRINGS=screens for some of them)
#   make power-test    the unit tests on an emulated POWER machine (root, qemu; an hour)
#   make dist          an sdist, a wheel and a bill of materials (SPDX) in dist/
#   make release       all of a release that needs no account, checked, in dist/ (minutes; RELEASING.md says what comes next)
#   make bundle        one archive that installs without a network (BUNDLE="--machine ppc64le --python 3.11" for another machine)

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# Tests run in one process more than there are cores, as those of screens wait for a third of their time, and in four
# at most; those that run real programs (terminals, sshd, BMCs) in three. JOBS=1 for one process.
JOBS   ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# What is installed grows with what is asked for: the program, the tests' helpers, the linters.
PROGRAM := $(VENV)/.program
TESTS   := $(VENV)/.tests
READY   := $(VENV)/.ready
# TensorBoard's profiler, TensorFlow and JAX are far from small, and none of them is for POWER.
PARITY_VENV ?= .parity-venv
CAUSES_VENV ?= .causes-venv
RELEASE_VENV ?= .release-venv
SITE_VENV ?= .site-venv

# Tests start thousands of processes. Each one would compile 270 modules again where compiled modules are not kept.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: ranges release site demo quick test check lint lint-types lint-types-macos lint-rest monkey bench fuzz mutants parity causes screenshots cast strings dist bundle power-test clean

demo: $(PROGRAM)
	$(BIN)/powertui demo
	@echo "Your own runs: $(BIN)/powertui LOGDIR. After \". $(BIN)/activate\" the command is powertui."

QUICK := $(shell grep -v '^\#' tests/quick.txt)
SLOW  := $(shell grep -v '^\#' tests/slow.txt)
PYTEST = $(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile

quick: $(TESTS)
	$(PYTEST) --maxprocesses 4 $(QUICK)

test: $(TESTS)
	$(PYTEST) --maxprocesses 4 --ignore tests/e2e --ignore tests/monkey $(SLOW:%=--ignore %)

# In this order, so that what fails soonest is heard of first.
check: lint test
	$(PYTEST) --maxprocesses 4 $(SLOW)
	$(PYTEST) --maxprocesses 3 tests/e2e tests/monkey

# Two at a time: mypy takes one core, and the rest has the other meanwhile.
lint: $(READY)
	@$(MAKE) --no-print-directory --jobs 2 lint-types lint-rest lint-types-macos

lint-types:
	$(BIN)/mypy

lint-types-macos:
	$(BIN)/mypy --config-file scripts/types_macos.ini

lint-rest:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python scripts/doc_tables.py --check
	$(BIN)/python scripts/completions.py --check

# KEYS="--keys 1000000 --seed 1" for a long night; KEYS="--pty --keys 2000" for the real program in a terminal.
monkey: $(TESTS)
	$(BIN)/python -m tests.monkey $(KEYS)

bench: $(TESTS)
	$(BIN)/python -m benchmarks $(TOPICS)

fuzz: $(TESTS)
	$(BIN)/python -m tests.fuzz $(FUZZ)

parity: $(PARITY_VENV)/.ready
	$(PARITY_VENV)/bin/python -m scripts.parity $(PARITY)

causes: $(CAUSES_VENV)/.ready
	$(CAUSES_VENV)/bin/python -m scripts.causes $(CAUSES)

ranges:
	$(PYTHON) scripts/ranges.py $(RANGES)

mutants: $(TESTS)
	$(BIN)/python -m scripts.mutants $(MUTANTS)

screenshots: $(TESTS)
	$(BIN)/python scripts/tasks.py
	$(BIN)/python -m pytest -q --snapshot-update tests/screens/test_doc_pictures.py tests/screens/test_tasks.py

site: $(SITE_VENV)/.ready
	$(SITE_VENV)/bin/python scripts/site.py

# The moving picture of README, and the same as an asciicast.
cast: $(TESTS)
	$(BIN)/python scripts/cast.py

strings: $(TESTS)
	$(BIN)/python scripts/strings.py $(STRINGS)

power-test:
	scripts/power_test.sh $(TEST)

dist: $(READY)
	rm -rf dist build
	$(BIN)/python -m build --outdir dist .
	set -e; for wheel in dist/*.whl; do $(BIN)/python scripts/sbom.py $$wheel > $${wheel%.whl}.spdx.json; done

release: $(RELEASE_VENV)/.ready
	$(RELEASE_VENV)/bin/python scripts/release.py

bundle: $(PROGRAM)
	$(BIN)/python scripts/bundle.py $(BUNDLE)

# An editable install: what is edited is what runs. The scanner is compiled in place when there is a compiler.
SOURCES := pyproject.toml setup.py scripts/environment.py $(wildcard powertui/data/wire/scan/*.[ch]) powertui/data/formats/json_scan.c

$(PROGRAM): $(SOURCES)
	$(PYTHON) scripts/environment.py $(VENV)
	touch $@

$(TESTS): $(SOURCES)
	$(PYTHON) scripts/environment.py $(VENV) test
	touch $@ $(PROGRAM)

$(READY): $(SOURCES)
	$(PYTHON) scripts/environment.py $(VENV) dev
	touch $@ $(TESTS) $(PROGRAM)

$(PARITY_VENV)/.ready: $(SOURCES)
	$(PYTHON) scripts/environment.py $(PARITY_VENV) parity
	touch $@

$(CAUSES_VENV)/.ready: $(SOURCES)
	$(PYTHON) scripts/environment.py $(CAUSES_VENV) causes
	touch $@

$(RELEASE_VENV)/.ready: $(SOURCES)
	$(PYTHON) scripts/environment.py $(RELEASE_VENV) release
	touch $@

$(SITE_VENV)/.ready:
	$(PYTHON) -I -m venv $(SITE_VENV)
	$(SITE_VENV)/bin/pip install --quiet --disable-pip-version-check "mkdocs>=1.6,<2" "mkdocs-material>=9.5,<10"
	touch $@

clean:
	rm -rf $(VENV) $(PARITY_VENV) $(CAUSES_VENV) $(RELEASE_VENV) $(SITE_VENV) .ranges site build dist *.egg-info powertui/data/wire/*.so benchmarks/generated
