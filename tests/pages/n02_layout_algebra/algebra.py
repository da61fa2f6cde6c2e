"""What the wrong answers to notebook 02 share: its names, and its solutions changed in one place."""

from functools import partial

import tensor_layouts as tl
from tensor_layouts import Layout, cosize, flatten, mode, rank, size

from tests.pages.solved import changed, solution

NAMES = {"tl": tl, "Layout": Layout, "cosize": cosize, "flatten": flatten, "mode": mode, "rank": rank, "size": size}


def modes_of(layout):
    """[(extent, stride), …] of the flat layout."""
    return list(zip(flatten(layout.shape), flatten(layout.stride), strict=True))


def from_modes(modes):
    """The layout of [(extent, stride), …]."""
    return Layout(*zip(*modes, strict=True)) if len(modes) > 1 else Layout(*(modes or [(1, 0)])[0])


def change(id):
    return partial(changed, id, NAMES)


def right(id):
    return solution(id, NAMES)
