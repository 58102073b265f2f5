"""
Run the tests of packages that read FITS twice, without `astropy_tilecomp.enable()` and with it, and compare the failures.

Tests that fail, or no longer run, only with this package enabled are named and make the exit status 1.  A suite that did not
run to its end makes it 1 as well, for nothing is known then.  The results and logs of pytest are kept in build/downstream.
"""

import os
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import click

SUITES = (
    "astropy.io.fits", "astropy.nddata", "astropy.table", "astropy.wcs", "ccdproc", "sunpy.io", "sunpy.map", "reproject", "healsparse",
    "dkist",
)
TESTS_IN_SOURCES = {"healsparse"}  # the wheel has none
REPOSITORY = Path(__file__).resolve().parent.parent
TESTS = REPOSITORY / "tests"
RESULTS = REPOSITORY / "build" / "downstream"
TESTS_FAILED = 1  # exit status of pytest
SECONDS_PER_RUN = 3600
LOG_LINES = 15


class SuiteError(Exception):
    """A run whose results cannot be compared."""


@dataclass(frozen=True)
class Comparison:
    """The failures of one suite without the package and with it; sets of test names."""

    n_tests: int
    failed_without: frozenset
    failed_with: frozenset
    lost: frozenset  # ran without the package, not with it

    @property
    def worse(self):
        return sorted(self.failed_with - self.failed_without)

    @property
    def better(self):
        return sorted(self.failed_without - self.failed_with - self.lost)


def read_outcomes(path):
    """
    Read which tests passed, failed and were skipped from a JUnit XML file.

    Parameters
    ----------
    path : path-like
        File that ``pytest --junitxml`` wrote.

    Returns
    -------
    dict of str to str
        "passed", "failed" or "skipped" for each test.

    Raises
    ------
    SuiteError
        If the file is missing or broken, or no test ran.
    """
    try:
        cases = list(ET.parse(path).iter("testcase"))
    except (OSError, ET.ParseError) as error:
        raise SuiteError(f"no results: {error}") from error
    found = {}
    for case in cases:
        name = f"{case.get('classname')}::{case.get('name')}"
        outcome = _outcome(case)
        if found.get(name) != "failed":  # a test whose teardown fails is there twice
            found[name] = outcome
    if not {"passed", "failed"} & set(found.values()):
        raise SuiteError(f"no test ran ({len(found)} were skipped)")
    return found


def _outcome(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    return "skipped" if case.find("skipped") is not None else "passed"


def compare(without, with_package, left_out=()):
    """
    Compare the outcomes of one suite.

    Parameters
    ----------
    without, with_package : dict of str to str
        Results of `read_outcomes`.
    left_out : collection of str, optional
        Tests that are not run with the package on purpose.

    Returns
    -------
    Comparison
    """
    def named(outcomes, *wanted):
        return frozenset(name for name, outcome in outcomes.items() if outcome in wanted)

    ran_without, ran_with = named(without, "passed", "failed"), named(with_package, "passed", "failed")
    return Comparison(len(without), named(without, "failed"), named(with_package, "failed"), ran_without - ran_with - frozenset(left_out))


def name_in_results(node):
    """The name that a pytest node id has in the results: `a/test_b.py::C::d` is `a.test_b.C::d`."""
    path, *names = node.split("::")
    return f"{'.'.join([path.removesuffix('.py').replace('/', '.'), *names[:-1]])}::{names[-1]}"


def tests_of(suite):
    """The arguments that lead pytest to the tests of an installed package."""
    if suite not in TESTS_IN_SOURCES:
        return ["--pyargs", suite]
    folder = RESULTS / suite / "sources"
    wanted = f"{suite}=={version(suite)}"
    if not list(folder.glob("*/tests")):
        options = ["-q", "--no-deps", "--no-build-isolation", "--no-binary", suite, "-d", str(folder)]
        command = [sys.executable, "-m", "pip", "download", *options, wanted]
        if subprocess.run(command).returncode:
            raise SuiteError(f"the sources of {wanted} cannot be had")
        with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
            archive.extractall(folder, filter="data")
    found = list(folder.glob("*/tests"))
    if not found:
        raise SuiteError(f"the sources of {wanted} have no folder tests")
    settings = folder / "pytest.ini"  # else those of this repository, above it, are read
    settings.write_text("[pytest]\n")
    return ["-c", str(settings), str(found[0])]


def run_suite(suite, results, *options):
    """Run the tests of an installed package in parallel, check that pytest reached its end, and return their outcomes."""
    results.parent.mkdir(parents=True, exist_ok=True)
    results.unlink(missing_ok=True)
    log = results.with_suffix(".log")
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(os.cpu_count()), "--hypothesis-profile=ci", "-p", "no:cacheprovider",
               *options, "--rootdir", sysconfig.get_path("purelib"), f"--junitxml={results}", *tests_of(suite)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))}
    with tempfile.TemporaryDirectory() as folder, log.open("w") as output:  # far from the pytest settings of this repository
        try:
            done = subprocess.run(command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT, timeout=SECONDS_PER_RUN)
        except subprocess.TimeoutExpired as error:
            raise SuiteError(f"did not end in {SECONDS_PER_RUN} s; see {log}") from error
    if done.returncode not in (0, TESTS_FAILED):
        tail = "\n".join(log.read_text().splitlines()[-LOG_LINES:])
        raise SuiteError(f"pytest ended with status {done.returncode}; see {log}\n{tail}")
    outcomes = read_outcomes(results)
    if done.returncode == TESTS_FAILED and "failed" not in outcomes.values():
        raise SuiteError(f"pytest failed, but none of its tests; see {log}")
    return outcomes


def compare_suite(suite):
    """Run a suite without the package and with it."""
    from support.enabled_plugin import deselected

    folder = RESULTS / suite
    without = run_suite(suite, folder / "without.xml")
    enabled = run_suite(suite, folder / "with.xml", "-p", "support.enabled_plugin")
    return compare(without, enabled, [name_in_results(node) for node in deselected()])


def difference_lines(compared):
    """Every test that differs, a line each."""
    for suite, result in compared.items():
        if isinstance(result, SuiteError):
            yield f"{suite}: {result}"
            continue
        for words, names in [("fails only with the package", result.worse), ("runs only without the package", sorted(result.lost)),
                             ("fails only without the package", result.better)]:
            yield from (f"{suite}: {words}: {name}" for name in names)


def table_lines(compared):
    """One line for each suite, below a heading."""
    form = "{:<18}{:>8}{:>16}{:>13}{:>13}".format
    yield form("suite", "tests", "failed without", "failed with", "differences")
    for suite, result in compared.items():
        if isinstance(result, SuiteError):
            yield form(suite, "error", "", "", "")
        else:
            differences = len(result.worse) + len(result.lost) + len(result.better)
            yield form(suite, result.n_tests, len(result.failed_without), len(result.failed_with), differences)


def is_bad(result):
    """Whether a suite has to be looked at: it could not be compared, or the package breaks or loses a test."""
    return isinstance(result, SuiteError) or bool(result.worse or result.lost)


@click.command()
@click.option("--only", "chosen", multiple=True, type=click.Choice(SUITES), help="Run this suite; may be repeated. Default: all.")
def main(chosen):
    """Compare the tests of other packages without astropy_tilecomp and with it enabled."""
    sys.path.insert(0, str(TESTS))
    compared = {}
    for suite in chosen or SUITES:
        click.echo(f"{suite} ...", err=True)
        try:
            compared[suite] = compare_suite(suite)
        except SuiteError as error:
            compared[suite] = error
    for line in (*difference_lines(compared), *table_lines(compared)):
        click.echo(line)
    sys.exit(any(map(is_bad, compared.values())))


if __name__ == "__main__":
    main()
