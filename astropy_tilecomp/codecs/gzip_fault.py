"""Why a gzip member cannot be inflated: libdeflate says only that it cannot, zlib says more."""

from __future__ import annotations

import zlib

from . import _kernels

__all__ = ["exact_status"]

_PIECE_NBYTES = 1 << 14
_NAME_OF = {status: name for name, status in _kernels.STATUS.items()}
_INEXACT = {"CORRUPT", "SIZE_MISMATCH", "NO_SPACE"}
_CHECKS = ("incorrect data check", "incorrect length check")


def exact_status(status: int, stream: bytes, max_nbytes: int) -> int:
    """
    Say more exactly what is wrong with a gzip member.

    Parameters
    ----------
    status : int
        What `_kernels` says of it.
    stream : bytes
        The member, and whatever follows it.
    max_nbytes : int
        Bytes of content after which nothing more is looked for.

    Returns
    -------
    int
        A status that tells truncated members, other formats and wrong checksums apart; else `status`.
    """
    return _kernels.STATUS[_fault_of(stream, max_nbytes) or _NAME_OF[status]] if _NAME_OF.get(status) in _INEXACT else status


def _fault_of(stream: bytes, max_nbytes: int) -> str | None:
    """The name of a status; None for a member that is sound, or longer than `max_nbytes`."""
    member, left, nbytes = zlib.decompressobj(wbits=31), stream, 0
    try:
        while not member.eof and nbytes <= max_nbytes:
            content = member.decompress(left, _PIECE_NBYTES)
            left, nbytes = member.unconsumed_tail, nbytes + len(content)
            if not (content or left or member.eof):
                return "TRUNCATED"
    except zlib.error as error:
        message = str(error)
        if "incorrect header check" in message:
            return "BAD_MAGIC"
        return "BAD_CHECKSUM" if message.endswith(_CHECKS) else "CORRUPT"
    return None
