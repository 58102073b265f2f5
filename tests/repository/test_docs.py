"""
Every code block of the documentation, of the README and of the docstrings is run, page by page.

A page runs in a folder that holds the files of ``tests/data``. Blocks run in their order and share their names:

* ``python``: statements, and lines with ``>>>`` whose output must match;
* ``console``: the commands of this package (``$ tilecomp ...``, ``$ python ...``); of others only those listed here occur.
"""

import doctest
import importlib
import os
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.needs import REPOSITORY, SHIPPED

import astropy_tilecomp

PAGES = sorted([*(REPOSITORY / "docs").glob("*.rst"), *(REPOSITORY / "docs" / "development").glob("*.rst"), REPOSITORY / "README.md",
                *REPOSITORY.glob("*.rst")])
LANGUAGES = {"python", "console", "text", "c", "json", "rst", "toml", "cython", "ini", "yaml"}
NOT_RUN = {"make", "git", "pip", "apt", "conda", "brew", "cd", "cp", "export", "source"}
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def rst_blocks(text):
    """Yield (language, line number, code) for each code block of a reStructuredText page."""
    lines = text.expandtabs().splitlines()
    number = 0
    while number < len(lines):
        directive = re.match(r"( *)\.\. code(?:-block)?:: *(\S*)", lines[number])
        prompt = re.match(r" *>>> ", lines[number])
        start, number = number, number + 1
        if directive:
            outer = len(directive[1])
            while number < len(lines) and (not lines[number].strip() or indent(lines[number]) > outer):
                number += 1
            body = [line for line in lines[start + 1 : number] if not re.match(r" +:[\w-]+:", line)]
            yield directive[2], start + 1, dedent(body)
        elif prompt:
            while number < len(lines) and lines[number].strip():
                number += 1
            yield "python", start + 1, dedent(lines[start:number])


def md_blocks(text):
    """Yield (language, line number, code) for each fenced block of a Markdown page."""
    for match in re.finditer(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        yield match[1] or "text", text[: match.start()].count("\n") + 1, match[2]


def blocks_of(page):
    """The blocks of a page of either kind."""
    return (md_blocks if page.suffix == ".md" else rst_blocks)(page.read_text())


def indent(line):
    return len(line) - len(line.lstrip())


def dedent(lines):
    least = min((indent(line) for line in lines if line.strip()), default=0)
    return "\n".join(line[least:] for line in lines) + "\n"


def run_python(code, names, page, line):
    """Run statements, then the examples that stand behind them, in turn as they occur."""
    for part in re.split(r"(?m)(^>>> (?:.*\n)(?:^(?:>>> |\.\.\. |\S| +\S).*\n)*)", code):
        if part.startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(part, names, page.name, str(page), line)
            failures = []
            doctest.DocTestRunner(verbose=False, optionflags=OPTIONS).run(test, out=failures.append, clear_globs=False)
            names.update(test.globs)
            assert not failures, "".join(failures)
        elif part.strip():
            exec(compile(part, f"{page.name}, block at line {line}", "exec"), names)


def run_console(code, folder):
    """Run the commands of a console block; each must exit with 0."""
    for command in re.findall(r"^\$ (.*(?:\\\n.*)*)", code, re.MULTILINE):
        words = shlex.split(command.replace("\\\n", " "), comments=True)
        if words[0] in NOT_RUN:
            continue
        run_in_this_environment(words, folder)


def run_in_this_environment(words, folder):
    """Run a command with the interpreter of the tests."""
    programs = {"python": [sys.executable], "tilecomp": [sys.executable, "-m", "astropy_tilecomp"]}
    assert words[0] in programs, f"{words[0]} is neither run nor listed in NOT_RUN"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([*programs[words[0]], *words[1:]], cwd=folder, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, f"{shlex.join(words)}: {done.stderr}"


@pytest.fixture
def folder_with_data(tmp_path, monkeypatch):
    """A working folder that holds copies of the shipped real files."""
    for path in SHIPPED.iterdir():
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_page(page, folder_with_data):
    names = {"__name__": "__main__"}
    for language, line, code in blocks_of(page):
        assert language in LANGUAGES, f"line {line}: a block in {language!r}"
        if language == "python":
            run_python(code, names, page, line)
        elif language == "console":
            run_console(code, folder_with_data)


def modules():
    """The names of all modules of the package that can be imported here."""
    found = pkgutil.walk_packages(astropy_tilecomp.__path__, "astropy_tilecomp.")
    return [info.name for info in found if not info.name.endswith(("setup_package", "__main__"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_blocks_can_be_copied(page):
    """The button that copies a block takes only the lines with a prompt, if there are any."""
    for language, line, code in blocks_of(page):
        if language == "python" and ">>> " in code:
            code = code.strip("\n")
            assert code.startswith(">>> "), f"line {line}: statements and a session in one block"
            assert not re.search(r"\n\n(?!>>> )", code), f"line {line}: statements behind a session in one block"


@pytest.mark.parametrize("name", modules())
def test_docstrings(name, folder_with_data):
    module = importlib.import_module(name)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, name):
        failures = []
        doctest.DocTestRunner(verbose=False, optionflags=OPTIONS).run(test, out=failures.append)
        assert not failures, "".join(failures)


def test_blocks_are_found():
    page = "Text\n\n.. code-block:: python\n   :caption: x\n\n   a = 1\n\n>>> a\n1\n\nMore\n\n.. code-block:: python\n\n   >>> a\n   1\n"
    assert [(language, line) for language, line, _ in rst_blocks(page)] == [("python", 3), ("python", 8), ("python", 13)]
    names = {}
    for _, line, code in rst_blocks(page):
        run_python(code, names, Path("page.rst"), line)
    with pytest.raises(AssertionError):
        run_python(">>> a\n2\n", names, Path("page.rst"), 1)


def test_every_setting_is_on_its_page():
    page = (REPOSITORY / "docs" / "settings.rst").read_text()
    folders = [REPOSITORY / "astropy_tilecomp", REPOSITORY / "cextern" / "tilecomp", REPOSITORY / "tests"]
    sources = [path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".pyx", ".pxi", ".c", ".h")]
    names = {name for path in sources for name in re.findall(r"ASTROPY_TILECOMP_[A-Z]+(?:_[A-Z]+)*", path.read_text())}
    assert {name for name in names if name not in page} == set()
