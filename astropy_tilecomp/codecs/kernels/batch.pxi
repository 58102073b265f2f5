# Many tiles decoded in one call: see `decode.batch`.

from cpython.buffer cimport PyBUF_STRIDES, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

cdef extern from "tc_batch.h":
    ctypedef bint bool_t "bool"
    enum: TC_MAX_AXES
    enum: TC_RICE_1, TC_GZIP_1, TC_GZIP_2, TC_PLIO_1, TC_HCOMPRESS_1, TC_NOCOMPRESS
    enum: TC_ENGINE_KERNEL, TC_ENGINE_CFITSIO
    enum: TC_U8, TC_I16, TC_I32, TC_I64, TC_F32, TC_F64, TC_I8, TC_U16, TC_U32, TC_U64
    enum: TC_SCALE_NONE, TC_SCALE_OFFSET, TC_SCALE_LINEAR
    ctypedef struct tc_image:
        int algorithm, engine
        uint32_t bytepix, blocksize
        bool_t smooth, plio_offset, quantized
        int dither
        int64_t zdither0
        int stored, result
        bool_t swap
        int scaling
        double bscale, bzero
        bool_t has_blank
        int64_t blank
        bool_t is_mask, fill_bad
        uint8_t fill[8]
    ctypedef struct tc_axis:
        size_t n_tiles
        const int64_t *size
        const int64_t *start
        const int64_t *count
        const int64_t *out
        int64_t step
        ptrdiff_t stride
        size_t extent
        const int64_t *pixel
        const int64_t *place
        size_t n_picks
    ctypedef struct tc_batch:
        tc_image image
        size_t n_axes, n_jobs
        tc_axis axis[TC_MAX_AXES]
        uint8_t *out
        uint8_t **job_out
        bool_t whole
        const int64_t *row
        const int64_t *nbytes
        const uint8_t *column
        const double *zscale
        const double *zzero
        const int64_t *zblank
        int32_t *status
        int64_t *done
        int64_t *used
    int tc_batch_check(const tc_batch *batch) nogil
    size_t tc_batch_scratch(const tc_batch *batch) nogil
    int tc_batch_decode(const tc_batch *batch, const int64_t *jobs, const int64_t *position, size_t n,
                        const uint8_t *src, size_t src_len, size_t *n_bad) nogil

MAX_AXES = TC_MAX_AXES
ALGORITHM_CODES = {
    "RICE_1": TC_RICE_1, "GZIP_1": TC_GZIP_1, "GZIP_2": TC_GZIP_2, "PLIO_1": TC_PLIO_1,
    "HCOMPRESS_1": TC_HCOMPRESS_1, "NOCOMPRESS": TC_NOCOMPRESS,
}
ENGINE_CODES = {"kernel": TC_ENGINE_KERNEL, "cfitsio": TC_ENGINE_CFITSIO}
TYPE_CODES = {
    "u1": TC_U8, "i2": TC_I16, "i4": TC_I32, "i8": TC_I64, "f4": TC_F32, "f8": TC_F64,
    "i1": TC_I8, "u2": TC_U16, "u4": TC_U32, "u8": TC_U64,
}
SCALING_CODES = {"none": TC_SCALE_NONE, "offset": TC_SCALE_OFFSET, "linear": TC_SCALE_LINEAR}


cdef const int64_t *_int64s(const int64_t[::1] values, Py_ssize_t n) except? NULL:
    if values.shape[0] != n:
        raise ValueError(f"an array of {values.shape[0]} items where {n} were expected")
    return &values[0] if n else NULL


cdef class TileBatch:
    """
    Tiles of one image, to be decoded into one array (tc_batch.h says what each part means).

    Parameters
    ----------
    image : mapping
        What is the same for every tile: the fields of ``tc_image`` by name, codes for enumerations.
    axes : sequence of AxisSelection
        What is selected along each axis of the image, slowest first.
    out : writable buffer
        The array to fill, in any strides.
    out_axes : sequence of (int or None)
        Axis of `out` that each axis of the image becomes.
    row, nbytes : (n,) buffer of int64
        Table row and stream length of each job; a job is a touched tile, in C order of the grid they span.
    column : (n,) buffer of uint8
        Which column holds the stream.
    status : (n,) buffer of int32
    done, used : (n,) buffer of int64
        Filled by `decode`.
    zscale, zzero : (n,) buffer of float64, optional
    zblank : (n,) buffer of int64, optional
    tiles : sequence of (buffer of uint8 or None), optional
        The memory of a whole tile for each job, laid out as `out`, which then only lends its shape.
    whole : bool
        Decode tiles to their end, whatever is needed of them.

    Raises
    ------
    ValueError
        If the parts do not fit together.

    Notes
    -----
    Many threads may call `decode` at the same time for different jobs.
    """

    cdef tc_batch batch
    cdef Py_buffer out
    cdef bint has_out
    cdef list held                              # whatever the pointers in `batch` point into

    def __cinit__(self, image, axes, out, out_axes, const int64_t[::1] row not None, const int64_t[::1] nbytes not None,
                  const uint8_t[::1] column not None, int32_t[::1] status not None, int64_t[::1] done not None,
                  int64_t[::1] used not None, const double[::1] zscale=None, const double[::1] zzero=None,
                  const int64_t[::1] zblank=None, tiles=None, bint whole=False):
        cdef Py_ssize_t n = row.shape[0]
        cdef int code
        self.has_out = False
        self.held = [axes, row, nbytes, column, status, done, used, zscale, zzero, zblank]
        for name, array in (("column", column), ("status", status), ("done", done), ("used", used), ("zscale", zscale),
                            ("zzero", zzero), ("zblank", zblank)):
            if array is not None and array.shape[0] != n:
                raise ValueError(f"{name} has {array.shape[0]} items, there are {n} jobs")
        if (zscale is None) != (zzero is None):
            raise ValueError("zscale and zzero come together")
        self.batch.n_jobs = n
        self.batch.row = _int64s(row, n)
        self.batch.nbytes = _int64s(nbytes, n)
        self.batch.whole = whole
        if n:
            self.batch.column = &column[0]
            self.batch.status = &status[0]
            self.batch.done = &done[0]
            self.batch.used = &used[0]
            if zscale is not None:
                self.batch.zscale, self.batch.zzero = &zscale[0], &zzero[0]
            if zblank is not None:
                self.batch.zblank = &zblank[0]
        self._take_image(image)
        PyObject_GetBuffer(out, &self.out, PyBUF_STRIDES | PyBUF_WRITABLE)
        self.has_out = True
        self.batch.out = <uint8_t *>self.out.buf
        self._take_axes(axes, out_axes)
        if tiles is not None:
            self._take_tiles(tiles, n)
        code = tc_batch_check(&self.batch)
        if code:
            raise ValueError(f"the tables of a batch do not fit together (status {code})")

    cdef int _take_image(self, image) except -1:
        cdef tc_image *into = &self.batch.image
        cdef const uint8_t[::1] fill = image["fill"]
        into.algorithm, into.engine = image["algorithm"], image["engine"]
        into.bytepix, into.blocksize, into.smooth = image["bytepix"], image["blocksize"], image["smooth"]
        into.plio_offset, into.quantized = image["plio_offset"], image["quantized"]
        into.dither, into.zdither0 = image["dither"], image["zdither0"]
        into.stored, into.result, into.swap = image["stored"], image["result"], image["swap"]
        into.scaling, into.bscale, into.bzero = image["scaling"], image["bscale"], image["bzero"]
        into.has_blank, into.blank = image["has_blank"], image["blank"]
        into.is_mask, into.fill_bad = image["is_mask"], image["fill_bad"]
        if not 1 <= fill.shape[0] <= 8:
            raise ValueError(f"a fill item of {fill.shape[0]} bytes")
        memcpy(into.fill, &fill[0], fill.shape[0])
        return 0

    cdef int _take_axes(self, axes, out_axes) except -1:
        cdef tc_axis *into
        cdef Py_ssize_t a, n
        if len(axes) > TC_MAX_AXES or len(axes) != len(out_axes):
            raise ValueError(f"{len(axes)} axes, {len(out_axes)} axes of the output; {TC_MAX_AXES} at most")
        self.batch.n_axes = len(axes)
        for a, (axis, out_axis) in enumerate(zip(axes, out_axes)):
            into = &self.batch.axis[a]
            n = len(axis.size)
            into.n_tiles = n
            into.size, into.start = _int64s(axis.size, n), _int64s(axis.start, n)
            into.count, into.out = _int64s(axis.count, n), _int64s(axis.out, n)
            into.step = axis.step
            if axis.pixel is not None:
                into.n_picks = len(axis.pixel)
                into.pixel, into.place = _int64s(axis.pixel, into.n_picks), _int64s(axis.place, into.n_picks)
            into.extent, into.stride = 1, 0
            if out_axis is not None:
                if not 0 <= out_axis < self.out.ndim:
                    raise ValueError(f"the output has no axis {out_axis}")
                into.extent, into.stride = self.out.shape[out_axis], self.out.strides[out_axis]
        return 0

    cdef int _take_tiles(self, tiles, Py_ssize_t n) except -1:
        cdef uint8_t[::1] memory
        cdef Py_ssize_t job
        if len(tiles) != n:
            raise ValueError(f"memory for {len(tiles)} tiles, there are {n} jobs")
        self.held.append(tiles)
        self.batch.job_out = <uint8_t **>calloc(n or 1, sizeof(uint8_t *))
        if self.batch.job_out == NULL:
            raise MemoryError(f"{n} addresses of tiles")
        for job, tile in enumerate(tiles):
            if tile is not None:
                memory = tile
                if memory.shape[0] != self.out.len or memory.shape[0] == 0:
                    raise ValueError(f"{memory.shape[0]} bytes for a tile of {self.out.len}")
                self.batch.job_out[job] = &memory[0]
        return 0

    def __dealloc__(self):
        free(self.batch.job_out)
        if self.has_out:
            PyBuffer_Release(&self.out)

    @property
    def scratch_nbytes(self):
        """The most memory that one call of `decode` takes for itself."""
        return tc_batch_scratch(&self.batch)

    def decode(self, const int64_t[::1] jobs not None, const int64_t[::1] position not None,
               const uint8_t[::1] src not None):
        """
        Decode some jobs, without the GIL.

        Parameters
        ----------
        jobs : (m,) buffer of int64
            Numbers of the jobs.
        position : (m,) buffer of int64
            Where the stream of each begins in `src`.
        src : (k,) buffer of uint8
            Bytes of the heap.

        Returns
        -------
        int
            Jobs that are bad; `status` says which.
        """
        cdef Py_ssize_t n = jobs.shape[0]
        cdef const int64_t *where = _int64s(position, n)
        cdef const uint8_t *first = &src[0] if src.shape[0] else NULL
        cdef size_t n_bad = 0
        cdef int code
        if n == 0:
            return 0
        with nogil:
            code = tc_batch_decode(&self.batch, &jobs[0], where, n, first, src.shape[0], &n_bad)
        if code:
            raise ValueError(f"job numbers outside 0 to {self.batch.n_jobs - 1}, or tiles without memory")
        return n_bad
