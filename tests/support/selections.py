"""Selections drawn at random."""


def draw_selection(rng, shape):
    """A basic selection of any start, stop and positive step, at times an integer."""
    selection = []
    for length in shape:
        start, stop = sorted(rng.integers(0, length + 1, 2).tolist())
        integer = int(rng.integers(length)) if length else None
        selection.append(integer if rng.random() < 0.2 and length else slice(start, stop, int(rng.choice([1, 1, 3]))))
    return tuple(selection)
