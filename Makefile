# `make demo` and `make test` do everything on a machine that has Python >= 3.11, git and make.

# Tests start many processes: each would compile all of our modules again.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --config-settings editable_mode=compat
INSTALLED := $(VENV)/.installed
RUNS := $(VENV)/.runs

# What is drawn at random, and which part of a family is tested: another one each day, the same one in `.ci/run`.
export TILEAS_SEED ?= $(shell date +%j)

.PHONY: demo test test-full durations verdicts lint types unit filecheck bench bench-gpu compare-tvm zoo pictures screenshots triton-texts mutate mutate-threads mutate-ptx ptx-corpus docs clean

# Types take one core for a minute, and the tests both.
test: lint
	@$(MAKE) --jobs 2 types unit
	@$(MAKE) filecheck

# What the package itself needs: 150 MB. The demo takes no more.
$(RUNS): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python >= 3.11 is needed; say which one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "This Python cannot make virtual environments; on Debian: apt-get install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	@touch $@

# What tests, oracles and the site need, beside.
$(INSTALLED): $(RUNS)
	$(PIP) --editable '.[dev]'
	@touch $@

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED)
	$(BIN)/basedpyright

# A part of each long family of tests, another one each day; `TILEAS_SEED=7 make test` says which.
unit: $(INSTALLED)
	TILEAS_CASES=sample $(BIN)/python -m pytest -n auto --dist worksteal --durations 40 --durations-min 10

# The processor time of every test, by which `unit` chooses, and starts the longest first.
durations: $(INSTALLED)
	TILEAS_DURATIONS=tests/durations.json $(BIN)/python -m pytest -n auto --dist worksteal

# All tests, with the corpora of random programs at full size and a report of them at the end.
test-full: $(INSTALLED)
	TILEAS_CASES=full $(BIN)/python -m pytest -n auto --dist worksteal

# The verdicts of all programs, alone and beside two busy processes: they are the same.
verdicts: $(INSTALLED)
	@mkdir -p build
	$(BIN)/python -m bench.verdicts > build/verdicts
	$(BIN)/python -m bench.verdicts --beside 2 | diff build/verdicts -

filecheck: $(INSTALLED)
	$(BIN)/lit tests/filecheck

demo: $(RUNS)
	$(BIN)/python -m examples.demo

bench: $(INSTALLED)
	$(BIN)/python -m bench

# A folder that a machine with a GPU runs: numbers, and times beside other libraries (docs/performance.md).
bench-gpu: $(INSTALLED)
	$(BIN)/python -m bench.gpu build/bench-gpu

compare-tvm: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --config-settings editable_mode=compat --editable '.[tvm]'
	$(BIN)/python -W ignore -m bench.compare_tvm --loops 400

zoo: $(INSTALLED)
	$(BIN)/python -m examples.zoo

pictures: $(INSTALLED)
	$(BIN)/python -m examples.pictures

# What Chromium shows of the pages that the commands write.
screenshots: $(INSTALLED)
	$(BIN)/python -m docs.screenshots

# Writes the TTGIR of the kernels in tests/triton again, by Triton 3.9. No GPU is needed.
triton-texts: $(INSTALLED)
	$(BIN)/python -W ignore -m tests.triton.emit

mutate: $(INSTALLED)
	$(BIN)/python -m bench.mutate

# One change in the PTX of each of twenty kernels, fifteen times: some 20 minutes on one core.
mutate-ptx: $(INSTALLED)
	$(BIN)/python -m bench.mutate_ptx

# Kernels of other compilers go into folders that TILEAS_PTX names: tests/support/ptx_corpus.py.
ptx-corpus: $(INSTALLED)
	$(BIN)/python -m bench ptx_corpus

# Each barrier and fence of the kernels' threads, dropped in turn: some 40 minutes on one core.
mutate-threads: $(INSTALLED)
	$(BIN)/python -m bench.mutate_threads

# The site, in build/site: no warning, no dead link, and no page that asks anything of a network.
docs: $(INSTALLED)
	$(BIN)/python -m docs.build

clean:
	rm -rf build
