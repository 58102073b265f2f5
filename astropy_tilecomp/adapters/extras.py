"""One message for every optional package that is missing: the extra that brings it."""

from contextlib import contextmanager

__all__ = ["extra"]


@contextmanager
def extra(name: str):
    """
    Import optional packages inside this block.

    Raises
    ------
    ImportError
        If one of them is missing; its message names the extra.
    """
    try:
        yield
    except ImportError as error:
        raise ImportError(
            f"{error}; it comes with the extra {name!r}: pip install 'astropy_tilecomp[{name}]'", name=error.name
        ) from error
