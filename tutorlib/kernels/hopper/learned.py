"""What the model of `cost` misses, learned from measured kernels: a sum of small decision trees.

trees.npz has them; `python -m tests.chooser.learn` writes it from measurements. All comparisons of a tree's level are
the same one, so the answers of the levels, as bits, are the number of a leaf (oblivious trees: Prokhorenkova et al.,
CatBoost, NeurIPS 2018).
"""

from collections.abc import Sequence
from functools import cache
from math import ceil, gcd, log
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tutorlib.kernels.hopper.config import BYTES, HopperConfig
from tutorlib.kernels.hopper.cost import CLOCK, LINE, estimate
from tutorlib.models.hopper_gemm import clusters_at_once

FILE = Path(__file__).with_name("trees.npz")


class Trees(NamedTuple):
    """features, thresholds: (trees, levels), of the comparisons. leaves: (trees, 2^levels).

    A leaf's value is a part of the logarithm of measured over estimated time.
    """

    features: np.ndarray
    thresholds: np.ndarray
    leaves: np.ndarray

    def __call__(self, of: np.ndarray) -> np.ndarray:
        """The sum of the trees for each row of features."""
        bits = of[:, self.features] > self.thresholds
        leaf = bits @ (1 << np.arange(bits.shape[2])[::-1])
        return self.leaves[np.arange(len(self.leaves)), leaf].sum(1)


@cache
def learned() -> Trees:
    """Those of trees.npz."""
    with np.load(FILE) as stored:
        return Trees(**stored)


def corrected(configs: Sequence[HopperConfig], m: int, n: int, k: int, sms: int) -> np.ndarray:
    """Expected µs of each: the model's, times what it misses of such kernels."""
    rows = [features(config, m, n, k, sms) for config in configs]
    return np.exp([row["us"] for row in rows] + learned()(np.array([[*row.values()] for row in rows])))


def features(config: HopperConfig, m: int, n: int, k: int, sms: int) -> dict[str, float]:
    """What the trees compare: settings, the shape, and the estimate's parts relative to it."""
    found = estimate(config, m, n, k, sms)
    row_of_c = 2 * n  # bytes
    if config.transposed:
        m, n = n, m
    (tile_m, tile_n, tile_k), (cluster_m, cluster_n) = config.tile, config.cluster
    rows, columns, k_tiles = ceil(m / (tile_m * cluster_m)), ceil(n / (tile_n * cluster_n)), ceil(k / tile_k)
    asked = found.tiles * k_tiles * (tile_m * cluster_m + tile_n * cluster_n) * tile_k
    cycles = found.us * CLOCK
    return {
        "tile m": tile_m, "tile n": tile_n, "tile k": tile_k, "area": tile_m * tile_n,
        "cluster m": cluster_m, "cluster n": cluster_n, "cluster": config.cluster_size, "blocks": config.cluster_blocks,
        "split k": config.split_k, "stream k": config.stream_k, "ping-pong": config.schedule == "pingpong",
        "deferred": config.defer_stores, "transposed": config.transposed, "persistent": config.persistent,
        "stages": config.ab_stages, "group": config.group,
        "m": log(m), "n": log(n), "k": log(k), "bytes": log((m + n) * k), "of c": m * n / ((m + n) * k + m * n),
        "alignment of k": gcd(k * BYTES[config.dtype], LINE), "alignment of n": gcd(row_of_c, LINE),
        "rest of k": k % tile_k / tile_k,
        "outside m": rows * tile_m * cluster_m / m, "outside n": columns * tile_n * cluster_n / n,
        "rows": rows, "columns": log(columns), "tiles": log(found.tiles), "k tiles": log(k_tiles / config.split_k),
        "waves": log(found.tiles / clusters_at_once(config.cluster_blocks, sms)), "whole waves": found.waves,
        "idle": found.idle, "busy": found.clusters * config.cluster_blocks / sms,
        "cut": found.cut / found.tiles, "tiles of a cluster": found.tiles / found.clusters if found.cut else 0.0,
        "reused": 1 - min((m + n) * k / asked, 1.0),
        "us": log(found.us), "loading": found.loading / found.us, "main": found.steps * found.step / cycles,
        "between": found.between / cycles, "shared": found.shared / cycles, "last": found.last / found.us,
        **{f"limit {number}": limit / found.step for number, limit in enumerate(found.limits)},
    }  # fmt: skip
