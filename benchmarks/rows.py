"""The rows of the benchmark: what is done, who does it, and how much faster than each peer we want to be at least."""

import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from astropy.io import fits

import astropy_tilecomp as tc
from astropy_tilecomp import codecs
from tests.support.servers import range_server

from . import contenders as who
from .fields import mask, star_field

__all__ = ["ROWS", "Row", "Workspace"]

ROW_TILES, SQUARE_TILES = "rows", "256x256"
N_FILES = 20
CUTOUT = np.s_[1900:2100, 2000:2200]
BLOCKS = {"astropy, 64 kB": 1 << 16, "astropy, 256 kB": 1 << 18, "astropy, 1 MB": 1 << 20, "astropy, 5 MB": 5 << 20}


class Workspace:
    """
    The images and files of one run, each made when it is first asked for.

    Parameters
    ----------
    folder : pathlib.Path
        Where the files go.
    size : int
        Pixels on each side of every image.
    """

    def __init__(self, folder, size):
        self.folder, self.size = folder, size
        self._images = {}
        self._servers = ExitStack()

    def server(self):
        """A web server on the loopback address, new for each row, that runs until this process ends or asks for another."""
        self._servers.close()
        return self._servers.enter_context(range_server())

    def image(self, kind):
        """The image of a kind: "mask" or the type of a star field."""
        if kind not in self._images:
            self._images[kind] = mask(self.size) if kind == "mask" else star_field(kind, self.size)
        return self._images[kind]

    def plain(self, kind):
        """The path of the plain FITS file of an image."""
        path = self.folder / f"plain-{kind}.fits"
        if not path.exists():
            fits.PrimaryHDU(self.image(kind)).writeto(path)
        return path

    def packed(self, kind, algorithm, tiles):
        """The path of an image compressed by astropy, so that no contender reads its own file."""
        path = self.folder / f"{algorithm}-{kind}-{tiles}.fits.fz"
        if not path.exists():
            who.write_astropy(None, self.image(kind), self.settings(kind, algorithm, tiles), path)
        return path

    def settings(self, kind, algorithm, tiles):
        """The settings of a compression, in the words of astropy's CompImageHDU."""
        height = {"HCOMPRESS_1": 16}.get(algorithm, 1)
        shape = (min(256, self.size),) * 2 if tiles == SQUARE_TILES else (height, self.size)
        settings = {"compression_type": algorithm, "tile_shape": shape}
        if kind.startswith("f"):
            settings |= {"quantize_level": 4.0, "quantize_method": 1, "dither_seed": 1}
        return settings


@dataclass(frozen=True)
class Row:
    """
    One line of the benchmark.

    Parameters
    ----------
    key : str
        Name for the command line.
    title : str
        What is done, for the reader of the table.
    make : callable
        Takes a `Workspace`; gives a dict of the contenders' names to functions without arguments, ours first.
    check : callable
        Takes the workspace and a dict of each contender's result; raises AssertionError where they differ.
    at_least : dict
        Peer to the ratio that all our threads must reach.
    at_least_alone : dict
        Peer to the ratio that one thread must reach.
    at_most_ms_more : dict
        Peer to the milliseconds that all our threads may take longer, instead of a ratio.
    by_least : bool
        Whether the least times are compared: for aims that speak of free cores, of which others may take one at any time.
    """

    key: str
    title: str
    make: Callable
    check: Callable
    at_least: dict = field(default_factory=dict)
    at_least_alone: dict = field(default_factory=dict)
    at_most_ms_more: dict = field(default_factory=dict)
    by_least: bool = False


def check_equal(workspace, results):
    """All contenders that give pixels give the same."""
    results = {name: pixels for name, pixels in results.items() if pixels is not None}
    first, reference = next(iter(results.items()))
    for name, pixels in results.items():
        assert who.pixels_agree(pixels, reference), f"the pixels of {name} differ from those of {first}"


def present(functions):
    """The contenders that are installed here."""
    return {name: function for name, function in functions.items() if who.available(name.split(" ")[0].rstrip(","))}


def read_row(key, title, kind, algorithm, tiles, at_least, alone=None):
    """A row in which everybody reads a whole image."""
    def make(workspace):
        path = workspace.packed(kind, algorithm, tiles)
        return {name: lambda read=read: read(path) for name, read in present(who.READERS).items()}

    return Row(key, title, make, check_equal, at_least, {"astropy": alone} if alone else {})


def cutout_row():
    """A row in which everybody opens a file and reads 200 x 200 pixels."""
    def make(workspace):
        path = workspace.packed("i2", "RICE_1", SQUARE_TILES)
        return {name: lambda cut=cut: cut(path, CUTOUT) for name, cut in present(who.CUTTERS).items()}

    return Row("cutout", "open, read 200 x 200, 256 x 256 tiles", make, check_equal, {"astropy": 3, "fitsio": 1.5})


def direct_cutout_row():
    """The same cutout without HDU objects, against the package that has the least of them."""
    def make(workspace):
        path = workspace.packed("i2", "RICE_1", SQUARE_TILES)
        return {
            who.OURS: lambda: who.cut_ours_directly(path, CUTOUT),
            **present({"rustfits": lambda: who.cut_rustfits(path, CUTOUT)}),
        }

    return Row("cutout-direct", "read_section, the same 200 x 200", make, check_equal, {"rustfits": 1})


def write_row(key, title, kind, algorithm, at_least):
    """A row in which everybody writes an image in row tiles.

    The files are read back by astropy, except those of rustfits (0.1.8 writes BYTEPIX -4 for floats, on which
    astropy crashes).
    """
    def make(workspace):
        image, plain = workspace.image(kind), workspace.plain(kind)
        settings = workspace.settings(kind, algorithm, ROW_TILES)
        writers = present(who.WRITERS)
        return {
            name: lambda write=write, name=name: write(plain, image, settings, workspace.folder / f"{name}.fits.fz")
            for name, write in writers.items()
        }

    def check(workspace, results):
        image = workspace.image(kind)
        for name, path in results.items():
            got = who.read_rustfits(path) if name == "rustfits" else who.read_astropy(path)
            if image.dtype.kind == "f":
                assert np.abs(got - image).max() < 10, f"{name} lost more than the noise allows"
            else:
                assert who.pixels_agree(got, image), f"the pixels that {name} wrote differ"
        if "fpack" in results:
            ours, theirs = (Path(results[name]).stat().st_size for name in (who.OURS, "fpack"))
            assert ours <= 1.02 * theirs, f"our file has {ours} bytes, fpack's {theirs}"

    return Row(key, title, make, check, at_least)


def command_row(verb):
    """A row in which 20 files are packed, or unpacked, by one command in a shell; its start counts, and so do our syncs."""
    def make(workspace):
        plain = workspace.plain("i2")
        files = [plain] if verb == "pack" else who.run_on_files(who.COMMANDS["pack"][who.OURS], [plain], workspace.folder / "one")
        return {
            name: lambda name=name, words=words: who.run_on_files(words, files * N_FILES, workspace.folder / f"{verb}-{name}")
            for name, words in present(who.COMMANDS[verb]).items()
        }

    def check(workspace, results):
        image = workspace.image("i2")
        for name, files in results.items():
            assert len(files) == N_FILES, f"{name} wrote {len(files)} files"
            for path in files:
                got = fits.getdata(path) if verb == "unpack" else who.read_ours(path)
                assert who.pixels_agree(got, image), f"the pixels of {path.name} that {name} wrote differ"

    peer = "fpack" if verb == "pack" else "funpack"
    return Row(f"{verb}-files", f"{verb} {N_FILES} files, tilecomp -j2", make, check, {peer: 4})


def remote_row():
    """A cutout of 8 x 8 of 16 x 16 tiles from a web server, against astropy with blocks of several sizes.

    The server answers after 30 ms and sends 20 MB/s in all.
    """
    def make(workspace):
        server = workspace.server()
        server.files["sky.fits.fz"] = workspace.packed("i2", "RICE_1", SQUARE_TILES).read_bytes()
        server.latency, server.bytes_per_second = 0.03, 20e6
        url, middle = server.url + "sky.fits.fz", slice(workspace.size // 4, 3 * workspace.size // 4)
        peers = {name: lambda n=nbytes: who.cut_astropy_remote(url, (middle, middle), n) for name, nbytes in BLOCKS.items()}
        return {who.OURS: lambda: who.cut_ours(url, (middle, middle)), **peers}

    return Row("remote-cutout", "open over HTTP, read 64 of 256 tiles", make, check_equal,
               {name: 4 if name == "astropy, 64 kB" else 2 for name in BLOCKS})


def thread_row(key, title, kind, algorithm):
    """A row of two threads against one, both into an output whose memory was touched before."""
    def make(workspace):
        path = workspace.packed(kind, algorithm, ROW_TILES)
        readers = {}
        for name, threads in ((who.OURS, 2), (who.OURS_ALONE, 1)):
            hdul = tc.open(path, threads=threads, cache_bytes=0)
            section = hdul[1].section
            out = np.zeros(section.shape, section.result_dtype)
            readers[name] = lambda section=section, out=out: section.read(np.s_[...], out=out)
        return readers

    return Row(key, f"{title} (least times)", make, check_equal, {who.OURS_ALONE: 1 / 0.6}, by_least=True)


def zarr_row(name, title):
    """4096 tiles of one row each, read through zarr as one chunk, against direct reads."""
    def make(workspace):
        import fsspec.implementations.reference
        import zarr

        def read_through_zarr():
            return np.asarray(array[...])

        path = workspace.packed("i2", "RICE_1", ROW_TILES)
        files = fsspec.implementations.reference.ReferenceFileSystem(tc.references(str(path), hdu=1), asynchronous=True)
        array = zarr.open_array(zarr.storage.FsspecStore(files, read_only=True), mode="r")
        return {
            who.OURS: read_through_zarr,
            "tilecomp, direct": lambda: who.read_ours(path),
            "astropy": lambda: who.read_astropy(path),
        }

    return Row(name, title, make, check_equal, {"astropy": 1}, at_most_ms_more={"tilecomp, direct": 7})


def references_row():
    """References to a million tiles in parquet: opened and one tile read; and made and written, which has no peer (S8)."""
    def make(workspace):
        import fsspec
        import zarr

        shape = (workspace.size**2 // 16, 16)
        path, folder = workspace.folder / "small-tiles.fits.fz", workspace.folder / "references"
        tc.write_image(path, workspace.image("i2").reshape(shape), tile_shape=(1, 16), overwrite=True)

        def write():
            shutil.rmtree(folder, ignore_errors=True)
            references = tc.tile_references(path)
            references.to_parquet(folder)
            return references.name

        def read_one():
            files = fsspec.filesystem("reference", fo=str(folder), asynchronous=True, skip_instance_cache=True)
            group = zarr.open_group(zarr.storage.FsspecStore(files, read_only=True), mode="r")
            return group[name][shape[0] // 2]

        name = write()
        return {who.OURS: read_one, "tilecomp, write": write}

    def check(workspace, results):
        assert who.pixels_agree(results[who.OURS], workspace.image("i2").reshape(-1, 16)[workspace.size**2 // 32])

    return Row("references", "open references to 1e6 tiles, read one", make, check)


def tile_row(bytepix):
    """One RICE_1 tile of 256 x 256 pixels through the codec, beside imagecodecs (S32)."""
    def make(workspace):
        pixels = (workspace.image("i2")[:256, :256] - 250).clip(0, 255).astype(f"{'u' if bytepix == 1 else 'i'}{bytepix}")
        codec = codecs.Rice1(blocksize=32, bytepix=bytepix, tilesize=pixels.size)
        stream = bytes(codec.encode(pixels))
        contestants = {who.OURS: lambda: codec.decode(stream)}
        if who.available("imagecodecs"):
            from imagecodecs import rcomp_decode

            contestants["imagecodecs"] = lambda: rcomp_decode(stream, shape=pixels.size, dtype=pixels.dtype, nblock=32)
        return contestants

    return Row(f"tile-rice-{bytepix}", f"decode one RICE_1 tile of {bytepix} byte pixels", make, check_equal,
               {"imagecodecs": 1})


def dask_row():
    """A whole image in eight chunks through dask, with two threads of dask against one (S33)."""
    def make(workspace):
        path = workspace.packed("i2", "HCOMPRESS_1", ROW_TILES)
        array = tc.to_dask(path, hdu=1, chunks=(max(16, workspace.size // 8), -1))
        return {
            who.OURS: lambda: array.compute(scheduler="threads", num_workers=2),
            who.OURS_ALONE: lambda: array.compute(scheduler="threads", num_workers=1),
        }

    title = "two threads of dask against one, HCOMPRESS_1 (least times)"
    return Row("dask", title, make, check_equal, {who.OURS_ALONE: 1.7}, by_least=True)


def has_avx512():
    """Whether this processor has the AVX-512 instructions (asked of Linux; elsewhere no)."""
    cpuinfo = Path("/proc/cpuinfo")
    return cpuinfo.exists() and "avx512f" in cpuinfo.read_text()


def int32_aims():
    """The figures for 32-bit pixels depend on the width of the vectors."""
    return {"astropy": 7, "fitsio": 9, "rustfits": 5} if has_avx512() else {"astropy": 6, "fitsio": 8, "rustfits": 4}


ROWS = [
    read_row("read-rice-i16-rows", "read RICE_1 int16, row tiles", "i2", "RICE_1", ROW_TILES,
             {"astropy": 7, "fitsio": 10, "rustfits": 5}, 3.5),
    read_row("read-rice-i32-rows", "read RICE_1 int32, row tiles", "i4", "RICE_1", ROW_TILES, int32_aims()),
    read_row("read-rice-i16-256", "read RICE_1 int16, 256 x 256 tiles", "i2", "RICE_1", SQUARE_TILES,
             {"astropy": 5, "fitsio": 9, "rustfits": 4}, 3),
    read_row("read-rice-f32-rows", "read RICE_1 float32 dithered, row tiles", "f4", "RICE_1", ROW_TILES,
             {"astropy": 5, "fitsio": 7, "rustfits": 4}),
    read_row("read-rice-f32-256", "read RICE_1 float32 dithered, 256 x 256", "f4", "RICE_1", SQUARE_TILES,
             {"astropy": 4, "fitsio": 8, "rustfits": 4}),
    read_row("read-hcompress", "read HCOMPRESS_1 int16", "i2", "HCOMPRESS_1", ROW_TILES, {"astropy": 5, "rustfits": 5}),
    read_row("read-gzip2", "read GZIP_2 int16", "i2", "GZIP_2", ROW_TILES, {"astropy": 7, "rustfits": 3}),
    read_row("read-gzip1", "read GZIP_1 int16", "i2", "GZIP_1", ROW_TILES, {"astropy": 3.5, "rustfits": 4}),
    read_row("read-plio", "read PLIO_1 mask", "mask", "PLIO_1", ROW_TILES, {"astropy": 7, "rustfits": 5}),
    write_row("write-rice-i16", "write RICE_1 int16", "i2", "RICE_1", {"astropy": 6, "fpack": 4, "rustfits": 6}),
    write_row("write-rice-f32", "write RICE_1 float32 quantized", "f4", "RICE_1",
              {"astropy": 8, "fpack": 5, "rustfits": 4}),
    write_row("write-hcompress", "write HCOMPRESS_1 int16", "i2", "HCOMPRESS_1", {"astropy": 4, "rustfits": 4}),
    write_row("write-gzip2", "write GZIP_2 int16", "i2", "GZIP_2", {"astropy": 10, "rustfits": 6}),
    command_row("pack"),
    command_row("unpack"),
    cutout_row(),
    direct_cutout_row(),
    zarr_row("zarr", "4096 row tiles through zarr"),
    references_row(),
    remote_row(),
    tile_row(1),
    tile_row(2),
    tile_row(4),
    dask_row(),
    thread_row("threads-rice", "two threads against one, RICE_1 int16", "i2", "RICE_1"),
    thread_row("threads-hcompress", "two threads against one, HCOMPRESS_1", "i2", "HCOMPRESS_1"),
    thread_row("threads-gzip2", "two threads against one, GZIP_2", "i2", "GZIP_2"),
    thread_row("threads-gzip1", "two threads against one, GZIP_1", "i2", "GZIP_1"),
    thread_row("threads-plio", "two threads against one, PLIO_1", "mask", "PLIO_1"),
    thread_row("threads-float", "two threads against one, RICE_1 float32", "f4", "RICE_1"),
]
