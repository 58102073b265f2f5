"""Random sequences of edits give what a plain model of arrays and dictionaries gives, also to astropy and fitsio."""

import numpy as np
import pytest
from support.edit_model import Mismatch, ModelHDU, require_pixels
from support.edit_sequences import fault_of, plan_of, reduced, report_of

N_SEQUENCES, N_PARTS = 2000, 20


@pytest.mark.slow
@pytest.mark.parametrize("part", range(N_PARTS))
def test_sequences_agree_with_the_model(part):
    each = N_SEQUENCES // N_PARTS
    for number in range(part * each, (part + 1) * each):
        first, steps = plan_of(number)
        error = fault_of(first, steps)
        if error is not None:
            pytest.fail(report_of(number, first, *reduced(first, steps, error)))


def test_the_model_sees_a_wrong_pixel():
    model = ModelHDU("packed", np.arange(12.0).reshape(3, 4), quantized=True)
    model.touched[1:] = False
    near, at_once = model.pixels + 0.2, model.pixels.copy()
    with pytest.raises(Mismatch, match="8 of 12"):
        require_pixels(near, model, 0.5, "image")
    at_once[:1] += 0.2
    require_pixels(at_once, model, 0.5, "image")
    with pytest.raises(Mismatch, match="4 of 12"):
        require_pixels(at_once, model, 0.1, "image")
