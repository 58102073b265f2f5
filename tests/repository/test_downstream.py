"""What ``tools/downstream.py`` makes of the results of two runs of a suite."""

import importlib.util
import subprocess
import sys

import pytest
from click.testing import CliRunner
from support import needs


@pytest.fixture
def downstream():
    spec = importlib.util.spec_from_file_location("downstream_under_test", needs.REPOSITORY / "tools" / "downstream.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look it up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


ELEMENTS = {"failed": "<failure/>", "error": "<error/>", "skipped": "<skipped/>", "passed": ""}


def results(path, **outcomes):
    """Write JUnit XML with a test for each keyword."""
    cases = "".join(f'<testcase classname="m" name="{name}">{ELEMENTS[outcome]}</testcase>' for name, outcome in outcomes.items())
    path.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    return path


def compared(downstream, folder, without, with_package, **options):
    runs = [downstream.read_outcomes(results(folder / "a.xml", **outcomes)) for outcomes in (without, with_package)]
    return downstream.compare(*runs, **options)


def test_the_same_failures_are_no_difference(downstream, tmp_path):
    outcomes = {"a": "passed", "b": "failed", "c": "error", "d": "skipped"}
    result = compared(downstream, tmp_path, outcomes, outcomes)
    assert (result.n_tests, result.failed_with) == (4, {"m::b", "m::c"})
    assert not downstream.is_bad(result)
    assert list(downstream.difference_lines({"suite": result})) == []
    assert list(downstream.table_lines({"suite": result}))[1].split() == ["suite", "4", "2", "2", "0"]


@pytest.mark.parametrize("outcome", ["failed", "error"])
def test_a_new_failure_is_named(downstream, tmp_path, outcome):
    result = compared(downstream, tmp_path, {"a": "passed", "b": "failed"}, {"a": outcome, "b": "failed"})
    assert downstream.is_bad(result)
    assert list(downstream.difference_lines({"suite": result})) == ["suite: fails only with the package: m::a"]


def test_a_failure_that_is_gone_is_named_but_does_no_harm(downstream, tmp_path):
    result = compared(downstream, tmp_path, {"a": "passed", "b": "failed"}, {"a": "passed", "b": "passed"})
    assert not downstream.is_bad(result)
    assert list(downstream.difference_lines({"suite": result})) == ["suite: fails only without the package: m::b"]


@pytest.mark.parametrize("rest", [{}, {"b": "skipped"}], ids=["absent", "skipped"])
@pytest.mark.parametrize("before", ["passed", "failed"])
def test_a_test_that_no_longer_runs_is_named(downstream, tmp_path, rest, before):
    runs = {"a": "passed", "b": before}, {"a": "passed", **rest}
    result = compared(downstream, tmp_path, *runs)
    assert downstream.is_bad(result)
    assert list(downstream.difference_lines({"suite": result})) == ["suite: runs only without the package: m::b"]
    assert not downstream.is_bad(compared(downstream, tmp_path, *runs, left_out=["m::b"]))


def test_a_test_whose_teardown_fails_has_failed(downstream, tmp_path):
    path = results(tmp_path / "a.xml", a="error")
    path.write_text(path.read_text().replace("<testcase", '<testcase classname="m" name="a"/><testcase'))
    assert downstream.read_outcomes(path) == {"m::a": "failed"}


@pytest.mark.parametrize("content", [None, "", "<testsuites><testsuite", "<testsuites/>",
                                     '<testsuites><testcase classname="m" name="a"><skipped/></testcase></testsuites>'])
def test_missing_broken_and_empty_results_are_errors(downstream, tmp_path, content):
    if content is not None:
        (tmp_path / "a.xml").write_text(content)
    with pytest.raises(downstream.SuiteError):
        downstream.read_outcomes(tmp_path / "a.xml")


@pytest.mark.parametrize("status", [2, 3, 4, 5, -11])
def test_a_run_that_ends_early_is_an_error(downstream, tmp_path, monkeypatch, status):
    def run(command, **options):
        results(tmp_path / "without.xml", a="passed")
        return subprocess.CompletedProcess(command, status)

    monkeypatch.setattr(downstream.subprocess, "run", run)
    with pytest.raises(downstream.SuiteError, match=f"status {status}"):
        downstream.run_suite("suite", tmp_path / "without.xml")


def test_results_of_an_earlier_run_do_not_count(downstream, tmp_path, monkeypatch):
    results(tmp_path / "without.xml", a="passed")
    monkeypatch.setattr(downstream.subprocess, "run", lambda command, **options: subprocess.CompletedProcess(command, 0))
    with pytest.raises(downstream.SuiteError, match="no results"):
        downstream.run_suite("suite", tmp_path / "without.xml")


def test_the_command_fails_if_a_suite_does(downstream, monkeypatch):
    same = downstream.Comparison(1, frozenset(), frozenset(), frozenset())

    def compare_suite(suite):
        if suite == "ccdproc":
            raise downstream.SuiteError("no results")
        return same

    monkeypatch.setattr(downstream, "compare_suite", compare_suite)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert CliRunner().invoke(downstream.main, ["--only", "dkist"]).exit_code == 0
    done = CliRunner().invoke(downstream.main, [])
    assert done.exit_code == 1
    assert "ccdproc: no results" in done.output
    assert all(f"\n{suite} " in done.output for suite in downstream.SUITES)


def test_node_ids_are_found_in_the_results(downstream):
    assert downstream.name_in_results("a/b/test_c.py::D::test_e") == "a.b.test_c.D::test_e"
    assert downstream.name_in_results("a/test_c.py::test_e") == "a.test_c::test_e"
