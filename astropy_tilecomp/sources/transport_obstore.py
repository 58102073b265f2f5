"""Byte ranges from obstore stores."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import SourceError
from .transport import Answer, Transport, changed_error, first_line, version_of
from .urls import has_secret, public_url

__all__ = ["ObstoreTransport"]

_PUBLIC_STORE_OPTIONS = {"bucket", "endpoint", "region", "skip_signature", "virtual_hosted_style_request"}


class ObstoreTransport(Transport):
    """
    A file of an obstore store, read with the condition that it is still the same.

    Parameters
    ----------
    store : obstore.store.ObjectStore
        The store; it repeats requests that fail by rules of its own.
    path : str
        The file in it.
    """

    def __init__(self, store, path: str):
        self._store, self._path = store, path
        self.name = f"<{type(store).__name__}>/{public_url(path)}"

    async def get(self, start, stop, version, timeout):
        import obstore

        options: Any = {"range": (start, stop)} | ({"if_match": version} if version else {})
        with self._translated():
            found = await asyncio.wait_for(obstore.get_async(self._store, self._path, options=options), timeout)
            data = await asyncio.wait_for(found.bytes_async(), timeout)
        return Answer(memoryview(data), int(found.meta["size"]), found.meta.get("e_tag"))

    async def first(self, nbytes, timeout):
        import obstore

        with self._translated():
            meta = await asyncio.wait_for(obstore.head_async(self._store, self._path), timeout)
        size, version = int(meta["size"]), version_of(meta)
        data = (await self.get(0, min(nbytes, size), meta.get("e_tag"), timeout)).data if size else b""
        return Answer(data, size, version)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Errors of obstore as those that `get` promises."""
        from obstore import exceptions

        try:
            yield
        except exceptions.PreconditionError:
            raise changed_error(self.name) from None
        except (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError) as error:
            raise PermissionError(f"{self.name}: {first_line(error)}") from error
        except exceptions.GenericError as error:
            raise ConnectionError(first_line(error)) from error
        except exceptions.BaseError as error:
            raise SourceError(f"{self.name}: {first_line(error)}") from error

    def __reduce__(self):
        config = getattr(self._store, "config", None) or {}
        url = getattr(self._store, "url", "")
        if not set(config) <= _PUBLIC_STORE_OPTIONS or has_secret(url) or _in_process(self._store):
            return super().__reduce__()
        return ObstoreTransport, (self._store, self._path)


def _in_process(store) -> bool:
    """Whether a store lives in the memory of this process, or gets its credentials from an object of it."""
    return type(store).__name__ == "MemoryStore" or getattr(store, "credential_provider", None) is not None
