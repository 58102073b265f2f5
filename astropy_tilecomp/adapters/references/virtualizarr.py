"""A VirtualiZarr parser: the compressed images of a FITS file as a ManifestStore, one reference for each HDU."""

from __future__ import annotations

import json
from collections.abc import Iterable

from ..extras import extra
from .hdus import document_of
from .names import name_images
from .scan import scan

__all__ = ["TileCompParser"]


class TileCompParser:
    """
    Parse the compressed images of a FITS file for `virtualizarr.open_virtual_dataset`.

    Parameters
    ----------
    hdu : int, str, (str, int) or list of them, optional
        The images to take; by default all.
    skip_variables : iterable of str, optional
        Names of arrays to leave out.
    scaled : bool
        Whether BSCALE, BZERO and BLANK are applied when the arrays are read.

    Notes
    -----
    Write the virtual dataset to Icechunk.  Its ``to_kerchunk`` drops the codecs of other packages without a word: make
    kerchunk references with `astropy_tilecomp.references` instead.
    """

    def __init__(self, hdu=None, *, skip_variables: Iterable[str] | None = None, scaled: bool = True):
        self.hdu, self.skip_variables, self.scaled = hdu, frozenset(skip_variables or ()), scaled

    def __call__(self, url: str, registry):
        """
        Parse one file.

        Parameters
        ----------
        url : str
            The file.
        registry : obspec_utils.registry.ObjectStoreRegistry
            Which store serves it.

        Returns
        -------
        virtualizarr.manifests.ManifestStore

        Raises
        ------
        HeaderError, UnsupportedError
            As `astropy_tilecomp.references`.
        """
        with extra("virtualizarr"):
            from virtualizarr.manifests import ManifestGroup, ManifestStore

        store, path = registry.resolve(url)
        images = scan((store, path), self.hdu, scaled=self.scaled, stored_url=url)
        arrays = {
            name: _manifest_array(image, axis_prefix, self.scaled)
            for name, image, axis_prefix in name_images(images)
            if name not in self.skip_variables
        }
        return ManifestStore(registry=registry, group=ManifestGroup(arrays=arrays))


def _manifest_array(image, axis_prefix: str, scaled: bool):
    from virtualizarr.manifests import ChunkManifest, ManifestArray
    from zarr.core.metadata.v3 import ArrayV3Metadata

    document = json.loads(json.dumps(document_of((image,), scaled=scaled, axis_prefix=axis_prefix)))
    chunks = {}
    if all(image.shape):
        chunks[".".join("0" for _ in image.shape)] = {"path": image.url, "offset": image.start, "length": image.nbytes}
    manifest = ChunkManifest(chunks, shape=None if chunks else tuple(min(length, 1) for length in image.shape))
    return ManifestArray(metadata=ArrayV3Metadata.from_dict(document), chunkmanifest=manifest)
