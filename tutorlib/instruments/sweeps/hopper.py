"""The sweeps of notebooks 13 and 14, on GPUs that have WGMMA. Together they take 4½ minutes of an H200."""

import math
import random
from dataclasses import asdict, replace
from functools import partial
from importlib.util import find_spec
from itertools import chain, product
from typing import Any

from torch import Tensor

from tutorlib.instruments.sweeps.ampere import SQUARES
from tutorlib.instruments.sweeps.sweep import Candidate, Sweep
from tutorlib.kernels.hopper import launch
from tutorlib.kernels.hopper.choose import choose
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.kernels.nvidia_example import NoExample
from tutorlib.machine import device
from tutorlib.machine.features import WGMMA
from tutorlib.measuring.launchers import HopperLauncher, HostLauncher
from tutorlib.problems.catalogue import gemm, gemm_fp8
from tutorlib.problems.problem import Shape

LARGE = tuple((n, n, n) for n in (8192, 4096, 2048))

# What notebook 14 adds to notebook 13's kernel, one by one.
LEVERS: dict[str, dict[str, Any]] = {
    "warp-specialized": {"schedule": "cooperative"},
    "persistent": {"persistent": True},
    "multicast": {"cluster": (2, 1)},
    "deferred stores": {"defer_stores": True},
    "zigzag K": {"zigzag": True},
    "polling": {"polls": True},
    "stream-K": {"stream_k": True},
    "tile order": {"raster": "m", "snake": True},
}
PLAIN: dict[str, Any] = {"schedule": "plain", "persistent": False}

SPECIALIZED = ("warp-specialized", "persistent")
DEFERRED = (*SPECIALIZED, "multicast", "deferred stores")
BEST = (*DEFERRED, "zigzag K", "polling")
STACKS: tuple[tuple[str, ...], ...] = (  # a tree: each has one lever more than one above it
    (),
    SPECIALIZED[:1],
    SPECIALIZED,
    DEFERRED[:3],
    DEFERRED,
    BEST[:5],
    BEST,
    (*BEST, "stream-K"),
    (*BEST[:5], "stream-K"),
    (*BEST[:5], "tile order"),
    (*SPECIALIZED, "deferred stores"),
    ("multicast",),
)
OTHERS = {
    "128×192, ping-pong": HopperConfig((128, 192, 64), "pingpong", cluster=(2, 1)),
    "256×192, stream-K": HopperConfig((256, 192, 64), cluster=(2, 1), zigzag=True, polls=True, stream_k=True),
}


def levered(levers: tuple[str, ...]) -> HopperConfig:
    """The plain kernel with these levers pulled."""
    overrides = dict(PLAIN)
    for lever in levers:
        overrides |= LEVERS[lever]
    return HopperConfig(**overrides)


def changed(config: HopperConfig) -> dict[str, Any]:
    """The fields in which a configuration differs from the default one, as JSON has them."""
    fields, default = asdict(config), asdict(HopperConfig())
    return {name: value for name, value in fields.items() if value != default[name]}


def on_hopper(name: str, config: HopperConfig, **facts: Any) -> Candidate:
    """The kernel with this configuration, as a candidate."""
    facts = {"config": changed(config), **facts}
    return Candidate(name, HopperLauncher(config), config.smem_bytes, facts, needs=WGMMA)


def self_configuring() -> Candidate:
    """The kernel that chooses its configuration by itself. Points say which one."""

    def choice(shape: Shape) -> dict[str, Any]:
        return {"config": changed(choose(*shape, sms=device.need_gpu().sms))}

    return Candidate("chosen", HostLauncher(launch.gemm), needs=WGMMA, inspect=choice)


# Any shape ------------------------------------------------------------------------------------------------------

SEEDS = (2026, 1971)  # the chooser's constants were fitted to shapes of the first, and never saw the second's
RANDOM_SHAPES = 40  # of each
LEAST, MOST, STEP = 128, 8192, 8


def random_shapes(seed: int, count: int = RANDOM_SHAPES) -> tuple[Shape, ...]:
    """Shapes whose M, N and K are drawn from LEAST to MOST so that each doubling is as likely, multiples of STEP."""
    draw = random.Random(seed)

    def size() -> int:
        drawn = math.exp(draw.uniform(math.log(LEAST), math.log(MOST)))
        return min(max(STEP * round(drawn / STEP), LEAST), MOST)

    return tuple((size(), size(), size()) for _ in range(count))


def gemm_any() -> Sweep:
    """The self-configuring GEMM at the ladder's squares and at random shapes."""
    drawn = {str(seed): random_shapes(seed) for seed in SEEDS}
    return Sweep(
        gemm("bf16"),
        (self_configuring(),),
        (*SQUARES, *chain.from_iterable(drawn.values())),
        seconds=100,
        facts={"random": {seed: [list(shape) for shape in shapes] for seed, shapes in drawn.items()}},
    )


def gemm_bands() -> Sweep:
    """A kernel without clusters whose tiles all run at once: in bands of different widths."""
    config = HopperConfig((64, 80, 64), zigzag=True, polls=True, defer_stores=True)
    candidates = [on_hopper(f"bands of {band}", replace(config, group=band)) for band in (1, 2, 4, 8)]
    shapes = [(512, 1280, k) for k in (8192, 4096, 2048)]
    return Sweep(gemm("bf16"), tuple(candidates), tuple(shapes), seconds=20)


# The weights of language models --------------------------------------------------------------------------------------

TOKENS = (8, 16, 64, 128, 256, 512, 1024, 4096, 8192)
MODELS: dict[str, dict[str, tuple[int, int]]] = {  # rows N and columns K of each weight
    "Llama 3 8B": {"q, k, v": (6144, 4096), "o": (4096, 4096), "gate, up": (28672, 4096), "down": (4096, 14336)},
    "Llama 3 70B, an eighth of each weight": {
        "q, k, v": (1280, 8192), "o": (8192, 1024), "gate, up": (7168, 8192), "down": (8192, 3584)
    },
    "DeepSeek-V3": {
        "q, kv down": (2112, 7168), "q up": (24576, 1536), "o": (7168, 16384),
        "expert's gate, up": (4096, 7168), "expert's down": (7168, 2048),
    },
}  # fmt: skip


def model_shapes(counts: tuple[int, ...]) -> tuple[Shape, ...]:
    """(tokens, N, K) of every weight, all weights for each of these numbers of tokens."""
    weights = chain.from_iterable(model.values() for model in MODELS.values())
    return tuple((tokens, *weight) for tokens, weight in product(counts, weights))


def gemm_models() -> Sweep:
    """Every weight at every number of tokens; `--resume` measures those for which there was no time."""
    weights = {model: {name: list(nk) for name, nk in weights.items()} for model, weights in MODELS.items()}
    return Sweep(gemm("bf16"), (self_configuring(),), model_shapes(TOKENS), seconds=150, facts={"models": weights})


def quack_gemm(a: Tensor, b: Tensor, c: Tensor) -> None:
    """`quack.gemm`, whose first call at a shape tries its configurations."""
    from quack.gemm_interface import gemm

    gemm(a, b.mT, out=c, tuned=True)


def gemm_quack() -> Sweep:
    """The GEMM that chooses by itself, and QuACK's, tuned for each shape, at the ladder's largest sizes.

    QuACK (github.com/Dao-AILab/quack, CuTe DSL) is no part of the course. Raises NoExample.
    """
    if find_spec("quack") is None:
        raise NoExample("pip install quack-kernels==0.6.5 einops")
    tuned = Candidate("QuACK 0.6.5, tuned", HostLauncher(quack_gemm), needs=WGMMA)
    return Sweep(gemm("bf16"), (self_configuring(), tuned), LARGE, seconds=90)


# Levers ---------------------------------------------------------------------------------------------------------


def hopper_levers() -> Sweep:
    """Each lever alone and on top of others, in both orders where two interact; then kernels of other tiles.

    A candidate's levers are a fact, so that gains are ratios of points: with a lever over without it.
    """
    candidates = [on_hopper(" + ".join(levers) or "plain", levered(levers), levers=list(levers)) for levers in STACKS]
    candidates += [on_hopper(name, config) for name, config in OTHERS.items()]
    return Sweep(gemm("bf16"), tuple(candidates), LARGE, seconds=62)


# FP8 ------------------------------------------------------------------------------------------------------------

FP8_SHAPE = (320, 32576, 7168)


def hopper_fp8() -> Sweep:
    """320×32576×7168 in e4m3, with one scale for each matrix."""
    tile = partial(HopperConfig, dtype="e4m3", transposed=True, scaled=True)
    wide, narrow, pair = (256, 160, 128), (128, 160, 128), (1, 2)
    configs = {
        "256×160, multicast": tile(wide, cluster=pair),
        "256×160, multicast, A stays in L2": tile(wide, cluster=pair, l2_a="evict_first", l2_b="evict_last"),
        "256×160": tile(wide),
        "128×160, multicast, deferred stores": tile(narrow, cluster=pair, defer_stores=True),
        "128×160, ping-pong": tile(narrow, "pingpong"),
        "128×160, ping-pong, multicast": tile(narrow, "pingpong", cluster=pair),
        "chosen": replace(choose(*FP8_SHAPE, dtype="e4m3"), scaled=True),
    }
    candidates = [on_hopper(name, config) for name, config in configs.items()]
    return Sweep(gemm_fp8(), tuple(candidates), (FP8_SHAPE,), seconds=24)
