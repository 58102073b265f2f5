#!/usr/bin/env bash
# Make a virtual environment and build the package in it, and install first what that needs.
#
#   tools/setup.sh demo    to build and run the package
#   tools/setup.sh test    besides: the peers, tools and sanitizers that the tests use
#   tools/setup.sh python  the needs of test, without those of the C tests
#   tools/setup.sh docs    besides the needs of demo: Sphinx
#   tools/setup.sh lint    besides the needs of demo: the checkers
#   tools/setup.sh wheels  cibuildwheel alone
#   tools/setup.sh minimal       to build the package and run the tests that need no optional package
#   tools/setup.sh oldest        the same with the oldest versions that pyproject.toml allows, of zarr too
#   tools/setup.sh development   the needs of python, with astropy and zarr as they are in their repositories
#   tools/setup.sh downstream    to build the package, and other packages with what their tests use
#
# Where apt or Homebrew is found the system packages are installed through it (apt with sudo, unless root); elsewhere a
# message names them.  PYTHON=... chooses the interpreter; by default python3 if it is 3.11 or newer, else the newest found.
# VENV=... chooses the folder of the virtual environment; by default .venv.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${VENV:-.venv}
levels="demo, test, python, docs, lint, wheels, minimal, oldest, development or downstream"
level=${1:?$levels was expected}

case $level in
    demo) extras=cli,zarr ;;
    test) extras=all,test,docs,lint ;;
    docs) extras=all,docs ;;
    lint) extras=all,lint ;;
    python | development) extras=all,test ;;
    minimal) extras=test_minimal ;;
    oldest) extras="cli,plot,zarr,remote,kerchunk,test_minimal --oldest cli,zarr" ;;
    wheels) extras=none ;;
    downstream) extras=downstream ;;
    *) echo "setup.sh: level is '$level'; $levels was expected" >&2; exit 2 ;;
esac

say() { echo "setup: $*" >&2; }
fail() { echo "setup: $*" >&2; exit 1; }

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    local candidate candidates=(python3 python3.{20..11})
    [ -z "${PYTHON:-}" ] || candidates=("$PYTHON")
    for candidate in "${candidates[@]}"; do
        if is_new_enough "$candidate"; then
            "$candidate" -c 'import sys; print(sys.executable)'
            return
        fi
    done
    fail "Python 3.11 or newer was not found (looked for: ${candidates[*]})"
}

has_headers() { "$1" -c 'import os, sysconfig as s; open(os.path.join(s.get_path("include"), "Python.h"))' 2>/dev/null; }
has_venv() { "$1" -c 'import ensurepip, venv' 2>/dev/null; }
has_library() { pkg-config --exists "$1" 2>/dev/null; }
has_sanitizers() {
    local folder status=0
    folder=$(mktemp -d)
    echo 'int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n) { (void)d; (void)n; return 0; }' > "$folder/t.c"
    clang -fsanitize=fuzzer,address,undefined "$folder/t.c" -o "$folder/t" 2>/dev/null || status=1
    rm -rf "$folder"
    return $status
}

# Debian's names of what is missing, one a line.
missing_packages() {
    local version
    version=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
    command -v gcc >/dev/null || echo gcc libc6-dev
    command -v pkg-config >/dev/null || echo pkg-config
    has_library cfitsio || echo libcfitsio-dev
    has_library libdeflate || echo libdeflate-dev
    has_headers "$python" || echo "$version-dev"
    has_venv "$python" || echo "$version-venv"
    if [ "$level" = test ] || [ "$level" = python ]; then
        command -v fpack >/dev/null && command -v funpack >/dev/null || echo libcfitsio-bin
    fi
    if [ "$level" = test ]; then
        command -v clang >/dev/null || echo clang
    fi
}

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

apt_install() {
    say "installing $*"
    as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2
}

install_system_packages() {
    local wanted
    wanted=$(missing_packages)
    if [ -n "$wanted" ] && ! command -v apt-get >/dev/null && command -v brew >/dev/null; then
        say "installing with Homebrew: cfitsio libdeflate pkg-config"
        brew install -q cfitsio libdeflate pkg-config >&2
    elif [ -n "$wanted" ]; then
        command -v apt-get >/dev/null || fail "missing (by Debian's names): $(echo $wanted)
  conda-forge   conda install -c conda-forge cfitsio libdeflate pkg-config c-compiler clang compiler-rt
  Homebrew      brew install cfitsio libdeflate pkg-config llvm"
        apt_install $wanted
    fi
    if [ "$level" = test ] && ! has_sanitizers; then
        command -v apt-get >/dev/null || fail "clang cannot link its sanitizers: conda-forge has them in compiler-rt, Homebrew in llvm"
        apt_install "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
        has_sanitizers || fail "clang still cannot link -fsanitize=fuzzer,address,undefined"
    fi
}

# Install with pip what is not there yet; the stamp tells that this was done for this pyproject.toml.
install_python_packages() {
    local stamp=$venv/installed-$level pip="$venv/bin/python -m pip --disable-pip-version-check -q"
    [ -x "$venv/bin/python" ] || { say "making $venv with $python"; "$python" -m venv "$venv"; }
    cmp -s pyproject.toml "$stamp" && return
    say "installing Python packages ($extras)"
    $pip install --upgrade "pip>=25" # older ones search long, or in vain, for versions that fit together
    $pip install $("$venv/bin/python" -c '
import tomllib
print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")')
    build_shallow_clones_too
    $pip install $("$venv/bin/python" tools/requirements.py $extras)
    if [ "$level" = development ]; then
        $pip install --upgrade "astropy @ git+https://github.com/astropy/astropy" "zarr @ git+https://github.com/zarr-developers/zarr-python"
    fi
    $pip install --no-build-isolation --no-deps --editable .
    cp pyproject.toml "$stamp"
}

# setuptools-scm wants a tag in reach; a shallow clone or one without tags has none.
build_shallow_clones_too() {
    if ! git describe --tags >/dev/null 2>&1; then
        export SETUPTOOLS_SCM_PRETEND_VERSION_FOR_ASTROPY_TILECOMP=${SETUPTOOLS_SCM_PRETEND_VERSION_FOR_ASTROPY_TILECOMP:-0.1.dev0}
    fi
}

python=$(find_python)
if [ "$level" = wheels ]; then
    [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
    "$venv/bin/python" -m pip --disable-pip-version-check -q install "cibuildwheel>=3"
    exit
fi
install_system_packages
install_python_packages
build_shallow_clones_too
"$venv/bin/python" setup.py -q build_ext --inplace
