"""Mistakes about registers, a step's bytes, and the slices that blocks of a cluster load for one another."""

from collections.abc import Callable
from random import Random

from tutorlib.checking.values import Mistake
from tutorlib.models.hopper_gemm import Pair, at_launch, register_split, step_bytes

REGISTERS = (
    Mistake(
        "The two are exchanged: the producer comes first.",
        lambda warpgroups, need: register_split(warpgroups, need)[::-1],
    ),
    Mistake(
        "The pool is not all 65,536: each thread starts with 65,536 / threads, rounded down to a multiple of 8.",
        lambda warpgroups, need: (
            register_split(warpgroups, need)[0],
            (65_536 // 128 - register_split(warpgroups, need)[0]) // warpgroups // 8 * 8,
        ),
    ),
    Mistake(
        "setmaxnreg takes multiples of 8: round the producer's need up and the consumers' share down.",
        lambda warpgroups, need: (
            max(24, need),
            ((warpgroups + 1) * at_launch(warpgroups) - max(24, need)) // warpgroups,
        ),
    ),
    Mistake(
        "setmaxnreg gives no thread fewer than 24 registers.",
        lambda warpgroups, need: (
            -(-need // 8) * 8,
            ((warpgroups + 1) * at_launch(warpgroups) + need // -8 * 8) // warpgroups // 8 * 8,
        ),
    ),
    Mistake(
        "Every thread has that at the start. The producer's warpgroup returns some of it to the pool.",
        lambda warpgroups, need: (at_launch(warpgroups), at_launch(warpgroups)),
    ),
    Mistake(
        "The producer gets less than it needs: round `need` up to a multiple of 8.",
        lambda warpgroups, need: register_split(warpgroups, max(24, need // 8 * 8)),
    ),
    Mistake(
        "The producer's warpgroup belongs to the block too: warpgroups + 1 of them start with the same number.",
        lambda warpgroups, need: (
            register_split(warpgroups, need)[0],
            (warpgroups * at_launch(warpgroups - 1) - register_split(warpgroups, need)[0]) // warpgroups // 8 * 8,
        ),
    ),
)


BYTES = (
    Mistake(
        "TMA writes both tiles into shared memory, and wgmma reads them: count both.",
        lambda tile, cluster: (tile[0] // 64 * (64 + tile[1]) * tile[2] * 2, step_bytes(tile, cluster)[1]),
    ),
    Mistake(
        "Every 64 rows of A are a wgmma of their own, and each of them reads all of B's tile.",
        lambda tile, cluster: (2 * (tile[0] + tile[1]) * tile[2] * 2, step_bytes(tile, cluster)[1]),
    ),
    Mistake(
        "The modes are exchanged: the cluster[1] blocks of one row of the cluster share the tile of A.",
        lambda tile, cluster: (step_bytes(tile, cluster)[0], step_bytes(tile, cluster[::-1])[1]),
    ),
    Mistake(
        "Multicast sends each part of a tile once for several blocks, so a block's share of L2's bytes is smaller.",
        lambda tile, cluster: step_bytes(tile, (1, 1)),
    ),
    Mistake(
        "Multicast saves L2's bytes. Into its own shared memory every block still gets the whole tiles.",
        lambda tile, cluster: (
            step_bytes(tile, (1, 1))[0] - step_bytes(tile, (1, 1))[1] + step_bytes(tile, cluster)[1],
            step_bytes(tile, cluster)[1],
        ),
    ),
    Mistake(
        "A step is tile[2] of K: it is not always 64.",
        lambda tile, cluster: step_bytes((*tile[:2], 64), cluster),
    ),
    Mistake(
        "That is what two wgmmas of 64 rows read. A tile of M rows takes M / 64 of them.",
        lambda tile, cluster: (
            (tile[0] + tile[1] + 2 * (64 + tile[1])) * tile[2] * 2,
            step_bytes(tile, cluster)[1],
        ),
    ),
    Mistake("bf16 has two bytes.", lambda tile, cluster: tuple(bytes // 2 for bytes in step_bytes(tile, cluster))),
    Mistake("Shared memory comes first, then L2.", lambda tile, cluster: step_bytes(tile, cluster)[::-1]),
)


def splits(*warpgroups: int) -> Callable[[Random], tuple]:
    """Calls of `register_split` with any need."""
    return lambda rng: (rng.choice(warpgroups), rng.randint(1, 64))


def steps_in(*clusters: Pair) -> Callable[[Random], tuple]:
    """Calls of `step_bytes` with tiles of any size."""

    def draw(rng: Random) -> tuple:
        tile = 64 * rng.randint(1, 6), 32 * rng.randint(1, 8), 16 * rng.randint(1, 8)
        return tile, rng.choice(clusters)

    return draw
