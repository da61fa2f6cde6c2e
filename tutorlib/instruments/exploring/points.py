"""Which configurations are timed at which shapes."""

from collections import Counter
from dataclasses import replace
from typing import Any

from tutorlib.instruments.sweeps.gemm import SQUARES
from tutorlib.instruments.sweeps.hopper import SEEDS, random_shapes
from tutorlib.instruments.sweeps.models import TOKENS, model_shapes
from tutorlib.kernels.hopper.choose import candidates, choose, cost
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.problems.problem import Shape

MORE_SEEDS = (7, 9, 21, 22, 31, 32)  # of random shapes
EXTREME = (
    (768, 1280, 16384), (512, 768, 8192), (320, 8192, 4096), (512, 512, 8192), (64, 8192, 8192), (128, 128, 8192),
    (256, 256, 4096), (8192, 128, 1024), (1536, 2560, 3072), (4224, 3968, 4160), (8192, 512, 4096),
)  # fmt: skip
AT_A_SHAPE = 13  # configurations, of which AT_MOST of one kind
AT_MOST = 2
WITHIN = 1.4  # times the least estimate
BANDS = (2, 4, 8, 16)  # tiles wide


def explored_shapes() -> tuple[Shape, ...]:
    """All shapes to time at, but for those of the seed that the fit must never see."""
    drawn = [shape for seed in (SEEDS[0], *MORE_SEEDS) for shape in random_shapes(seed)]
    return tuple(dict.fromkeys((*SQUARES, *EXTREME, *drawn)))


def promising(shape: Shape) -> list[HopperConfig]:
    """The model's best for a shape, and few of a kind, since a model may be wrong about a kind."""
    m, n, k = shape
    estimates = {config: cost(config, m, n, k) for config in candidates()}
    ranked = sorted(estimates, key=lambda config: estimates[config])
    found: list[HopperConfig] = []
    seen: Counter[Any] = Counter()
    for config in ranked:
        kind = config.schedule, config.stream_k, config.split_k, config.cluster_size
        alike = *kind, config.tile, config.cluster  # with A and B in either's place
        if estimates[config] < WITHIN * estimates[ranked[0]] and seen[kind] < AT_MOST and not seen[alike]:
            found.append(config)
            seen.update((kind, alike))
    return found[:AT_A_SHAPE]


def in_bands() -> list[tuple[Shape, HopperConfig]]:
    """The choice at random shapes and at weights of models, in bands of each width, where it has no clusters."""
    chosen = {shape: choose(*shape) for shape in (*explored_shapes(), *model_shapes(TOKENS))}
    alone = {shape: config for shape, config in chosen.items() if config.cluster_blocks == 1}
    return [(shape, replace(config, group=band)) for shape, config in alone.items() for band in BANDS]
