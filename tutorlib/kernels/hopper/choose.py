"""Which configuration for which shape: the least time by a small model of the machine, for every candidate.

The constants are per SM and of the clock that it keeps under load. (To come: the command that fits them.)
"""

from collections.abc import Iterator
from functools import cache
from itertools import product
from math import ceil
from typing import Any

from tutorlib.kernels.hopper.config import BYTES, MIN_SHARED_K_TILES, MMA_M, ConfigError, HopperConfig

CLOCK = 1_750.0  # cycles in a µs
SMEM_BYTES = 128.0  # in a cycle, read or written
L2_BYTES = 46.0  # in a cycle, towards one SM while all want as much
HBM_BYTES = 4.2e6  # in a µs, for the whole GPU
MMA_EFFICIENCY = 0.92  # of the tensor cores' rate, where nothing else limits
START = 3.5  # µs from launch to the first multiplication
STORE_CYCLES = 900.0  # from the last multiplication of a tile of 128 × 256 to the next tile's first
DEFERRED_CYCLES = 350.0  # the same where stores are deferred
FINISH = 1.5  # µs from a block's last store to the kernel's end
SHARE_CYCLES = 3_000.0  # to give a tile of 128 × 256 away and add it
LAUNCH_SPREAD = 0.2  # µs more for every further block that an SM starts

TILES = (
    (128, 256), (256, 128), (128, 192), (256, 192), (192, 128), (128, 160), (128, 128), (64, 256), (128, 96), (64, 192),
    (64, 128), (128, 64), (64, 96), (64, 64), (64, 32),
)  # fmt: skip
CLUSTERS = ((1, 1), (2, 1), (1, 2))
SPLITS = (2, 3, 4, 5, 6, 8, 12, 16)


@cache
def candidates(dtype: str = "bf16") -> tuple[HopperConfig, ...]:
    """Every combination that breaks no rule."""
    return tuple(_candidates(dtype))


def _candidates(dtype: str) -> Iterator[HopperConfig]:
    for (m, n), cluster, transposed in product(TILES, CLUSTERS, (False, True)):
        tile = m, n, 128 // BYTES[dtype]
        base: dict[str, Any] = {"tile": tile, "cluster": cluster, "transposed": transposed, "dtype": dtype}
        ways: list[dict[str, Any]] = [{"stream_k": True}, {}]
        ways += [{"persistent": False, "split_k": split} for split in SPLITS]
        ways += [{"schedule": "pingpong"}, {"schedule": "pingpong", "stream_k": True}]
        for way in ways:
            for defer in (True, False):
                if defer and (way.get("schedule") == "pingpong" or not way.get("persistent", True)):
                    continue
                try:
                    yield HopperConfig(**base, **way, defer_stores=defer)
                    break  # deferred where there are registers for it
                except ConfigError:
                    pass


def cost(config: HopperConfig, m: int, n: int, k: int, sms: int = 132) -> float:
    """Estimated µs of a GEMM."""
    if config.transposed:
        m, n = n, m
    (tile_m, tile_n, tile_k), (cluster_m, cluster_n) = config.tile, config.cluster
    bytes_ = BYTES[config.dtype]
    row = tile_k * bytes_
    mma = tile_m / MMA_M * tile_n / 2 * row / 32 / MMA_EFFICIENCY
    smem = (tile_m / MMA_M * (MMA_M + tile_n) + tile_m + tile_n) * row / SMEM_BYTES
    l2 = (tile_m / cluster_n + tile_n / cluster_m) * row / L2_BYTES
    step = max(mma, smem, l2)  # cycles of a K tile
    area = tile_m * tile_n / (128 * 256)
    store = 0.0 if config.schedule == "pingpong" else DEFERRED_CYCLES if config.defer_stores else STORE_CYCLES
    tiles = ceil(m / (tile_m * cluster_m)) * ceil(n / (tile_n * cluster_n))
    k_tiles, clusters = ceil(k / tile_k), sms // config.cluster_size
    if config.split_k > 1:
        if k_tiles < MIN_SHARED_K_TILES * config.split_k:
            return float("inf")
        waves = ceil(tiles * config.split_k / clusters)
        busy = waves * ceil(k_tiles / config.split_k) * step + SHARE_CYCLES * area * (config.split_k + 1) / 2
        busy += (waves - 1) * STORE_CYCLES * area
    elif config.stream_k:
        clusters = max(min(clusters, tiles * k_tiles // MIN_SHARED_K_TILES), 1)
        busy = tiles * k_tiles / clusters * step + tiles / clusters * store * area
        if tiles % clusters:
            busy += SHARE_CYCLES * area * max(1.0, clusters / tiles)
    else:
        waves = ceil(tiles / clusters)
        busy = waves * (k_tiles * step + store * area)
    hbm = ((m + n) * k * bytes_ + m * n * 2) / HBM_BYTES
    return START + max(busy / CLOCK, hbm) + FINISH * area + STORE_CYCLES * area / CLOCK


@cache
def choose(m: int, n: int, k: int, sms: int = 132, dtype: str = "bf16") -> HopperConfig:
    """The candidate that should be fastest."""
    return min(candidates(dtype), key=lambda config: cost(config, m, n, k, sms))
