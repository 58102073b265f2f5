"""Byte ranges from S3."""

from __future__ import annotations

import asyncio

from .transport import Answer, changed_error
from .transport_fsspec import FsspecFile
from .transport_http import content_range

__all__ = ["S3Transport"]


class S3Transport(FsspecFile):
    """
    An object in S3, read with the condition that it is still the same.

    Parameters
    ----------
    fs : s3fs.S3FileSystem
        Gives the session and the credentials.
    path : str
        Bucket and key.
    """

    async def get(self, start, stop, version, timeout):
        return await asyncio.wait_for(self._get(start, stop, version), timeout)

    async def _get(self, start, stop, version):
        from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, NoCredentialsError

        bucket, key, version_id = self._fs.split_path(self._path)
        options = {"VersionId": version_id} if version_id else {}
        if version:
            options["IfMatch"] = version
        try:
            found = await self._fs._call_s3(
                "get_object", Bucket=bucket, Key=key, Range=f"bytes={start}-{stop - 1}", **self._fs.req_kw, **options
            )
            async with found["Body"] as body:
                data = await body.read()
        except NoCredentialsError as error:
            raise PermissionError(f"{self.name}: {error}; of a public file, open it with {{'anon': True}}") from error
        except Exception as error:
            cause = error.__cause__ if isinstance(error.__cause__, ClientError) else error
            code = str(getattr(cause, "response", {}).get("Error", {}).get("Code"))
            if code in ("PreconditionFailed", "412"):
                raise changed_error(self.name) from None
            if code in ("InvalidRange", "416"):
                return Answer(b"", 0)
            if isinstance(error, BotoCoreError | HTTPClientError) or "aiohttp" in type(error).__module__:
                raise ConnectionError(f"{type(error).__name__}: {error}") from error
            raise
        nbytes = content_range(self.name, found.get("ContentRange", ""))[1]
        return Answer(data, nbytes, found.get("ETag"))
