"""Where output goes: a file beside the input, one that is named, a folder, or standard output."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import click

from ..sources.streams import SpooledSource
from .many import is_url

__all__ = ["STANDARD", "check_output", "delete_input", "input_of", "output_for", "writing"]

STANDARD = "-"
"""Name of standard input and of standard output."""


def input_of(name: str):
    """What the functions of the package read: the name, or standard input."""
    if name != STANDARD:
        return name
    if sys.stdin is None:
        raise OSError("standard input is closed")
    return SpooledSource(sys.stdin.buffer, "<stdin>")


def check_output(files: list[str], output: str | None, rename: Callable[[str], str]) -> None:
    """
    Refuse an output that cannot take all files.

    Raises
    ------
    click.UsageError
        If there are many files, and `output` is no folder, or two of them would have one output.
    """
    if output is not None and len(files) > 1 and output != STANDARD and not os.path.isdir(output):
        raise click.UsageError(f"{output} is no folder: --output has to be one for {len(files)} files")
    if len(files) > 1 and (output == STANDARD or STANDARD in files):
        raise click.UsageError("standard input and output hold one file")
    to_standard = output == STANDARD or (output is None and STANDARD in files)
    if to_standard and sys.stdout is None:
        raise click.UsageError("standard output is closed")
    if to_standard and sys.stdout.isatty():
        raise click.UsageError("a FITS file is not written to a terminal; send it to a file or a pipe")
    _refuse_shared(files, output, rename)


def _refuse_shared(files: list[str], output: str | None, rename: Callable[[str], str]) -> None:
    """Refuse files of which one would replace what became of another."""
    made_from: dict[str, str] = {}
    for name in files:
        with suppress(OSError, ValueError):  # what is wrong with a file is told when its turn comes
            target = output_for(name, output, rename)
            other = made_from.setdefault(os.path.realpath(target), name)
            if other != name:
                raise click.UsageError(f"{other} and {name} would both become {target}")


def output_for(name: str, output: str | None, rename: Callable[[str], str]) -> str:
    """
    Name of the output of one file.

    Raises
    ------
    FileNotFoundError
        If there is no such file: that comes before what is wrong with its name.
    """
    if name != STANDARD and not is_url(name):
        os.stat(name)
    if output == STANDARD or (output is None and name == STANDARD):
        return STANDARD
    if output is not None and not os.path.isdir(output):
        return output
    base = os.path.basename(name.split("?")[0]) if is_url(name) or output is not None else name
    renamed = rename("standard-input.fits" if name == STANDARD else base)
    return os.path.join(output, renamed) if output is not None else renamed


@contextmanager
def writing(target: str) -> Iterator[str]:
    """Name a file to write; what is meant for standard output goes there once it is complete."""
    if target != STANDARD:
        yield target
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "output.fits")
        yield path
        with open(path, "rb") as file:
            while piece := memoryview(file.read(1 << 20)):
                while piece:  # without a buffer (PYTHONUNBUFFERED), a pipe or a disk may take a part of it
                    piece = piece[sys.stdout.buffer.write(piece):]
        sys.stdout.buffer.flush()


def delete_input(name: str, target: str) -> None:
    """
    Delete a file whose data another regular file holds by now.

    What was read from elsewhere stays, and so does a file whose output went to standard output, a device or a pipe.
    """
    if name == STANDARD or is_url(name) or not os.path.isfile(target) or os.path.samefile(name, target):
        return
    os.unlink(name)
