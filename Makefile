# Every target does its own set-up: it needs Python >= 3.11, gcc, make and git, and apt for the rest (tools/setup.sh).
PYTHON_IN_VENV = .venv/bin/python
C_TESTS = cextern/tilecomp/tests
SECONDS_PER_FUZZER ?= 15
JOBS := $(shell nproc 2>/dev/null || echo 2)
ROWS ?=

.PHONY: demo test test-c test-python test-paths test-newest test-downstream bench bench-memory bench-kernels fuzz sanitize tsan docs lint dist clean

demo:
	tools/setup.sh demo
	$(PYTHON_IN_VENV) tools/demo.py

# The whole suite: C under sanitizers, a short run of each fuzzer, the docs, and pytest, whose closing line ends it.
test:
	tools/setup.sh test
	$(MAKE) -C $(C_TESTS) -j $(JOBS) check
	$(MAKE) -C $(C_TESTS) -j $(JOBS) sanitize
	$(MAKE) -C $(C_TESTS) -j $(JOBS) fuzz SECONDS=$(SECONDS_PER_FUZZER)
	rm -rf docs/api
	$(PYTHON_IN_VENV) -m sphinx -W -q -b html docs docs/_build/html
	$(PYTHON_IN_VENV) -m pytest

test-python:
	tools/setup.sh test
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

dist:
	tools/setup.sh lint
	$(PYTHON_IN_VENV) -m build

clean:
	rm -rf .venv .venv-newest .venv-downstream build dist *.egg-info docs/_build docs/api $(C_TESTS)/build
	find astropy_tilecomp -name '*.so' -delete
