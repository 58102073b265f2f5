"""astropy's face: lists of HDUs in which compressed images are read and written by this package."""
