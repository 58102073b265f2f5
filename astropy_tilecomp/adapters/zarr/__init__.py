"""Codecs for zarr and numcodecs."""
