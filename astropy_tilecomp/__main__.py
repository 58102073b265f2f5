"""``python -m astropy_tilecomp`` is the command ``tilecomp``."""

import sys

from .adapters.extras import extra

__all__ = ["main"]


def main() -> None:
    """Run the command line, or say what has to be installed first."""
    try:
        with extra("cli"):
            from .adapters.cli.group import main as command
    except ImportError as error:
        sys.exit(f"tilecomp: {error}")
    command()


if __name__ == "__main__":
    main()
