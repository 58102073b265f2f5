"""The real files of ../shared/data/real."""

import json

from support import needs

DAMAGED = "fitsiopure_comp.fits"


def folder_of_real_files():
    """All real files where the shared folder is there, else those shipped with the tests."""
    everything = needs.SHARED / "data" / "real"
    return everything if everything.exists() else needs.SHIPPED


REAL = folder_of_real_files()
FILES = [entry for entry in json.loads((REAL / "MANIFEST.json").read_text())["files"] if entry["name"] != DAMAGED]
