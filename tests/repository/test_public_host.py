"""The files that a public host reads: valid, and no step does what the Makefile does not."""

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib

import pytest
from support import needs
from support.needs import REPOSITORY

WORKFLOWS = sorted((REPOSITORY / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))
each_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=[path.stem for path in WORKFLOWS])
USED_IN = [".github/workflows/*.yml", ".ci/run", "tox.ini", "CONTRIBUTING.rst", "README.md", "docs/**/*.rst", ".pre-commit-config.yaml",
           ".github/pull_request_template.md"]


def jobs_of(path):
    return needs.module("yaml").safe_load(path.read_text())["jobs"]


def runs_of(job):
    """The commands of a job, once for each target of its matrix."""
    targets = job.get("strategy", {}).get("matrix", {}).get("target", [""])
    for step in job["steps"]:
        if "run" in step:
            yield from {step["run"].replace("${{ matrix.target }}", target) for target in targets}


def checked(folder):
    """Run tools/check_host_files.py of a copy of the repository."""
    return subprocess.run([sys.executable, folder / "tools" / "check_host_files.py"], capture_output=True, text=True)


@each_workflow
def test_every_step_is_a_make_target(path):
    for job in jobs_of(path).values():
        for command in runs_of(job):
            name = re.fullmatch(r"make ([a-z-]+)( [A-Z]+=\S+)*", command)
            assert name, command
            assert name[1] in TARGETS, command


@each_workflow
def test_every_job_has_a_time_limit_and_few_rights(path):
    workflow = needs.module("yaml").safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert "timeout-minutes" in job, name
        assert job.get("permissions", {}).keys() <= {"id-token"}, name


@pytest.mark.parametrize("pattern", USED_IN)
def test_every_make_command_is_a_target(pattern):
    for path in REPOSITORY.glob(pattern):
        before = r"(?:`|\$ )" if path.suffix in (".rst", ".md") else r"(?:^|[ =])"
        for name in re.findall(before + r"make ([a-z][a-z-]+)\b", path.read_text(), re.MULTILINE):
            assert name in TARGETS, f"{path.name}: make {name}"


def test_workflows_test_every_python_of_the_classifiers():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    found = [re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", each) for each in project["classifiers"]]
    claimed = {match[1] for match in found if match}
    tests = jobs_of(REPOSITORY / ".github" / "workflows" / "tests.yml")
    assert set(tests["python"]["strategy"]["matrix"]["python"]) == claimed


def test_the_files_fit_their_schemas():
    needs.module("check_jsonschema")
    done = checked(REPOSITORY)
    assert done.returncode == 0, done.stderr


def test_a_wrong_file_is_found(tmp_path):
    needs.module("check_jsonschema")
    for name in (".github", "tools"):
        shutil.copytree(REPOSITORY / name, tmp_path / name)
    for name in (".readthedocs.yaml", "CITATION.cff"):
        shutil.copy(REPOSITORY / name, tmp_path)
    assert checked(tmp_path).returncode == 0
    weekly = tmp_path / ".github" / "workflows" / "weekly.yml"
    weekly.write_text(weekly.read_text().replace("runs-on:", "run-on:", 1))
    citation = tmp_path / "CITATION.cff"
    citation.write_text(citation.read_text().replace("type: software", "type: program"))
    done = checked(tmp_path)
    assert done.returncode == 1
    assert "weekly.yml" in done.stderr
    assert "CITATION.cff" in done.stderr


def test_authors_are_the_same_everywhere():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    names = [author["name"] for author in project["authors"]]
    citation = needs.module("yaml").safe_load((REPOSITORY / "CITATION.cff").read_text())
    assert [author.get("name") or f"{author['given-names']} {author['family-names']}" for author in citation["authors"]] == names
    assert citation["license"] == project["license"]


def test_the_oldest_requirements_are_pinned():
    spec = importlib.util.spec_from_file_location("requirements_under_test", REPOSITORY / "tools" / "requirements.py")
    requirements = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(requirements)
    assert requirements.pinned("zarr>=3.0.8") == "zarr==3.0.8"
    assert requirements.pinned("dask[array]") == "dask[array]"
    command = [sys.executable, spec.origin, "zarr,test_minimal", "--oldest", "zarr"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = done.stdout.split()
    assert {re.split("[=>]", line)[0] for line in lines if "==" in line} >= {"numpy", "astropy", "zarr"}
    assert any(line.startswith("pytest>=") for line in lines)
