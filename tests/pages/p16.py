"""Page 16: answers that are whole functions, and what rows of p16.txt are made of."""

from dataclasses import replace
from functools import partial
from itertools import pairwise
from statistics import median

import numpy as np

from tests.pages.table import right, solved, wrong
from tutorlib.kernels.hopper.choose import candidates, choose, cost
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.measuring.results import known_sweeps
from tutorlib.models.hopper_gemm import Sm

SOLVED = {id: solved(id) for id in ("16.1", "16.2", "16.4")}


@right("16.1")
def longer_shares_last(cluster, count, tiles, k_tiles):
    """Another even cut: the first clusters have one K tile less. The parts come from the last to the first."""
    total = tiles * k_tiles
    begin, end = cluster * total // count, (cluster + 1) * total // count
    cuts = sorted({begin, end, *(cut for cut in range(0, total, k_tiles) if begin < cut < end)})
    return [(first // k_tiles, first % k_tiles, first % k_tiles + last - first) for first, last in pairwise(cuts)][::-1]


def choose_by_cost(m, n, k):
    """The least by the course's finer model."""
    return min(candidates(), key=lambda config: cost(config, m, n, k))


class Chooser:
    """Not a function: an object that can be called, and remembers."""

    def __init__(self):
        self.known = {}

    def __call__(self, m, n, k):
        if (m, n, k) not in self.known:
            self.known[m, n, k] = choose_by_cost(m, n, k)
        return self.known[m, n, k]


def best(m, n, k):
    """What the course's own chooses, found anew."""
    return min(candidates(), key=lambda config: cost(config, m, n, k))


def measured(config, shape):
    """A table of the measured times, in place of a model; None elsewhere."""
    for name in ("hopper_levers", "hopper_tiles", "hopper_short"):
        for point in known_sweeps(name)[0].points:
            made = HopperConfig(**{key: to for key, to in point.facts["config"].items() if to != "plain"})
            if (made, shape) == (config, point.measurement.shape):
                return point.measurement.median_us
    return None


@wrong("16.1", "gives", lesson=True)
def splits_every_tile(cluster, clusters, tiles, k_tiles):
    """Split-K of every tile: even, and cut far more often than needed."""
    turn = [(tile, k) for tile in range(tiles) for k in range(k_tiles)][cluster::clusters]
    return [(tile, k, k + 1) for tile, k in turn]
