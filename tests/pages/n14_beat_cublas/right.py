"""Unusual right answers to notebook 14's counts and models."""

from fractions import Fraction
from itertools import pairwise
from math import ceil

import numpy as np
import torch

from tests.pages.solved import solution
from tests.pages.table import answer
from tutorlib.models import l2

PAGE = {"ceil": ceil, "l2": l2, "step_bytes": solution("14.4", {})}
OWN = {id: solution(id, PAGE) for id in ("14.3", "14.4", "14.6", "14.8", "14.9", "14.10")}

# 14.3 -----------------------------------------------------------------------------------------------------------


def largest_first(warpgroups, need):
    """Tries all, from the largest down."""
    start = 65_536 // (128 * (warpgroups + 1)) // 8 * 8
    producer = next(count for count in range(24, 256, 8) if count >= need)
    pool = start * (warpgroups + 1)
    return producer, next(n for n in range(512, 0, -8) if producer + warpgroups * n <= pool)


def what_is_given_back(warpgroups, need):
    """What each has at the start, and its part of what the producer gives back; masks for rounding."""
    start = 65_536 // (128 * (1 + warpgroups)) & ~7
    producer = max(need + 7 & ~7, 24)
    return producer, start + ((start - producer) // warpgroups & ~7)


# 14.4, 14.5 -----------------------------------------------------------------------------------------------------


def stage_by_stage(tile, cluster):
    """A loop over the wgmmas; no K until the end."""
    (m, n, k), rows = tile, 0
    for _ in range(0, m, 64):
        rows += 64 + n
    return 2 * k * (rows + m + n), 2 * k * (m // cluster[1]) + 2 * k * (n // cluster[0])


# 14.6, 14.7 -----------------------------------------------------------------------------------------------------


def one_by_one(m, n, tile, cluster, at_once):
    """Hands clusters out until all have been."""
    waves = 1
    last = 0
    for _ in range(0, m, tile[0] * cluster[0]):
        for _ in range(0, n, tile[1] * cluster[1]):
            if last == at_once:
                waves, last = waves + 1, 0
            last += 1
    return waves, last


def by_divmod(m, n, tile, cluster, at_once):
    """divmod, and a full wave put right."""
    down, across = (-(-size // (t * c)) for size, t, c in zip((m, n), tile, cluster, strict=False))
    waves, last = divmod(down * across, at_once)
    return (waves + 1, last) if last else (waves, at_once)


# 14.8 -----------------------------------------------------------------------------------------------------------


def longer_shares_last(cluster, count, tiles, k_tiles):
    """Another even cut: the first clusters have one K tile less. The parts come from the last to the first."""
    total = tiles * k_tiles
    begin, end = cluster * total // count, (cluster + 1) * total // count
    cuts = sorted({begin, end, *(cut for cut in range(0, total, k_tiles) if begin < cut < end)})
    return [(first // k_tiles, first % k_tiles, first % k_tiles + last - first) for first, last in pairwise(cuts)][::-1]


def whole_tiles_first(cluster, clusters, tiles, k_tiles):
    """As the kernel does it: whole tiles in turn, and the last wave's tiles are shared."""
    full = tiles // clusters * clusters
    items = [(tile, 0, k_tiles) for tile in range(cluster, full, clusters)]
    return items + [
        (full + tile, begin, end) for tile, begin, end in OWN["14.8"](cluster, clusters, tiles - full, k_tiles)
    ]


def k_tile_by_k_tile(cluster, clusters, tiles, k_tiles):
    """Goes along the line, and notes where a tile begins anew."""
    line = [divmod(number, k_tiles) for number in range(tiles * k_tiles)]
    share, longer = divmod(len(line), clusters)
    at = cluster * share + min(cluster, longer)
    found = {}
    for tile, k in line[at : at + share + (cluster < longer)]:
        found.setdefault(tile, []).append(k)
    return [(tile, ks[0], ks[-1] + 1) for tile, ks in found.items()]


# 14.9 -----------------------------------------------------------------------------------------------------------


def by_index(x, scales, block):
    """Looks up each element's scale; in fp64."""
    rows, columns = (torch.arange(size) // step for size, step in zip(x.shape, block, strict=True))
    return x.double() * scales.double()[rows[:, None], columns]


def padded(x, scales, block):
    """A Kronecker product, cut to size."""
    return x.to(torch.float32) * torch.kron(scales, torch.ones(block))[: x.shape[0], : x.shape[1]]


def block_after_block(x, scales, block):
    """Loops over blocks, writes into its own copy."""
    result = x.float().clone()
    for i, line in enumerate(scales):
        for j, scale in enumerate(line):
            result[i * block[0] : (i + 1) * block[0], j * block[1] : (j + 1) * block[1]] *= scale
    return result


# 14.10 ----------------------------------------------------------------------------------------------------------


class Model:
    """The formula in a class, term by term."""

    def __init__(self, config, sm):
        self.config, self.sm = config, sm
        self.m, self.n, self.k = config.tile

    @property
    def step(self):
        smem, far = PAGE["step_bytes"](self.config.tile, self.config.cluster)
        math = self.m * self.n * self.k / self.sm.flops * 2
        return (math if math > smem / self.sm.smem_bytes else smem / self.sm.smem_bytes) + far / self.sm.l2_bytes

    @property
    def area(self):
        return self.m * self.n / 32_768

    def __call__(self, m, n, k):
        down, across = self.config.cluster
        tiles = -(-m // (self.m * down)) * -(-n // (self.n * across))
        clusters = self.sm.at_once(blocks=down * across * self.config.split_k)
        k_tiles = -(-k // (self.k * self.config.split_k))
        each = k_tiles * self.step + self.sm.store * self.area
        if self.config.split_k > 1:
            each += self.sm.exchange * self.area
        if not self.config.stream_k:
            return -(-tiles // clusters) * each
        rounds = max(tiles / clusters, 4 / k_tiles)
        return rounds * each + self.sm.share * self.area / min(rounds, 1)


def by_class_of_model(config, m, n, k, sm):
    """A class with properties; bytes summed."""
    cycles = Model(config, sm)(*((n, m) if config.transposed else (m, n)), k)
    return sm.start + max(cycles / sm.clock, sum((2 * m * k, 2 * n * k, 2 * m * n)) / sm.hbm_bytes)


RIGHT = {
    "14.3": [
        largest_first,
        what_is_given_back,
        answer("numpys", "NumPy's numbers.", lambda warpgroups, need: tuple(np.array(OWN["14.3"](warpgroups, need)))),
    ],
    "14.4": [
        stage_by_stage,
        answer("lambda_of_two", "One expression.", lambda t, c: (2 * t[2] * (t[0] + t[1] + t[0] + t[0] // 64 * t[1]), 2 * t[2] * (t[0] // c[1] + t[1] // c[0]))),
        answer("numpys", "NumPy's numbers.", lambda tile, cluster: tuple(np.int64(x) for x in OWN["14.4"](np.array(tile), np.array(cluster)))),
    ],
    "14.6": [
        one_by_one,
        by_divmod,
        answer("numpys", "NumPy's ceil, made whole.", lambda m, n, t, c, at_once: OWN["14.6"](m, n, np.array(t), np.array(c), np.int64(at_once))),
    ],
    "14.8": [
        longer_shares_last,
        whole_tiles_first,
        k_tile_by_k_tile,
        answer("numpys", "NumPy's numbers.", lambda *args: [tuple(np.array(item)) for item in OWN["14.8"](*args)]),
    ],
    "14.9": [by_index, padded, block_after_block],
    "14.10": [
        by_class_of_model,
        answer("in_fp32", "NumPy's fp32.", lambda *args: np.float32(OWN["14.10"](*args))),
        answer("a_fraction", "Exact until the end.", lambda *args: float(Fraction(OWN["14.10"](*args)))),
        answer("in_fp64", "NumPy's fp64.", lambda *args: np.float64(OWN["14.10"](*args))),
    ],
}  # fmt: skip
