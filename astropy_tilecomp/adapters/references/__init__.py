"""References: zarr arrays whose chunks are bytes of FITS files."""
