# Many tiles encoded in one call: see `encode`.

cdef extern from "tc_encode.h":
    ctypedef struct tc_encode_image:
        const uint8_t *pixels
        int type
        bool_t swap
        size_t n_axes
        int64_t shape[TC_MAX_AXES]
        int64_t tile_shape[TC_MAX_AXES]
        int64_t stride[TC_MAX_AXES]
        int64_t first_row
        int algorithm, engine
        uint32_t bytepix, blocksize
        float hcompress_scale
        bool_t plio_offset
        int gzip_level
        bool_t quantized
        tc_quantize_request request
    ctypedef struct tc_encoded_tile:
        int64_t nbytes
        double zscale, zzero
        uint8_t column, has_null
        int32_t status
    int tc_encode_check(const tc_encode_image *) nogil
    int64_t tc_encode_tile_count(const tc_encode_image *) nogil
    size_t tc_encode_bound(const tc_encode_image *, size_t) nogil
    int tc_encode_tiles(const tc_encode_image *, int64_t, size_t, uint8_t *, size_t, tc_encoded_tile *, size_t *) nogil


# Layout of what the table has to say of a tile: a numpy dtype, once align=True is added.
ENCODED_TILE = [("nbytes", "i8"), ("zscale", "f8"), ("zzero", "f8"), ("column", "u1"), ("has_null", "u1"), ("status", "i4")]
assert sizeof(tc_encoded_tile) == 32


cdef class TileEncoder:
    """
    The tiles of an array, to be encoded (tc_encode.h says what each part means).

    Parameters
    ----------
    array : buffer
        Pixels, in any strides; whether their byte order is the other one, `settings` say.
    tile_shape : sequence of int
        Slowest axis first.
    settings : mapping
        The other fields of ``tc_encode_image`` by name, codes for enumerations; q, method, zdither0 and zblank for
        those of ``request``.

    Raises
    ------
    ValueError
        If the parts do not fit together.

    Notes
    -----
    Many threads may call `encode` at the same time.
    """

    cdef tc_encode_image image
    cdef Py_buffer buffer
    cdef bint has_buffer

    def __cinit__(self, array, tile_shape, settings):
        cdef int axis
        self.has_buffer = False
        PyObject_GetBuffer(array, &self.buffer, PyBUF_STRIDES)
        self.has_buffer = True
        if self.buffer.ndim > TC_MAX_AXES or len(tile_shape) != self.buffer.ndim:
            raise ValueError(f"an array of {self.buffer.ndim} axes, a tile of {len(tile_shape)}; {TC_MAX_AXES} at most")
        self.image.pixels = <const uint8_t *>self.buffer.buf
        self.image.n_axes = self.buffer.ndim
        for axis in range(self.buffer.ndim):
            self.image.shape[axis] = self.buffer.shape[axis]
            self.image.stride[axis] = self.buffer.strides[axis]
            self.image.tile_shape[axis] = tile_shape[axis]
        self._take_settings(settings)
        code = tc_encode_check(&self.image)
        if code:
            raise ValueError(f"the settings of an encoder do not fit together (status {code})")

    cdef int _take_settings(self, settings) except -1:
        cdef tc_encode_image *into = &self.image
        into.type, into.swap, into.first_row = settings["type"], settings["swap"], settings["first_row"]
        into.algorithm, into.engine = settings["algorithm"], settings["engine"]
        into.bytepix, into.blocksize = settings["bytepix"], settings["blocksize"]
        into.hcompress_scale, into.plio_offset = settings["hcompress_scale"], settings["plio_offset"]
        into.gzip_level, into.quantized = settings["gzip_level"], settings["quantized"]
        into.request.q, into.request.method = settings["q"], settings["method"]
        into.request.zdither0, into.request.zblank = settings["zdither0"], settings["zblank"]
        return 0

    def __dealloc__(self):
        if self.has_buffer:
            PyBuffer_Release(&self.buffer)

    @property
    def n_tiles(self):
        """Number of tiles of the array."""
        return tc_encode_tile_count(&self.image)

    def bound(self, size_t n_tiles):
        """The most bytes that so many tiles can take."""
        return tc_encode_bound(&self.image, n_tiles)

    def encode(self, int64_t first, uint8_t[::1] tiles not None, uint8_t[::1] dst not None):
        """
        Encode some tiles, without the GIL.

        Parameters
        ----------
        first : int
            Number of the first, counted over the array in C order.
        tiles : buffer of uint8
            As many items of `ENCODED_TILE` as there are tiles to encode; filled.
        dst : buffer of uint8
            Where their bytes go, one tile behind the other.

        Returns
        -------
        int
            Bytes written.
        """
        cdef size_t n = tiles.shape[0] // sizeof(tc_encoded_tile), used = 0, cap = dst.shape[0]
        cdef uint8_t *out = &dst[0] if cap else NULL
        cdef int code
        if first < 0 or first + <int64_t>n > tc_encode_tile_count(&self.image):
            raise ValueError(f"tiles {first} to {first + <int64_t>n}, there are {self.n_tiles}")
        if n == 0:
            return 0
        with nogil:
            code = tc_encode_tiles(&self.image, first, n, out, cap, <tc_encoded_tile *>&tiles[0], &used)
        if code:
            raise MemoryError("no memory for the work on a tile")
        return used
