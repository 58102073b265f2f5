# cython: language_level=3, freethreading_compatible=True, boundscheck=False, wraparound=False, initializedcheck=False
"""
The C library, one short function for each entry point.

Buffers only: any contiguous object of the right item type does, and no size is trusted. A function returns the C status
first (see `engine.check`) and never raises for bad data; it works without the GIL.

Decoders take `n_tiles`: `dst` is that many tiles of equal size, whose streams stand one after the other in `src`. They
return (status, used, done): bytes read, and pixels written. Encoders return (status, used): bytes written.
"""

cimport cython
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc

cdef extern from "tc_status.h":
    ctypedef enum tc_status:
        TC_OK
        TC_TRUNCATED
        TC_TRAILING
        TC_CORRUPT
        TC_BAD_MAGIC
        TC_SIZE_MISMATCH
        TC_BAD_CODE
        TC_BAD_CHECKSUM
        TC_NO_SPACE
        TC_OUT_OF_RANGE
        TC_REFUSED
        TC_UNSUPPORTED
        TC_BAD_PARAM
        TC_NO_MEMORY
        TC_MISSING
        TC_UNUSED

# Names of the statuses, for engine.py.
STATUS = {
    name: value for name, value in (
        ("OK", TC_OK), ("TRUNCATED", TC_TRUNCATED), ("TRAILING", TC_TRAILING), ("CORRUPT", TC_CORRUPT),
        ("BAD_MAGIC", TC_BAD_MAGIC), ("SIZE_MISMATCH", TC_SIZE_MISMATCH), ("BAD_CODE", TC_BAD_CODE),
        ("BAD_CHECKSUM", TC_BAD_CHECKSUM), ("NO_SPACE", TC_NO_SPACE), ("OUT_OF_RANGE", TC_OUT_OF_RANGE),
        ("REFUSED", TC_REFUSED), ("UNSUPPORTED", TC_UNSUPPORTED), ("BAD_PARAM", TC_BAD_PARAM),
        ("NO_MEMORY", TC_NO_MEMORY), ("MISSING", TC_MISSING), ("UNUSED", TC_UNUSED),
    )
}

include "kernels/engines.pxi"
include "kernels/rice.pxi"
include "kernels/plio.pxi"
include "kernels/hcompress.pxi"
include "kernels/gzip.pxi"
include "kernels/quantize.pxi"
include "kernels/batch.pxi"
include "kernels/encode.pxi"
