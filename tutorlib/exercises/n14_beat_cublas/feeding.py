"""Mistakes about registers, a step's bytes, and the slices that blocks of a cluster load for one another."""

from collections.abc import Callable
from random import Random

from tutorlib.exercises.words import mistakes
from tutorlib.models.hopper_gemm import Pair, at_launch, register_split, step_bytes

REGISTERS = mistakes(
    "14.3",
    exchanged=lambda warpgroups, need: register_split(warpgroups, need)[::-1],
    whole_pool=lambda warpgroups, need: (
        register_split(warpgroups, need)[0],
        (65_536 // 128 - register_split(warpgroups, need)[0]) // warpgroups // 8 * 8,
    ),
    up_and_down=lambda warpgroups, need: (
        max(24, need),
        ((warpgroups + 1) * at_launch(warpgroups) - max(24, need)) // warpgroups,
    ),
    fewer_than_24=lambda warpgroups, need: (
        -(-need // 8) * 8,
        ((warpgroups + 1) * at_launch(warpgroups) + need // -8 * 8) // warpgroups // 8 * 8,
    ),
    as_at_the_start=lambda warpgroups, need: (at_launch(warpgroups), at_launch(warpgroups)),
    rounded_down=lambda warpgroups, need: register_split(warpgroups, max(24, need // 8 * 8)),
    consumers_alone=lambda warpgroups, need: (
        register_split(warpgroups, need)[0],
        (warpgroups * at_launch(warpgroups - 1) - register_split(warpgroups, need)[0]) // warpgroups // 8 * 8,
    ),
)


BYTES = mistakes(
    "14.4",
    a_alone=lambda tile, cluster: (tile[0] // 64 * (64 + tile[1]) * tile[2] * 2, step_bytes(tile, cluster)[1]),
    b_once=lambda tile, cluster: (2 * (tile[0] + tile[1]) * tile[2] * 2, step_bytes(tile, cluster)[1]),
    modes_exchanged=lambda tile, cluster: (step_bytes(tile, cluster)[0], step_bytes(tile, cluster[::-1])[1]),
    no_multicast=lambda tile, cluster: step_bytes(tile, (1, 1)),
    everything_shared=lambda tile, cluster: (
        step_bytes(tile, (1, 1))[0] - step_bytes(tile, (1, 1))[1] + step_bytes(tile, cluster)[1],
        step_bytes(tile, cluster)[1],
    ),
    always_64=lambda tile, cluster: step_bytes((*tile[:2], 64), cluster),
    two_wgmmas=lambda tile, cluster: (
        (tile[0] + tile[1] + 2 * (64 + tile[1])) * tile[2] * 2,
        step_bytes(tile, cluster)[1],
    ),
    elements=lambda tile, cluster: tuple(bytes // 2 for bytes in step_bytes(tile, cluster)),
    order=lambda tile, cluster: step_bytes(tile, cluster)[::-1],
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
