"""
Fixtures for every test, and the rule for skips.

A test that needs ``../shared``, a peer or a tool is skipped where that is absent (needs.py). With
ASTROPY_TILECOMP_REQUIRE=all in the environment such a skip is a failure, except for those that
allowed_skips.txt lists.
"""

import fnmatch
import json
import os
from pathlib import Path

import hypothesis
import pytest
from support import needs

REQUIRE_ALL = os.environ.get("ASTROPY_TILECOMP_REQUIRE") == "all"

hypothesis.settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.function_scoped_fixture],
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def allowed_skips():
    """The (node id pattern, reason pattern) pairs of allowed_skips.txt."""
    lines = Path(__file__).with_name("allowed_skips.txt").read_text().splitlines()
    pairs = [line.split("|") for line in lines if line.strip() and not line.startswith("#")]
    return [(node.strip(), reason.strip()) for node, reason in pairs]


def fail_if_skipped(report):
    """Turn a skip that allowed_skips.txt does not list into a failure."""
    if not (REQUIRE_ALL and report.skipped) or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[-1].removeprefix("Skipped: ")
    for node_pattern, reason_pattern in allowed_skips():
        if fnmatch.fnmatch(report.nodeid, node_pattern) and fnmatch.fnmatch(reason, reason_pattern):
            return
    report.outcome = "failed"
    report.longrepr = (
        f"{report.nodeid} was skipped: {reason}\n"
        "Under ASTROPY_TILECOMP_REQUIRE=all only the skips of tests/allowed_skips.txt are allowed."
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    report = yield
    fail_if_skipped(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    report = yield
    fail_if_skipped(report)
    return report


def read_manifest(folder):
    """The entries of ``MANIFEST.json`` for the tile-compressed files of a folder of real files."""
    return json.loads((folder / "MANIFEST.json").read_text())["files"]


@pytest.fixture(scope="session")
def shipped():
    """The folder of real files that are part of the repository."""
    return needs.SHIPPED


@pytest.fixture(scope="session")
def panoptes(shipped):
    """A real image of the sky, 700 x 700 unsigned 16-bit pixels, RICE_1 in row tiles, in HDU 1."""
    return shipped / "panoptes_solved.fits.fz"
