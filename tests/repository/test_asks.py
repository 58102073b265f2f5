"""The wishes of users, S1 to S47: every one has its test, and docs/asks.csv names it."""

import csv
import re
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from support.needs import REPOSITORY

import astropy_tilecomp as tc

ASKS = list(csv.DictReader((REPOSITORY / "docs" / "asks.csv").read_text().splitlines()))


def test_every_wish_is_listed():
    assert [ask["id"] for ask in ASKS] == [f"S{number}" for number in range(1, 48)]


@pytest.mark.parametrize("ask", ASKS, ids=lambda ask: ask["id"])
def test_what_shows_a_wish_is_there(ask):
    """The file and the function exist, and one of them names the id."""
    places = ask["where it is shown"].split()
    assert places
    for place in places:
        file, _, function = place.partition("::")
        text = (REPOSITORY / file).read_text()
        if function:
            assert re.search(rf"^def {function}\(", text, re.MULTILINE), f"{file} has no {function}"
    sources = [place.partition("::")[0] for place in places if "::" in place]
    named = [re.search(rf"\b{ask['id']}\b", (REPOSITORY / file).read_text()) for file in sources]
    assert not sources or any(named), f"no file of {sources} names {ask['id']}"


def test_many_tiles_are_no_python_objects(tmp_path):  # S31
    """4096 tiles of 4096 x 1 pixels: the number of calls does not depend on that of the tiles."""
    image = np.arange(4096 * 4096, dtype=np.int32).reshape(4096, 4096).astype("i2")
    tc.write_image(tmp_path / "a.fits", image, tile_shape=(1, 4096))
    tc.write_image(tmp_path / "b.fits", image[:64], tile_shape=(1, 4096))
    counts = []
    for name, expected in (("b.fits", image[:64]), ("a.fits", image)):
        calls = [0]

        def count(frame, event, argument, calls=calls):
            calls[0] += event in ("call", "c_call")

        sys.setprofile(count)
        try:
            found = tc.read_image(tmp_path / name, threads=1)
        finally:
            sys.setprofile(None)
        assert_array_equal(found, expected)
        counts.append(calls[0])
    few, many = counts
    assert many < few + 1000, "4032 tiles more are worth fewer than a call each"


def test_the_adviser_names_a_tile_shape():  # S38
    """Rows of 4096 x 1 are large in no way but what a cutout costs: measured, not guessed."""
    advise = pytest.importorskip("astropy_tilecomp.tasks.advise").advise
    image = np.random.default_rng(0).normal(300, 8, (600, 600)).astype("i2")
    advice = advise(image, algorithms=["RICE_1"], tile_shapes=["row", (64, 64)])
    shapes = {candidate.tile_shape: candidate for candidate in advice.candidates}
    row, square = shapes[(1, 600)], shapes[(64, 64)]
    assert advice.best.tile_shape in shapes
    for candidate in (row, square):
        assert candidate.ratio > 1
        assert candidate.cutout.nbytes > 0
    assert square.cutout.nbytes < row.cutout.nbytes
