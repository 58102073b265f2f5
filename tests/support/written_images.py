"""Pixels of every type and shape, and how near to them a lossy algorithm stays."""

import numpy as np

ALGORITHMS = ("RICE_1", "GZIP_1", "GZIP_2", "PLIO_1", "HCOMPRESS_1", "NOCOMPRESS")
SHAPES = (((50,), (20,)), ((37, 41), (1, 41)), ((37, 41), (10, 12)), ((5, 20, 23), (2, 8, 9)), ((3, 4, 12, 13), (1, 1, 6, 7)))


def holds(algorithm, dtype, shape, tile):
    """Whether an algorithm can hold such pixels in such tiles."""
    if algorithm == "HCOMPRESS_1":
        long = [(length, size) for length, size in zip(shape, tile) if size > 1]
        if len(long) != 2 or any(size < 4 or 0 < length % size < 4 for length, size in long):
            return False
    return not ((dtype[1] == "8" and dtype[0] in "iu" and algorithm in ("RICE_1", "PLIO_1", "HCOMPRESS_1"))
                or (dtype in ("u4", "i1") and algorithm == "PLIO_1"))


def sample(dtype, shape):
    """Pixels of a type: noise on a level, and in floats some zeros."""
    rng = np.random.default_rng(len(shape))
    pixels = np.abs(rng.normal(60, 9, shape))
    if dtype[0] == "f":
        pixels.reshape(-1)[::17] = 0
    return pixels.astype(dtype)
