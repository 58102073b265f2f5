"""
Make the golden tiles: small images written by other programs, cut into the streams of their tiles.

Run as ``python tests/golden/make_tiles.py`` where fpack, astropy, fitsio and rustfits are installed. It writes TILES.json
beside it: who wrote a stream (name and version), the codec that reads it, the stream in hexadecimal and the stored pixels
that the writer was given. The file is kept, so that the streams stay readable whatever becomes of their writers.
"""

import json
import re
import subprocess
import tempfile
import warnings
from pathlib import Path

import astropy
import fitsio
import numpy as np
from astropy.io import fits

HERE = Path(__file__).parent
SHAPE = (9, 11)
TILE = (5, 8)  # edge tiles of 4 rows and 3 columns; HCOMPRESS_1 gets whole tiles
PLAIN = {"RICE_1": "u1 i2 i4", "GZIP_1": "u1 i2 i4", "GZIP_2": "i2 i4", "PLIO_1": "u1 i2", "HCOMPRESS_1": "u1 i2 i4"}


def images():
    """Yield (algorithm, tile shape, image)."""
    rng = np.random.default_rng(20)
    for algorithm, kinds in PLAIN.items():
        for kind in kinds.split():
            image = (40 + 9 * rng.standard_normal(SHAPE)).astype(kind)
            image[2, 3] = 120
            if algorithm == "PLIO_1":
                image = (image > 45).astype(kind) * 3
            yield algorithm, SHAPE if algorithm == "HCOMPRESS_1" else TILE, image
    noise = (1 + rng.standard_normal((4, 40))).astype("f4")
    noise[1, 7] = np.nan
    yield "RICE_1", (2, 40), noise


def write_fpack(path, image, algorithm, tile):
    """The file that fpack makes."""
    plain = path.with_suffix(".plain.fits")
    fits.PrimaryHDU(image).writeto(plain)
    option = {"RICE_1": "-r", "GZIP_1": "-g1", "GZIP_2": "-g2", "PLIO_1": "-p", "HCOMPRESS_1": "-h"}[algorithm]
    quantize = ["-q", "4", "-qz", "7"] if image.dtype.kind == "f" else []
    tiles = ",".join(map(str, reversed(tile)))
    subprocess.run(["fpack", option, "-t", tiles, *quantize, "-O", path, plain], check=True, capture_output=True)


def write_astropy(path, image, algorithm, tile):
    """The file that astropy makes."""
    quantize = {"quantize_method": 2, "dither_seed": 7, "quantize_level": 4} if image.dtype.kind == "f" else {}
    fits.CompImageHDU(image, compression_type=algorithm, tile_shape=tile, **quantize).writeto(path)


def write_fitsio(path, image, algorithm, tile):
    """The file that fitsio makes."""
    quantize = {"qmethod": "SUBTRACTIVE_DITHER_2", "qlevel": 4, "dither_seed": 7} if image.dtype.kind == "f" else {}
    with fitsio.FITS(path, "rw", clobber=True) as file:
        file.write(image, compress=algorithm, tile_dims=list(tile), **quantize)


def write_rustfits(path, image, algorithm, tile):
    """The file that rustfits makes."""
    import rustfits

    if image.dtype.kind == "f":
        raise NotImplementedError("rustfits 0.1.8 writes BYTEPIX -4 for floats")
    maker = {"RICE_1": "Rice1", "GZIP_1": "Gzip1", "GZIP_2": "Gzip2", "PLIO_1": "Plio1", "HCOMPRESS_1": "Hcompress1"}
    with rustfits.FITS(str(path), "w+") as file:
        file.write_image(image, compress=getattr(rustfits, maker[algorithm])(tile_shape=tile))


def writers():
    """Yield (name and version, function)."""
    from importlib.metadata import version

    found = subprocess.run(["fpack", "-V"], capture_output=True, text=True, check=False)
    digits = re.search(r"CFITSIO version (\d)\.(\d\d)", found.stdout + found.stderr)
    yield f"fpack of cfitsio {digits[1]}.{int(digits[2])}", write_fpack
    yield f"astropy {astropy.__version__}", write_astropy
    yield f"fitsio {fitsio.__version__}", write_fitsio
    yield f"rustfits {version('rustfits')}", write_rustfits


def codec_config(algorithm, image, header):
    """Config of the codec that reads a tile, but for its shape."""
    settings = {header[f"ZNAME{n}"].strip(): header[f"ZVAL{n}"] for n in (1, 2) if f"ZNAME{n}" in header}
    dtype = np.dtype("i4" if image.dtype.kind == "f" else image.dtype).newbyteorder("<").str
    config = {"id": "astropy_tilecomp." + algorithm.lower().replace("_", ""), "version": 1, "dtype": dtype}
    if algorithm == "RICE_1":
        config |= {"blocksize": settings["BLOCKSIZE"], "bytepix": settings["BYTEPIX"]}
    if algorithm == "HCOMPRESS_1":
        config |= {"smooth": bool(settings.get("SMOOTH", 0))}
    return config


def tiles_of(path, algorithm, tile, image):
    """Yield the entries of a file, tile by tile."""
    with fits.open(path, disable_image_compression=True) as hdul:
        hdu = next(h for h in hdul if h.header.get("ZIMAGE"))
        rows, header = hdu.data, hdu.header
        per_line = -(-image.shape[1] // tile[1])
        for number, row in enumerate(rows):
            y, x = number // per_line * tile[0], number % per_line * tile[1]
            pixels = image[y : y + tile[0], x : x + tile[1]]
            stream = np.asarray(row["COMPRESSED_DATA"])
            stream = stream.astype(">i2").tobytes() if algorithm == "PLIO_1" else stream.tobytes()
            if not stream:
                continue
            entry = {
                "codec": codec_config(algorithm, image, header) | {"tile_shape": list(pixels.shape)},
                "row": number,
                "stream": stream.hex(),
            }
            if image.dtype.kind == "f":
                entry["quantize"] = {
                    "zquantiz": header["ZQUANTIZ"], "zdither0": header["ZDITHER0"], "zblank": header.get("ZBLANK"),
                    "zscale": float(row["ZSCALE"]).hex(), "zzero": float(row["ZZERO"]).hex(),
                }
                with fits.open(path) as read:
                    values = next(h for h in read if isinstance(h, fits.CompImageHDU)).data
                entry["values"] = values[y : y + tile[0], x : x + tile[1]].astype(">f4").tobytes().hex()
            else:
                entry["pixels"] = pixels.astype(int).tolist()
            yield entry


def main():
    """Write TILES.json."""
    entries = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for writer, write in writers():
            for number, (algorithm, tile, image) in enumerate(images()):
                path = Path(folder) / f"{writer.split()[0]}-{number}.fits"
                try:
                    write(path, image, algorithm, tile)
                except Exception as error:
                    print(f"{writer}: no {algorithm} of {image.dtype}: {error}")
                    continue
                entries += [{"writer": writer, **entry} for entry in tiles_of(path, algorithm, tile, image)]
    lines = ",\n".join(json.dumps(entry) for entry in entries)
    (HERE / "TILES.json").write_text(f"[\n{lines}\n]\n")
    print(f"{len(entries)} tiles")


if __name__ == "__main__":
    main()
