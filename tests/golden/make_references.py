"""
Make the golden references: what this release writes into other people's files, to be opened by all later ones.

Run as ``python tests/golden/make_references.py VERSION`` once for a release; it makes ``references/VERSION`` beside it, and a
manifest there that says how each is opened and which image of ``tests/data`` it stands for. Never change what is there.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

import astropy_tilecomp as tc

HERE = Path(__file__).parent
DATA = HERE.parent / "data"
SINGLE, GROUP, FLOATS, BLANK = (
    "panoptes_solved.fits.fz", "galsim_test_multiS.fits.fz", "fitslib_rice_f32_nan_gzipfallback.fz",
    "zigfitsio_tile_rice_i16_blank.fits",
)
PLAIN = {"rice": "fitslib_rice_u8.fz", "gzip2": "fitslib_gzip2_i32.fz", "gzip1": "fitslib_gzip1_f32.fz",
         "plio": "fitslib_plio_i16_mask.fz", "hcompress": "zigfitsio_tile_hcompress_smooth.fits"}


def whole_images():
    """Yield (name, references, files, HDU, path of the array) for references to HDUs."""
    yield "single", tc.references(DATA / SINGLE, hdu=1), [SINGLE], 1, ""
    yield "stored", tc.references(DATA / SINGLE, hdu=1, scaled=False), [SINGLE], 1, ""
    yield "group", tc.references(DATA / GROUP), [GROUP], 1, "COMPRESSED_IMAGE_1_hdu1"
    files = [FLOATS, "fitslib_rice_f32_nodither.fz"]
    yield "stack", tc.references([DATA / file for file in files], hdu=1), files, 1, ""
    refs = tc.process_file(str(DATA / BLANK), extension=1)
    text = {key: value.decode() if isinstance(value, bytes) else value for key, value in refs.items()}
    yield "kerchunk", text, [BLANK], 1, "COMPRESSED_IMAGE"


def tiles():
    """Yield (name, TileReferences, file)."""
    for zarr_format in (2, 3):
        for codec, file in PLAIN.items():
            for n in (1, 2) if codec != "gzip2" else (1, 3):
                found = tc.tile_references(DATA / file, tiles_per_chunk=n, zarr_format=zarr_format)
                yield f"{codec}_{n}_v{zarr_format}", found, file
        for n in (1, 3):
            found = tc.tile_references(DATA / FLOATS, tiles_per_chunk=n, zarr_format=zarr_format, framed=True)
            yield f"framed_{n}_v{zarr_format}", found, FLOATS


def main(version):
    """Write everything."""
    folder = HERE / "references" / version
    folder.mkdir(parents=True)
    manifest = []
    for name, references, files, hdu, path in whole_images():
        write(folder / f"{name}.json", movable(references))
        entry = {"file": f"{name}.json", "kind": "json", "images": files, "hdu": hdu, "path": path}
        manifest.append(entry | {"scaled": name != "stored"})
    for name, references, file in tiles():
        entry = {"images": [file], "hdu": None, "path": references.name, "scaled": True}
        moved = replace(references, url=file)
        kind = "framed" if references.framed else "json"
        write(folder / f"{name}.json", moved.to_dict() if references.framed else movable(references.to_dict()))
        moved.to_parquet(folder / f"{name}_parquet")
        manifest.append(entry | {"file": f"{name}.json", "kind": kind})
        manifest.append(entry | {"file": f"{name}_parquet", "kind": "framed_parquet" if references.framed else "parquet"})
    write(folder / "MANIFEST.json", manifest)


def movable(references):
    """References relative to a base, which is the working folder until a reader says otherwise."""
    return tc.to_asdf(references, DATA) | {"templates": {"base": "."}}


def write(path, document):
    """Write JSON."""
    path.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
