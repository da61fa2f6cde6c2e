"""Mistakes in which tiles run when: waves, and a persistent block's walk; and the calls that tell them apart."""

from collections.abc import Callable
from itertools import product
from math import ceil
from random import Random

from tutorlib.checking.values import Mistake
from tutorlib.models import l2
from tutorlib.models.hopper_gemm import Pair, count_waves, walk
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


WAVES = (
    Mistake(
        "A full last wave has `at_once` clusters, not 0.",
        lambda m, n, tile, cluster, at_once: (
            count_waves(m, n, tile, cluster, at_once)[0],
            count_waves(m, n, tile, cluster, at_once)[1] % at_once,
        ),
    ),
    Mistake(
        "A tile that C fills only partly takes as long as any other: round up along M and along N.",
        lambda m, n, tile, cluster, at_once: (
            ceil(m * n / (tile[0] * cluster[0] * tile[1] * cluster[1]) / at_once),
            (ceil(m * n / (tile[0] * cluster[0] * tile[1] * cluster[1])) - 1) % at_once + 1,
        ),
    ),
    Mistake(
        "These are blocks. `at_once` is a number of clusters, and a cluster computes cluster[0] × cluster[1] tiles.",
        lambda m, n, tile, cluster, at_once: count_waves(m, n, tile, (1, 1), at_once),
    ),
    Mistake(
        "Clusters are whole too: round up to multiples of tile × cluster, not to a block's tiles first.",
        lambda m, n, tile, cluster, at_once: (
            ceil(ceil(m / tile[0]) * ceil(n / tile[1]) / (cluster[0] * cluster[1]) / at_once),
            (ceil(ceil(m / tile[0]) * ceil(n / tile[1]) / (cluster[0] * cluster[1])) - 1) % at_once + 1,
        ),
    ),
    Mistake(
        "How many clusters run at a time is given: `at_once`. It is not always 132 SMs over the blocks of a cluster.",
        lambda m, n, tile, cluster, at_once: count_waves(m, n, tile, cluster, 132 // (cluster[0] * cluster[1])),
    ),
    Mistake(
        "M goes with tile[0] and cluster[0], N with tile[1] and cluster[1].",
        lambda m, n, tile, cluster, at_once: count_waves(n, m, tile, cluster, at_once),
    ),
)


def sizes_and_clusters(sizes: tuple[Pair, ...], clusters: tuple[Pair, ...], sms: int) -> list[tuple]:
    """sms: of the GPU; an H200 has 132, other Hoppers fewer."""
    return [
        (m, n, tile, cluster, clusters_at_once(cluster[0] * cluster[1], sms))
        for (m, n), tile, cluster in product(sizes, BLOCK_TILES[:4], clusters)
    ]


def in_a_row(block: int, cluster: Pair, clusters: int, grid: Pair, group: int) -> list[Pair]:
    """A cluster takes neighboring tiles one after the other."""
    number, rank = divmod(block, cluster[0] * cluster[1])
    each, more = divmod(grid[0] * grid[1], clusters)
    first = number * each + min(number, more)
    places = [l2.grouped(tile, *grid, group) for tile in range(first, first + each + (number < more))]
    return [(m * cluster[0] + rank % cluster[0], n * cluster[1] + rank // cluster[0]) for m, n in places]


WALK = (
    Mistake(
        "Your clusters take neighboring tiles one after the other. Those that run *at the same time* should work on "
        "neighbors: cluster c takes c, c + clusters, c + 2 * clusters, …",
        in_a_row,
    ),
    Mistake(
        "Those are places in cluster tiles. Each is cluster[0] × cluster[1] tiles, and this block has one of them.",
        lambda block, cluster, clusters, grid, group: [
            (m // cluster[0], n // cluster[1]) for m, n in walk(block, cluster, clusters, grid, group)
        ],
    ),
    Mistake(
        "All blocks of your clusters compute the first block's tile: add the block's place in the cluster.",
        lambda block, cluster, clusters, grid, group: walk(
            block - block % (cluster[0] * cluster[1]), cluster, clusters, grid, group
        ),
    ),
    Mistake(
        "Blocks of one cluster work on one cluster tile together: the tile's number follows from the cluster's number.",
        lambda block, cluster, clusters, grid, group: [
            (m * cluster[0] + block % cluster[0], n * cluster[1] + block // cluster[0] % cluster[1])
            for m, n in walk(block, (1, 1), clusters, grid, group)
        ],
    ),
    Mistake(
        "This block's rank runs along M first: m is rank % cluster[0], n is rank // cluster[0].",
        lambda block, cluster, clusters, grid, group: [
            (m // cluster[0] * cluster[0] + block % (cluster[0] * cluster[1]) // cluster[1],
             n // cluster[1] * cluster[1] + block % (cluster[0] * cluster[1]) % cluster[1])
            for m, n in walk(block, cluster, clusters, grid, group)
        ],
    ),
)  # fmt: skip


def walks(cluster: Pair, clusters: int, grid: Pair, group: int = 8) -> list[tuple]:
    blocks = clusters * cluster[0] * cluster[1]
    return [(block, cluster, clusters, grid, group) for block in {0, 1, 2, blocks // 2, blocks - 1} if block < blocks]


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


def some_walk(*clusters: Pair, few: bool = False) -> Callable[[Random], tuple]:
    """Calls of `walk`. few: there are fewer tiles than clusters."""

    def draw(rng: Random) -> tuple:
        cluster, grid = rng.choice(clusters), (rng.randint(1, 9), rng.randint(1, 9))
        tiles = grid[0] * grid[1]
        number = tiles + rng.randint(1, 9) if few else rng.randint(1, tiles)
        return rng.randrange(number * cluster[0] * cluster[1]), cluster, number, grid, rng.randint(1, 8)

    return draw
