"""What is said on standard error, and exit codes."""

from __future__ import annotations

import os

import click

__all__ = ["Failure", "say", "say_of", "text_of", "warn"]


_OPTIONS = {
    "overwrite=True": "--force", "output= has": "--output has", ": give a fill_value": "; --mode trim keeps what is inside",
}
"""Arguments that messages name, as the command line calls them."""


class Failure(click.ClickException):
    """
    What ends a command with exit code 1 and a message, without a traceback.

    Parameters
    ----------
    error : Exception or str
        What went wrong.
    """

    exit_code = 1

    def __init__(self, error):
        super().__init__(text_of(error))

    def show(self, file=None):
        say(self.message)


def text_of(error) -> str:
    """An error in words, the name of the file first."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    text = str(error) or type(error).__name__
    for said, wanted in _OPTIONS.items():
        text = text.replace(said, wanted)
    return text


def say(message: str) -> None:
    """Write a line to standard error."""
    click.echo(f"tilecomp: {message}", err=True)


def say_of(file: str, error: Exception) -> None:
    """Write a line about an error with a file, which it names once and as the user did."""
    message = text_of(error).replace(os.path.abspath(file), file)
    say(message if file in message else f"{file}: {message}")


def warn(message, category, filename, lineno, file=None, line=None) -> None:
    """Show a warning of this package as a line of its own, in the place of `warnings.showwarning`; astropy logs its own."""
    if category.__module__.startswith("astropy_tilecomp"):
        say(f"warning: {message}")
