"""Page 06: answers that are whole functions, and what rows of p06.txt are made of."""

import itertools
import math

import cuda.tile as ct
import numpy as np
import torch

from tests.pages.table import right, solved, wrong
from tutorlib.course.answers import load_answers

SOLVED = load_answers("06_cutile_tiles")
SOFTMAX = SOLVED["06.5"]


@right("06.2")
def by_numpy_numbers(x, y):
    """Sizes are NumPy's integers."""
    pairs = np.array(list(itertools.zip_longest(reversed(x), reversed(y), fillvalue=1)), dtype=int).reshape(-1, 2)
    fit = (pairs[:, 0] == pairs[:, 1]) | (pairs == 1).any(1)
    return tuple(pairs.max(1)[::-1]) if fit.all() else None


@right("06.6")
def waits_for_it(x, y):
    """The stream's raw handle, and a wait for the GPU at the end."""
    width = 1 << (x.shape[-1] - 1).bit_length()
    ct.launch(torch.cuda.current_stream().cuda_stream, (x.shape[0],), SOFTMAX, (x, y, width))
    torch.cuda.synchronize()


def launching(
    stream=lambda: torch.cuda.current_stream(),
    grid=lambda x: (x.shape[0],),
    tile=lambda n: 1 << (n - 1).bit_length(),
    args=lambda x, y, tile: (x, y, tile),
):
    """A function like the solution's with something else in one place."""

    def softmax_of(x, y):
        ct.launch(stream(), grid(x), SOFTMAX, args(x, y, tile(x.shape[1])))

    return softmax_of


@wrong("06.2", "gives", lesson=True)
def never_refuses(x, y):
    """Takes the larger size, whatever the other one is."""
    rank = max(len(x), len(y))
    return tuple(map(max, *((1,) * (rank - len(shape)) + shape for shape in (x, y))))


@wrong("06.2", "gives", lesson=True)
def joined_at_the_left(x, y):
    """Aligns the shapes at their left ends."""
    pairs = list(itertools.zip_longest(x, y, fillvalue=1))
    return None if any(a != b and 1 not in (a, b) for a, b in pairs) else tuple(map(max, pairs))


def broadcast(x, y, otherwise=None):
    """The right shape."""
    pairs = list(itertools.zip_longest(reversed(x), reversed(y), fillvalue=1))
    fit = all(a == b or 1 in (a, b) for a, b in pairs)
    return tuple(b if a == 1 else a for a, b in reversed(pairs)) if fit else otherwise


@wrong("06.2", "raised")
def raises(x, y):
    """Raises where the shapes do not fit."""
    if (joined := broadcast(x, y)) is None:
        raise ValueError(f"{x} and {y} do not fit")
    return joined


aligned = np.broadcast_shapes
