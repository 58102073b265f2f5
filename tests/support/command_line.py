"""Running the command ``tilecomp`` in tests: in this process where that will do, else in one of its own."""

import os
import re
import subprocess
import sys

from click.testing import CliRunner

from astropy_tilecomp.cli.group import tilecomp
from support.needs import REPOSITORY

COLOURS = re.compile(r"\x1b\[")


def run(*words):
    """Run a command in this process; the result has exit_code, stdout and stderr."""
    result = CliRunner().invoke(tilecomp, [str(word) for word in words])
    assert not COLOURS.search(result.output)
    assert "Traceback" not in result.output
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def succeed(*words):
    """Run a command that must exit with 0; gives what it wrote to standard output."""
    result = run(*words)
    assert result.exit_code == 0, result.output
    return result.stdout


def fail(*words, code=1):
    """Run a command that must fail; gives what it wrote to standard error."""
    result = run(*words)
    assert result.exit_code == code, result.output
    return result.stderr


def process(*words, **options):
    """Run a command in a process of its own."""
    path = os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
    return subprocess.run([sys.executable, "-m", "astropy_tilecomp", *map(str, words)], capture_output=True,
                          env={**os.environ, "PYTHONPATH": path}, **options)


def check_help(command, *options):
    """``--help`` exits with 0, and names some options."""
    text = succeed(command, "--help")
    assert text.startswith(f"Usage: tilecomp {command}")
    for option in options:
        assert option in text


def check_missing(command, folder, *words):
    """A file that is not there gives exit code 1 and a line that names it."""
    message = fail(command, folder / "nowhere.fits.fz", *words)
    assert message.startswith("tilecomp: ")
    assert "nowhere.fits.fz" in message
    assert "No such file" in message


def check_no_fits(command, folder, *words):
    """A file of something else gives exit code 1 and a line that says so."""
    (folder / "text.fits").write_text("this is no image\n" * 999)
    message = fail(command, folder / "text.fits", *words)
    assert "text.fits" in message
    assert "not a FITS file" in message


def leftovers(folder):
    """Files that a command should have taken away."""
    return [path.name for path in folder.iterdir() if path.name.endswith(".part")]
