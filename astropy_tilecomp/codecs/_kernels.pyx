# cython: language_level=3, freethreading_compatible=True, boundscheck=False, wraparound=False, initializedcheck=False
"""The C library, one short function for each entry point; each returns the C status and never raises for bad data."""

from libc.stdint cimport uint32_t

cdef extern from "tc_cfitsio.h":
    uint32_t tc_cfitsio_version() nogil


def cfitsio_version():
    """Version of libcfitsio as major * 10000 + minor * 100 + micro; 0 in a build without it."""
    return tc_cfitsio_version()
