"""
The commands of ``tilecomp``, each a module of this folder, thin over a function of the package.

A module is loaded when its command is asked for. Exit codes: 0 for success, 1 for files that are bad or could not be
handled, 2 for a wrong use of the command line, 130 after Ctrl-C, SIGTERM or SIGHUP, 141
where standard output was closed.
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from importlib import import_module

import click

from ..errors import TileCompError, warn_without_astropy
from .many import FAILED
from .messages import Failure, say, warn

__all__ = ["main", "tilecomp"]

COMMANDS = ("info", "list", "pack", "unpack", "cutout", "verify", "salvage", "refs", "plot", "advise")

INTERRUPTED = 130
CLOSED_PIPE = 141


class _Commands(click.Group):
    """The commands, loaded one by one, with errors as messages."""

    def list_commands(self, ctx):
        return list(COMMANDS)

    def get_command(self, ctx, name):
        return import_module(f".{name}", __package__).command if name in COMMANDS else None

    def invoke(self, ctx):
        try:
            super().invoke(ctx)
            ctx.exit(1 if FAILED in ctx.meta else 0)
        except KeyboardInterrupt:
            say("interrupted; nothing is half written")
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:  # whoever read the output has enough of it
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(CLOSED_PIPE)
        except (TileCompError, OSError, ImportError, ValueError, IndexError, TypeError, MemoryError) as error:
            raise Failure(error) from error


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="astropy_tilecomp", prog_name="tilecomp")
def tilecomp():
    """Look at, pack, unpack, check and repair tile-compressed FITS images.

    "tilecomp COMMAND --help" describes a command. Files may be paths, URLs, patterns in quotes, and "-" for standard
    input.
    """


def main() -> None:
    """Run the command line; warnings become lines of its own, and what no command needs is not started."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's threads for linear algebra spin while they wait
    warn_without_astropy()
    warnings.showwarning = warn
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup has it ignored
            signal.signal(number, signal.default_int_handler)
    try:
        tilecomp(prog_name="tilecomp")
    except BrokenPipeError:
        sys.exit(1)
