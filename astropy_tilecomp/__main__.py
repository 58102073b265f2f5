"""``python -m astropy_tilecomp`` is the command ``tilecomp``."""

from .adapters.extras import extra

with extra("cli"):
    from .adapters.cli.group import main

if __name__ == "__main__":
    main()
