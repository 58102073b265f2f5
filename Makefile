# Every target does its own set-up: it needs Python >= 3.11, gcc, make and git, and apt or Homebrew for the rest (tools/setup.sh).
# PYTHON=python3.13 VENV=.venv-3.13 chooses the interpreter and the directory of its virtual environment.
VENV ?= .venv
export VENV
PYTHON_IN_VENV = $(VENV)/bin/python
C_TESTS = cextern/tilecomp/tests
SECONDS_PER_FUZZER ?= 15
JOBS := $(shell nproc 2>/dev/null || echo 2)
ROWS ?=

.PHONY: demo test test-c test-python test-quick test-minimal test-oldest test-development test-paths test-newest test-downstream bench \
        bench-memory bench-kernels fuzz sanitize tsan docs lint lint-host dist wheels clean

demo:
	tools/setup.sh demo
	$(PYTHON_IN_VENV) tools/demo.py

# The whole suite: C under sanitizers, a short run of each fuzzer, the docs, and pytest, whose closing line ends it.
test: test-c
	rm -rf docs/api
	$(PYTHON_IN_VENV) -m sphinx -W -q -b html docs docs/_build/html
	$(PYTHON_IN_VENV) -m pytest

# C under sanitizers, and a short run of each fuzzer.
test-c:
	tools/setup.sh test
	$(MAKE) -C $(C_TESTS) -j $(JOBS) check
	$(MAKE) -C $(C_TESTS) -j $(JOBS) sanitize
	$(MAKE) -C $(C_TESTS) -j $(JOBS) fuzz SECONDS=$(SECONDS_PER_FUZZER)

test-python:
	tools/setup.sh python
	$(PYTHON_IN_VENV) -m pytest

# What takes seconds is left out: a few minutes, to be run by habit.
test-quick:
	tools/setup.sh test
	$(PYTHON_IN_VENV) -m pytest -m "not slow" -n auto --benchmark-disable

# With numpy, astropy and click alone: what needs an optional package is skipped.
test-minimal: VENV := $(VENV)-minimal
test-minimal:
	tools/setup.sh minimal
	$(PYTHON_IN_VENV) -m pytest

# With the oldest versions that pyproject.toml allows, of astropy and zarr among others.
test-oldest: VENV := $(VENV)-oldest
test-oldest:
	tools/setup.sh oldest
	$(PYTHON_IN_VENV) -m pytest

# With astropy and zarr as they are in their repositories today.
test-development: VENV := $(VENV)-development
test-development:
	tools/setup.sh development
	$(PYTHON_IN_VENV) -m pytest

# The tests that reach the kernels, on every code path that this processor has; "make test-paths PATH_TESTS=" runs all tests.
PATH_TESTS ?= tests/codecs tests/decode tests/test_encode.py tests/read tests/across
test-paths:
	tools/setup.sh test
	for path in portable avx2 avx512; do ASTROPY_TILECOMP_CPU=$$path $(PYTHON_IN_VENV) -m pytest -q $(PATH_TESTS) || exit; done

# What meets the array packages once more on the newest Python here, with the newest of them that it can have; nothing
# where no Python is 3.12 or newer.
test-newest:
	python=$$(tools/newest_python.sh); if [ -z "$$python" ]; then echo "no Python 3.12 or newer here"; else \
	    PYTHON=$$python VENV=.venv-newest tools/setup.sh test && \
	    .venv-newest/bin/python -m pytest -q $$(grep -rlE --include="test_*.py" "zarr|kerchunk|xarray" tests); fi

# The tests of packages that read FITS (tools/downstream.py lists them), without this package and with it enabled: the same
# ones must fail.  It takes half an hour; "make test-downstream SUITES='ccdproc sunpy.io'" runs some of them.
SUITES ?=
test-downstream:
	VENV=.venv-downstream tools/setup.sh downstream
	.venv-downstream/bin/python tools/downstream.py $(addprefix --only ,$(SUITES))

bench:
	tools/setup.sh test
	$(PYTHON_IN_VENV) -m benchmarks $(if $(ROWS),--rows $(ROWS))

bench-memory:
	tools/setup.sh test
	$(PYTHON_IN_VENV) -m benchmarks --memory

bench-kernels:
	tools/setup.sh demo
	$(MAKE) -C benchmarks/kernels run

# Whole files and sequences of edits first, which takes half an hour, then ten million inputs for each decoder, which takes an hour on two cores.
fuzz:
	tools/setup.sh test
	PYTHONPATH=tests $(PYTHON_IN_VENV) -m support.fuzz_files --files 20000
	PYTHONPATH=tests $(PYTHON_IN_VENV) -m support.edit_sequences --seed 2000 --sequences 20000
	$(MAKE) -C $(C_TESTS) -j $(JOBS) fuzz RUNS=10000000

# All C tests under the address and undefined-behaviour sanitizers, and under the thread sanitizer.
sanitize: tsan
	$(MAKE) -C $(C_TESTS) -j $(JOBS) sanitize

tsan:
	tools/setup.sh test
	$(MAKE) -C $(C_TESTS) -j $(JOBS) tsan

docs:
	tools/setup.sh docs
	rm -rf docs/api
	$(PYTHON_IN_VENV) -m sphinx -W -q -b html docs docs/_build/html

lint:
	tools/setup.sh lint
	$(PYTHON_IN_VENV) -m ruff check .
	$(PYTHON_IN_VENV) -m codespell_lib .
	$(PYTHON_IN_VENV) -m mypy
	$(PYTHON_IN_VENV) tools/validate_docstrings.py
	$(MAKE) lint-host

# The files that a public host reads, checked with the schemas that check-jsonschema brings; nothing where it is not installed.
lint-host:
	$(PYTHON_IN_VENV) tools/check_host_files.py

dist:
	tools/setup.sh lint
	$(PYTHON_IN_VENV) -m build

# Wheels of this platform in wheelhouse/; on Linux this takes a container engine.
wheels:
	tools/setup.sh wheels
	$(PYTHON_IN_VENV) -m cibuildwheel

clean:
	rm -rf .venv .venv-* build dist wheelhouse *.egg-info docs/_build docs/api $(C_TESTS)/build
	find astropy_tilecomp -name '*.so' -delete
