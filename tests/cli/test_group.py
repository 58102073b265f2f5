"""What all commands share: help, usage errors, messages, exit codes, completion, colours, bars, Ctrl-C."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import pytest
from astropy.io import fits
from support.command_line import COLOURS, fail, leftovers, process, run, succeed
from support.damaged_files import star_image, write_broken
from support.needs import REPOSITORY

from astropy_tilecomp.cli.group import COMMANDS


def test_help_lists_every_command():
    text = succeed("--help")
    assert all(re.search(rf"^  {name} ", text, re.MULTILINE) for name in COMMANDS)


def test_version():
    assert succeed("--version").startswith("tilecomp, version ")


@pytest.mark.parametrize("command", COMMANDS)
def test_usage_errors(command):
    assert "No such option" in fail(command, "--no-such-option", "a.fits", code=2)
    assert "Missing argument" in fail(command, code=2)


def test_unknown_command():
    assert "No such command 'compress'" in fail("compress", code=2)


def test_patterns(tmp_path):
    assert "no file fits this pattern" in fail("list", tmp_path / "*.fits")
    for name in "ba":
        fits.PrimaryHDU(star_image()).writeto(tmp_path / f"{name}.fits")
    listed = succeed("list", tmp_path / "*.fits", tmp_path / "a.fits")
    assert re.findall(r"([ab])\.fits ", listed) == ["a", "b"]


def test_one_bad_file_does_not_keep_others_from_it(tmp_path):
    fits.PrimaryHDU(star_image()).writeto(tmp_path / "a.fits")
    result = run("pack", tmp_path / "nowhere.fits", tmp_path / "a.fits")
    assert result.exit_code == 1
    assert (tmp_path / "a.fits.fz").exists()
    assert "nowhere.fits: No such file or directory" in result.stderr


def test_unreadable_file(tmp_path):
    assert "tilecomp: " in fail("info", tmp_path)  # a folder
    assert "a directory" in fail("verify", tmp_path)


def test_python_dash_m_and_pipes(tmp_path):
    """Bytes in, bytes out, nothing else in between; reports go to standard error."""
    fits.PrimaryHDU(star_image()).writeto(tmp_path / "a.fits")
    content = (tmp_path / "a.fits").read_bytes()
    packed = process("pack", "-", input=content)
    assert packed.returncode == 0
    assert b"1 of 1 HDUs packed" in packed.stderr
    restored = process("unpack", "-", input=packed.stdout)
    assert restored.stdout == content
    assert not COLOURS.search((packed.stderr + restored.stderr).decode())


@pytest.mark.parametrize(("closed", "stream"), [("<&-", "input"), (">&-", "output")])
def test_a_closed_stream(closed, stream):
    done = subprocess.run(f"{sys.executable} -m astropy_tilecomp pack - {closed}", shell=True, capture_output=True, cwd=REPOSITORY)
    assert done.returncode != 0
    assert f"standard {stream} is closed" in done.stderr.decode()
    assert b"Traceback" not in done.stderr


def test_a_reader_that_goes_away(tmp_path):
    fits.PrimaryHDU(star_image()).writeto(tmp_path / "a.fits")
    command = f"{sys.executable} -m astropy_tilecomp list {' '.join([str(tmp_path / 'a.fits')] * 3)} | head -c 1"
    done = subprocess.run(command, shell=True, capture_output=True, cwd=REPOSITORY)
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_completion(shell):
    done = subprocess.run([sys.executable, "-c", "from astropy_tilecomp.cli.group import main; main()"], cwd=REPOSITORY,
                          env={**os.environ, "_TILECOMP_COMPLETE": f"{shell}_source"}, capture_output=True, text=True)
    assert "_TILECOMP_COMPLETE" in done.stdout


def _in_a_terminal(words, folder, seconds=60):
    """What a command writes when standard error is a terminal."""
    leader, follower = pty.openpty()
    running = subprocess.Popen([sys.executable, "-m", "astropy_tilecomp", *words], cwd=folder, stdout=subprocess.PIPE, stderr=follower,
                               env={**os.environ, "PYTHONPATH": str(REPOSITORY), "TERM": "xterm"})
    os.close(follower)
    written, end = b"", time.monotonic() + seconds
    while time.monotonic() < end:
        if select.select([leader], [], [], 0.1)[0]:
            try:
                written += os.read(leader, 65536)
            except OSError:
                break
        elif running.poll() is not None:
            break
    os.close(leader)
    return running.wait(), written, running.stdout.read()


def test_bars_on_a_terminal_alone(tmp_path):
    fits.PrimaryHDU(star_image(shape=(2000, 2000))).writeto(tmp_path / "a.fits")
    code, errors, output = _in_a_terminal(["pack", "a.fits"], tmp_path)
    assert code == 0
    assert COLOURS.search(errors.decode())
    assert "━".encode() in errors
    assert not COLOURS.search(output.decode())
    _, quiet, output = _in_a_terminal(["pack", "--quiet", "--force", "a.fits"], tmp_path)
    assert (quiet, output) == (b"", b"")


@pytest.mark.parametrize(
    ("jobs", "number"), [("1", signal.SIGINT), ("2", signal.SIGINT), ("2", signal.SIGTERM), ("2", signal.SIGHUP)]
)
def test_signals_leave_nothing_half_written(tmp_path, jobs, number):
    for name in "abcdef":
        fits.PrimaryHDU(np.zeros((6000, 6000), "i2")).writeto(tmp_path / f"{name}.fits")
    running = subprocess.Popen([sys.executable, "-m", "astropy_tilecomp", "pack", "-h", "-j", jobs, "*.fits"], cwd=tmp_path,
                               stderr=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
                               preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))  # ignored in a background job
    end = time.monotonic() + 60
    while not leftovers(tmp_path) and time.monotonic() < end:
        time.sleep(0.01)
    assert leftovers(tmp_path)
    running.send_signal(number)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 130
    assert b"interrupted" in errors
    assert b"Traceback" not in errors
    assert leftovers(tmp_path) == []
    for path in tmp_path.glob("*.fz"):
        assert succeed("verify", path)


def test_warnings_are_lines(tmp_path):
    fits.PrimaryHDU(star_image()).writeto(tmp_path / "a.fits")
    with open(tmp_path / "a.fits", "ab") as file:
        file.write(b"behind")
    done = process("pack", tmp_path / "a.fits")
    assert done.returncode == 0
    assert b"tilecomp: warning: " in done.stderr
    assert b"behind its last HDU" in done.stderr


@pytest.mark.parametrize("words", [["pack", "-f", "a.fits"], ["unpack", "-f", "a.fits.fz"], ["list", "a.fits.fz"]], ids=" ".join)
def test_a_command_starts_without_astropy(tmp_path, words):
    """Its import takes longer than many commands; not even a warning needs it."""
    fits.PrimaryHDU(star_image()).writeto(tmp_path / "a.fits")
    succeed("pack", tmp_path / "a.fits")
    with open(tmp_path / "a.fits", "ab") as file:
        file.write(b"behind")
    code = (
        "import atexit, sys; from astropy_tilecomp.cli.group import main;"
        "atexit.register(lambda: print('astropy' in sys.modules)); main()"
    )
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run([sys.executable, "-c", code, *words], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.split()[-1] == "False"
    assert ("behind its last HDU" in done.stderr) == (words[0] == "pack")


def test_a_bad_file_in_every_command(tmp_path):
    """Damage is a message, never a traceback."""
    write_broken(tmp_path / "a.fits.fz")
    messages = {
        "unpack": fail("unpack", tmp_path / "a.fits.fz"),
        "cutout": fail("cutout", "--index", "0:16,48:64", tmp_path / "a.fits.fz"),
        "advise": fail("advise", tmp_path / "a.fits.fz"),
    }
    assert all("row 3" in text for text in messages.values())
    assert not (tmp_path / "a.fits").exists()


def test_without_the_extra_of_the_command_line(tmp_path):
    """An installation without rich runs, tables among it."""
    (tmp_path / "rich").mkdir()
    (tmp_path / "rich" / "__init__.py").write_text("raise ImportError(\"No module named 'rich'\")\n")
    fits.PrimaryHDU(np.zeros((30, 40), "i2")).writeto(tmp_path / "a.fits")
    done = subprocess.run(
        [sys.executable, "-m", "astropy_tilecomp", "list", tmp_path / "a.fits"], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(REPOSITORY)])},
    )
    assert done.returncode == 0 and "30 x 40" in done.stdout and not done.stderr


@pytest.mark.parametrize("words", [["list"], ["info"], ["verify"], ["pack"], ["salvage"]], ids=lambda words: words[0])
def test_an_empty_file(tmp_path, words):
    (tmp_path / "empty.fits").touch()
    result = run(*words, tmp_path / "empty.fits")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"tilecomp: {tmp_path / 'empty.fits'}: not a FITS file: it is empty\n"
    assert [path.name for path in tmp_path.iterdir()] == ["empty.fits"]


@pytest.mark.parametrize("words", [[], ["list"], ["cutout"], ["verify"]], ids=str)
def test_h_is_help(words):
    done = run(*words, "-h")
    assert done.exit_code == 0 and "Usage" in done.stdout


def test_a_closed_pipe_is_silent(panoptes):
    command = [sys.executable, "-m", "astropy_tilecomp", "unpack", "-S", panoptes]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=REPOSITORY) as process:
        process.stdout.read(80)
        process.stdout.close()
        assert process.stderr.read() == b"" and process.wait(60) == 141


@pytest.mark.parametrize("term", ["dumb", "unknown", "xterm"])
def test_tables_are_whole_on_every_terminal(term, panoptes):

    mine, its = pty.openpty()
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES", "NO_COLOR")} | {"TERM": term}
    process = subprocess.Popen([sys.executable, "-m", "astropy_tilecomp", "list", panoptes], stdin=its, stdout=its, stderr=its,
                               env=environment, cwd=REPOSITORY)
    os.close(its)
    parts = []
    with suppress(OSError):  # the other side is closed
        while part := os.read(mine, 4096):
            parts.append(part)
    process.wait()
    os.close(mine)
    text = b"".join(parts).decode()
    assert "\x1b" not in text and "COMPRESSED_IMAGE   compressed image   700 x 700" in text
