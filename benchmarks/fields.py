"""Generated images to measure on: star fields and a mask, the same at every run (fixed seed)."""

import numpy as np

__all__ = ["mask", "star_field"]

SEED = 402
SKY = 300.0


def star_field(dtype, size=4096):
    """
    Make an image of stars on a noisy sky.

    Parameters
    ----------
    dtype : str or numpy.dtype
        Type of the pixels; integers are rounded.
    size : int
        Pixels on each side.

    Returns
    -------
    (size, size) ndarray of dtype
        Poisson noise of a sky of 300 counts, a slow gradient and about one star in 4000 pixels.
    """
    rng = np.random.default_rng(SEED)
    image = SKY + 40 * np.linspace(0, 1, size, dtype="f4")[:, None] * np.linspace(0, 1, size, dtype="f4")[None, :]
    image = image + rng.standard_normal((size, size), dtype="f4") * np.float32(np.sqrt(SKY))
    add_stars(image, rng, n_stars=size * size // 4000)
    image = np.clip(image, 0, 30000)
    return image.astype(dtype) if np.dtype(dtype).kind == "f" else np.rint(image).astype(dtype)


def add_stars(image, rng, n_stars, radius=6):
    """Add Gaussian stars with a power law of brightness to an image, in place."""
    size = image.shape[0]
    offsets = np.arange(-radius, radius + 1)
    rows = rng.integers(radius, size - radius, n_stars)
    columns = rng.integers(radius, size - radius, n_stars)
    fluxes = 50 * (1 - rng.random(n_stars)) ** -0.8
    profile = np.exp(-(offsets[:, None] ** 2 + offsets[None, :] ** 2) / (2 * 1.8**2)).astype("f4")
    for row, column, flux in zip(rows, columns, np.minimum(fluxes, 20000), strict=True):
        image[row - radius : row + radius + 1, column - radius : column + radius + 1] += profile * np.float32(flux)


def mask(size=4096):
    """
    Make a mask of a detector: flat regions, bad columns, and scattered pixels.

    Parameters
    ----------
    size : int
        Pixels on each side.

    Returns
    -------
    (size, size) ndarray of int32
        Values 0 to 64, mostly 0.
    """
    rng = np.random.default_rng(SEED)
    flags = np.zeros((size, size), "i4")
    flags[:, rng.integers(0, size, size // 64)] = 1
    flags[:32], flags[-32:] = 16, 16
    for row, column in rng.integers(0, size, (size // 8, 2)):
        flags[row : row + 20, column : column + 20] = 4
    flags[rng.integers(0, size, size * 8), rng.integers(0, size, size * 8)] = 64
    return flags
