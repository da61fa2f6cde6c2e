"""Mistakes in which tiles run when: waves, and a persistent block's walk; and the calls that tell them apart."""

from collections.abc import Callable
from itertools import product
from math import ceil
from random import Random

from tutorlib.exercises.words import mistakes
from tutorlib.models.hopper_gemm import Pair, count_waves
from tutorlib.models.work import clusters_at_once

BLOCK_TILES = ((128, 256, 64), (256, 128, 64), (128, 128, 64), (256, 192, 64), (64, 256, 64), (128, 160, 64))
OTHER_K = ((128, 128, 128), (128, 256, 32))
CLUSTERS = ((1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (2, 4))
SQUARE_SIZES = (512, 1024, 2048, 4096, 8192)
FULL_WAVES = (  # the calls of count_waves, where nothing is left over
    (4096, 4096, (128, 256, 64), (2, 1), 64),
    (2048, 2048, (128, 256, 64), (1, 1), 128),
    (1000, 1000, (128, 128, 64), (1, 2), 8),
)


WAVES = mistakes(
    "14.6",
    empty_last_wave=lambda m, n, tile, cluster, at_once: (
        count_waves(m, n, tile, cluster, at_once)[0],
        count_waves(m, n, tile, cluster, at_once)[1] % at_once,
    ),
    partial_tiles_fit=lambda m, n, tile, cluster, at_once: (
        ceil(m * n / (tile[0] * cluster[0] * tile[1] * cluster[1]) / at_once),
        (ceil(m * n / (tile[0] * cluster[0] * tile[1] * cluster[1])) - 1) % at_once + 1,
    ),
    blocks=lambda m, n, tile, cluster, at_once: count_waves(m, n, tile, (1, 1), at_once),
    tile_first=lambda m, n, tile, cluster, at_once: (
        ceil(ceil(m / tile[0]) * ceil(n / tile[1]) / (cluster[0] * cluster[1]) / at_once),
        (ceil(ceil(m / tile[0]) * ceil(n / tile[1]) / (cluster[0] * cluster[1])) - 1) % at_once + 1,
    ),
    always_132_sms=lambda m, n, tile, cluster, at_once: count_waves(
        m, n, tile, cluster, 132 // (cluster[0] * cluster[1])
    ),
    modes_exchanged=lambda m, n, tile, cluster, at_once: count_waves(n, m, tile, cluster, at_once),
)


def sizes_and_clusters(sizes: tuple[Pair, ...], clusters: tuple[Pair, ...], sms: int) -> list[tuple]:
    """sms: of the GPU; an H200 has 132, other Hoppers fewer."""
    return [
        (m, n, tile, cluster, clusters_at_once(cluster[0] * cluster[1], sms))
        for (m, n), tile, cluster in product(sizes, BLOCK_TILES[:4], clusters)
    ]


def some_waves(*clusters: Pair, square: bool = False, full: bool = False) -> Callable[[Random], tuple]:
    """Calls of `count_waves`. square: C is; full: the last wave has as many clusters as the others."""

    def draw(rng: Random) -> tuple:
        tile, cluster = rng.choice(BLOCK_TILES), rng.choice(clusters)
        if full:
            across, at_once = rng.randint(1, 9), rng.randint(2, 66)
            return (
                at_once * rng.randint(1, 4) * tile[0] * cluster[0],
                across * tile[1] * cluster[1],
                tile,
                cluster,
                at_once,
            )
        m, n = (rng.randint(1, 9000) for _ in range(2))
        return m, m if square else n, tile, cluster, rng.randint(2, 132)

    return draw
