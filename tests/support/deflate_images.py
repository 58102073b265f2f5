"""Images of each kind that a tile may hold, for the deflate encoder."""

import gzip
import zlib

import numpy as np

from support.reference_files import star_field

SHAPE = (24, 4096)


def images():
    """Images of each kind that a tile may hold."""
    rng = np.random.default_rng(8)
    y, x = np.indices(SHAPE)
    noise = rng.normal(size=SHAPE)
    walk = np.cumsum(noise, axis=1)
    spots = (rng.random(SHAPE) < 0.01).astype("i4") * 64
    return {
        "star_field": star_field(SHAPE, "i2"),
        "faint_noise": rng.normal(1000, 0.7, SHAPE).round().astype("i2"),
        "noise_across_256": rng.normal(256, 9, SHAPE).round().astype("i2"),
        "bright_noise": rng.normal(0, 900, SHAPE).round().astype("i4"),
        "floats": rng.normal(100, 3, SHAPE).astype("f4"),
        "mask": spots,
        "byte_mask": spots.astype("u1"),
        "regular_mask": ((x % 100 == 7) * 3).astype("i2"),
        "constant": np.full(SHAPE, 12345, "i4"),
        "gradient": (x * 0.7 + y * 3).astype("i2"),
        "slow_gradient": (1000 + x * 0.05 + y * 0.1).astype("i2"),
        "noisy_gradient": (y * 30 + x * 20 + 30 * noise).astype("i4"),
        "noisy_gradient_of_floats": (y * 0.3 + x * 0.2 + 0.1 * noise).astype("f4"),
        "noisy_gradient_of_doubles": (y * 0.3 + x * 0.2 + 0.01 * noise).astype("f8"),
        "walk": walk.astype("i2"),
        "wide_walk": (30 * walk).astype("i4"),
        "walk_of_floats": (5 * walk).astype("f4"),
        "sine": (3000 * np.sin(x / 37) * np.cos(y / 5)).astype("i2"),
        "steps": (np.round(1000 + 100 * noise / 16) * 16).astype("i4"),
        "segments": (x // 37 * 7 % 200 + y // 6).astype("i4"),
        "columns": (rng.normal(300, 300, SHAPE[1]) + 2 * noise).astype("i2"),
        "repeated_columns": np.repeat(noise[:, ::4] * 10 + 300, 4, axis=1).astype("f4"),
        "repeated_rows": np.repeat(noise[::6] * 100, 6, axis=0).astype("i2"),
        "saturated": np.clip(star_field(SHAPE, "i4"), 0, 330).astype("i2"),
        "rounded": np.round(300 + 10 * noise, 2).astype("f4"),
        "undefined": np.where(noise > 0.5, np.frombuffer(b"\xff" * 4, "f4"), noise.astype("f4")),  # as fpack writes NaN
        "pattern": np.tile(rng.normal(300, 17, (SHAPE[0], 128)).round().astype("i2"), 32),
        "random_bytes": rng.integers(-(2**15), 2**15, SHAPE).astype("i2"),
        "text": np.frombuffer((zlib.__doc__ + gzip.__doc__ + np.__doc__).encode() * 99, "u1")[: np.prod(SHAPE)].reshape(SHAPE),
    }


IMAGES = images()
