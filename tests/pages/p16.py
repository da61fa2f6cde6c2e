"""Page 16: answers that are whole functions, and what rows of p16.txt are made of."""

from dataclasses import replace
from functools import partial
from itertools import pairwise
from math import ceil

import cutlass
import numpy as np
from cutlass import Int32, cute
from cutlass.cute.nvgpu import cpasync, warpgroup
from cutlass.pipeline import PipelineUserType, make_pipeline_state

from tests.pages.change import copy_of
from tests.pages.table import base_of, right, solved, with_changes, wrong
from tutorlib.kernels.hopper import parts
from tutorlib.kernels.hopper import parts as course
from tutorlib.kernels.hopper.choose import candidates, choose, cost
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.kernels.hopper.parts import (
    Parts,
    consume_tiles,
    free_stage,
    load_shared,
    produce_tiles,
    store_pieces,
    take_roles,
)
from tutorlib.kernels.hopper.specialized import load_steps, multiply_steps
from tutorlib.models.hopper_gemm import at_launch

SOLVED = {id: solved(id) for id in ("16.1", "16.2", "16.3", "16.4")}


@right("16.2")
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


right_cost = solved("16.4")
register_split, step_bytes = solved("15.3"), solved("16.3")


@wrong("16.3", "gives", lesson=True)
def only_wgmma(tile, cluster):
    """Forgets what TMA writes."""
    m, n, k = tile
    return m // 64 * (64 + n) * k * 2, step_bytes(tile, cluster)[1]


count_waves, stream_k = solved("16.1"), solved("16.2")


@wrong("16.1", "gives", lesson=True)
def remainder(m, n, tile, cluster, at_once):
    """A full last wave has none."""
    waves, last = count_waves(m, n, tile, cluster, at_once)
    return waves, last % at_once


@wrong("16.1", "gives", lesson=True)
def by_area(m, n, tile, cluster, at_once):
    """Forgets that tiles hang over C's edge."""
    clusters = ceil(m * n / (tile[0] * cluster[0] * tile[1] * cluster[1]))
    return ceil(clusters / at_once), (clusters - 1) % at_once + 1


@wrong("16.2", "gives", lesson=True)
def splits_every_tile(cluster, clusters, tiles, k_tiles):
    """Split-K of every tile: even, and cut far more often than needed."""
    turn = [(tile, k) for tile in range(tiles) for k in range(k_tiles)][cluster::clusters]
    return [(tile, k, k + 1) for tile, k in turn]
