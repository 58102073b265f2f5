"""Read, write and index tile-compressed FITS images."""
